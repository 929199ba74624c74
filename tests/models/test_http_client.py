"""The client under the SDKs: nothing leaves unrecorded, connections are kept while that is safe, no cookie stays."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

import anyio
import httpx2
import pytest
from anyio.abc import SocketStream, TaskStatus

from cellwright.models.config.configuration import Endpoint
from cellwright.models.providers.sdk_clients import BEFORE_SENDING, open_http

_ONE = b"HTTP/1.1 200 OK\r\ncontent-length: 3\r\n\r\none"
_ENDLESS = b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n3\r\none\r\n"


@dataclass(slots=True)
class Server:
    """Says what it is told to, whoever asks."""

    port: int
    connections: int = 0
    left: anyio.Event = field(default_factory=anyio.Event)
    """A client has gone."""
    asked: list[bytes] = field(default_factory=list[bytes])

    @property
    def address(self) -> str:
        """Where it is."""
        return f"http://127.0.0.1:{self.port}/"


@asynccontextmanager
async def answering(*answers: bytes, then_closes: bool = False) -> AsyncGenerator[Server]:
    """A server that answers one after the other on each connection, and then waits, or closes it."""

    async def attend(client: SocketStream) -> None:
        server.connections += 1
        async with client:
            for answer in answers:
                server.asked.append(await client.receive())
                await client.send(answer)
            if not then_closes:
                try:
                    server.asked.append(await client.receive())
                except (anyio.EndOfStream, anyio.BrokenResourceError):
                    server.left.set()

    listener = await anyio.create_tcp_listener(local_host="127.0.0.1")
    server = Server(listener.extra(anyio.abc.SocketAttribute.local_port))
    async with listener, anyio.create_task_group() as tasks:
        tasks.start_soon(listener.serve, attend)
        with anyio.fail_after(120):
            yield server
        tasks.cancel_scope.cancel()


def client() -> httpx2.AsyncClient:
    """As an endpoint of this machine has it."""
    http = open_http(Endpoint(name="near", kind="openai-chat", base_url="http://127.0.0.1", key="none"), has_key=True)
    assert isinstance(http, httpx2.AsyncClient)
    return http


async def test_a_connection_carries_one_request_after_the_other() -> None:
    async with answering(_ONE, _ONE, _ONE) as server, client() as http:
        for _ in range(3):
            answer = await http.post(server.address, json={"a": 1})
            assert (answer.status_code, answer.text) == (200, "one")
        assert server.connections == 1
        assert [b"content-length: 7" in asked.lower() for asked in server.asked] == [True] * 3


async def test_a_connection_that_was_closed_meanwhile_is_not_used_again() -> None:
    async with answering(_ONE, then_closes=True) as server, client() as http:
        for connections in (1, 2, 3):
            assert (await http.get(server.address)).text == "one"
            assert server.connections == connections
            # Its farewell is on its way through the loopback of this very process.
            await anyio.wait_all_tasks_blocked()


@pytest.mark.parametrize(
    "answer",
    [
        b"HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-length: 3\r\n\r\none",
        b"HTTP/1.0 200 OK\r\ncontent-length: 3\r\n\r\none",
    ],
)
async def test_a_connection_that_cannot_carry_more_is_closed(answer: bytes) -> None:
    async with answering(answer) as server, client() as http:
        assert (await http.get(server.address)).text == "one"
        await server.left.wait()


async def test_an_answer_may_last_as_long_as_its_connection() -> None:
    async with answering(b"HTTP/1.1 200 OK\r\n\r\none", then_closes=True) as server, client() as http:
        assert (await http.get(server.address)).text == "one"


@pytest.mark.parametrize(
    ("answer", "error"),
    [
        (b"", httpx2.RemoteProtocolError),
        (b"HTTP/1.1 200 OK\r\ncontent-le", httpx2.RemoteProtocolError),
        (b"HTTP/1.1 200 OK\r\ncontent-length: 4\r\n\r\none", httpx2.RemoteProtocolError),
        (_ENDLESS, httpx2.RemoteProtocolError),
        (b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\nnonsense\r\n", httpx2.RemoteProtocolError),
        (b"220 mail.example ESMTP\r\n\r\n", httpx2.RemoteProtocolError),
    ],
)
async def test_an_answer_that_is_not_whole_is_an_error(answer: bytes, error: type[Exception]) -> None:
    async with answering(answer, then_closes=True) as server, client() as http:
        with pytest.raises(error):
            await http.get(server.address)


async def _leave(http: httpx2.AsyncClient, address: str) -> None:
    async with http.stream("GET", address) as answer:
        async for _ in answer.aiter_bytes():
            return


async def _give_up(http: httpx2.AsyncClient, address: str) -> None:
    with pytest.raises(httpx2.ReadTimeout):
        await http.get(address, timeout=httpx2.Timeout(60, read=0.05))


async def _be_cancelled(http: httpx2.AsyncClient, address: str) -> None:
    async with anyio.create_task_group() as tasks:

        async def ask(*, task_status: TaskStatus[None]) -> None:
            async with http.stream("GET", address) as answer:
                task_status.started()
                await answer.aread()

        await tasks.start(ask)
        tasks.cancel_scope.cancel()


@pytest.mark.parametrize("go", [_leave, _give_up, _be_cancelled])
async def test_who_does_not_hear_an_answer_to_its_end_closes_the_connection(
    go: Callable[[httpx2.AsyncClient, str], Awaitable[None]],
) -> None:
    async with answering(_ENDLESS) as server, client() as http:
        await go(http, server.address)
        with anyio.move_on_after(30):
            await server.left.wait()
        assert server.left.is_set()
        assert len(server.asked) == 1


async def test_nobody_there_is_a_connect_error() -> None:
    async with answering() as server:
        pass
    async with client() as http:
        with pytest.raises(httpx2.ConnectError):
            await http.get(server.address)


async def test_no_cookie_of_a_provider_is_kept() -> None:
    baking = b"HTTP/1.1 200 OK\r\nset-cookie: crumb=1; Path=/\r\ncontent-length: 3\r\n\r\none"
    async with answering(baking, baking) as server, client() as http:
        for _ in range(2):
            assert "set-cookie" in (await http.get(server.address)).headers
        assert [b"crumb" in asked for asked in server.asked] == [False, False]


async def test_nothing_leaves_before_what_must_be_kept_is_kept() -> None:
    is_kept = anyio.Event()
    async with answering(_ONE) as server, client() as http, anyio.create_task_group() as tasks:

        async def ask() -> None:
            BEFORE_SENDING.set(is_kept.wait)
            await http.post(server.address, json={"a": 1})
            assert len(server.asked) == 1

        tasks.start_soon(ask)
        await anyio.wait_all_tasks_blocked()
        assert (server.connections, server.asked) == (0, [])
        is_kept.set()
