"""What a client is told of each event of a run: pure; the same while it happens and years later."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from acp import schema

from cellwright.agents.events import AgentSpoke, PersonSaid
from cellwright.journal.events import (
    AuditRecorded,
    CostRecorded,
    Event,
    QuestionAnswered,
    QuestionAsked,
    QuestionWithdrawn,
    Recorded,
    RunEnded,
    StepErred,
    StepFinished,
    StepStarted,
    TaskChanged,
)
from cellwright.runs.deliver.report.markdown import report_markdown
from cellwright.runs.events import CellReported, GoalSet, PlanAdopted, RunCarriedOver, StageEntered
from cellwright.runs.views.progress import delivery_of, progress_line
from cellwright.runs.views.run_view import RunView
from cellwright.server.acp.questions import call_of

_TOOL: Final = "tool "
"""How the name of a step begins in which a tool runs."""
_KINDS: Final[dict[str, schema.ToolKind]] = {
    "apply": "edit",
    "undo": "edit",
    "clean": "edit",
    "edit_file": "edit",
    "write_file": "edit",
    "look": "read",
    "read_file": "read",
    "read_kept": "read",
    "profile": "read",
    "schema": "read",
    "sample": "read",
    "query": "search",
    "search": "search",
    "plan": "think",
    "finish": "think",
    "browse": "fetch",
    "fetch": "fetch",
    "run": "execute",
    "run_program": "execute",
    "shell": "execute",
    "edit-cells": "edit",
    "write-file": "edit",
    "delete-file": "delete",
    "read-file": "read",
    "run-code": "execute",
    "run-shell": "execute",
    "use-network": "fetch",
    "query-connection": "search",
}
"""Of tools by their names, and of actions by theirs."""
_STATES: Final[dict[str, schema.PlanEntryStatus]] = {
    "running": "in_progress",
    "done": "completed",
    "failed": "completed",
}
_EDITS: Final = frozenset({f"{_TOOL}apply", f"{_TOOL}undo"})
_PROMPT_TOKENS: Final = 24_000
"""What an agent's prompt is kept to, unless its role says otherwise (`agents.role.Role.context_tokens`)."""
_LONGEST: Final = 12_000
AnyUpdate = Any
"""One of the kinds of `SessionNotification.update`."""


@dataclass(slots=True, kw_only=True)
class RunTelling:
    """Tells of one run, event by event."""

    mask: Callable[[str], str]
    waiting_kind: schema.ToolKind = "other"
    """Of what is being asked about."""
    own_words: list[str] = field(default_factory=list[str])
    """What the client has said and shows already."""
    _calls: dict[str, str] = field(default_factory=dict[str, str])
    """The last call of a tool of each workflow."""
    _cells: list[str] = field(default_factory=list[str])
    """What came of the cells of the call that is going on."""
    _entries: list[schema.PlanEntry] = field(default_factory=list[schema.PlanEntry])

    def updates(self, before: RunView, after: RunView, recorded: Recorded) -> list[AnyUpdate]:
        """What is told of one event; `after` is the view with it."""
        event = recorded.event
        match event:
            case GoalSet(goal=goal) if before.goal is None:
                info = schema.SessionInfoUpdate(session_update="session_info_update", title=goal.words[:200])
                return [*self._said(goal.words), info]
            case PersonSaid(text=text):
                return self._said(text)
            case PlanAdopted() | TaskChanged():
                return self._plan(after)
            case StageEntered(stage="over"):
                return []
            case AgentSpoke(text=text) if text.strip():
                return [self._thought(text)]
            case StepStarted() | StepFinished() | StepErred():
                return self._step(event)
            case CellReported():
                self._cells.append(event.line())
                return []
            case AuditRecorded():
                return self._judged(event)
            case QuestionAsked() | QuestionAnswered() | QuestionWithdrawn():
                return [self._question(event)]
            case CostRecorded() as cost:
                return [_usage(after, cost)]
            case RunCarriedOver(text=text):
                return [self.message(text)]
            case RunEnded(workflow=after.run, outcome=outcome):
                return self._over(after, outcome)
            case _:
                line = progress_line(before, event)
                return [self._thought(line)] if line else []

    def message(self, text: str) -> AnyUpdate:
        """Words of the agent."""
        return schema.AgentMessageChunk(session_update="agent_message_chunk", content=self._text(text + "\n\n"))

    def edited(self, call: str, change: Any, notebook: str, line: int | None) -> AnyUpdate:
        """The edits that a call of a tool made; `change` is as `/runs/{run}/changes` gives it."""
        cells = [each for each in change["cells"] if each["kind"] != "moved"]
        diffs = [
            schema.FileEditToolCallContent(
                type="diff",
                path=notebook,
                old_text=None if each["before"] is None else self.mask(each["before"]),
                new_text=self.mask(each["after"] or ""),
            )
            for each in cells
        ]
        names = ", ".join(each["name"] or each["cell"] for each in cells)
        return schema.ToolCallProgress(
            session_update="tool_call_update",
            tool_call_id=call,
            title=self.mask(f"Edit {names}"[:300]) if names else None,
            content=[*diffs, *self._ran()],
            locations=[schema.ToolCallLocation(path=notebook, line=line)],
        )

    def _step(self, event: StepStarted | StepFinished | StepErred) -> list[AnyUpdate]:
        if not event.name.startswith(_TOOL):
            return [self._thought(event.line())] if isinstance(event, StepErred) else []
        name = event.name.removeprefix(_TOOL)
        id = f"{event.workflow}#{event.step}"
        self._calls[event.workflow] = id
        match event:
            case StepStarted():
                self._cells.clear()
                kind = _KINDS.get(name.partition(":")[0], "other")
                return [self._call(id, name.replace("_", " "), kind, "in_progress")]
            case StepFinished():
                return [self._ended(id, "completed", self._ran())]
            case StepErred(error=error):
                return [self._ended(id, "failed", [self._content(error)])]

    def _judged(self, event: AuditRecorded) -> list[AnyUpdate]:
        kind = _KINDS.get(event.action_kind, "other")
        match event.result:
            case "waiting":
                self.waiting_kind = kind
                return []
            case "refused":
                why = f"{event.reason} {event.detail}".strip()
                call = self._call(f"audit {event.call}", event.what, kind, "failed")
                return [call.model_copy(update={"content": [self._content(f"Not done. {why}")]})]
            case "failed" if (id := self._calls.get(event.agent)) is not None:
                return [self._ended(id, "failed", [*self._ran(), self._content(event.detail)])]
            case _:
                return []

    def _question(self, event: QuestionAsked | QuestionAnswered | QuestionWithdrawn) -> AnyUpdate:
        id = call_of(event.question)
        match event:
            case QuestionAsked(text=text, topic=topic):
                return self._call(id, text, self.waiting_kind if topic == "approval" else "other", "pending")
            case QuestionAnswered():
                return self._ended(id, "completed", [self._content(event.line())])
            case QuestionWithdrawn():
                return self._ended(id, "failed", [self._content(event.line())])

    def _over(self, view: RunView, outcome: Any) -> list[AnyUpdate]:
        delivery = delivery_of(outcome, view)
        return [] if delivery is None else [self.message(report_markdown(delivery))]

    def _plan(self, view: RunView) -> list[AnyUpdate]:
        """All of it, if it is another one than was told."""
        entries = [
            schema.PlanEntry(
                content=self.mask(f"{'Failed: ' if task.status == 'failed' else ''}{task.title}"),
                priority="medium",
                status=_STATES.get(task.status, "pending"),
            )
            for task in (view.plan.tasks if view.plan is not None else ())
            if task.status != "dropped"
        ]
        if entries == self._entries:
            return []
        self._entries = entries
        return [schema.AgentPlanUpdate(session_update="plan", entries=entries)]

    def _said(self, words: str) -> list[AnyUpdate]:
        if words in self.own_words:
            self.own_words.remove(words)
            return []
        return [schema.UserMessageChunk(session_update="user_message_chunk", content=self._text(words + "\n\n"))]

    def _thought(self, text: str) -> AnyUpdate:
        return schema.AgentThoughtChunk(session_update="agent_thought_chunk", content=self._text(text + "\n\n"))

    def _call(self, id: str, title: str, kind: schema.ToolKind, status: schema.ToolCallStatus) -> schema.ToolCallStart:
        return schema.ToolCallStart(
            session_update="tool_call",
            tool_call_id=id,
            title=self.mask(title)[:_LONGEST],
            kind=kind,
            status=status,
        )

    def _ended(self, id: str, status: schema.ToolCallStatus, content: Sequence[Any]) -> AnyUpdate:
        return schema.ToolCallProgress(
            session_update="tool_call_update", tool_call_id=id, status=status, content=list(content) or None
        )

    def _ran(self) -> list[Any]:
        return [self._content("\n".join(self._cells))] if self._cells else []

    def _content(self, text: str) -> schema.ContentToolCallContent:
        return schema.ContentToolCallContent(type="content", content=self._text(text))

    def _text(self, text: str) -> schema.TextContentBlock:
        safe = self.mask(text)
        cut = safe if len(safe) <= _LONGEST else f"{safe[:_LONGEST]}… ({len(safe) - _LONGEST:,} more characters)"
        return schema.TextContentBlock(type="text", text=cut)


def is_edit(event: Event) -> bool:
    """Whether a call of a tool that edits has just ended."""
    return (
        isinstance(event, StepFinished) and bool(event.effect) and event.name.removeprefix(_TOOL) in {"apply", "undo"}
    )


def line_of(cell: str, source: str) -> int | None:
    """The line of a notebook's source at which the cell of this name stands."""
    for number, line in enumerate(source.splitlines(), 1):
        if line.startswith((f"def {cell}(", f"async def {cell}(", f"class {cell}(", f"class {cell}:")):
            return number
    return None


def tokens_used(view: RunView) -> schema.Usage:
    """By all agents of a run, so far."""
    read, wrote = view.spent.input_tokens, view.spent.output_tokens
    return schema.Usage(total_tokens=read + wrote, input_tokens=read, output_tokens=wrote)


def _usage(view: RunView, last: CostRecorded) -> AnyUpdate:
    used = last.input_tokens + last.output_tokens
    cost = schema.Cost(amount=view.microdollars / 1e6, currency="USD") if view.is_price_known else None
    return schema.UsageUpdate(session_update="usage_update", used=used, size=max(used, _PROMPT_TOKENS), cost=cost)
