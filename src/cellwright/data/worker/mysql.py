"""MySQL and MariaDB by pymysql, as Arrow. A statement is ended by `KILL QUERY` of a second connection."""

from __future__ import annotations

import re
import threading
from collections.abc import Generator, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any, Final, Literal

import pyarrow as pa
import pymysql

from cellwright.data.catalogue import Catalogue
from cellwright.data.worker.mysql_catalogue import mysql_catalogue
from cellwright.data.worker.mysql_columns import column_array, column_type
from cellwright.data.worker.mysql_plan import nested_estimate, written_tables
from cellwright.data.worker.mysql_wire import MysqlWire
from cellwright.data.worker.source import BatchStream, CostEstimate, FailureKind, SourceFailed, SourceLogin
from cellwright.data.worker.tidy import unique_names

_BATCH_ROWS: Final = 20_000
_NO_PLAN: Final = re.compile(r"\s*(?:explain|show|describe|desc)\b", re.IGNORECASE)
_KINDS: Final[dict[int, FailureKind]] = {
    1044: "login", 1045: "login", 1049: "login", 1130: "login", 1698: "login", 1820: "login",
    2002: "host", 2003: "host", 2005: "host", 2026: "tls", 3159: "tls",
    1317: "cancelled", 1969: "time", 3024: "time",
    1053: "gone", 1077: "gone", 1079: "gone", 1152: "gone", 1927: "gone", 2006: "gone", 2013: "gone", 0: "gone",
}  # fmt: skip
_HINTS: Final[dict[FailureKind, str]] = {
    "login": "Look at its user, its secret and its database.",
    "host": "Look at its host and port.",
    "tls": "Look at the connection's tls and tls_ca.",
}


class MysqlSource:
    """One session. Before each statement its settings are set again: nothing that one set stays for the next."""

    def __init__(self, login: SourceLogin) -> None:
        self._login = login
        self._lock = threading.Lock()
        self._is_running = False
        with _told():
            self._wire = MysqlWire.to(login)
        version = self._wire.get_server_info()
        self._is_maria = "mariadb" in version.lower()
        number = re.sub(r"^5\.5\.5-", "", version).split("-")[0]
        self.server = f"{'MariaDB' if self._is_maria else 'MySQL'} {number}"

    # ── what a worker asks ──

    @contextmanager
    def stream(self, statement: str, parameters: Sequence[Any], seconds: float) -> Generator[BatchStream]:
        """See `Source`."""
        if parameters:
            raise SourceFailed(
                "statement",
                "Statements for MySQL take no parameters here.",
                hint="Write the values into the statement.",
            )
        self._settle(seconds)
        with self._running(statement) as (fields, rows):
            names = unique_names([field.name for field in fields])
            schema = pa.schema([(name, column_type(field)) for name, field in zip(names, fields, strict=True)])

            def batches() -> Iterator[pa.RecordBatch]:
                for columns in rows:
                    arrays = [column_array(column, field) for column, field in zip(columns, fields, strict=True)]
                    yield pa.RecordBatch.from_arrays(arrays, schema=schema)

            yield BatchStream(schema=schema, batches=batches())

    def cancel(self) -> None:
        """See `Source`."""
        with self._lock:
            if not self._is_running:
                return
        self._kill()

    def catalogue(self) -> Catalogue:
        """See `Source`."""
        self._settle(self._login.seconds)
        return mysql_catalogue(self._rows, self.server, self._login.options["database"])

    def estimate(self, statement: str, parameters: Sequence[Any] = ()) -> CostEstimate:
        """See `Source`."""
        if _NO_PLAN.match(statement):
            return CostEstimate()
        self._settle(self._login.seconds)
        return CostEstimate(rows=nested_estimate(self._rows(f"EXPLAIN FORMAT=JSON {statement}")[0]["EXPLAIN"]))

    def doing_more(self, functions: Sequence[str]) -> tuple[str, ...]:
        """See `Source`."""
        stored = "SELECT DISTINCT lower(routine_name) AS name FROM information_schema.routines"
        found = {row["name"] for row in self._rows(f"{stored} WHERE routine_type = 'FUNCTION' LIMIT 100000")}
        return tuple(name for name in functions if name.lower() in found)

    def close(self) -> None:
        """See `Source`."""
        with suppress(pymysql.err.Error, OSError):
            self._wire.close()

    def rehearse(self, statement: str, seconds: float) -> int | None:
        """See `WritingSource`. Only what a transaction can undo is tried: rows of tables whose engine has them."""
        tables = written_tables(statement)
        if tables is None or not self._can_undo(tables):
            return None
        return self._in_transaction(statement, seconds, "ROLLBACK")

    def write(self, statement: str, seconds: float) -> int | None:
        """See `WritingSource`."""
        rows = self._in_transaction(statement, seconds, "COMMIT")
        return None if written_tables(statement) is None else rows

    # ── a session, a statement ──

    def _settle(self, seconds: float) -> None:
        limit = (
            f"max_statement_time = {seconds:.3f}" if self._is_maria else f"max_execution_time = {seconds * 1000:.0f}"
        )
        read_only = "tx_read_only" if self._is_maria else "transaction_read_only"
        value = int(self._login.access == "read")
        # A SET of the session's own, not START TRANSACTION READ ONLY, which lets DROP TABLE pass.
        self._do(f"SET SESSION {read_only} = {value}, autocommit = 1, {limit}, sql_select_limit = DEFAULT")

    def _in_transaction(self, statement: str, seconds: float, end: Literal["COMMIT", "ROLLBACK"]) -> int | None:
        self._settle(seconds)
        self._do("START TRANSACTION READ WRITE")
        try:
            rows = self._do(statement)
        except BaseException:
            with suppress(SourceFailed):
                self._do("ROLLBACK")
            raise
        self._do(end)
        return rows

    def _can_undo(self, tables: Sequence[str]) -> bool:
        schema = self._login.options["database"]
        wanted = {((name.rpartition(".")[0] or schema).lower(), name.rpartition(".")[2].lower()) for name in tables}
        engines = self._rows(
            "SELECT lower(t.table_schema) AS s, lower(t.table_name) AS n FROM information_schema.tables t JOIN"
            " information_schema.engines e ON e.engine = t.engine WHERE e.transactions = 'YES'"
        )
        triggers = self._rows(
            "SELECT lower(event_object_schema) AS s, lower(event_object_table) AS n FROM information_schema.triggers"
        )
        # What a trigger does besides may be in a table that forgets nothing.
        undoable = {(row["s"], row["n"]) for row in engines} - {(row["s"], row["n"]) for row in triggers}
        return bool(wanted) and wanted <= undoable

    @contextmanager
    def _running(self, statement: str) -> Generator[tuple[list[Any], Iterator[list[list[bytes | None]]]]]:
        """A statement's columns and its rows; it is over when this block is."""
        with self._lock:
            self._is_running = True
        ended = False
        try:
            with _told():
                fields = self._wire.start(statement)
            ended = not fields

            def rows() -> Iterator[list[list[bytes | None]]]:
                nonlocal ended
                while not ended:
                    # Told here only: what is done with the rows is no failure of the server.
                    with _told():
                        try:
                            columns, ended = self._wire.rows(len(fields), _BATCH_ROWS)
                        except BaseException:
                            ended = True
                            raise
                    yield columns

            yield fields, rows()
            if not ended:
                self._abandon(len(fields))
        finally:
            with self._lock:
                self._is_running = False

    def _abandon(self, width: int) -> None:
        self._kill()
        with suppress(pymysql.err.Error, OSError):
            self._wire.drain(width)

    def _kill(self) -> None:
        with suppress(pymysql.err.Error, OSError):
            killer = MysqlWire.to(self._login)
            try:
                killer.query(f"KILL QUERY {self._wire.thread_id()}")
            finally:
                killer.close()

    def _do(self, statement: str) -> int | None:
        with self._lock:
            self._is_running = True
        try:
            with _told():
                return self._wire.query(statement)
        finally:
            with self._lock:
                self._is_running = False

    def _rows(self, statement: str) -> list[dict[str, Any]]:
        """Of a statement of our own, within the settings that are in force."""
        with self._running(statement) as (fields, rows):
            names, found = [field.name for field in fields], list[dict[str, Any]]()
            for columns in rows:
                values = [
                    column_array(column, field).to_pylist() for column, field in zip(columns, fields, strict=True)
                ]
                found += (dict(zip(names, row, strict=True)) for row in zip(*values, strict=True))
            return found


@contextmanager
def _told() -> Generator[None]:
    try:
        yield
    except pymysql.err.Error as problem:
        raise _failure_of(problem) from None
    except (OSError, ValueError) as problem:
        # A server that goes in the middle of a packet, or a certificate that nobody can read.
        kind: FailureKind = "tls" if "certificate" in str(problem).lower() or "SSL" in str(problem) else "gone"
        raise SourceFailed(kind, str(problem), hint=_HINTS.get(kind, "")) from None


def _failure_of(problem: pymysql.err.Error) -> SourceFailed:
    code = problem.args[0] if problem.args and isinstance(problem.args[0], int) else 0
    text = str(problem.args[1]) if len(problem.args) > 1 else str(problem)
    kind = _KINDS.get(code, "statement" if code >= 1000 else "other")
    if kind in {"host", "gone"} and re.search(r"SSL|TLS|certificate", text, re.IGNORECASE):
        kind = "tls"
    return SourceFailed(kind, text or "The connection is closed.", hint=_HINTS.get(kind, ""))
