"""A shop's database on a real Postgres, with passwords that count, and a broker for it: what tests share."""

from __future__ import annotations

import json
import os
from collections.abc import Generator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit
from uuid import uuid4

import anyio
import psycopg
from psycopg import sql

from bench.postgres_server import postgres_server
from cellwright.data.broker_client import BrokerClient
from cellwright.data.broker_process import BrokerLaunch
from cellwright.data.connections import DataConnection, store_connection
from cellwright.data.messages import ListStatements, QueryResult, RunQuery, SentStatement
from cellwright.secrets import keep_secret
from tests.journal.conftest import in_memory

READER_PASSWORD = "canary-reader-53197"
WRITER_PASSWORD = "canary-writer-86420"
_TABLES = """
    create table customers (id int primary key, name text not null, email text, country text);
    create table orders (
        id bigint primary key, customer_id int references customers, amount numeric(12,2), placed_at timestamptz
    );
    comment on table orders is 'What was bought';
    insert into customers
        select i, 'name ' || i, 'secret' || i || '@example.org', (array['DE','FR','IT'])[i % 3 + 1]
        from generate_series(1, 30) i;
    insert into orders
        select i, i % 30 + 1, (i % 97) * 1.25, '2025-01-01'::timestamptz + i * interval '1 hour'
        from generate_series(1, 3000) i;
    create function doubled(x int) returns int language sql as 'select x * 2';
    grant usage on schema public to reader, writer;
    grant select on all tables in schema public to reader, writer;
    grant insert, update, delete on all tables in schema public to writer;
    analyze;
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Shop:
    """One database of the server, and who may use it."""

    owner: str
    """The owner's address, for what a test looks at behind everybody's back."""
    host: str
    database: str

    def connection(self, name: str = "shop", **more: Any) -> DataConnection:
        options = {"host": self.host, "database": self.database, "user": "reader", "tls": "off"}
        return DataConnection(name=name, kind="postgres", options=options, **more)

    def owned(self, statement: str) -> list[Any]:
        with psycopg.connect(self.owner, autocommit=True) as connection:
            found = connection.execute(statement)  # pyrefly: ignore[no-matching-overload]
            return found.fetchall() if found.description else []

    def wait_until(self, statement: str, wanted: object) -> None:
        """Until the server answers this, for twenty seconds at most. Blocking."""
        with psycopg.connect(self.owner, autocommit=True) as connection:
            for _ in range(1000):
                found = connection.execute(statement).fetchone()  # pyrefly: ignore[no-matching-overload]
                if found is not None and found[0] == wanted:
                    return
                connection.execute("select pg_sleep(0.02)")
        raise AssertionError(f"{statement} never gave {wanted}")


@contextmanager
def shop_server() -> Generator[str]:
    """A server that asks readers and writers for their passwords; the address of its owner."""
    with postgres_server(in_memory()) as address:
        with psycopg.connect(address, autocommit=True) as connection:
            connection.execute(f"create role reader login password '{READER_PASSWORD}'")
            connection.execute(f"create role writer login password '{WRITER_PASSWORD}'")
            row = connection.execute("show hba_file").fetchone()
            assert row is not None
            rules = Path(row[0])
            rules.write_text(f"local all reader,writer scram-sha-256\n{rules.read_text()}")
            connection.execute("select pg_reload_conf()")
        yield address


@contextmanager
def new_shop(server: str) -> Generator[Shop]:
    """A database of its own on this server."""
    name = f"shop_{uuid4().hex[:12]}"
    host = parse_qs(urlsplit(server).query)["host"][0]
    with psycopg.connect(server, autocommit=True) as connection:
        connection.execute(sql.SQL("create database {}").format(sql.Identifier(name)))
        shop = Shop(owner=server.replace("/postgres?", f"/{name}?"), host=host, database=name)
        shop.owned(_TABLES)
        yield shop
        connection.execute(sql.SQL("drop database {} with (force)").format(sql.Identifier(name)))


@contextmanager
def broker_client(home: Path, **variables: str) -> Generator[BrokerClient]:
    """A client of the broker of this state directory, which ends with the block."""
    home.mkdir(parents=True, exist_ok=True, mode=0o700)
    client = BrokerClient(launch=BrokerLaunch(home=home, environment=dict(os.environ) | variables))
    try:
        yield client
    finally:
        # In a thread of its own: this may be left inside a running loop.
        with ThreadPoolExecutor(1) as other:
            other.submit(anyio.run, client.stop).result()


def name_connection(home: Path, connection: DataConnection) -> None:
    """Store it, with the secrets of reader and writer."""
    store_connection(home, connection)
    keep_secret(home, connection.secret_name, READER_PASSWORD, "file")
    keep_secret(home, connection.writer_secret_name, WRITER_PASSWORD, "file")


async def rows_of(client: BrokerClient, statement: str, **more: Any) -> list[list[Any]]:
    """The rows of a query, as JSON has them."""
    given: dict[str, Any] = {"connection": "shop", "statement": statement, "form": "json"}
    found = await client.query(RunQuery(**(given | more)))
    assert isinstance(found, QueryResult), found
    return rows_in(found)


async def sent_since(client: BrokerClient, before: int = 0) -> list[str]:
    """What the audit has beyond so many lines, the first first."""
    lines = await client.statements(ListStatements(most=1000))
    return [line.statement for line in reversed(lines)][before:]


def rows_in(found: QueryResult) -> list[list[Any]]:
    """Those of a result that came as JSON."""
    with os.fdopen(found.descriptor, "rb") as opened:
        return [json.loads(line) for line in opened]


async def finished_statements(client: BrokerClient, wanted: ListStatements) -> Sequence[SentStatement]:
    """Once each is over: whoever asked may have all of an answer before its end is recorded."""
    with anyio.fail_after(20):
        while True:
            lines = await client.statements(wanted)
            if all(line.outcome != "sending" for line in lines):
                return lines
