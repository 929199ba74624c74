"""A run in words and as JSON, for somebody who watches: the events worth a line, and what came of it."""

from __future__ import annotations

import time
from dataclasses import asdict, replace
from typing import Any, Final

from cellwright.agents.events import EvidenceNoted
from cellwright.journal.events import (
    EffectInDoubt,
    Event,
    QuestionAnswered,
    QuestionAsked,
    QuestionWithdrawn,
    RunEnded,
    RunForked,
    RunRecovered,
    RunResumed,
    StepErred,
    TaskChanged,
)
from cellwright.journal.records import Records, RunStatus, Standing
from cellwright.policy.display_text import shown
from cellwright.policy.masking.masker import Masker
from cellwright.remedies import remedy
from cellwright.runs.deliver.delivery import Delivery, DeliveryStatus, delivery_json
from cellwright.runs.events import (
    CellReported,
    CheckDisputed,
    DocumentExtracted,
    FilesNotKept,
    FindingJudged,
    GoalSet,
    HandedOff,
    PlanAdopted,
    QuestionsRaised,
    RunWaiting,
    StageEntered,
)
from cellwright.runs.goal.goal import goal_json
from cellwright.runs.plan.plan import plan_json
from cellwright.runs.views.questions import PAUSED, RESUMED, open_question_view, run_inbox
from cellwright.runs.views.run_view import RunView, check_is_run, noted_words, read_view, short_line
from cellwright.runs.views.team import team_of
from cellwright.tools.notebook.trial_records import TrialRecord

MARKS: Final = {"planned": "○", "running": "●", "done": "✓", "failed": "✗", "dropped": "–"}

_CARDS_A_LINE: Final = 5
"""Cards of one sub-goal between two lines: a reader notes dozens."""


def progress_line(before: RunView, event: Event) -> str:
    """The event in one line for somebody who watches; empty if nobody would notice it."""
    match event:
        case StageEntered(stage=before.stage, note=before.note):
            return ""
        case PlanAdopted(plan=plan) if before.goal is not None and before.goal.words.startswith(plan.title):
            # The goal itself as one task: it was just told.
            return ""
        case GoalSet() if before.goal is not None:
            return short_line(f"new {event.line()}")
        case GoalSet() | StageEntered() | PlanAdopted() | CellReported() | RunWaiting() | TrialRecord() | HandedOff():
            return short_line(event.line())
        case FindingJudged() | QuestionsRaised() | DocumentExtracted():
            return short_line(event.line())
        case CheckDisputed() | FilesNotKept():
            return shown(event.line())
        case TaskChanged(state=state, title=title, note=note) if state != "planned":
            return f"{MARKS[state]} {short_line(title)}: {state}{f': {short_line(note)}' if note else ''}"
        case EvidenceNoted(card=card) if before.stage == "build":
            after = before.noted | {(card.task, card.source, card.id)}
            count = sum(title == card.task for title, _, _ in after)
            is_worth_it = after != before.noted and (count == 1 or count % _CARDS_A_LINE == 0)
            return f"… {short_line(card.task)}: {noted_words(after, card.task)}" if is_worth_it else ""
        case QuestionAsked(topic=topic, text=text) if topic == PAUSED:
            return f"{short_line(text)} It waits until somebody lets it go on."
        case QuestionAnswered(question=question, answer=answer, by=by) if answer == RESUMED:
            return f"{shown(by)} let it go on"
        case QuestionAsked(question=question, text=text):
            return f"asks {question}: {short_line(text)}"
        case QuestionAnswered(question=question, by=by):
            return f"{shown(by)} answered {question}"
        case QuestionWithdrawn(question=question):
            return f"no longer asks {question}"
        case RunRecovered(workflow=before.run):
            return "taken up again after a crash"
        case RunResumed(workflow=before.run, by=by):
            return f"goes on{f', said {shown(by)}' if by else ''}"
        case RunForked(forked_from=other):
            return f"goes on from the run {other}"
        case EffectInDoubt(name=name):
            return f"{short_line(name)} may or may not have happened"
        case StepErred(error=error):
            return f"went wrong: {short_line(error)}"
        case RunEnded(workflow=before.run, outcome=outcome, error=error) if outcome != "done":
            return f"{outcome}{f': {short_line(error)}' if error else ''}"
        case _:
            return ""


def delivery_of(standing: Standing, view: RunView) -> Delivery | None:
    """What it hands over; None while it goes on. One that was cut off hands over what it told until then."""
    match standing:
        case "queued" | "running" | "waiting":
            return None
        case "done":
            return view.delivery or _cut_off(view, "failed", "It ended without a delivery.")
        case "failed":
            return _cut_off(view, "failed", view.ended)
        case "cancelled":
            return _cut_off(view, "stopped", view.ended or "cancelled")
        case "dead":
            again = remedy("resume_run", run=view.run)
            found = _cut_off(view, "failed", f"{view.ended} {again.sentence}".lstrip())
            return replace(found, remedies=(again,))


def _cut_off(view: RunView, status: DeliveryStatus, why: str) -> Delivery:
    goal, plan = view.goal, view.plan
    return Delivery(
        status=status,
        goal="" if goal is None else goal.words,
        title="" if plan is None else plan.title,
        why=why,
        notebook="" if goal is None else goal.notebook,
        microdollars=view.microdollars,
        tokens=view.tokens,
        seconds=(view.last_ms - view.began_ms) / 1000,
        is_price_known=not view.unpriced_tokens,
    )


def run_summary_json(status: RunStatus, view: RunView) -> dict[str, Any]:
    """One run of many."""
    goal, delivery = view.goal, delivery_of(status.standing, view)
    began_ms = view.began_ms or status.created_ms
    end_ms = view.last_ms if delivery is not None else int(time.time() * 1000)
    return {
        "run": status.run,
        "status": _status(status, view),
        "standing": status.standing,
        "stage": view.stage,
        "goal": "" if goal is None else goal.words,
        "notebook": "" if goal is None else goal.notebook,
        "person": "" if goal is None else goal.person,
        "microdollars": view.microdollars,
        "unpriced_tokens": view.unpriced_tokens,
        "began_ms": began_ms,
        "seconds": max(0.0, (end_ms - began_ms) / 1000),
        "questions": len(status.questions),
    }


def _status(status: RunStatus, view: RunView) -> str:
    """In one word, for whoever looks at many."""
    delivery = delivery_of(status.standing, view)
    if delivery is not None:
        return delivery.status
    if status.questions:
        return "paused" if all(each.question.topic == PAUSED for each in status.questions) else "waiting"
    return view.stage


async def run_json(records: Records, masker: Masker, run: str) -> dict[str, Any]:
    """Everything about one run. Raises `UserError`."""
    status = await records.status(run)
    check_is_run(run, status.name)
    return run_json_of(records, masker, status, await read_view(records.log.read_all, run))


def run_json_of(records: Records, masker: Masker, status: RunStatus, view: RunView) -> dict[str, Any]:
    """The same, for whoever has a view of it."""
    delivery = delivery_of(status.standing, view)
    return {
        **run_summary_json(status, view),
        "goal": None if view.goal is None else goal_json(view.goal),
        "note": view.note,
        "plan": None if view.plan is None else plan_json(view.plan),
        "cell": view.cell,
        "waits": view.waits,
        "files": view.files,
        "tokens": view.tokens,
        "questions": [open_question_view(item) for item in run_inbox(records, masker).read(status.questions)],
        "steps": len(status.steps),
        "agents": [each.workflow for each in status.children],
        "team": [asdict(each) for each in team_of(view)],
        "cost": view.cost,
        "delivery": None if delivery is None else delivery_json(delivery),
        "findings": [_finding_json(view.findings[number]) for number in sorted(view.findings)],
        "data_questions": [asdict(each) for each in view.questions],
    }


def _finding_json(told: FindingJudged) -> dict[str, Any]:
    """Something that was found, and how it stands."""
    judged = told.judged
    return {
        "number": told.number,
        **asdict(judged.finding),
        "standing": judged.standing,
        "error": judged.error,
        "task": told.task,
    }
