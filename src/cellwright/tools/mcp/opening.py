"""Opening a connection to one server: in a cage of its own where it is a command, through an egress where it is not."""

from __future__ import annotations

import math
import os
import shutil
import sys
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from contextlib import AbstractContextManager, asynccontextmanager, nullcontext
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import anyio
import anyio.to_thread

from cellwright.errors import CellwrightError, RefusedByPolicy, Unavailable, UserError
from cellwright.kernel.environments.program_environment import pinned_packages, program_environment
from cellwright.kernel.environments.uv import Progress, UvSettings
from cellwright.kernel.process.live_program import ProgramFiles, ProgramStart, open_live_program
from cellwright.kernel.process.provisioner import CAGE_UID
from cellwright.kernel.process.zygote import Zygote
from cellwright.kernel.task_groups import unwrap_single_error
from cellwright.network import NetworkSettings
from cellwright.remedies import remedy
from cellwright.sandbox.egress import AllowedHost, Egress, EgressCaps, EgressRecord
from cellwright.sandbox.egress.server_connector import Resolve, resolve_here
from cellwright.sandbox.host.project import hidden_in
from cellwright.sandbox.linux.volumes import mounted_in
from cellwright.sandbox.private_directory import private_directory
from cellwright.sandbox.spec import CageSpec, Limits, Tier
from cellwright.secrets import find_secret
from cellwright.tools.mcp.server_line import ServerLine
from cellwright.tools.mcp.servers import NamedServer, allowed_host, server_origin

if TYPE_CHECKING:
    from cellwright.tools.mcp.connection import ServerConnection

_LIMITS: Final = Limits(memory_mb=2048, processes=256, disk_mb=512, tmp_mb=256)
_CAPS: Final = EgressCaps(connections=16)
_CONNECT_SECONDS: Final = 60.0
_SYSTEM: Final = ("/usr/", "/bin/", "/sbin/", "/lib")
_VARIABLES: Final[Mapping[str, str]] = {
    "PATH": "/usr/local/bin:/usr/bin:/bin",
    "HOME": "/home/cell",
    "USER": "cell",
    "LANG": "C.UTF-8",
    "TMPDIR": "/tmp",
    "PYTHONDONTWRITEBYTECODE": "1",
    "NO_COLOR": "1",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerHost:
    """What this machine and this person have for servers, and the folder they are used in."""

    home: Path
    """The state directory."""
    project: Path
    tier: Tier
    zygote: Callable[[], Awaitable[Zygote]]
    environments: Path
    uv: UvSettings = field(default_factory=UvSettings)
    path: str = ""
    """Where the person's commands are found."""
    reveal: tuple[str, ...] = ()
    network: NetworkSettings = field(default_factory=NetworkSettings)
    certificates: Path | None = None
    resolve: Resolve = resolve_here
    is_offline: bool = False
    on_visit: Callable[[EgressRecord], None] | None = None
    on_progress: Progress | None = None


async def with_pins(server: NamedServer, host: ServerHost) -> NamedServer:
    """The server with every package it comes to, each with its version: so it is built the same from now on."""
    if not server.packages:
        return server
    built = await program_environment(
        server.packages, cache=host.environments, uv=host.uv, on_progress=host.on_progress
    )
    return replace(server, packages=await anyio.to_thread.run_sync(pinned_packages, built))


@asynccontextmanager
async def open_server(server: NamedServer, host: ServerHost) -> AsyncGenerator[ServerConnection]:
    """A connection to it, as long as this block lasts. Raises `CellwrightError` if there is none to be had."""
    # It takes a second to load, and most runs use no server.
    from cellwright.tools.mcp.connection import Elicited, ServerConnection, why_failed

    if not server.may_be_used_in(host.project):
        raise RefusedByPolicy(
            f"The tool server {server.name!r} is not for {str(host.project)!r}.",
            hint=remedy("add_tool_server", name=server.name),
        )
    from mcp import Client
    from mcp_types import Implementation

    elicited, line, files = Elicited(), ServerLine(), ProgramFiles()
    opening = _over_http(server, host, line) if server.is_remote else _caged(server, host, line, files)
    is_open = False
    try:
        with unwrap_single_error(), anyio.CancelScope(deadline=anyio.current_time() + _CONNECT_SECONDS) as patience:
            async with opening as transport:
                about = Implementation(name="cellwright", version="1")
                async with Client(transport, cache=None, client_info=about, elicitation_callback=elicited) as client:
                    # From here on each request has its own.
                    patience.deadline, is_open = math.inf, True
                    yield ServerConnection(client=client, elicited=elicited, line=line, files=files)
        if not is_open:
            raise Unavailable(f"The tool server {server.name!r} did not answer in {_CONNECT_SECONDS:g} s.")
    except CellwrightError:
        raise
    except Exception as error:
        if is_open:
            raise
        hint = remedy("allow_private_server", name=server.name) if line.is_private else ""
        why = line.why or why_failed(error)
        raise Unavailable(f"The tool server {server.name!r} cannot be used: {why}.", hint=hint) from error


@asynccontextmanager
async def _caged(server: NamedServer, host: ServerHost, told: ServerLine, files: ProgramFiles) -> AsyncGenerator[Any]:
    from cellwright.tools.mcp.caged_transport import CagedLine

    if host.tier == "D" or (host.tier == "C" and server.hosts):
        raise RefusedByPolicy(
            f"This machine has no walls to run the tool server {server.name!r} behind.",
            hint=remedy("see_doctor", says="says what is missing"),
        )
    if server.files == "write":
        await anyio.to_thread.run_sync(_check_writable, server, host)
    command, software = await _command(server, host)
    secrets = await anyio.to_thread.run_sync(_secrets, server, host.home)
    with _project(server, host) as project:
        hidden = await anyio.to_thread.run_sync(hidden_in, project, host.reveal) if server.files != "none" else ()
        spec = CageSpec(
            name=f"cellwright-tools-{os.getpid()}",
            tier=host.tier,
            project=str(project),
            files="keep" if server.files == "write" else "drop",
            hidden=hidden,
            software=software,
            limits=_LIMITS,
            uid=CAGE_UID,
            environment=dict(_VARIABLES),
        )
        program = ProgramStart(command=command, variables={**server.settings, **secrets})
        async with open_live_program(
            await host.zygote(), spec, program, egress=_egress(server, host), files=files
        ) as line:
            yield CagedLine(line, told).transport()


def _check_writable(server: NamedServer, host: ServerHost) -> None:
    """Raises `RefusedByPolicy` where what it writes could not be told from the project. Blocking."""
    if host.tier == "C" or mounted_in(str(host.project)).all:
        why = "something is mounted in it" if host.tier != "C" else "this machine lays nothing over it"
        raise RefusedByPolicy(
            f"The tool server {server.name!r} cannot write in the project: {why}.",
            hint="Let it only read the project: then what it writes is forgotten.",
        )


def _project(server: NamedServer, host: ServerHost) -> AbstractContextManager[Path]:
    return nullcontext(host.project) if server.files != "none" else private_directory("tools")


async def _command(server: NamedServer, host: ServerHost) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """What is started, by its whole path, and what the cage must see for that."""
    program, *arguments = server.command
    software = server.software
    found: str | None = None
    if server.packages:
        built = await program_environment(
            server.packages, cache=host.environments, uv=host.uv, on_progress=host.on_progress
        )
        software = (*software, str(built.path), *built.interpreter.software)
        beside = built.path / "bin" / program
        found = str(beside) if "/" not in program and await anyio.Path(beside).exists() else None
        if found is None and "/" not in program:
            raise UserError(
                f"The packages of {server.name!r} bring no command {program!r}.", hint="Look at their documentation."
            )
    if found is None:
        found = program if program.startswith("/") else await anyio.to_thread.run_sync(_which, program, host.path)
    if found is None:
        raise UserError(f"There is no command {program[:200]!r} on this machine.", hint="Give its whole path.")
    real = str(await anyio.Path(found).resolve())
    if not server.packages and not real.startswith(_SYSTEM) and not _is_shown(found, real, software):
        raise UserError(
            f"{found!r} is not among the system's programs, so its cage does not see it.",
            hint=remedy("show_server_software", name=server.name, folder=str(Path(real).parent.parent)),
        )
    return (found, *arguments), software


def _which(program: str, path: str) -> str | None:
    return shutil.which(program, path=path or _VARIABLES["PATH"])


def _is_shown(found: str, real: str, software: tuple[str, ...]) -> bool:
    # Of ours a cage sees what it is started with anyway.
    folders = (*software, "/project", sys.prefix, sys.base_prefix)
    return all(any(Path(each).is_relative_to(folder) for folder in folders) for each in {found, real})


def _secrets(server: NamedServer, home: Path) -> dict[str, str]:
    """The values of its secrets, by variable. Raises `UserError` for one that is not kept. Blocking."""
    found = dict[str, str]()
    for variable, name in server.secret_names.items():
        secret = find_secret(home, name)
        if secret is not None:
            found[variable] = secret.value
        elif variable in server.variables:
            raise UserError(
                f"The tool server {server.name!r} is given {variable}, and no value of it is kept.",
                hint=remedy("set_server_secret", name=server.name, variable=variable),
            )
    return found


def server_secrets(server: NamedServer, home: Path) -> dict[str, str]:
    """The values of its secrets that are kept, to be masked wherever they turn up. Blocking."""
    found = {variable: find_secret(home, name) for variable, name in server.secret_names.items()}
    return {variable: secret.value for variable, secret in found.items() if secret is not None}


def _egress(server: NamedServer, host: ServerHost) -> Egress | None:
    """The way out of a server's cage; none where it was given no host."""
    if not server.hosts or host.is_offline:
        return None
    allowed = [allowed_host(text, may_be_private=server.private_hosts) for text in server.hosts]
    return _egress_to(allowed, host)


def _egress_to(allowed: list[AllowedHost], host: ServerHost) -> Egress:
    return Egress(
        allowed=allowed,
        caps=_CAPS,
        resolve=host.resolve,
        certificates=host.certificates,
        connection=host.network,
        on_visit=host.on_visit,
    )


@asynccontextmanager
async def _over_http(server: NamedServer, host: ServerHost, told: ServerLine) -> AsyncGenerator[Any]:
    from mcp.client.streamable_http import streamable_http_client

    from cellwright.tools.mcp.http_transport import http_client

    if host.is_offline:
        raise RefusedByPolicy(f"There is no network here, and the tool server {server.name!r} is at an address.")
    _, name, port = server_origin(server.url)
    egress = _egress_to(
        [AllowedHost(name=f"[{name}]" if ":" in name else name, ports=(port,),
                     has_private_addresses=server.private_hosts)],
        host,
    )  # fmt: skip
    token = (await anyio.to_thread.run_sync(_secrets, server, host.home)).get("token", "")
    async with http_client(egress, host.certificates, token, told) as client:
        try:
            yield streamable_http_client(server.url, http_client=client)
        finally:
            told.why = told.why or next((visit.why for visit in egress.visits if visit.verdict != "allowed"), "")
            # The one host it has is allowed: only where that leads to can have been refused.
            told.is_private = any(visit.verdict == "denied" for visit in egress.visits)
