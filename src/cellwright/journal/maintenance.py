"""Keeping a journal: copies made while it is in use, checks of the file, and pruning.

Old events go, a sealed tombstone stays, so that the chain can still be checked. Postgres has its own tools for copies.
"""

from __future__ import annotations

import os
import shutil
import sqlite3
from dataclasses import dataclass
from pathlib import Path

import anyio.to_thread

from cellwright.errors import UserError
from cellwright.journal import engine_tables
from cellwright.journal.database import Cursor, JournalLocation, open_sqlite
from cellwright.journal.log import EventLog
from cellwright.journal.names import stream_of
from cellwright.journal.records import own_key
from cellwright.journal.recovery import only_worker
from cellwright.journal.tables import HAS_LOG
from cellwright.journal.values import load
from cellwright.journal.verify import tombstone_text
from cellwright.remedies import remedy


async def back_up(place: JournalLocation, target: Path) -> int:
    """Copy a journal that may be in use, with its chain key beside it; gives the copy's size in bytes."""
    path = _file(place, "back up")

    def work() -> int:
        if target.exists():
            raise UserError(f"{str(target)!r} exists.", hint="Name a file that does not.")
        key = own_key(place)
        if not target.absolute().parent.is_dir():
            raise UserError(f"There is no folder {str(target.parent)!r}.", hint="Make it first.")
        partial = target.with_name(f"{target.name}.partial")
        source, copy = open_sqlite(path, "normal"), sqlite3.connect(partial)
        try:
            source.backup(copy, pages=1_000)
        finally:
            copy.close()
            source.close()
        _write_key(target.with_suffix(".key"), key)
        size = partial.stat().st_size
        _sync(partial)
        partial.rename(target)
        return size

    return await anyio.to_thread.run_sync(work)


async def restore(source: Path, place: JournalLocation, *, replace: bool = False) -> None:
    """Put a copy in a journal's place, whole or not at all. Raises `UserError` if something is there and stays."""
    path = _file(place, "restore")

    def work() -> None:
        if path.exists() and not replace:
            raise UserError(f"There is a journal at {str(path)!r}.", hint=remedy("replace_journal"))
        if problems := _problems(source):
            raise UserError(f"{str(source)!r} is no sound journal: {problems[0]}.", hint="Try another copy.")
        path.parent.mkdir(parents=True, exist_ok=True)
        with only_worker(place):
            partial = path.with_name(f"{path.name}.partial")
            shutil.copyfile(source, partial)
            partial.chmod(0o600)
            _sync(partial)
            for leftover in ("-wal", "-shm"):
                path.with_name(path.name + leftover).unlink(missing_ok=True)
            partial.rename(path)
            key = source.with_suffix(".key")
            if key.exists():
                _write_key(path.with_suffix(".key"), key.read_bytes())

    await anyio.to_thread.run_sync(work)


async def check(place: JournalLocation) -> list[str]:
    """What SQLite finds wrong with the file; nothing if it is sound."""
    return await anyio.to_thread.run_sync(_problems, _file(place, "check"))


def _problems(path: Path) -> list[str]:
    if not path.is_file():
        return ["there is no such file"]
    connection = sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True)
    try:
        found = [row[0] for row in connection.execute("PRAGMA integrity_check").fetchall()]
        found += [
            f"row {row[1]} of {row[0]} refers to nothing" for row in connection.execute("PRAGMA foreign_key_check")
        ]
        has_log = connection.execute(HAS_LOG).fetchone()
        return [text for text in found if text != "ok"] + ([] if has_log else ["it holds no event log"])
    except sqlite3.DatabaseError as error:
        return [str(error)]
    finally:
        connection.close()


def _file(place: JournalLocation, verb: str) -> Path:
    if place.path is None:
        raise UserError(f"Cannot {verb} a journal on Postgres.", hint="Use your server's own tools, e.g. pg_dump.")
    return place.path


def _write_key(path: Path, key: bytes) -> None:
    path.unlink(missing_ok=True)
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "wb") as file:
        file.write(key)


def _sync(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


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
            engine_tables.forget(cursor, [row.workflow for row in engine_tables.family(cursor, run)])
            cursor.execute("DELETE FROM cellwright_question WHERE run = ?", (run,))
            cursor.execute("DELETE FROM cellwright_recovery WHERE run = ?", (run,))
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
