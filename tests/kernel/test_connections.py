"""Connections in kernels: every way to query gives the same rows, and nothing stays open for it."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Any, TypeVar

import anyio
import msgspec
import pytest
from inline_snapshot import snapshot
from marimo._messaging import notification
from marimo._runtime import commands

from cellwright.ids import CellId
from cellwright.kernel.observation import Observation
from cellwright.kernel.pool import KernelPool
from cellwright.kernel.process.provisioner import KernelOptions
from cellwright.kernel.session.observers import EditorChannel
from cellwright.kernel.session.open_notebook import OpenNotebook
from cellwright.notebook.edits import CreateCell
from cellwright.sandbox.host.tiers import probe
from cellwright.server.editor.notifications import admitted
from tests.cells.data_service import DataService
from tests.cells.duck_source import DuckSource

Told = TypeVar("Told")
Opener = Callable[..., AbstractAsyncContextManager[OpenNotebook]]

CONNECT = "import cellwright\nshop = cellwright.connection('shop')"
QUERY = "select id, total, ordered from orders order by id"
ROWS = "[tuple(row.values()) for row in {}.to_pylist()]"
THREAD = "import threading\nstop = threading.Event()\nthread = threading.Thread(target=stop.wait)\nthread.start()"
LOOK = """
import os
def held():
    return len(os.listdir('/proc/self/fd')), len(os.listdir('/proc/self/task'))
"""


@pytest.fixture
def service() -> DataService:
    return DataService()


@pytest.fixture
def source(service: DataService) -> DuckSource:
    return service.source


@pytest.fixture
def open_in(pool: KernelPool, write_notebook: Callable[..., Path], service: DataService) -> Opener:
    def open_cells(*cells: str) -> AbstractAsyncContextManager[OpenNotebook]:
        path = write_notebook(*cells)
        options = KernelOptions(project=path.parent, tier=probe().tier, host_services={"data": service})
        return pool.open_notebook(path, options)

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


async def test_every_way_to_query_gives_the_same_rows_and_frames_come_by_arrow(
    open_in: Opener, source: DuckSource
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
            "[(1, Decimal('9.50'), datetime.date(2025, 1, 2)), (2, Decimal('0.50'), datetime.date(2025, 2, 3)), "
            "(3, None, datetime.date(2025, 3, 4))]"
        }
    assert source.statements == [QUERY] * 5
    assert source.kinds == ["query"] * 5


async def test_naming_a_connection_and_making_cursors_asks_nobody(open_in: Opener, source: DuckSource) -> None:
    code = "cursor = shop.cursor()\nnames = [repr(shop), shop.name, shop == cellwright.connection('shop')]"
    async with open_in(CONNECT, code) as notebook:
        await ran(notebook)
        assert await json_of(notebook, "names") == [['connection("shop")', "shop", True]]
    assert source.asked == []


async def test_parameters_and_limits_travel_with_the_statement(open_in: Opener, source: DuckSource) -> None:
    code = (
        "import datetime, decimal\n"
        "found = shop.sql('select count(*) from orders where ordered < ? and total > ?', datetime.date(2025, 3, 1),"
        " decimal.Decimal('1.5'), fresh=True, rows=10, megabytes=1, seconds=2).to_pylist()"
    )
    async with open_in(CONNECT, code) as notebook:
        await ran(notebook)
        assert await json_of(notebook, "found") == [[{"count_star()": 1}]]
    assert source.asked == snapshot(
        [
            {
                "kind": "query",
                "connection": "shop",
                "statement": "select count(*) from orders where ordered < ? and total > ?",
                "parameters": ["2025-03-01", "1.5"],
                "fresh": True,
                "rows": 10,
                "megabytes": 1,
                "seconds": 2,
            }
        ]
    )


async def test_a_cut_result_says_so_once(open_in: Opener) -> None:
    code = "cursor = shop.cursor()\ncursor.execute('select * from range(10)')\nsaid = cursor.notices, cursor.rowcount"
    async with open_in(CONNECT, "table = shop.sql('select * from range(10)', rows=3)", code) as notebook:
        observation = await notebook.run("all")
        assert [cell.console for cell in observation.cells] == ["", "Only the first 3 rows are here.\n", ""]
        assert await json_of(notebook, "said") == [[[], 10]]


@pytest.mark.parametrize(
    ("code", "says"),
    [
        ("shop.sql('select * from nowhere')", "The database said: Catalog Error: Table with name nowhere"),
        ("cellwright.connection('till').sql('select 1')", "No connection is called 'till'. There is shop."),
        ("shop.sql('select ?', b'x')", "A parameter can be None, a truth value, a number, a text or a date"),
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


async def test_an_interrupt_takes_a_query_back_and_the_next_is_answered(open_in: Opener, service: DataService) -> None:
    async with open_in(CONNECT, "shop.sql('select forever')") as notebook:
        call = notebook.run("all")
        call.start()
        with anyio.fail_after(30):
            await service.begun.wait()
            await call.interrupt()
            await service.cancelled.wait()
        observation = await call
        assert (observation.cells[-1].status, observation.kernel_end) == ("interrupted", None)
        assert (await notebook.apply([CreateCell(code="n = shop.sql('select 1').num_rows")])).is_ok


async def test_a_schema_that_is_more_than_a_message_comes_in_a_file(open_in: Opener, service: DataService) -> None:
    service.has_large_schemas = True
    code = LOOK + "before = held()\nnames = [each['name'] for each in shop.schema()['tables']]\nafter = held()"
    async with open_in(CONNECT, code) as notebook:
        await ran(notebook)
        names, before, after = await json_of(notebook, "names", "before", "after")
        assert names == ["customers", "orders", "spent"]
        assert before == after


# ── nothing stays ──


async def test_no_descriptor_and_no_thread_stays_behind_a_query(open_in: Opener) -> None:
    code = (
        "import pyarrow\nbefore = held()\n"
        "tables = [shop.sql('select * from range(10000)') for _ in range(20)]\nshop.schema()\nafter = held()"
    )
    async with open_in(CONNECT, LOOK, code) as notebook:
        await ran(notebook)
        before, after = await json_of(notebook, "before", "after")
        assert before == after


async def test_a_kernel_with_a_mapped_result_forks_and_both_sides_query(open_in: Opener, source: DuckSource) -> None:
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
    assert source.statements == [QUERY, "select 7 as n", "select 7 as n"]


async def test_a_connection_is_carried_to_a_kernel_that_is_no_fork(open_in: Opener, source: DuckSource) -> None:
    async with open_in(THREAD, CONNECT, "asked = shop.sql('select 1 as n').to_pylist()") as notebook:
        await ran(notebook)
        async with notebook.branch() as branch:
            tried = await branch.apply([CreateCell(code="again = [shop.name, shop.sql('select 2').num_rows, asked]")])
            assert tried.is_ok, tried
            assert tried.method is not None and tried.method.kind == "carried", tried.method
            assert shown_by(tried) == {"again": "['shop', 1, [{'n': 1}]]"}
    assert source.statements == ["select 1 as n", "select 2"]


# ── the editor ──


async def test_the_editors_panel_shows_columns_keys_and_rows_of_one_answer(open_in: Opener, source: DuckSource) -> None:
    async with open_in(CONNECT) as notebook, notebook.attach_editor() as editor:
        await ran(notebook)
        told = await heard(editor, notification.DataSourceConnectionsNotification)
        [connection] = told.connections
        assert (connection.name, connection.dialect, connection.default_schema) == ("shop", "duckdb", "main")
        [database] = connection.databases
        [schema] = database.schemas
        shown = {
            table.name: (table.type, table.num_rows, table.primary_keys, [each.name for each in table.columns])
            for table in schema.tables
        }
        assert shown == snapshot(
            {
                "customers": ("table", 2, ["id"], ["id", "name"]),
                "orders": ("table", 3, ["id"], ["id", "customer", "total", "ordered"]),
                "spent": ("view", None, [], ["customer", "total"]),
            }
        )
        assert source.kinds == ["schema"]
        details = commands.PreviewSQLTableCommand(
            request_id=commands.RequestId("1"), engine="shop", database="shop", schema="main", table_name="orders"
        )
        await editor.send(encoded(details))
        preview = await heard(editor, notification.SQLTablePreviewNotification)
        assert preview.table is not None
        assert [(each.name, each.type) for each in preview.table.columns][2:] == [
            ("total", "number"),
            ("ordered", "date"),
        ]
        assert source.kinds == ["schema"]
        await editor.send(encoded(commands.ListDataSourceConnectionCommand(engine="shop")))
        await heard(editor, notification.DataSourceConnectionsNotification)
        assert source.kinds == ["schema", "schema"]


async def test_an_editor_that_comes_later_is_told_of_connections_too(open_in: Opener, source: DuckSource) -> None:
    async with open_in(CONNECT) as notebook:
        await ran(notebook)
        assert source.kinds == []
        async with notebook.attach_editor() as editor:
            told = await heard(editor, notification.DataSourceConnectionsNotification)
            assert [each.name for each in told.connections] == ["shop"]


async def test_a_statement_is_validated_as_a_plan_by_whoever_answers(open_in: Opener, source: DuckSource) -> None:
    async with open_in(CONNECT) as notebook, notebook.attach_editor() as editor:
        await ran(notebook)
        results = []
        for statement in ("select id from orders", "select nothing from orders"):
            asked = commands.ValidateSQLCommand(
                request_id=commands.RequestId(statement), query=statement, only_parse=False, engine="shop"
            )
            await editor.send(encoded(asked))
            results.append(await heard(editor, notification.ValidateSQLResultNotification))
        assert [each.validate_result.success for each in results if each.validate_result] == [True, False]
        assert source.statements == ["EXPLAIN select id from orders", "EXPLAIN select nothing from orders"]


async def heard(editor: EditorChannel, kind: type[Told]) -> Told:
    with anyio.fail_after(30):
        async for body in editor.notifications:
            told = admitted(body, lambda cell: True)
            if isinstance(told, kind):
                return told
    raise AssertionError(f"no {kind.__name__}")


def encoded(command: commands.CommandMessage) -> bytes:
    return msgspec.json.encode(command)
