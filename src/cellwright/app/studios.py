"""Opening a studio: one notebook with everything an agent works with, all of it real.

Opened anew in each process. What must outlast one lies in the journal and, for the notebook's desk and the hosts it was
given leave for, in a folder of the state directory that is named after the workflow and the notebook.
"""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final

import anyio.to_thread

from cellwright.agents import Assignment, Role, read_roles
from cellwright.agents.journal_texts import JournalTexts
from cellwright.agents.loop import OpenStudio
from cellwright.agents.programs import programs
from cellwright.agents.skills import Skill, read_skills
from cellwright.agents.studio import Studio
from cellwright.agents.surroundings import NotebookSight
from cellwright.agents.surveying import notebook_survey
from cellwright.app.networks import Agreed, Network, WayOut, open_way_out
from cellwright.app.notebooks import Files, contained, open_notebook, open_pool, project_for
from cellwright.app.outlook import data_sights, limits_in_words
from cellwright.app.run_data import CagedEyes
from cellwright.app.toolboxes import Bench, all_tools, can_use_git
from cellwright.connection import passwords_in
from cellwright.journal import Flow, Records
from cellwright.journal.names import run_of
from cellwright.kernel import KernelPool, PythonChoice
from cellwright.models.client import Models
from cellwright.models.keys import key_variables
from cellwright.models.launching import Launch
from cellwright.policy import AgreedEnvelope, Masker, Rules, Secret
from cellwright.runs.place import Booth
from cellwright.sandbox import CageSpec, Limits, Tier, probe
from cellwright.sandbox.actions import ActionWorker
from cellwright.sandbox.actions.place import CagedWorker
from cellwright.settings import Settings
from cellwright.tools import Guard, standing_rules
from cellwright.tools.lanes import open_lane
from cellwright.tools.notebook_desk import NotebookDesk
from cellwright.tools.project_files import ProjectFiles

DESK: Final = "desk.json"
"""The desk's memory, in the folder of what outlasts a process."""
LEAVE: Final = "leave.json"
"""The hosts that were given leave for, beside it."""
LANES: Final = "lanes"
"""The folder of its lanes, beside it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StudioOptions:
    """How a studio is to be; as it stands, what a person gets who says nothing."""

    files: Files = field(default_factory=Files)
    limits: Limits = field(default_factory=Limits)
    tier: Tier | None = None
    """None: the best this machine has."""
    allow_uncontained: bool = False
    python: PythonChoice = "header"
    """ours: Cellwright's own, whatever the notebook's header asks for."""
    is_offline: bool = False
    """No network, whoever would allow it. On tiers C and D there is none anyway."""
    network: Network | None = None
    """None: as the settings say."""
    envelope: AgreedEnvelope | None = None
    """What a person agreed to for the run: inside it nothing asks."""
    secrets: tuple[Secret, ...] = field(default=(), repr=False)
    """Values that are masked wherever they turn up, besides the keys in the person's environment."""
    settings: Settings = field(default_factory=Settings.read)
    launch: Launch | None = None
    """How the gateway is started if none runs; None: as the command line does."""
    pool: KernelPool | None = None
    """Where kernels come from; without one the studio has its own."""
    on_progress: Callable[[str], None] | None = None
    state: Path | None = None
    """Where what must outlast a process is kept; None: a folder named after the workflow and the notebook."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Workplace:
    """A studio, and what stands behind it."""

    studio: Studio
    desk: NotebookDesk
    rules: Rules
    models: Models
    eyes: CagedEyes
    """What sees the data."""
    open_booth: Callable[[str], AbstractAsyncContextManager[Booth]]
    """A studio over a lane of the notebook."""


@asynccontextmanager
async def open_studio(
    path: str | Path, *, workflow: str, records: Records, person: str, options: StudioOptions | None = None
) -> AsyncGenerator[Studio]:
    """Everything the agents of one workflow work with in this notebook: the studio of `open_workplace`."""
    async with open_workplace(path, workflow=workflow, records=records, person=person, options=options) as workplace:
        yield workplace.studio


@asynccontextmanager
async def open_workplace(
    path: str | Path, *, workflow: str, records: Records, person: str, options: StudioOptions | None = None
) -> AsyncGenerator[Workplace]:
    """A studio for the agents of one workflow in this notebook; `person` is for whom they work.

    Opened again for the same workflow, after a crash too, the notebook is as it was: its cells have run, and what was
    done is known to be done. Raises `UserError` for a mistake in rules, roles or skills, before anything is started.
    """
    options = options or StudioOptions()
    ground = await anyio.to_thread.run_sync(_look_over, Path(path), workflow, options)
    masker = _masker(options)
    async with AsyncExitStack() as stack:
        models = await stack.enter_async_context(_open_models(options, person))
        pool = options.pool or await stack.enter_async_context(open_pool(options.settings))
        way_out = await _open_way_out(stack, ground, records, options)
        desk = await _open_desk(stack, ground, pool, way_out, options)
        worker = await stack.enter_async_context(ActionWorker.open(_Cages(pool), tier=ground.tier))
        kept = JournalTexts(records)
        bench = _bench(ground, desk, pool, kept, way_out, options, person)
        studio = Studio(
            models=models,
            tools=all_tools(bench, skills=ground.skills, has_git=ground.has_git),
            guard=Guard(rules=ground.rules, masker=masker, envelope=options.envelope),
            masker=masker,
            kept=kept,
            person=person,
            roles=ground.roles,
            skills=ground.skills,
            sights=[NotebookSight(desk), *await data_sights(bench)],
            limits_text=limits_in_words(bench),
            survey=notebook_survey(desk, bench.project),
            put_into_effect=way_out.put_into_effect if way_out is not None else None,
            program=programs(worker),
        )

        @asynccontextmanager
        async def open_booth(part: str) -> AsyncGenerator[Booth]:
            async with open_lane(desk, ground.state / LANES / part) as lane:
                own = replace(bench, desk=lane.desk)
                yield Booth(
                    lane=lane,
                    studio=replace(
                        studio,
                        tools=all_tools(own, skills=ground.skills, has_git=ground.has_git),
                        sights=[NotebookSight(lane.desk), *studio.sights[1:]],
                        survey=notebook_survey(lane.desk, own.project),
                    ),
                )

        yield Workplace(
            studio=studio, desk=desk, rules=ground.rules, models=models, eyes=bench.eyes, open_booth=open_booth
        )


def studio_opener(
    path: str | Path, *, records: Records, person: str, options: StudioOptions | None = None
) -> OpenStudio:
    """For `agent_workflow`: each agent works in a studio of its own in this notebook.

    `records` are those of the journal that runs it. Open them first: work that was cut off begins at once.
    """

    def open_for(flow: Flow, _: Assignment) -> AbstractAsyncContextManager[Studio]:
        return open_studio(path, workflow=flow.id, records=records, person=person, options=options)

    return open_for


# ── what is known before anything is started ──


@dataclass(frozen=True, slots=True, kw_only=True)
class _Ground:
    """The place where a studio is opened."""

    notebook: Path
    project: Path
    state: Path
    """What outlasts the process: the desk's memory, and leave for hosts."""
    run: str
    tier: Tier
    rules: Rules
    roles: Mapping[str, Role]
    skills: tuple[Skill, ...]
    has_git: bool

    @property
    def has_network(self) -> bool:
        """Whether approved hosts, and only those, could be reached: it takes a network namespace."""
        return self.tier in {"A", "B"}


def _look_over(path: Path, workflow: str, options: StudioOptions) -> _Ground:
    """Raises `UserError` or `RefusedByPolicy`. Blocking."""
    settings, notebook = options.settings, path.resolve()
    project = project_for(notebook, options.files)
    tier = contained(options.tier, probe(), allow_uncontained=options.allow_uncontained)
    state, team, home = settings.ready_home(), settings.team_rules, settings.user_home
    name = hashlib.sha256(f"{workflow}\n{notebook}".encode()).hexdigest()[:24]
    return _Ground(
        notebook=notebook,
        project=project,
        state=options.state or state / "studios" / name,
        run=run_of(workflow),
        tier=tier,
        rules=standing_rules(state=state, project=project, home=home, team=team),
        roles=read_roles(project),
        skills=read_skills(project),
        has_git=can_use_git(project, tier),
    )


def _masker(options: StudioOptions) -> Masker:
    environment = options.settings.environment
    keys = [Secret(name=name, value=environment[name]) for name in key_variables(environment) if environment[name]]
    addresses = passwords_in(options.settings.connection.variables)
    passwords = [Secret(name=name, value=value) for name, value in addresses.items()]
    return Masker.of([*options.secrets, *keys, *passwords], salt=secrets.token_bytes(16))


# ── what is started ──


def _open_models(options: StudioOptions, person: str) -> AbstractAsyncContextManager[Models]:
    """The gateway of this state directory, started if none runs; keys in the environment go to it and nowhere else."""
    settings = options.settings
    environment = settings.environment
    keys = {provider: environment[name] for name, provider in key_variables(environment).items() if environment[name]}
    launch = options.launch or Launch(
        home=settings.home,
        environment=settings.program_environment,
        keys=keys,
        person=person,
        team_rules=settings.team_rules,
    )
    # Whoever started the gateway, what this run asks goes the way of this run's own settings.
    return Models.open(settings.home, launch=replace(launch, connection=settings.connection.variables))


async def _open_way_out(
    stack: AsyncExitStack, ground: _Ground, records: Records, options: StudioOptions
) -> WayOut | None:
    if options.is_offline or not ground.has_network:
        return None
    network = options.network or Network.of(options.settings)
    agreed = Agreed(rules=ground.rules, envelope=options.envelope, run=ground.run)
    opening = open_way_out(network, agreed, kept=ground.state / LEAVE, records=records)
    return await stack.enter_async_context(opening)


async def _open_desk(
    stack: AsyncExitStack, ground: _Ground, pool: KernelPool, way_out: WayOut | None, options: StudioOptions
) -> NotebookDesk:
    """The notebook with its kernel, as the workflow left it."""
    opening = open_notebook(
        ground.notebook,
        files=options.files,
        limits=options.limits,
        tier=ground.tier,
        allow_uncontained=options.allow_uncontained,
        python=options.python,
        egress=way_out.egress if way_out is not None else None,
        pool=pool,
        settings=options.settings,
        on_progress=options.on_progress,
    )
    notebook = await stack.enter_async_context(opening)
    return await NotebookDesk.open(notebook, ground.state / DESK)


@dataclass(frozen=True, slots=True)
class _Cages:
    """Starts cages from whichever zygote lives: one that died is replaced."""

    pool: KernelPool

    async def start(self, spec: CageSpec, *, command: list[str] | None = None) -> CagedWorker:
        """A new cage whose process is `command`."""
        return await (await self.pool.zygote()).start(spec, command=command)


def _bench(
    ground: _Ground,
    desk: NotebookDesk,
    pool: KernelPool,
    kept: JournalTexts,
    way_out: WayOut | None,
    options: StudioOptions,
    person: str,
) -> Bench:
    files = options.files
    return Bench(
        desk=desk,
        pool=pool,
        project=ProjectFiles(ground.project, reveal=files.reveal, protected=[ground.notebook]),
        kept=kept,
        way_out=way_out,
        files=files,
        limits=options.limits,
        tier=ground.tier,
        settings=options.settings,
        person=person,
    )
