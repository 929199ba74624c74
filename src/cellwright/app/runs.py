"""Runs, put together: their journal, workspaces, slots, checks and deliveries. One such process at a time."""

from __future__ import annotations

import secrets
import shutil
from collections.abc import AsyncGenerator, Awaitable, Callable, Collection, Generator, Mapping, Sequence
from contextlib import AsyncExitStack, aclosing, asynccontextmanager, contextmanager
from dataclasses import dataclass, field, replace
from decimal import Decimal
from pathlib import Path
from typing import Final

import anyio

from cellwright.agents import steering
from cellwright.agents.drafts import Drafts, DraftView, follow_drafts
from cellwright.agents.project_additions import Addition
from cellwright.agents.trust_store import TrustStore
from cellwright.app.attached_goals import AttachedUse
from cellwright.app.notebooks import Files, open_pool
from cellwright.app.research_library import with_library
from cellwright.app.run_network import store_network_variables, stored_network_variables
from cellwright.app.tool_server_use import ServerUse
from cellwright.app.verification import ConnectionLeave, check_outcome, verify_notebook
from cellwright.app.workspaces import (
    BRANCHES_FOLDER,
    CONNECTIONS_FILE,
    EDITOR_FILE,
    HOST_PERMISSIONS_FILE,
    WorkspaceOptions,
    masker_of,
    open_workspace,
)
from cellwright.errors import UserError
from cellwright.journal.crash import AtCrashPoint, carry_on
from cellwright.journal.journal import Journal
from cellwright.journal.names import RunId, new_run_id, run_id, stream_of
from cellwright.journal.records import Records
from cellwright.kernel.observation import CellFinishedEvent
from cellwright.kernel.pool import KernelPool
from cellwright.kernel.session.open_notebook import OpenNotebook
from cellwright.kernel.task_groups import unwrap_single_error
from cellwright.models.client.gateway_process import GatewayLaunch
from cellwright.notebook.atomic_write import write_atomically
from cellwright.policy.approvals import Person
from cellwright.policy.masking.masker import Masker
from cellwright.remedies import sentence_of
from cellwright.runs.deliver.delivery import CheckOutcome
from cellwright.runs.events import EVENT_TYPES, CellReported, FilesNotKept, RunWaiting
from cellwright.runs.execute import steering_commands
from cellwright.runs.execute.files import mounts_of, not_kept
from cellwright.runs.execute.slots import RunSlots, SlotLimits
from cellwright.runs.execute.workflow import RUN, run_workflows
from cellwright.runs.execute.workspace import (
    BranchWorkspace,
    ContextRegistry,
    OpenBranchWorkspace,
    RunResources,
    Workspace,
)
from cellwright.runs.goal.goal import Goal, goal_json
from cellwright.runs.goal.new_notebook import goal_data
from cellwright.runs.plan.plan import RetryTask, edited
from cellwright.runs.views.research_view import newest_research, read_research
from cellwright.runs.views.run_view import read_view
from cellwright.sandbox.spec import Limits
from cellwright.settings import Settings
from cellwright.tools.history.timeline import read_timeline, with_renamed_run, write_timeline
from cellwright.tools.notebook.editor import NotebookEditor

VERSION: Final = "runs-2"
"""Of the steps that runs take: another one, and the runs of the old are forked to it."""
_CLOSE_TIMEOUT_SECONDS: Final = 5
"""So long a run's end waits for a person who changes its notebook at this very moment."""


ReleaseNotebook = Callable[[Path], Awaitable[None]]
"""Lets go of the notebook of this file."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunOptions:
    """How runs are carried out here; as it stands, what a person gets who says nothing."""

    limits: SlotLimits = field(default_factory=SlotLimits)
    workspace: WorkspaceOptions | None = None
    """What the workspaces of all runs have in common; files, state and kernels are each run's own."""
    launch: GatewayLaunch | None = None
    pools: tuple[KernelPool, KernelPool] | None = None
    """Where kernels come from, the second for the second run of a check; without them runs open their own."""
    at_crash_point: AtCrashPoint = carry_on
    version: str = VERSION


@dataclass(frozen=True, slots=True, eq=False)
class Runs:
    """A process that carries out runs. Made by `open_runs`."""

    journal: Journal
    settings: Settings
    pool: KernelPool
    """Where its kernels come from."""
    editors: Mapping[str, NotebookEditor] = field(default_factory=dict[str, NotebookEditor])
    """The editors of runs that have their notebook open now, by run."""
    others: list[ReleaseNotebook] = field(default_factory=list[ReleaseNotebook])
    """Who else may have a notebook open that a run is about to open."""
    drafts: Drafts = field(default_factory=Drafts)
    """What the agents of its runs are being answered."""

    is_daemon = False
    """Runs rest when this process ends."""

    @property
    def records(self) -> Records:
        """Of its journal."""
        return self.journal.records

    @property
    def notebooks(self) -> Mapping[str, OpenNotebook]:
        """The notebooks that runs have open now, by run."""
        return {run: editor.notebook for run, editor in self.editors.items()}

    @contextmanager
    def yielding_to(self, give_way: ReleaseNotebook) -> Generator[None]:
        """While this block lasts, `give_way` is awaited before a run opens a notebook: a file has one kernel."""
        self.others.append(give_way)
        try:
            yield
        finally:
            self.others.remove(give_way)

    async def start(self, goal: Goal, *, run: str | None = None, connection: Mapping[str, str] | None = None) -> RunId:
        """Take on a goal: durable once this returns. A name that is taken means that run.

        `connection` holds for the run for as long as there is one; None: this process's own settings.
        """
        chosen = run_id(run) if run is not None else new_run_id()
        if connection is not None:
            # Before the run: it may begin, and connect, at once.
            await anyio.to_thread.run_sync(store_network_variables, run_folder(self.settings, chosen), connection)
        return await self.journal.run(RUN, goal_json(goal), run=chosen)

    async def cancel(self, run: str, *, reason: str = "cancelled") -> None:
        """Stop a run for good; what is done stays."""
        await self.journal.cancel(run, reason=reason)

    async def retry(self, run: str, task: str, *, person: str, budget_usd: Decimal | None = None) -> RunId:
        """Do a task again: in a run at work, or in a new one that goes on from where an ended one stood."""
        status = await self.records.status(run)
        if status.is_going:
            again, who = RetryTask(task=task), Person(name=person, door="cli")
            await steering_commands.change_plan(self.records, run, again, who)
            return status.run
        seen = await read_view(self.records.log.read_all, run)
        if seen.goal is None or seen.plan is None:
            raise UserError(f"The run {run!r} has no plan to go on with.", hint="Start it again with its goal.")
        goal = replace(seen.goal, plan=edited(seen.plan, RetryTask(task=task)), continues=run)
        connection = await anyio.to_thread.run_sync(stored_network_variables, run_folder(self.settings, run))
        return await self.start(
            goal if budget_usd is None else replace(goal, budget_usd=budget_usd), connection=connection
        )

    async def reject_card(self, run: str, card: str, *, person: str) -> RunId:
        """Have what a research wrote from a card written again without it: in the run at work, or in a new one.

        Of runs that continue each other it is the newest that is meant.
        """
        run = await newest_research(self.records, run)
        found = await read_research(self.records.log.read_all, run)
        if all(each.id != card for each in found.cards):
            known = ", ".join(each.id for each in found.cards[:8]) or "none"
            raise UserError(f"The run {run!r} has no card {card[:40]!r}.", hint=f"Cards: {known}.")
        status = await self.records.status(run)
        if card in found.rejected:
            return status.run
        if status.is_going:
            await steering_commands.reject_card(self.records, run, card, by=person)
            return status.run
        goal = (await read_view(self.records.log.read_all, run)).goal
        assert goal is not None
        again = replace(goal, plan=None, continues=run, rejected=tuple(dict.fromkeys([*goal.rejected, card])))
        connection = await anyio.to_thread.run_sync(stored_network_variables, run_folder(self.settings, run))
        return await self.start(again, connection=connection)

    async def fork(self, run: str, *, from_step: int | None = None) -> RunId:
        """A new run that has the old one's steps below this one, and knows what was done to its notebook."""
        await self.records.status(run)
        forked = new_run_id()
        await anyio.to_thread.run_sync(_copy_state, self.settings, run, forked)
        return await self.journal.fork(run, from_step=from_step, new_run=forked)

    async def resume(self, run: str, *, person: str) -> None:
        """Let a cancelled or dead run go on; that it was to stop before does not count any more."""
        await steering.unpause(self.records.log, run, Person(name=person, door="cli"))
        await self.journal.resume(run, by=person)

    def drafts_of(self, run: str) -> AsyncGenerator[tuple[DraftView, ...]]:
        """What the agents of a run are being answered, whenever that changed; for ever."""
        return follow_drafts(self.drafts, run)

    async def stranded(self) -> list[RunId]:
        """Runs of other versions of the code: `fork` them."""
        return [each.run for each in await self.journal.stranded()]

    async def at_work(self) -> int:
        """How many runs have not ended."""
        return sum(status.is_going for status in await self.records.runs())

    async def result(self, run: str) -> object:
        """What came of a run, once it has ended, as JSON."""
        return await self.journal.result(run)


@asynccontextmanager
async def open_runs(settings: Settings, *, options: RunOptions | None = None) -> AsyncGenerator[Runs]:
    """Carry out runs of this state directory, those that were cut off first. One process at a time can."""
    options = options or RunOptions()
    masker = Masker.of(salt=secrets.token_bytes(16))
    async with AsyncExitStack() as stack:
        pool, other = options.pools or [await stack.enter_async_context(open_pool(settings)) for _ in range(2)]
        if options.pools is None:
            # The first run, or notebook, finds its zygote warm.
            pool.warm_up()
        host = _RunHost(settings=settings, options=options, pool=pool, other=other)
        slots = RunSlots(options.limits, note=host.note, idle=host.waiting_for_people)
        resources = RunResources(
            open_workspace=host.open_workspace,
            contexts=ContextRegistry(),
            turns=slots,
            check=host.check,
            trust=TrustStore(settings.ready_home()),
            masker=masker_of(settings),
        )
        journal = await stack.enter_async_context(
            Journal.open(
                settings.ready_home() / "journal.db",
                version=options.version,
                workflows=run_workflows(resources),
                mask=lambda text: masker.mask(text).text,
                types=EVENT_TYPES,
                at_crash_point=options.at_crash_point,
            )
        )
        tasks = await stack.enter_async_context(anyio.create_task_group())
        host.set_records(journal.records)
        tasks.start_soon(_recheck_slots, journal.records, slots)
        yield Runs(journal, settings, pool, host.editors, host.releases, host.drafts)
        tasks.cancel_scope.cancel()


@dataclass(slots=True, kw_only=True)
class _RunHost:
    """What the runs of this process share."""

    settings: Settings
    options: RunOptions
    pool: KernelPool
    other: KernelPool
    """For the second run of a check; started by the first check."""
    editors: dict[str, NotebookEditor] = field(default_factory=dict[str, NotebookEditor])
    """Of the runs whose workspace is open."""
    releases: list[ReleaseNotebook] = field(default_factory=list[ReleaseNotebook])
    """Who else may have a notebook open that a run is about to open."""
    drafts: Drafts = field(default_factory=Drafts)
    _records: Records | None = None
    _is_open: anyio.Event = field(default_factory=anyio.Event)

    def set_records(self, records: Records) -> None:
        """From now on there is a journal: runs that were cut off are taken up before it is open for others."""
        self._records = records
        self._is_open.set()

    async def records(self) -> Records:
        """The journal's, once it is open."""
        await self._is_open.wait()
        assert self._records is not None
        return self._records

    async def note(self, run: str, why: str) -> None:
        """An event that says why a run waits."""
        await (await self.records()).log.append(stream_of(run), RunWaiting(why=why))

    async def waiting_for_people(self) -> Collection[str]:
        """The runs that somebody should answer."""
        return {question.run for question in await (await self.records()).questions.pending()}

    @asynccontextmanager
    async def open_workspace(self, run: str, goal: Goal, additions: Sequence[Addition]) -> AsyncGenerator[Workspace]:
        """The run's notebook, live, with everything its agents work with."""
        records = await self.records()
        for release in [*self.releases]:
            await release(Path(goal.notebook))
        async with AsyncExitStack() as stack:
            # The run must hear of the notebook that cannot be opened, not of a group of such errors.
            stack.enter_context(unwrap_single_error())
            notes = await stack.enter_async_context(anyio.create_task_group())
            # Entered before the notebook is open, so it comes after it has closed.
            settled = await stack.enter_async_context(AsyncExitStack())

            def note(text: str) -> None:
                notes.start_soon(self.note, run, text)

            options = replace(await self._workspace_options(run, goal), additions=additions, on_progress=note)
            workspace = await stack.enter_async_context(
                open_workspace(goal.notebook, workflow=run, records=records, person=goal.person, options=options)
            )
            settled.push_async_callback(_record_kept_files, workspace.editor.notebook, records, run)
            await stack.enter_async_context(_observed(workspace.editor.notebook, records, run))
            made = with_library(
                workspace, goal, settings=options.settings, pool=self.pool, state=run_folder(self.settings, run)
            )
            workspace = await stack.enter_async_context(made)
            self.editors[run] = workspace.editor
            opening = workspace.open_branch
            try:
                yield replace(workspace, open_branch=opening and _observed_branches(opening, records, run))
            finally:
                del self.editors[run]
                with anyio.move_on_after(_CLOSE_TIMEOUT_SECONDS, shield=True):
                    await workspace.editor.close()

    async def _workspace_options(self, run: str, goal: Goal) -> WorkspaceOptions:
        settings = await run_settings(self.settings, run)
        common = self.options.workspace or WorkspaceOptions(settings=settings)
        return replace(
            common,
            limits=Limits.parse(goal.limits) if goal.limits else common.limits,
            settings=settings,
            files=await run_files(goal),
            named=await anyio.to_thread.run_sync(goal_data, goal),
            connections=goal.connections,
            remote=goal.files,
            servers=ServerUse(names=goal.tools, context=goal.context, asks=goal.is_attended),
            attached=AttachedUse(url=goal.attach, file=goal.attach_file) if goal.attach else None,
            kernels=goal.kernels,
            launch=self.options.launch or common.launch,
            pool=self.pool,
            drafts=self.drafts,
            state=run_folder(self.settings, run),
            python=goal.python,
        )

    async def check(self, run: str, goal: Goal, opinion: str = "") -> CheckOutcome:
        """Verify the notebook as anybody could with `cellwright notebook verify`."""
        verified = await verify_notebook(
            Path(goal.notebook),
            files=await run_files(goal),
            settings=await run_settings(self.settings, run),
            pool=self.pool,
            other=self.other,
            limits=Limits.parse(goal.limits),
            python=goal.python,
            opinion=opinion,
            connections=ConnectionLeave(named=goal.connections, kept=run_folder(self.settings, run) / CONNECTIONS_FILE),
        )
        return check_outcome(*verified)


@asynccontextmanager
async def _observed(notebook: OpenNotebook, records: Records, run: str) -> AsyncGenerator[None]:
    """While this block lasts, cells that end are events of the run, and whoever stops the run stops its cells."""
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(_record_cells, notebook, records, run)
        tasks.start_soon(_stop_cells, notebook, records, run)
        yield
        tasks.cancel_scope.cancel()


def _observed_branches(opening: OpenBranchWorkspace, records: Records, run: str) -> OpenBranchWorkspace:
    """Branches whose cells are recorded, and stopped, like the notebook's own."""

    @asynccontextmanager
    async def open_branch(name: str) -> AsyncGenerator[BranchWorkspace]:
        async with opening(name) as branch, _observed(branch.branch.editor.notebook, records, run):
            yield branch

    return open_branch


def run_folder(settings: Settings, run: str) -> Path:
    """What a run keeps besides its journal: the history of its notebook."""
    return settings.home / "runs" / run


async def run_files(goal: Goal) -> Files:
    """The files that the notebook of a run sees."""
    return Files(project=Path(goal.project), data=await anyio.to_thread.run_sync(mounts_of, goal))


async def run_settings(settings: Settings, run: str) -> Settings:
    """These, with the connection of the command that started this run."""
    asked = await anyio.to_thread.run_sync(stored_network_variables, run_folder(settings, run))
    return settings if asked is None else await anyio.to_thread.run_sync(settings.for_command, asked)


def _copy_state(settings: Settings, run: str, forked: str) -> None:
    """The notebook's history, under the names the calls have in the new run, and permissions for hosts. Blocking."""
    old, new = run_folder(settings, run), run_folder(settings, forked)
    if (old / BRANCHES_FOLDER).exists():
        shutil.copytree(old / BRANCHES_FOLDER, new / BRANCHES_FOLDER, dirs_exist_ok=True)
    for kept in (old / EDITOR_FILE, *old.glob(f"{BRANCHES_FOLDER}/*/{EDITOR_FILE}")):
        if (timeline := read_timeline(kept)) is not None:
            write_timeline(new / kept.relative_to(old), with_renamed_run(timeline, run, forked))
    if (old / HOST_PERMISSIONS_FILE).exists():
        write_atomically(new / HOST_PERMISSIONS_FILE, (old / HOST_PERMISSIONS_FILE).read_bytes())
    if (connection := stored_network_variables(old)) is not None:
        store_network_variables(new, connection)


async def _record_cells(notebook: OpenNotebook, records: Records, run: str) -> None:
    """Each cell that ends, for whoever watches."""
    async with notebook.observe() as events:
        async for event in events:
            if isinstance(event, CellFinishedEvent):
                outcome = event.outcome
                name = notebook.state.name_of(outcome.id)
                ended = CellReported(name=name, status=outcome.status, seconds=round(outcome.ms / 1_000, 3))
                await records.log.append(stream_of(run), ended)


async def _record_kept_files(notebook: OpenNotebook, records: Records, run: str) -> None:
    """Whoever reads of the run hears which files of its notebook were not kept, unless its delivery says so."""
    delivery = (await read_view(records.log.read_all, run)).delivery if notebook.kept else None
    for said in map(sentence_of, not_kept(notebook)):
        if delivery is None or said not in delivery.caveats:
            await records.log.append(stream_of(run), FilesNotKept(text=said))


async def _stop_cells(notebook: OpenNotebook, records: Records, run: str) -> None:
    """Whoever stops a run stops its cells, too: agents hear of it only when they have ended."""
    async with aclosing(steering.follow_stops(records.log, run)) as stops:
        async for _ in stops:
            await notebook.interrupt()


async def _recheck_slots(records: Records, slots: RunSlots) -> None:
    """Whoever begins to wait for a person makes room for another."""
    while True:
        grown = records.log.growth.next()
        await slots.look_again()
        await grown.wait()
