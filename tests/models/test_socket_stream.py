"""A connection that nobody waits for any more is closed, whenever it comes."""

from __future__ import annotations

import asyncio
import socket
import threading

import anyio
import anyio.to_thread
import pytest

from cellwright.models.client.gateway_client import open_stream


async def test_what_is_found_after_its_task_was_cancelled_natively_is_closed() -> None:
    ours, theirs = socket.socketpair()
    is_asked, may_answer = threading.Event(), threading.Event()

    def find() -> socket.socket:
        is_asked.set()
        assert may_answer.wait(60)
        return ours

    task = asyncio.ensure_future(open_stream(find))
    await anyio.to_thread.run_sync(is_asked.wait)
    task.cancel()
    await asyncio.wait([task])
    may_answer.set()
    with theirs:
        # The end of the stream: the other end was closed.
        assert await anyio.to_thread.run_sync(theirs.recv, 1) == b""
    assert task.cancelled()


async def test_what_was_found_is_a_stream() -> None:
    ours, theirs = socket.socketpair()
    with theirs:
        async with await open_stream(lambda: ours) as stream:
            theirs.sendall(b"hello")
            assert await stream.receive() == b"hello"


async def test_why_nothing_was_found_comes_out_as_it_is() -> None:
    def find() -> socket.socket:
        raise ConnectionRefusedError("nobody")

    with pytest.raises(ConnectionRefusedError, match="nobody"):
        await open_stream(find)
