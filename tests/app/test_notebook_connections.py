"""Connections in a notebook's cells: what may be asked, what is not asked twice, and what a proof asks anew."""

from __future__ import annotations

import json
from collections.abc import Generator
from dataclasses import replace
from pathlib import Path

import pytest

from cellwright.app.notebook_connections import NotebookConnections, open_notebook_connections
from cellwright.app.notebooks import Files, open_notebook
from cellwright.app.verification import verify_notebook
from cellwright.data.broker_client import BrokerClient
from cellwright.data.connections import store_connection
from cellwright.data.messages import ListStatements, MakeWrite, RunQuery
from cellwright.kernel.pool import KernelPool
from cellwright.kernel.session.open_notebook import OpenNotebook
from cellwright.notebook.edits import CreateCell
from cellwright.policy.actions import QueryConnection
from cellwright.runs.verify.verification import Verified
from cellwright.settings import Settings
from tests.data.shop import Shop, broker_client, name_connection, new_shop, shop_server

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
async def test_a_tool_and_a_cell_ask_by_the_same_rules(client: BrokerClient, notebook: Path) -> None:
    async with open_notebook_connections(client, notebook=notebook, project=notebook.parent) as connections:
        assert isinstance(connections, NotebookConnections)
        for _ in range(2):
            asked = RunQuery(connection="shop", statement="select 1", form="json")
            found = await connections.query(asked)
            assert found.rows == 1
        assert await sent(client) == ["select 1"]
