"""Agents at work on the bench: a real journal, gateway, notebook and cage; the model is a script on loopback."""

from __future__ import annotations

import json
import tempfile
from collections.abc import AsyncGenerator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

import anyio
import anyio.to_thread
from pydantic import TypeAdapter

from bench.agent_tasks import Rounds, Task
from bench.failure import BenchFailed
from cellwright.agents.agent_context import AgentContext
from cellwright.agents.assignment import AgentReport, Assignment
from cellwright.agents.fixer import notebook_survey
from cellwright.agents.loop import agent_workflow, assignment_json
from cellwright.agents.programs import programs
from cellwright.agents.prompt.context_providers import NotebookContext, limits_text
from cellwright.agents.prompt.prompt_store import JournalTexts
from cellwright.agents.role import Role, built_in_roles
from cellwright.agents.styles import Style
from cellwright.app import open_notebook
from cellwright.journal.flow import Flow
from cellwright.journal.journal import Journal
from cellwright.kernel.pool import KernelPool
from cellwright.kernel.session.open_notebook import OpenNotebook
from cellwright.models.client.gateway_client import Models
from cellwright.models.client.gateway_process import GatewayLaunch
from cellwright.notebook.prompt_summary import estimate_tokens
from cellwright.policy.built_in import BUILT_IN_RULES
from cellwright.policy.masking.masker import Masker
from cellwright.policy.rule_file import RuleText, read_rules
from cellwright.runs.events import EVENT_TYPES
from cellwright.sandbox.host.tiers import probe
from cellwright.sandbox.spec import Limits
from cellwright.testing import CallTool, CallTools, ProviderProcess, Received
from cellwright.tools.actions.worker import ActionWorker
from cellwright.tools.approval.guard import Guard
from cellwright.tools.file_tools import file_tools
from cellwright.tools.notebook.editor import NotebookEditor
from cellwright.tools.notebook_tools import notebook_tools
from cellwright.tools.project_files import ProjectFiles

STYLES: Final[tuple[Style, ...]] = ("code", "one-call", "tools")
_MODEL: Final = "near:one"
_WAIT_SECONDS: Final = 120
_CONFIGURATION: Final = """
[endpoints.near]
kind = "openai-chat"
base_url = "{base_url}"
key = "required"
local = false
"""
_RULES: Final = """
[[rule]]
action = "write-file"
then = "allow"
paths = ["{project}/lib/**"]
"""
_REPORT: Final = TypeAdapter(AgentReport)


@dataclass(frozen=True, slots=True, kw_only=True)
class Came:
    """What a task took."""

    turns: int
    """How often the model was asked."""
    tokens: int
    """What it read and wrote in all of them, as the requests went over the wire."""


class AgentDriver:
    """Does one task after the other, in any style."""

    _models: Models
    _worker: ActionWorker

    def __init__(self, folder: Path, pool: KernelPool, provider: ProviderProcess) -> None:
        self._folder = folder
        self._pool = pool
        self._provider = provider
        self._journal: Journal | None = None
        self._studios: dict[str, AgentContext] = {}
        self._asked = 0

    @classmethod
    @asynccontextmanager
    async def open(cls, pool: KernelPool) -> AsyncGenerator[AgentDriver]:
        """Everything started; nothing of it is left afterwards."""
        async with AsyncExitStack() as stack:
            folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="cellwright-bench-agents-")))
            provider = stack.enter_context(ProviderProcess.running())
            driver = cls(folder, pool, provider)
            await driver._start(stack)
            yield driver

    async def _start(self, stack: AsyncExitStack) -> None:
        home = self._folder / "home"
        home.mkdir(mode=0o700)
        base_url = self._provider.base_url("openai-chat")
        (home / "models.toml").write_text(_CONFIGURATION.format(base_url=base_url))
        launch = GatewayLaunch(home=home, keys={"near": "sk-bench-0123456789abcdef"})
        self._models = await stack.enter_async_context(Models.open(home, launch=launch))
        stack.push_async_callback(self._models.stop_gateway, at_once=True)
        self._worker = await stack.enter_async_context(ActionWorker.open(self._pool.zygote, tier=probe().tier))

        @asynccontextmanager
        async def open_studio(flow: Flow, _: Assignment) -> AsyncGenerator[AgentContext]:
            yield self._studios[flow.run]

        opening = Journal.open(
            self._folder / "journal.db", version="bench", workflows=[agent_workflow(open_studio)], types=EVENT_TYPES
        )
        self._journal = await stack.enter_async_context(opening)

    async def do(self, name: str, task: Task, style: Style) -> Came:
        """A task from its assignment to its end. `BenchFailed` if that is not as it should be."""
        project = self._folder / f"{name} {style}".replace(" ", "-")
        _lay_out(project, task)
        script = _script(task, style)
        async with open_notebook(project / "notebook.py", pool=self._pool) as notebook:
            await anyio.to_thread.run_sync(self._provider.script, *(CallTools(calls) for calls in script))
            report = await self._work(project, notebook, task, style)
            received = await self._received()
            problems = [*_odd(report, received, script, task), *await _differences(notebook, project, task)]
        if problems:
            raise BenchFailed(f"{name!r} in the style {style}: {'; '.join(problems)}")
        return Came(turns=report.turns, tokens=sum(map(_read, received)) + sum(map(_written, script)))

    async def _work(self, project: Path, notebook: OpenNotebook, task: Task, style: Style) -> AgentReport:
        journal = self._journal
        assert journal is not None
        run = project.name
        self._studios[run] = await self._studio(project, notebook, journal, style)
        assignment = Assignment(goal=task.goal, role="coder", models=(_MODEL,), is_attended=False)
        with anyio.fail_after(_WAIT_SECONDS):
            await journal.run("agent", assignment_json(assignment), run=run)
            return _REPORT.validate_python(await journal.result(run))

    async def _studio(self, project: Path, notebook: OpenNotebook, journal: Journal, style: Style) -> AgentContext:
        masker = Masker.of(salt=b"s" * 16)
        rules = [RuleText.of("user", "bench.toml", _RULES.format(project=project)), BUILT_IN_RULES]
        files = ProjectFiles(project)
        desk = await NotebookEditor.open(notebook, self._folder / "home" / f"{project.name}.json")
        return AgentContext(
            models=self._models,
            tools=[*notebook_tools(desk), *file_tools(files)],
            guard=Guard(rules=read_rules(rules, project=str(project)), masker=masker),
            masker=masker,
            kept=JournalTexts(journal.records),
            person="bench",
            roles={"coder": _role(style)},
            context_providers=[NotebookContext(desk)],
            limits_text=limits_text(Limits()),
            survey=notebook_survey(desk, files),
            program=programs(self._worker),
        )

    async def _received(self) -> tuple[Received, ...]:
        """What the model was asked since the last time."""
        everything = await anyio.to_thread.run_sync(lambda: self._provider.requests)
        received, self._asked = everything[self._asked :], len(everything)
        return received


def _role(style: Style) -> Role:
    """The coder, who may also edit files here."""
    coder = built_in_roles()["coder"]
    return replace(coder, style=style, tools=(*coder.tools, "edit_file"))


def _script(task: Task, style: Style) -> Rounds:
    match style:
        case "code":
            return task.programs
        case "tools":
            return task.calls
        case "one-call":
            return tuple((call,) for calls in task.calls for call in calls)


# ── how things stand ──


def _lay_out(project: Path, task: Task) -> None:
    for path, text in task.files.items():
        (project / path).parent.mkdir(parents=True, exist_ok=True)
        (project / path).write_text(text)
    project.mkdir(exist_ok=True)
    cells = "".join(
        f"\n\n@app.cell\ndef {name}():\n" + "".join(f"    {line}\n" for line in code.splitlines()) + "    return\n"
        for name, code in task.cells.items()
    )
    head = 'import marimo\n\n__generated_with = "0.25.2"\napp = marimo.App()\n'
    (project / "notebook.py").write_text(f'{head}{cells}\n\nif __name__ == "__main__":\n    app.run()\n')


def _odd(report: AgentReport, received: tuple[Received, ...], script: Rounds, task: Task) -> list[str]:
    """What speaks against the run itself: it did not finish, or answered what it could not know."""
    told = json.dumps(received[-1].body["messages"], ensure_ascii=False) if received else ""
    unread = [text for text in task.rests_on if text not in told]
    answer = script[-1][-1].arguments
    problems: list[str] = []
    if report.outcome != "finished" or not isinstance(answer, Mapping) or report.answer != answer["answer"]:
        problems.append(f"it ended as {report.outcome}: {report.why or report.answer}")
    if not len(received) == report.turns == len(script):
        problems.append(f"{len(received)} requests and {report.turns} turns for {len(script)} answers")
    return [*problems, f"it had not read {unread}"] if unread else problems


async def _differences(notebook: OpenNotebook, project: Path, task: Task) -> list[str]:
    """Where the end is not what the task asks for."""
    cells = {cell.name: cell.code for cell in notebook.document.cells if cell.code.strip()}
    wanted = {**task.cells, **task.cells_after}
    problems = [
        f"cell {name}: {cells.get(name)!r}" for name in {*cells, *wanted} if cells.get(name) != wanted.get(name)
    ]
    if task.values_after:
        values = {preview.name: preview.text for preview in await notebook.look(list(task.values_after))}
        problems += [
            f"{name} is {values.get(name)}" for name, text in task.values_after.items() if values.get(name) != text
        ]
    files = {path: (project / path).read_text() for path in task.files}
    return problems + [
        f"file {path}" for path, text in {**task.files, **task.files_after}.items() if files[path] != text
    ]


# ── tokens ──


def _read(received: Received) -> int:
    body = {"messages": received.body["messages"], "tools": received.body.get("tools", [])}
    return estimate_tokens(json.dumps(body, ensure_ascii=False))


def _written(calls: tuple[CallTool, ...]) -> int:
    return sum(estimate_tokens(json.dumps({call.name: call.arguments}, ensure_ascii=False)) for call in calls)
