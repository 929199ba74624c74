"""An driver for tests: a real journal whose workflow `act` takes its actions past a real guard, one by one."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import anyio

from cellwright.journal.crash import AtCrashPoint, carry_on
from cellwright.journal.events import AuditRecorded
from cellwright.journal.flow import Flow, Workflow
from cellwright.journal.journal import Journal
from cellwright.policy.actions import Action, UseNetwork
from cellwright.policy.approvals import AgreedEnvelope, Person
from cellwright.policy.audit import Actor
from cellwright.policy.built_in import BUILT_IN_RULES
from cellwright.policy.masking.masker import Masker, Secret
from cellwright.policy.rule_file import RuleText, read_rules
from cellwright.policy.serialization import action_json, parse_action
from cellwright.runs.events import EVENT_TYPES
from cellwright.tools.approval.guard import ActionPermitted, ActionRefused, AuditTrailLine, Guard, audit_trail
from cellwright.tools.approval.inbox import Inbox, InboxItem

PROJECT = "/home/ada/penguins"
ADA = Person(name="ada", door="web")
WHO = Actor(person="ada", agent="builder-1", role="builder")
SECRET = "tr0ub4dor&3-and-more"
RATES = UseNetwork(host="api.example.com", port=443, purpose="exchange rates")
RULES = """
[[rule]]
action = "run-shell"
then = "deny"
reason = "No shell here."
"""
MASKER = Masker.of([Secret(name="PASSWORD", value=SECRET)], salt=b"s" * 16)
KEY = b"k" * 32


@dataclass(frozen=True, slots=True, kw_only=True)
class GuardDriver:
    journal: Journal
    inbox: Inbox
    guard: Guard

    async def act(self, run: str, *actions: Action) -> None:
        """Start a run that wants these actions."""
        await self.journal.run("act", [action_json(action) for action in actions], run=run)

    async def outcomes(self, run: str) -> list[str]:
        """What became of a run's actions, once it has ended."""
        with anyio.fail_after(120):
            return await self.journal.result(run)

    async def asked(self) -> InboxItem:
        """The question somebody should answer."""
        with anyio.fail_after(120):
            news = self.journal.log.growth.next()
            while not (pending := await self.inbox.pending()):
                await news.wait()
                news = self.journal.log.growth.next()
        return pending[0]

    async def trail(self, run: str) -> list[AuditTrailLine]:
        """What the audit says about a run."""
        return [line for line in audit_trail(await self.journal.log.audit()) if line.entry.run == run]

    async def stages(self) -> list[tuple[str, str]]:
        """Verdict and result of every audit event, in order."""
        events = [recorded.event for recorded in await self.journal.log.audit()]
        return [(event.verdict, event.result) for event in events if isinstance(event, AuditRecorded)]


@asynccontextmanager
async def open_guard_driver(
    where: str | Path,
    *,
    rules: str = RULES,
    envelope: AgreedEnvelope | None = None,
    did: Callable[[Action], None] = lambda _: None,
    workflows: Sequence[Workflow] = (),
    at_crash_point: AtCrashPoint = carry_on,
    chain_key: bytes | None = KEY,
) -> AsyncGenerator[GuardDriver]:
    """A journal at work; `did` is what the actions do to the world."""
    texts = [RuleText.of("user", "mine.toml", rules), BUILT_IN_RULES]
    guard = Guard(rules=read_rules(texts, project=PROJECT), masker=MASKER, envelope=envelope)

    async def act(flow: Flow, wanted: list[Any]) -> list[str]:
        return [await _one(flow, guard, parse_action(data), did) for data in wanted]

    known = [Workflow(name="act", body=act), *workflows]
    async with Journal.open(
        where, version="1", workflows=known, chain_key=chain_key, at_crash_point=at_crash_point, types=EVENT_TYPES
    ) as journal:
        yield GuardDriver(journal=journal, inbox=Inbox(journal.records, masker=MASKER), guard=guard)


async def _one(flow: Flow, guard: Guard, action: Action, did: Callable[[Action], None]) -> str:
    match await guard.permit(flow, action, WHO):
        case ActionPermitted() as permitted:

            async def work() -> None:
                did(action)

            await flow.step("do it", work)
            await guard.record_result(flow, permitted, "done")
            return "done"
        case ActionRefused(feedback=feedback):
            return feedback
