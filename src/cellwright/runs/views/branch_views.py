"""The branches a run tried, as its own stream tells of them, and how each stands."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final, Literal

from cellwright.journal import QuestionAnswered, QuestionAsked, Recorded
from cellwright.tools.notebook.trial_records import (
    BRANCH_CHOICE,
    BranchDecision,
    BranchDropped,
    TrialRecord,
    choices_of,
    trial_json,
)

BranchViewState = Literal["waits", "accepted", "dropped", "kept", "not-kept"]
"""waits: for a person. accepted, dropped: by one; whether it is in the notebook then, `is_kept` says. kept, not-kept:
nobody was asked."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BranchView:
    """One branch, when its outcome was told, and what people said to it."""

    tried: TrialRecord
    at_ms: int
    question: str = ""
    """Where it is decided about; empty: nobody was asked."""
    decision: BranchDecision = ""
    decided_by: str = ""

    def state(self, open_questions: Collection[str]) -> BranchViewState:
        """How it stands while these questions are open. One that was withdrawn leaves its branches as they are."""
        if self.decision:
            return self.decision
        if self.tried.waits and self.question in open_questions:
            return "waits"
        return "kept" if self.tried.is_kept else "not-kept"


BranchViews = Mapping[str, BranchView]
"""Every branch a run told of, by its name, in the order in which they were first told.

A branch that is told again, e.g. after its run was cut off, is as the last word says.
"""


def branches_asked(lanes: BranchViews, question: str) -> list[BranchView]:
    """Those that a question is about."""
    return [lane for lane in lanes.values() if lane.question == question]


def add_branch_event(lanes: BranchViews, recorded: Recorded) -> BranchViews:
    """One more event."""
    match recorded.event:
        case TrialRecord() as tried:
            return _with_trial(lanes, tried, recorded.at_ms)
        case BranchDropped(branch=branch, by=by):
            return _with_decision(lanes, {branch: "dropped"}, by)
        case QuestionAsked(topic=topic, workflow=workflow, question=question) if topic == BRANCH_CHOICE:
            return _with_question(lanes, workflow, question)
        case QuestionAnswered(question=question, answer=answer, by=by):
            of = [lane.tried for lane in branches_asked(lanes, question)]
            chosen = choices_of(of).get(answer)
            return _with_decision(
                lanes, {each.branch: "accepted" if each.branch == chosen else "dropped" for each in of}, by
            )
        case _:
            return lanes


def _with_trial(lanes: BranchViews, tried: TrialRecord, at_ms: int) -> BranchViews:
    before = lanes.get(tried.branch)
    lane = BranchView(tried=tried, at_ms=at_ms, decision=tried.decision, decided_by=tried.decided_by)
    if before is not None and not tried.decision:
        lane = replace(lane, question=before.question, decision=before.decision, decided_by=before.decided_by)
    elif before is not None:
        lane = replace(lane, question=before.question)
    return {**lanes, tried.branch: lane}


def _with_question(lanes: BranchViews, workflow: str, question: str) -> BranchViews:
    """A workflow asks about one group at a time: the one whose branches wait."""
    found = {
        lane.tried.branch: replace(lane, question=question)
        for lane in lanes.values()
        if lane.tried.waits and not lane.question and lane.tried.group.rpartition("/")[0] == workflow
    }
    return {**lanes, **found}


def _with_decision(lanes: BranchViews, said: Mapping[str, BranchDecision], by: str) -> BranchViews:
    """The first word of a person about a branch stands, but for one that accepts it."""
    known = {branch: lane for branch in said if (lane := lanes.get(branch)) is not None}
    found = {
        branch: replace(lane, decision=said[branch], decided_by=by)
        for branch, lane in known.items()
        if not lane.decision or said[branch] == "accepted"
    }
    return {**lanes, **found}


def branch_view_json(lane: BranchView, open_questions: Collection[str] = ()) -> dict[str, Any]:
    """A lane as plain values."""
    told = trial_json(lane.tried)
    shown = {name: value for name, value in told.items() if name not in _INNER} if isinstance(told, dict) else {}
    state = {"state": lane.state(open_questions), "decided_by": lane.decided_by}
    return {**shown, **state, "at_ms": lane.at_ms}


_INNER: Final = frozenset({"waits", "decision"})
"""What `state` says better."""
