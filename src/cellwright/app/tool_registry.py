"""The registry of tool servers, one function for each verb: every interface calls these."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import anyio.to_thread

from cellwright.app.notebooks import open_pool
from cellwright.errors import CellwrightError, RefusedByPolicy, UserError
from cellwright.kernel.environments.uv import UvSettings
from cellwright.kernel.pool import KernelPool
from cellwright.policy.actions import CallServerTool
from cellwright.policy.display_text import shown
from cellwright.policy.judgement import judge
from cellwright.remedies import Hint
from cellwright.sandbox.egress import EgressRecord
from cellwright.sandbox.host.tiers import probe
from cellwright.sandbox.spec import Tier
from cellwright.secrets import forget_secret, keep_secret, kept_secrets
from cellwright.settings import Settings
from cellwright.tools.approval.rule_files import standing_rules
from cellwright.tools.mcp.opening import ServerHost, open_server, with_pins
from cellwright.tools.mcp.pins import AllowedTool, ReviewedTool, ServerTool, ToolApprovals, fingerprint_of, review
from cellwright.tools.mcp.servers import (
    NamedServer,
    check_server,
    find_server,
    proposed_servers,
    remove_server,
    server_json,
    servers_at,
    store_server,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerState:
    """A server beside what was allowed of it; and if it was asked, beside what it says now."""

    server: NamedServer
    tools: tuple[ReviewedTool, ...] = ()
    verdicts: Mapping[str, str] = field(default_factory=dict[str, str])
    """What would be said to a call of each: allow, ask or deny."""
    missing_secrets: tuple[str, ...] = ()
    was_asked: bool = False
    protocol: str = ""
    resources: tuple[tuple[str, str], ...] = ()
    """Address and name of what it lets one read."""
    problem: CellwrightError | None = None
    """Why it could not be asked."""

    @property
    def waiting(self) -> tuple[ReviewedTool, ...]:
        """What a person has to look at before a model may know of it; and what is there no more."""
        return tuple(each for each in self.tools if each.standing != "allowed")

    @property
    def fingerprint(self) -> str:
        """Names exactly what waits; empty if nothing does."""
        if not self.waiting:
            return ""
        gone = [ServerTool(name=f"gone {each.name}") for each in self.waiting if each.now is None]
        return fingerprint_of([*(each.now for each in self.waiting if each.now is not None), *gone])


@asynccontextmanager
async def server_host(
    settings: Settings,
    project: Path,
    *,
    pool: KernelPool | None = None,
    tier: Tier | None = None,
    is_offline: bool = False,
    on_progress: Callable[[str], None] | None = None,
    on_visit: Callable[[EgressRecord], None] | None = None,
) -> AsyncGenerator[ServerHost]:
    """What this machine and this person have for servers used in this folder."""
    async with AsyncExitStack() as stack:
        own = pool or await stack.enter_async_context(open_pool(settings))
        yield ServerHost(
            home=settings.home,
            project=project,
            tier=tier or (await anyio.to_thread.run_sync(probe)).tier,
            zygote=own.zygote,
            environments=settings.cache / "environments",
            uv=UvSettings(
                variables=settings.connection.variables,
                other_caches=(settings.uv_cache,) if settings.uv_cache.is_dir() else (),
            ),
            path=settings.environment.get("PATH", ""),
            network=settings.connection,
            certificates=settings.certificates,
            is_offline=is_offline,
            on_progress=on_progress,
            on_visit=on_visit,
        )


def list_servers(settings: Settings, project: Path) -> tuple[list[ServerState], list[NamedServer]]:
    """Those of the person as they stand, none asked; and those the project proposes. Blocking."""
    known, approvals = servers_at(settings.home), ToolApprovals(settings.home)
    found = [_state(settings, project, server, approvals.of(name), None) for name, server in known.items()]
    return found, [each for name, each in proposed_servers(project).items() if name not in known]


async def look_at_server(
    settings: Settings,
    name: str,
    project: Path,
    *,
    pool: KernelPool | None = None,
    on_progress: Callable[[str], None] | None = None,
) -> ServerState:
    """What it says now beside what was allowed of it. Raises `UserError` for one there is not."""
    server = await anyio.to_thread.run_sync(find_server, settings.home, name)
    allowed = await anyio.to_thread.run_sync(ToolApprovals(settings.home).of, name)
    now, protocol, resources = None, "", ()
    problem: CellwrightError | None = None
    try:
        async with (
            server_host(settings, project, pool=pool, on_progress=on_progress) as host,
            open_server(server, host) as connection,
        ):
            now, protocol = await connection.tools(), connection.era
            resources = tuple((each.uri, each.name) for each in await connection.resources())
    except CellwrightError as error:
        problem = error
    state = await anyio.to_thread.run_sync(_state, settings, project, server, allowed, now)
    return replace(state, was_asked=True, protocol=protocol, resources=resources, problem=problem)


async def add_server(
    settings: Settings,
    server: NamedServer,
    project: Path,
    *,
    secrets: Mapping[str, str],
    pool: KernelPool | None = None,
    on_progress: Callable[[str], None] | None = None,
) -> NamedServer:
    """Name it, or change it: its packages are pinned, its secrets kept. One that is another keeps nothing of before."""
    check_server(server)
    home = settings.ready_home()
    async with server_host(settings, project, pool=pool, on_progress=on_progress) as host:
        server = await with_pins(server, host)
    return await anyio.to_thread.run_sync(_store, home, server, secrets)


def _store(home: Path, server: NamedServer, secrets: Mapping[str, str]) -> NamedServer:
    before = servers_at(home).get(server.name)
    if before is not None and not _is_same_program(before, server):
        # Neither a person's yes nor a secret goes over to another program.
        _forget(home, before)
    store_server(home, server)
    for variable, value in secrets.items():
        keep_secret(home, server.secret_names[variable], value)
    return server


def _is_same_program(one: NamedServer, other: NamedServer) -> bool:
    return all(getattr(one, part) == getattr(other, part) for part in ("command", "packages", "url"))


def _forget(home: Path, server: NamedServer) -> tuple[str, ...]:
    ToolApprovals(home).forget(server.name)
    return tuple(variable for variable, name in server.secret_names.items() if forget_secret(home, name))


async def allow_tools(settings: Settings, state: ServerState, *, by: str, fingerprint: str) -> tuple[str, ...]:
    """Agents may be told of what waits, if it is what the person was shown; the names of what is allowed now."""
    if state.problem is not None:
        raise state.problem
    if fingerprint != state.fingerprint:
        raise RefusedByPolicy("This is not what you were shown.", hint="Look again.")
    tools: Sequence[ServerTool] = [each.now for each in state.waiting if each.now is not None]
    gone = [each.name for each in state.waiting if each.now is None]
    approvals = ToolApprovals(settings.ready_home())
    await anyio.to_thread.run_sync(lambda: approvals.allow(state.server.name, tools, by=by, gone=gone))
    return tuple(tool.name for tool in tools)


def forget_server(settings: Settings, name: str) -> tuple[str, ...]:
    """Take it away, with its secrets and all that was allowed of it; the secrets that were kept. Blocking."""
    server = find_server(settings.home, name)
    remove_server(settings.home, name)
    return _forget(settings.home, server)


def find_proposal(project: Path, name: str) -> NamedServer:
    """The server that the project proposes by this name. Raises `UserError`. Blocking."""
    proposed = proposed_servers(project)
    if name not in proposed:
        names = ", ".join(proposed) or "none"
        raise UserError(f"The project proposes no tool server {name[:80]!r}.", hint=f"It proposes: {names}.")
    return proposed[name]


def _state(
    settings: Settings,
    project: Path,
    server: NamedServer,
    allowed: Mapping[str, AllowedTool],
    now: Sequence[ServerTool] | None,
) -> ServerState:
    rules = standing_rules(state=settings.home, project=project, home=settings.user_home, team=settings.team_rules)
    tools, at = review(now, allowed), datetime.now(UTC)
    kept = kept_secrets(settings.home)
    return ServerState(
        server=server,
        tools=tuple(tools),
        verdicts={
            each.name: judge(
                CallServerTool.of(server.name, each.name, {}), rules, None, [], run="", now=at
            ).says
            for each in tools
        },
        missing_secrets=tuple(each for each in server.variables if server.secret_names[each] not in kept),
    )  # fmt: skip


def server_view(state: ServerState, words: Callable[[Hint], str]) -> dict[str, Any]:
    """As plain JSON values, hints in an interface's words; every text of a server has nothing invisible in it."""
    problem = state.problem
    return {
        "name": state.server.name,
        "place": state.server.place,
        **server_json(state.server),
        "missing_secrets": list(state.missing_secrets),
        "was_asked": state.was_asked,
        "protocol": state.protocol,
        "tools": [
            {
                "name": shown(each.name),
                "standing": each.standing,
                "says": state.verdicts.get(each.name, "ask"),
                "may_change": each.may_change,
                "diff": each.diff(),
            }
            for each in state.tools
        ],
        "resources": [{"uri": uri, "name": title} for uri, title in state.resources],
        "fingerprint": state.fingerprint,
        "problem": None if problem is None else {"message": problem.message, "hint": words(problem.advice)},
    }
