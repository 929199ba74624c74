"""Whoever connects and does not say what they want is not waited for; whoever said it is, as long as it takes."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from pathlib import Path
from urllib.parse import urlsplit

import anyio
import pytest
from anyio.abc import SocketStream
from fastapi import FastAPI

from cellwright.server.editor import open_editor
from cellwright.server.http.uvicorn_server import HeaderTimeoutProtocol
from tests.server.http.an_open_server import SECONDS, OpenServer, open_server

HEAD_SECONDS = 1.0


class Answering:
    """A route whose answer takes as long as is wished."""

    def __init__(self) -> None:
        self.is_asked = anyio.Event()
        self.may_answer = anyio.Event()

    def add(self, app: FastAPI) -> None:
        async def answer() -> str:
            self.is_asked.set()
            await self.may_answer.wait()
            return "at last"

        app.add_api_route("/api/v1/slow", answer)


@pytest.fixture(scope="module")
def answering() -> Answering:
    return Answering()


@pytest.fixture(scope="module")
async def server(
    tmp_path_factory: pytest.TempPathFactory, template: Path, answering: Answering
) -> AsyncGenerator[OpenServer]:
    folder = tmp_path_factory.mktemp("door")
    async with open_server(folder, template, head_seconds=HEAD_SECONDS, with_routes=answering.add) as opened:
        yield opened


async def until_closed(stream: SocketStream) -> bytes:
    """What is said to it before it is hung up on."""
    said = b""
    with anyio.fail_after(SECONDS):
        try:
            while True:
                said += await stream.receive()
        except (anyio.EndOfStream, anyio.BrokenResourceError):
            return said


@pytest.mark.slow
@pytest.mark.sampled(3)
@pytest.mark.parametrize("said", [b"", b"G", b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nX-Slow: "])
async def test_headers_that_never_end_are_hung_up_on_without_a_word(server: OpenServer, said: bytes) -> None:
    async with await anyio.connect_tcp("127.0.0.1", server.port) as stream:
        if said:
            await stream.send(said)
        assert await until_closed(stream) == b""
    assert (await server.client.get("/api/v1/health")).status_code == 200


async def test_bytes_that_trickle_in_earn_no_time(server: OpenServer) -> None:
    async with await anyio.connect_tcp("127.0.0.1", server.port) as stream:

        async def trickle() -> None:
            await stream.send(b"GET / HTTP/1.1\r\n")
            try:
                while True:
                    await stream.send(b"X: y\r\n")
                    await anyio.sleep(0.02)
            except (anyio.BrokenResourceError, anyio.ClosedResourceError):
                return

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(trickle)
            assert await until_closed(stream) == b""
            tasks.cancel_scope.cancel()


@pytest.mark.slow
async def test_a_connection_that_was_answered_once_has_no_more_patience(server: OpenServer) -> None:
    head = f"GET /api/v1/health HTTP/1.1\r\nHost: 127.0.0.1:{server.port}\r\n".encode()
    async with await anyio.connect_tcp("127.0.0.1", server.port) as stream:
        await stream.send(head + b"\r\n")
        said = b""
        with anyio.fail_after(SECONDS):
            while b'"api"' not in said:
                said += await stream.receive()
        await stream.send(head)
        await until_closed(stream)
    assert said.startswith(b"HTTP/1.1 200")


@pytest.mark.slow
async def test_a_request_that_is_there_is_answered_however_long_that_takes(
    server: OpenServer, answering: Answering
) -> None:
    async with await anyio.connect_tcp("127.0.0.1", server.port) as asking:
        await asking.send(f"GET /api/v1/slow HTTP/1.1\r\nHost: 127.0.0.1:{server.port}\r\n\r\n".encode())
        with anyio.fail_after(SECONDS):
            await answering.is_asked.wait()
        # Connected later and hung up on: so much time has passed for the one who asks, too.
        async with await anyio.connect_tcp("127.0.0.1", server.port) as silent:
            await until_closed(silent)
        answering.may_answer.set()
        with anyio.fail_after(SECONDS):
            said = b""
            while b"at last" not in said:
                said += await asking.receive()
    assert said.startswith(b"HTTP/1.1 200")


@pytest.mark.slow
async def test_the_editors_connection_hangs_up_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(HeaderTimeoutProtocol, "head_seconds", HEAD_SECONDS)
    async with open_editor() as editor:
        port = urlsplit(editor.origin).port
        assert port is not None
        async with await anyio.connect_tcp("127.0.0.1", port) as stream:
            await stream.send(b"GET / HTTP/1.1\r\n")
            assert await until_closed(stream) == b""
