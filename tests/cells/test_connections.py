"""Connections outside kernels: by the broker of the machine, which is started if it can be; nothing stays open."""

from __future__ import annotations

import copy
import socket
import subprocess
import sys
import warnings
from collections.abc import Callable, Generator
from contextlib import contextmanager
from decimal import Decimal
from pathlib import Path
from typing import Any, cast

import adbc_driver_manager.dbapi
import anyio
import marimo as mo
import numpy as np
import pandas as pd
import polars as pl
import pytest
from inline_snapshot import snapshot
from marimo._sql.engines.adbc import AdbcDBAPIEngine
from marimo._types.ids import VariableName

import cellwright
import cellwright_cells
from cellwright.data.broker_client import BrokerClient
from cellwright.data.connections import store_connection
from cellwright_cells import Connection, ConnectionFailed, connection
from tests.cells.raw_socket import frame, saying
from tests.data.shop import Shop, broker_client, name_connection, new_shop, sent_since, shop_server

PYTHON = sys.executable
QUERY = "select id, amount from orders where id <= 3 order by id"
MISSING = (
    "The connection 'shop' is not on this machine: add it with `cellwright data connect shop`, or put a database "
    'connection of your own in the place of `connection("shop")` in the one cell that names it.'
)
MORE = """
    update orders set amount = null where id = 3;
    create view spent as select customer_id, sum(amount) as total from orders group by customer_id;
    grant select on spent to reader;
    analyze;
"""
WELCOME = frame({"kind": "welcome", "version": 1})


@pytest.fixture(scope="module")
def database() -> Generator[Shop]:
    with shop_server() as server, new_shop(server) as shop:
        shop.owned(MORE)
        yield shop


@pytest.fixture(scope="module")
def broker(database: Shop, tmp_path_factory: pytest.TempPathFactory) -> Generator[BrokerClient]:
    with broker_client(tmp_path_factory.mktemp("state") / "home") as client:
        name_connection(client.launch.home, database.connection())
        anyio.run(client.try_connection, "shop")
        yield client


@pytest.fixture
def lonely(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """No Cellwright beside Python and none on the path: nobody is started by accident."""
    monkeypatch.setattr(sys, "executable", str(tmp_path / "bin" / "python"))
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, lonely: None) -> Path:
    """Of nobody."""
    monkeypatch.setenv("CELLWRIGHT_HOME", str(tmp_path))
    return tmp_path


@pytest.fixture
def shop(broker: BrokerClient, monkeypatch: pytest.MonkeyPatch, lonely: None) -> Connection:
    monkeypatch.setenv("CELLWRIGHT_HOME", str(broker.launch.home))
    return connection("shop")


@pytest.fixture
def sent(broker: BrokerClient) -> Callable[[], list[str]]:
    """What was asked of the broker from here on."""
    before = len(anyio.run(sent_since, broker))
    return lambda: anyio.run(sent_since, broker, before)


@pytest.mark.slow
def test_every_way_to_query_gives_the_same_rows(shop: Connection, sent: Callable[[], list[str]]) -> None:
    expected = [(1, 1.25), (2, 2.5), (3, None)]
    assert [tuple(row.values()) for row in shop.sql(QUERY).to_pylist()] == expected
    with shop.cursor() as cursor:
        assert cursor.execute(QUERY).fetchone() == expected[0]
        assert cursor.fetchmany(1) == expected[1:2]
        assert cursor.fetchall() == expected[2:]
        assert (cursor.fetchone(), cursor.rowcount) == (None, 3)
        assert [column[:2] for column in cursor.description or ()] == [("id", "int64"), ("amount", "double")]
        assert [each.num_rows for each in cursor.fetch_record_batch(2)] == [2, 1]
        assert list(cursor.execute(QUERY)) == expected
    # Of what pandas and polars take, their types know a few classes by name.
    untyped: Any = shop
    with warnings.catch_warnings(action="error"):
        # pandas warns of what it takes row by row.
        framed = pd.read_sql(QUERY, untyped)
    assert framed["id"].tolist() == [1, 2, 3]
    assert pl.read_database(QUERY, untyped).rows() == expected
    assert [len(each) for each in pl.read_database(QUERY, untyped, iter_batches=True, batch_size=2)] == [2, 1]
    assert sent() == [QUERY] * 6


def test_plain_marimo_takes_it_for_an_engine_and_shows_its_columns(
    shop: Connection, sent: Callable[[], list[str]]
) -> None:
    assert AdbcDBAPIEngine.is_compatible(shop)
    engine = AdbcDBAPIEngine(cast("Any", shop), VariableName("shop"))
    assert mo.sql(QUERY, engine=cast("Any", shop), output=False).rows()[0] == (1, 1.25)
    [database] = engine.get_databases(include_schemas=True, include_tables=True, include_table_details=True)
    assert engine.dialect == "postgres"
    assert [(table.name, table.type, len(table.columns)) for table in database.schemas[0].tables] == [
        ("customers", "table", 4),
        ("orders", "table", 4),
        ("spent", "view", 2),
    ]
    assert sent() == [QUERY]


def test_two_columns_of_one_name_are_two(shop: Connection) -> None:
    assert shop.cursor().execute("select 1 as n, 2 as n").fetchall() == [(1, 2)]


def test_a_connection_is_its_name_and_nothing_else(home: Path) -> None:
    shop = cellwright.connection("shop")
    assert copy.deepcopy(shop) == shop
    assert shop.__reduce__() == (connection, ("shop",))
    assert (repr(shop), {shop: 1}[connection("shop")], shop == connection("till")) == ('connection("shop")', 1, False)
    assert isinstance(shop, adbc_driver_manager.dbapi.Connection)
    assert isinstance(shop, cellwright_cells.Connection)
    with shop:
        shop.commit()
        shop.cursor()
        shop.rollback()
    # Nobody was there to ask, and nobody was asked.
    with pytest.raises(ConnectionFailed, match="not on this machine"):
        shop.sql("select 1")
    nobody: Any = None
    with pytest.raises(TypeError, match="has a name"):
        connection(nobody)


@pytest.mark.slow
def test_no_descriptor_and_no_thread_stays_behind_queries(shop: Connection) -> None:
    code = f"""
import os, pyarrow
from cellwright.data.connections import store_connection
from cellwright_cells import ConnectionFailed, connection
def held():
    return len(os.listdir("/proc/self/fd")), len(os.listdir("/proc/self/task"))
before, shop = held(), connection("shop")
tables = [shop.sql({QUERY!r}) for _ in range(20)]
try:
    shop.sql("select nothing")
except ConnectionFailed:
    print(sum(table.num_rows for table in tables), held() == before)
"""
    assert printed(code) == "60 True\n"


def test_tables_columns_and_keys_are_asked_for_once(shop: Connection, database: Shop) -> None:
    shop.schema(fresh=True)
    database.owned("create table later (id int primary key); grant select on later to reader")
    try:
        info = shop.adbc_get_info()
        [catalog] = shop.adbc_get_objects(table_name_filter="order%").read_all().to_pylist()
        assert info["vendor_name"] == "postgres"
        [schema] = catalog["catalog_db_schemas"]
        [orders] = schema["db_schema_tables"]
        columns = [tuple(column.values()) for column in orders.pop("table_columns")]
        assert columns == snapshot(
            [
                ("id", 1, None, "bigint", "NO"),
                ("customer_id", 2, None, "integer", "YES"),
                ("amount", 3, None, "numeric(12,2)", "YES"),
                ("placed_at", 4, None, "timestamp with time zone", "YES"),
            ]
        )
        key = {"constraint_name": None, "constraint_type": "PRIMARY KEY", "constraint_column_names": ["id"]}
        assert orders == {"table_name": "orders", "table_type": "TABLE", "table_constraints": [key]}
        assert (catalog["catalog_name"], schema["db_schema_name"]) == ("", "public")
        assert str(shop.adbc_get_table_schema("orders")) == snapshot("""\
id: int64
customer_id: int64
amount: double
placed_at: timestamp[us]\
""")
        assert shop.adbc_get_objects(depth="tables", db_schema_filter="none").read_all().to_pylist() == [
            {"catalog_name": "", "catalog_db_schemas": []}
        ]
        with pytest.raises(ConnectionFailed, match="no table 'later'"):
            shop.adbc_get_table_schema("later")
        assert [table["name"] for table in shop.schema("public.orders")["tables"]] == ["orders"]
        assert "later" in [table["name"] for table in shop.schema(fresh=True)["tables"]]
    finally:
        database.owned("drop table later")
    assert "later" in [table["name"] for table in shop.schema()["tables"]]
    assert "later" not in [table["name"] for table in shop.schema(fresh=True)["tables"]]


@pytest.mark.parametrize("value", [None, True, 7, 2.5, "x", np.int64(7), Decimal("1.50"), pd.Timestamp("2025-01-02")])
def test_a_parameter_comes_to_the_server_as_json_has_it(shop: Connection, value: Any) -> None:
    plain = {bool: "true", np.int64: "7", Decimal: "1.50", pd.Timestamp: "2025-01-02T00:00:00"}
    wanted = plain.get(type(value), None if value is None else str(value))
    assert shop.sql("select $1::text as given", value).to_pylist() == [{"given": wanted}]


def test_parameters_are_as_many_as_places_and_the_estimate_knows_them(
    shop: Connection, broker: BrokerClient, database: Shop
) -> None:
    for given in ((), (1, 2)):
        with pytest.raises(ConnectionFailed, match=f"has 1 parameters, and {len(given)} were given"):
            shop.sql("select $1::int", *given)
    with changed(broker, database, ask_above_rows=100):
        few = "select * from orders where id <= $1"
        assert shop.sql(few, 3).num_rows == 3
        with pytest.raises(ConnectionFailed, match=r"about 2,9\d\d rows"):
            shop.sql(few, 2950)


@pytest.mark.parametrize("value", [b"x", float("nan"), [1], {"a": 1}, object()])
def test_other_parameters_are_refused_before_anything_is_sent(
    shop: Connection, sent: Callable[[], list[str]], value: Any
) -> None:
    named: Any = {"given": value}
    with pytest.raises(ConnectionFailed, match="A parameter can be"):
        shop.sql("select ?", value)
    with pytest.raises(ConnectionFailed, match="a list of values"):
        shop.cursor().execute("select ?", named)
    assert sent() == []


def test_what_fails_is_one_sentence_with_its_hint(shop: Connection) -> None:
    with pytest.raises(ConnectionFailed) as failed:
        connection("till").sql("select 1")
    assert str(failed.value) == snapshot("No connection is called 'till'. There is shop. Add a connection called till.")
    shop.schema(fresh=True)
    with pytest.raises(ConnectionFailed) as failed:
        shop.sql("select idd from orders")
    assert str(failed.value) == snapshot(
        'column "idd" does not exist (line 1, character 8) Perhaps you meant to reference the column "orders.id". '
        "Did you mean id?"
    )


def test_a_query_that_would_read_much_is_not_sent_and_says_why(
    shop: Connection, broker: BrokerClient, database: Shop
) -> None:
    with changed(broker, database, ask_above_rows=100), pytest.raises(ConnectionFailed) as failed:
        shop.sql("select sum(amount) from orders")
    assert str(failed.value) == snapshot(
        "The database expects to read about 3,000 rows, 18 kB for this: more than it may unasked. "
        "Ask for less; a person can let the connection read more (`ask_above_rows`, `ask_above_megabytes`)."
    )


def test_a_cut_result_says_so(shop: Connection, capsys: pytest.CaptureFixture[str]) -> None:
    assert shop.sql("select * from generate_series(1, 9)", rows=2).num_rows == 2
    assert capsys.readouterr().err == snapshot(
        "Only the first 2 rows are here: that is the limit. Ask for less, or let the database sum up.\n"
    )


def test_where_no_broker_is_and_none_can_be_started_the_one_cell_is_named(home: Path) -> None:
    with pytest.raises(ConnectionFailed) as failed:
        connection("shop").sql("select 1")
    assert str(failed.value) == MISSING


def test_where_nobody_listens_any_more_it_is_the_same(home: Path) -> None:
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(str(home / "broker.sock"))
    with pytest.raises(ConnectionFailed) as failed:
        connection("shop").sql("select 1")
    assert str(failed.value) == MISSING


@pytest.mark.slow
def test_where_no_broker_listens_cellwright_starts_one(
    database: Shop, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CELLWRIGHT_HOME", str(tmp_path))
    name_connection(tmp_path, database.connection())
    # The block starts none, and ends what the query started.
    with broker_client(tmp_path) as client:
        assert connection("shop").sql("select 7 as n").to_pylist() == [{"n": 7}]
        assert anyio.run(sent_since, client) == ["select 7 as n"]


@pytest.mark.parametrize(
    ("said", "told"),
    [
        (frame({"kind": "welcome", "version": 2}), "The broker speaks version 2"),
        (frame({"kind": "hello"}), "Whoever listens in the broker's place is none"),
        (frame("welcome"), "was no JSON object"),
        (b"HTTP/1.1 400 Bad Request", "too large"),
        (b"", "did not answer: it went away"),
        (WELCOME, "did not answer: it went away"),
        (WELCOME + frame({"kind": "result", "rows": 1})[:9], "did not answer: it went away"),
        (WELCOME + frame({"kind": "result", "rows": 1}), "answered without a result"),
        (WELCOME + frame({"kind": "result", "descriptors": 1}), "did not answer: it went away"),
        (WELCOME + frame({"kind": "result", "descriptors": 1}) + b"F", "did not answer: it went away"),
        (WELCOME + frame({"kind": "poem"}), "words that this version does not know"),
    ],
)
def test_who_is_no_broker_or_dies_is_told_in_one_sentence(home: Path, said: bytes, told: str) -> None:
    with saying(home, said), pytest.raises(ConnectionFailed, match=told) as failed:
        connection("shop").sql("select 1")
    assert "\n" not in str(failed.value)


@pytest.mark.slow
def test_the_state_directory_is_where_cellwrights_settings_find_it(monkeypatch: pytest.MonkeyPatch) -> None:
    from cellwright.settings import Settings
    from cellwright_cells.broker_socket import state_directory

    for variables in ({"CELLWRIGHT_HOME": "/a"}, {"HOME": "/b"}, {"HOME": "/b", "XDG_STATE_HOME": "/c"}, {}):
        for name in ("CELLWRIGHT_HOME", "HOME", "XDG_STATE_HOME"):
            monkeypatch.delenv(name, raising=False)
        for name, value in variables.items():
            monkeypatch.setenv(name, value)
        assert state_directory() == Settings.read(variables).home


@pytest.mark.slow
def test_importing_it_loads_nothing_but_the_standard_library() -> None:
    code = (
        "import sys; before = set(sys.modules); import cellwright_cells; cellwright_cells.connection('x')\n"
        "new = {name.partition('.')[0] for name in set(sys.modules) - before}\n"
        "print(sorted(new - set(sys.stdlib_module_names)), 'subprocess' in new)"
    )
    assert printed(code) == "['cellwright_cells'] False\n"


@contextmanager
def changed(broker: BrokerClient, database: Shop, **settings: Any) -> Generator[None]:
    """The connection, otherwise set as long as this block lasts."""
    store_connection(broker.launch.home, database.connection(**settings))
    try:
        yield
    finally:
        store_connection(broker.launch.home, database.connection())


def printed(code: str) -> str:
    return subprocess.run([PYTHON, "-c", code], check=True, capture_output=True, text=True).stdout


@pytest.mark.parametrize("name", ["connection", "files", "tool"])
def test_what_a_notebook_in_a_kernel_takes_from_cellwright_is_there_outside_too(name: str) -> None:
    assert name in cellwright.__all__
    assert getattr(cellwright, name) is getattr(cellwright_cells, name)
