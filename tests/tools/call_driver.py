"""A driver for tests: a real journal whose workflow `calls` makes tool calls through the standard caller."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import anyio

from cellwright.journal.crash import AtCrashPoint, carry_on
from cellwright.journal.events import StepFinished
from cellwright.journal.flow import Flow, Workflow
from cellwright.journal.journal import Journal
from cellwright.policy.built_in import BUILT_IN_RULES
from cellwright.policy.rule_file import RuleText, read_rules
from cellwright.runs.events import EVENT_TYPES
from cellwright.runs.views.questions import run_inbox
from cellwright.tools.approval.guard import Guard
from cellwright.tools.approval.inbox import Inbox, InboxItem
from cellwright.tools.callers import GuardedCaller, standard
from cellwright.tools.text_store import TextStore
from cellwright.tools.tool import Tool, ToolCall, ToolResult, Toolset, parse_result, result_json
from tests.tools.guard_driver import KEY, MASKER, WHO

ALLOW_ALL = """
[[rule]]
action = "write-file"
then = "allow"
paths = ["./**"]
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class CallDriver:
    journal: Journal
    inbox: Inbox

    async def begin(self, run: str, *calls: tuple[str, Any]) -> None:
        """Start a run that makes these calls in one turn."""
        turn = [{"id": f"c{number}", "name": name, "arguments": given} for number, (name, given) in enumerate(calls)]
        await self.journal.run("calls", turn, run=run)

    async def results(self, run: str) -> list[ToolResult]:
        with anyio.fail_after(120):
            return [parse_result(kept) for kept in await self.journal.result(run)]

    async def call(self, name: str, arguments: Any = None, *, run: str = "r") -> ToolResult:
        """The result of one call."""
        await self.begin(run, (name, arguments or {}))
        [result] = await self.results(run)
        return result

    async def asked(self) -> InboxItem:
        with anyio.fail_after(120):
            news = self.journal.log.growth.next()
            while not (pending := await self.inbox.pending()):
                await news.wait()
                news = self.journal.log.growth.next()
        return pending[0]

    async def told(self, run: str) -> list[str]:
        """The steps of a run as its stream tells them."""
        events = [recorded.event async for recorded in self.journal.log.read_all(f"run:{run}")]
        return [event.name for event in events if isinstance(event, StepFinished)]


@asynccontextmanager
async def open_driver(
    where: Path | str,
    tools: Sequence[Tool],
    *,
    project: str = "/home/ada/penguins",
    rules: str = ALLOW_ALL,
    tokens: int = 4_000,
    kept: TextStore | None = None,
    at_crash_point: AtCrashPoint = carry_on,
) -> AsyncGenerator[CallDriver]:
    """A journal at work with these tools."""
    texts = [RuleText.of("user", "mine.toml", rules), BUILT_IN_RULES]
    guard = Guard(rules=read_rules(texts, project=project), masker=MASKER)
    caller: GuardedCaller = standard(Toolset(tools), guard=guard, masker=MASKER, who=WHO, kept=kept, tokens=tokens)

    async def calls(flow: Flow, wanted: list[Any]) -> list[Any]:
        results = await caller.call_all(flow, [ToolCall(**call) for call in wanted])
        return [result_json(result) for result in results]

    async with Journal.open(
        where,
        version="1",
        workflows=[Workflow(name="calls", body=calls)],
        chain_key=KEY,
        at_crash_point=at_crash_point,
        types=EVENT_TYPES,
    ) as journal:
        yield CallDriver(journal=journal, inbox=run_inbox(journal.records, MASKER))
