"""Audit entries: who did what, when, under which rule, with which result. Journalled, and shown by interfaces."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, Final, Literal

from pydantic import TypeAdapter

from cellwright.errors import UserError
from cellwright.policy.actions import Action, Fingerprint, Kind, fingerprint
from cellwright.policy.display_text import shown
from cellwright.policy.judgement import Verdict
from cellwright.policy.rules import RuleEffect

Result = Literal["done", "failed", "refused", "waiting", "unknown"]
"""`unknown`: it may or may not have happened, and somebody must look."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Actor:
    """Who acted: the person on whose behalf, and the agent in its role, if one did."""

    person: str
    agent: str = ""
    role: str = ""

    def __str__(self) -> str:
        agent = f" via {self.agent}{f' ({self.role})' if self.role else ''}" if self.agent else ""
        return f"{self.person}{agent}"


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditEntry:
    """One line of the audit log: ids, words and numbers only."""

    at: datetime
    run: str
    who: Actor
    kind: Kind
    what: str
    """The action as the person would have seen it. Mask it before it is kept."""
    action: Fingerprint
    verdict: RuleEffect
    basis: str
    """The rule's file and line, the default, the envelope or the answer that decided."""
    reason: str
    result: Result
    detail: str = ""

    def line(self) -> str:
        """The entry on one line, for a terminal."""
        what = shown(self.what.split("\n", 1)[0].removesuffix(":"))
        detail = f": {shown(self.detail)}" if self.detail else ""
        when = self.at.astimezone(UTC).isoformat(timespec="seconds")
        who = shown(str(self.who))
        return f"{when} {shown(self.run)} {who}: {what} [{self.verdict} by {shown(self.basis)}] {self.result}{detail}"

    def json(self) -> dict[str, Any]:
        """The entry as plain JSON values."""
        return _ENTRY.dump_python(self, mode="json")


_ENTRY: Final = TypeAdapter(AuditEntry)


def audit_entry(action: Action, verdict: Verdict, *, at: datetime, run: str, who: Actor, result: Result) -> AuditEntry:
    """The entry of an action that was judged."""
    return AuditEntry(
        at=at,
        run=run,
        who=who,
        kind=action.kind,
        what=action.describe(),
        action=fingerprint(action),
        verdict=verdict.says,
        basis=verdict.basis,
        reason=verdict.reason,
        result=result,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditFilter:
    """Which entries a person wants to see; what is not given filters nothing."""

    run: str | None = None
    since: datetime | None = None
    until: datetime | None = None
    person: str | None = None
    kind: Kind | None = None

    def matches(self, entry: AuditEntry) -> bool:
        """Whether the entry is wanted. `since` is in, `until` is not."""
        return (
            self.run in (None, entry.run)
            and (self.since is None or entry.at >= self.since)
            and (self.until is None or entry.at < self.until)
            and self.person in (None, entry.who.person)
            and self.kind in (None, entry.kind)
        )


_AGO: Final = re.compile(r"([0-9]{1,6})([smhdw])", flags=re.ASCII)
_UNITS: Final = {"s": "seconds", "m": "minutes", "h": "hours", "d": "days", "w": "weeks"}


def parse_since(text: str, now: datetime) -> datetime:
    """`2h`, `3d`, a date or a time (UTC unless it says otherwise). Raises `UserError`."""
    try:
        if found := _AGO.fullmatch(text):
            return now - timedelta(**{_UNITS[found[2]]: int(found[1])})
        moment = datetime.fromisoformat(text)
    except (ValueError, OverflowError) as error:
        raise UserError(f"{text!r} is no time.", hint="Write 2h, 3d, 2026-01-31 or 2026-01-31T12:00.") from error
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)
