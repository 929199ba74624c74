"""Who works on a goal: whoever it names, else models where one would answer, else the analyst."""

from __future__ import annotations

from typing import Any

import pytest

from cellwright.runs.goal.goal import Goal, Worker, found_worker, named_worker
from cellwright.runs.plan.plan import Plan, Task


def goal(**more: Any) -> Goal:
    return Goal(words="Look.", notebook="/p/n.py", project="/p", person="ada", **more)


def planned(role: str) -> Plan:
    return Plan(title="t", tasks=(Task(id="a", title="A", role=role),))


@pytest.mark.parametrize(
    ("given", "worker"),
    [
        (goal(models=("analyst",)), Worker(who="analyst")),
        (goal(models=("near:one",)), Worker(who="models")),
        (goal(plan=planned("analyst")), Worker(who="analyst")),
        (goal(plan=planned("coder")), Worker(who="models")),
        (goal(), None),
    ],
)
def test_whoever_a_goal_names_works(given: Goal, worker: Worker | None) -> None:
    assert named_worker(given) == worker


def test_models_work_where_one_would_answer() -> None:
    assert found_worker(goal(), has_model=True) == Worker(who="models")


def test_without_a_model_the_analyst_works_and_says_how_to_get_one() -> None:
    found = found_worker(goal(), has_model=False)
    assert found.who == "analyst"
    assert "No model is configured" in found.why
    assert "A provider's key gives agents a model." in found.why


def test_where_nothing_may_leave_the_machine_that_is_the_reason() -> None:
    assert "Nothing may leave this machine" in found_worker(goal(is_private=True), has_model=False).why
