"""The workflow engine's own SQL holds on every SQLite a Python may bring, on those before 3.42 too."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Generator
from contextlib import closing
from pathlib import Path

import pytest

from cellwright.journal.database import tune_sqlite

# From Python 3.12 on these are DBOS's, word for word: a column's default, and what it compares times with.
TABLE = "CREATE TABLE versions (name TEXT, made INTEGER NOT NULL DEFAULT (unixepoch('subsec') * 1000))"
NOW_MS = "SELECT CAST(unixepoch('subsec') * 1000 AS BIGINT)"


@pytest.fixture
def connection(tmp_path: Path) -> Generator[sqlite3.Connection]:
    with closing(sqlite3.connect(tmp_path / "journal.db", isolation_level=None)) as opened:
        tune_sqlite(opened, "normal")
        yield opened


def test_a_column_that_defaults_to_the_time_gets_whole_milliseconds(connection: sqlite3.Connection) -> None:
    connection.execute(TABLE)
    before = time.time_ns() // 1_000_000
    connection.execute("INSERT INTO versions (name) VALUES ('ours')")
    # A millisecond of grace: the product of SQLite's own fraction and 1000 may be cut off below.
    assert connection.execute(
        "SELECT typeof(made), made BETWEEN ? AND ? FROM versions", (before - 1, time.time_ns() // 1_000_000 + 1)
    ).fetchone() == ("integer", 1)


def test_the_time_now_is_asked_for_in_milliseconds_and_in_seconds(connection: sqlite3.Connection) -> None:
    before = time.time_ns() // 1_000_000
    (milliseconds,) = connection.execute(NOW_MS).fetchone()
    (seconds,) = connection.execute("SELECT unixepoch('now')").fetchone()
    assert before - 1 <= milliseconds <= time.time_ns() // 1_000_000 + 1
    assert before // 1000 <= seconds <= time.time()


def test_dbos_still_asks_for_the_time_in_these_words() -> None:
    import dbos._migration as migration
    import dbos._sys_db as system_database

    # An upgrade of DBOS that asks otherwise must be looked at: see `tune_sqlite`.
    source = Path(migration.__file__).read_text() + Path(system_database.__file__).read_text()
    assert source.count("unixepoch") == 3
    assert source.count("(unixepoch('subsec') * 1000)") == source.count('unixepoch("subsec") * 1000') == 1
