"""Connections in kernels: every way to query gives the same rows, and nothing stays open for it."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Generator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path
from typing import Any, TypeVar

import anyio
import anyio.to_thread
import msgspec
import pytest
from inline_snapshot import snapshot
from marimo._messaging import notification
from marimo._runtime import commands

from cellwright.app.notebook_connections import open_notebook_connections
from cellwright.data.broker_client import BrokerClient
from cellwright.data.connections import store_connection
from cellwright.ids import CellId
from cellwright.kernel.observation import Observation
from cellwright.kernel.pool import KernelPool
from cellwright.kernel.process.provisioner import KernelOptions
from cellwright.kernel.session.observers import EditorChannel
from cellwright.kernel.session.open_notebook import OpenNotebook
from cellwright.notebook.edits import CreateCell
from cellwright.policy.actions import QueryConnection
from cellwright.sandbox.host.tiers import probe
from cellwright.server.editor.notifications import admitted
from tests.data.shop import Shop, broker_client, name_connection, new_shop, sent_since, shop_server

Told = TypeVar("Told")
Opener = Callable[..., AbstractAsyncContextManager[OpenNotebook]]

CONNECT = "import cellwright\nshop = cellwright.connection('shop')"
QUERY = "select id, amount, placed_at::date as day from orders where id <= 3 order by id"
ROWS = "[tuple(row.values()) for row in {}.to_pylist()]"
THREAD = "import threading\nstop = threading.Event()\nthread = threading.Thread(target=stop.wait)\nthread.start()"
LOOK = """
import os
def held():
    return len(os.listdir('/proc/self/fd')), len(os.listdir('/proc/self/task'))
"""


MORE = """
    update orders set amount = null where id = 3;
    create view spent as select customer_id, sum(amount) as total from orders group by customer_id;
    grant select on spent to reader;
    analyze;
"""
WIDE = f"""
    create table wide_1 ({", ".join(f"{'a_long_name_of_a_column_' * 2}{n} int" for n in range(1500))});
    create table wide_2 (like wide_1);
    create table wide_3 (like wide_1);
    create table wide_4 (like wide_1);
    grant select on all tables in schema public to reader;
"""
ENDLESS = "select count(*) from generate_series(1, 100000000000)"
RUNNING = "select count(*) from pg_stat_activity where usename = 'reader' and state = 'active'"
SCHEMA = ""
"""What is asked for where no statement is."""


@pytest.fixture(scope="module")
def shop() -> Generator[Shop]:
    with shop_server() as server, new_shop(server) as shop:
        shop.owned(MORE)
        yield shop


@pytest.fixture(scope="module")
def client(shop: Shop, tmp_path_factory: pytest.TempPathFactory) -> Generator[BrokerClient]:
    with broker_client(tmp_path_factory.mktemp("state") / "home") as client:
        name_connection(client.launch.home, shop.connection())
        yield client


@pytest.fixture
def asked() -> list[str]:
    """The statements that a notebook asked about."""
    return []


@pytest.fixture
async def sent(client: BrokerClient) -> Callable[[], Any]:
    """What came to the broker from here on."""
    before = len(await sent_since(client))
    return lambda: sent_since(client, before)


@pytest.fixture
def open_in(pool: KernelPool, write_notebook: Callable[..., Path], client: BrokerClient, asked: list[str]) -> Opener:
    def note(action: QueryConnection) -> bool:
        asked.append(action.statement)
        return True

    @asynccontextmanager
    async def open_cells(*cells: str) -> AsyncGenerator[OpenNotebook]:
        path = write_notebook(*cells)
        connecting = open_notebook_connections(client, notebook=path, project=path.parent, may_query=note)
        async with connecting as connections:
            options = KernelOptions(project=path.parent, tier=probe().tier, host_services=connections.services)
            async with pool.open_notebook(path, options) as notebook:
                yield notebook

    return open_cells


async def ran(notebook: OpenNotebook) -> None:
    observation = await notebook.run("all")
    assert observation.is_ok, observation


async def json_of(notebook: OpenNotebook, *names: str) -> list[Any]:
    found = await notebook.values(list(names))
    return [found[name].json for name in names]


def shown_by(observation: Observation) -> dict[str, str]:
    return {variable.name: variable.text for cell in observation.cells for variable in cell.variables}


# ── queries ──


@pytest.mark.slow
async def test_every_way_to_query_gives_the_same_rows_and_frames_come_by_arrow(
    open_in: Opener, asked: list[str], sent: Callable[[], Any]
) -> None:
    told = f"plain = repr({ROWS.format(f'shop.sql({QUERY!r})')})"
    cursor = f"with shop.cursor() as _cursor:\n    rows = repr(_cursor.execute({QUERY!r}).fetchall())"
    cell = f"import marimo as mo\nframe = mo.sql({QUERY!r}, engine=shop)\ncelled = repr(frame.rows())"
    frames = (
        "import pandas, polars\nfrom cellwright_cells import ConnectionCursor\n"
        "del ConnectionCursor.fetchall, ConnectionCursor.fetchmany, ConnectionCursor.fetchone\n"
        f"_frame = pandas.read_sql({QUERY!r}, shop)\n"
        "pandas_rows = repr([tuple(None if v is pandas.NA or v != v else v for v in r) for r in _frame.values])\n"
        f"polars_rows = repr(polars.read_database({QUERY!r}, shop).rows())"
    )
    async with open_in(CONNECT, told, cursor, cell, frames) as notebook:
        await ran(notebook)
        found = await json_of(notebook, "plain", "rows", "celled", "pandas_rows", "polars_rows")
        assert set(found) == {
            "[(1, 1.25, datetime.date(2025, 1, 1)), (2, 2.5, datetime.date(2025, 1, 1)), "
            "(3, None, datetime.date(2025, 1, 1))]"
        }
    assert asked == [QUERY] * 5
    assert await sent() == [QUERY]


@pytest.mark.slow
async def test_no_driver_of_a_server_is_in_the_kernel_that_asks_it(open_in: Opener) -> None:
    asking = (
        f"import marimo as mo, pandas, polars\n"
        f"found = [shop.sql({QUERY!r}), pandas.read_sql({QUERY!r}, shop), polars.read_database({QUERY!r}, shop)]"
    )
    cell = f"frame = mo.sql({QUERY!r}, engine=shop)\ntables = shop.schema()['tables']"
    drivers = (
        "(found, frame, tables)\nimport sys\n"
        "loaded = sorted({name.partition('.')[0] for name in sys.modules} & {\n"
        "    'psycopg', 'psycopg2', 'asyncpg', 'pg8000', 'adbc_driver_postgresql', 'connectorx', 'pymysql',\n"
        "    'MySQLdb', 'mysql', 'clickhouse_connect', 'chdb'})\n"
        "libpq = [line for line in open('/proc/self/maps') if 'libpq' in line or 'adbc_driver_postgresql' in line]"
    )
    async with open_in(CONNECT, asking, cell, drivers) as notebook:
        await ran(notebook)
        assert await json_of(notebook, "loaded", "libpq") == [[], []]


@pytest.mark.slow
async def test_naming_a_connection_and_making_cursors_asks_nobody(open_in: Opener, asked: list[str]) -> None:
    code = "cursor = shop.cursor()\nnames = [repr(shop), shop.name, shop == cellwright.connection('shop')]"
    async with open_in(CONNECT, code) as notebook:
        await ran(notebook)
        assert await json_of(notebook, "names") == [['connection("shop")', "shop", True]]
    assert asked == []


@pytest.mark.slow
async def test_parameters_and_limits_travel_with_the_statement(open_in: Opener, sent: Callable[[], Any]) -> None:
    code = (
        "import datetime, decimal\n"
        "_query = 'select id from orders where placed_at < $1 and amount > $2 order by id'\n"
        "_values = datetime.date(2025, 1, 2), decimal.Decimal('1.5')\n"
        "found = [shop.sql(_query, *_values, fresh=fresh, rows=2, megabytes=1).to_pylist() for fresh in (False, True)]"
    )
    late = "shop.sql('select count(*) from generate_series(1, 15000000)', seconds=0.2)"
    async with open_in(CONNECT, code, late) as notebook:
        observation = await notebook.run("all")
        # The first has an amount of 1.25, the third none.
        assert await json_of(notebook, "found") == [[[{"id": 2}, {"id": 4}]] * 2]
        error = observation.cells[-1].error
        assert error is not None and "took more than 0.2 s" in error.message
    # One that must be fresh is sent again.
    assert len(await sent()) == 3


@pytest.mark.slow
async def test_a_cut_result_says_so_once(open_in: Opener) -> None:
    ten = "'select * from generate_series(1, 10)'"
    code = f"cursor = shop.cursor()\ncursor.execute({ten})\nsaid = cursor.notices, cursor.rowcount"
    async with open_in(CONNECT, f"table = shop.sql({ten}, rows=3)", code) as notebook:
        observation = await notebook.run("all")
        cut = "Only the first 3 rows are here: that is the limit. Ask for less, or let the database sum up.\n"
        assert [cell.console for cell in observation.cells] == ["", cut, ""]
        assert await json_of(notebook, "said") == [[[], 10]]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("code", "says"),
    [
        ("shop.sql('select * from nowhere')", 'relation "nowhere" does not exist'),
        ("cellwright.connection('till').sql('select 1')", "No connection is called 'till'. There is shop."),
        ("shop.sql('delete from orders')", "It changes data, and 'shop' is read here."),
        ("shop.sql('select $1', b'x')", "A parameter can be None, a truth value, a number, a text or a date"),
    ],
)
async def test_what_fails_is_one_sentence_in_the_cell(open_in: Opener, code: str, says: str) -> None:
    async with open_in(CONNECT, code) as notebook:
        observation = await notebook.run("all")
        error = observation.cells[1].error
        assert error is not None
        assert error.type.endswith("ConnectionFailed")
        assert error.message.startswith(says)
        assert "\n" not in error.message


async def test_a_process_that_a_cell_started_is_told_to_ask_in_the_cell(open_in: Opener, asked: list[str]) -> None:
    program = "from cellwright_cells import connection; connection('shop').sql('select 1')"
    spawned = f"""
import subprocess, sys
variables = os.environ | {{"PYTHONPATH": ":".join(sys.path)}}
ended = subprocess.run([sys.executable, "-c", {program!r}], capture_output=True, text=True, env=variables)
"""
    forked = """
import os
read_end, write_end = os.pipe()
if not (child := os.fork()):
    try:
        shop.sql("select 1")
    except BaseException as problem:
        os.write(write_end, str(problem).encode())
    finally:
        os._exit(0)
os.close(write_end)
os.waitpid(child, 0)
with os.fdopen(read_end) as pipe:
    fork_says = pipe.read()
"""
    async with open_in(CONNECT, forked, spawned, "says = [fork_says, ended.stderr.splitlines()[-1]]") as notebook:
        await ran(notebook)
        [(forked_says, spawned_says)] = await json_of(notebook, "says")
    assert asked == []
    assert forked_says == "Another process cannot ask the host: ask in the cell, and hand the result over."
    assert spawned_says == (
        "cellwright_cells.replies.ConnectionFailed: The connection 'shop' cannot be asked from a process that a cell "
        "started: ask in the cell, and hand the result over."
    )


async def test_an_interrupt_takes_a_query_back_and_the_next_is_answered(
    open_in: Opener, client: BrokerClient, shop: Shop
) -> None:
    store_connection(client.launch.home, shop.connection(ask_above_rows=10**15, ask_above_megabytes=10**12))
    try:
        async with open_in(CONNECT, f"shop.sql({ENDLESS!r})") as notebook:
            call = notebook.run("all")
            call.start()
            await anyio.to_thread.run_sync(shop.wait_until, RUNNING, 1)
            await call.interrupt()
            await anyio.to_thread.run_sync(shop.wait_until, RUNNING, 0)
            observation = await call
            assert (observation.cells[-1].status, observation.kernel_end) == ("interrupted", None)
            assert (await notebook.apply([CreateCell(code="n = shop.sql('select 1').num_rows")])).is_ok
    finally:
        store_connection(client.launch.home, shop.connection())


@pytest.mark.slow
async def test_a_schema_that_is_more_than_a_message_comes_in_a_file(open_in: Opener, shop: Shop) -> None:
    code = (
        LOOK + "import json\nbefore = held()\nschema = shop.schema(fresh=True)\nafter = held()\n"
        "size = len(json.dumps(schema))\nnames = [each['name'] for each in schema['tables']]\ndel schema"
    )
    shop.owned(WIDE)
    try:
        async with open_in(CONNECT, code) as notebook:
            await ran(notebook)
            names, size, before, after = await json_of(notebook, "names", "size", "before", "after")
    finally:
        shop.owned("drop table wide_1, wide_2, wide_3, wide_4")
    assert names == ["customers", "orders", "spent", "wide_1", "wide_2", "wide_3", "wide_4"]
    assert size > 1_000_000
    assert before == after


# ── nothing stays ──


@pytest.mark.slow
async def test_no_descriptor_and_no_thread_stays_behind_a_query(open_in: Opener) -> None:
    code = (
        "import pyarrow\nbefore = held()\n"
        "tables = [shop.sql('select * from generate_series(1, 10000)', fresh=True) for _ in range(20)]\n"
        "shop.schema()\nafter = held()"
    )
    async with open_in(CONNECT, LOOK, code) as notebook:
        await ran(notebook)
        before, after = await json_of(notebook, "before", "after")
        assert before == after


async def test_a_kernel_with_a_mapped_result_forks_and_both_sides_query(open_in: Opener, asked: list[str]) -> None:
    async with open_in(CONNECT, f"table = shop.sql({QUERY!r})") as notebook:
        await ran(notebook)
        async with notebook.branch() as branch:
            code = "both = [table.num_rows, shop.sql('select 7 as n').to_pylist()]"
            tried = await branch.apply([CreateCell(id=CellId("tried"), code=code)])
            assert tried.is_ok, tried
            assert tried.method is not None and tried.method.kind == "fork", tried.method
            assert (await notebook.apply([CreateCell(code=code)])).is_ok
            assert await json_of(notebook, "both") == [[3, [{"n": 7}]]]
            assert shown_by(tried) == {"both": "[3, [{'n': 7}]]"}
    assert asked == [QUERY, "select 7 as n", "select 7 as n"]


async def test_a_connection_is_carried_to_a_kernel_that_is_no_fork(open_in: Opener, asked: list[str]) -> None:
    async with open_in(THREAD, CONNECT, "asked = shop.sql('select 1 as n').to_pylist()") as notebook:
        await ran(notebook)
        async with notebook.branch() as branch:
            tried = await branch.apply([CreateCell(code="again = [shop.name, shop.sql('select 2').num_rows, asked]")])
            assert tried.is_ok, tried
            assert tried.method is not None and tried.method.kind == "carried", tried.method
            assert shown_by(tried) == {"again": "['shop', 1, [{'n': 1}]]"}
    assert asked == ["select 1 as n", "select 2"]


# ── the editor ──


@pytest.mark.slow
async def test_the_editors_panel_shows_columns_keys_and_rows_of_one_answer(
    open_in: Opener, asked: list[str], shop: Shop
) -> None:
    async with open_in(CONNECT) as notebook, notebook.attach_editor() as editor:
        await ran(notebook)
        told = await heard(editor, notification.DataSourceConnectionsNotification)
        [connection] = told.connections
        assert (connection.name, connection.dialect, connection.default_schema) == ("shop", "postgres", "public")
        shown = {
            table.name: (table.type, table.num_rows, table.primary_keys, [each.name for each in table.columns])
            for table in tables_of(told)
        }
        assert shown == snapshot(
            {
                "customers": ("table", 30, ["id"], ["id", "name", "email", "country"]),
                "orders": ("table", 3000, ["id"], ["id", "customer_id", "amount", "placed_at"]),
                "spent": ("view", None, [], ["customer_id", "total"]),
            }
        )
        assert asked == [SCHEMA]
        details = commands.PreviewSQLTableCommand(
            request_id=commands.RequestId("1"), engine="shop", database="shop", schema="public", table_name="orders"
        )
        await editor.send(encoded(details))
        preview = await heard(editor, notification.SQLTablePreviewNotification)
        assert preview.table is not None
        assert [(each.name, each.type) for each in preview.table.columns][2:] == [
            ("amount", "number"),
            ("placed_at", "datetime"),
        ]
        assert asked == [SCHEMA]
        shop.owned("create table later (id int); grant select on later to reader")
        try:
            await editor.send(encoded(commands.ListDataSourceConnectionCommand(engine="shop")))
            told = await heard(editor, notification.DataSourceConnectionsNotification)
        finally:
            shop.owned("drop table later")
        assert "later" in [table.name for table in tables_of(told)]
        assert asked == [SCHEMA, SCHEMA]


@pytest.mark.slow
async def test_an_editor_that_comes_later_is_told_of_connections_too(open_in: Opener, asked: list[str]) -> None:
    async with open_in(CONNECT) as notebook:
        await ran(notebook)
        assert asked == []
        async with notebook.attach_editor() as editor:
            told = await heard(editor, notification.DataSourceConnectionsNotification)
            assert [each.name for each in told.connections] == ["shop"]


@pytest.mark.slow
async def test_a_statement_is_validated_as_a_plan_by_whoever_answers(
    open_in: Opener, asked: list[str], sent: Callable[[], Any]
) -> None:
    async with open_in(CONNECT) as notebook, notebook.attach_editor() as editor:
        await ran(notebook)
        results = []
        for statement in ("select id from orders", "select nothing from orders"):
            validated = commands.ValidateSQLCommand(
                request_id=commands.RequestId(statement), query=statement, only_parse=False, engine="shop"
            )
            await editor.send(encoded(validated))
            results.append(await heard(editor, notification.ValidateSQLResultNotification))
        assert [each.validate_result.success for each in results if each.validate_result] == [True, False]
        explained = ["EXPLAIN select id from orders", "EXPLAIN select nothing from orders"]
        assert [statement for statement in asked if statement != SCHEMA] == explained
        assert await sent() == explained


def tables_of(told: notification.DataSourceConnectionsNotification) -> list[Any]:
    [connection] = told.connections
    [database] = connection.databases
    [schema] = database.schemas
    return schema.tables


async def heard(editor: EditorChannel, kind: type[Told]) -> Told:
    with anyio.fail_after(30):
        async for body in editor.notifications:
            told = admitted(body, lambda cell: True)
            if isinstance(told, kind):
                return told
    raise AssertionError(f"no {kind.__name__}")


def encoded(command: commands.CommandMessage) -> bytes:
    return msgspec.json.encode(command)
