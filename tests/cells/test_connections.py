"""Connections outside kernels: by the broker of the machine, which is started if it can be; nothing stays open."""

from __future__ import annotations

import copy
import subprocess
import sys
import warnings
from collections.abc import Generator
from decimal import Decimal
from pathlib import Path
from typing import Any, cast

import adbc_driver_manager.dbapi
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
from cellwright_cells import Connection, ConnectionFailed, connection
from tests.cells.a_broker import opened_broker
from tests.cells.duck_source import DuckSource

PYTHON = sys.executable
QUERY = "select id, total from orders order by id"
MISSING = (
    "The connection 'shop' is not on this machine: add it with `cellwright data connect shop`, or put a database "
    'connection of your own in the place of `connection("shop")` in the one cell that names it.'
)


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("CELLWRIGHT_HOME", str(tmp_path))
    # No Cellwright beside Python and none on the path: nobody is started by accident.
    monkeypatch.setattr(sys, "executable", str(tmp_path / "bin" / "python"))
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    return tmp_path


@pytest.fixture
def source(home: Path) -> Generator[DuckSource]:
    with opened_broker(home) as answering:
        yield answering


@pytest.fixture
def shop(source: DuckSource) -> Connection:
    found = connection("shop")
    found.schema(fresh=True)
    source.asked.clear()
    return found


def test_every_way_to_query_gives_the_same_rows(shop: Connection, source: DuckSource) -> None:
    expected = [(1, Decimal("9.50")), (2, Decimal("0.50")), (3, None)]
    assert [tuple(row.values()) for row in shop.sql(QUERY).to_pylist()] == expected
    with shop.cursor() as cursor:
        assert cursor.execute(QUERY).fetchone() == expected[0]
        assert cursor.fetchmany(1) == expected[1:2]
        assert cursor.fetchall() == expected[2:]
        assert (cursor.fetchone(), cursor.rowcount) == (None, 3)
        assert [column[:2] for column in cursor.description or ()] == [("id", "INTEGER"), ("total", "DECIMAL(10,2)")]
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
    assert source.statements == [QUERY] * 6
    assert source.kinds == ["query"] * 6


def test_plain_marimo_takes_it_for_an_engine_and_shows_its_columns(shop: Connection, source: DuckSource) -> None:
    assert AdbcDBAPIEngine.is_compatible(shop)
    engine = AdbcDBAPIEngine(cast("Any", shop), VariableName("shop"))
    assert mo.sql(QUERY, engine=cast("Any", shop), output=False).rows()[0] == (1, Decimal("9.50"))
    [database] = engine.get_databases(include_schemas=True, include_tables=True, include_table_details=True)
    assert engine.dialect == "duckdb"
    assert [(table.name, table.type, len(table.columns)) for table in database.schemas[0].tables] == [
        ("customers", "table", 2),
        ("orders", "table", 4),
        ("spent", "view", 2),
    ]
    assert source.kinds == ["query"]


def test_two_columns_of_one_name_are_two(shop: Connection) -> None:
    assert shop.cursor().execute("select 1 as n, 2 as n").fetchall() == [(1, 2)]


def test_a_connection_is_its_name_and_nothing_else(source: DuckSource) -> None:
    shop = cellwright.connection("shop")
    assert copy.deepcopy(shop) == shop
    assert shop.__reduce__() == (connection, ("shop",))
    assert (repr(shop), {shop: 1}[connection("shop")], shop == connection("till")) == ('connection("shop")', 1, False)
    assert isinstance(shop, adbc_driver_manager.dbapi.Connection)
    assert isinstance(shop, cellwright_cells.Connection)
    with shop:
        shop.commit()
        shop.rollback()
    assert source.asked == []
    nobody: Any = None
    with pytest.raises(TypeError, match="has a name"):
        connection(nobody)


def test_no_descriptor_and_no_thread_stays_behind_queries(source: DuckSource) -> None:
    code = f"""
import os, pyarrow
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


def test_tables_columns_and_keys_are_asked_for_once(shop: Connection, source: DuckSource) -> None:
    shop.schema(fresh=True)
    info = shop.adbc_get_info()
    [catalog] = shop.adbc_get_objects(table_name_filter="order%").read_all().to_pylist()
    assert info["vendor_name"] == "duckdb"
    assert catalog == snapshot(
        {
            "catalog_name": "",
            "catalog_db_schemas": [
                {
                    "db_schema_name": "main",
                    "db_schema_tables": [
                        {
                            "table_name": "orders",
                            "table_type": "TABLE",
                            "table_columns": [
                                {
                                    "column_name": "id",
                                    "ordinal_position": 1,
                                    "remarks": None,
                                    "xdbc_type_name": "INTEGER",
                                    "xdbc_is_nullable": "NO",
                                },
                                {
                                    "column_name": "customer",
                                    "ordinal_position": 2,
                                    "remarks": None,
                                    "xdbc_type_name": "INTEGER",
                                    "xdbc_is_nullable": "YES",
                                },
                                {
                                    "column_name": "total",
                                    "ordinal_position": 3,
                                    "remarks": None,
                                    "xdbc_type_name": "DECIMAL(10,2)",
                                    "xdbc_is_nullable": "YES",
                                },
                                {
                                    "column_name": "ordered",
                                    "ordinal_position": 4,
                                    "remarks": None,
                                    "xdbc_type_name": "DATE",
                                    "xdbc_is_nullable": "YES",
                                },
                            ],
                            "table_constraints": [
                                {
                                    "constraint_name": None,
                                    "constraint_type": "PRIMARY KEY",
                                    "constraint_column_names": ["id"],
                                }
                            ],
                        }
                    ],
                }
            ],
        }
    )
    assert str(shop.adbc_get_table_schema("orders")) == snapshot("""\
id: int64
customer: int64
total: double
ordered: date32[day]\
""")
    assert shop.adbc_get_objects(depth="tables", db_schema_filter="none").read_all().to_pylist() == [
        {"catalog_name": "", "catalog_db_schemas": []}
    ]
    with pytest.raises(ConnectionFailed, match="no table 'nowhere'"):
        shop.adbc_get_table_schema("nowhere")
    assert source.kinds == ["schema"]
    assert [table["name"] for table in shop.schema("main.orders")["tables"]] == ["orders"]
    assert source.kinds == ["schema", "schema"]


@pytest.mark.parametrize("value", [None, True, 7, 2.5, "x", np.int64(7), Decimal("1.50"), pd.Timestamp("2025-01-02")])
def test_a_parameter_is_sent_as_json_has_it(shop: Connection, source: DuckSource, value: Any) -> None:
    shop.sql("select ? as given", value)
    plain = {np.int64: 7, Decimal: "1.50", pd.Timestamp: "2025-01-02T00:00:00"}
    assert source.asked[-1]["parameters"] == [plain.get(type(value), value)]


@pytest.mark.parametrize("value", [b"x", float("nan"), [1], {"a": 1}, object()])
def test_other_parameters_are_refused_before_anything_is_sent(shop: Connection, source: DuckSource, value: Any) -> None:
    named: Any = {"given": value}
    with pytest.raises(ConnectionFailed, match="A parameter can be"):
        shop.sql("select ?", value)
    with pytest.raises(ConnectionFailed, match="a list of values"):
        shop.cursor().execute("select ?", named)
    assert source.asked == []


def test_what_fails_is_one_sentence_with_its_hint(shop: Connection) -> None:
    with pytest.raises(ConnectionFailed) as failed:
        connection("till").sql("select 1")
    assert str(failed.value) == "No connection is called 'till'. There is shop. Ask for another."


def test_a_cut_result_says_so(shop: Connection, capsys: pytest.CaptureFixture[str]) -> None:
    assert shop.sql("select * from range(9)", rows=2).num_rows == 2
    assert capsys.readouterr().err == "Only the first 2 rows are here.\n"


def test_where_no_broker_is_and_none_can_be_started_the_one_cell_is_named(home: Path) -> None:
    with pytest.raises(ConnectionFailed) as failed:
        connection("shop").sql("select 1")
    assert str(failed.value) == MISSING


def test_where_no_broker_listens_cellwright_is_asked_to_start_one(home: Path) -> None:
    program = home / "bin" / "cellwright"
    program.parent.mkdir()
    program.write_text(f'#!/bin/sh\necho "$@" > {home}/started\n')
    program.chmod(0o755)
    with pytest.raises(ConnectionFailed) as failed:
        connection("shop").sql("select 1")
    assert (home / "started").read_text() == "data start\n"
    assert str(failed.value) == MISSING


def test_a_broker_of_another_version_is_told_apart(home: Path) -> None:
    with opened_broker(home, version=2), pytest.raises(ConnectionFailed, match="speaks version 2"):
        connection("shop").sql("select 1")


def test_the_state_directory_is_where_cellwrights_settings_find_it(monkeypatch: pytest.MonkeyPatch) -> None:
    from cellwright.settings import Settings
    from cellwright_cells.broker_socket import state_directory

    for variables in ({"CELLWRIGHT_HOME": "/a"}, {"HOME": "/b"}, {"HOME": "/b", "XDG_STATE_HOME": "/c"}, {}):
        for name in ("CELLWRIGHT_HOME", "HOME", "XDG_STATE_HOME"):
            monkeypatch.delenv(name, raising=False)
        for name, value in variables.items():
            monkeypatch.setenv(name, value)
        assert state_directory() == Settings.read(variables).home


def test_importing_it_loads_nothing_but_the_standard_library() -> None:
    code = (
        "import sys; before = set(sys.modules); import cellwright_cells; cellwright_cells.connection('x')\n"
        "new = {name.partition('.')[0] for name in set(sys.modules) - before}\n"
        "print(sorted(new - set(sys.stdlib_module_names)), 'subprocess' in new)"
    )
    assert printed(code) == "['cellwright_cells'] False\n"


def printed(code: str) -> str:
    return subprocess.run([PYTHON, "-c", code], check=True, capture_output=True, text=True).stdout
