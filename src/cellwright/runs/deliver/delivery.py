"""What a run hands over in the end, whatever came of it, and what its check found.

Plain values: a workflow's result. The check is code, not a model: what a fresh kernel in a fresh environment says, and
whether each promised test is there.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from typing import Any, Final, Literal

from pydantic import TypeAdapter

from cellwright.remedies import Remedy
from cellwright.runs.goal.goal import Goal
from cellwright.runs.plan.plan import Plan, TaskStatus
from cellwright.runs.review.findings import JudgedFinding, ReviewQuestion

DeliveryStatus = Literal["done", "partial", "refused", "stopped", "failed"]
"""done: proven. partial: a notebook is there, and what is wrong with it is said. refused: policy or the person said no.
stopped: by a person. failed: there is nothing to hand over."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DeliveredTask:
    """A task and what came of it."""

    id: str
    title: str
    status: TaskStatus
    note: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class DeliveredCheck:
    """A check and whether it held."""

    name: str
    says: str
    has_passed: bool
    detail: str = ""
    is_hollow: bool = False
    """It passes whatever is changed in what it reads."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ComparedWay:
    """One of several ways that were tried side by side, and how it did."""

    name: str
    status: str
    """passed, failed, refused or lost; `not tried` for one that a plan named and nobody tried."""
    checks: str = ""
    """How many of its checks held: `2/3`."""
    shows: str = ""
    """Variables it came to, in a few words."""
    way: str = ""
    ms: float = 0.0
    is_kept: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """Alternatives of one task, best first."""

    task: str
    """Its title."""
    ways: tuple[ComparedWay, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class DeliveredFinding:
    """One thing that was found, in a sentence."""

    says: str
    """Plain text."""
    statistics: str = ""
    """Test, n, p, effect and interval: what stands one click deeper."""
    cell: str = ""
    """The notebook cell whose output is its small picture."""
    bars: tuple[tuple[str, float], ...] = ()
    """At most eight labelled numbers that a terminal can draw."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ToldReport:
    """What the first screen of a report says, told by whoever did the work. Plain text, not markdown."""

    headline: str = ""
    """One sentence with the figure, in the person's words."""
    findings: tuple[DeliveredFinding, ...] = ()
    picture: str = ""
    """The notebook cell whose output is the one picture."""
    trust: str = ""
    """One line on how far to trust it."""
    readings: tuple[str, ...] = ()
    """How the goal's words were read."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Delivery:
    """What a run hands over."""

    status: DeliveryStatus
    goal: str
    title: str = ""
    headline: str = ""
    """One sentence with the figure, in the person's words; empty: of an earlier version, or nothing was found."""
    findings: tuple[DeliveredFinding, ...] = ()
    picture: str = ""
    """The notebook cell whose output is the one picture: its name, or its id where it has none."""
    trust: str = ""
    """One line on how far to trust it."""
    readings: tuple[str, ...] = ()
    """How the goal's words were read."""
    answer: str = ""
    """What the person wanted to know, in the form that was asked for: markdown."""
    summary: str = ""
    why: str = ""
    """What ended it, unless it is done."""
    assumptions: tuple[str, ...] = ()
    caveats: tuple[str, ...] = ()
    tasks: tuple[DeliveredTask, ...] = ()
    checks: tuple[DeliveredCheck, ...] = ()
    comparisons: tuple[Comparison, ...] = ()
    """Alternatives that were tried in branches."""
    problems: tuple[str, ...] = ()
    """What the check found and nobody repaired."""
    reviewed: tuple[JudgedFinding, ...] = ()
    """What did not hold when it was looked over, and what became of it; those that still fail come first."""
    questions: tuple[ReviewQuestion, ...] = ()
    """What its data raises."""
    second_opinion: str = ""
    """Whether its figure was computed another way, and what came of that."""
    notebook: str = ""
    report: str = ""
    """The HTML report's path."""
    text: str = ""
    """The path of what a research wrote, as markdown in the form that was asked for."""
    proof: str = ""
    """The signed proof's path; empty: not proven."""
    microdollars: int = 0
    tokens: int = 0
    seconds: float = 0.0
    is_price_known: bool = True
    remedies: tuple[Remedy, ...] = ()
    """What can be done about it; the texts say each for every reader."""


def still_failing(delivery: Delivery) -> tuple[str, ...]:
    """What a review has shown to be wrong and nobody mended, each in words; the first of its problems."""
    return tuple(each.fails for each in delivery.reviewed if each.standing == "shown")


_DELIVERY: Final = TypeAdapter(Delivery)


def delivery_json(delivery: Delivery) -> Any:
    """As a workflow's result."""
    return _DELIVERY.dump_python(delivery, mode="json")


def parse_delivery(value: Any) -> Delivery:
    """The delivery of such a result."""
    return _DELIVERY.validate_python(value)


CheckExtent = Literal["whole", "not at all", "unavailable"]
"""not at all: the problems say why, and nothing is known of its tests. unavailable: the same, for want of something
outside, so that no change to the notebook would help."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckOutcome:
    """What the check found."""

    problems: tuple[str, ...]
    """What is wrong, each in words an agent can repair it by; empty: proven."""
    checks: tuple[DeliveredCheck, ...] = ()
    proof: str = ""
    """Where the signed proof is."""
    ran: CheckExtent = "whole"
    note: str = ""
    """What to know about how it was checked."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunEnd:
    """The run comes to its end."""

    status: DeliveryStatus
    why: str = ""


CheckNotebook = Callable[[str, Goal, str], Awaitable[CheckOutcome]]
"""Checks the notebook of this run and goal; the last is what a second opinion said, for the proof."""


_SOUND: Final = (
    "Let it fail when that is a little off: work it out another way, or count in the file itself, and compare."
)


def with_plan_checks(checked: CheckOutcome, plan: Plan) -> CheckOutcome:
    """With the words of the plan's own checks, and a problem for each that no test in the notebook shows.

    A test that notices nothing shows nothing.

    Of a notebook that could not be run only the cause is told: which tests it has was never seen.
    """
    if checked.ran != "whole":
        return checked
    says = {check.test: check.says for check in plan.checks()}
    there = {check.name for check in checked.checks}
    known = tuple(
        replace(check, says=says[check.name], has_passed=check.has_passed and not check.is_hollow)
        if check.name in says
        else check
        for check in checked.checks
    )
    missing = [name for name in says if name not in there]
    problems = [f"No test {name!r} is in the notebook: {says[name]}" for name in missing]
    problems += [
        f"The test {check.name!r} {check.detail}, so it does not show that {says[check.name]} {_SOUND}"
        for check in checked.checks
        if check.name in says and check.is_hollow
    ]
    absent = tuple(
        DeliveredCheck(name=name, says=says[name], has_passed=False, detail="no such test") for name in missing
    )
    # A proof is of a notebook that keeps what was promised.
    proof = "" if problems else checked.proof
    return replace(checked, problems=(*checked.problems, *problems), checks=(*known, *absent), proof=proof)
