"""Halls for the whole session: each is a host that takes one attack after the other."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from .attack_runner import AttackRunner, Setting

AttackRunnerFor = Callable[[Setting], AttackRunner]


@pytest.fixture(scope="session")
def runner_for() -> Iterator[AttackRunnerFor]:
    """The attack runner of a setting; one that fell is replaced, so that the next attack is judged by itself."""
    runners: dict[Setting, AttackRunner] = {}

    def give(setting: Setting) -> AttackRunner:
        if setting not in runners or not runners[setting].is_alive:
            runners[setting] = AttackRunner(setting)
        return runners[setting]

    yield give
    for runner in runners.values():
        runner.close()
