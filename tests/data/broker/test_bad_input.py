"""Whatever is given or happens: one line that says what is wrong and what to do, soon, and without a secret."""

from __future__ import annotations

import os
import re
import sqlite3
from dataclasses import replace
from pathlib import Path

import anyio
import anyio.to_thread
import pytest

from cellwright.data.broker_client import BrokerClient
from cellwright.data.connections import DataConnection, store_connection
from cellwright.data.messages import ListStatements, MakeWrite, QueryResult, RunQuery
from cellwright.errors import CellwrightError, Unavailable, UserError
from cellwright.secrets import keep_secret
from tests.data.shop import READER_PASSWORD, Shop, rows_of
from tests.data.worker.servers import SECRET, mariadb_server


def told(problem: CellwrightError) -> str:
    """What people read, which is one line each for what and what next."""
    words = f"{problem.message} {problem.hint}"
    assert problem.message.strip()
    assert problem.hint.strip(), problem.message
    assert "\n" not in problem.message
    assert len(words) < 3000
    for secret in (READER_PASSWORD, SECRET, "wrong-canary-2"):
        assert secret not in words
    return words


@pytest.mark.slow
@pytest.mark.parametrize("characters", [99_000, 1_000_000, 6_000_000])
async def test_a_statement_that_is_much_too_long_is_refused_and_the_broker_goes_on(
    client: BrokerClient, characters: int
) -> None:
    asked = RunQuery(connection="shop", statement=f"select '{'x' * characters}'", form="json")
    with anyio.fail_after(60):
        if characters < 100_000:
            found = await client.query(asked)
            assert isinstance(found, QueryResult)
            os.close(found.descriptor)
        else:
            with pytest.raises(UserError) as raised:
                await client.query(asked)
            assert "100,000 characters" in told(raised.value)
            with pytest.raises(UserError) as raised:
                await client.write(MakeWrite(id="long", connection="shop", statement=asked.statement))
            assert "100,000 characters" in told(raised.value)
        assert await rows_of(client, "select 1") == [[1]]
    lines = await client.statements(ListStatements(most=2))
    assert all(len(line.statement) <= 100_000 for line in lines)


@pytest.mark.slow
@pytest.mark.parametrize(
    "statement",
    [f"select {','.join(['1'] * 49_000)}", f"select {'(' * 20_000}1{')' * 20_000}", f"select {'1+' * 40_000}1"],
    ids=["columns", "parentheses", "sum"],
)
async def test_what_takes_long_to_read_keeps_nobody_else_waiting(client: BrokerClient, statement: str) -> None:
    outcomes = list[str]()

    async def ask() -> None:
        try:
            found = await client.query(RunQuery(connection="shop", statement=statement))
            assert isinstance(found, QueryResult)
            os.close(found.descriptor)
            outcomes.append("")
        except CellwrightError as problem:
            outcomes.append(problem.message)

    with anyio.fail_after(120):
        async with anyio.create_task_group() as tasks:
            for _ in range(3):
                tasks.start_soon(ask)
            assert await rows_of(client, "select 1") == [[1]]
    assert len(set(outcomes)) == 1
    # Postgres gives 1,664 columns at most, and says so; what is nested too deeply is never sent.
    assert outcomes[0] == "" or "1664" in outcomes[0] or "nested too deeply" in outcomes[0] or "stack" in outcomes[0]


@pytest.mark.slow
async def test_endless_names_of_columns_and_too_many_of_them_hurt_nobody(client: BrokerClient, tmp_path: Path) -> None:
    name = "n" * 65_536
    assert (await rows_of(client, f'select 7 as "{name}"')) == [[7]]
    file = tmp_path / "data.sqlite"
    with sqlite3.connect(file) as database:
        database.execute("create table t (a int)")
        database.execute("insert into t values (7)")
    database.close()
    store_connection(client.launch.home, DataConnection(name="file", kind="sqlite", options={"path": str(file)}))
    with anyio.fail_after(60):
        found = await client.query(RunQuery(connection="file", statement=f'select a as "{name}" from t'))
        assert isinstance(found, QueryResult)
        os.close(found.descriptor)
        assert found.columns[0][0].startswith("nnn")
        assert len(found.columns[0][0]) <= len(name)
        with pytest.raises(CellwrightError) as raised:
            many = ",".join(f"a as c{place}" for place in range(8_000))
            await client.query(RunQuery(connection="file", statement=f"select {many} from t"))
        assert "columns" in told(raised.value)


@pytest.mark.slow
async def test_a_driver_that_is_not_installed_is_named_with_what_installs_it(client: BrokerClient) -> None:
    options = {"host": "127.0.0.1", "user": "ann", "catalog": "c"}
    store_connection(client.launch.home, DataConnection(name="lake", kind="trino", options=options))
    keep_secret(client.launch.home, "data:lake", "wrong-canary-2", "file")
    with pytest.raises(UserError, match="The driver for trino is not installed") as raised:
        await client.try_connection("lake")
    assert "cellwright[trino]" in told(raised.value)


def _is_counting(running: list[str]) -> bool:
    return any("seq_1_to" in statement for statement in running)


@pytest.mark.slow
async def test_a_server_without_tls_is_refused_by_whoever_wants_it(client: BrokerClient) -> None:
    with mariadb_server() as server:
        keep_secret(client.launch.home, "data:plain", SECRET, "file")
        for tls in ("require", "verify"):
            connection = DataConnection(name="plain", kind="mysql", options={**server.options, "tls": tls})
            store_connection(client.launch.home, connection)
            with pytest.raises(UserError, match="cannot agree on TLS") as raised:
                await client.try_connection("plain")
            told(raised.value)
        keep_secret(client.launch.home, "data:plain", "wrong-canary-2", "file")
        store_connection(client.launch.home, replace(connection, options=server.options))
        with pytest.raises(UserError, match="does not accept the user or the secret") as raised:
            await client.try_connection("plain")
        told(raised.value)
        keep_secret(client.launch.home, "data:plain", SECRET, "file")
        await client.secrets_changed("plain")
        failed = list[CellwrightError]()

        async def ask() -> None:
            endless = RunQuery(connection="plain", statement="select seq, md5(seq) from seq_1_to_1000000000")
            with pytest.raises(CellwrightError) as raised:
                await client.query(replace(endless, agreed_rows=10**15, agreed_bytes=10**18))
            failed.append(raised.value)

        with anyio.fail_after(60):
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(ask)
                await anyio.to_thread.run_sync(server.wait_until, _is_counting)
                server.kill()
        assert isinstance(failed[0], Unavailable)
        told(failed[0])
        with pytest.raises(Unavailable, match="cannot be reached") as unreached:
            await client.try_connection("plain")
        told(unreached.value)


async def test_a_session_that_the_server_ends_in_the_middle_of_a_result_is_told_and_not_used_again(
    client: BrokerClient, shop: Shop
) -> None:
    store_connection(client.launch.home, shop.connection(ask_above_rows=10**15, ask_above_megabytes=10**12))
    failed = list[CellwrightError]()

    async def ask() -> None:
        with pytest.raises(CellwrightError) as raised:
            await client.query(RunQuery(connection="shop", statement="select generate_series(1, 10000000000)"))
        failed.append(raised.value)

    # The statement itself, not what a worker asks before it, nor a session that has nothing to do.
    session = (
        "from pg_stat_activity where usename = 'reader' and state = 'active'"
        " and query like 'COPY%generate_series(1, 10000000000)%'"
    )
    with anyio.fail_after(60):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(ask)
            await anyio.to_thread.run_sync(shop.wait_until, f"select count(*) {session}", 1)
            shop.owned(f"select pg_terminate_backend(pid) {session}")
    assert isinstance(failed[0], Unavailable)
    # Which of the two it hears first is the network's to say.
    assert re.search("terminating connection|closed the connection", told(failed[0]))
    assert await rows_of(client, "select count(*) from orders") == [[3000]]
