"""Whatever bytes a file has: a table, or a reason; and a table that is one of pandas' too."""

from __future__ import annotations

import csv
import io
import re
import tempfile
from pathlib import Path

import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st

from cellwright_guest.profiling.raw import RawTable
from cellwright_guest.profiling.readers.reader import read_tables
from cellwright_guest.profiling.records import ProfileRequest, SkippedFile
from tests.guest.profiling.test_reading_text import pandas_reads, rows_of, rows_of_pandas

MODERATE = settings(derandomize=True)
ENDINGS = ("csv", "txt", "json", "jsonl", "parquet", "xlsx", "db", "gz", "dat", "")


def read_bytes(content: bytes, name: str) -> tuple[list[RawTable], list[SkippedFile]]:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / name
        path.write_bytes(content)
        tables, skipped, _ = read_tables(ProfileRequest(paths=(str(path),)))
        for table in tables:
            assert all(len(column.values) == table.looked_at for column in table.columns)
            assert len({column.name for column in table.columns}) == len(table.columns)
            if table.reading.format == "csv":
                frame = pandas_reads(table.reading)
                assert list(frame.columns) == [column.name for column in table.columns]
                assert rows_of_pandas(frame) == rows_of(table)
        return tables, skipped


@MODERATE
@given(content=st.binary(max_size=400), ending=st.sampled_from(ENDINGS))
@example(content=b"\xff\xfe", ending="csv")
@example(content=b"\x00", ending="csv")
@example(content=b"\xef\xbb\xbf", ending="csv")
def test_any_bytes_are_a_table_or_have_a_reason(content: bytes, ending: str) -> None:
    tables, skipped = read_bytes(content, f"data.{ending}")
    assert len(tables) + len(skipped) >= 1


TEXT = st.text(alphabet=st.sampled_from(list("abcXYZ 019.,;|\t\"'-#:/äé€\n")), max_size=12)


@MODERATE
@given(lines=st.lists(TEXT, max_size=12), ending=st.sampled_from(["csv", "txt"]))
def test_any_text_reads_as_pandas_reads_it(lines: list[str], ending: str) -> None:
    # A quoted nothing and a space alone on a line is a value to pandas and a blank line to us.
    assume(not any(re.fullmatch(r'""\s+', line) for line in lines))
    tables, skipped = read_bytes("\n".join(lines).encode(), f"data.{ending}")
    assert [table.reading.format for table in tables] == ["csv"] * (1 - len(skipped))


FIELD = st.text(alphabet=st.sampled_from(list("abcdefgh 0123456789.,;|\"'-/äé€\n")), max_size=10)


@MODERATE
@given(
    rows=st.integers(2, 5).flatmap(
        lambda width: st.lists(st.lists(FIELD, min_size=width, max_size=width), min_size=3, max_size=8)
    ),
    delimiter=st.sampled_from([",", ";", "\t", "|"]),
    end=st.sampled_from(["\n", "\r\n", "\r"]),
    encoding=st.sampled_from(["utf-8", "utf-8-sig", "utf-16", "cp1252"]),
)
def test_any_dialect_reads_as_pandas_reads_it(rows: list[list[str]], delimiter: str, end: str, encoding: str) -> None:
    written = io.StringIO()
    writer = csv.writer(written, delimiter=delimiter, lineterminator=end, quoting=csv.QUOTE_ALL)
    writer.writerow([f"name{number}" for number in range(len(rows[0]))])
    writer.writerows([[str(number), *row[1:]] for number, row in enumerate(rows)])
    tables, _ = read_bytes(written.getvalue().encode(encoding), "data.csv")
    assert tables[0].rows == len(rows)
    assert tables[0].reading.delimiter == delimiter
    # Which of the encodings with one byte a letter it is, a few letters cannot say: it is read as what was found.
    found = str(tables[0].reading.encoding) if encoding == "cp1252" else encoding
    read = [[field.encode(encoding).decode(found) or None for field in row[1:]] for row in rows]
    assert rows_of(tables[0]) == [[str(number), *row] for number, row in enumerate(read)]


@pytest.mark.sampled(3)
@pytest.mark.parametrize("ending", ENDINGS)
@pytest.mark.parametrize(
    "content",
    [b"\0", b"\xff", b"a", b"\n", b",", b'"', b"a,b\n", b"{", b"\r"],
    ids=["zeros", "ones", "letters", "lines", "commas", "quotes", "same", "braces", "returns"],
)
def test_monotonous_files_are_a_table_or_have_a_reason(content: bytes, ending: str) -> None:
    tables, skipped = read_bytes(content * 4_999, f"data.{ending}")
    assert len(tables) + len(skipped) >= 1
