"""Followers at one place of a stream, of whom one watches the log for all: whoever it is may leave at any moment."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import aclosing
from pathlib import Path

import anyio
import anyio.lowlevel
import pytest

from cellwright.journal.events import Fact
from cellwright.journal.records import Records
from cellwright.server.http.sse import HELLO, KEEPALIVE, StreamPages

SECONDS = 240
STREAM = "run:followed"


@pytest.fixture
async def records(tmp_path: Path) -> AsyncGenerator[Records]:
    async with Records.open(tmp_path / "journal.db") as opened:
        yield opened


async def numbers(pages: StreamPages, count: int, scope: anyio.CancelScope, heard: list[list[int]]) -> None:
    """Follow until so many events came, or until the scope is left."""
    seen = list[int]()
    with scope:
        async with aclosing(pages.follow(STREAM, 0)) as told:
            async for body in told:
                lines = body.decode().splitlines()
                seen += [int(line.removeprefix("id: ")) for line in lines if line.startswith("id: ")]
                if len(seen) >= count:
                    break
    heard.append(seen)


@pytest.mark.sampled(4)
@pytest.mark.parametrize("leaving", [[0], [0, 1], [1, 0], [0, 1, 2, 3]], ids=str)
async def test_whoever_leaves_while_nothing_happens_takes_nothing_from_the_others(
    records: Records, leaving: list[int]
) -> None:
    pages, heard, scopes = StreamPages(records.log), list[list[int]](), [anyio.CancelScope() for _ in range(6)]
    with anyio.fail_after(SECONDS):
        async with anyio.create_task_group() as tasks:
            for scope in scopes:
                tasks.start_soon(numbers, pages, 2, scope, heard)
            await anyio.wait_all_tasks_blocked()
            for each in leaving:
                scopes[each].cancel()
            for subject in ("one", "two"):
                await anyio.wait_all_tasks_blocked()
                await records.log.append(STREAM, Fact(topic="test", subject=subject))
    # Whoever leaves in the middle of a reading may still have heard what it found.
    assert heard.count([1, 2]) >= 6 - len(leaving)


async def test_those_who_leave_one_after_another_never_leave_a_stream_unwatched(records: Records) -> None:
    pages, heard, scopes = StreamPages(records.log), list[list[int]](), [anyio.CancelScope() for _ in range(8)]
    with anyio.fail_after(SECONDS):
        async with anyio.create_task_group() as tasks:
            for scope in scopes:
                tasks.start_soon(numbers, pages, 1, scope, heard)
            await anyio.wait_all_tasks_blocked()
            for scope in scopes[:-1]:
                scope.cancel()
                # The next has been called by now, and may or may not have begun.
                await anyio.lowlevel.checkpoint()
            await records.log.append(STREAM, Fact(topic="test", subject="one"))
    assert [1] in heard
    assert len(heard) == 8


async def test_a_reader_who_does_not_come_back_holds_nobody_up(records: Records) -> None:
    pages, log = StreamPages(records.log, beat_seconds=0.01), records.log
    async with aclosing(pages.follow(STREAM, 0)) as slow, aclosing(pages.follow(STREAM, 0)) as other:
        with anyio.fail_after(SECONDS):
            # It watched until its sign of life, and takes its time over that.
            assert [await anext(slow), await anext(slow)] == [HELLO, KEEPALIVE]
            await log.append(STREAM, Fact(topic="test", subject="one"))
            assert await anext(other) == HELLO
            while (body := await anext(other)) == KEEPALIVE:
                pass
            assert body.startswith(b"id: 1\n")
            assert await anext(slow) == body


async def test_what_happens_in_other_streams_is_not_told_here_and_nothing_is_missed_meanwhile(
    records: Records,
) -> None:
    pages, heard = StreamPages(records.log), list[list[int]]()
    with anyio.fail_after(SECONDS):
        async with anyio.create_task_group() as tasks:
            for _ in range(3):
                tasks.start_soon(numbers, pages, 5, anyio.CancelScope(), heard)
            for number in range(20):
                await records.log.append(f"run:other-{number}", Fact(topic="test", subject="other"))
                if number % 4 == 0:
                    await records.log.append(STREAM, Fact(topic="test", subject=str(number)))
    assert heard == [[1, 2, 3, 4, 5]] * 3
