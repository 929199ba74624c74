"""Audit entries as events of the journal, and back: one line for each action that was judged, with its last result."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, cast

from cellwright.journal import AuditRecorded, Recorded
from cellwright.policy.actions import Fingerprint, Kind
from cellwright.policy.audit import Actor, AuditEntry, Result
from cellwright.policy.rules import RuleEffect


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
    return AuditRecorded(
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
        call=call,
    )


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
        at=datetime.fromtimestamp(at_ms / 1000, UTC),
        run=event.run,
        who=Actor(person=event.person, agent=event.agent, role=event.role),
        kind=cast("Kind", event.action_kind),
        what=event.what,
        action=Fingerprint(event.action),
        verdict=cast("RuleEffect", event.verdict),
        basis=event.basis,
        reason=event.reason,
        result=cast("Result", event.result),
        detail=event.detail,
    )
