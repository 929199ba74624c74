"""DuckDB files: read only, with other files, extensions and Python's variables out of reach, and settings locked."""

from __future__ import annotations

import os
import re
import threading
from collections.abc import Generator
from contextlib import closing, contextmanager
from time import monotonic
from typing import Any, Final

import duckdb
import pyarrow as pa

from cellwright_guest.file_queries.arrow_frames import ArrowFrames, columns_of, unique_names, write_all
from cellwright_guest.file_queries.duckdb_catalogue import read_duckdb_catalogue
from cellwright_guest.file_queries.records import (
    LOG_UNSEEN,
    FileAnswer,
    FileCatalogue,
    FileQueryFailed,
    FileQuestion,
    FileRows,
)

_BATCH_ROWS: Final = 32_768
_MOST_THREADS: Final = 4
_SETTINGS: Final[dict[str, str | bool | int | float | list[str]]] = {
    "enable_external_access": "false",
    "autoinstall_known_extensions": "false",
    "autoload_known_extensions": "false",
    "allow_community_extensions": "false",
    "python_enable_replacements": "false",
    "memory_limit": "2GB",
    "max_temp_directory_size": "0KB",
    "threads": str(min(_MOST_THREADS, len(os.sched_getaffinity(0)))),
    "lock_configuration": "true",
}
"""Memory well below the cage's, which batches on their way out are in, too."""
_READING: Final = frozenset({"SELECT", "EXPLAIN", "MULTI"})
"""MULTI is a PIVOT, which first finds out its columns."""
_AS_TEXT: Final = frozenset({"interval", "union", "bit", "bignum", "varint", "time with time zone", "enum"})
"""Types that Arrow has not, or that polars and pandas cannot read from it."""
_WHOLE: Final = frozenset({"hugeint", "uhugeint"})
"""What `sum` of whole numbers gives: int64 where it fits, else float64."""
_MEND: Final = "Take another copy of it, or mend it with its own program."


class _DoesNotFit(Exception):
    """A whole number beyond int64."""


def answer_duckdb(question: FileQuestion, frames: ArrowFrames) -> FileAnswer:
    """Rows or the catalogue of a DuckDB file. Raises `FileQueryFailed`."""
    _check_header(question.path)
    until = monotonic() + question.seconds
    try:
        opened = duckdb.connect(question.path, read_only=True, config=_SETTINGS)
    except (duckdb.Error, RuntimeError) as problem:
        raise _not_opened(str(problem)) from problem
    with closing(opened) as connection, _interrupted_at(connection, until):
        try:
            if question.do == "catalogue":
                return FileCatalogue(catalogue=read_duckdb_catalogue(connection))
            return _query(connection, question, frames)
        except (duckdb.Error, pa.ArrowException, OSError, RuntimeError) as problem:
            raise _failure(problem, is_late=monotonic() >= until) from problem


def _query(connection: duckdb.DuckDBPyConnection, question: FileQuestion, frames: ArrowFrames) -> FileRows:
    relation = _relation(connection, question)
    try:
        written = _write(relation, question, frames, whole=pa.int64())
    except _DoesNotFit:
        frames.again()
        written = _write(relation, question, frames, whole=pa.float64())
    return FileRows(
        rows=written.rows, cut=written.cut, columns=columns_of(written.schema), notices=_notices(question.path)
    )


def _relation(connection: duckdb.DuckDBPyConnection, question: FileQuestion) -> duckdb.DuckDBPyRelation:
    """What the one statement gives; it has not run yet."""
    statements = connection.extract_statements(question.statement)
    if len(statements) != 1:
        raise FileQueryFailed("statement", f"One statement at a time; this has {len(statements)}.")
    if (kind := _kind(statements[0])) not in _READING:
        raise FileQueryFailed("statement", f"Only reading is possible here, not {kind}.")
    given: dict[str, Any] = {"params": list(question.parameters)} if question.parameters else {}
    relation = connection.sql(statements[0], **given)
    if relation is None:
        raise FileQueryFailed("statement", "It gives no rows: only a query can be asked.")
    names = unique_names(relation.columns)
    ids = [str(type_.id) for type_ in relation.types]
    if _AS_TEXT.isdisjoint(ids):
        return relation
    return relation.project(
        ", ".join(_column(number, *named) for number, named in enumerate(zip(ids, names, strict=True), 1))
    )


def _kind(statement: duckdb.Statement) -> str:
    try:
        return str(statement.type.name)
    except ValueError:
        # Newer than its own list of kinds.
        return "this"


def _column(number: int, type_id: str, name: str) -> str:
    value = f"CAST(#{number} AS VARCHAR)" if type_id in _AS_TEXT else f"#{number}"
    quoted = name.replace('"', '""')
    return f'{value} AS "{quoted}"'


def _write(
    relation: duckdb.DuckDBPyRelation, question: FileQuestion, frames: ArrowFrames, *, whole: pa.DataType
) -> Any:
    reader: Any = relation.to_arrow_reader(_BATCH_ROWS)
    types = [
        whole if str(type_.id) in _WHOLE else field.type
        for type_, field in zip(relation.types, reader.schema, strict=True)
    ]
    schema = pa.schema(list(zip(unique_names(reader.schema.names), types, strict=True)))
    # A connection has one open result at a time.
    with closing(reader):
        return write_all(frames, schema, _tidied(reader, schema), most_rows=question.rows, most_bytes=question.bytes)


def _tidied(reader: Any, schema: pa.Schema) -> Generator[pa.RecordBatch]:
    for batch in reader:
        try:
            arrays = [
                column if column.type == field.type else column.cast(field.type)
                for column, field in zip(batch.columns, schema, strict=True)
            ]
        except pa.ArrowInvalid:
            raise _DoesNotFit from None
        yield pa.RecordBatch.from_arrays(arrays, schema=schema)


@contextmanager
def _interrupted_at(connection: duckdb.DuckDBPyConnection, until: float) -> Generator[None]:
    """DuckDB has no other way to end a query than from another thread."""
    timer = threading.Timer(max(0.05, until - monotonic()), connection.interrupt)
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()


def _notices(path: str) -> tuple[str, ...]:
    """Where root's own files are copied for a cage, a log is not beside its file."""
    is_unseen = os.path.exists(f"{path}.wal") and not os.path.exists(f"{os.path.realpath(path)}.wal")  # noqa: PTH110
    return (LOG_UNSEEN,) if is_unseen else ()


# ── what went wrong ──


def _check_header(path: str) -> None:
    try:
        with open(path, "rb") as file:  # noqa: PTH123  plain paths: this runs in a cage
            header = file.read(64)
    except OSError as problem:
        raise FileQueryFailed("host", f"The file cannot be read: {problem.strerror}.") from problem
    if not header:
        raise FileQueryFailed("host", "The file is empty.", hint="Is it the right one?")
    if header.startswith(b"SQLite format 3\0"):
        raise FileQueryFailed("host", "This is an SQLite file, not DuckDB.", hint="Make it a sqlite connection.")
    if header[8:12] != b"DUCK":
        raise FileQueryFailed("host", "This is no DuckDB file.", hint="Is it the right one?")


def _not_opened(words: str) -> FileQueryFailed:
    """Of its own words only those without a path or a process."""
    if "lock" in words and "Could not set" in words:
        return FileQueryFailed(
            "gone", "Another program has the file open for writing.", hint="Close it there, or ask a copy."
        )
    if "version number" in words:
        which = "A newer" if "newer" in words else "Another"
        return FileQueryFailed(
            "host",
            f"{which} DuckDB wrote this file than the one here ({duckdb.__version__}).",
            hint="Write it again with this version: EXPORT DATABASE there, IMPORT DATABASE here.",
        )
    if "encrypt" in words.lower():
        return FileQueryFailed("host", "The file is encrypted.", hint="Only a file without a key can be read here.")
    return FileQueryFailed("host", f"The file is cut off or damaged: {_without_paths(words)}", hint=_MEND)


def _failure(problem: Exception, *, is_late: bool) -> FileQueryFailed:
    words = str(problem)
    if isinstance(problem, duckdb.InterruptException) or (is_late and "nterrupt" in words):
        return FileQueryFailed("time", "It took too long.", hint="Ask for less.")
    if isinstance(problem, duckdb.OutOfMemoryException) or "Out of Memory" in words:
        return FileQueryFailed("statement", "It needs more memory than there is.", hint="Ask for less at a time.")
    if "Corrupt database file" in words or "Could not read" in words or isinstance(problem, duckdb.FatalException):
        return FileQueryFailed("host", f"The file is damaged: {_without_paths(words)}", hint=_MEND)
    if isinstance(problem, (duckdb.PermissionException, duckdb.InvalidInputException)) and "read-only" in words:
        return FileQueryFailed("statement", "Only reading is possible here.")
    return FileQueryFailed("statement", _line(words))


def _without_paths(words: str) -> str:
    return re.sub(r'(?:file )?"[^"]*/[^"]*"', "it", _line(words))


def _line(words: str) -> str:
    return " ".join(words.partition("\n\nLINE")[0].split())
