"""Whether there is a journal at some place, without making one."""

from __future__ import annotations

import sqlite3
from typing import Final

from cellwright.journal.database import Database, Place

HAS_LOG: Final = "SELECT 1 FROM sqlite_master WHERE name = 'cellwright_event'"
"""What a SQLite file answers only if it is a journal."""


def is_journal(place: Place) -> bool:
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


def _is_postgres_journal(place: Place) -> bool:
    database = Database(place)
    try:
        row = database.read_now(lambda cursor: cursor.execute("SELECT to_regclass('cellwright_event')").one())
        return row is not None and row[0] is not None
    finally:
        database.close()
