"""The data tools, called as an agent calls them: real files, a real kernel, a real cage for the profile."""

from __future__ import annotations

import sqlite3
from collections.abc import AsyncGenerator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager, closing
from pathlib import Path
from typing import Any

import pytest

from cellwright.app.notebook_connections import NotebookConnections
from cellwright.data.broker_client import BrokerClient
from cellwright.data.broker_process import BrokerLaunch
from cellwright.data.connections import DataConnection, store_connection
from cellwright.data.files import DataFile, parse_data
from cellwright.data.messages import Asker
from cellwright.kernel.pool import KernelPool
from cellwright.kernel.profiler import Profiler
from cellwright.kernel.session.open_notebook import OpenNotebook
from cellwright.kernel.table_profiler import TableProfiler
from cellwright.notebook.files import read
from cellwright.sandbox.host.tiers import probe
from cellwright.tools.approval.guard import audit_trail
from cellwright.tools.data_tools import data_tools
from cellwright.tools.notebook.editor import NotebookEditor
from cellwright.tools.notebook_tools import notebook_tools
from cellwright.tools.table_questions import TableQuestion, answer_words, cells_for, change_words, question_cell
from cellwright.tools.tool import Done, ToolError
from tests.data.shop import broker_client
from tests.tools.call_driver import CallDriver, open_driver

Opener = Callable[..., AbstractAsyncContextManager[OpenNotebook]]
TABLE = """\
import pandas as pd
sales = pd.DataFrame({
    "region": ["North", "South"] * 60,
    "revenue": [(150 if i % 2 == 0 else 90) + (i * 37) % 41 for i in range(120)],
    "cost": [2 * ((150 if i % 2 == 0 else 90) + (i * 37) % 41) + i % 3 for i in range(120)],
    "channel": [("web", "driver", "phone")[i % 3] for i in range(120)],
    "day": pd.date_range("2024-01-01", periods=120),
})"""


@asynccontextmanager
async def at_work(
    opened: Opener, where: Path, pool: KernelPool, *cells: str, rules: str = "", home: Path | None = None
) -> AsyncGenerator[tuple[OpenNotebook, CallDriver]]:
    async with opened(*cells) as notebook:
        editor = await NotebookEditor.open(notebook, where.parent / "desk.json")
        folder = notebook.path.parent

        def locate(path: str) -> DataFile:
            return parse_data([path], here=folder, notebook=notebook.path, project=folder)[0]

        client = BrokerClient(launch=BrokerLaunch(home=home or where.parent))
        connections = NotebookConnections(client=client, asker=Asker(), named=("shop",))
        tables = TableProfiler(profiler=Profiler(pool=pool, tier=probe().tier), source=connections)
        tools = [*notebook_tools(editor), *data_tools(editor, tables, locate, readable=connections.named)]
        async with open_driver(where, tools, rules=rules, project=str(folder)) as driver:
            if cells:
                await notebook.run("all")
            yield notebook, driver


def names(notebook: OpenNotebook) -> list[str]:
    return [cell.name for cell in read(notebook.path).document.cells]


@pytest.mark.slow
async def test_compare_tells_the_test_with_effect_and_interval_and_gives_the_cells(
    opened: Opener, where: Path, pool: KernelPool
) -> None:
    async with at_work(opened, where, pool, "import marimo as mo", TABLE) as (notebook, driver):
        done = await driver.call("compare", {"table": "sales", "measure": "revenue", "by": "region"})
        assert isinstance(done, Done), done
        assert "revenue is higher where region is North" in done.text
        assert "95 % interval" in done.text
        assert 'difference(sales, "revenue", "region")' in done.text
        assert done.is_untrusted
        assert len(names(notebook)) == 2


@pytest.mark.slow
async def test_what_is_kept_is_one_revision_that_can_be_undone(opened: Opener, where: Path, pool: KernelPool) -> None:
    async with at_work(opened, where, pool, "import marimo as mo", TABLE) as (notebook, driver):
        before = names(notebook)
        asked = {"table": "sales", "measure": "revenue", "by": "region", "keep": True}
        done = await driver.call("compare", asked)
        assert isinstance(done, Done), done
        value: Any = done.value
        assert value["ok"], done.text
        assert "difference_region_revenue" in names(notebook)
        assert "import pandas" not in "".join(cell.code for cell in notebook.document.cells[2:])
        await driver.call("undo", {}, run="undo")
        assert names(notebook) == before


@pytest.mark.slow
@pytest.mark.parametrize(
    ("first", "second", "method"),
    [
        ("revenue", "cost", "correlation"),
        ("region", "revenue", "difference"),
        ("region", "channel", "association"),
    ],
)
async def test_relate_chooses_the_test_by_what_the_columns_hold(
    opened: Opener, where: Path, pool: KernelPool, first: str, second: str, method: str
) -> None:
    async with at_work(opened, where, pool, "import marimo as mo", TABLE) as (_, driver):
        done = await driver.call("relate", {"table": "sales", "first": first, "second": second})
        assert isinstance(done, Done), done
        assert f"{method}(sales, " in done.text


@pytest.mark.slow
async def test_explain_change_gives_parts_that_add_up(opened: Opener, where: Path, pool: KernelPool) -> None:
    async with at_work(opened, where, pool, "import marimo as mo", TABLE) as (_, driver):
        spans = {"first": ["2024-01-01", "2024-01-31"], "second": ["2024-02-01", "2024-02-29"]}
        asked = {"table": "sales", "measure": "revenue", "when": "day", "by": "region", **spans}
        done = await driver.call("explain_change", asked)
        assert isinstance(done, Done), done
        value: Any = done.value
        parts = value["result"]
        assert sum(part["change"] for part in parts) == pytest.approx(
            sum(part["second"] - part["first"] for part in parts)
        )
        assert "North" in done.text


@pytest.mark.slow
async def test_profile_tells_what_files_are(opened: Opener, where: Path, pool: KernelPool) -> None:
    async with at_work(opened, where, pool, "import marimo as mo") as (notebook, driver):
        (notebook.path.parent / "orders.csv").write_text("order,price\n" + "".join(f"{i},{i % 7}\n" for i in range(50)))
        done = await driver.call("profile", {"paths": ["orders.csv"]})
        assert isinstance(done, Done), done
        assert "price" in done.text
        trail = audit_trail(await driver.journal.log.audit())
        assert [line.entry.kind for line in trail][-1] == "read-file"


@pytest.mark.slow
async def test_clean_reads_a_file_into_a_table_with_its_repairs(opened: Opener, where: Path, pool: KernelPool) -> None:
    async with at_work(opened, where, pool, "import marimo as mo") as (notebook, driver):
        rows = "".join(f"{i};{i % 7},5\n" for i in range(50))
        (notebook.path.parent / "orders.csv").write_text(f"order;price\n{rows}")
        done = await driver.call("clean", {"table": "orders.csv", "keep": True})
        assert isinstance(done, Done), done
        value: Any = done.value
        assert value["ok"], done.text
        mean = {"op": "create", "code": "print(float(orders['price'].mean()))"}
        told = await driver.call("apply", {"edits": [mean]}, run="mean")
        assert "printed: 3.44" in str(told)


@pytest.mark.slow
async def test_what_cannot_be_done_is_said(opened: Opener, where: Path, pool: KernelPool) -> None:
    wrong: list[tuple[str, dict[str, Any], str]] = [
        ("compare", {"table": "nobody", "measure": "a", "by": "b"}, "No variable 'nobody'"),
        ("compare", {"table": "sales; import os", "measure": "a", "by": "b"}, "No variable"),
        ("compare", {"table": "sales", "measure": "nothing", "by": "region"}, ""),
        ("profile", {"paths": ["nowhere.csv"]}, "No data at"),
        ("clean", {"table": "sales"}, "is a variable"),
    ]
    async with at_work(opened, where, pool, "import marimo as mo", TABLE) as (_, driver):
        for number, (tool, arguments, says) in enumerate(wrong):
            answer = await driver.call(tool, arguments, run=f"r{number}")
            assert isinstance(answer, ToolError), (tool, arguments, answer)
            assert says in answer.message, (tool, arguments)


# ── pure ──


def test_names_of_columns_stand_in_code_as_literals() -> None:
    evil = '"); import os; os.system("x'
    code = question_cell(TableQuestion(method="difference", table="sales", columns=(evil, "SECOND")))
    assert 'difference(sales, "\\"); import os; os.system(\\"x", "SECOND")' in code
    chosen = question_cell(TableQuestion(method="relate", table="sales", columns=("SECOND", "FIRST")))
    compile(chosen, "cell", "exec")
    assert 'correlation(sales, "SECOND", "FIRST")' in chosen


def test_cells_for_a_relation_use_the_test_that_was_made() -> None:
    question = TableQuestion(method="relate", table="sales", columns=("region", "revenue"))
    told = {"kind": "difference", "y": "revenue", "x": "region"}
    assert cells_for(question, told, taken=())[-1].code.startswith(
        'relate_revenue_region = pd.DataFrame([difference(sales, "revenue", "region") or {}])'
    )


@pytest.mark.parametrize("told", [None, {}, [], "x", 3])
def test_an_answer_that_is_none_is_no_words(told: Any) -> None:
    question = TableQuestion(method="difference", table="sales", columns=("a", "b"))
    assert answer_words(question, told) is None
    assert change_words(question, told) is None


@pytest.mark.slow
async def test_a_table_of_a_connection_is_profiled_beside_a_file_and_one_nobody_named_is_asked_about(
    opened: Opener, where: Path, pool: KernelPool, tmp_path: Path
) -> None:
    file = tmp_path / "shop.db"
    with closing(sqlite3.connect(file)) as database:
        database.executescript(
            "create table customers (id integer primary key, country text);"
            "insert into customers values (1, 'DE'), (2, 'FR'), (3, 'IT'), (4, 'ES');"
        )
    with broker_client(tmp_path / "home") as client:
        home = client.launch.home
        for name in ("shop", "other"):
            store_connection(home, DataConnection(name=name, kind="sqlite", options={"path": str(file)}))
        async with at_work(opened, where, pool, home=home, rules="") as (notebook, driver):
            lines = [f"{number},{number % 4 + 1}" for number in range(40)]
            (notebook.path.parent / "orders.csv").write_text("\n".join(["order_id,customer_id", *lines]))
            done = await driver.call("profile", {"paths": ["shop:main.customers", "orders.csv"]})
            assert isinstance(done, Done), done
            assert 'shop.sql(\'select "id", "country" from "main"."customers"\').to_pandas()' in done.text
            assert 'join orders."customer_id" = customers."id"' in done.text
            await driver.begin("other", ("profile", {"paths": ["other:main.customers"]}))
            assert "Read from the connection other" in (await driver.asked()).question.describe()
