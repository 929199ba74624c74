"""No hostile program leaks out of a notebook: not on tiers A and B, and on C only where it is written down.

Every program runs as a cell of a real notebook, opened through the public API by a host of its own, in a real cage.
"""

from __future__ import annotations

from typing import Any

import pytest

from .attack_runner import Setting, main_settings, plain_settings
from .catalogue import ATTACKS, Attack, Held, Leaked, judge
from .conftest import AttackRunnerFor
from .victim import set_stage

SAMPLE = frozenset(
    {
        "read_host_file_of_root",
        "read_hidden_env_file",
        "write_git_hook",
        "rewrite_own_notebook",
        "read_every_environment",
        "kill_victim",
        "connect_tcp",
        "connect_abstract_socket",
        "unshare_user_namespace",
        "list_sys",
        "fork_bomb",
        "hog_memory",
        "daemonise",
        "send_garbage",
    }
)
"""What every sort of cage is tried with in the quick run."""


def cases() -> list[Any]:
    """Every attack in every setting; the quick run has a third of them on the first tier and a few elsewhere."""
    first, *weaker = main_settings()
    plain = plain_settings()
    # A plain user's tiers stand for root's: there root has given up the same rights.
    only_slow = {setting for setting in weaker if setting.tier == "B" and plain}
    only_slow |= {setting for setting in plain if setting.tier == "C"}
    return [
        *(
            case(attack, first, is_slow=(place % 3 > 0 or attack.is_long) and attack.name not in SAMPLE)
            for place, attack in enumerate(ATTACKS)
        ),
        *(
            case(attack, setting, is_slow=attack.name not in SAMPLE or setting in only_slow)
            for setting in [*weaker, *plain]
            for attack in ATTACKS
        ),
    ]


def case(attack: Attack, setting: Setting, *, is_slow: bool) -> Any:
    return pytest.param(attack, setting, id=f"{setting}-{attack.name}", marks=[pytest.mark.slow] if is_slow else [])


@pytest.mark.sampled(18, often=6)
@pytest.mark.parametrize(("attack", "setting"), cases())
def test_the_attack_is_held(attack: Attack, setting: Setting, runner_for: AttackRunnerFor) -> None:
    runner = runner_for(setting)
    with set_stage(with_victim=attack.needs_victim, secret=runner.secret) as stage:
        seen = runner.run(attack, stage)
    judgement = judge(attack, seen)
    if setting.tier == "C" and attack.open_on_c:
        # A wall that has been closed meanwhile must not stay in the documents as an open one.
        assert isinstance(judgement, Leaked if attack.is_certain else (Leaked, Held)), (judgement, seen)
    else:
        assert isinstance(judgement, Held), (judgement, seen)
    assert seen.survivors == 0
    assert runner.is_alive
    assert seen.ended == "died" or not attack.ends_kernel, seen
