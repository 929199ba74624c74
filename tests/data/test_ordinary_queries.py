"""Ordinary queries are read, none refused, and give the same rows as they are sent, with a comment, and with masks."""

from __future__ import annotations

import re
import sqlite3
from collections import Counter
from collections.abc import Callable, Generator, Sequence
from contextlib import AbstractContextManager, closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import duckdb
import psycopg
import pytest

from bench.postgres_server import postgres_server
from cellwright.data.catalogue import Catalogue, CatalogueColumn, CatalogueTable
from cellwright.data.dialects import Dialect
from cellwright.data.masks import mask_statement
from cellwright.data.statements import RefusedSql, SqlStatement, read_statement
from tests.data.ordinary_queries import Query, fetch, is_ordinary
from tests.data.worker.driving import driven_worker
from tests.data.worker.servers import DataServer, mariadb_server, postgres_data_server

SAMPLE = Path(__file__).with_name("ordinary_sample.sql")
TABLES = {"x": "a b", "y": "b c", "z": "b c", "t": "a b c x y", "foo": "a bar"}
"""What the queries call their tables."""
MASKED = ("nobody.secret",)
"""No table has it: every query is rewritten, and must give what it gave."""
NOT_VOUCHED_FOR: dict[str, dict[str, int]] = {"postgres": {}, "mysql": {}}
"""Of the ten thousand: functions that need a person's word, and in how many queries they are."""


_UNSTEADY = re.compile(
    r"julianday\('now'\)|tablesample|\brand(?:om)?\s*\(|\buuid\s*\(|\bgen_random_uuid", re.IGNORECASE
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Engine:
    """A database with the tables, to run queries on."""

    dialect: Dialect
    catalogue: Catalogue
    rows: Callable[[str], list[str]]
    errors: tuple[type[Exception], ...]


@dataclass(slots=True)
class Outcome:
    ran: int = 0
    rewritten: int = 0

    def compare(self, engines: Sequence[Engine], queries: Sequence[Query]) -> list[tuple[str, str]]:
        """Which texts gave other rows than the query that they stand for."""
        return [pair for dialect, text in queries for pair in self._different(engines, dialect, text)]

    def _different(self, engines: Sequence[Engine], dialect: Dialect, text: str) -> list[tuple[str, str]]:
        for engine in engines:
            if engine.dialect == dialect and (rows := _steady(engine, text)) is not None:
                self.ran += 1
                sent = [read_statement(text, dialect), read_statement(f"/* told */ {text} -- so", dialect)]
                if isinstance(sent[0], SqlStatement):
                    sent.append(mask_statement(sent[0], dialect, engine.catalogue, MASKED))
                    self.rewritten += isinstance(sent[2], SqlStatement)
                return [
                    (text, each.text)
                    for each in sent
                    if isinstance(each, SqlStatement) and _run(engine, each.text) != rows
                ]
        return []


def _steady(engine: Engine, text: str) -> list[str] | None:
    """The rows, if it runs here and gives the same twice; what a clock or chance decides is the same twice by luck."""
    if _UNSTEADY.search(text):
        return None
    first = _run(engine, text)
    return first if first is not None and first == _run(engine, text) else None


def _run(engine: Engine, text: str) -> list[str] | None:
    try:
        return engine.rows(text)
    except engine.errors:
        return None


def _fill(execute: Callable[[str], object]) -> None:
    for table, columns in TABLES.items():
        names = columns.split()
        execute(f"create table {table} ({', '.join(f'{name} int' for name in names)})")
        for row in range(4):
            execute(f"insert into {table} values ({', '.join(str(row * (at + 1) % 3) for at in range(len(names)))})")


def _tables(schema: str, columns: Sequence[tuple[str, str, str]]) -> Catalogue:
    found: dict[str, list[CatalogueColumn]] = {}
    for table, name, kind in columns:
        found.setdefault(table, []).append(CatalogueColumn(name=name, type=kind))
    tables = (CatalogueTable(schema=schema, name=name, columns=tuple(each)) for name, each in found.items())
    return Catalogue(default_schema=schema, tables=tuple(tables))


def duckdb_engine(connection: duckdb.DuckDBPyConnection, files: Sequence[Path] = ()) -> Engine:
    for file in files:
        name = file.name.partition(".")[0]
        connection.execute(f"create table {name} as select * from read_csv('{file}', delim = '|', header = true)")
    _fill(connection.execute)
    connection.execute("set enable_external_access = false")
    columns = "select table_name, column_name, data_type from information_schema.columns where table_schema = 'main'"
    catalogue = _tables("main", connection.execute(f"{columns} order by table_name, ordinal_position").fetchall())
    return Engine(
        dialect="duckdb",
        catalogue=catalogue,
        rows=lambda text: sorted(map(repr, connection.execute(text).fetchall())),
        errors=(duckdb.Error,),
    )


def sqlite_engine(connection: sqlite3.Connection) -> Engine:
    _fill(connection.execute)
    columns = [(table, name, "int") for table, names in TABLES.items() for name in names.split()]
    return Engine(
        dialect="sqlite",
        catalogue=_tables("", columns),
        rows=lambda text: sorted(map(repr, connection.execute(text).fetchall())),
        errors=(sqlite3.Error,),
    )


def postgres_engine(connection: psycopg.Connection[Any]) -> Engine:
    _fill(connection.execute)  # pyrefly: ignore[bad-argument-type]  - it wants texts that no program made
    connection.execute("set statement_timeout = '5s'")
    connection.execute("set default_transaction_read_only = on")
    return Engine(
        dialect="postgres",
        catalogue=_tables(
            "public", [(table, name, "integer") for table, names in TABLES.items() for name in names.split()]
        ),
        rows=lambda text: sorted(map(repr, connection.execute(text).fetchall())),  # pyrefly: ignore[no-matching-overload]
        errors=(psycopg.Error,),
    )


@pytest.fixture
def engines() -> Generator[list[Engine]]:
    with closing(duckdb.connect()) as first, closing(sqlite3.connect(":memory:")) as second:
        yield [duckdb_engine(first), sqlite_engine(second)]


def sample() -> list[Query]:
    lines = SAMPLE.read_text(encoding="utf-8").splitlines()
    pairs = [line.partition("\t") for line in lines if not line.startswith("--")]
    return [(dialect, text) for dialect, _, text in pairs]  # pyrefly: ignore[bad-return]  - dialects, by the file


def refused(queries: Sequence[Query]) -> list[tuple[str, str, str]]:
    read = ((dialect, text, read_statement(text, dialect)) for dialect, text in queries)
    return [(dialect, text, each.why) for dialect, text, each in read if isinstance(each, RefusedSql)]


def not_vouched_for(server: DataServer, queries: Sequence[Query]) -> dict[str, int]:
    """Functions of the second wall, which the server does not say that they only compute: in how many queries."""
    wanted = Counter[str]()
    for dialect, text in queries:
        read = read_statement(text, dialect) if dialect == server.kind else None
        if isinstance(read, SqlStatement) and read.access == "read":
            wanted.update(set(read.functions))
    assert len(wanted) > 20
    with driven_worker() as worker:
        assert worker.ask(**server.opening()).reply["kind"] == "opened"
        names = worker.ask(kind="functions", names=list(wanted)).reply["doing_more"]
    return {name: wanted[name] for name in names}


@pytest.mark.slow
@pytest.mark.parametrize("start", [postgres_data_server, mariadb_server])
def test_nor_does_a_server_refuse_a_function_of_the_sample(
    start: Callable[[], AbstractContextManager[DataServer]],
) -> None:
    with start() as server:
        assert not_vouched_for(server, sample()) == {}


@pytest.mark.slow
def test_no_ordinary_query_of_the_sample_is_refused_and_each_is_sent_letter_by_letter() -> None:
    queries = sample()
    assert len(queries) > 400
    assert refused(queries) == []
    changed = [
        (text, read.text)
        for dialect, text in queries
        if isinstance(read := read_statement(text, dialect), SqlStatement)
        and read.text != text
        and not {"#", "*/"} & set(text.split())
    ]
    assert changed == []


def test_queries_of_the_sample_that_run_give_equal_rows_as_they_are_sent(engines: list[Engine]) -> None:
    outcome = Outcome()
    assert outcome.compare(engines, sample()) == []
    assert outcome.ran > 60
    assert outcome.rewritten == outcome.ran


@pytest.mark.slow
@pytest.mark.rare
def test_of_ten_thousand_ordinary_queries_none_is_refused_and_rows_are_equal(tmp_path: Path) -> None:
    everything = fetch(tmp_path)
    queries = [query for query in everything if is_ordinary(query)]
    assert len(queries) > 10_000
    assert refused(queries) == []
    fixtures = next(tmp_path.glob("sqlglot-*/tests/fixtures/optimizer"))
    outcome = Outcome()
    with (
        postgres_server() as address,
        psycopg.connect(address, autocommit=True) as server,
        closing(duckdb.connect()) as first,
        closing(duckdb.connect()) as second,
        closing(sqlite3.connect(":memory:")) as third,
    ):
        engines = [
            duckdb_engine(first, sorted(fixtures.glob("tpc-h/*.csv.gz"))),
            duckdb_engine(second, sorted(fixtures.glob("tpc-ds/*.csv.gz"))),
            sqlite_engine(third),
            postgres_engine(server),
        ]
        assert outcome.compare(engines, queries) == []
    assert outcome.ran > 4_000
    assert outcome.ran - outcome.rewritten < 5
    found = {}
    for start in (postgres_data_server, mariadb_server):
        with start() as server:
            found[server.kind] = not_vouched_for(server, queries)
    assert found == NOT_VOUCHED_FOR
