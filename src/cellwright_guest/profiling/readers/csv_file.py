"""A file of text becomes a table, and what was noticed on the way is said in plain sentences."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from typing import Any, Final

import pyarrow as pa
from pyarrow import compute

from cellwright_guest.profiling.raw import NotReadable, RawColumn, RawTable, ReadBudget, SourceFile, example
from cellwright_guest.profiling.readers import reader_columns
from cellwright_guest.profiling.readers.csv_dialect import DialectGuess, guess_dialect, judge
from cellwright_guest.profiling.readers.csv_layout import find_layout
from cellwright_guest.profiling.readers.csv_rows import Rows, TextFile, UnclosedQuote, stream_rows, to_batch
from cellwright_guest.profiling.readers.formats import find_encoding, is_surely_a_table
from cellwright_guest.profiling.records import Oddity, ReadOptions
from cellwright_guest.profiling.wording import counted

HUGE_CHARACTERS: Final = 100_000
_READ_TWICE: Final = "Ã[¤¶¼Ÿ©¨ª«§±³²´®¯º¹»¸¦¡¢£¥]|â€[™œž“”¦]|Â[°£€§ ]"
"""UTF-8 that somebody once took for Windows' own encoding and saved again."""


def text_oddities(text: TextFile, rows: Rows, sample: reader_columns.Table) -> list[Oddity]:
    """Everything about the file and its lines; what the values mean is for others to say."""
    return [*_of_encoding(text, sample), *_of_names(text), *_of_lines(text, rows), *_of_fields(text, sample)]


def _of_encoding(text: TextFile, sample: reader_columns.Table) -> Iterator[Oddity]:
    encoding = text.encoding
    if encoding.is_guessed:
        says = f"Nothing in the file says how its characters are encoded; it was read as {encoding.name}."
        yield Oddity(kind="encoding-guessed", says=says, severity="note")
    if encoding.bad_bytes:
        says = f"{counted(encoding.bad_bytes, 'byte')} could not be read as {encoding.name} and stand as �."
        yield Oddity(kind="wrong-encoding", says=says, count=encoding.bad_bytes)
    for name, values in zip(text.layout.names, sample.columns, strict=False):
        hits = reader_columns.call("match_substring_regex", values, options=compute.MatchSubstringOptions(_READ_TWICE))
        if count := reader_columns.call("sum", hits).as_py() or 0:
            shown = values.filter(hits)[0].as_py()
            says = f"{counted(count, 'value')} of {name!r} were saved in a wrong encoding once, "
            says += f"such as {example(shown)!r}."
            yield Oddity(kind="wrong-encoding", says=says, column=name, count=count, examples=(example(shown),))


def _of_names(text: TextFile) -> Iterator[Oddity]:
    header = text.layout.header
    twice = [name for name, count in Counter(header).items() if count > 1 and name]
    if twice:
        shown = tuple(example(name) for name in twice[:5])
        verb = "stands" if len(twice) == 1 else "stand"
        says = f"{counted(len(twice), 'column name')} {verb} more than once: {', '.join(map(repr, shown))}."
        yield Oddity(kind="duplicate-names", says=says, count=len(twice), examples=shown)
    if not header:
        says = "The file has no line of names: the columns were numbered."
        yield Oddity(kind="unnamed-columns", says=says, count=text.layout.width, severity="note")


def _of_lines(text: TextFile, rows: Rows) -> Iterator[Oddity]:
    yield from reader_columns.oddities_around(
        "line", text.guess.records[: text.layout.start], rows.notes, text.layout.names
    )
    if rows.repeated:
        says = f"The line of names is repeated {counted(rows.repeated, 'time')} among the rows."
        values = tuple(example(name) for name in text.layout.header[:1])
        yield Oddity(
            kind="repeated-header", says=says, count=rows.repeated, rows=tuple(rows.repeated_rows), values=values
        )
    told = [f"{counted(rows.short, 'row')} with fewer fields than columns (the rest is empty)"] if rows.short else []
    told += [f"{counted(rows.long, 'row')} with more (what is too much is not read)"] if rows.long else []
    if told:
        says = f"Rows of different lengths: {', '.join(told)}."
        count = rows.short + rows.long
        severity = "problem" if rows.long else "warning"
        yield Oddity(kind="ragged-rows", says=says, count=count, rows=tuple(rows.ragged_rows[:20]), severity=severity)
    if not text.dialect.quote and text.dialect.delimiter != r"\s+":
        says = "A quote opens and never closes: quotes are read as plain characters."
        yield Oddity(kind="ragged-rows", says=says, count=1)


def _of_fields(text: TextFile, sample: reader_columns.Table) -> Iterator[Oddity]:
    if text.width < text.layout.width:
        says = f"Only the first {text.width:,} of {text.layout.width:,} columns were read."
        yield Oddity(kind="not-read", says=says, count=text.layout.width - text.width)
    for name, values in zip(text.layout.names, sample.columns, strict=False):
        longest = reader_columns.call("max", reader_columns.call("utf8_length", values)).as_py() or 0
        if longest > HUGE_CHARACTERS:
            says = f"The longest value of {name!r} has {longest:,} characters."
            yield Oddity(kind="huge-fields", says=says, column=name, count=longest)


_LOOK_BYTES: Final = 1 << 16
_LOOKS: Final = 8


def read_text(source: SourceFile, budget: ReadBudget, *, head: bytes, compression: str) -> RawTable:
    """The table in a text; raises `NotReadable`."""
    encoding = find_encoding(source.path, compression, head)
    is_whole = not compression and len(head) >= source.size_bytes
    # Without half a character at the end of a beginning.
    text = head.decode(encoding.name, "replace") if is_whole else head.decode(encoding.name, "replace").rstrip("\ufffd")
    guess = guess_dialect(text, is_whole=is_whole, is_surely_a_table=is_surely_a_table(source))
    if guess is None:
        raise NotReadable("it is text, but no table")
    file = TextFile(
        source=source, compression=compression, encoding=encoding, is_whole=is_whole, **_laid_out(guess, budget)
    )
    try:
        return _read(file, budget)
    except UnclosedQuote:
        plain = guess_dialect(text.replace('"', "").replace("'", ""), is_whole=is_whole, is_surely_a_table=True)
        unquoted = judge(text, replace((plain or guess).dialect, quote="", skips_spaces=False), is_whole)
        return _read(replace(file, **_laid_out(unquoted, budget)), budget)


def _laid_out(guess: DialectGuess, budget: ReadBudget) -> dict[str, Any]:
    layout = find_layout(guess.records, guess.width)
    return {"guess": guess, "layout": layout, "width": min(layout.width, budget.most_columns)}


def _read(text: TextFile, budget: ReadBudget) -> RawTable:
    rows = stream_rows(text, reader_columns.RowSample(budget=budget, stride=_stride(text, budget)))
    sample = rows.sample.table(rows.rows)
    if sample is None:
        sample = pa.Table.from_batches([to_batch([], text.width)])
    size = text.source.size_bytes
    total = rows.rows if rows.is_counted else max(rows.rows, int(rows.rows * size / max(1, rows.read_bytes)))
    names = text.layout.names[: text.width]
    columns = [
        RawColumn(name=name, values=values, is_text_format=True)
        for name, values in zip(names, sample.columns, strict=True)
    ]
    reading, odd, stride = _reading(text, rows), text_oddities(text, rows, sample), rows.sample.stride
    return reader_columns.raw_table(
        text.source, reading, columns, odd, rows=total, seen=rows.rows, stride=stride, is_whole=rows.is_counted
    )


def _stride(text: TextFile, budget: ReadBudget) -> int:
    """By about how many rows there are; none is left out where that is not sure."""
    if text.is_whole or text.compression:
        return 1
    size = text.source.size_bytes
    with text.source.path.open("rb") as stream:
        blocks = list[bytes]()
        for part in range(_LOOKS):
            stream.seek(part * (size - _LOOK_BYTES) // (_LOOKS - 1))
            blocks.append(stream.read(_LOOK_BYTES))
    lines = sum(block.count(b"\n") or block.count(b"\r") for block in blocks)
    rows = int(size / (_LOOKS * _LOOK_BYTES) * lines)
    if rows < 1.5 * budget.most_rows:
        return 1
    return reader_columns.starting_stride(int(rows * 1.05), budget.most_rows)


def _reading(text: TextFile, rows: Rows) -> ReadOptions:
    layout, is_cut = text.layout, rows.has_extra_fields or text.width < text.layout.width
    first = layout.first_row if layout.is_named_by_hand else layout.start
    return ReadOptions(
        path=text.source.shown,
        format="csv",
        encoding=text.encoding.name,
        delimiter=text.dialect.delimiter,
        quote=text.dialect.quote,
        header_rows=() if layout.is_named_by_hand else (0,),
        skip_first=_lines_to_skip(text.guess, first, bool(rows.notes)),
        skip_last=len(rows.notes),
        compression=text.compression,
        names=tuple(layout.names[: text.width]) if layout.is_named_by_hand else (),
        width=text.width if is_cut else 0,
        skips_spaces=text.dialect.skips_spaces,
    )


def _lines_to_skip(guess: DialectGuess, first: int, is_python_engine: bool) -> int:
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
