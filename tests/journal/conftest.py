"""What journal tests share: SQLite files and Postgres databases made on the spot, and warm processes."""

from __future__ import annotations

import shutil
from collections.abc import Generator
from pathlib import Path
from uuid import uuid4

import dbos
import psycopg
import pytest
from psycopg import sql

from bench.postgres_server import postgres_server
from cellwright.journal.database import Database, JournalLocation
from cellwright.journal.tables import create_tables
from tests.journal.processes import Warm, warm_process

ROOM_BYTES = 1 << 30
"""A server with a few databases takes a tenth."""


@pytest.fixture(scope="session")
def postgres() -> Generator[str]:
    """The address of a Postgres server of our own."""
    with postgres_server(in_memory()) as address:
        with psycopg.connect(address, autocommit=True) as connection:
            # What is tested here is what survives a killed process, not a lost machine.
            for setting in ("fsync", "synchronous_commit", "full_page_writes"):
                connection.execute(sql.SQL("ALTER SYSTEM SET {} = off").format(sql.Identifier(setting)))
            connection.execute("SELECT pg_reload_conf()")
            connection.execute("CREATE DATABASE template_journal")
        make_tables(address.replace("/postgres?", "/template_journal?"))
        yield address


@pytest.fixture
def fresh_postgres(postgres: str) -> Generator[str]:
    """The address of a new database with empty tables, dropped with the test: all of them would be half a gigabyte."""
    name = f"journal_{uuid4().hex}"
    create = "CREATE DATABASE {} TEMPLATE template_journal STRATEGY file_copy"
    with psycopg.connect(postgres, autocommit=True) as connection:
        connection.execute(sql.SQL(create).format(sql.Identifier(name)))
        yield postgres.replace("/postgres?", f"/{name}?")
        connection.execute(sql.SQL("DROP DATABASE {} WITH (FORCE)").format(sql.Identifier(name)))


@pytest.fixture(scope="session")
def template_sqlite(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("template") / "journal.db"
    make_tables(str(path))
    return path


@pytest.fixture
def fresh_sqlite(tmp_path: Path, template_sqlite: Path) -> str:
    shutil.copyfile(template_sqlite, tmp_path / "journal.db")
    return str(tmp_path / "journal.db")


def in_memory() -> Path | None:
    """Where files never wait for a disk, if that is here and large enough."""
    shared = Path("/dev/shm")
    return shared if shared.is_dir() and shutil.disk_usage(shared).free > ROOM_BYTES else None


def make_tables(where: str) -> None:
    """The engine's tables and ours, made once and copied for every test."""
    place = JournalLocation.of(where)
    dbos.DBOS.migrate(place.url)
    database = Database(place)
    database.write_now(create_tables)
    database.close()


@pytest.fixture(params=["sqlite", pytest.param("postgres", marks=pytest.mark.slow)])
def where(request: pytest.FixtureRequest) -> str:
    """Where to keep a journal: once a file, once a database."""
    return request.getfixturevalue(f"fresh_{request.param}")


@pytest.fixture(scope="session")
def warm() -> Generator[Warm]:
    with warm_process() as process:
        yield process
