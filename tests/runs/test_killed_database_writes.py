"""kill -9 of the process that runs an agent, around a change of a database: made once, asked once, or unknown."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator, Generator
from pathlib import Path

import anyio
import anyio.to_thread
import psycopg
import pytest

from cellwright.data.broker_client import BrokerClient
from cellwright.data.broker_process import BrokerLaunch
from cellwright.data.messages import ListStatements
from cellwright.journal.crash import CrashPoint
from cellwright.journal.events import QuestionAsked
from cellwright.journal.names import stream_of
from cellwright.journal.records import Records
from cellwright.models.client.gateway_client import Models
from cellwright.testing import CallTool
from tests.agents.forked import Forker
from tests.data.shop import Shop, name_connection, new_shop, shop_server
from tests.models.testbed import ModelTestbed, eventually
from tests.runs.factory import apply, at_once, create, finish

RAISE = "update public.orders set amount = amount + 1 where id = 1"
AMOUNT = "select amount from public.orders where id = 1"
WAITING = "select count(*) from pg_stat_activity where usename = 'writer' and wait_event_type = 'Lock'"
ANSWERS = (
    CallTool("write", {"connection": "shop", "sql": RAISE}),
    at_once(
        apply(create("total = 45", "total"), create("def test_total():\n    assert total == 45", "check_total")),
        finish("Raised."),
    ),
)
GOAL = json.dumps({"words": "Raise the first order by one.", "connections": ["shop"]})
WRITES = 1
"""The first effect of such a run is its write."""


@pytest.fixture(scope="module")
def killed(forker: Forker) -> Forker:
    return forker.of("tests.runs.killed_run")


@pytest.fixture(scope="module")
def server() -> Generator[str]:
    with shop_server() as address:
        yield address


@pytest.fixture
def shop(server: str) -> Generator[Shop]:
    with new_shop(server) as shop:
        yield shop


@pytest.fixture
async def client(shop: Shop, testbed: ModelTestbed) -> AsyncGenerator[BrokerClient]:
    name_connection(testbed.home, shop.connection(writer="writer"))
    testbed.provider.script(*ANSWERS)
    client = BrokerClient(launch=BrokerLaunch(home=testbed.home))
    yield client
    await client.stop()


@pytest.fixture
def arguments(testbed: ModelTestbed, cache: Path, project: Path) -> tuple[str, ...]:
    return str(testbed.home), str(cache), str(project)


async def expect_agreed_once(testbed: ModelTestbed, client: BrokerClient) -> tuple[str, str]:
    """One question, one write, and a run that came to its end; what the audit and the model were told of it."""
    delivery = json.loads((testbed.home / "delivery.json").read_text())
    assert (delivery["why"], delivery["status"]) == ("", "done")
    async with Records.open(testbed.home / "journal.db") as records:
        told = [recorded.event async for recorded in records.log.read_all(stream_of("r"))]
    assert [event.topic for event in told if isinstance(event, QuestionAsked)] == ["approval"]
    [line] = [line for line in await client.statements(ListStatements()) if line.access == "write"]
    heard = str(testbed.provider.requests[-1].body["messages"])
    return line.outcome, heard


@pytest.mark.slow
@pytest.mark.parametrize(
    ("answer", "point", "visit", "at_death"),
    [
        ("die", "-", 1, 0),
        ("approve", CrashPoint.EFFECT_INTENDED, WRITES, 0),
        ("approve", CrashPoint.EFFECT_HAPPENED, WRITES, 1),
        ("approve", CrashPoint.QUESTION_CLOSED, 1, 0),
    ],
)
async def test_a_run_killed_around_a_change_asks_once_and_changes_once(
    testbed: ModelTestbed, client: BrokerClient, shop: Shop, killed: Forker, gateway: Models,
    arguments: tuple[str, ...], answer: str, point: str, visit: int, at_death: int,
) -> None:  # fmt: skip
    [[before]] = shop.owned(AMOUNT)
    first = await anyio.to_thread.run_sync(killed.run, *arguments, point, str(visit), "null", GOAL, answer)
    assert first == -9
    assert shop.owned(AMOUNT) == [(before + at_death,)]
    assert await anyio.to_thread.run_sync(killed.run, *arguments, "-", "1", "null", GOAL, "approve") == 0
    assert shop.owned(AMOUNT) == [(before + 1,)]
    outcome, heard = await expect_agreed_once(testbed, client)
    assert outcome == "done"
    assert "1 rows changed" in heard


@pytest.mark.slow
async def test_a_run_killed_while_the_server_works_on_a_change_is_told_that_nobody_knows(
    testbed: ModelTestbed, client: BrokerClient, shop: Shop, killed: Forker, gateway: Models,
    arguments: tuple[str, ...],
) -> None:  # fmt: skip
    [[before]] = shop.owned(AMOUNT)
    with psycopg.connect(shop.owner) as holder:
        # Not before it was tried: what tries it would wait, too.
        pid = await anyio.to_thread.run_sync(killed.start, *arguments, "-", "1", "null", GOAL, "hold")
        await anyio.to_thread.run_sync(eventually, (testbed.home / "asked").exists)
        holder.execute("lock table public.orders in exclusive mode")
        (testbed.home / "go").touch()
        await anyio.to_thread.run_sync(shop.wait_until, WAITING, 1)
        await anyio.to_thread.run_sync(killed.kill, pid)
        # Whoever wanted it is gone, and so is what the server did for them.
        await anyio.to_thread.run_sync(shop.wait_until, WAITING, 0)
    assert await anyio.to_thread.run_sync(killed.run, *arguments, "-", "1", "null", GOAL, "approve") == 0
    assert shop.owned(AMOUNT) == [(before,)]
    outcome, heard = await expect_agreed_once(testbed, client)
    assert outcome == "unknown"
    assert "nobody knows whether it was done" in heard
