"""The branches a run tried, as its own stream tells of them, and how each stands."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final, Literal

from cellwright.journal.events import QuestionAnswered, QuestionAsked, Recorded
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


def branches_asked(views: BranchViews, question: str) -> list[BranchView]:
    """Those that a question is about."""
    return [view for view in views.values() if view.question == question]


def add_branch_event(views: BranchViews, recorded: Recorded) -> BranchViews:
    """One more event."""
    match recorded.event:
        case TrialRecord() as tried:
            return _with_trial(views, tried, recorded.at_ms)
        case BranchDropped(branch=branch, by=by):
            return _with_decision(views, {branch: "dropped"}, by)
        case QuestionAsked(topic=topic, workflow=workflow, question=question) if topic == BRANCH_CHOICE:
            return _with_question(views, workflow, question)
        case QuestionAnswered(question=question, answer=answer, by=by):
            of = [view.tried for view in branches_asked(views, question)]
            chosen = choices_of(of).get(answer)
            return _with_decision(
                views, {each.branch: "accepted" if each.branch == chosen else "dropped" for each in of}, by
            )
        case _:
            return views


def _with_trial(views: BranchViews, tried: TrialRecord, at_ms: int) -> BranchViews:
    before = views.get(tried.branch)
    view = BranchView(tried=tried, at_ms=at_ms, decision=tried.decision, decided_by=tried.decided_by)
    if before is not None and not tried.decision:
        view = replace(view, question=before.question, decision=before.decision, decided_by=before.decided_by)
    elif before is not None:
        view = replace(view, question=before.question)
    return {**views, tried.branch: view}


def _with_question(views: BranchViews, workflow: str, question: str) -> BranchViews:
    """A workflow asks about one group at a time: the one whose branches wait."""
    found = {
        view.tried.branch: replace(view, question=question)
        for view in views.values()
        if view.tried.waits and not view.question and view.tried.group.rpartition("/")[0] == workflow
    }
    return {**views, **found}


def _with_decision(views: BranchViews, said: Mapping[str, BranchDecision], by: str) -> BranchViews:
    """The first word of a person about a branch stands, but for one that accepts it."""
    known = {branch: view for branch in said if (view := views.get(branch)) is not None}
    found = {
        branch: replace(view, decision=said[branch], decided_by=by)
        for branch, view in known.items()
        if not view.decision or said[branch] == "accepted"
    }
    return {**views, **found}


def branch_view_json(view: BranchView, open_questions: Collection[str] = ()) -> dict[str, Any]:
    """A branch as plain values."""
    told = trial_json(view.tried)
    shown = {name: value for name, value in told.items() if name not in _INNER} if isinstance(told, dict) else {}
    state = {"state": view.state(open_questions), "decided_by": view.decided_by}
    return {**shown, **state, "at_ms": view.at_ms}


_INNER: Final = frozenset({"waits", "decision"})
"""What `state` says better."""
