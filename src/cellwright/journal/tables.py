"""The journal's own tables, the same on SQLite and Postgres, and whether there is a journal at some location.

What the workflow engine keeps stands in its own tables.
"""

from __future__ import annotations

import sqlite3
from typing import Final

from cellwright.journal.database import Cursor, Database, JournalLocation

_TABLES: Final = """
CREATE TABLE IF NOT EXISTS cellwright_head (
    stream TEXT PRIMARY KEY,
    sequence BIGINT NOT NULL,
    link {bytes} NOT NULL,
    first BIGINT NOT NULL DEFAULT 1,
    before {bytes} NOT NULL
);
CREATE TABLE IF NOT EXISTS cellwright_event (
    stream TEXT NOT NULL,
    sequence BIGINT NOT NULL,
    at_ms BIGINT NOT NULL,
    kind TEXT NOT NULL,
    key TEXT NOT NULL,
    body TEXT NOT NULL,
    link {bytes} NOT NULL,
    PRIMARY KEY (stream, sequence)
){clustered};
CREATE UNIQUE INDEX IF NOT EXISTS cellwright_event_key ON cellwright_event (stream, key) WHERE key <> '';
CREATE INDEX IF NOT EXISTS cellwright_event_audit ON cellwright_event (at_ms) WHERE kind = 'audit-recorded';
CREATE TABLE IF NOT EXISTS cellwright_tombstone (
    stream TEXT NOT NULL,
    first BIGINT NOT NULL,
    last BIGINT NOT NULL,
    before {bytes} NOT NULL,
    link {bytes} NOT NULL,
    pruned_ms BIGINT NOT NULL,
    seal {bytes} NOT NULL,
    PRIMARY KEY (stream, first)
);
CREATE TABLE IF NOT EXISTS cellwright_blob (
    sha256 TEXT PRIMARY KEY,
    body {bytes} NOT NULL,
    kept_ms BIGINT NOT NULL
);
CREATE TABLE IF NOT EXISTS cellwright_effect (
    key TEXT PRIMARY KEY,
    workflow TEXT NOT NULL,
    step BIGINT NOT NULL,
    attempt BIGINT NOT NULL,
    state TEXT NOT NULL,
    result TEXT,
    changed_ms BIGINT NOT NULL
);
CREATE TABLE IF NOT EXISTS cellwright_question (
    id TEXT PRIMARY KEY,
    run TEXT NOT NULL,
    workflow TEXT NOT NULL,
    topic TEXT NOT NULL,
    text TEXT NOT NULL,
    choices TEXT NOT NULL,
    body TEXT NOT NULL,
    state TEXT NOT NULL,
    asked_ms BIGINT NOT NULL,
    answer TEXT,
    answered_by TEXT NOT NULL DEFAULT '',
    answered_ms BIGINT
);
CREATE INDEX IF NOT EXISTS cellwright_question_open ON cellwright_question (run) WHERE state = 'open';
CREATE TABLE IF NOT EXISTS cellwright_lease (
    name TEXT PRIMARY KEY,
    holder TEXT NOT NULL,
    token BIGINT NOT NULL,
    expires_ms BIGINT NOT NULL
);
CREATE TABLE IF NOT EXISTS cellwright_worker (
    id TEXT PRIMARY KEY,
    version TEXT NOT NULL,
    beat_ms BIGINT NOT NULL
);
CREATE TABLE IF NOT EXISTS cellwright_recovery (
    run TEXT PRIMARY KEY,
    worker TEXT NOT NULL,
    steps BIGINT NOT NULL,
    attempts BIGINT NOT NULL
)
"""
_POSTGRES_LOCK: Final = 0x63656C6C


def create_tables(cursor: Cursor) -> None:
    """Make what is missing; safe when several processes do it at once."""
    is_postgres = cursor.dialect == "postgres"
    if is_postgres:
        cursor.execute("SELECT pg_advisory_xact_lock(?)", (_POSTGRES_LOCK,))
    statements = _TABLES.format(
        bytes="BYTEA" if is_postgres else "BLOB", clustered="" if is_postgres else " WITHOUT ROWID"
    )
    for statement in statements.split(";"):
        cursor.execute(statement)


HAS_LOG: Final = "SELECT 1 FROM sqlite_master WHERE name = 'cellwright_event'"
"""What a SQLite file answers only if it is a journal."""


def is_journal(place: JournalLocation) -> bool:
    """Whether there is a journal; anything else must not be written to. Raises `Unavailable`. Blocking."""
    if place.path is None:
        return _is_postgres_journal(place)
    if not place.path.is_file():
        return False
    connection = sqlite3.connect(f"{place.path.as_uri()}?mode=ro", uri=True)
    try:
        return connection.execute(HAS_LOG).fetchone() is not None
    except sqlite3.DatabaseError:
        return False
    finally:
        connection.close()


def _is_postgres_journal(place: JournalLocation) -> bool:
    database = Database(place)
    try:
        row = database.read_now(lambda cursor: cursor.execute("SELECT to_regclass('cellwright_event')").one())
        return row is not None and row[0] is not None
    finally:
        database.close()
