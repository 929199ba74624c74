"""Opening a workspace: one notebook with everything an agent works with, all of it real.

Opened anew in each process. What must outlast one lies in the journal and, for the notebook's history and the hosts it
was allowed, in a folder of the state directory that is named after the workflow and the notebook.
"""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Final

import anyio.to_thread

from cellwright.agents.agent_context import AgentContext
from cellwright.agents.drafts import Drafts
from cellwright.agents.fixer import notebook_survey
from cellwright.agents.loop import OpenAgentContext
from cellwright.agents.programs import programs
from cellwright.agents.project_additions import Addition, roles_with, skills_of
from cellwright.agents.prompt.context_providers import (
    DataContext,
    NotebookContext,
    PackagesContext,
    limits_text,
)
from cellwright.agents.prompt.prompt_store import JournalTexts
from cellwright.agents.role import Role
from cellwright.agents.skills import Skill
from cellwright.agents.trust_question import counted
from cellwright.agents.trust_store import TrustStore
from cellwright.app.attached_goals import AttachedContext, AttachedUse, attached_secrets, attached_text, open_connection
from cellwright.app.connection_contexts import connection_contexts, named_files
from cellwright.app.doctor import has_model
from cellwright.app.jupyter_kernels import chosen_kernelspecs
from cellwright.app.notebook_connections import NotebookConnections, open_notebook_connections
from cellwright.app.notebook_exchanges import no_exchanges_text, open_notebook_exchanges
from cellwright.app.notebooks import Files, contained, mounted_data, open_notebook, open_pool, project_for
from cellwright.app.run_network import Network, NetworkAccess, NetworkPolicy, open_network_access
from cellwright.app.tool_server_use import ServerContext, ServerUse, open_tool_servers
from cellwright.app.toolset import ToolContext, all_tools, can_use_git
from cellwright.data.api_calls import ApiAnswer, SentOutcome
from cellwright.data.broker_client import BrokerClient
from cellwright.data.files import DataFile, place_data
from cellwright.data.remote_paths import RemotePath
from cellwright.documents.document_store import DocumentStore
from cellwright.journal.names import run_of
from cellwright.journal.records import Records
from cellwright.kernel.documents import DocumentReader
from cellwright.kernel.environments.interpreters import PythonChoice
from cellwright.kernel.jupyter_session import JupyterKernels
from cellwright.kernel.pool import KernelPool
from cellwright.kernel.process.chart_cage import ChartCage
from cellwright.kernel.session.open_notebook import OpenNotebook
from cellwright.models.client.gateway_client import Models
from cellwright.models.client.gateway_process import GatewayLaunch
from cellwright.models.config.keys import key_variables
from cellwright.network import passwords_in
from cellwright.policy.actions import Action, QueryConnection
from cellwright.policy.approvals import AgreedEnvelope
from cellwright.policy.judgement import Allow, judge
from cellwright.policy.masking.masker import Masker, Secret
from cellwright.policy.rules import Rules
from cellwright.profiles.data_search import project_files
from cellwright.runs.execute.workspace import BranchWorkspace, WebAccess, Workspace
from cellwright.sandbox.host.tiers import probe
from cellwright.sandbox.spec import Limits, Tier
from cellwright.settings import Settings
from cellwright.tools.actions.worker import ActionWorker
from cellwright.tools.approval.approval_questions import read_grants
from cellwright.tools.approval.guard import Guard
from cellwright.tools.approval.rule_files import standing_rules
from cellwright.tools.mcp.opening import server_secrets
from cellwright.tools.mcp.tool_servers import ToolServers
from cellwright.tools.notebook.editor import NotebookEditor
from cellwright.tools.notebook.parallel_branches import open_parallel_branch
from cellwright.tools.project_files import ProjectFiles

EDITOR_FILE: Final = "desk.json"
"""The history of the notebook, in the folder of what outlasts a process."""
_MAX_PROFILED_FILES: Final = 12
"""Files of the project that are profiled for agents; the others are named."""
_UNCONTAINED: Final = """\
Nothing contains the notebook's code here (tier D): it can do whatever the person can.
- network: nobody can be asked about hosts, so reach none: no downloads, no APIs, no `pip install`
- files: use those of the project and nothing else
- no browser, no display, no input(): nobody is there to type"""
HOST_PERMISSIONS_FILE: Final = "leave.json"
"""The hosts that were allowed, beside it."""
CONNECTIONS_FILE: Final = "connections.json"
"""The connections whose use was allowed, beside it."""
BRANCHES_FOLDER: Final = "lanes"
"""The folder of its parallel branches, beside it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkspaceOptions:
    """How a workspace is to be; as it stands, what a person gets who says nothing."""

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
    launch: GatewayLaunch | None = None
    """How the gateway is started if none runs; None: as the command line does."""
    pool: KernelPool | None = None
    """Where kernels come from; without one the workspace has its own."""
    drafts: Drafts = field(default_factory=Drafts)
    """Where answers are seen while they are made."""
    on_progress: Callable[[str], None] | None = None
    additions: Sequence[Addition] | None = None
    """Roles and skills of the project; None: those a person has accepted, see `TrustStore`."""
    connections: tuple[str, ...] = ()
    """Connections that a person named for the work: reading them needs no further leave."""
    remote: tuple[str, ...] = ()
    """Files and folders behind connections that were named for the work, `NAME:path` each."""
    servers: ServerUse = field(default_factory=ServerUse)
    """Tool servers that were named for the work."""
    attached: AttachedUse | None = None
    """The notebook in somebody's own marimo that the work is about."""
    kernels: tuple[str, ...] = ()
    """Kernels of Jupyter that were named for the work."""
    named: Sequence[DataFile] = ()
    """Data that was named for the work, in the project or not: agents see it first, whatever its kind."""
    state: Path | None = None
    """Where what must outlast a process is kept; None: a folder named after the workflow and the notebook."""


@asynccontextmanager
async def open_agent_context(
    path: str | Path, *, workflow: str, records: Records, person: str, options: WorkspaceOptions | None = None
) -> AsyncGenerator[AgentContext]:
    """Everything the agents of one workflow work with in this notebook, in a workspace of its own."""
    async with open_workspace(path, workflow=workflow, records=records, person=person, options=options) as workspace:
        yield workspace.context


@asynccontextmanager
async def open_workspace(
    path: str | Path, *, workflow: str, records: Records, person: str, options: WorkspaceOptions | None = None
) -> AsyncGenerator[Workspace]:
    """A workspace for the agents of one workflow in this notebook; `person` is for whom they work.

    Opened again for the same workflow, after a crash too, the notebook is as it was: its cells have run, and what was
    done is known to be done. Raises `UserError` for a mistake in rules, roles or skills, before anything is started.
    """
    options = options or WorkspaceOptions()
    setup = await anyio.to_thread.run_sync(_prepare, Path(path), workflow, options)
    async with AsyncExitStack() as stack:
        models = await stack.enter_async_context(_open_models(options, person))
        pool = options.pool or await stack.enter_async_context(open_pool(options.settings))
        connections = await stack.enter_async_context(_open_connections(setup, options, person))
        network = await _open_network(stack, setup, records, options, connections)
        servers = await stack.enter_async_context(_open_servers(setup, options, pool))
        attached = await stack.enter_async_context(open_connection(options.attached, options.settings))
        # The notebook with its kernel, as the workflow left it.
        opening = _open_notebook(setup, options, pool, network, connections)
        editor = await NotebookEditor.open(await stack.enter_async_context(opening), setup.state / EDITOR_FILE)
        kernels = await stack.enter_async_context(_open_kernels(options, editor))
        worker = await stack.enter_async_context(ActionWorker.open(pool.zygote, tier=setup.tier))
        context = ToolContext(
            editor=editor,
            pool=pool,
            project=ProjectFiles(
                setup.project, reveal=options.files.reveal, protected=[setup.notebook], given=setup.data
            ),
            kept=JournalTexts(records),
            network=network,
            connections=connections,
            servers=servers,
            attached=attached,
            kernels=kernels,
            files=options.files,
            data=setup.data,
            limits=options.limits,
            tier=setup.tier,
            settings=options.settings,
            person=person,
        )
        agents = await _agent_context(context, setup, options, models, records)
        agents = replace(agents, program=programs(worker))

        pictures: dict[str, str | None] = {}

        async def draw(specs: Sequence[str]) -> tuple[str | None, ...]:
            if new := [spec for spec in dict.fromkeys(specs) if spec not in pictures]:
                drawn = await ChartCage(zygote=await pool.zygote(), tier=setup.tier).draw(new)
                pictures.update(zip(new, drawn, strict=True))
            return tuple(pictures[spec] for spec in specs)

        yield Workspace(
            editor=editor,
            context=agents,
            rules=setup.rules,
            profiler=context.profiler,
            tables=context.table_profiler,
            files=context.file_profiler,
            documents=DocumentReader(
                pool=pool,
                tier=setup.tier,
                store=DocumentStore(
                    home=options.settings.ready_home(), mask=lambda text: agents.masker.mask(text).text
                ),
            ),
            remote=setup.remote,
            has_model=lambda goal: has_model(models, setup.roles, is_private=goal.is_private),
            draw=draw,
            web_access=None if network is None else _web_access(network, connections, context.servers),
            open_branch=partial(_open_branch, context, setup, agents),
        )


def _web_access(network: NetworkAccess, connections: NotebookConnections, servers: ToolServers | None) -> WebAccess:
    ask, post = partial(ask_api, connections), partial(post_to_api, connections)
    return WebAccess(fetch=network.fetch, ask=ask, post=post, servers=servers)


async def post_to_api(connections: NotebookConnections, connection: str, target: str, body: str) -> SentOutcome:
    """What the API behind a connection answers to a POST of JSON. Raises `UserError` if it takes none."""
    await connections.check_request(connection, "POST", target)
    return await connections.send(connection, "POST", target, body, "application/json")


async def ask_api(connections: NotebookConnections, connection: str, target: str) -> ApiAnswer:
    """What it answers to a GET, one page of it."""
    return await connections.call(connection, target, pages=1)


def _open_notebook(
    setup: _WorkspaceSetup,
    options: WorkspaceOptions,
    pool: KernelPool,
    network: NetworkAccess | None,
    connections: NotebookConnections,
) -> AbstractAsyncContextManager[OpenNotebook]:
    return open_notebook(
        setup.notebook,
        files=options.files,
        limits=options.limits,
        tier=setup.tier,
        allow_uncontained=options.allow_uncontained,
        python=options.python,
        egress=network.egress if network is not None else None,
        connections=connections,
        is_offline=options.is_offline,
        pool=pool,
        settings=options.settings,
        on_progress=options.on_progress,
    )


async def _agent_context(
    context: ToolContext, setup: _WorkspaceSetup, options: WorkspaceOptions, models: Models, records: Records
) -> AgentContext:
    """What the agents work with, but for programs."""
    editor = context.editor
    data = await _data_context(context, options.named)
    of_servers = await _server_secrets(context.servers, options.settings)
    masker = masker_of(options.settings, (*options.secrets, *of_servers, *attached_secrets(context.attached)))
    granted = frozenset(grant.scope.kind for grant in (await read_grants(records.log.read_all)).values())
    return AgentContext(
        models=models,
        tools=all_tools(context, skills=setup.skills, has_git=setup.has_git),
        guard=Guard(rules=setup.rules, masker=masker, envelope=options.envelope, granted=granted),
        masker=masker,
        kept=context.kept,
        person=context.person,
        drafts=options.drafts,
        roles=setup.roles,
        skills=setup.skills,
        context_providers=[
            NotebookContext(editor),
            PackagesContext(editor),
            *([data] if data is not None else []),
            *await connection_contexts(context.connections, setup.remote, context.file_profiler, options.settings.home),
            *([AttachedContext(context.attached)] if context.attached is not None else []),
            *([ServerContext(context.servers, options.servers.context)] if options.servers.context else []),
        ],
        limits_text=_describe_limits(context)
        + await _missing_exchanges(context, setup.project)
        + attached_text(context.attached),
        survey=notebook_survey(editor, context.project, _encodings(data)),
        put_into_effect=partial(_put_into_effect, context),
    )


async def _put_into_effect(context: ToolContext, action: Action) -> None:
    """What somebody agreed to, made so for the notebook's code."""
    await context.connections.grant(action)
    if context.network is not None:
        await context.network.grant(action)


@asynccontextmanager
async def _open_branch(
    context: ToolContext, setup: _WorkspaceSetup, agents: AgentContext, name: str
) -> AsyncGenerator[BranchWorkspace]:
    """A parallel branch of the notebook, with the same context but for what looks at the notebook."""
    async with open_parallel_branch(context.editor, setup.state / BRANCHES_FOLDER / name) as branch:
        own = replace(context, editor=branch.editor)
        others = agents.context_providers[1:]
        data = next((each for each in others if isinstance(each, DataContext)), None)
        yield BranchWorkspace(
            branch=branch,
            context=replace(
                agents,
                tools=all_tools(own, skills=setup.skills, has_git=setup.has_git),
                context_providers=[NotebookContext(branch.editor), *others],
                survey=notebook_survey(branch.editor, own.project, _encodings(data)),
            ),
        )


def _encodings(data: DataContext | None) -> Callable[[], Mapping[str, str]]:
    return data.encodings if data is not None else dict[str, str]


def agent_context_opener(
    path: str | Path, *, records: Records, person: str, options: WorkspaceOptions | None = None
) -> OpenAgentContext:
    """For `agent_workflow`: each agent works in a workspace of its own in this notebook.

    `records` are those of the journal that runs it. Open them first: work that was cut off begins at once.
    """
    return lambda flow, _: open_agent_context(path, workflow=flow.id, records=records, person=person, options=options)


# ── what is known before anything is started ──


@dataclass(frozen=True, slots=True, kw_only=True)
class _WorkspaceSetup:
    """What is known of a workspace before anything is started."""

    notebook: Path
    project: Path
    state: Path
    """What outlasts the process: the notebook's history, and permissions for hosts."""
    run: str
    tier: Tier
    rules: Rules
    roles: Mapping[str, Role]
    skills: tuple[Skill, ...]
    has_git: bool
    data: tuple[DataFile, ...]
    remote: tuple[RemotePath, ...]
    """Files behind connections."""


def _prepare(path: Path, workflow: str, options: WorkspaceOptions) -> _WorkspaceSetup:
    """Raises `UserError` or `RefusedByPolicy`. Blocking."""
    settings, notebook = options.settings, path.resolve()
    project = project_for(notebook, options.files)
    tier = contained(options.tier, probe(), allow_uncontained=options.allow_uncontained)
    state, team, home = settings.ready_home(), settings.team_rules, settings.user_home
    name = hashlib.sha256(f"{workflow}\n{notebook}".encode()).hexdigest()[:24]
    additions = _accepted(project, options) if options.additions is None else options.additions
    return _WorkspaceSetup(
        notebook=notebook,
        project=project,
        state=options.state or state / "studios" / name,
        run=run_of(workflow),
        tier=tier,
        rules=standing_rules(state=state, project=project, home=home, team=team),
        roles=roles_with(additions),
        skills=skills_of(additions),
        has_git=can_use_git(project, tier),
        data=mounted_data(options.files, notebook, project),
        remote=named_files(options.connections, options.remote, settings.home),
    )


def _accepted(project: Path, options: WorkspaceOptions) -> Sequence[Addition]:
    seen = TrustStore(options.settings.home).look_at(project)
    if seen.offered and options.on_progress is not None:
        options.on_progress(f"{counted(seen.offered)} of the project left out, as nobody has accepted that")
    return seen.accepted


def masker_of(settings: Settings, own: Sequence[Secret] = ()) -> Masker:
    """Takes the person's keys and the passwords of their proxies out of texts, and these secrets."""
    environment = settings.environment
    keys = [Secret(name=name, value=environment[name]) for name in key_variables(environment) if environment[name]]
    addresses = passwords_in(settings.connection.variables)
    passwords = [Secret(name=name, value=value) for name, value in addresses.items()]
    return Masker.of([*own, *keys, *passwords], salt=secrets.token_bytes(16))


# ── what is started ──


def _open_models(options: WorkspaceOptions, person: str) -> AbstractAsyncContextManager[Models]:
    """The gateway of this state directory, started if none runs; keys in the environment go to it and nowhere else."""
    settings = options.settings
    environment = settings.environment
    keys = {provider: environment[name] for name, provider in key_variables(environment).items() if environment[name]}
    launch = options.launch or settings.gateway_launch(person=person, keys=keys)
    # Whoever started the gateway, what this run asks goes by this run's own settings.
    return Models.open(settings.home, launch=replace(launch, connection=settings.connection.variables))


def _open_connections(
    setup: _WorkspaceSetup, options: WorkspaceOptions, person: str
) -> AbstractAsyncContextManager[NotebookConnections]:
    def may_query(wanted: QueryConnection) -> bool:
        now = datetime.now(UTC)
        return isinstance(judge(wanted, setup.rules, options.envelope, run=setup.run, now=now), Allow)

    return open_notebook_connections(
        BrokerClient(launch=options.settings.broker_launch()),
        notebook=setup.notebook,
        project=setup.project,
        person=person,
        run=setup.run,
        named=options.connections,
        may_query=may_query,
        kept=setup.state / CONNECTIONS_FILE,
    )


async def _open_network(
    stack: AsyncExitStack,
    setup: _WorkspaceSetup,
    records: Records,
    options: WorkspaceOptions,
    connections: NotebookConnections,
) -> NetworkAccess | None:
    # That approved hosts, and only those, can be reached takes a network namespace.
    if options.is_offline or setup.tier not in {"A", "B"}:
        return None
    network = options.network or Network.of(options.settings)
    agreed = NetworkPolicy(rules=setup.rules, envelope=options.envelope, run=setup.run)
    exchanges = await open_notebook_exchanges(connections, project=setup.project)
    kept = setup.state / HOST_PERMISSIONS_FILE
    opening = open_network_access(network, agreed, kept=kept, records=records, exchanges=exchanges)
    return await stack.enter_async_context(opening)


def _open_servers(
    setup: _WorkspaceSetup, options: WorkspaceOptions, pool: KernelPool
) -> AbstractAsyncContextManager[ToolServers | None]:
    return open_tool_servers(
        options.servers,
        options.settings,
        setup.project,
        pool=pool,
        tier=setup.tier,
        is_offline=options.is_offline,
        on_progress=options.on_progress,
    )


@asynccontextmanager
async def _open_kernels(options: WorkspaceOptions, editor: NotebookEditor) -> AsyncGenerator[JupyterKernels]:
    """The kernels that were named for the work, none started yet. Raises `UserError` for one that is not here."""
    specs = await anyio.to_thread.run_sync(chosen_kernelspecs, options.kernels, options.settings)
    notebook = editor.notebook
    async with JupyterKernels.open(specs, lambda: (notebook.provisioner, notebook.document)) as kernels:
        yield kernels


async def _server_secrets(servers: ToolServers | None, settings: Settings) -> list[Secret]:
    """What servers are given, to be taken out of what they answer."""
    found = list[Secret]()
    for server in servers.servers.values() if servers is not None else ():
        values = await anyio.to_thread.run_sync(server_secrets, server, settings.home)
        found += [Secret(name=f"{server.name} {variable}", value=value) for variable, value in values.items()]
    return found


# ── what agents see without asking ──


async def _data_context(context: ToolContext, named: Sequence[DataFile]) -> DataContext | None:
    """Data that was given, then the project's data files nearest to the notebook; none where there is no data."""
    first = {file.source: file for file in (*named, *context.data)}

    def find() -> tuple[list[DataFile], list[DataFile]]:
        root, notebook = context.project.root, context.notebook.path
        own, others = (
            [
                place_data(root / path, path, notebook=notebook, project=root)
                for path in paths
                if not any((root / path).is_relative_to(source) for source in first)
            ]
            for paths in project_files(root, context.files.reveal)
        )
        own.sort(key=lambda file: (file.place.count("/"), file.place))
        return [*first.values(), *own[:_MAX_PROFILED_FILES]], [*own[_MAX_PROFILED_FILES:], *others]

    data, others = await anyio.to_thread.run_sync(find)
    names = [file.place for file in others]
    given = [file.place for file in first.values()]
    return DataContext(data, context.profiler, others=names, named=given) if data or others else None


async def _missing_exchanges(context: ToolContext, project: Path) -> str:
    """One line more where cells cannot send the requests that connections take."""
    if context.tier in {"A", "B"} or await open_notebook_exchanges(context.connections, project=project) is None:
        return ""
    return f"\n- {no_exchanges_text(context.tier)}"


def _describe_limits(context: ToolContext) -> str:
    """What the notebook's code may use, said before it fails."""
    if context.tier == "D":
        return _UNCONTAINED
    hosts = ["hosts that are approved; a cell that wants another fails, and leave is asked if somebody is there"]
    return limits_text(context.limits, hosts=hosts if context.network is not None else (), files=context.files.mode)
