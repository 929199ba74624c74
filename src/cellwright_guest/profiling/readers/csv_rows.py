"""The rows of a text, streamed through a sample: exactly as pandas would read them, in bounded memory."""

from __future__ import annotations

import csv
import io
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Final

import pyarrow as pa

from cellwright_guest.profiling.raw import NotReadable, SourceFile
from cellwright_guest.profiling.readers.csv_dialect import LONGEST_FIELD, Dialect, DialectGuess, is_blank, records
from cellwright_guest.profiling.readers.csv_layout import TableLayout, count_notes
from cellwright_guest.profiling.readers.formats import Encoding, OpenedBytes
from cellwright_guest.profiling.readers.reader_columns import Array, Batch, RowSample

_LAST: Final = 40
_BATCH_ROWS: Final = 2_000
_BATCH_CHARACTERS: Final = 4 << 20
_LONGEST_LINE: Final = 64 << 20
_ROWS_AT_LEAST: Final = 20_000
"""So many are read however little time is left."""
_MOST_REMEMBERED: Final = 20
# No text that anybody writes; if it turns up inside a field, that field's quote was never closed.
_END: Final = "\ue0ff\ue0fe\ue0ff"


class UnclosedQuote(Exception):
    """A quote opens and never closes: quotes have no meaning in this file."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TextFile:
    """A text file and how it is read."""

    source: SourceFile
    compression: str
    encoding: Encoding
    is_whole: bool
    """The beginning that was looked at is all of it."""
    guess: DialectGuess
    layout: TableLayout
    width: int
    """Columns that are read."""

    @property
    def dialect(self) -> Dialect:
        """How its lines become fields."""
        return self.guess.dialect


@dataclass(slots=True, kw_only=True)
class Rows:
    """What came of the rows."""

    sample: RowSample
    rows: int = 0
    """Data rows seen, notes not among them."""
    is_counted: bool = True
    read_bytes: int = 0
    notes: list[list[str]] = field(default_factory=list[list[str]])
    """Records at the end that are no rows, blank ones too."""
    short: int = 0
    """Rows with fewer fields than columns."""
    long: int = 0
    """Rows with more, of which something is lost."""
    has_extra_fields: bool = False
    """Some row has more fields than columns, empty or not."""
    ragged_rows: list[int] = field(default_factory=list[int])
    repeated_rows: list[int] = field(default_factory=list[int])
    repeated: int = 0


def stream_rows(text: TextFile, sample: RowSample) -> Rows:
    """Read all rows one by one; stops when the time is up. Raises `UnclosedQuote`, `NotReadable`."""
    fresh = RowSample(budget=sample.budget, stride=sample.stride)
    try:
        return _from_file(text, sample, is_strict=True)
    except csv.Error:
        pass
    try:
        return _from_file(text, fresh, is_strict=False)
    except csv.Error as error:
        if text.dialect.quote:
            raise UnclosedQuote from error
        raise NotReadable(f"it has a field of more than {LONGEST_FIELD >> 20} MB") from error


def _from_file(text: TextFile, sample: RowSample, *, is_strict: bool) -> Rows:
    with OpenedBytes(text.source.path, text.compression) as opened:
        wrapper = io.TextIOWrapper(opened.stream, encoding=text.encoding.name, errors="replace", newline="")
        try:
            found = _stream(text, sample, _lines(wrapper), is_strict=is_strict)
            found.read_bytes = opened.consumed
        finally:
            wrapper.detach()
        return found


def _lines(wrapper: io.TextIOWrapper) -> Iterator[str]:
    while line := wrapper.readline(_LONGEST_LINE):
        if len(line) == _LONGEST_LINE:
            raise NotReadable(f"it has a line of more than {_LONGEST_LINE >> 20} MB")
        yield line
    yield _END + "\n"


def _stream(text: TextFile, sample: RowSample, lines: Iterator[str], *, is_strict: bool) -> Rows:
    found, batch = Rows(sample=sample), _Batch(width=text.width, sample=sample)
    last: deque[list[str]] = deque(maxlen=_LAST)
    position = 0
    for block in _blocks(records(lines, text.dialect, is_strict=is_strict), text.layout.first_row):
        last.extend(block)
        rows = block if _is_regular(block, text.layout) else _noted(found, block, text, position)
        batch.add(rows[-position % sample.stride :: sample.stride])
        position += len(rows)
        if position >= _ROWS_AT_LEAST and sample.budget.is_spent:
            found.is_counted = False
            break
    batch.flush()
    sample.seen = found.rows = position
    # Only pandas' strict parser can leave lines at the end out: where it would fail, notes stay rows.
    return _without_notes(found, list(last), text.layout.width) if found.is_counted and is_strict else found


def _blocks(reader: Iterator[list[str]], first: int) -> Iterator[list[list[str]]]:
    """The records from the `first` on, up to the mark behind the last; several at once, which is faster."""
    while block := list(islice(reader, _LAST)):
        if block[-1] and _END in block[-1][-1] and block.pop() != [_END]:
            raise UnclosedQuote
        yield block[first:]
        first = max(0, first - len(block))


def _is_regular(block: Sequence[Sequence[str]], layout: TableLayout) -> bool:
    """Every record is a row, and nothing is odd about its fields."""
    return layout.width > 1 and {*map(len, block)} == {layout.width} and layout.header not in block


def _noted(found: Rows, block: Sequence[list[str]], text: TextFile, position: int) -> list[list[str]]:
    """The records without blank ones; what is odd about them is noted."""
    width, header = text.layout.width, text.layout.header
    rows = [
        record
        for record in block
        if (len(record) == width and width > 1) or not is_blank(record, skips_spaces=text.dialect.skips_spaces)
    ]
    for number, record in enumerate(rows, position):
        if len(record) != width:
            _note_ragged(found, record, width, number)
        if header and record == header:
            found.repeated += 1
            if len(found.repeated_rows) < _MOST_REMEMBERED:
                found.repeated_rows.append(number)
    return rows


@dataclass(slots=True, kw_only=True)
class _Batch:
    """Rows on their way from Python's lists to columns of arrow."""

    width: int
    sample: RowSample
    records: list[list[str]] = field(default_factory=list[list[str]])
    characters: int = 0

    def add(self, records: Sequence[list[str]]) -> None:
        """Keep the records."""
        self.records += records
        self.characters += sum(sum(map(len, record)) for record in records)
        if len(self.records) >= _BATCH_ROWS or self.characters > _BATCH_CHARACTERS:
            self.flush()

    def flush(self) -> None:
        """Hand the records on."""
        if self.records:
            self.sample.add(to_batch(self.records, self.width))
            self.records, self.characters = [], 0


def to_batch(rows: Sequence[Sequence[str]], width: int) -> Batch:
    """Columns of text, null where a field is empty or missing."""
    even = [row if len(row) == width else [*row[:width], *[""] * (width - len(row))] for row in rows]
    columns = list(zip(*even, strict=True)) if even else [()] * width
    return pa.RecordBatch.from_arrays([_column(cells) for cells in columns], names=list(map(str, range(width))))


def _column(cells: Iterable[str]) -> Array:
    texts = [cell or None for cell in cells]
    try:
        return pa.array(texts, type=pa.string())
    except UnicodeEncodeError:
        # Lone surrogates, which UTF-8 cannot hold.
        return pa.array([text and text.encode("utf-8", "replace").decode() for text in texts], type=pa.string())


def _note_ragged(found: Rows, record: Sequence[str], width: int, position: int) -> None:
    if len(record) < width:
        found.short += 1
    else:
        found.has_extra_fields = True
        if not any(cell.strip() for cell in record[width:]):
            return
        found.long += 1
    if len(found.ragged_rows) < _MOST_REMEMBERED + _LAST:
        found.ragged_rows.append(position)


def _without_notes(found: Rows, last: list[list[str]], width: int) -> Rows:
    notes = count_notes(last[-min(len(last), found.rows + _LAST) :], width)
    found.notes = last[len(last) - notes :] if notes else []
    dropped = [record for record in found.notes if not is_blank(record)]
    found.rows -= len(dropped)
    ragged = [record for record in dropped if len(record) != width]
    found.short -= sum(1 for record in ragged if len(record) < width)
    found.long -= sum(1 for record in ragged if len(record) > width and any(cell.strip() for cell in record[width:]))
    found.ragged_rows = [row for row in found.ragged_rows if row < found.rows][:_MOST_REMEMBERED]
    return found
