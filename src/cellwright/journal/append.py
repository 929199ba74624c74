"""Writing events inside an open transaction: gap-free numbers, and the next links of the chain.

Whoever holds the stream's head holds the stream: SQLite has one writer at a time, Postgres locks the head's row.
So the numbers are the order of the commits, and nobody ever sees number 7 before number 6.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Final

from cellwright.journal.chain import START, Chain, place_of
from cellwright.journal.database import Cursor
from cellwright.journal.events import Event, encode, kind_of

CHANNEL: Final = "cellwright_event"
"""Where Postgres says that a stream grew; only a hint, never the news itself."""

_FIRST_HEAD: Final = "INSERT INTO cellwright_head (stream, sequence, link, before) VALUES (?, 0, ?, ?)"
_INSERT: Final = (
    "INSERT INTO cellwright_event (stream, sequence, at_ms, kind, key, body, link) VALUES (?, ?, ?, ?, ?, ?, ?)"
)


def append_events(cursor: Cursor, chain: Chain, stream: str, events: Sequence[Event], key: str = "") -> int:
    """Add the events to the stream; gives the number of the last. With a `key`, the second time does nothing."""
    cursor.lock_for_writing()
    last, last_link = _hold_head(cursor, stream)
    if key and (known := _known(cursor, stream, key)) is not None:
        return known
    at_ms = time.time_ns() // 1_000_000
    place = place_of(stream, at_ms, key)
    rows: list[tuple[object, ...]] = []
    for event in events:
        last += 1
        kind, body = kind_of(event), encode(event)
        last_link = chain.link(last_link, place, last, kind, body)
        rows.append((stream, last, at_ms, kind, key, body.decode(), last_link))
    cursor.executemany(_INSERT, rows)
    cursor.execute("UPDATE cellwright_head SET sequence = ?, link = ? WHERE stream = ?", (last, last_link, stream))
    if cursor.dialect == "postgres":
        cursor.execute("SELECT pg_notify(?, ?)", (CHANNEL, stream))
    return last


def _hold_head(cursor: Cursor, stream: str) -> tuple[int, bytes]:
    lock = "" if cursor.dialect == "sqlite" else " FOR UPDATE"
    select = f"SELECT sequence, link FROM cellwright_head WHERE stream = ?{lock}"
    row = cursor.execute(select, (stream,)).one()
    if row is None:
        cursor.execute(f"{_FIRST_HEAD} ON CONFLICT (stream) DO NOTHING", (stream, START, START))
        row = cursor.execute(select, (stream,)).one()
    assert row is not None
    return row[0], bytes(row[1])


def _known(cursor: Cursor, stream: str, key: str) -> int | None:
    row = cursor.execute("SELECT sequence FROM cellwright_event WHERE stream = ? AND key = ?", (stream, key)).one()
    return None if row is None else int(row[0])
