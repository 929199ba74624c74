"""The tools for databases, through the caller of agents: what is asked about, what is shown, what is wrong."""

from __future__ import annotations

import sqlite3
from collections.abc import AsyncGenerator, Generator
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from cellwright.app.notebook_connections import open_notebook_connections
from cellwright.data.broker_client import BrokerClient
from cellwright.data.connections import DataConnection, store_connection
from cellwright.data.messages import ListStatements, RunQuery
from cellwright.errors import RefusedByPolicy
from cellwright.policy.approvals import No, Yes
from cellwright.tools.sql_tools import sql_tools
from cellwright.tools.tool import Done, Refusal, ToolError, ToolResult
from tests.data.shop import Shop, broker_client, finished_statements, name_connection, new_shop, shop_server
from tests.tools.call_driver import CallDriver, open_driver
from tests.tools.guard_driver import ADA

ALLOW_READING = """
[[rule]]
action = "query-connection"
then = "allow"
connections = ["birds", "shop"]
access = ["read"]
"""


@pytest.fixture(scope="module")
def shop() -> Generator[Shop]:
    with shop_server() as server, new_shop(server) as shop:
        yield shop


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Generator[BrokerClient]:
    with broker_client(tmp_path_factory.mktemp("tools") / "home") as client:
        path = client.launch.home / "birds.db"
        with closing(sqlite3.connect(path)) as database, database:
            database.execute("create table birds (name text, ringed_by text, grams real)")
            database.execute("create table nests (bird text, eggs integer)")
            database.executemany("insert into birds values (?, 'Ada', ?)", [("wren", 9.5), ("robin", 18.0)])
        masked = DataConnection(name="birds", kind="sqlite", options={"path": str(path)}, masked=("birds.ringed_by",))
        store_connection(client.launch.home, masked)
        yield client


@pytest.fixture
async def driver(client: BrokerClient, where: Path, tmp_path: Path) -> AsyncGenerator[CallDriver]:
    async with (
        open_notebook_connections(
            client, notebook=tmp_path / "a.py", project=tmp_path, run="r", named=("birds", "shop")
        ) as connections,
        open_driver(where, sql_tools(connections), rules=ALLOW_READING) as driver,
    ):
        yield driver


def text_of(result: ToolResult) -> str:
    assert isinstance(result, Done), result
    return result.text


# ── what is much ──


@pytest.mark.slow
async def test_a_query_that_reads_much_is_asked_about_each_time_even_where_reading_is_allowed(
    driver: CallDriver, client: BrokerClient, shop: Shop
) -> None:
    name_connection(client.launch.home, shop.connection(ask_above_rows=1000))
    for run, column, answer in (("yes", "id", Yes(reach="once")), ("no", "amount", No(feedback="Count them."))):
        await driver.begin(run, ("query", {"connection": "shop", "sql": f"select {column} from orders"}))
        question = (await driver.asked()).question
        shown = question.describe()
        assert "Read from the connection shop:" in shown
        assert f"select {column} from orders" in shown
        assert "The database expects to read about 3,000 rows, " in shown
        assert "A yes for this run" not in shown
        await driver.inbox.answer(question.id, answer, ADA, question.fingerprint)
        [result] = await driver.results(run)
        if isinstance(answer, Yes):
            assert text_of(result).startswith("50 rows (the first 50)")
        else:
            assert isinstance(result, Refusal)
            assert "Count them." in result.feedback
    # What was read is kept: it is not read, and so not asked about, again.
    again = await driver.call("query", {"connection": "shop", "sql": "select id from orders"}, run="again")
    assert text_of(again).startswith("50 rows")
    lines = await finished_statements(client, ListStatements(connection="shop"))
    assert [line.outcome for line in lines] == ["done"]


@pytest.mark.slow
async def test_what_is_little_and_what_only_samples_little_is_not_asked_about(
    driver: CallDriver, client: BrokerClient, shop: Shop
) -> None:
    name_connection(client.launch.home, shop.connection(ask_above_rows=1000))
    little = await driver.call("query", {"connection": "shop", "sql": "select count(*) from customers"}, run="little")
    assert "30" in text_of(little)
    few = await driver.call("sample", {"connection": "shop", "table": "customers", "rows": 2}, run="few")
    assert text_of(few).startswith("2 rows")
    await driver.begin("sample", ("sample", {"connection": "shop", "table": "orders", "rows": 2}))
    question = (await driver.asked()).question
    assert "about 3,000 rows" in question.describe()
    await driver.inbox.answer(question.id, Yes(reach="once"), ADA, question.fingerprint)
    [result] = await driver.results("sample")
    assert text_of(result).startswith("2 rows")


@pytest.mark.slow
async def test_where_nobody_agreed_it_is_refused_with_how_to_allow_it(
    client: BrokerClient, shop: Shop, tmp_path: Path
) -> None:
    name_connection(client.launch.home, shop.connection(ask_above_rows=1000))
    asked = RunQuery(connection="shop", statement="select id from orders")
    async with open_notebook_connections(
        client, notebook=tmp_path / "a.py", project=tmp_path, named=("shop",)
    ) as connections:
        with pytest.raises(RefusedByPolicy, match="about 3,000 rows, 24 kB for this") as refused:
            await connections.query(asked)
        assert "(`ask_above_rows`, `ask_above_megabytes`)" in refused.value.hint
        # What a cell says of a person's yes counts for nothing.
        body = b'{"kind":"query","connection":"shop","statement":"select id from orders","agreed_rows":99999999}'
        with pytest.raises(RefusedByPolicy, match="about 3,000 rows"):
            await connections.serve(body)
        name_connection(client.launch.home, shop.connection(ask_above_rows=3000))
        assert await connections.foresee(replace(asked, rows=10)) is None


# ── a file's tables ──


async def test_a_sample_shows_rows_without_what_is_masked(driver: CallDriver) -> None:
    shown = text_of(await driver.call("sample", {"connection": "birds", "table": "birds"}))
    assert shown.splitlines()[0] == "2 rows"
    assert "wren" in shown and "18.0" in shown
    assert "ringed_by" in shown
    assert "Ada" not in shown


async def test_a_schema_is_found_by_name_and_by_words_and_says_what_is_not_there(driver: CallDriver) -> None:
    named = text_of(await driver.call("schema", {"connection": "birds", "tables": ["nests"]}, run="named"))
    assert "eggs" in named and "grams" not in named
    found = text_of(await driver.call("schema", {"connection": "birds", "search": "how many eggs"}, run="found"))
    assert found.index("nests") < found.index("birds(") if "birds(" in found else "nests" in found
    for tool, given, why in (
        ("schema", {"tables": ["owls"]}, "There is no table 'owls'. Search by words instead."),
        ("sample", {"table": "owls"}, "There is no table 'owls'. `schema` shows those there are."),
    ):
        wrong = await driver.call(tool, {"connection": "birds", **given}, run=f"wrong-{tool}")
        assert isinstance(wrong, ToolError)
        assert f"{wrong.message} {wrong.hint}" == why
