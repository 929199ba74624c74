"""The progress of a run for somebody who watches.

Its state, the events worth a line, what came of it, and all of it as JSON.

One line of many runs, or everything about one.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field, replace
from typing import Any, Final

from cellwright.journal import (
    CostRecorded,
    EffectInDoubt,
    Event,
    Fact,
    QuestionAnswered,
    QuestionAsked,
    QuestionWithdrawn,
    Recorded,
    Records,
    RunEnded,
    RunForked,
    RunRecovered,
    RunResumed,
    RunStarted,
    RunStatus,
    Standing,
    StepErred,
    StepStarted,
    TaskChanged,
    stream_of,
)
from cellwright.policy import Masker
from cellwright.policy.display_text import shown
from cellwright.remedies import remedy
from cellwright.runs.deliver.delivery import Delivery, DeliveryStatus, delivery_json
from cellwright.runs.views.questions import PAUSED, open_question_view, run_inbox
from cellwright.runs.views.run_view import (
    CELL,
    FILES,
    GOAL,
    PLAN,
    STAGE,
    STAGES,
    WAITS,
    RunView,
    check_is_run,
    update_view,
    view_json,
)
from cellwright.tools.notebook.trial_records import read_trial

MARKS: Final = {"planned": "○", "running": "●", "done": "✓", "failed": "✗", "dropped": "–"}
_STAGES: Final = {
    "queued": "waiting for its turn",
    "brief": "reading the data and planning",
    "agree": "agreeing on what it may touch",
    "build": "building",
    "check": "checking from scratch",
    "deliver": "delivering",
    "over": "over",
}
_LONGEST: Final = 160


@dataclass(frozen=True, slots=True, kw_only=True)
class ProgressView:
    """A run, a moment ago."""

    run: str
    view: RunView = field(default_factory=RunView)
    began_ms: int = 0
    """0: nothing was told yet."""
    last_ms: int = 0
    now: str = ""
    """What is being done, in one line."""
    unpriced_tokens: int = 0
    """Tokens of calls that nobody put a price on."""
    ended: str = ""
    """What was said about its end; empty while it goes on, and for one that is done."""

    @property
    def cost(self) -> str:
        """In dollars; what has no known price is said to have none."""
        unpriced = f"price unknown of {self.unpriced_tokens:,} tokens" if self.unpriced_tokens else ""
        if unpriced and not self.view.microdollars:
            return unpriced
        return dollars(self.view.microdollars) + (f" + {unpriced}" if unpriced else "")

    @property
    def stage(self) -> str:
        """How far it has come, in words."""
        return _STAGES[self.view.stage]


def update_progress(before: ProgressView, recorded: Recorded) -> ProgressView:
    """One more event."""
    event = recorded.event
    now = _now(event, before.run)
    unpriced = 0
    if isinstance(event, CostRecorded) and not event.is_price_known:
        unpriced = event.input_tokens + event.output_tokens
    return replace(
        before,
        view=update_view(before.view, recorded),
        began_ms=before.began_ms or recorded.at_ms,
        last_ms=recorded.at_ms,
        now=before.now if now is None else now,
        unpriced_tokens=before.unpriced_tokens + unpriced,
        ended=_ended(before, event),
    )


def _ended(before: ProgressView, event: Event) -> str:
    match event:
        case RunEnded(workflow=before.run, error=error):
            return error
        case RunResumed(workflow=before.run) | RunRecovered(workflow=before.run):
            return ""
        case _:
            return before.ended


def progress_line(before: ProgressView, event: Event) -> str:
    """The event in one line for somebody who watches; empty if nobody would notice it."""
    match event:
        case Fact(topic="branch-tried"):
            return _branch(event)
        case Fact(topic=topic) if topic in {GOAL, STAGE, PLAN, CELL, WAITS, FILES}:
            return _event_line(before, event)
        case TaskChanged(state=state, title=title, note=note) if state != "planned":
            return f"{MARKS[state]} {_short(title)}: {state}{f': {_short(note)}' if note else ''}"
        case QuestionAsked(question=question, text=text):
            return f"asks {question}: {_short(text)}"
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
            return f"{_short(name)} may or may not have happened"
        case StepErred(error=error):
            return f"went wrong: {_short(error)}"
        case RunEnded(workflow=before.run, outcome=outcome, error=error) if outcome != "done":
            return f"{outcome}{f': {_short(error)}' if error else ''}"
        case _:
            return ""


def _branch(fact: Fact) -> str:
    """What was tried in a branch, and whether it is in the notebook now."""
    tried = read_trial(fact)
    if tried is None:
        return ""
    by = f" ({tried.decision} by {shown(tried.decided_by)})" if tried.decision else ""
    became = "waits for a person" if tried.waits else f"{'kept' if tried.is_kept else 'dropped'}{by}"
    checks = f", checks {tried.checks_passed}/{len(tried.checks)}" if tried.checks else ""
    return f"branch {_short(tried.purpose or tried.branch)}: {tried.status}{checks}, {became}"


def _event_line(before: ProgressView, fact: Fact) -> str:
    match fact.topic:
        case "run":
            is_new = before.view.goal is not None
            return f"{'new goal' if is_new else 'goal'}: {_short(fact.subject)}"
        case "stage" if fact.subject in STAGES and (fact.subject, fact.text) != (before.view.stage, before.view.note):
            return f"{_STAGES[fact.subject]}{f': {_short(fact.text)}' if fact.text else ''}"
        case "plan":
            return f"plan: {_short(fact.subject)}"
        case "cell":
            seconds = fact.numbers.get("seconds", 0.0)
            return f"cell {_short(fact.subject)}: {_short(fact.text)} ({seconds:.1f} s)"
        case "waits":
            return f"waits: {_short(fact.subject)}"
        case "files":
            return f"files: {shown(fact.subject)}"
        case _:
            return ""


def _now(event: Event, run: str) -> str | None:
    """What somebody is busy with from here on; None: as before."""
    match event:
        case StepStarted(name=name):
            return _step(name)
        case RunStarted(workflow=workflow, name=name) if workflow != run:
            return f"{shown(name)} begins"
        case Fact(topic="cell", subject=name, text=status):
            return f"cell {_short(name)}: {_short(status)}"
        case Fact(topic="says", text=text):
            return _short(text)
        case RunEnded(workflow=workflow) if workflow == run:
            return ""
        case _:
            return None


def _step(name: str) -> str:
    verb, _, rest = name.partition(" ")
    match verb:
        case "think":
            return "thinks"
        case "tool":
            return f"uses {_short(rest)}"
        case "ask":
            return "waits for an answer"
        case "look":
            return "looks at the notebook"
        case _:
            return _short(name)


def dollars(microdollars: int) -> str:
    """Money as people write it."""
    return f"${microdollars / 1e6:.4f}" if microdollars < 1_000_000 else f"${microdollars / 1e6:.2f}"


def elapsed(seconds: float) -> str:
    """A length of time as people say it."""
    whole = max(0, int(seconds))
    hours, minutes = whole // 3600, whole // 60 % 60
    if hours:
        return f"{hours} h {minutes:02} min"
    return f"{minutes} min {whole % 60:02} s" if minutes else f"{whole} s"


def _short(text: str) -> str:
    """On one line, nothing hidden, not too long: agents wrote it."""
    line = shown(" ".join(text.split()))
    return line if len(line) <= _LONGEST else f"{line[: _LONGEST - 1]}…"


async def read_progress(records: Records, run: str) -> ProgressView:
    """The run as it stands now."""
    picture = ProgressView(run=run)
    async for recorded in records.log.read_all(stream_of(run)):
        picture = update_progress(picture, recorded)
    return picture


def delivery_of(standing: Standing, picture: ProgressView) -> Delivery | None:
    """What it hands over; None while it goes on. One that was cut off hands over what it told until then."""
    match standing:
        case "queued" | "running" | "waiting":
            return None
        case "done":
            return picture.view.delivery or _cut_off(picture, "failed", "It ended without a delivery.")
        case "failed":
            return _cut_off(picture, "failed", picture.ended)
        case "cancelled":
            return _cut_off(picture, "stopped", picture.ended or "cancelled")
        case "dead":
            again = remedy("resume_run", run=picture.run)
            found = _cut_off(picture, "failed", f"{picture.ended} {again.sentence}".lstrip())
            return replace(found, remedies=(again,))


def _cut_off(picture: ProgressView, status: DeliveryStatus, why: str) -> Delivery:
    goal, plan = picture.view.goal, picture.view.plan
    return Delivery(
        status=status,
        goal="" if goal is None else goal.words,
        title="" if plan is None else plan.title,
        why=why,
        notebook="" if goal is None else goal.notebook,
        microdollars=picture.view.microdollars,
        tokens=picture.view.tokens,
        seconds=(picture.last_ms - picture.began_ms) / 1000,
        is_price_known=not picture.unpriced_tokens,
    )


def run_summary_json(status: RunStatus, picture: ProgressView) -> dict[str, Any]:
    """One run of many."""
    goal, delivery = picture.view.goal, delivery_of(status.standing, picture)
    began_ms = picture.began_ms or status.created_ms
    end_ms = picture.last_ms if delivery is not None else int(time.time() * 1000)
    return {
        "run": status.run,
        "status": _status(status, picture),
        "standing": status.standing,
        "stage": picture.view.stage,
        "goal": "" if goal is None else goal.words,
        "notebook": "" if goal is None else goal.notebook,
        "person": "" if goal is None else goal.person,
        "microdollars": picture.view.microdollars,
        "unpriced_tokens": picture.unpriced_tokens,
        "began_ms": began_ms,
        "seconds": max(0.0, (end_ms - began_ms) / 1000),
        "questions": len(status.questions),
    }


def _status(status: RunStatus, picture: ProgressView) -> str:
    """In one word, for whoever looks at many."""
    delivery = delivery_of(status.standing, picture)
    if delivery is not None:
        return delivery.status
    if status.questions:
        return "paused" if all(each.question.topic == PAUSED for each in status.questions) else "waiting"
    return picture.view.stage


async def run_json(records: Records, masker: Masker, run: str) -> dict[str, Any]:
    """Everything about one run. Raises `UserError`."""
    status = await records.status(run)
    check_is_run(run, status.name)
    return run_json_of(records, masker, status, await read_progress(records, run))


def run_json_of(records: Records, masker: Masker, status: RunStatus, picture: ProgressView) -> dict[str, Any]:
    """The same, for whoever has a picture of it."""
    delivery = delivery_of(status.standing, picture)
    return {
        **run_summary_json(status, picture),
        **view_json(picture.view),
        "questions": [open_question_view(item) for item in run_inbox(records, masker).read(status.questions)],
        "steps": len(status.steps),
        "agents": [each.workflow for each in status.children],
        "cost": picture.cost,
        "delivery": None if delivery is None else delivery_json(delivery),
    }
