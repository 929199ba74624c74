"""Audit entries as events of the journal, and back: one line for each action that was judged, with its last result."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from typing import Any, Final, cast

from cellwright.journal import AuditRecorded, Recorded
from cellwright.policy.actions import Kind
from cellwright.policy.audit import Actor, AuditEntry

_SAME: Final = ("run", "what", "action", "verdict", "basis", "reason", "result", "detail")
"""Fields that an entry and its event share."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditTrailLine:
    """What became of one action."""

    call: str
    """Names the action's one judgement; empty for an entry somebody else has told."""
    entry: AuditEntry

    def json(self) -> dict[str, Any]:
        """The line as plain JSON values."""
        return {"call": self.call, **self.entry.json()}


def audit_event(call: str, entry: AuditEntry) -> AuditRecorded:
    """What is told of a call: when it begins to wait for a person, is permitted or refused, and has ended."""
    same = {name: getattr(entry, name) for name in _SAME}
    return AuditRecorded(**same, **asdict(entry.who), action_kind=entry.kind, call=call)


def audit_trail(events: Iterable[Recorded]) -> list[AuditTrailLine]:
    """The last entry of each call, in the order they were told. Without a result it says `unknown` or `waiting`."""
    lines: dict[str, AuditTrailLine] = {}
    for recorded in events:
        event = recorded.event
        if isinstance(event, AuditRecorded):
            name = event.call or f"{recorded.stream} {recorded.sequence}"
            lines.pop(name, None)
            lines[name] = AuditTrailLine(call=event.call, entry=_entry(event, recorded.at_ms))
    return list(lines.values())


def _entry(event: AuditRecorded, at_ms: int) -> AuditEntry:
    return AuditEntry(
        **{name: getattr(event, name) for name in _SAME},
        at=datetime.fromtimestamp(at_ms / 1000, UTC),
        who=Actor(person=event.person, agent=event.agent, role=event.role),
        kind=cast("Kind", event.action_kind),
    )
