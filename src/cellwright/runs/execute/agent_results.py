"""What the agents of a run have handed in so far: their answers, what they used, and the limits that are left."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from pydantic import TypeAdapter

from cellwright.agents.assignment import AgentReport
from cellwright.policy.budgets import Limit
from cellwright.runs.deliver.delivery import RunEnd
from cellwright.runs.goal.goal import Goal

STOPPED: Final = frozenset({"stopped", "cancelled"})
_REPORT: Final = TypeAdapter(AgentReport)


@dataclass(slots=True)
class AgentResults:
    """All of it together."""

    limits: tuple[Limit, ...] = ()
    tokens: int = 0
    microdollars: int = 0
    answer: str = ""
    summary: str = ""

    def add(self, done: object, given: tuple[Limit, ...]) -> AgentReport:
        """What one handed in that was given these limits."""
        report = _REPORT.validate_python(done)
        self.tokens += report.tokens
        self.microdollars += report.microdollars
        # Of several at once, those count that a person has changed.
        self.limits = report.limits if report.limits != given else self.limits
        return report

    def take_answer(self, report: AgentReport) -> None:
        """The answer of a task that is done is the run's, until there is another."""
        self.answer = report.answer or self.answer
        self.summary = report.summary or self.summary


def first_limits(goal: Goal) -> tuple[Limit, ...]:
    """What the goal allows its agents."""
    if goal.budget_usd is None:
        return ()
    return (Limit(measure="money", per="run", at_most=goal.budget_usd, currency="USD", where="--budget"),)


def end_without_plan(report: AgentReport) -> RunEnd:
    """Why there is no plan."""
    if report.outcome in STOPPED:
        return RunEnd(status="stopped", why=report.why)
    return RunEnd(status="failed", why=report.why or "No plan could be made.")
