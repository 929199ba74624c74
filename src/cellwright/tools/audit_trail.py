"""Audit entries as events of the journal, and back: one line for each action that was judged, with its last result."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final, Literal, cast

from cellwright.journal import AuditRecorded, EventLog, Recorded, stream_of
from cellwright.policy import Actor, AuditEntry, Fingerprint, Kind, Result, Saying

Stage = Literal["waiting", "judged", "ended"]
"""An action is told when it begins to wait for a person, when it is permitted or refused, and when it has ended."""
_KEY: Final = "audit"


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditLine:
    """What became of one action."""

    call: str
    """Names the action's one judgement; empty for an entry somebody else has told."""
    entry: AuditEntry

    def json(self) -> dict[str, Any]:
        """The line as plain JSON values."""
        return {"call": self.call, **self.entry.json()}


async def tell(log: EventLog, call: str, stage: Stage, entry: AuditEntry) -> None:
    """Tell one stage of a call in its run's stream, once, however often the workflow is replayed."""
    event = AuditRecorded(
        run=entry.run,
        person=entry.who.person,
        agent=entry.who.agent,
        role=entry.who.role,
        action_kind=entry.kind,
        what=entry.what,
        action=entry.action,
        verdict=entry.verdict,
        basis=entry.basis,
        reason=entry.reason,
        result=entry.result,
        detail=entry.detail,
    )
    await log.append(stream_of(entry.run), event, key=f"{_KEY} {call} {stage}")


def audit_trail(events: Iterable[Recorded]) -> list[AuditLine]:
    """The last entry of each call, in the order they were told. Without a result it says `unknown` or `waiting`."""
    lines: dict[str, AuditLine] = {}
    for recorded in events:
        if isinstance(recorded.event, AuditRecorded):
            call = _call(recorded.key)
            name = call or f"{recorded.stream} {recorded.sequence}"
            lines.pop(name, None)
            lines[name] = AuditLine(call=call, entry=_entry(recorded.event, recorded.at_ms))
    return list(lines.values())


def _call(key: str) -> str:
    head, _, rest = key.partition(" ")
    return rest.rpartition(" ")[0] if head == _KEY else ""


def _entry(event: AuditRecorded, at_ms: int) -> AuditEntry:
    return AuditEntry(
        at=datetime.fromtimestamp(at_ms / 1000, UTC),
        run=event.run,
        who=Actor(person=event.person, agent=event.agent, role=event.role),
        kind=cast("Kind", event.action_kind),
        what=event.what,
        action=Fingerprint(event.action),
        verdict=cast("Saying", event.verdict),
        basis=event.basis,
        reason=event.reason,
        result=cast("Result", event.result),
        detail=event.detail,
    )
