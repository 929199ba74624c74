"""Every hostile statement on real servers, as owner of all there is: nothing changes, no file is read."""

from __future__ import annotations

import os
from collections.abc import Generator
from pathlib import Path

import psycopg
import pymysql
import pytest

from cellwright.data.broker_client import BrokerClient
from cellwright.data.connections import store_connection
from cellwright.data.messages import QueryResult, ReadSchema, RehearseWrite, RunQuery
from cellwright.errors import CellwrightError, RefusedByPolicy, UserError
from cellwright.secrets import keep_secret
from tests.data.broker.owned_servers import (
    CANARY,
    HIDDEN,
    OwnedServer,
    owned_clickhouse,
    owned_mariadb,
    owned_postgres,
)
from tests.data.shop import broker_client, rows_of

pytestmark = pytest.mark.slow
SERVERS = {"postgres": owned_postgres, "mysql": owned_mariadb, "clickhouse": owned_clickhouse}
BARE = {
    "postgres": {
        "select pg_read_file('/secret.csv')": CANARY,
        "select * from ts_stat('select to_tsvector(x) from secret')": "canary",
        "begin; set transaction read write; delete from t; commit": "changed",
        "copy t to '/new.file'": "changed",
    },
    "mysql": {
        "select load_file('/secret.csv')": CANARY,
        "select /*!50000 load_file('/secret.csv') */": CANARY,
        "select * from t into outfile '/new.file'": "changed",
        "set global general_log_file = '/tmp/x.log'": "changed",
        "drop table t": "changed",
    },
    "clickhouse": {
        "select * from file('/secret.csv', 'LineAsString')": CANARY,
        "drop table shop.t": "changed",
    },
}
"""What a session that only reads does for its owner if nobody judges."""


@pytest.fixture(scope="module", params=SERVERS)
def owned(request: pytest.FixtureRequest) -> Generator[OwnedServer]:
    with SERVERS[request.param]() as server:
        yield server


@pytest.fixture(scope="module")
def asked(owned: OwnedServer, tmp_path_factory: pytest.TempPathFactory) -> Generator[BrokerClient]:
    with broker_client(tmp_path_factory.mktemp("state") / "home") as client:
        name_owner(client.launch.home, owned)
        yield client


def name_owner(home: Path, owned: OwnedServer) -> None:
    store_connection(home, owned.connection)
    for name in (owned.connection.secret_name, owned.connection.writer_secret_name):
        if owned.secret:
            keep_secret(home, name, owned.secret, "file")


async def answer_of(client: BrokerClient, request: RunQuery | RehearseWrite) -> tuple[str, bool]:
    """All that comes back, as text; and whether it was sent."""
    try:
        if isinstance(request, RehearseWrite):
            return str(await client.rehearse(request)), True
        found = await client.query(request)
    except CellwrightError as problem:
        was_refused = isinstance(problem, RefusedByPolicy) or "was not sent" in problem.message
        return f"{problem.message} {problem.advice}", not was_refused
    assert isinstance(found, QueryResult), found
    with os.fdopen(found.descriptor, "rb") as opened:
        return f"{found} {opened.read().decode('utf-8', 'replace')}", True


async def test_as_owner_every_hostile_statement_changes_nothing_and_reads_no_file(
    owned: OwnedServer, asked: BrokerClient
) -> None:
    await asked.schema(ReadSchema(connection="shop"))
    before, sent = owned.digest(), list[str]()
    for statement in (*owned.hostile(), *owned.writes()):
        told, was_sent = await answer_of(asked, RunQuery(connection="shop", statement=statement, form="json"))
        assert CANARY not in told, statement
        assert HIDDEN not in told, statement
        if was_sent:
            sent.append(statement)
    assert owned.digest() == before
    assert sent == []
    # And it was there all the time: the same connection answers what may be asked.
    assert await rows_of(asked, "select count(*) from t") == [[2]]
    assert await rows_of(asked, "select x from secret") == [[HIDDEN]]


async def test_as_owner_trying_a_change_before_anybody_is_asked_changes_nothing(
    owned: OwnedServer, asked: BrokerClient
) -> None:
    before = owned.digest()
    for statement in (*owned.hostile(), *owned.writes()):
        told, _ = await answer_of(asked, RehearseWrite(connection="shop", statement=statement))
        assert CANARY not in told, statement
        assert HIDDEN not in told, statement
    assert owned.digest() == before


async def test_a_bare_session_of_the_owner_does_what_the_broker_refuses(
    owned: OwnedServer, asked: BrokerClient
) -> None:
    """Last in its module: the server is another one afterwards."""
    for text, does in BARE[owned.connection.kind].items():
        statement = text.replace("/secret.csv", str(owned.canary)).replace("/new.file", str(owned.folder / "new.file"))
        refused, was_sent = await answer_of(asked, RunQuery(connection="shop", statement=statement))
        assert not was_sent, refused
        before = _state_of(owned)
        told = owned.bare(statement)
        if does == "changed":
            assert _state_of(owned) != before, told
        else:
            assert does in told, statement
    with pytest.raises(UserError, match="One statement at a time"):
        await asked.query(RunQuery(connection="shop", statement="select 1; drop table secret"))


def _state_of(owned: OwnedServer) -> object:
    try:
        return owned.digest()
    except (psycopg.Error, pymysql.err.Error, AssertionError) as problem:
        return type(problem)
