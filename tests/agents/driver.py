"""A driver for tests: a real journal, a real gateway, scripted models over the real wire, and agents at work."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import anyio
from pydantic import TypeAdapter

from cellwright.agents.agent_context import AgentContext
from cellwright.agents.artifacts import artifact_tools
from cellwright.agents.assignment import AgentReport, Assignment
from cellwright.agents.fixer import notebook_survey
from cellwright.agents.loop import agent_workflow, assignment_json
from cellwright.agents.prompt.context_providers import ContextProvider, NotebookContext
from cellwright.agents.prompt.prompt import Prompt
from cellwright.agents.prompt.prompt_store import JournalTexts, list_contexts, read_prompt
from cellwright.agents.role import Role, built_in_roles
from cellwright.journal.crash import AtCrashPoint, carry_on
from cellwright.journal.flow import Flow, Workflow
from cellwright.journal.journal import Journal
from cellwright.journal.questions import OpenQuestion
from cellwright.kernel.session.open_notebook import OpenNotebook
from cellwright.models.client.gateway_client import Models
from cellwright.policy.approvals import Person
from cellwright.policy.built_in import BUILT_IN_RULES
from cellwright.policy.masking.masker import Masker, Secret
from cellwright.policy.rule_file import RuleText, read_rules
from cellwright.runs.events import EVENT_TYPES
from cellwright.testing import CallTool, Received
from cellwright.tools.approval.guard import Guard
from cellwright.tools.approval.inbox import Inbox, InboxItem
from cellwright.tools.notebook.editor import NotebookEditor
from cellwright.tools.notebook.saved_notebook import EditorPoint
from cellwright.tools.notebook_tools import notebook_tools
from cellwright.tools.project_files import ProjectFiles
from cellwright.tools.tool import Done, Tool, ToolResult, tool
from tests.models.testbed import ModelTestbed

ADA = Person(name="ada", door="web")
SECRET = "tr0ub4dor&3-and-more"
MASKER = Masker.of([Secret(name="PASSWORD", value=SECRET)], salt=b"s" * 16)
KEY = b"k" * 32
MODEL = "near:one"
DONE = CallTool("finish", {"summary": "It is done.", "answer": "42"})


def an_assignment(goal: str = "Find the answer.", **more: Any) -> Assignment:
    given: dict[str, Any] = {"models": (MODEL,), "role": "helper"}
    return Assignment(goal=goal, **(given | more))


def a_role(**more: Any) -> Role:
    """A role with every tool there is, calling them plainly."""
    given: dict[str, Any] = {"name": "helper", "prompt": "You help.", "tools": ("*",), "style": "tools"}
    return Role(description="Helps.", **(given | more))


@tool()
async def finish(summary: str, answer: str = "") -> ToolResult:
    """Say that the goal is reached."""
    return Done(text=summary, value={"summary": summary, "answer": answer}, ends=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentDriver:
    """Agents at work, and everything a test may look at."""

    journal: Journal
    models: Models
    testbed: ModelTestbed
    inbox: Inbox
    texts: JournalTexts

    async def start(self, assignment: Assignment | None = None, *, run: str = "r") -> str:
        return await self.journal.run("agent", assignment_json(assignment or an_assignment()), run=run)

    async def report(self, run: str = "r") -> AgentReport:
        with anyio.fail_after(120):
            return TypeAdapter(AgentReport).validate_python(await self.journal.result(run))

    async def work(self, assignment: Assignment | None = None) -> AgentReport:
        """From an assignment to its report."""
        return await self.report(await self.start(assignment))

    async def asked(self) -> OpenQuestion:
        """The question somebody should answer."""
        with anyio.fail_after(120):
            news = self.journal.log.growth.next()
            while not (pending := await self.journal.records.questions.pending()):
                await news.wait()
                news = self.journal.log.growth.next()
        return pending[0]

    async def approval(self) -> InboxItem:
        """The question on the approvals editor."""
        return await self.inbox.show((await self.asked()).id)

    async def context(self, step: int, run: str = "r") -> Prompt:
        """What the model read in a step."""
        facts = await list_contexts(self.journal.log.read_all, run)
        return await read_prompt(self.texts, facts[f"{run}#{step}"].prompt)

    def requests(self) -> Sequence[Received]:
        """What the model was really asked."""
        return self.testbed.provider.requests

    def sent(self, number: int) -> list[dict[str, Any]]:
        """The messages of one request, 1 is the first."""
        return list(self.requests()[number - 1].body["messages"])

    def sent_text(self, number: int) -> str:
        """Everything one request says."""
        return str(self.requests()[number - 1].body["messages"])

    async def step_names(self, run: str = "r") -> list[str]:
        return [step.name for step in (await self.journal.status(run)).steps]


@asynccontextmanager
async def open_driver(
    testbed: ModelTestbed,
    where: str | Path,
    *,
    tools: Sequence[Tool] = (),
    notebook: OpenNotebook | None = None,
    roles: Sequence[Role] = (),
    context_providers: Sequence[ContextProvider] = (),
    rules: str = "",
    at_crash_point: AtCrashPoint = carry_on,
    studio: dict[str, Any] | None = None,
    workflows: Sequence[Workflow] = (),
    editor_tools: Callable[[NotebookEditor], Sequence[Tool]] = lambda _: (),
    reached: Callable[[EditorPoint], None] = lambda _: None,
) -> AsyncGenerator[AgentDriver]:
    """Agents with these tools, or with those of a notebook."""
    texts = [RuleText.of("user", "mine.toml", rules), BUILT_IN_RULES]
    project = testbed.home if notebook is None else notebook.path.parent
    guard = Guard(rules=read_rules(texts, project=str(project)), masker=MASKER)
    async with AsyncExitStack() as stack:
        models = await stack.enter_async_context(Models.open(testbed.home, launch=testbed.launch()))
        shelf: list[JournalTexts] = []
        is_open = anyio.Event()
        here, seen = list(tools) or [finish], list(context_providers)
        more: dict[str, Any] = dict(studio or {})
        if notebook is not None:
            editor = await NotebookEditor.open(notebook, testbed.home / "desk.json", reached=reached)
            here, seen = [*tools, *editor_tools(editor), *notebook_tools(editor)], [*seen, NotebookContext(editor)]
            more.setdefault("survey", notebook_survey(editor, ProjectFiles(project)))

        @asynccontextmanager
        async def open_studio(_: Flow, __: Assignment) -> AsyncGenerator[AgentContext]:
            # A run that was cut off is taken up before the journal is open for others.
            await is_open.wait()
            yield AgentContext(
                models=models,
                tools=[*here, *artifact_tools(shelf[0])],
                guard=guard,
                masker=MASKER,
                kept=shelf[0],
                person="ada",
                roles=built_in_roles() | {role.name: role for role in roles or [a_role()]},
                context_providers=seen,
                **more,
            )

        journal = await stack.enter_async_context(
            Journal.open(
                where,
                version="1",
                workflows=[agent_workflow(open_studio), *workflows],
                chain_key=KEY,
                at_crash_point=at_crash_point,
                types=EVENT_TYPES,
            )
        )
        shelf.append(JournalTexts(journal.records))
        is_open.set()
        yield AgentDriver(
            journal=journal,
            models=models,
            testbed=testbed,
            inbox=Inbox(journal.records, masker=MASKER),
            texts=shelf[0],
        )
