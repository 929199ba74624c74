"""Check: code, not a model. What a fresh kernel in a fresh environment says, and whether each test is there."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from typing import Literal

from cellwright.runs.delivery import DeliveredCheck
from cellwright.runs.goal import Goal
from cellwright.runs.plan import Plan

Ran = Literal["whole", "not at all", "unavailable"]
"""not at all: the problems say why, and nothing is known of its tests. unavailable: the same, for want of something
outside, so that no change to the notebook would help."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Checked:
    """What the check found."""

    problems: tuple[str, ...]
    """What is wrong, each in words an agent can mend it by; empty: proven."""
    checks: tuple[DeliveredCheck, ...] = ()
    proof: str = ""
    """Where the signed proof is."""
    ran: Ran = "whole"
    note: str = ""
    """What to know about how it was checked."""


CheckNotebook = Callable[[str, Goal], Awaitable[Checked]]
"""Checks the notebook of this run and goal."""


def with_plan(checked: Checked, plan: Plan) -> Checked:
    """With the words of the plan's own checks, and a problem for each that no test in the notebook shows.

    Of a notebook that could not be run only the cause is told: which tests it has was never seen.
    """
    if checked.ran != "whole":
        return checked
    says = {check.test: check.says for check in plan.checks()}
    there = {check.name for check in checked.checks}
    known = tuple(replace(check, says=says.get(check.name, check.says)) for check in checked.checks)
    missing = [name for name in says if name not in there]
    problems = [f"No test {name!r} is in the notebook: {says[name]}" for name in missing]
    absent = tuple(
        DeliveredCheck(name=name, says=says[name], has_passed=False, detail="no such test") for name in missing
    )
    # A proof is of a notebook that keeps what was promised.
    proof = "" if problems else checked.proof
    return replace(checked, problems=(*checked.problems, *problems), checks=(*known, *absent), proof=proof)
