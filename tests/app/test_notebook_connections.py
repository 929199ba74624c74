"""Connections in a notebook's cells: what may be asked, what is not asked twice, and what a proof asks anew."""

from __future__ import annotations

import json
import os
from collections.abc import Generator
from dataclasses import replace
from pathlib import Path

import anyio
import anyio.to_thread
import psycopg
import pytest

from cellwright.app.notebook_connections import NotebookConnections, open_notebook_connections
from cellwright.app.notebooks import Files, open_notebook
from cellwright.app.verification import verify_notebook
from cellwright.data.broker_client import BrokerClient
from cellwright.data.broker_process import give_secrets
from cellwright.data.connections import store_connection
from cellwright.data.file_cache import FileCache
from cellwright.data.messages import FileEntry, ListStatements, MakeWrite, QueryResult, RunQuery
from cellwright.data.result_cache import ResultCache
from cellwright.data.sealed_memory import sealed
from cellwright.errors import UserError
from cellwright.kernel.pool import KernelPool
from cellwright.kernel.session.open_notebook import OpenNotebook
from cellwright.notebook.edits import CreateCell
from cellwright.policy.actions import QueryConnection
from cellwright.runs.verify.verification import Verified
from cellwright.secrets import forget_secret
from cellwright.settings import Settings
from tests.data.shop import READER_PASSWORD, Shop, broker_client, name_connection, new_shop, rows_in, shop_server

SHOP = 'import cellwright\n\nshop = cellwright.connection("shop")'
COUNT = 'total = shop.sql("select count(*) n from public.orders")["n"][0].as_py()\ntotal'


@pytest.fixture(scope="module")
def server() -> Generator[str]:
    with shop_server() as address:
        yield address


@pytest.fixture
def shop(server: str) -> Generator[Shop]:
    with new_shop(server) as shop:
        yield shop


@pytest.fixture
def client(shop: Shop, tmp_path: Path) -> Generator[BrokerClient]:
    with broker_client(tmp_path / "home") as client:
        name_connection(client.launch.home, shop.connection(writer="writer"))
        yield client


@pytest.fixture
def notebook(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    folder.mkdir()
    cells = "".join(f"\n\n@app.cell\ndef _({needs}):\n    {code}\n" for needs, code in (("", "pass"),))
    path = folder / "notebook.py"
    path.write_text(f"import marimo\n\napp = marimo.App()\n{cells}\n\nif __name__ == '__main__':\n    app.run()\n")
    return path


async def sent(client: BrokerClient) -> list[str]:
    """What reached the server, the first first."""
    lines = await client.statements(ListStatements())
    return [line.statement for line in reversed(lines) if line.outcome == "done"]


async def filled(notebook: OpenNotebook, *codes: str) -> list[str]:
    """Put cells in and run them; what each shows or how it fails."""
    ran = await notebook.apply([CreateCell(code=code) for code in codes])
    return [cell.error.message if cell.error else cell.output.text if cell.output else "" for cell in ran.cells]


@pytest.mark.slow
async def test_running_cells_again_sends_nothing_and_a_write_makes_them_ask_anew(
    client: BrokerClient, shop: Shop, notebook: Path, pool: KernelPool
) -> None:
    connecting = open_notebook_connections(client, notebook=notebook, project=notebook.parent)
    async with connecting as connections, open_notebook(notebook, pool=pool, connections=connections) as opened:
        assert (await filled(opened, SHOP, COUNT))[-1] == "3000"
        await opened.run("all")
        assert len(await sent(client)) == 1
        # Other masks are another question, and so is another statement.
        store_connection(client.launch.home, shop.connection(writer="writer", masked=("customers.email",)))
        await opened.run("all")
        assert len(await sent(client)) == 2
        await connections.write(MakeWrite(id="x", connection="shop", statement="delete from orders where id = 1"))
        ran = await opened.run("all")
        assert [cell.output.text for cell in ran.cells if cell.output][-1] == "2999"


async def test_a_connection_nobody_named_is_refused_in_words_until_it_is_granted(
    client: BrokerClient, notebook: Path, pool: KernelPool, tmp_path: Path
) -> None:
    kept = tmp_path / "state" / "connections.json"

    async def read(grant: QueryConnection | None) -> str:
        connecting = open_notebook_connections(
            client, notebook=notebook, project=notebook.parent, may_query=lambda _: False, kept=kept
        )
        async with connecting as connections, open_notebook(notebook, pool=pool, connections=connections) as opened:
            if grant is not None:
                await connections.grant(grant)
            return (await filled(opened, SHOP, COUNT))[-1]

    assert "The connection 'shop' is not approved for this notebook." in await read(None)
    assert await read(QueryConnection(connection="shop", access="write", statement="")) != "3000"
    assert await read(QueryConnection(connection="shop", access="read", statement="")) == "3000"
    # It outlasts the process.
    assert json.loads(kept.read_text()) == ["shop"]
    assert await read(None) == "3000"


@pytest.mark.slow
async def test_a_proof_asks_the_database_anew_and_names_what_it_rests_on(
    client: BrokerClient, notebook: Path, pool: KernelPool, tmp_path: Path
) -> None:
    home = client.launch.home
    settings = replace(Settings.read(), home=home, cache=tmp_path / "cache")
    async with open_notebook(notebook, pool=pool, settings=settings) as opened:
        await filled(opened, SHOP, COUNT)
        await opened.save()
    before = len(await sent(client))
    found, _ = await verify_notebook(notebook, files=Files(), settings=settings, pool=pool)
    assert isinstance(found, Verified), found
    [query] = found.signed.proof.queries
    assert (query.connection, query.rows, len(query.sha256)) == ("shop", 1, 64)
    assert len(await sent(client)) == before + 2


@pytest.mark.slow
async def test_ten_sql_cells_that_run_again_send_nothing(
    client: BrokerClient, notebook: Path, pool: KernelPool
) -> None:
    cells = [f'_df = mo.sql("select {n} n, count(*) c from public.orders", engine=shop)' for n in range(10)]
    connecting = open_notebook_connections(client, notebook=notebook, project=notebook.parent)
    async with connecting as connections, open_notebook(notebook, pool=pool, connections=connections) as opened:
        said = await filled(opened, f"import marimo as mo\n{SHOP}", *cells)
        assert said[1:] == ["[table 1 rows × 2 columns]"] * 10
        lines = await sent(client)
        assert len({line for line in lines if "public.orders" in line}) == 10
        for _ in range(2):
            assert all(cell.error is None for cell in (await opened.run("all")).cells)
        assert await sent(client) == lines


@pytest.mark.slow
async def test_what_came_by_one_secret_is_no_answer_under_another(
    client: BrokerClient, shop: Shop, notebook: Path, tmp_path: Path
) -> None:
    home, told_by_command = client.launch.home, tmp_path / "secret"
    forget_secret(home, "data:shop")
    store_connection(home, shop.connection(secret_command=("cat", str(told_by_command))))
    told_by_command.write_text(READER_PASSWORD)
    async with open_notebook_connections(client, notebook=notebook, project=notebook.parent) as connections:

        async def answers() -> list[str]:
            """What two equal queries are answered."""
            return [await answer_of(connections) for _ in range(2)]

        async def hand_over(secret: str) -> None:
            await anyio.to_thread.run_sync(give_secrets, client.launch, {"shop": secret})

        refused = "does not accept the user or the secret"
        assert await answers() == ["[[3000]]"] * 2
        assert len(await sent(client)) == 1
        told_by_command.write_text("another-canary-24680")
        await client.secrets_changed("shop")
        assert all(refused in text for text in await answers())
        await hand_over(READER_PASSWORD)
        assert await answers() == ["[[3000]]"] * 2
        assert len(await sent(client)) == 2
        await hand_over("another-canary-97531")
        assert all(refused in text for text in await answers())
        # A broker that somebody started without it does not know the one before's.
        await hand_over(READER_PASSWORD)
        assert await answers() == ["[[3000]]"] * 2
        assert len(await sent(client)) == 3
        await client.stop()
        assert await answers() == ["[[3000]]"] * 2
        with pytest.raises(UserError, match=refused):
            await client.try_connection("shop")
        assert all(refused in text for text in await answers())
    texts = [
        file.read_text("utf-8", "replace") for file in home.rglob("*") if file.is_file() and file.name != "keys.json"
    ]
    assert not any(secret in text for text in texts for secret in (READER_PASSWORD, "another-canary"))


async def answer_of(connections: NotebookConnections) -> str:
    """The rows of one query, or why there are none."""
    try:
        found = await connections.query(
            RunQuery(connection="shop", statement="select count(*) from public.orders", form="json")
        )
    except UserError as problem:
        return problem.message
    return str(rows_in(found))


@pytest.mark.slow
async def test_what_was_asked_while_something_was_written_is_asked_again(
    client: BrokerClient, shop: Shop, notebook: Path
) -> None:
    delete = MakeWrite(id="x", connection="shop", statement="delete from orders where id = 1")
    waiting = "select count(*) from pg_stat_activity where usename = 'writer' and wait_event_type = 'Lock'"
    async with open_notebook_connections(client, notebook=notebook, project=notebook.parent) as connections:
        with psycopg.connect(shop.owner) as holder:
            holder.execute("select * from orders where id = 1 for update")
            with anyio.fail_after(60):
                async with anyio.create_task_group() as tasks:
                    tasks.start_soon(connections.write, delete)
                    await anyio.to_thread.run_sync(shop.wait_until, waiting, 1)
                    assert await answer_of(connections) == "[[3000]]"
                    holder.rollback()
        assert await answer_of(connections) == "[[2999]]"


def test_a_result_that_was_asked_for_before_a_write_is_not_kept_after_it() -> None:
    cache, result = ResultCache(), QueryResult(rows=1, bytes=1, descriptor=sealed([b"x"]).descriptor)
    cache.keep("before", result, writes := cache.writes)
    cache.clear()
    cache.keep("on its way", result, writes)
    assert cache.find("before") is None
    assert cache.find("on its way") is None
    os.close(result.descriptor)
    files, entry = FileCache(), FileEntry(path="a.csv")
    files.keep("before", entry, before := files.writes)
    files.clear()
    files.keep("on its way", entry, before)
    assert (files.find("before"), files.find("on its way")) == (None, None)


@pytest.mark.slow
async def test_a_tool_and_a_cell_ask_by_the_same_rules(client: BrokerClient, notebook: Path) -> None:
    async with open_notebook_connections(client, notebook=notebook, project=notebook.parent) as connections:
        assert isinstance(connections, NotebookConnections)
        for _ in range(2):
            asked = RunQuery(connection="shop", statement="select 1", form="json")
            found = await connections.query(asked)
            assert found.rows == 1
        assert await sent(client) == ["select 1"]
