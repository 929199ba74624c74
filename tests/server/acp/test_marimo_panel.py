"""The websocket of marimo's panel, by a real websocket client: whom it answers, and whom it does not."""

from __future__ import annotations

import json
import socket
import subprocess
from collections.abc import AsyncGenerator, Generator
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any, cast

import anyio
import pytest
from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed, InvalidStatus
from websockets.typing import Origin

from cellwright.errors import UserError
from cellwright.server.acp.marimo_panel import (
    USUAL_ORIGINS,
    MarimoPanel,
    check_origins,
    listen_for_panel,
    serve_panel_at,
)
from tests.server.a_daemon import TELL
from tests.server.acp.an_editor import PROGRAM
from tests.server.daemon_testbed import DaemonTestbed, eventually
from tests.server.mcp.test_mcp_over_stdio import start_daemon

INITIALIZE = {"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {"protocolVersion": 1}}


def no_daemon() -> socket.socket:
    raise AssertionError("nobody who is refused gets as far as the daemon")


@asynccontextmanager
async def a_panel(**more: Any) -> AsyncGenerator[int]:
    """Its port."""
    listener = listen_for_panel(0)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(serve_panel_at, listener, check_origins(()), no_daemon)
        yield listener.getsockname()[1]
        tasks.cancel_scope.cancel()


async def status_of(port: int, path: str = "/message", origin: str | None = USUAL_ORIGINS[0], **headers: str) -> int:
    """With which status a websocket is refused."""
    try:
        async with connect(
            f"ws://127.0.0.1:{port}{path}", origin=cast("Origin | None", origin), additional_headers=headers, proxy=None
        ):
            return 101
    except InvalidStatus as refused:
        return refused.response.status_code


async def test_pages_of_other_origins_and_names_are_refused_before_anything_is_asked(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async with a_panel() as port:
        assert await status_of(port, origin="http://evil.example") == 403
        assert await status_of(port, origin=None) == 403
        assert await status_of(port, origin="null") == 403
        # A longer name, another port, another scheme: none is the editor's.
        assert await status_of(port, origin=f"{USUAL_ORIGINS[0]}.evil.example") == 403
        assert await status_of(port, origin="http://localhost:27180") == 403
        assert await status_of(port, origin="https://localhost:2718") == 403
        assert await status_of(port, path="/") == 403
    assert {each.getMessage() for each in caplog.records} == {
        "a connection was refused: another origin",
        "a connection was refused: not the panel's path",
    }


async def ask_with_host(port: int, host: str) -> str:
    """The first line of the answer to an upgrade under another name, as DNS rebinding sends it."""
    head = (
        f"GET /message HTTP/1.1\r\nHost: {host}\r\nOrigin: {USUAL_ORIGINS[0]}\r\nUpgrade: websocket\r\n"
        "Connection: Upgrade\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n"
    )
    async with await anyio.connect_tcp("127.0.0.1", port) as stream:
        await stream.send(head.encode())
        return (await stream.receive()).split(b"\r\n")[0].decode()


async def test_a_name_that_was_made_to_lead_here_is_refused_and_another_user_too() -> None:
    async with a_panel() as port:
        for host in ("evil.example", f"evil.example:{port}", "127.0.0.1", "127.0.0.1:1", f"127.0.0.2:{port}"):
            assert "403" in await ask_with_host(port, host)
        assert listening(port) == {"127.0.0.1"}
    # A process of another user could name any origin: the kernel says whose it is.
    panel = MarimoPanel(origins=check_origins(()), hosts={"h"}, connect=no_daemon, uid=12_345)
    scope = {
        "type": "websocket",
        "path": "/message",
        "headers": [(b"host", b"h"), (b"origin", USUAL_ORIGINS[0].encode())],
    }
    with socket.create_server(("127.0.0.1", 0)) as server, socket.create_connection(server.getsockname()) as client:
        ends = {"client": client.getsockname(), "server": server.getsockname()}
        assert await panel._why_not({**scope, **ends}) == "another user"  # pyright: ignore
    assert await panel._why_not({**scope, "client": None, "server": None}) == "another user"  # pyright: ignore


def listening(port: int) -> set[str]:
    """At which addresses of this machine somebody listens at this port."""
    found = set[str]()
    for table in (Path("/proc/net/tcp"), Path("/proc/net/tcp6")):
        for line in table.read_text().splitlines()[1:] if table.exists() else []:
            address, _, number = line.split()[1].partition(":")
            if line.split()[3] == "0A" and int(number, 16) == port:
                raw = bytes.fromhex(address)[::-1]
                found.add(socket.inet_ntoa(raw) if len(raw) == 4 else address)
    return found


@pytest.mark.parametrize("wrong", ["localhost:2718", "http://localhost:2718/", "ftp://x", "*", "http://"])
def test_an_origin_is_written_as_a_browser_does(wrong: str) -> None:
    with pytest.raises(UserError):
        check_origins([wrong])


# ── with the daemon ──


@pytest.fixture
def panel(testbed: DaemonTestbed) -> Generator[int]:
    """The port of the command itself, before a daemon with tiny runs."""
    start_daemon(testbed)
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    command = [PROGRAM, "acp", "--marimo-panel", "--port", str(port), "--folder", str(testbed.folder)]
    with subprocess.Popen(command, env={"CELLWRIGHT_HOME": str(testbed.home)}) as process:
        try:
            eventually(lambda: listening(port))
            yield port
        finally:
            process.terminate()


async def answer_to(client: ClientConnection, id: int) -> Any:
    """The answer, after all that is told before."""
    while (message := json.loads(await client.recv())).get("id") != id:
        assert isinstance(message, dict)
    return message["result"]


@pytest.mark.slow
async def test_the_panel_speaks_with_the_daemon_in_text_and_in_binary_frames(
    panel: int, testbed: DaemonTestbed
) -> None:
    async with connect(f"ws://localhost:{panel}/message", origin=USUAL_ORIGINS[0], proxy=None) as client:  # pyrefly: ignore
        await client.send(json.dumps(INITIALIZE))
        assert (await answer_to(client, 0))["agentInfo"]["name"] == "cellwright"
        project = testbed.folder / "project"
        await anyio.Path(project).mkdir()
        new = {"id": 1, "method": "session/new", "params": {"cwd": str(project), "mcpServers": []}}
        # As marimo's page sends it: bytes with an end of line, cut anywhere.
        data = json.dumps(new).encode() + b"\n"
        await client.send(data[:20])
        await client.send(data[20:])
        session = (await answer_to(client, 1))["sessionId"]
        prompt = {"sessionId": session, "prompt": [{"type": "text", "text": TELL}]}
        await client.send(json.dumps({"id": 2, "method": "session/prompt", "params": prompt}))
        assert (await answer_to(client, 2))["stopReason"] == "end_turn"
        # More than a message may have: it ends this client and nobody else's.
        with suppress(ConnectionClosed):
            await client.send(b"x" * (5 << 20))
            await client.recv()
        assert client.close_code == 1009
    async with connect(f"ws://127.0.0.1:{panel}/message", origin=USUAL_ORIGINS[1], proxy=None) as client:  # pyrefly: ignore
        await client.send(json.dumps(INITIALIZE))
        assert (await answer_to(client, 0))["protocolVersion"] == 1
