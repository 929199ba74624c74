"""The agent as the protocol has it: what a client may ask of it, over one connection."""

from __future__ import annotations

import secrets
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final, cast

import anyio
import anyio.to_thread
from acp import PROTOCOL_VERSION, schema
from acp.connection import Connection
from anyio.abc import TaskGroup

from cellwright.errors import UserError
from cellwright.runs.goal.goal import Effort
from cellwright.server.acp.messages import LineTransport, Methods, answering, wire
from cellwright.server.acp.offered_servers import look_at_offers
from cellwright.server.acp.prompts import read_prompt
from cellwright.server.acp.session import AcpSession, RunChoices, SessionClient
from cellwright.server.http.api_calls import ApiCalls
from cellwright.server.http.application import api_application
from cellwright.server.http.auth.tokens import ApiCaller
from cellwright.server.http.errors import ResourceNotFound
from cellwright.server.http.line_stream import LineStream
from cellwright.server.http.resources import ApiResources
from cellwright.server.http.routes.runs import run_of_key

_MODES: Final[dict[Effort, tuple[str, str]]] = {
    "quick": ("Quick", "Looked over by code alone before it is handed over."),
    "normal": ("Normal", "A reviewer looks it over, where there is reason to."),
    "thorough": ("Thorough", "Tests are written before anything is built, and a reviewer looks it over."),
}
_MODELS: Final = "models"
_USUAL: Final = "usual"
_ANALYST: Final = "analyst"
_MOST_SESSIONS: Final = 100
_PAGE: Final = 50
_UNKNOWN_TO_MARIMO: Final = (schema.UsageUpdate, schema.SessionInfoUpdate)
"""Its panel speaks an earlier version of the protocol."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AcpHost:
    """What stands behind the agent."""

    resources_in: Callable[[Path], ApiResources]
    """What the API needs to work in a folder."""
    starter: ApiCaller
    """Whoever started the client: they may steer and, asked in its own dialogue, answer."""
    control_room: Callable[[], str]
    version: str
    models: tuple[str, ...] = ()
    tools: tuple[str, ...] = ()
    """Tool servers that runs may use."""
    budget_usd: str | None = None
    is_marimo: bool = False
    """Whether the client is the panel in marimo's editor."""


async def serve_acp(host: AcpHost, client: LineStream) -> None:
    """Until the client ends: runs go on. Whoever called this ends the answer."""
    await client.start()
    async with anyio.create_task_group() as tasks:
        agent = AcpAgent(host=host, tasks=tasks)
        connection = Connection(answering(agent.methods), cast("Any", LineTransport(client)), listening=False)
        agent.connection = connection
        try:
            await connection.main_loop()
        finally:
            for session in agent.sessions.values():
                session.leave()
            await connection.close()
            tasks.cancel_scope.cancel()


@dataclass(slots=True, kw_only=True)
class AcpAgent:
    """What answers one client."""

    host: AcpHost
    tasks: TaskGroup
    connection: Connection = field(init=False)
    sessions: dict[str, AcpSession] = field(default_factory=dict[str, AcpSession])
    _apis: dict[Path, tuple[ApiCalls, ApiCalls, ApiResources]] = field(
        default_factory=dict[Path, tuple[ApiCalls, ApiCalls, ApiResources]]
    )

    @property
    def methods(self) -> Methods:
        """Of each what it takes and what answers it."""
        return {
            "initialize": (schema.InitializeRequest, self.initialize),
            "authenticate": (schema.AuthenticateRequest, self.authenticate),
            "session/new": (schema.NewSessionRequest, self.new_session),
            "session/load": (schema.LoadSessionRequest, self.load_session),
            "session/resume": (schema.ResumeSessionRequest, self.resume_session),
            "session/fork": (schema.ForkSessionRequest, self.fork_session),
            "session/list": (schema.ListSessionsRequest, self.list_sessions),
            "session/close": (schema.CloseSessionRequest, self.close_session),
            "session/prompt": (schema.PromptRequest, self.prompt),
            "session/cancel": (schema.CancelNotification, self.cancel),
            "session/set_mode": (schema.SetSessionModeRequest, self.set_mode),
            "session/set_config_option": (schema.SetSessionConfigOptionSelectRequest, self.set_config_option),
        }

    async def initialize(self, _: schema.InitializeRequest) -> schema.InitializeResponse:
        """What it can do: a session is loaded, listed, forked, resumed and closed; nothing of the client is used."""
        session = schema.SessionCapabilities(
            list=schema.SessionListCapabilities(),
            fork=schema.SessionForkCapabilities(),
            resume=schema.SessionResumeCapabilities(),
            close=schema.SessionCloseCapabilities(),
        )
        return schema.InitializeResponse(
            protocol_version=PROTOCOL_VERSION,
            agent_capabilities=schema.AgentCapabilities(
                load_session=True,
                prompt_capabilities=schema.PromptCapabilities(embedded_context=True, image=False, audio=False),
                session_capabilities=session,
            ),
            agent_info=schema.Implementation(name="cellwright", title="Cellwright", version=self.host.version),
            auth_methods=[],
        )

    async def authenticate(self, _: schema.AuthenticateRequest) -> None:
        """Nothing: the daemon knows whose process the client is."""

    # ── sessions ──

    async def new_session(self, asked: schema.NewSessionRequest) -> schema.NewSessionResponse:
        """A draft; its name is that of the run which the first prompt begins."""
        folder, key = await _folder(asked.cwd), f"acp {secrets.token_hex(8)}"
        run = run_of_key(folder, self.host.starter.person, key)
        session = await self._open(run, folder, key=key, mcp_servers=asked.mcp_servers)
        return schema.NewSessionResponse(
            session_id=session.id, modes=_modes(session), config_options=self._options(session)
        )

    async def load_session(self, asked: schema.LoadSessionRequest) -> schema.LoadSessionResponse:
        """All that happened in it, each event once; then it goes on to tell. Raises `ResourceNotFound`."""
        session = await self._known(asked.session_id, asked.cwd, asked.mcp_servers)
        await session.replay()
        session.follow()
        return schema.LoadSessionResponse(modes=_modes(session), config_options=self._options(session))

    async def resume_session(self, asked: schema.ResumeSessionRequest) -> schema.ResumeSessionResponse:
        """The same without what happened. Raises `ResourceNotFound`."""
        session = await self._known(asked.session_id, asked.cwd, asked.mcp_servers or [])
        await session.skip()
        session.follow()
        return schema.ResumeSessionResponse(modes=_modes(session), config_options=self._options(session))

    async def fork_session(self, asked: schema.ForkSessionRequest) -> schema.ForkSessionResponse:
        """Another run with the steps of this one. Raises `ResourceNotFound`, and what forking raises."""
        folder = await _folder(asked.cwd)
        known = self.sessions.get(asked.session_id)
        if known is not None and not known.run:
            drafted = await self.new_session(schema.NewSessionRequest(cwd=asked.cwd, mcp_servers=[]))
            return schema.ForkSessionResponse(
                session_id=drafted.session_id, modes=drafted.modes, config_options=drafted.config_options
            )
        run = known.run if known is not None else _run_name(asked.session_id)
        forked = await self._api(folder)[0].post(f"/runs/{run}/fork", {})
        session = await self._open(forked["run"], folder, mcp_servers=asked.mcp_servers or [])
        await session.skip()
        session.follow()
        return schema.ForkSessionResponse(
            session_id=session.id, modes=_modes(session), config_options=self._options(session)
        )

    async def list_sessions(self, asked: schema.ListSessionsRequest) -> schema.ListSessionsResponse:
        """Runs, the newest first; of one folder, if it says so."""
        folder = await _folder(asked.cwd) if asked.cwd is not None else None
        api = self._api(folder or Path("/"))[0]
        found = await api.get("/runs", limit=_PAGE, before=asked.cursor or None)
        lines = [each for each in found["runs"] if each["notebook"]]
        if folder is not None:
            lines = [each for each in lines if Path(each["notebook"]).is_relative_to(folder)]
        return schema.ListSessionsResponse(
            sessions=[_listed(each, folder) for each in lines], next_cursor=found["next"]
        )

    async def close_session(self, asked: schema.CloseSessionRequest) -> schema.CloseSessionResponse:
        """Tell of it no more; what a prompt still waits for is stopped."""
        session = self.sessions.pop(asked.session_id, None)
        if session is not None:
            await session.close()
        return schema.CloseSessionResponse()

    # ── turns ──

    async def prompt(self, asked: schema.PromptRequest) -> schema.PromptResponse:
        """The goal, an answer, or a word to the run at work. Raises `UserError`, and what the API raises."""
        session = self._session(asked.session_id)
        return await session.prompt(await anyio.to_thread.run_sync(read_prompt, asked.prompt, session.folder))

    async def cancel(self, asked: schema.CancelNotification) -> None:
        """Stop what a prompt waits for, its cells too."""
        if (session := self.sessions.get(asked.session_id)) is not None:
            await session.cancel()

    async def set_mode(self, asked: schema.SetSessionModeRequest) -> schema.SetSessionModeResponse:
        """How far runs that begin from now on are looked over. Raises `UserError`."""
        session = self._session(asked.session_id)
        if asked.mode_id not in _MODES:
            raise UserError(f"There is no mode {asked.mode_id[:80]!r}.", hint=f"Known: {', '.join(_MODES)}.")
        session.choices.effort = asked.mode_id
        update = schema.CurrentModeUpdate(session_update="current_mode_update", current_mode_id=asked.mode_id)
        await session.tell(update)
        return schema.SetSessionModeResponse()

    async def set_config_option(
        self, asked: schema.SetSessionConfigOptionSelectRequest
    ) -> schema.SetSessionConfigOptionResponse:
        """Which models runs that begin from now on use. Raises `UserError`."""
        session, known = self._session(asked.session_id), self._models()
        if asked.config_id != _MODELS or asked.value not in known:
            raise UserError("There is no such choice.", hint=f"{_MODELS}: {', '.join(known)}.")
        session.choices.models = known[asked.value]
        return schema.SetSessionConfigOptionResponse(config_options=self._options(session))

    # ── within ──

    def _session(self, id: str) -> AcpSession:
        session = self.sessions.get(id)
        if session is None:
            raise ResourceNotFound(f"No session {id[:100]!r} here.", hint="Load it first.")
        return session

    async def _known(self, id: str, cwd: str, mcp_servers: list[Any]) -> AcpSession:
        folder = await _folder(cwd)
        if (before := self.sessions.pop(id, None)) is not None:
            before.leave()
        return await self._open(_run_name(id), folder, mcp_servers=mcp_servers)

    async def _open(self, id: str, folder: Path, *, key: str = "", mcp_servers: list[Any]) -> AcpSession:
        if len(self.sessions) >= _MOST_SESSIONS:
            raise UserError(f"More than {_MOST_SESSIONS} sessions are open.", hint="Close one.")
        api, approver, resources = self._api(folder)
        offered = await look_at_offers(api, mcp_servers)
        tools = tuple(dict.fromkeys([*self.host.tools, *offered.tools]))
        session = self.sessions[id] = AcpSession(
            id=id,
            key=key,
            folder=folder,
            api=api,
            approver=approver,
            client=SessionClient(tell=self._tell, ask=self._ask, tasks=self.tasks, control_room=self.host.control_room),
            mask=resources.mask,
            choices=RunChoices(models=self.host.models, tools=tools, budget_usd=self.host.budget_usd),
            notes=list(offered.notes),
        )
        return session

    def _api(self, folder: Path) -> tuple[ApiCalls, ApiCalls, ApiResources]:
        """The API of a folder, for the client and for its person."""
        if folder not in self._apis:
            resources = self.host.resources_in(folder)
            api = ApiCalls(
                app=api_application(resources), caller=replace(self.host.starter, scope="steer", interface="acp")
            )
            person = replace(self.host.starter, scope="approve", interface="acp-permission")
            self._apis[folder] = api, api.by(person), resources
        return self._apis[folder]

    async def _tell(self, session: str, update: Any) -> None:
        if self.host.is_marimo and isinstance(update, _UNKNOWN_TO_MARIMO):
            return
        told = schema.SessionNotification(session_id=session, update=update)
        await self.connection.send_notification("session/update", wire(told))

    async def _ask(self, wanted: schema.RequestPermissionRequest) -> schema.RequestPermissionResponse:
        said = await self.connection.send_request("session/request_permission", wire(wanted))
        return schema.RequestPermissionResponse.model_validate(said)

    def _models(self) -> dict[str, tuple[str, ...]]:
        known: dict[str, tuple[str, ...]] = {_USUAL: (), _ANALYST: (_ANALYST,)}
        given = self.host.models
        return known if given in known.values() else {", ".join(given): given, **known}

    def _options(self, session: AcpSession) -> list[Any]:
        known = self._models()
        values = [
            schema.SessionConfigSelectOption(
                value=name, name={_USUAL: "The usual models", _ANALYST: "Analyst (no model, no key)"}.get(name, name)
            )
            for name in known
        ]
        current = next(name for name, models in known.items() if models == session.choices.models)
        return [
            schema.SessionConfigOptionSelect(
                type="select", id=_MODELS, name="Models", category="model", current_value=current, options=values
            )
        ]


def _modes(session: AcpSession) -> schema.SessionModeState:
    modes = [schema.SessionMode(id=id, name=name, description=text) for id, (name, text) in _MODES.items()]
    return schema.SessionModeState(current_mode_id=session.choices.effort, available_modes=modes)


def _listed(line: Any, folder: Path | None) -> schema.SessionInfo:
    return schema.SessionInfo(
        session_id=line["run"],
        cwd=str(folder or Path(line["notebook"]).parent),
        title=line["goal"][:200],
        updated_at=datetime.fromtimestamp(line["began_ms"] / 1000 + line["seconds"], UTC).isoformat(),
    )


def _run_name(id: str) -> str:
    if not id.replace("-", "").replace("_", "").replace(".", "").isalnum() or len(id) > 100:
        raise ResourceNotFound(f"No session {id[:100]!r}.", hint="session/list shows them.")
    return id


async def _folder(cwd: str) -> Path:
    folder = Path(cwd)
    if "\0" in cwd or not folder.is_absolute() or not await anyio.to_thread.run_sync(folder.is_dir):
        raise UserError(f"{cwd[:300]!r} is not a folder.", hint="cwd is the absolute path of one that is there.")
    return await anyio.to_thread.run_sync(folder.resolve)
