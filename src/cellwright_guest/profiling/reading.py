"""Files and folders become tables, whatever is in them: the one door of reading.

Nothing that a file holds raises: what cannot be read is told with its reason.
"""

from __future__ import annotations

import csv
import gzip
import struct
import zipfile
import zlib
from time import monotonic
from typing import Final, Literal, assert_never

import pyarrow as pa

from cellwright_guest.profiling.csv_reading import read_text
from cellwright_guest.profiling.file_series import gather, name_apart
from cellwright_guest.profiling.folders import list_sources
from cellwright_guest.profiling.formats import HEAD_BYTES, recognise
from cellwright_guest.profiling.json_reading import read_json, read_json_lines
from cellwright_guest.profiling.raw import RawTable
from cellwright_guest.profiling.records import Question, Skipped
from cellwright_guest.profiling.sources import Allowance, NotReadable, Source, example

_GZIP: Final = b"\x1f\x8b"
_SHARE_OF_TIME: Final = 0.7
_LEAST_SECONDS: Final = 0.5

# What the libraries raise for bytes that are not what they should be.
_BROKEN: Final = (
    OSError, EOFError, ValueError, TypeError, LookupError, AttributeError, ArithmeticError, RuntimeError,
    AssertionError, SyntaxError, csv.Error, zlib.error, struct.error, zipfile.BadZipFile, zipfile.LargeZipFile,
    pa.ArrowException,
)  # fmt: skip

Found = tuple[list[RawTable], list[Skipped], list[str]]


def read_tables(question: Question) -> Found:
    """The tables in the files and folders asked for, what could not be read, and remarks.

    Blocks for about `question.seconds` at most; never raises for what a file holds.
    """
    started = monotonic()
    sources, skipped, notes = list_sources(question.paths, question.most_files)
    tables = list[RawTable]()
    for number, source in enumerate(sources):
        left = started + question.seconds * _SHARE_OF_TIME - monotonic()
        seconds = max(_LEAST_SECONDS, left / (len(sources) - number))
        found, refused, remarks = _read(source, _allowance(question, seconds, len(sources)))
        tables.extend(found)
        skipped.extend(refused)
        notes.extend(remarks)
    return name_apart(gather(tables, question.most_rows)), skipped, notes


def _allowance(question: Question, seconds: float, files: int) -> Allowance:
    whole = Allowance(most_rows=question.most_rows, most_columns=question.most_columns, until=monotonic() + seconds)
    if files == 1:
        return whole
    return Allowance(
        most_rows=max(min(question.most_rows, 20_000), 2 * question.most_rows // files),
        most_columns=question.most_columns,
        until=whole.until,
        most_bytes=max(whole.most_bytes // files, 8 << 20),
    )


def _read(source: Source, allowance: Allowance) -> Found:
    try:
        return _by_format(source, allowance)
    except NotReadable as error:
        why = str(error)
    except MemoryError:
        why = "it needs more memory than there is"
    except (PermissionError, FileNotFoundError):
        why = "it cannot be opened"
    except _BROKEN as error:
        why = f"it is broken, or not what it seems to be: {example(str(error)) or type(error).__name__}"
    return [], [Skipped(path=source.shown, why=why)], []


def _by_format(source: Source, allowance: Allowance) -> Found:
    with source.path.open("rb") as stream:
        head = stream.read(HEAD_BYTES)
    compression = ""
    if head.startswith(_GZIP):
        compression = "gzip"
        with gzip.open(source.path, "rb") as packed:
            head = packed.read(HEAD_BYTES)
    match recognise(source, head):
        case "text":
            return [read_text(source, allowance, head=head, compression=compression)], [], []
        case "json":
            return read_json(source, allowance, head=head, compression=compression), [], []
        case "jsonl":
            return [read_json_lines(source, allowance, head=head, compression=compression)], [], []
        case kind if compression:
            raise NotReadable(f"it is a packed {kind} file; unpack it first")
        case kind:
            return _by_library(source, allowance, kind)


def _by_library(
    source: Source, allowance: Allowance, kind: Literal["parquet", "feather", "excel", "sqlite", "duckdb"]
) -> Found:
    """Read with a library that is loaded only when a file needs it: each takes a good part of a second."""
    match kind:
        case "parquet":
            from cellwright_guest.profiling.parquet import read_parquet

            return [read_parquet(source, allowance)], [], []
        case "feather":
            from cellwright_guest.profiling.parquet import read_feather

            return [read_feather(source, allowance)], [], []
        case "excel":
            from cellwright_guest.profiling.excel import read_workbook

            return read_workbook(source, allowance)
        case "sqlite":
            from cellwright_guest.profiling.sqlite_files import read_sqlite

            return read_sqlite(source, allowance)
        case "duckdb":
            from cellwright_guest.profiling.duckdb_files import read_duckdb

            return read_duckdb(source, allowance)
        case _:
            assert_never(kind)
