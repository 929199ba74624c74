"""A file of text becomes a table."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final

import pyarrow as pa

from cellwright_guest.profiling.csv_dialect import Guess, guess_dialect, judge
from cellwright_guest.profiling.csv_layout import lay_out
from cellwright_guest.profiling.csv_oddities import text_oddities
from cellwright_guest.profiling.csv_rows import Rows, Text, UnclosedQuote, stream_rows, to_batch
from cellwright_guest.profiling.formats import is_surely_a_table
from cellwright_guest.profiling.raw import RawColumn, RawTable
from cellwright_guest.profiling.records import Reading
from cellwright_guest.profiling.sampling import Sample, starting_stride, told
from cellwright_guest.profiling.sources import Allowance, NotReadable, Source
from cellwright_guest.profiling.text_encoding import Encoding, find_encoding

_LOOK_BYTES: Final = 1 << 16
_LOOKS: Final = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class _Opened:
    """What is known before the rows are read."""

    source: Source
    compression: str
    encoding: Encoding
    head: str
    is_whole: bool


def read_text(source: Source, allowance: Allowance, *, head: bytes, compression: str) -> RawTable:
    """The table in a text; raises `NotReadable`."""
    encoding = find_encoding(source.path, compression, head)
    is_whole = not compression and len(head) >= source.size_bytes
    text = _decoded(head, encoding, is_whole)
    opened = _Opened(source=source, compression=compression, encoding=encoding, head=text, is_whole=is_whole)
    guess = guess_dialect(text, is_whole=is_whole, is_surely_a_table=is_surely_a_table(source))
    if guess is None:
        raise NotReadable("it is text, but no table")
    try:
        return _read_as(opened, guess, allowance)
    except UnclosedQuote:
        plain = guess_dialect(text.replace('"', "").replace("'", ""), is_whole=is_whole, is_surely_a_table=True)
        return _read_as(opened, _unquoted(opened, plain or guess), allowance)


def _decoded(head: bytes, encoding: Encoding, is_whole: bool) -> str:
    """The beginning as text, without half a character at its end."""
    text = head.decode(encoding.name, "replace")
    return text if is_whole else text.rstrip("\ufffd")


def _unquoted(opened: _Opened, guess: Guess) -> Guess:
    """The same dialect without quotes, with the records that this makes of the text."""
    return judge(opened.head, replace(guess.dialect, quote="", skips_spaces=False), opened.is_whole)


def _read_as(opened: _Opened, guess: Guess, allowance: Allowance) -> RawTable:
    layout = lay_out(guess)
    text = Text(
        path=opened.source.path,
        compression=opened.compression,
        encoding=opened.encoding.name,
        dialect=guess.dialect,
        layout=layout,
        width=min(layout.width, allowance.most_columns),
    )
    rows = stream_rows(text, Sample(allowance=allowance, stride=_stride(opened, allowance)))
    sample = rows.sample.table(rows.rows)
    if sample is None:
        sample = pa.Table.from_batches([to_batch([], text.width)])
    total = rows.rows if rows.is_counted else _estimate(rows, opened)
    return RawTable(
        name=opened.source.stem,
        reading=_reading(opened, text, rows, guess),
        columns=[
            RawColumn(name=name, values=values, is_text_format=True)
            for name, values in zip(layout.names[: text.width], sample.columns, strict=True)
        ],
        rows=total,
        is_counted=rows.is_counted,
        looked_at=sample.num_rows,
        sampling=told(stride=rows.sample.stride, seen=rows.rows, is_counted=rows.is_counted, total=total),
        bytes=opened.source.size_bytes,
        oddities=text_oddities(text, rows, opened.encoding, guess, sample),
    )


def _stride(opened: _Opened, allowance: Allowance) -> int:
    """By about how many rows there are; none is left out where that is not sure."""
    if opened.is_whole or opened.compression:
        return 1
    size = opened.source.size_bytes
    with opened.source.path.open("rb") as stream:
        blocks = list[bytes]()
        for part in range(_LOOKS):
            stream.seek(part * (size - _LOOK_BYTES) // (_LOOKS - 1))
            blocks.append(stream.read(_LOOK_BYTES))
    lines = sum(block.count(b"\n") or block.count(b"\r") for block in blocks)
    rows = int(size / (_LOOKS * _LOOK_BYTES) * lines)
    if rows < 1.5 * allowance.most_rows:
        return 1
    return starting_stride(int(rows * 1.05), allowance.most_rows)


def _estimate(rows: Rows, opened: _Opened) -> int:
    return max(rows.rows, int(rows.rows * opened.source.size_bytes / max(1, rows.read_bytes)))


def _reading(opened: _Opened, text: Text, rows: Rows, guess: Guess) -> Reading:
    layout, is_cut = text.layout, rows.has_extra_fields or text.width < text.layout.width
    return Reading(
        path=opened.source.shown,
        format="csv",
        encoding=text.encoding,
        delimiter=text.dialect.delimiter,
        quote=text.dialect.quote,
        header_rows=() if layout.is_named_by_hand else (0,),
        skip_first=_lines_to_skip(
            guess, layout.first_row if layout.is_named_by_hand else layout.start, bool(rows.notes)
        ),
        skip_last=len(rows.notes),
        compression=text.compression,
        names=tuple(layout.names[: text.width]) if layout.is_named_by_hand else (),
        width=text.width if is_cut else 0,
        skips_spaces=text.dialect.skips_spaces,
    )


def _lines_to_skip(guess: Guess, first: int, is_python_engine: bool) -> int:
    """How many lines to tell pandas to skip so that it begins with the record `first`."""
    # Blank lines right before are passed over anyway.
    while first and not guess.records[first - 1]:
        first -= 1
    if is_python_engine:
        return first
    # The C engine takes a skipped line that is a carriage return alone together with the next one.
    at = count = 0
    while at < first:
        at += 2 if at in guess.bare_returns else 1
        count += 1
    return count
