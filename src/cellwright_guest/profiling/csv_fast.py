"""The rows of a large and regular text, by arrow's parser; whatever is irregular is left to `csv_rows`."""

from __future__ import annotations

import codecs
from typing import IO, Any, Final

import pyarrow as pa
from pyarrow import csv as arrow_csv

from cellwright_guest.profiling.arrow import Batch, call
from cellwright_guest.profiling.csv_dialect import SPACES
from cellwright_guest.profiling.csv_rows import Rows, Text
from cellwright_guest.profiling.sampling import Sample
from cellwright_guest.profiling.text_encoding import OpenedBytes

_BLOCK_BYTES: Final = 1 << 19
_MOST_REMEMBERED: Final = 20


def is_worth_trying(text: Text) -> bool:
    """Arrow reads such a text as pandas does."""
    return (
        text.width > 1 and text.dialect.delimiter != SPACES and not text.dialect.skips_spaces and not text.layout.is_cut
    )


def stream_fast(text: Text, sample: Sample) -> Rows | None:
    """All rows, counted and sampled; None: something is irregular, and nothing was promised."""
    found = Rows(sample=sample)
    names = [str(number) for number in range(text.layout.width)]
    wanted, last = names[: text.width], None
    try:
        with (
            OpenedBytes(text.path, text.compression) as opened,
            _reader(text, _Recoded(opened.stream, text.encoding), names, wanted) as reader,
        ):
            for batch in reader:
                if not batch.num_rows:
                    continue
                _note_repeated(found, batch, text)
                sample.offer(batch)
                last = batch
                if sample.allowance.is_spent:
                    found.is_counted = False
                    break
            found.rows, found.read_bytes = sample.seen, opened.consumed
    except (pa.ArrowException, UnicodeError, ValueError):
        return None
    return None if last is None or (found.is_counted and _may_be_unclosed(last)) else found


class _Recoded:
    """A file of bytes in UTF-8, whatever it was in before."""

    closed = False

    def __init__(self, stream: IO[bytes], encoding: str) -> None:
        self._stream = stream
        self._decoder = None if encoding == "utf-8" else codecs.getincrementaldecoder(encoding)("replace")

    def read(self, size: int = -1) -> bytes:
        data = self._stream.read(size)
        while self._decoder is not None:
            text = self._decoder.decode(data, final=not data)
            if text or not data:
                return text.encode("utf-8", "replace")
            data = self._stream.read(size)
        return data

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return False

    def writable(self) -> bool:
        return False

    def close(self) -> None:
        self.closed = True


def _reader(text: Text, stream: _Recoded, names: list[str], wanted: list[str]) -> Any:
    dialect = text.dialect
    return arrow_csv.open_csv(
        stream,
        read_options=arrow_csv.ReadOptions(
            use_threads=False,
            block_size=_BLOCK_BYTES,
            column_names=names,
            skip_rows_after_names=text.layout.first_row,
        ),
        parse_options=arrow_csv.ParseOptions(
            delimiter=dialect.delimiter, quote_char=dialect.quote or False, newlines_in_values=bool(dialect.quote)
        ),
        convert_options=arrow_csv.ConvertOptions(
            column_types=dict.fromkeys(names, pa.string()),
            include_columns=wanted,
            strings_can_be_null=True,
            quoted_strings_can_be_null=True,
            null_values=[""],
        ),
    )


def _note_repeated(found: Rows, batch: Batch, text: Text) -> None:
    header = text.layout.header
    if not header or not header[0]:
        return
    same = call("equal", batch.column(0), pa.scalar(header[0]))
    if not call("any", same).as_py():
        return
    for at in call("indices_nonzero", same).to_pylist():
        row = [batch.column(number)[at].as_py() or "" for number in range(batch.num_columns)]
        if row == header[: batch.num_columns]:
            found.repeated += 1
            if len(found.repeated_rows) < _MOST_REMEMBERED:
                found.repeated_rows.append(found.sample.seen + at)


def _may_be_unclosed(last: Batch) -> bool:
    """The last row has a line's end in it: a quote may never have closed."""
    row = [column[last.num_rows - 1].as_py() or "" for column in last.columns]
    return any("\n" in cell or "\r" in cell for cell in row)
