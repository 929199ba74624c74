"""Every hostile program succeeds where nothing stops it: the probes of the suite are live."""

from __future__ import annotations

from collections import Counter

import pytest

from tests.sampling import every

from .catalogue import ATTACKS, Attack, Broken, Leaked, attacks_with_a_control_here, judge
from .control import run_uncaged
from .sighting import Sighting
from .victim import set_stage


@pytest.mark.slow
@pytest.mark.sampled(5, often=3)
@pytest.mark.parametrize("attack", every(attacks_with_a_control_here(), 8), ids=lambda attack: attack.name)
def test_the_attack_succeeds_without_a_cage(attack: Attack) -> None:
    with set_stage(with_victim=attack.needs_victim) as stage:
        seen = run_uncaged(attack, stage)
        assert isinstance(judge(attack, seen), Leaked), (judge(attack, seen), seen)


def test_the_suite_has_at_least_forty_programs_with_names_of_their_own() -> None:
    assert len(ATTACKS) >= 40
    assert [name for name, count in Counter(attack.name for attack in ATTACKS).items() if count > 1] == []


def test_no_program_is_given_the_secret_it_looks_for() -> None:
    with set_stage() as stage:
        given = stage.targets | stage.targets_inside()
        assert [attack.name for attack in ATTACKS if stage.secret in attack.source(given)] == []
        assert [attack.name for attack in ATTACKS if attack.needs - given.keys() - {"limits", "attempt"}] == []


def test_a_program_that_fails_by_itself_is_broken_not_held() -> None:
    attack = next(attack for attack in ATTACKS if attack.name == "read_home_credentials")
    raised = Sighting(ended="finished", console='{"started": "x"}\nNameError: name', console_bytes=32)
    silent = Sighting(ended="died", console="")
    assert isinstance(judge(attack, raised), Broken)
    assert isinstance(judge(attack, silent), Broken)
