"""A daemon for tests: the real one, with a tiny run of three steps; the second lasts while the file `hold` is there.

Whoever works leaves a line in `begun.txt` and `work.txt`; each look at how many runs are at work one in `looks.txt`.
"""

from __future__ import annotations

import json
import os
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, Sequence
from contextlib import AbstractContextManager, AsyncExitStack, asynccontextmanager, nullcontext
from decimal import Decimal
from pathlib import Path
from typing import Any

import anyio

from cellwright.agents.drafts import Drafts, DraftView, follow_drafts
from cellwright.agents.events import AgentSpoke
from cellwright.app import open_notebook, open_pool
from cellwright.errors import UserError
from cellwright.journal.events import CostRecorded, TaskChanged
from cellwright.journal.flow import Flow, Workflow
from cellwright.journal.journal import Journal
from cellwright.journal.names import RunId
from cellwright.journal.questions import Question
from cellwright.kernel.pool import KernelPool
from cellwright.kernel.session.open_notebook import OpenNotebook
from cellwright.policy.actions import UseNetwork
from cellwright.policy.approvals import No
from cellwright.policy.masking.masker import Masker
from cellwright.runs.events import EVENT_TYPES, GoalSet, PlanAdopted
from cellwright.runs.goal.goal import Goal, goal_json, parse_goal
from cellwright.runs.plan.plan import Plan, Task
from cellwright.server.__main__ import main
from cellwright.server.executor import ExecutorOpener
from cellwright.settings import Settings
from cellwright.tools.approval.approval_questions import ask_approval
from cellwright.tools.notebook.editor import NotebookEditor

STEPS = ("first", "second", "third")
ASK = "ask"
"""A goal that asks a person after its steps."""
TELL = "tell"
"""A goal of which it tells as a real run does: the goal, a plan, words, a call of a tool, what it cost, a report."""
WORDS = "words"
"""A goal that asks what only words can answer."""
APPROVE = "approve"
"""A goal that asks whether it may reach a machine."""
KERNEL = "kernel"
"""A goal whose second step opens its notebook."""


RATES = UseNetwork(host="api.example.com", port=443, purpose="exchange rates")
PLAN = Plan(title="Two steps", tasks=(Task(id="read", title="Read"), Task(id="answer", title="Answer")))
TOLD = (
    AgentSpoke(workflow="one", text="I read the table."),
    CostRecorded(what="near:one", microdollars=1_200, input_tokens=900, output_tokens=100),
    TaskChanged(task="read", title="Read", state="done"),
)


def leave(path: Path, line: str) -> None:
    """One line, written at once or not at all."""
    descriptor = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
    os.write(descriptor, f"{line}\n".encode())
    os.close(descriptor)


def tiny_run(folder: Path, settings: Settings, pool: KernelPool) -> Workflow:
    async def run(flow: Flow, goal: Any) -> list[str]:
        async def work(step: str) -> str:
            async with AsyncExitStack() as stack:
                if step == "second" and goal["words"] == KERNEL:
                    opening = open_notebook(goal["notebook"], pool=pool, settings=settings)
                    await (await stack.enter_async_context(opening)).run()
                leave(folder / "begun.txt", f"{flow.run} {step} {os.getpid()}")
                # Another process takes the file away: there is no event to wait for.
                while step == "second" and (folder / "hold").exists():  # noqa: ASYNC110
                    await anyio.sleep(0.01)
            leave(folder / "work.txt", f"{flow.run} {step}")
            return step

        if goal["words"] in {TELL, APPROVE}:
            await flow.tell(GoalSet(goal=parse_goal(goal)), PlanAdopted(plan=PLAN))
        done = [await flow.step(step, lambda step=step: work(step)) for step in STEPS]
        if goal["words"] == TELL:
            await flow.step("tool look_around", lambda: work("look"))
            await flow.tell(*TOLD)
        if goal["words"] == WORDS:
            done.append(await flow.ask(Question(text="What is the threshold?")))
        if goal["words"] == APPROVE:
            masker = Masker.of(salt=b"s" * 16)
            said = await ask_approval(flow, RATES, reason="No rule.", project=goal["project"], masker=masker)
            done.append("no" if isinstance(said.reply, No) else "yes")
            await flow.tell(AgentSpoke(workflow=flow.id, text=f"The person said {done[-1]}."))
        if goal["words"] == ASK:
            done.append(await flow.ask(Question(text="Go on?", choices=("yes", "no"))))
        return done

    return Workflow(name="run", body=run)


class TinyRuns:
    """Carries out tiny runs, as `cellwright.app.runs.Runs` does real ones, without loading agents and models."""

    is_daemon = False

    def __init__(self, journal: Journal, folder: Path, pool: KernelPool | None = None) -> None:
        self._journal = journal
        self._pool = pool
        self._folder = folder
        self.records = journal.records
        self.notebooks = dict[str, OpenNotebook]()
        self.editors = dict[str, NotebookEditor]()
        self.drafts = Drafts()

    @property
    def pool(self) -> KernelPool:
        assert self._pool is not None
        return self._pool

    def yielding_to(self, give_way: Callable[[Path], Awaitable[None]]) -> AbstractContextManager[None]:
        return nullcontext()

    async def start(self, goal: Goal, *, run: str | None = None, connection: Mapping[str, str] | None = None) -> RunId:
        leave(self._folder / "connections.txt", json.dumps(dict(connection or {})))
        return await self._journal.run("run", goal_json(goal), run=run)

    async def cancel(self, run: str, *, reason: str = "cancelled") -> None:
        await self._journal.cancel(run, reason=reason)

    async def retry(self, run: str, task: str, *, person: str, budget_usd: Decimal | None = None) -> RunId:
        if task not in STEPS:
            raise UserError(f"No task {task!r}.", hint=f"Ask {person}.")
        return await self._journal.fork(run, from_step=STEPS.index(task) + 2)

    async def reject_card(self, run: str, card: str, *, person: str) -> RunId:
        raise UserError(f"No card {card!r}.", hint=f"Ask {person}.")

    async def fork(self, run: str, *, from_step: int | None = None) -> RunId:
        return await self._journal.fork(run, from_step=from_step)

    async def resume(self, run: str, *, person: str) -> None:
        await self._journal.resume(run, by=person)

    async def at_work(self) -> int:
        found = sum(status.is_going for status in await self.records.runs())
        leave(self._folder / "looks.txt", str(found))
        return found

    def drafts_of(self, run: str) -> AsyncGenerator[tuple[DraftView, ...]]:
        return follow_drafts(self.drafts, run)

    async def stranded(self) -> list[RunId]:
        return [status.run for status in await self._journal.stranded()]


def tiny_opener(folder: Path, journal_version: str = "1") -> ExecutorOpener:
    """Opens a real journal with the tiny run."""

    @asynccontextmanager
    async def open_tiny(settings: Settings) -> AsyncGenerator[TinyRuns]:
        where = settings.ready_home() / "journal.db"
        async with open_pool(settings) as pool:
            workflows = [tiny_run(folder, settings, pool)]
            async with Journal.open(where, version=journal_version, workflows=workflows, types=EVENT_TYPES) as journal:
                yield TinyRuns(journal, folder, pool)

    return open_tiny


def start(arguments: Sequence[str]) -> None:
    """`FOLDER VERSION JOURNAL-VERSION`: the daemon of this version of the package."""
    folder, version, journal_version = arguments
    main(tiny_opener(Path(folder), journal_version), version)
