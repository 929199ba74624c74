"""What the agents of a run are given to do, what they have handed in so far, and what becomes of it: the delivery."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from pydantic import TypeAdapter

from cellwright.agents.assignment import AgentReport, Assignment, Note
from cellwright.policy.budgets import Limit
from cellwright.runs.deliver.delivery import CheckOutcome, Comparison, DeliveredTask, Delivery, RunEnd, ToldReport
from cellwright.runs.deliver.first_screen import told_by_answer, with_told
from cellwright.runs.goal.goal import Goal
from cellwright.runs.plan.plan import Plan

STOPPED: Final = frozenset({"stopped", "cancelled"})
_UNMET: Final = frozenset({"failed", "planned"})
_REPORT: Final = TypeAdapter(AgentReport)


@dataclass(slots=True)
class AgentResults:
    """All of it together."""

    limits: tuple[Limit, ...] = ()
    tokens: int = 0
    microdollars: int = 0
    turns: int = 0
    """How often models were asked."""
    answer: str = ""
    summary: str = ""
    template: str = ""
    """The answer before the notebook's values were put in."""
    readings: tuple[str, ...] = ()
    """How the goal was read where that matters."""

    def add(self, done: object, given: tuple[Limit, ...]) -> AgentReport:
        """What one handed in that was given these limits."""
        report = _REPORT.validate_python(done)
        self.tokens += report.tokens
        self.microdollars += report.microdollars
        self.turns += report.turns
        self.readings = (*self.readings, *(each for each in report.readings if each not in self.readings))
        # Of several at once, those count that a person has changed.
        self.limits = report.limits if report.limits != given else self.limits
        return report

    def take_answer(self, report: AgentReport, *, is_repair: bool = False) -> None:
        """The answer of a task that is done is the run's, until there is another; what a repair sums up is its own."""
        if report.answer:
            self.answer, self.template = report.answer, report.template
        if not is_repair or not self.summary:
            self.summary = report.summary or self.summary


def assignment_for(
    goal: Goal, text: str, role: str, *, plan: str, notes: tuple[Note, ...], limits: tuple[Limit, ...], heard: int
) -> Assignment:
    """What one agent is to do for this goal; `heard`: the orders of people it need not hear again."""
    return Assignment(
        goal=text,
        role=role,
        plan=plan,
        notes=notes,
        limits=limits,
        models=goal.models,
        is_private=goal.is_private,
        is_attended=goal.approve != "never",
        if_unknown="ask" if goal.approve != "never" else "stop",
        orders_heard=heard,
    )


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


def delivery_of(
    goal: Goal,
    plan: Plan,
    used: AgentResults,
    *,
    checked: CheckOutcome | None,
    over: RunEnd | None,
    assumptions: tuple[str, ...],
    caveats: tuple[str, ...],
    comparisons: tuple[Comparison, ...],
    told: ToldReport | None = None,
) -> Delivery:
    """What there is, said honestly: what is unmet, what nobody repaired and what was not allowed.

    `told`: what the first screen says; None: it is read from the answer.
    """
    unmet = [f"{each.title}: {each.note or each.status}" for each in plan.tasks if each.status in _UNMET]
    found = checked or CheckOutcome(problems=())
    is_partial = bool(found.problems or unmet) or checked is None
    delivery = Delivery(
        status=over.status if over else "partial" if is_partial else "done",
        goal=goal.words,
        title=plan.title,
        answer=used.answer,
        summary=used.summary,
        why=over.why if over else "; ".join([*unmet, *found.problems]),
        assumptions=(*plan.assumptions, *assumptions, *used.readings),
        caveats=(*caveats, *unmet, *filter(None, [found.note])),
        tasks=tuple(DeliveredTask(id=t.id, title=t.title, status=t.status, note=t.note) for t in plan.tasks),
        checks=found.checks,
        comparisons=comparisons,
        # What kept it from being checked is why it ended, and is told once.
        problems=found.problems if found.ran == "whole" else (),
        notebook=goal.notebook,
        proof=found.proof,
        microdollars=used.microdollars,
        tokens=used.tokens,
    )
    return with_told(delivery, told or told_by_answer(used.answer, plan.title, used.readings))
