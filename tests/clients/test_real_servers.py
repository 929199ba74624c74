"""Five servers of others in cages, of both eras, through one call shape."""

from __future__ import annotations

from pathlib import Path

import anyio
import pytest

from cellwright.kernel.environments.uv import UvSettings
from cellwright.kernel.pool import KernelPool
from cellwright.settings import Settings
from cellwright.tools.mcp.opening import ServerHost, open_server, with_pins
from cellwright.tools.mcp.servers import NamedServer
from tests.clients.real_clients import NODE, PACKAGES
from tests.sandbox.egress.world import HOST, World, world
from tests.tools.mcp.odd_servers import server_host

pytestmark = pytest.mark.clients
MODERN = "2026-07-28"


@pytest.fixture
def host(pool: KernelPool, tmp_path: Path) -> ServerHost:
    (tmp_path / "project").mkdir()
    (tmp_path / "project" / "birds.csv").write_text("bird\nwren\n")
    uv = UvSettings(variables=Settings.read().connection.variables, timeout_seconds=300)
    return server_host(pool, tmp_path / "home", tmp_path / "project", uv=uv)


def node_server(name: str, *words: str) -> NamedServer:
    program = PACKAGES / "@modelcontextprotocol" / f"server-{name}" / "dist" / "index.js"
    command = (str(NODE), str(program), *words)
    return NamedServer(name=name, command=command, software=(str(PACKAGES.resolve()),), files="read")


async def test_time_from_its_package_with_every_version_pinned(host: ServerHost) -> None:
    named = NamedServer(name="time", command=("mcp-server-time",), packages=("mcp-server-time==2026.10.19",))
    server = await with_pins(named, host)
    assert len(server.packages) > 5
    assert all("==" in each for each in server.packages)
    async with open_server(server, host) as connection:
        assert connection.era == MODERN
        told = await connection.call("get_current_time", {"timezone": "Europe/Paris"}, seconds=60)
        assert "Europe/Paris" in told.text


async def test_fetch_reaches_the_one_host_that_was_approved(host: ServerHost, tmp_path: Path, pool: KernelPool) -> None:
    with world(tmp_path) as internet:
        assert isinstance(internet, World)
        allowed = f"{HOST}:{internet.http_port}"
        named = NamedServer(
            name="fetch",
            command=("mcp-server-fetch", "--ignore-robots-txt"),
            packages=("mcp-server-fetch==2026.10.24",),
            hosts=(allowed,),
            private_hosts=True,
        )
        reaching = server_host(pool, host.home, host.project, uv=host.uv, resolve=internet.resolve)
        async with open_server(named, reaching) as connection:
            # Raw: where there is Node it would install a package first, from a host nobody approved.
            given = {"url": internet.url("/birds.csv"), "raw": True}
            assert "wren,9" in (await connection.call("fetch", given, seconds=60)).text
            other = {"url": internet.url("/birds.csv", host="other.example"), "raw": True}
            elsewhere = await connection.call("fetch", other, seconds=60)
            assert elsewhere.is_error
        assert len(internet.http.requests) == 1


async def test_git_reads_the_projects_history(host: ServerHost) -> None:
    for words in (
        ["init", "-q"],
        ["add", "."],
        ["-c", "user.name=A", "-c", "user.email=a@b.c", "commit", "-qm", "Birds"],
    ):
        await anyio.run_process(["git", *words], cwd=host.project)
    named = NamedServer(name="git", command=("mcp-server-git",), packages=("mcp-server-git==2026.10.19",), files="read")
    async with open_server(named, host) as connection:
        told = await connection.call("git_log", {"repo_path": "/project"}, seconds=60)
        assert "Birds" in told.text


async def test_filesystem_told_to_serve_everything_reads_only_the_project(host: ServerHost) -> None:
    (host.project.parent / "private.txt").write_text("of the host")
    async with open_server(node_server("filesystem", "/"), host) as connection:
        assert connection.era < MODERN
        read = await connection.call("read_text_file", {"path": "/project/birds.csv"}, seconds=60)
        assert "wren" in read.text
        for path in (str(host.project.parent / "private.txt"), str(Path.home() / ".bashrc"), "/etc/shadow"):
            assert (await connection.call("read_text_file", {"path": path}, seconds=60)).is_error
        await connection.call("write_file", {"path": "/project/birds.csv", "content": "gone"}, seconds=60)
    assert (host.project / "birds.csv").read_text() == "bird\nwren\n"


async def test_everything_answers_in_its_own_era(host: ServerHost) -> None:
    async with open_server(node_server("everything"), host) as connection:
        assert connection.era < MODERN
        assert (await connection.call("echo", {"message": "hello"}, seconds=60)).text == "Echo: hello"
        assert await connection.resources()
