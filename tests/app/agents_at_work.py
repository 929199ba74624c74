"""Agents at work through the public interface: a workspace that is all real, a journal, a gateway, a scripted model."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import anyio
from pydantic import TypeAdapter

from cellwright.agents.assignment import AgentReport
from cellwright.agents.loop import agent_workflow
from cellwright.agents.project_additions import find_additions
from cellwright.agents.prompt.prompt_store import JournalTexts
from cellwright.agents.trust_store import TrustStore
from cellwright.app import WorkspaceOptions, agent_context_opener
from cellwright.journal.crash import AtCrashPoint, carry_on
from cellwright.journal.journal import Journal
from cellwright.journal.questions import OpenQuestion
from cellwright.journal.records import Records
from cellwright.models.client.gateway_client import Models
from cellwright.policy.approvals import No, Reply, Yes
from cellwright.runs.events import EVENT_TYPES, HostVisited
from cellwright.settings import Settings
from cellwright.tools.approval.guard import audit_trail
from cellwright.tools.approval.inbox import Inbox
from tests.agents.driver import ADA, KEY, MASKER, AgentDriver
from tests.models.testbed import ModelTestbed

PATIENCE_SECONDS = 120
"""Cages, gateways and environments are made meanwhile, perhaps on a busy machine."""
ROLE = """\
---
name: {name}
description: Helps with everything.
tools: ["*"]
style: {style}
---
You help.
"""


def accept_all(home: Path, project: Path) -> None:
    """As a person does who has read what the project brings along."""
    TrustStore(home).accept(project, find_additions(project).sound(), by="ada")


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentsAtWork(AgentDriver):
    """Agents that work in a workspace opened by `open_agent_context`."""

    async def report(self, run: str = "r") -> AgentReport:
        with anyio.fail_after(PATIENCE_SECONDS):
            return TypeAdapter(AgentReport).validate_python(await self.journal.result(run))

    async def asked(self) -> OpenQuestion:
        with anyio.fail_after(PATIENCE_SECONDS):
            while True:
                grown = self.journal.log.growth.next()
                if pending := await self.journal.records.questions.pending():
                    return pending[0]
                await grown.wait()

    async def approval_text(self) -> str:
        """What a person is asked to allow."""
        return (await self.approval()).question.describe()

    async def judged(self) -> list[tuple[str, str, str]]:
        """Kind, verdict and result of everything that was judged, in order."""
        lines = audit_trail(await self.journal.log.audit())
        return [(line.entry.kind, line.entry.verdict, line.entry.result) for line in lines]

    async def answer(self, reply: Reply) -> str:
        """What was asked for, answered at the approvals door."""
        question = (await self.approval()).question
        said = await self.inbox.answer(question.id, reply, ADA, question.fingerprint)
        assert not type(said).__name__.endswith("Refused"), said
        return question.describe()

    async def say_yes(self) -> str:
        return await self.answer(Yes(reach="once"))

    async def say_no(self, feedback: str = "") -> str:
        return await self.answer(No(feedback=feedback))

    async def visits(self, run: str = "r") -> list[tuple[str, str]]:
        """Which hosts were visited, and how that ended, as the run's stream tells it."""
        events = [recorded.event async for recorded in self.journal.log.read_all(f"run:{run}")]
        visits = [event for event in events if isinstance(event, HostVisited)]
        return [(visit.host, visit.verdict.partition(" ")[0].rstrip(":")) for visit in visits]


@asynccontextmanager
async def open_agents_at_work(
    testbed: ModelTestbed,
    where: Path,
    notebook: Path,
    *,
    settings: Settings | None = None,
    at_crash_point: AtCrashPoint = carry_on,
    **options: Any,
) -> AsyncGenerator[AgentsAtWork]:
    """Agents of this notebook, with the state directory of the testbed."""
    chosen = WorkspaceOptions(
        settings=settings or Settings(home=testbed.home, cache=testbed.home / "cache"),
        launch=testbed.launch(),
        **options,
    )
    async with AsyncExitStack() as stack:
        models = await stack.enter_async_context(Models.open(testbed.home, launch=testbed.launch()))
        records = await stack.enter_async_context(Records.open(where, chain_key=KEY, types=EVENT_TYPES))
        opener = agent_context_opener(notebook, records=records, person="ada", options=chosen)
        journal = await stack.enter_async_context(
            Journal.open(
                where,
                version="1",
                workflows=[agent_workflow(opener)],
                chain_key=KEY,
                at_crash_point=at_crash_point,
                types=EVENT_TYPES,
            )
        )
        desk = Inbox(journal.records, masker=MASKER)
        yield AgentsAtWork(
            journal=journal, models=models, testbed=testbed, inbox=desk, texts=JournalTexts(journal.records)
        )
