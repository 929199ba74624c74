"""Copies of a SQLite journal, made while it is in use; and its own checks of the file. Postgres has its own tools."""

from __future__ import annotations

import os
import shutil
import sqlite3
from pathlib import Path

import anyio.to_thread

from cellwright.errors import UserError
from cellwright.journal.database import Place, SqliteConnection
from cellwright.journal.presence import HAS_LOG
from cellwright.journal.records import own_key
from cellwright.journal.recovery import only_worker


async def back_up(place: Place, target: Path) -> int:
    """Copy a journal that may be in use, with its chain key beside it; gives the copy's size in bytes."""
    path = _file(place, "back up")

    def work() -> int:
        if target.exists():
            raise UserError(f"{str(target)!r} exists.", hint="Name a file that does not.")
        key = own_key(place)
        if not target.absolute().parent.is_dir():
            raise UserError(f"There is no folder {str(target.parent)!r}.", hint="Make it first.")
        partial = target.with_name(f"{target.name}.partial")
        source, copy = SqliteConnection(path, "normal"), sqlite3.connect(partial)
        try:
            source.raw.backup(copy, pages=1_000)
        finally:
            copy.close()
            source.close()
        _write_key(target.with_suffix(".key"), key)
        size = partial.stat().st_size
        _sync(partial)
        partial.rename(target)
        return size

    return await anyio.to_thread.run_sync(work)


async def restore(source: Path, place: Place, *, replace: bool = False) -> None:
    """Put a copy in a journal's place, whole or not at all. Raises `UserError` if something is there and stays."""
    path = _file(place, "restore")

    def work() -> None:
        if path.exists() and not replace:
            raise UserError(f"There is a journal at {str(path)!r}.", hint="Replace it with --replace.")
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


async def check(place: Place) -> list[str]:
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


def _file(place: Place, verb: str) -> Path:
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
