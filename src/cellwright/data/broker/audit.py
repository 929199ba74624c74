"""Every statement that was sent or refused, in a file of the state directory; and which write was sent already.

SQLite, each line committed before what it tells of goes on: a write is recorded before it is sent. The file stays
open: to open and close it for each line takes five times as long, as the last to close it settles its log.
"""

from __future__ import annotations

import json
import sqlite3
import threading
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final, Literal

from cellwright.data.messages import Asker, ListStatements, SentStatement

AUDIT_FILE: Final = "statements.db"
MAX_LISTED: Final = 1000
_KEPT: Final = 200_000
"""Lines; the oldest reads go first, writes never."""
_TABLES: Final = """
create table if not exists statements (
  id integer primary key, at text not null, connection text not null, access text not null, statement text not null,
  tables text not null, columns text not null, rows integer, bytes integer, seconds real not null default 0,
  outcome text not null, why text not null default '', price text not null default '',
  person text not null default '', run text not null default '', notebook text not null default '',
  write_id text unique, status integer, sent_bytes integer
);
create index if not exists statements_by_connection on statements (connection, id);
"""
_COLUMNS: Final = (
    "id, at, connection, access, statement, tables, columns, rows, bytes, seconds, outcome, why, price, person, run, "
    "notebook, status, sent_bytes"
)
_ADDED: Final = ("status integer", "sent_bytes integer")
"""Columns that files of older versions do not have."""


class StatementAudit:
    """The audit of one state directory. Blocking; threads wait for each other."""

    def __init__(self, home: Path) -> None:
        file = home / AUDIT_FILE
        self._lock = threading.Lock()
        self._database = sqlite3.connect(file, timeout=10, check_same_thread=False)
        self._database.execute("pragma journal_mode = wal")
        self._database.executescript(_TABLES)
        known = {row[1] for row in self._database.execute("pragma table_info(statements)")}
        for column in _ADDED:
            if column.split()[0] not in known:
                self._database.execute(f"alter table statements add column {column}")
        # Whatever was being sent when the broker before died: nobody knows what came of it.
        with self._database:
            self._database.execute("update statements set outcome = 'unknown' where outcome = 'sending'")
        file.chmod(0o600)

    def close(self) -> None:
        """Nothing is recorded from here on."""
        with self._lock:
            self._database.close()

    def begin(
        self,
        connection: str,
        access: Literal["read", "write"],
        statement: str,
        asker: Asker,
        *,
        tables: Sequence[str] = (),
        columns: Sequence[str] = (),
        write_id: str | None = None,
    ) -> int:
        """Record it before it is sent. Raises `sqlite3.IntegrityError` for a write of an id that was sent."""
        with self._lock, self._database as database:
            line = database.execute(
                "insert into statements (at, connection, access, statement, tables, columns, outcome, person, run, "
                "notebook, write_id) values (?, ?, ?, ?, ?, ?, 'sending', ?, ?, ?, ?)",
                (
                    datetime.now(UTC).isoformat(timespec="milliseconds"),
                    connection,
                    access,
                    statement,
                    json.dumps(list(tables)),
                    json.dumps(list(columns)),
                    asker.person,
                    asker.run,
                    asker.notebook,
                    write_id,
                ),
            ).lastrowid
            assert line is not None
            if line % 1000 == 0:
                database.execute("delete from statements where id < ? and access = 'read'", (line - _KEPT,))
            return line

    def end(self, line: int, outcome: str, **more: Any) -> None:
        """What came of it: `rows`, `bytes`, `seconds`, `why`, `price`, `status`, `sent_bytes`."""
        names = ", ".join(f"{name} = ?" for name in more)
        with self._lock, self._database as database:
            database.execute(
                f"update statements set outcome = ?{', ' + names if names else ''} where id = ?",
                (outcome, *more.values(), line),
            )

    def write(self, write_id: str) -> SentStatement | None:
        """The write of this id, if it was ever begun."""
        found = self._read("where write_id = ?", (write_id,), 1)
        return found[0] if found else None

    def listed(self, asked: ListStatements) -> list[SentStatement]:
        """The latest first."""
        wanted = [("connection = ?", asked.connection), ("run = ?", asked.run)]
        given = [(condition, value) for condition, value in wanted if value]
        where = f"where {' and '.join(condition for condition, _ in given)}" if given else ""
        return self._read(where, tuple(value for _, value in given), min(asked.most, MAX_LISTED))

    def _read(self, where: str, values: tuple[str, ...], most: int) -> list[SentStatement]:
        with self._lock:
            rows = self._database.execute(
                f"select {_COLUMNS} from statements {where} order by id desc limit ?", (*values, most)
            ).fetchall()
        names = _COLUMNS.split(", ")
        return [_line(dict(zip(names, row, strict=True))) for row in rows]


def _line(row: dict[str, Any]) -> SentStatement:
    read: dict[str, Any] = {key: tuple(json.loads(row[key])) for key in ("tables", "columns")}
    return SentStatement(**(row | read))
