"""SQLite files: opened so that nothing but selecting is possible, and so that a log beside them is read, too.

What another program changes meanwhile is not seen: all is read in one transaction.
"""

from __future__ import annotations

import os
import re
import sqlite3
from collections.abc import Callable, Generator
from contextlib import closing, contextmanager
from functools import partial
from time import monotonic
from typing import Any, Final
from urllib.parse import quote

from cellwright_guest.file_queries.arrow_frames import ArrowFrames, columns_of, write_all
from cellwright_guest.file_queries.records import (
    LOG_UNSEEN,
    MAX_NAME,
    FileAnswer,
    FileCatalogue,
    FileQueryFailed,
    FileQuestion,
    FileRows,
)
from cellwright_guest.file_queries.sqlite_catalogue import read_sqlite_catalogue
from cellwright_guest.file_queries.sqlite_rows import SqliteRows, TypesDiffer

_MAGIC: Final = b"SQLite format 3\0"
_JOURNAL_MAGIC: Final = bytes.fromhex("d9d505f920a163d7")
_WAL_VERSION: Final = 2
_LONGEST_VALUE: Final = 256 << 20
_STEPS: Final = 20_000
"""Of SQLite's machine between two looks at the clock: well below a millisecond."""
_BUSY_SECONDS: Final = 3.0
_ALLOWED: Final = frozenset({
    sqlite3.SQLITE_SELECT, sqlite3.SQLITE_READ, sqlite3.SQLITE_FUNCTION, sqlite3.SQLITE_RECURSIVE,
})  # fmt: skip
_DENIED_FUNCTIONS: Final = frozenset({"load_extension", "fts3_tokenizer", "writefile", "readfile", "edit"})
_DENIED_TABLES: Final = re.compile(r"sqlite_dbpage|sqlite_dbdata|sqlite_dbptr|dbstat|pragma_\w+", re.IGNORECASE)
"""Tables of the engine itself that show raw pages, or run a PRAGMA."""


def answer_sqlite(question: FileQuestion, frames: ArrowFrames) -> FileAnswer:
    """Rows or the catalogue of an SQLite file. Raises `FileQueryFailed`."""
    until = monotonic() + question.seconds
    with _open(question.path) as (connection, notices):
        connection.set_progress_handler(lambda: 1 if monotonic() > until else 0, _STEPS)
        if question.do == "catalogue":
            return FileCatalogue(catalogue=read_sqlite_catalogue(connection))
        lock_down(connection)
        return _query(connection, question, frames, notices)


def _query(connection: sqlite3.Connection, question: FileQuestion, frames: ArrowFrames, notices: list[str]) -> FileRows:
    rows = SqliteRows(partial(_execute, connection, question))
    try:
        written = _write(rows, question, frames)
    except TypesDiffer:
        # Values of another kind than the first rows led to expect: all are looked at, and then it begins anew.
        frames.again()
        rows.look_at_all(most_rows=question.rows)
        written = _write(rows, question, frames)
    names = [name[:MAX_NAME] for name in rows.mixed]
    if names:
        notices = [*notices, f"Values of several kinds became text in: {', '.join(names[:10])}."]
    return FileRows(rows=written.rows, cut=written.cut, columns=columns_of(written.schema), notices=tuple(notices))


def _write(rows: SqliteRows, question: FileQuestion, frames: ArrowFrames) -> Any:
    schema, batches = rows.batches()
    return write_all(frames, schema, batches, most_rows=question.rows, most_bytes=question.bytes)


def _execute(connection: sqlite3.Connection, question: FileQuestion) -> sqlite3.Cursor:
    plain = re.sub(r"'[^']*'|\"[^\"]*\"", "", question.statement)
    numbered = {str(number): value for number, value in enumerate(question.parameters, 1)}
    # To SQLite $1 is a name, not a number.
    given = numbered if re.search(r"\$\d", plain) else question.parameters
    try:
        cursor = connection.execute(question.statement, given)
    except (sqlite3.Warning, sqlite3.ProgrammingError, OverflowError) as problem:
        raise FileQueryFailed("statement", str(problem)) from problem
    if cursor.description is None:
        raise FileQueryFailed("statement", "It gives no rows: only a query can be asked.")
    return cursor


# ── opening ──


@contextmanager
def _open(path: str) -> Generator[tuple[sqlite3.Connection, list[str]]]:
    """A connection in a transaction, and what has to be said about it."""
    options, notices = _how_to_open(path)
    try:
        try:
            opened = _connect(path, options)
        except sqlite3.OperationalError as problem:
            if options == "mode=ro" and not _is_busy(problem) and _has_log(path):
                opened, options, notices = _connect(path, _UNCHANGING), _UNCHANGING, [LOG_UNSEEN]
            else:
                raise
        before = _stamp(path)
        with closing(opened) as connection:
            yield connection, notices
        if options == _UNCHANGING and _stamp(path) != before:
            raise FileQueryFailed("gone", "The file was changed while it was read.", hint="Ask again.")
    except sqlite3.Error as problem:
        raise _failure(problem) from problem


_UNCHANGING: Final = "mode=ro&immutable=1"


def _how_to_open(path: str) -> tuple[str, list[str]]:
    try:
        with open(path, "rb") as file:  # noqa: PTH123  plain paths: this runs in a cage
            header = file.read(100)
    except OSError as problem:
        raise FileQueryFailed("host", f"The file cannot be read: {problem.strerror}.") from problem
    if not header.startswith(_MAGIC):
        raise _not_sqlite(header)
    if _WAL_VERSION not in header[18:20]:
        if _has_unseen_journal(path):
            raise _half_changed()
        return "mode=ro", []
    if _has_log(path):
        return "mode=ro", []
    # Without a log nobody has it open; SQLite itself would want to make one.
    is_log_elsewhere = os.path.exists(f"{path}-wal") and os.path.getsize(f"{path}-wal") > 0  # noqa: PTH110, PTH202
    return _UNCHANGING, [LOG_UNSEEN] if is_log_elsewhere else []


def _has_unseen_journal(path: str) -> bool:
    """Whether there is a change to be undone that SQLite would not find: a copy for this cage lies elsewhere."""
    try:
        with open(f"{path}-journal", "rb") as file:  # noqa: PTH123
            is_in_use = file.read(8) == _JOURNAL_MAGIC
    except OSError:
        return False
    return is_in_use and not os.path.exists(f"{os.path.realpath(path)}-journal")  # noqa: PTH110


def _has_log(path: str) -> bool:
    """Whether a log lies where SQLite looks for it."""
    try:
        return os.stat(f"{os.path.realpath(path)}-wal").st_size > 0  # noqa: PTH116
    except OSError:
        return False


def _stamp(path: str) -> tuple[int, int]:
    found = os.stat(path)  # noqa: PTH116
    return found.st_mtime_ns, found.st_size


def _connect(path: str, options: str) -> sqlite3.Connection:
    address = f"file:{quote(os.path.abspath(path))}?{options}"  # noqa: PTH100
    connection = sqlite3.connect(address, uri=True, timeout=_BUSY_SECONDS, isolation_level=None)
    try:
        connection.text_factory = partial(str, encoding="utf-8", errors="replace")
        # A schema is a stranger's: nothing in it calls a function behind one's back.
        connection.execute("PRAGMA trusted_schema = OFF")
        connection.execute("PRAGMA cell_size_check = ON")
        connection.execute("PRAGMA query_only = ON")
        connection.execute("PRAGMA temp_store = MEMORY")
        connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, _LONGEST_VALUE)
        connection.setlimit(sqlite3.SQLITE_LIMIT_ATTACHED, 0)
        connection.execute("BEGIN")
        connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
    except BaseException:
        connection.close()
        raise
    return connection


def lock_down(connection: sqlite3.Connection) -> None:
    """From now on nothing but selecting."""
    connection.set_authorizer(_authorize)


def _authorize(action: int, first: str | None, second: str | None, *_: object) -> int:
    is_denied = (
        action not in _ALLOWED
        or (action == sqlite3.SQLITE_FUNCTION and (second or "").casefold() in _DENIED_FUNCTIONS)
        or (action == sqlite3.SQLITE_READ and _DENIED_TABLES.fullmatch(first or "") is not None)
    )
    return sqlite3.SQLITE_DENY if is_denied else sqlite3.SQLITE_OK


# ── what went wrong ──


def _is_busy(problem: sqlite3.Error) -> bool:
    return (problem.sqlite_errorname or "").startswith(("SQLITE_BUSY", "SQLITE_LOCKED"))


def _failure(problem: sqlite3.Error) -> FileQueryFailed:
    name, words = getattr(problem, "sqlite_errorname", None) or "", str(problem)
    known: dict[str, Callable[[], FileQueryFailed]] = {
        "SQLITE_INTERRUPT": lambda: FileQueryFailed("time", "It took too long.", hint="Ask for less."),
        "SQLITE_AUTH": lambda: FileQueryFailed("statement", f"Only reading is possible here ({words})."),
        "SQLITE_CORRUPT": lambda: FileQueryFailed("host", f"The file is damaged: {words}.", hint=_MEND),
        "SQLITE_NOTADB": lambda: FileQueryFailed("host", f"The file cannot be read as SQLite: {words}.", hint=_MEND),
        "SQLITE_IOERR": lambda: FileQueryFailed("host", f"The file is cut off or damaged: {words}.", hint=_MEND),
        "SQLITE_READONLY": _half_changed,
        "SQLITE_CANTOPEN": lambda: FileQueryFailed("host", f"The file cannot be opened: {words}."),
        "SQLITE_BUSY": lambda: FileQueryFailed("gone", "Another program is changing the file.", hint="Ask again."),
        "SQLITE_LOCKED": lambda: FileQueryFailed("gone", "Another program is changing the file.", hint="Ask again."),
        "SQLITE_NOMEM": lambda: FileQueryFailed("statement", "It needs more memory than there is."),
    }
    found = next((make for start, make in known.items() if name.startswith(start)), None)
    return found() if found is not None else FileQueryFailed("statement", words)


def _half_changed() -> FileQueryFailed:
    return FileQueryFailed(
        "host", "The file was left in the middle of a change.", hint="Open it once with its own program."
    )


_MEND: Final = "Take another copy of it, or mend it with its own program."


def _not_sqlite(header: bytes) -> FileQueryFailed:
    if not header:
        return FileQueryFailed("host", "The file is empty.", hint="Is it the right one?")
    if header[8:12] == b"DUCK":
        return FileQueryFailed("host", "This is a DuckDB file, not SQLite.", hint="Make it a duckdb connection.")
    return FileQueryFailed(
        "host", "This is no SQLite file.", hint="Is it the right one? One that is encrypted cannot be read."
    )
