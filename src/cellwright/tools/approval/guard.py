"""The guard: nothing an agent wants happens before it was judged, and whatever was judged is recorded.

Rules, the agreed envelope and earlier answers decide; only what they leave open asks a person. A refusal is a value the
agent reads. Use a guard from a workflow's own line of steps: a parallel branch that needs it is a child workflow.
"""

from __future__ import annotations

import json
import secrets
from collections.abc import Iterable
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from typing import Any, Final, Literal, assert_never, cast

import anyio.to_thread

from cellwright.errors import Defect
from cellwright.journal.events import AuditRecorded, Recorded
from cellwright.journal.flow import Flow
from cellwright.policy.actions import TRAITS, Action, Kind, fingerprint, fingerprint_of
from cellwright.policy.approvals import AgreedEnvelope, Answered, No
from cellwright.policy.audit import Actor, AuditEntry, audit_entry
from cellwright.policy.budgets import BudgetLedger, Reached, Unpriced
from cellwright.policy.display_text import shown_block
from cellwright.policy.judgement import MALFORMED, Ask, Deny, Verdict, by_answer, judge
from cellwright.policy.masking.masker import Masker
from cellwright.policy.rules import Rules
from cellwright.policy.serialization import action_json
from cellwright.tools.approval.approval_questions import ask_approval, can_be_shown, read_grants
from cellwright.tools.approval.budget_questions import BudgetAnswered, ask_for_more

LONGEST_RECORDED: Final = 4_000
"""Characters of an action's text in the audit trail; its fingerprint names all of it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ActionPermitted:
    """Go ahead, and say afterwards what came of it: `record_result`."""

    call: str
    """Names this judgement; fit for an idempotency key."""
    entry: AuditEntry
    action: Action


@dataclass(frozen=True, slots=True, kw_only=True)
class ActionRefused:
    """Do not; the agent is told why."""

    feedback: str


@dataclass(frozen=True, slots=True, kw_only=True)
class BudgetRaised:
    """There is more: go on with this ledger."""

    ledger: BudgetLedger


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditTrailLine:
    """What became of one action."""

    call: str
    """Names the action's one judgement; empty for an entry somebody else has told."""
    entry: AuditEntry

    def json(self) -> dict[str, Any]:
        """The line as plain JSON values."""
        return {"call": self.call, **self.entry.json()}


@dataclass(frozen=True, slots=True, kw_only=True)
class Guard:
    """Stands before the tools of runs under one set of rules."""

    rules: Rules
    masker: Masker
    envelope: AgreedEnvelope | None = None
    asks: bool = True
    """If not, what would be asked is refused."""
    granted: frozenset[Kind] = frozenset()
    """Of what somebody has allowed something for good."""

    async def permit(self, flow: Flow, action: Action, who: Actor) -> ActionPermitted | ActionRefused:
        """Whether the action may happen now. Waits for a person where one must be asked, however long it takes."""
        ruling = await flow.step(f"judge {action.kind}", lambda: self._rule(flow, action, who), returns=AuditTrailLine)
        if ruling.entry.action != fingerprint(action):
            raise Defect(
                f"{flow.id!r} was judged for another {ruling.entry.kind} than it wants now.",
                hint="A replayed workflow must want the same: make the action inside a step.",
            )
        match ruling.entry.verdict:
            case "allow":
                return await self._let(flow, ruling.call, ruling.entry, action)
            case "deny":
                return await self._refuse(flow, ruling.call, ruling.entry, "Not allowed.")
            case "ask":
                return await self._ask(flow, action, ruling)
            case _:
                assert_never(ruling.entry.verdict)

    def may_permit(self, kind: Kind) -> bool:
        """Whether there can be an action of this kind that is not refused."""
        if self.asks or self.envelope is not None or kind in self.granted or TRAITS[kind].default == "allow":
            return True
        return any(rule.says == "allow" and kind in rule.kinds for rule in self.rules.rules)

    async def record_result(
        self, flow: Flow, permitted: ActionPermitted, result: Literal["done", "failed", "unknown"], detail: str = ""
    ) -> None:
        """Tell what came of a permitted action. Until then the trail says `unknown`: it may have happened."""
        ended = replace(permitted.entry, result=result, detail=self._masked(detail))
        await flow.tell(audit_event(permitted.call, ended))

    async def ask_for_more(self, flow: Flow, stop: Reached | Unpriced, who: Actor) -> BudgetRaised | ActionRefused:
        """Pause because a budget is reached or a price unknown, until a person lets it go on or stops the work."""
        answered = await ask_for_more(flow, stop, self.masker)
        entry = self._masked_entry(_budget_entry(answered, who))
        call = fingerprint_of(answered.question.id)[:16]
        if isinstance(answered.reply, No):
            limit = f"Not more than {stop.limit.describe()}."
            return await self._refuse(flow, call, entry, limit, answered.reply.feedback)
        await flow.tell(audit_event(call, replace(entry, result="done")))
        return BudgetRaised(ledger=answered.ledger(stop.ledger))

    # ── judging ──

    async def _rule(self, flow: Flow, action: Action, who: Actor) -> AuditTrailLine:
        now = datetime.now(UTC)
        verdict: Verdict = judge(action, self.rules, self.envelope, run=flow.run, now=now)
        if isinstance(verdict, Ask):
            grants = await read_grants(flow.read)
            verdict = judge(action, self.rules, self.envelope, tuple(grants.values()), run=flow.run, now=now)
        if isinstance(verdict, Ask) and not self.asks:
            verdict = Deny(reason=f"Nobody is asked in this run. {verdict.reason}", basis=verdict.basis)
        if isinstance(verdict, Ask) and (why := await self._why_not_shown(action)):
            verdict = Deny(reason=f"{why}, so nobody could be shown it.", basis=MALFORMED)
        entry = audit_entry(action, verdict, at=now, run=flow.run, who=who, result="unknown")
        # A long diff takes the masker a while.
        masked = await anyio.to_thread.run_sync(self._masked_entry, entry)
        return AuditTrailLine(call=secrets.token_hex(8), entry=masked)

    async def _why_not_shown(self, action: Action) -> str:
        """Why a person cannot be asked about it; empty if one can."""
        if not _can_be_kept(action):
            return "Its text is not Unicode"
        is_shown = await anyio.to_thread.run_sync(can_be_shown, action, self.rules.project, self.masker)
        return "" if is_shown else "A secret is spread over its parts"

    async def _ask(self, flow: Flow, action: Action, ruling: AuditTrailLine) -> ActionPermitted | ActionRefused:
        await flow.tell(audit_event(ruling.call, replace(ruling.entry, result="waiting")))
        answered = await ask_approval(
            flow, action, reason=ruling.entry.reason, project=self.rules.project, masker=self.masker
        )
        entry = replace(ruling.entry, **_said(answered))
        if isinstance(answered.reply, No):
            return await self._refuse(flow, ruling.call, entry, "Not allowed.", answered.reply.feedback)
        return await self._let(flow, ruling.call, entry, action)

    # ── telling ──

    async def _let(self, flow: Flow, call: str, entry: AuditEntry, action: Action) -> ActionPermitted:
        await flow.tell(audit_event(call, entry))
        return ActionPermitted(call=call, entry=entry, action=action)

    async def _refuse(self, flow: Flow, call: str, entry: AuditEntry, feedback: str, words: str = "") -> ActionRefused:
        await flow.tell(audit_event(call, replace(entry, result="refused", detail=self._masked(words))))
        return ActionRefused(feedback=f"{feedback} {entry.reason} {words}".rstrip())

    def _masked_entry(self, entry: AuditEntry) -> AuditEntry:
        return replace(
            entry, what=self._masked(entry.what), basis=self._masked(entry.basis), reason=self._masked(entry.reason)
        )

    def _masked(self, text: str) -> str:
        safe = self.masker.mask(shown_block(text)).text
        return safe if len(safe) <= LONGEST_RECORDED else f"{safe[:LONGEST_RECORDED]}… ({len(safe)} characters)"


def _budget_entry(answered: BudgetAnswered, who: Actor) -> AuditEntry:
    question = answered.question
    return AuditEntry(
        at=answered.at,
        run=question.run,
        who=who,
        kind="spend",
        what=answered.describe(),
        action=question.fingerprint,
        result="unknown",
        **_said(answered),
    )


def _said(answered: Answered | BudgetAnswered) -> dict[str, Any]:
    """What an answer makes of an entry."""
    is_no, basis = isinstance(answered.reply, No), by_answer(answered.question.id)
    reason = f"{answered.by.name} {'said no' if is_no else 'allowed it'}."
    return {"verdict": "deny" if is_no else "allow", "basis": basis, "reason": reason}


def _can_be_kept(action: Action) -> bool:
    """A lone surrogate has no UTF-8: neither the journal nor an interface could hold it."""
    try:
        json.dumps(action_json(action), ensure_ascii=False).encode()
    except ValueError:
        return False
    return True


# ── audit entries as events of the journal, and back ──

_SAME: Final = ("run", "what", "action", "verdict", "basis", "reason", "result", "detail")
"""Fields that an entry and its event share."""


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
