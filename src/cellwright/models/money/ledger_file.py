"""The ledger's file: one SQLite database, open in one process, whose commits survive a power cut."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Generator
from contextlib import contextmanager
from decimal import Decimal
from pathlib import Path
from threading import Lock, RLock
from typing import Any, Final

from cellwright.errors import Unavailable, UserError
from cellwright.policy.money import add

VERSION: Final = 1
"""Version of the tables; a file written by a newer Cellwright is left alone."""

_TABLES: Final = """
CREATE TABLE call (
  number INTEGER PRIMARY KEY,
  id TEXT NOT NULL UNIQUE,
  request_hash TEXT NOT NULL,
  state TEXT NOT NULL CHECK (state IN ('sent', 'answered', 'failed', 'cancelled', 'unknown', 'charged')),
  run TEXT NOT NULL, step TEXT NOT NULL, role TEXT NOT NULL, person TEXT NOT NULL, team TEXT NOT NULL,
  model TEXT NOT NULL,
  idempotency_key TEXT NOT NULL DEFAULT '',
  response_id TEXT NOT NULL DEFAULT '',
  is_background INTEGER NOT NULL DEFAULT 0,
  estimated_input INTEGER NOT NULL DEFAULT 0,
  estimated_output INTEGER NOT NULL DEFAULT 0,
  estimated_amount TEXT,
  estimated_currency TEXT NOT NULL DEFAULT '',
  begun_at TEXT NOT NULL,
  sent_at TEXT NOT NULL DEFAULT '',
  ended_at TEXT NOT NULL DEFAULT '',
  source TEXT NOT NULL DEFAULT '',
  milliseconds INTEGER NOT NULL DEFAULT 0,
  reason TEXT NOT NULL DEFAULT '',
  attempts TEXT NOT NULL DEFAULT '[]'
);
CREATE INDEX call_in_flight ON call (number) WHERE state = 'sent';
CREATE TABLE answer (call INTEGER PRIMARY KEY REFERENCES call, response BLOB NOT NULL);
CREATE TABLE use (
  call INTEGER NOT NULL REFERENCES call,
  place INTEGER NOT NULL,
  kind TEXT NOT NULL CHECK (kind IN ('answer', 'failed', 'cancelled', 'unknown', 'charged', 'free')),
  model TEXT NOT NULL,
  at TEXT NOT NULL,
  input INTEGER NOT NULL, output INTEGER NOT NULL, cache_read INTEGER NOT NULL, cache_write INTEGER NOT NULL,
  is_estimate INTEGER NOT NULL,
  amount TEXT,
  currency TEXT NOT NULL,
  why TEXT NOT NULL,
  PRIMARY KEY (call, place)
) WITHOUT ROWID;
CREATE INDEX use_unpriced ON use (call) WHERE amount IS NULL;
CREATE TABLE total (
  per TEXT NOT NULL, party TEXT NOT NULL, day TEXT NOT NULL, currency TEXT NOT NULL,
  tokens INTEGER NOT NULL, amount TEXT NOT NULL,
  PRIMARY KEY (per, party, day, currency)
) WITHOUT ROWID;
CREATE TABLE cached (
  request_hash TEXT NOT NULL, model TEXT NOT NULL, call INTEGER NOT NULL REFERENCES call,
  PRIMARY KEY (request_hash, model)
) WITHOUT ROWID;
CREATE TABLE probe (model TEXT PRIMARY KEY, tools INTEGER NOT NULL, schema INTEGER NOT NULL, at TEXT NOT NULL);
"""

_HINT: Final = "Is the disk full? Nothing is sent that cannot be recorded first."


class LedgerFile:
    """Statements in transactions. Any thread may call; one at a time gets through."""

    def __init__(self, path: Path, connection: sqlite3.Connection) -> None:
        self.path = path
        self.lock = RLock()
        """Held while something is read and changed that belongs together."""
        self._connection = connection
        self._log = os.open(f"{path}-wal", os.O_RDONLY | os.O_CLOEXEC)
        self._syncing = Lock()
        self._commits = 0
        self._synced_commits = 0

    @classmethod
    def open(cls, path: Path, *, wait_seconds: float = 5) -> LedgerFile:
        """The file, made if need be, readable by its owner alone.

        Raises `Unavailable` while another process has it, `UserError` if it is not a ledger we can read.
        """
        _make_private(path)
        connection = sqlite3.connect(path, timeout=wait_seconds, isolation_level=None, check_same_thread=False)
        try:
            _prepare(connection, path)
        except sqlite3.OperationalError as error:
            connection.close()
            raise Unavailable(
                f"The record of model calls {str(path)!r} cannot be opened: {error}.",
                hint="Another gateway may still be using it.",
            ) from error
        except sqlite3.DatabaseError as error:
            connection.close()
            raise UserError(
                f"{str(path)!r} is not a record of model calls, or is damaged: {error}.",
                hint="Put it aside or restore it from a backup; a new one is begun where there is none.",
            ) from error
        except UserError:
            connection.close()
            raise
        return cls(path, connection)

    def close(self) -> None:
        """Everything into the one file, and the file free for others."""
        with self.lock, self._syncing:
            self._connection.close()
            os.close(self._log)

    def rows(self, statement: str, *values: object) -> list[tuple[Any, ...]]:
        """What a query finds."""
        with self.lock:
            return self._run(statement, values).fetchall()

    def row(self, statement: str, *values: object) -> tuple[Any, ...] | None:
        """The one row a query finds, if any."""
        with self.lock:
            return self._run(statement, values).fetchone()

    def change(self, statement: str, *values: object, is_synced: bool = True) -> int:
        """How many rows it changed; outside a transaction, kept for good on return, or once `sync` was called."""
        with self.lock:
            changed = self._run(statement, values).rowcount
            if self._connection.in_transaction:
                return changed
            commit = self._committed()
        if is_synced:
            self._sync(commit)
        return changed

    @property
    def is_synced(self) -> bool:
        """Whether everything committed so far survives a power cut."""
        return self._synced_commits >= self._commits

    def sync(self) -> None:
        """Wait until everything committed so far survives a power cut; a killed process loses none of it anyway."""
        self._sync(self._commits)

    @contextmanager
    def transaction(self, *, is_synced: bool = True) -> Generator[None]:
        """All of it, kept for good on return or once `sync` was called, or none."""
        with self.lock:
            self._run("BEGIN IMMEDIATE")
            try:
                yield
                self._run("COMMIT")
            finally:
                if self._connection.in_transaction:
                    self._run("ROLLBACK")
            commit = self._committed()
        if is_synced:
            self._sync(commit)

    def _committed(self) -> int:
        self._commits += 1
        return self._commits

    def _sync(self, commit: int) -> None:
        """Wait until this commit is on the disk. Those who wait together share one sync, and readers do not wait."""
        with self._syncing:
            if self._synced_commits >= commit:
                return
            commits = self._commits
            try:
                os.fdatasync(self._log)
            except OSError as error:
                raise Unavailable(f"The record of model calls cannot be kept: {error.strerror}.", hint=_HINT) from error
            self._synced_commits = commits

    def _run(self, statement: str, values: tuple[object, ...] = ()) -> sqlite3.Cursor:
        try:
            return self._connection.execute(statement, values)
        except sqlite3.OperationalError as error:
            raise Unavailable(f"The record of model calls cannot be used: {error}.", hint=_HINT) from error


def _make_private(path: Path) -> None:
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    except OSError as error:
        raise Unavailable(
            f"The record of model calls {str(path)!r} cannot be made: {error.strerror}.", hint="Is the folder yours?"
        ) from error
    try:
        os.fchmod(handle, 0o600)
    finally:
        os.close(handle)


def _prepare(connection: sqlite3.Connection, path: Path) -> None:
    # The lock is held until the process ends, however it ends: a row in flight that is not ours is a dead gateway's.
    connection.execute("PRAGMA locking_mode = EXCLUSIVE")
    connection.execute("PRAGMA journal_mode = WAL")
    # At this level SQLite syncs the log for its own checkpoints; after each commit we do, outside its lock.
    connection.execute("PRAGMA synchronous = NORMAL")
    connection.create_function("add_exactly", 2, _add_texts, deterministic=True)
    connection.execute("BEGIN EXCLUSIVE")
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    if version == 0:
        for statement in _TABLES.split(";\n"):
            connection.execute(statement)
        connection.execute(f"PRAGMA user_version = {VERSION}")
    connection.execute("COMMIT")
    if version > VERSION:
        raise UserError(
            f"{str(path)!r} was written by a newer Cellwright.", hint="Upgrade, or use another state directory."
        )


def _add_texts(left: str, right: str) -> str:
    return f"{add(Decimal(left), Decimal(right)):f}"
