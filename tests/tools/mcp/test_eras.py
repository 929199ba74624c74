"""Both eras of the protocol, and servers at an address, over one call shape."""

from __future__ import annotations

import shutil
import socket
import subprocess
import sys
from collections.abc import Generator
from pathlib import Path

import anyio
import pytest

from cellwright.errors import Unavailable
from cellwright.kernel.pool import KernelPool
from cellwright.tools.mcp.connection import PersonSaid, ServerAnswer
from cellwright.tools.mcp.opening import open_server
from cellwright.tools.mcp.servers import NamedServer
from tests.tools.mcp.odd_servers import put_odd_server, server_host

SDK_SERVER = Path(__file__).with_name("sdk_server.py")


def sdk_server() -> NamedServer:
    software = tuple(dict.fromkeys([sys.prefix, sys.base_prefix]))
    command = (sys.executable, "/project/sdk_server.py")
    return NamedServer(name="sdk", command=command, software=software, files="read")


async def test_the_packages_own_server_is_called_in_a_cage_and_asks_in_an_answer(
    pool: KernelPool, tmp_path: Path
) -> None:
    shutil.copyfile(SDK_SERVER, tmp_path / "sdk_server.py")
    host = server_host(pool, tmp_path / "home", tmp_path)
    async with open_server(sdk_server(), host) as connection:
        assert connection.era == "2026-07-28"
        assert [tool.name for tool in await connection.tools()] == ["add", "weigh"]
        assert (await connection.call("add", {"a": 40, "b": 2}, seconds=60)).value == {"result": 42}
        asked = await connection.call("weigh", {"bird": "wren"}, seconds=60)
        [asks] = asked.asks
        assert (asks.message, [field.name for field in asks.fields]) == ("How heavy is it?", ["grams"])
        answered = [(asks, PersonSaid(values={"grams": 9}))]
        told = await connection.call("weigh", {"bird": "wren"}, answered=answered, state=asked.state, seconds=60)
        assert told.text == "wren 9 g"
        said = await connection.call("add", {"a": "many"}, seconds=60)
        assert isinstance(said, ServerAnswer)
        assert said.is_error


@pytest.fixture
def at_address() -> Generator[str]:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    process = subprocess.Popen([sys.executable, str(SDK_SERVER), str(port)], stderr=subprocess.DEVNULL)
    try:
        yield f"http://127.0.0.1:{port}/mcp"
    finally:
        process.kill()
        process.wait()


@pytest.mark.slow
async def test_a_server_at_an_address_of_this_machine_is_reached_only_if_a_person_said_so(
    pool: KernelPool, tmp_path: Path, at_address: str
) -> None:
    put_odd_server(tmp_path)
    host = server_host(pool, tmp_path / "home", tmp_path)
    with pytest.raises(Unavailable, match="a loopback address, which was not approved"):
        async with open_server(NamedServer(name="far", url=at_address), host):
            raise AssertionError
    server = NamedServer(name="far", url=at_address, private_hosts=True)
    with anyio.fail_after(60):
        while True:
            try:
                async with open_server(server, host) as connection:
                    assert (await connection.call("add", {"a": 1, "b": 2}, seconds=30)).value == {"result": 3}
                return
            except Unavailable:
                # It is only starting.
                continue
