"""Keeping a journal within bounds: old events go, a sealed tombstone stays, so that the chain can still be checked."""

from __future__ import annotations

from dataclasses import dataclass

from cellwright.journal import engine_tables
from cellwright.journal.database import Cursor
from cellwright.journal.log import EventLog
from cellwright.journal.names import stream_of
from cellwright.journal.values import load
from cellwright.journal.verify import tombstone_text


@dataclass(frozen=True, slots=True, kw_only=True)
class Pruned:
    """What went."""

    events: int
    runs: int
    blobs: int


async def prune(log: EventLog, *, before_ms: int) -> Pruned:
    """Delete the events from before then, and what is kept of runs that ended before then.

    A run that has not ended keeps everything. Effects are never forgotten: they are what stops a second time.
    """

    def work(cursor: Cursor) -> Pruned:
        cursor.lock_for_writing()
        runs = engine_tables.top_level(cursor)
        going = {stream_of(row.workflow) for row in runs if row.is_going or row.state in {"cancelled", "dead"}}
        select = "SELECT stream FROM cellwright_head ORDER BY stream"
        streams = [row[0] for row in cursor.execute(select).all() if row[0] not in going]
        events = sum(_prune_stream(cursor, log, stream, before_ms) for stream in streams)
        ended = [row.workflow for row in runs if stream_of(row.workflow) not in going and row.changed_ms < before_ms]
        for run in ended:
            _forget_run(cursor, run)
        return Pruned(events=events, runs=len(ended), blobs=_sweep_blobs(cursor, before_ms))

    return await log.database.write(work)


def _prune_stream(cursor: Cursor, log: EventLog, stream: str, before_ms: int) -> int:
    lock = "" if cursor.dialect == "sqlite" else " FOR UPDATE"
    select = f"SELECT first, before, sequence FROM cellwright_head WHERE stream = ?{lock}"
    head = cursor.execute(select, (stream,)).one()
    assert head is not None
    first, before = head[0], bytes(head[1])
    newer = "SELECT min(sequence) FROM cellwright_event WHERE stream = ? AND at_ms >= ?"
    row = cursor.execute(newer, (stream, before_ms)).one()
    last = head[2] if row is None or row[0] is None else row[0] - 1
    if last < first:
        return 0
    kept = cursor.execute("SELECT link FROM cellwright_event WHERE stream = ? AND sequence = ?", (stream, last)).one()
    if kept is None:
        return 0  # damaged already: `verify` tells, and pruning must not hide it
    link, now = bytes(kept[0]), cursor.now_ms()
    seal = log.chain.seal(tombstone_text(stream, first, last, before, link, now))
    cursor.execute(
        "INSERT INTO cellwright_tombstone (stream, first, last, before, link, pruned_ms, seal) "
        "VALUES (?, ?, ?, ?, ?, ?, ?)",
        (stream, first, last, before, link, now, seal),
    )
    cursor.execute("DELETE FROM cellwright_event WHERE stream = ? AND sequence <= ?", (stream, last))
    cursor.execute("UPDATE cellwright_head SET first = ?, before = ? WHERE stream = ?", (last + 1, link, stream))
    return last - first + 1


def _forget_run(cursor: Cursor, run: str) -> None:
    engine_tables.forget(cursor, [row.workflow for row in engine_tables.family(cursor, run)])
    cursor.execute("DELETE FROM cellwright_question WHERE run = ?", (run,))
    cursor.execute("DELETE FROM cellwright_recovery WHERE run = ?", (run,))


def _sweep_blobs(cursor: Cursor, before_ms: int) -> int:
    """Blobs nobody refers to any more; young ones may be about to be."""
    if not engine_tables.exists(cursor):
        return 0
    referred = {load(text)["blob"] for text in engine_tables.kept_texts(cursor)}
    rows = cursor.execute("SELECT sha256 FROM cellwright_blob WHERE kept_ms < ?", (before_ms,)).all()
    unwanted = [row[0] for row in rows if row[0] not in referred]
    for name in unwanted:
        cursor.execute("DELETE FROM cellwright_blob WHERE sha256 = ?", (name,))
    return len(unwanted)
