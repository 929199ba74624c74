"""Whose leave a connection is read by: a notebook's own, whatever its cells say, on every tier, without a network."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Generator
from pathlib import Path
from typing import Any

import pytest
from marimo._messaging import notification
from marimo._runtime import commands

from cellwright.app.notebook_connections import open_notebook_connections
from cellwright.app.notebooks import open_notebook
from cellwright.data.messages import ListStatements
from cellwright.errors import RefusedByPolicy, UserError
from cellwright.kernel.pool import KernelPool
from cellwright.sandbox.host.tiers import probe
from cellwright.tools.sql_tools import sql_tools
from tests.app.leave_program import ATTEMPTS, SHOP, shown, use_leave
from tests.conftest import notebook_source
from tests.data.broker.owned_servers import CANARY, HIDDEN, OwnedServer, owned_postgres
from tests.data.shop import Shop, broker_client, name_connection, new_shop, shop_server
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

SENT = (
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
)
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


@pytest.fixture(scope="module")
def owned() -> Generator[OwnedServer]:
    with owned_postgres() as server:
        yield server


async def test_as_owner_no_way_of_a_cell_or_the_editor_gets_a_hostile_statement_through(
    owned: OwnedServer, pool: KernelPool, tmp_path: Path
) -> None:
    unused: Any = None
    statements = [text.format(canary=owned.canary, new=owned.folder / "new.file") for text in SENT]
    notebook = tmp_path / "notebook.py"
    notebook.write_text(notebook_source("pass"))
    with broker_client(tmp_path / "home") as client:
        name_connection(client.launch.home, owned.connection)
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
            for statement in statements:
                arguments = tool.validate({"connection": "shop", "sql": statement})
                with pytest.raises((UserError, RefusedByPolicy)) as raised:
                    await tool.run(arguments, unused)
                assert CANARY not in raised.value.message
        assert owned.digest() == before
        lines = await client.statements(ListStatements(most=1000))
        assert [line.statement for line in lines if line.outcome != "refused"] == ["select 41 + 1 as n"]
