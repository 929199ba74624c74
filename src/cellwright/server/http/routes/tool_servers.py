"""`/tool-servers`: servers whose tools agents may call; what they say, and what a person allowed of it."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Annotated, Any

import anyio.to_thread
from fastapi import Path
from pydantic import ConfigDict, Field, SecretStr, StringConstraints

from cellwright.app.tool_registry import (
    ServerState,
    add_server,
    allow_tools,
    forget_server,
    list_servers,
    look_at_server,
    server_view,
)
from cellwright.policy.rules import RuleEffect
from cellwright.server.http.auth.dependencies import Admin, Reader, Steerer
from cellwright.server.http.page_remedies import page_hint
from cellwright.server.http.resources import ApiResources, ApiRouter, Resources
from cellwright.server.http.schemas.model import RequestModel, ResponseModel
from cellwright.tools.mcp.pins import ToolStanding
from cellwright.tools.mcp.servers import FilesShown, NamedServer, server_json

router = ApiRouter(tags=["tool servers"])
ServerName = Annotated[str, Path(min_length=1, max_length=40)]
_Words = Annotated[tuple[Annotated[str, StringConstraints(max_length=4_096)], ...], Field(max_length=300)]


class ServerToolShape(ResponseModel):
    """One tool of a server, by what a person has seen of it."""

    name: str
    standing: ToolStanding
    says: RuleEffect
    """What would be said to a call."""
    may_change: bool
    """Whether a call may change something: then a yes holds for one call."""
    diff: str
    """What a person is to look at, in the server's own words; empty where it stands as it was."""


class ServerResourceShape(ResponseModel):
    """Something a server lets one read."""

    uri: str
    name: str


class ServerProblemShape(ResponseModel):
    """Why a server could not be asked."""

    message: str
    hint: str


class ToolServerShape(ResponseModel):
    """One server; never a secret."""

    model_config = ConfigDict(json_schema_serialization_defaults_required=True)

    name: str
    place: str
    """Its command, or its address."""
    packages: list[str] = Field(default_factory=list[str])
    url: str = ""
    hosts: list[str] = Field(default_factory=list[str])
    private_hosts: bool = False
    software: list[str] = Field(default_factory=list[str])
    projects: list[str] = Field(default_factory=list[str])
    files: FilesShown = "none"
    missing_secrets: list[str] = Field(default_factory=list[str])
    was_asked: bool = False
    """Whether `tools` is what it says now."""
    protocol: str = ""
    tools: list[ServerToolShape] = Field(default_factory=list[ServerToolShape])
    resources: list[ServerResourceShape] = Field(default_factory=list[ServerResourceShape])
    fingerprint: str = ""
    """Of what waits to be allowed; empty: nothing does."""
    problem: ServerProblemShape | None = None


class ToolServersShape(ResponseModel):
    """Every server, and those the folder proposes."""

    servers: list[ToolServerShape]
    proposed: list[ToolServerShape]


class NewToolServer(RequestModel):
    """A server: a command, or an address."""

    command: _Words = ()
    packages: _Words = ()
    url: Annotated[str, StringConstraints(max_length=4_096)] = ""
    software: _Words = ()
    hosts: _Words = ()
    private_hosts: bool = False
    settings: dict[str, str] = Field(default_factory=dict[str, str], max_length=100)
    secrets: dict[str, SecretStr] = Field(default_factory=dict[str, SecretStr], max_length=20)
    """By variable; of an address `token`. Never shown."""
    files: FilesShown = "none"
    call_seconds: Annotated[float, Field(ge=1, le=3600)] = 120.0
    projects: _Words = ()
    """Folders whose runs may use it; empty: all."""


class ShownTools(RequestModel):
    """What a person was shown."""

    fingerprint: Annotated[str, StringConstraints(max_length=100)]


class AllowedTools(ResponseModel):
    """What agents may be told of now."""

    allowed: list[str]


@router.get("/tool-servers")
async def list_tool_servers(_: Reader, resources: Resources) -> ToolServersShape:
    """Servers whose tools agents may call, none asked; and those the folder proposes."""
    states, proposed = await anyio.to_thread.run_sync(list_servers, resources.settings, resources.folder)
    return ToolServersShape(
        servers=[_shape(resources, state) for state in states],
        proposed=[_plain(server) for server in proposed],
    )


@router.put("/tool-servers/{name}")
async def put_tool_server(_: Admin, resources: Resources, name: ServerName, body: NewToolServer) -> ToolServerShape:
    """Name a server, or change one, and ask it at once; its tools wait to be allowed."""
    given: dict[str, Any] = body.model_dump(exclude={"secrets", "settings"})
    is_remote = bool(body.url)
    server = NamedServer(
        name=name,
        **given,
        settings=MappingProxyType(dict(body.settings)),
        variables=() if is_remote else tuple(body.secrets),
    )
    secrets: Mapping[str, str] = {
        variable: value.get_secret_value()
        for variable, value in body.secrets.items()
        if variable in server.secret_names
    }
    await add_server(resources.settings, server, resources.folder, secrets=secrets, pool=resources.live.pool)
    return await _look(resources, name)


@router.post("/tool-servers/{name}/look")
async def look_at_tool_server(_: Steerer, resources: Resources, name: ServerName) -> ToolServerShape:
    """Ask a server what it says now, beside what was allowed of it."""
    return await _look(resources, name)


@router.post("/tool-servers/{name}/allow")
async def allow_server_tools(caller: Admin, resources: Resources, name: ServerName, body: ShownTools) -> AllowedTools:
    """Let agents know of what waits, if it is what was shown."""
    state = await look_at_server(resources.settings, name, resources.folder, pool=resources.live.pool)
    allowed = await allow_tools(resources.settings, state, by=caller.person, fingerprint=body.fingerprint)
    return AllowedTools(allowed=list(allowed))


@router.delete("/tool-servers/{name}")
async def remove_tool_server(_: Admin, resources: Resources, name: ServerName) -> AllowedTools:
    """Take a server away, with its secrets and what was allowed of it."""
    await anyio.to_thread.run_sync(forget_server, resources.settings, name)
    return AllowedTools(allowed=[])


async def _look(resources: ApiResources, name: str) -> ToolServerShape:
    return _shape(resources, await look_at_server(resources.settings, name, resources.folder, pool=resources.live.pool))


def _shape(resources: ApiResources, state: ServerState) -> ToolServerShape:
    view = server_view(state, page_hint)
    if view["problem"] is not None:
        view["problem"] = {key: resources.mask(text) for key, text in view["problem"].items()}
    return ToolServerShape.model_validate(view)


def _plain(server: NamedServer) -> ToolServerShape:
    return ToolServerShape.model_validate({"name": server.name, "place": server.place} | server_json(server))
