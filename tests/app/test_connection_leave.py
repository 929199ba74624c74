"""Whose leave a connection is read by: a notebook's own, whatever its cells say, on every tier, without a network."""

from __future__ import annotations

import json
import os
import sqlite3
import subprocess
import sys
import tempfile
from collections.abc import Callable, Generator
from contextlib import AbstractContextManager, contextmanager
from functools import partial
from pathlib import Path
from typing import Any, Literal

import duckdb
import pytest
from marimo._messaging import notification
from marimo._runtime import commands

from cellwright.app.notebook_connections import open_notebook_connections
from cellwright.app.notebooks import open_notebook
from cellwright.data.connections import DataConnection, store_connection
from cellwright.data.messages import ListStatements
from cellwright.errors import RefusedByPolicy, UserError
from cellwright.kernel.pool import KernelPool
from cellwright.sandbox.host.tiers import probe
from cellwright.secrets import keep_secret
from cellwright.tools.sql_tools import sql_tools
from cellwright.tools.tool import CallContext, ToolCall
from tests.app.leave_program import ATTEMPTS, SHOP, shown, use_leave
from tests.conftest import notebook_source
from tests.data.broker.owned_servers import (
    CANARY,
    HIDDEN,
    TABLES,
    OwnedServer,
    canary_folder,
    owned_mariadb,
    owned_postgres,
)
from tests.data.shop import READER_PASSWORD, Shop, broker_client, name_connection, new_shop, shop_server
from tests.kernel.test_connections import encoded, heard
from tests.sandbox.conftest import User, command_as, plain_uid

pytestmark = pytest.mark.slow
REPOSITORY = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def shop() -> Generator[Shop]:
    with shop_server() as server, new_shop(server) as shop:
        yield shop


def expect_own_leave_only(told: dict[str, str]) -> None:
    assert told["granted"] == "3000", told
    assert "is not approved for this notebook" in told["other"]
    refusals = ("not approved", "only read", "does not understand")
    assert sum(told["forged"].count(words) for words in refusals) == len(ATTEMPTS), told["forged"]
    assert "3000" not in told["forged"]
    # A broker of the cage's own knows no connection, and the person's own is out of reach.
    assert "no way" in told["around"] or "No connection is called" in told["around"]
    assert told["sent by"] == "granted.py"


async def test_a_notebook_cannot_use_the_leave_of_another(shop: Shop, pool: KernelPool, tmp_path: Path) -> None:
    with broker_client(tmp_path / "home") as client:
        name_connection(client.launch.home, shop.connection(writer="writer"))
        folder = tmp_path / "project"
        folder.mkdir()
        expect_own_leave_only(await use_leave(probe().tier, client, pool, folder))


@pytest.mark.parametrize(("user", "tier"), [("plain", "B"), ("plain without namespaces", "C")])
def test_nor_where_a_cage_has_less_of_the_kernel_behind_it(user: User, tier: str, shop: Shop) -> None:
    with tempfile.TemporaryDirectory() as place:
        home, folder = Path(place, "home"), Path(place, "project")
        folder.mkdir()
        name_connection(home, shop.connection(writer="writer"))
        # The server's socket lies in its own folder, which is closed to others.
        Path(shop.host).chmod(0o711)
        for path in (Path(place), *Path(place).rglob("*")):
            os.chown(path, *(2 * [plain_uid() if os.geteuid() == 0 else -1]))
        program = [sys.executable, str(REPOSITORY / "tests/app/leave_program.py"), tier, str(home), str(folder)]
        environment = {"PATH": "/usr/bin:/bin", "HOME": place, "PYTHONPATH": f"{REPOSITORY}/src:{REPOSITORY}"}
        command = command_as(user, program)
        ran = subprocess.run(
            command, env=environment, cwd="/", text=True, capture_output=True, timeout=240, check=False
        )
        assert ran.returncode == 0, ran.stderr[-3000:]
        expect_own_leave_only(json.loads(ran.stdout))


# ── hostile statements by all ways a cell has ──

SENT = {
    "postgres": (
        "select pg_read_file('{canary}')",
        "select 1; drop table t",
        "select * from ts_stat('select to_tsvector(x) from secret')",
        "copy t to '{new}'",
        "delete from t",
        "select set_config('default_transaction_read_only', 'off', false)",
        "begin; set transaction read write; delete from t; commit",
        "select lo_import('{canary}')",
        "with d as (delete from t returning *) select * from d",
        "do 'begin end'",
    ),
    "mysql": (
        "select load_file('{canary}')",
        "select 1; drop table t",
        "select /*!50000 load_file('{canary}') */",
        "select * from t into outfile '{new}'",
        "select a into @a from t",
        "delete from t",
        "set global general_log = 1",
        "handler t open",
        "load data local infile '{canary}' into table t",
        "begin; delete from t; commit",
        "select get_lock('a', 9)",
    ),
    "sqlite": (
        "attach database '{new}' as z",
        "select 1; drop table t",
        "vacuum into '{new}'",
        "pragma writable_schema = 1",
        "select load_extension('{canary}')",
        "select writefile('{new}', 'y')",
        "select readfile('{canary}')",
        "delete from t",
        "begin; delete from t; commit",
    ),
    "duckdb": (
        "from '{canary}'",
        "select 1; drop table t",
        "from read_text('{canary}')",
        "select * from read_csv('{canary}')",
        "from glob('{canary}')",
        "copy t to '{new}'",
        "attach '{new}' as z",
        "install httpfs",
        "set threads = 9",
        "from query('select * from secret')",
        "select getenv('HOME')",
        "delete from t",
        "begin; delete from t; commit",
    ),
}
"""More of them, and by a bare driver what lets them through: `tests/data/broker/test_hostile_servers.py`."""
WAYS = """
import marimo as mo
import pandas as pd
told = []
for statement in {statements}:
    for way in (
        lambda: shop.sql(statement),
        lambda: shop.cursor().execute(statement).fetchall(),
        lambda: mo.sql(statement, engine=shop, output=False),
        lambda: shop.sql("EXPLAIN " + statement),
        lambda: pd.read_sql(statement, shop),
    ):
        try:
            told.append("GOT " + str(way()))
        except Exception as problem:
            told.append("FAILED " + str(problem))
told
"""


@contextmanager
def owned_file(kind: Literal["sqlite", "duckdb"]) -> Generator[OwnedServer]:
    """A database that is a file of the person's own."""
    with canary_folder() as folder, tempfile.TemporaryDirectory() as place:
        path = Path(place, "shop.db")
        database: Any = sqlite3.connect(path) if kind == "sqlite" else duckdb.connect(path)
        for statement in TABLES:
            database.execute(statement)
        database.commit()
        database.close()
        yield OwnedServer(
            connection=DataConnection(name="shop", kind=kind, options={"path": str(path)}),
            secret="",
            bare=lambda _: "",
            state=lambda: [path.read_bytes(), sorted(file.name for file in path.parent.iterdir())],
            folder=folder,
        )


OWNED: dict[str, Callable[[], AbstractContextManager[OwnedServer]]] = {
    "postgres": owned_postgres,
    "mysql": owned_mariadb,
    "sqlite": partial(owned_file, "sqlite"),
    "duckdb": partial(owned_file, "duckdb"),
}


@pytest.fixture(scope="module", params=OWNED)
def owned(request: pytest.FixtureRequest) -> Generator[OwnedServer]:
    with OWNED[request.param]() as server:
        yield server


async def test_as_owner_no_way_of_a_cell_or_the_editor_gets_a_hostile_statement_through(
    owned: OwnedServer, pool: KernelPool, tmp_path: Path
) -> None:
    unused: Any = None
    sent = SENT[owned.connection.kind]
    statements = [text.format(canary=owned.canary, new=owned.folder / "new.file") for text in sent]
    notebook = tmp_path / "notebook.py"
    notebook.write_text(notebook_source("pass"))
    with broker_client(tmp_path / "home") as client:
        store_connection(client.launch.home, owned.connection)
        for name in (owned.connection.secret_name, owned.connection.writer_secret_name):
            keep_secret(client.launch.home, name, owned.secret or READER_PASSWORD, "file")
        before = owned.digest()
        async with (
            open_notebook_connections(client, notebook=notebook, project=tmp_path, named=("shop",)) as connections,
            open_notebook(notebook, pool=pool, connections=connections) as opened,
            opened.attach_editor() as editor,
        ):
            assert await shown(opened, SHOP, 'shop.sql("select 41 + 1 as n")["n"][0].as_py()') == "42"
            told = await shown(opened, WAYS.format(statements=statements))
            assert "FAILED" in told
            assert "GOT" not in told
            assert CANARY not in told
            assert HIDDEN not in told
            for statement in statements:
                asked = commands.ValidateSQLCommand(
                    request_id=commands.RequestId(statement), query=statement, only_parse=False, engine="shop"
                )
                await editor.send(encoded(asked))
                result = await heard(editor, notification.ValidateSQLResultNotification)
                assert result.validate_result is not None
                assert not result.validate_result.success, statement
                assert CANARY not in json.dumps(str(result))
            tool = next(each for each in sql_tools(connections) if each.name == "query")
            call = ToolCall(id="1", name="query", arguments={})
            for statement in statements:
                arguments = tool.validate({"connection": "shop", "sql": statement})
                with pytest.raises((UserError, RefusedByPolicy)) as raised:
                    await tool.run(arguments, CallContext(call=call, flow=unused))
                assert CANARY not in raised.value.message
        assert owned.digest() == before
        lines = await client.statements(ListStatements(most=1000))
        assert [line.statement for line in lines if line.outcome != "refused"] == ["select 41 + 1 as n"]
