"""What the event log promises, on SQLite and on Postgres alike."""

from __future__ import annotations

import random
from collections.abc import AsyncGenerator, Callable
from contextlib import AsyncExitStack, aclosing
from dataclasses import fields
from pathlib import Path
from typing import Any

import anyio
import anyio.to_thread
import psycopg
import pytest

from cellwright.errors import Defect, UserError
from cellwright.journal.database import Cursor
from cellwright.journal.events import (
    EVENT_TYPES,
    Event,
    EventTypes,
    Fact,
    Recorded,
    RunStarted,
    UnknownEvent,
    encode,
    kind_of,
)
from cellwright.journal.leases import Lease, LeaseConflict, LeaseLost
from cellwright.journal.records import Records
from tests.journal.processes import Warm
from tests.journal.sixty import KEY
from tests.sampling import some

WRITERS, EACH = 10, 100
FOLLOWERS = 30


@pytest.fixture
async def records(where: str) -> AsyncGenerator[Records]:
    async with Records.open(where, chain_key=KEY) as opened:
        yield opened


def facts(*subjects: object) -> list[Event]:
    return [Fact(topic="test", subject=str(subject)) for subject in subjects]


def subjects(recorded: list[Recorded]) -> list[str]:
    return [told.event.subject for told in recorded if isinstance(told.event, Fact)]


async def test_events_are_numbered_from_one_in_each_stream(records: Records) -> None:
    assert await records.log.append("a", *facts("x", "y")) == 2
    assert await records.log.append("b", *facts("z")) == 1
    assert await records.log.append("a", *facts("w")) == 3
    assert [(told.sequence, told.stream) for told in await records.log.read("a", after=1)] == [(2, "a"), (3, "a")]
    assert await records.log.streams() == [("a", 3), ("b", 1)]
    assert subjects([told async for told in records.log.read_all("a")]) == ["x", "y", "w"]


async def test_several_streams_are_read_at_once_without_what_nobody_needs(records: Records) -> None:
    started = RunStarted(workflow="a", name="run", version="1")
    streams = [f"s{number:03}" for number in range(120)]
    for stream in streams:
        await records.log.append(stream, *facts(stream), started, *facts(f"{stream}-last"))
    few = [streams[7], *streams[20:]]
    read = [told async for told in records.log.read_some(few, without=[RunStarted])]
    assert subjects(read) == [subject for stream in few for subject in (stream, f"{stream}-last")]
    assert [told.stream for told in read] == [stream for stream in few for _ in range(2)]
    assert [told.event async for told in records.log.read_some([streams[0]], without=[Fact])] == [started]


async def test_a_key_counts_once(records: Records) -> None:
    first = await records.log.append("a", *facts("first"), key="the one")
    assert await records.log.append("a", *facts("second"), key="the one") == first
    assert await records.log.append("b", *facts("elsewhere"), key="the one") == 1
    assert subjects(await records.log.read("a")) == ["first"]


async def test_a_name_that_could_be_mistaken_for_two_is_refused(records: Records) -> None:
    for stream in ("", "two\nlines", "a\x1fb", "x" * 301):
        with pytest.raises(UserError):
            await records.log.append(stream, *facts(1))


async def test_texts_pass_through_the_mask_before_they_are_kept(where: str) -> None:
    async with Records.open(where, chain_key=KEY, mask=lambda text: text.replace("hunter2", "•••")) as records:
        await records.log.append("a", Fact(topic="login", subject="me", text="password hunter2", numbers={"n": 1}))
        assert (await records.log.read("a"))[0].event == Fact(
            topic="login", subject="me", text="password •••", numbers={"n": 1}
        )


async def test_a_follower_sees_what_was_and_what_comes(records: Records, where: str) -> None:
    await records.log.append("a", *facts(1, 2, 3))
    seen: list[Recorded] = []
    async with Records.open(where, chain_key=KEY) as elsewhere, anyio.create_task_group() as tasks:
        tasks.start_soon(lambda: elsewhere.log.append("a", *facts(4, 5)))
        with anyio.fail_after(120):
            async with aclosing(records.log.follow("a", after=1)) as following:
                async for told in following:
                    seen.append(told)
                    if len(seen) == 4:
                        break
    assert subjects(seen) == ["2", "3", "4", "5"]


async def test_whoever_comes_later_sees_what_was_though_nothing_comes(records: Records) -> None:
    for stream in ("a", "b", "c"):
        await records.log.append(stream, *facts(stream))
    async with AsyncExitStack() as stack:
        for stream in ("a", "b", "c"):
            told = await stack.enter_async_context(aclosing(records.log.follow(stream)))
            with anyio.fail_after(20):
                assert subjects([await anext(told)]) == [stream]


async def test_those_who_follow_look_together_when_somebody_tells_something(
    records: Records, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Each of fifty runs followed its own stream and read it for every event of any: people's answers stood in line.
    reads, database = 0, records.log.database
    read = database.read

    async def counted(work: Callable[[Cursor], Any]) -> Any:
        nonlocal reads
        reads += 1
        return await read(work)

    monkeypatch.setattr(database, "read", counted)

    async def follow(stream: str) -> None:
        async with aclosing(records.log.follow(stream)) as told:
            async for _ in told:
                return

    async with anyio.create_task_group() as tasks:
        for number in range(FOLLOWERS):
            tasks.start_soon(follow, f"own-{number}")
        async with aclosing(records.log.follow("other")) as told:
            for number in range(FOLLOWERS):
                await records.log.append("other", *facts(number))
                await anext(told)
        for number in range(FOLLOWERS):
            await records.log.append(f"own-{number}", *facts(number))
    assert reads < FOLLOWERS * 15


async def test_a_journal_answers_while_everything_else_waits_for_a_thread(records: Records) -> None:
    shared = anyio.to_thread.current_default_thread_limiter()
    takers = [object() for _ in range(int(shared.total_tokens))]
    for taker in takers:
        shared.acquire_on_behalf_of_nowait(taker)
    try:
        with anyio.fail_after(20):
            await records.log.append("a", *facts("x"))
            async with aclosing(records.log.follow("a")) as told:
                assert (await anext(told)).sequence == 1
    finally:
        for taker in takers:
            shared.release_on_behalf_of(taker)


@pytest.mark.sampled(2)
@pytest.mark.parametrize("followers", some([8, 50], 1))
async def test_ten_writers_and_many_followers_with_disconnects_lose_and_double_nothing(
    where: str, followers: int
) -> None:
    chance = random.Random(7)
    streams = ["one", "two"]
    total = WRITERS * EACH // len(streams)
    seen: list[list[Recorded]] = [[] for _ in range(followers)]
    async with AsyncExitStack() as stack:
        logs = [(await stack.enter_async_context(Records.open(where, chain_key=KEY))).log for _ in range(WRITERS // 2)]

        async def write(writer: int) -> None:
            left = EACH
            while left:
                some = min(left, chance.randint(1, 7))
                left -= some
                batch = [Fact(topic=f"writer {writer}", subject=str(EACH - left - some + n)) for n in range(some)]
                await logs[writer % len(logs)].append(streams[writer % 2], *batch)

        async def follow(follower: int) -> None:
            mine = seen[follower]
            while len(mine) < total:
                stop_after = chance.randint(1, 60)
                log = chance.choice(logs)
                async with aclosing(log.follow(streams[follower % 2], mine[-1].sequence if mine else 0)) as following:
                    async for told in following:
                        mine.append(told)
                        stop_after -= 1
                        if stop_after == 0 or len(mine) == total:
                            break

        with anyio.fail_after(120):
            async with anyio.create_task_group() as tasks:
                for follower in range(followers):
                    tasks.start_soon(follow, follower)
                for writer in range(WRITERS):
                    tasks.start_soon(write, writer)
    for follower, mine in enumerate(seen):
        assert [told.sequence for told in mine] == list(range(1, total + 1))
        assert mine == seen[follower % 2]
    for stream in (0, 1):
        by_writer: dict[str, list[int]] = {}
        for told in seen[stream]:
            assert isinstance(told.event, Fact)
            by_writer.setdefault(told.event.topic, []).append(int(told.event.subject))
        assert set(map(tuple, by_writer.values())) == {tuple(range(EACH))}


async def test_several_processes_that_write_leave_no_gap(warm: Warm, where: str) -> None:
    pids = [warm.start("writer", where, f"writer {number}", "30", "x", "y") for number in range(3)]
    assert [warm.wait(pid) for pid in pids] == [0, 0, 0]
    async with Records.open(where, chain_key=KEY) as records:
        for stream in ("x", "y"):
            told = [told async for told in records.log.read_all(stream)]
            assert [event.sequence for event in told] == list(range(1, 91))


async def test_a_lease_has_one_holder_and_a_late_one_cannot_write(records: Records) -> None:
    mine = await records.leases.acquire("kernel", "me", seconds=60)
    assert isinstance(mine, Lease)
    other = await records.leases.acquire("kernel", "you", seconds=60)
    assert isinstance(other, LeaseConflict)
    assert other.holder == "me"
    await records.log.append("a", *facts("in time"), lease=mine)
    await records.leases.renew(mine, seconds=0)
    yours = await records.leases.acquire("kernel", "you", seconds=60)
    assert isinstance(yours, Lease)
    assert yours.token > mine.token
    with pytest.raises(LeaseLost):
        await records.log.append("a", *facts("late"), lease=mine)
    with pytest.raises(LeaseLost):
        await records.leases.renew(mine, seconds=60)
    await records.leases.release(mine)
    await records.log.append("a", *facts("yours"), lease=yours)
    await records.leases.release(yours)
    assert isinstance(await records.leases.acquire("kernel", "me", seconds=1), Lease)
    assert subjects(await records.log.read("a")) == ["in time", "yours"]


async def test_a_connection_that_was_cut_while_idle_is_replaced(fresh_postgres: str) -> None:
    async with Records.open(fresh_postgres, chain_key=KEY) as records:
        await records.log.append("a", *facts("before"))
        await records.log.read("a")
        with psycopg.connect(fresh_postgres, autocommit=True) as connection:
            connection.execute(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
                "WHERE datname = current_database() AND pid <> pg_backend_pid()"
            )
        await records.log.append("a", *facts("after"))
        assert subjects(await records.log.read("a")) == ["before", "after"]


def modes_in(folder: Path) -> dict[str, int]:
    return {path.name: path.stat().st_mode & 0o777 for path in folder.iterdir()}


async def test_a_journals_files_are_closed_to_others(tmp_path: Path) -> None:
    async with Records.open(tmp_path / "journal.db") as records:
        await records.log.append("a", *facts(1))
        modes = modes_in(tmp_path)
    assert modes == dict.fromkeys(("journal.db", "journal.db-wal", "journal.db-shm", "journal.key"), 0o600)


@pytest.mark.parametrize("event_type", EVENT_TYPES, ids=lambda kind: kind.__name__)
def test_every_event_comes_back_as_it_was(event_type: type[Event]) -> None:
    samples: dict[str, Any] = {"int": 3, "float": 1.5, "str": "ü \x00\u2028", "bool": False}
    values: dict[str, Any] = {item.name: samples.get(str(item.type)) for item in fields(event_type)}
    literal: dict[str, Any] = {"outcome": "done", "state": "running", "numbers": {"rows": 2.0}}
    make: Callable[..., Event] = event_type
    event = make(**{name: literal.get(name, value) for name, value in values.items()})
    assert EventTypes().decode(kind_of(event), encode(event).decode()) == event


def test_an_event_of_a_newer_version_is_unknown_and_extra_fields_are_ignored() -> None:
    decode = EventTypes().decode
    assert decode("from-the-future", "{}") == UnknownEvent(kind="from-the-future", body="{}")
    with pytest.raises(Defect, match="Unreadable"):
        decode("run-started", '{"workflow": 1}')
    assert decode("run-started", '{"workflow":"w","name":"n","version":"1","new":true}') == RunStarted(
        workflow="w", name="n", version="1"
    )
