"""kill -9 at each step of a write: it is made once or told as unknown, and never sent twice."""

from __future__ import annotations

import sys
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import anyio
import anyio.to_thread
import psutil
import psycopg
import pytest

from cellwright.background import running_pid
from cellwright.data.broker.crash import BrokerCrash
from cellwright.data.broker_client import BrokerClient
from cellwright.data.broker_process import broker_at
from cellwright.data.messages import ListStatements, MakeWrite, RehearseWrite, WriteOutcome
from cellwright.errors import Unavailable
from tests.data.shop import Shop, rows_of

RAISE = MakeWrite(id="raise", connection="shop", statement="update orders set amount = amount + 1 where id <= 10")
TOTAL = "select sum(amount)::text from orders where id <= 10"
DYING = Path(__file__).with_name("dying_broker.py")
DONE, UNKNOWN = WriteOutcome(outcome="done", rows=10), WriteOutcome(outcome="unknown")
AFTER = {
    BrokerCrash.WRITE_JUDGED: (0, DONE, 1),
    BrokerCrash.WRITE_RECORDED: (0, UNKNOWN, 0),
    BrokerCrash.WRITE_MADE: (1, UNKNOWN, 1),
    BrokerCrash.WRITE_ENDED: (1, DONE, 1),
}
"""How often it was made when the broker died, what whoever asks again is told, and how often it was made in the end."""


def dying(client: BrokerClient, point: BrokerCrash) -> BrokerClient:
    return BrokerClient(launch=replace(client.launch, command=(sys.executable, "-I", str(DYING), point)))


def times_made(shop: Shop, before: float) -> int:
    return round((float(shop.owned(TOTAL)[0][0]) - before) / 10)


@pytest.mark.slow
@pytest.mark.parametrize("point", BrokerCrash)
async def test_a_write_under_which_the_broker_dies_at_any_step_is_never_made_twice(
    own_client: BrokerClient, own_shop: Shop, point: BrokerCrash
) -> None:
    at_death, told, in_the_end = AFTER[point]
    before = float(own_shop.owned(TOTAL)[0][0])
    with pytest.raises(Unavailable, match="ended before it answered"):
        await dying(own_client, point).write(RAISE)
    # A session whose client is gone may be at its last word.
    await anyio.to_thread.run_sync(
        own_shop.wait_until, "select count(*) from pg_stat_activity where usename = 'writer'", 0
    )
    assert times_made(own_shop, before) == at_death
    assert [await own_client.write(RAISE) for _ in range(3)] == [told] * 3
    assert times_made(own_shop, before) == in_the_end
    lines = [line.outcome for line in await own_client.statements(ListStatements()) if line.access == "write"]
    assert lines == [told.outcome]


@pytest.mark.slow
async def test_a_write_under_which_the_worker_dies_is_unknown_and_the_next_one_has_another_worker(
    own_client: BrokerClient, own_shop: Shop
) -> None:
    before, told = float(own_shop.owned(TOTAL)[0][0]), list[WriteOutcome]()

    async def write() -> None:
        told.append(await own_client.write(RAISE))

    waiting = "select count(*) from pg_stat_activity where usename = 'writer' and wait_event_type = 'Lock'"
    with psycopg.connect(own_shop.owner) as holder:
        holder.execute("lock table orders in exclusive mode")
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(write)
            await anyio.to_thread.run_sync(own_shop.wait_until, waiting, 1)
            for worker in workers_of(own_client):
                worker.kill()
        # What the server does for a client that is gone ends while the table is still held.
        await anyio.to_thread.run_sync(own_shop.wait_until, waiting, 0)
    assert told == [UNKNOWN]
    assert await own_client.write(RAISE) == UNKNOWN
    assert times_made(own_shop, before) == 0
    assert (await own_client.write(replace(RAISE, id="another"))) == DONE
    assert times_made(own_shop, before) == 1


def workers_of(client: BrokerClient) -> list[psutil.Process]:
    pid = running_pid(broker_at(client.launch.home))
    assert pid is not None
    with suppress(psutil.NoSuchProcess):
        return [child for child in psutil.Process(pid).children() if "cellwright.data.worker" in child.cmdline()]
    return []


async def test_a_change_that_calls_what_nothing_may_undo_is_not_tried_before_somebody_is_asked(
    own_client: BrokerClient, own_shop: Shop
) -> None:
    own_shop.owned("create sequence calls; grant usage on sequence calls to writer")
    body = "insert into orders (id) select 5000 + doubled(id) from customers where id = 1"
    bump = "create function bumped(x int) returns int language sql as 'select nextval(''calls'')::int'"
    rehearsed = await own_client.rehearse(RehearseWrite(connection="shop", statement=body))
    assert rehearsed.rows is None
    own_shop.owned(bump)
    statement = "update orders set amount = bumped(1) where id = 1"
    for _ in range(2):
        rehearsed = await own_client.rehearse(RehearseWrite(connection="shop", statement=statement))
        assert (rehearsed.rows, rehearsed.tables) == (None, ("orders",))
    assert own_shop.owned("select is_called from calls") == [(False,)]


@pytest.mark.slow
async def test_what_a_server_said_of_a_function_does_not_outlast_a_change(
    own_client: BrokerClient, own_shop: Shop
) -> None:
    own_shop.owned("create function tripled(x int) returns int immutable language sql as 'select x * 3'")
    assert await rows_of(own_client, "select tripled(2)") == [[6]]
    own_shop.owned("alter function tripled volatile")
    await own_client.write(RAISE)
    with pytest.raises(Exception, match="tripled"):
        await rows_of(own_client, "select tripled(2)")
