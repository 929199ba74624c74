"""The odd server in a project, named, and allowed as far as a test says."""

from __future__ import annotations

import json
import shutil
import sys
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from cellwright.kernel.pool import KernelPool
from cellwright.sandbox.host.tiers import probe
from cellwright.tools.mcp.opening import ServerHost, open_server
from cellwright.tools.mcp.pins import ToolApprovals
from cellwright.tools.mcp.servers import NamedServer, store_server
from cellwright.tools.mcp.tool_servers import ToolServers

PROGRAM = Path(__file__).with_name("odd_server.py")
NAMES = ("echo", "environment", "read", "huge", "endless", "silent", "dies", "asks", "samples")


def definition(name: str, **more: Any) -> dict[str, Any]:
    given: dict[str, Any] = {"name": name, "description": f"Does {name}.", "inputSchema": {"type": "object"}}
    return given | more


def put_odd_server(project: Path, tools: Sequence[dict[str, Any]] | None = None) -> None:
    """Its program and what it says of itself, in the project."""
    project.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(PROGRAM, project / "odd_server.py")
    said = [definition(name) for name in NAMES] if tools is None else list(tools)
    (project / "tools.json").write_text(json.dumps(said))


def odd_server(**more: Any) -> NamedServer:
    given: dict[str, Any] = {"command": (sys.executable, "-S", "/project/odd_server.py"), "files": "read"}
    software = tuple(dict.fromkeys([sys.prefix, sys.base_prefix]))
    return NamedServer(name="odd", software=software, **given | more)


def server_host(pool: KernelPool, home: Path, project: Path, **more: Any) -> ServerHost:
    return ServerHost(
        home=home, project=project, tier=probe().tier, zygote=pool.zygote, environments=home / "environments", **more
    )


async def allow_everything(host: ServerHost, server: NamedServer) -> None:
    """As a person does who has looked at all it says."""
    async with open_server(server, host) as connection:
        ToolApprovals(host.home).allow(server.name, await connection.tools(), by="ada")


@asynccontextmanager
async def odd_servers(
    pool: KernelPool, where: Path, server: NamedServer | None = None, *, has_tools: bool = False, **more: Any
) -> AsyncGenerator[ToolServers]:
    """The odd server, named in a fresh state directory, with all of its tools allowed."""
    server = server or odd_server()
    if not has_tools:
        put_odd_server(where / "project")
    store_server(where / "home", server)
    host = server_host(pool, where / "home", where / "project", **more)
    await allow_everything(host, server)
    async with ToolServers.open(host, [server.name], callable_names=[server.name], asks=True) as servers:
        yield servers
