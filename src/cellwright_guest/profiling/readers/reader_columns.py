"""Columns as readers make them: names as pandas gives them, rows thinned evenly while they come, values typed by arrow.

The same rows every time, in bounded memory. pyarrow ships no types of its own: the aliases only say what is meant.
"""

from __future__ import annotations

import datetime as dt
import decimal
import json
import math
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute

from cellwright_guest.profiling.raw import RawColumn, RawTable, ReadBudget, SourceFile, example
from cellwright_guest.profiling.readers.csv_dialect import is_rule
from cellwright_guest.profiling.records import LONGEST_NAME, Oddity, ReadOptions, Severity
from cellwright_guest.profiling.wording import counted, cut

Array = Any
"""`pyarrow.Array` or `pyarrow.ChunkedArray`."""
Batch = Any
"""`pyarrow.RecordBatch`."""
Table = Any
"""`pyarrow.Table`."""
Schema = Any
"""`pyarrow.Schema`."""
DataType = Any
"""`pyarrow.DataType`."""


def call(function: str, *arguments: Any, options: Any = None) -> Any:
    """One of arrow's own functions by its name."""
    return pyarrow.compute.call_function(function, list(arguments), options)


def pandas_names(header: Sequence[str]) -> list[str]:
    """What `pandas.read_csv` makes of a header line: `a.1` of a second `a`, `Unnamed: 3` of nothing."""
    unnamed = [position for position, name in enumerate(header) if name == ""]
    names = [name if name != "" else f"Unnamed: {position}" for position, name in enumerate(header)]
    present = set(names)
    counts: dict[str, int] = {}
    named = [position for position, name in enumerate(header) if name != ""]
    for position in [*named, *unnamed]:
        name = original = names[position]
        count = counts.get(name, 0)
        while count > 0:
            counts[original] = count + 1
            name = f"{original}.{count}"
            count = count + 1 if name in present else counts.get(name, 0)
        names[position] = name
        present.add(name)
        counts[name] = count + 1
    return names


def joined_names(headers: Sequence[Sequence[str]], width: int) -> list[str]:
    """One name a column of several header lines; a group's name counts for the columns to its right too."""
    told = [list(header) for header in headers if not is_rule(header)]
    rows = [[*header[:width], *[""] * (width - len(header))] for header in told]
    for row in rows[:-1]:
        for position in range(1, width):
            if not row[position].strip() and rows[-1][position].strip():
                row[position] = row[position - 1]
    joined = [" ".join(part for part in (row[position].strip() for row in rows) if part) for position in range(width)]
    return unique_names(joined)


def unique_names(names: Sequence[str]) -> list[str]:
    """Names of bounded length, none empty, none twice."""
    return pandas_names([cut(" ".join(name.split()), LONGEST_NAME) for name in names])


def numbered_names(width: int) -> list[str]:
    """Names for a table that has none."""
    return [f"column_{number}" for number in range(1, width + 1)]


@dataclass(slots=True, kw_only=True)
class RowSample:
    """Every `stride`-th row of all that were offered, in their order."""

    budget: ReadBudget
    stride: int = 1
    seen: int = 0
    """Rows offered."""
    kept: list[Batch] = field(default_factory=list[Batch])
    rows: int = 0
    bytes: int = 0

    def offer(self, batch: Batch) -> None:
        """Take the rows of `batch`, which come next, that the stride falls on."""
        first = -self.seen % self.stride
        self.seen += batch.num_rows
        if first < batch.num_rows:
            self.add(batch if self.stride == 1 else _every(batch, first, self.stride))

    def add(self, batch: Batch) -> None:
        """Keep rows that somebody chose by the stride already."""
        self.kept.append(batch)
        self.rows += batch.num_rows
        self.bytes += batch.nbytes
        while self.rows > 1 and (self.rows > self.budget.most_rows or self.bytes > self.budget.most_bytes):
            self._thin()

    def table(self, rows: int) -> Table | None:
        """What was kept of the first `rows` rows; None: no batch ever came."""
        if not self.kept:
            return None
        wanted = -(-rows // self.stride)
        return pa.Table.from_batches(self.kept).slice(0, wanted)

    def _thin(self) -> None:
        self.stride *= 2
        offset, thinned = 0, list[Batch]()
        for batch in self.kept:
            first = offset % 2
            offset += batch.num_rows
            if first < batch.num_rows:
                thinned.append(_every(batch, first, 2))
        self.kept = [thinned[0] if len(thinned) == 1 else pa.concat_batches(thinned)]
        self.rows = self.kept[0].num_rows
        self.bytes = self.kept[0].nbytes


def starting_stride(rows: int, most_rows: int) -> int:
    """Which rows to keep of about so many."""
    return max(1, -(-rows // max(1, most_rows)))


def describe_sampling(*, stride: int, seen: int, is_counted: bool, total: int) -> str:
    """How the rows were chosen, in words; empty: all of them."""
    part = "every row" if stride == 1 else f"every {ordinal(stride)}"
    if is_counted:
        return "" if stride == 1 else f"{part} of {total:,} rows"
    part = f"{part} of the first {seen:,} rows" if stride > 1 else f"the first {seen:,} rows"
    return f"{part}; there are about {total:,} in all"


def ordinal(number: int) -> str:
    """`2nd`, `50th`, `101st`."""
    if number % 100 in (11, 12, 13):
        return f"{number:,}th"
    return f"{number:,}{ {1: 'st', 2: 'nd', 3: 'rd'}.get(number % 10, 'th') }"


def _every(batch: Batch, first: int, stride: int) -> Batch:
    return batch.take(pa.array(range(first, batch.num_rows, stride), type=pa.int64()))


_LARGEST_INTEGER: Final = 2**63 - 1
_LONGEST_TEXT: Final = 1 << 20


def typed_column(name: str, values: Sequence[Any]) -> tuple[RawColumn, list[Oddity]]:
    """A column of what the values are; of text, and said, where they are of several kinds."""
    values = [_safe(value) for value in values]
    kinds = {_kind(value) for value in values if value is not None}
    if kinds == {"integer", "number"}:
        values, kinds = [None if value is None else float(value) for value in values], {"number"}
    if kinds == {"date", "datetime"}:
        days = [value if type(value) is not dt.date else dt.datetime(*value.timetuple()[:3]) for value in values]
        values, kinds = days, {"datetime"}
    if len(kinds) <= 1:
        array = _array(values)
        if array is not None:
            return RawColumn(name=name, values=array, is_text_format=False), []
    texts = [None if value is None else as_text(value) for value in values]
    return RawColumn(name=name, values=pa.array(texts, type=pa.string()), is_text_format=False), [_mixed(name, values)]


def typed_columns(names: Sequence[str], rows: Sequence[Sequence[Any]]) -> tuple[list[RawColumn], list[Oddity]]:
    """Columns of rows that are as long as `names`."""
    columns, odd = list[RawColumn](), list[Oddity]()
    for at, name in enumerate(names):
        column, noticed = typed_column(cut(name, LONGEST_NAME), [row[at] for row in rows])
        columns.append(column)
        odd.extend(noticed)
    return columns, odd


def as_text(value: Any) -> str:
    """How a value is written where it stands among others of another kind."""
    match value:
        case str():
            return value
        case bool():
            return "true" if value else "false"
        case float() if value.is_integer() and abs(value) < 1e15:
            return str(int(value))
        case dict() | list():
            return json.dumps(value, ensure_ascii=False, default=str)[:_LONGEST_TEXT]
        case bytes():
            return value[:_LONGEST_TEXT].hex()
        case dt.datetime():
            return value.isoformat(sep=" ")
        case _:
            return str(value)


def raw_table(
    source: SourceFile, reading: ReadOptions, columns: list[RawColumn], oddities: list[Oddity], *,
    rows: int, seen: int, stride: int, is_whole: bool, is_counted: bool | None = None, name: str = "",
) -> RawTable:  # fmt: skip
    """A table of a file, every `stride`-th of the rows `seen`; `is_whole`: those were all there are."""
    return RawTable(
        name=name or (f"{source.stem}_{reading.part}" if reading.part else source.stem),
        reading=reading,
        columns=columns,
        rows=rows,
        is_counted=is_whole if is_counted is None else is_counted,
        looked_at=len(columns[0].values) if columns else 0,
        sampling=describe_sampling(stride=stride, seen=seen, is_counted=is_whole, total=rows),
        bytes=source.size_bytes,
        oddities=oddities,
    )


def oddities_around(
    thing: str, before: Sequence[Sequence[str]], notes: Sequence[Sequence[str]], names: Sequence[str]
) -> Iterator[Oddity]:
    """What stands before and behind a table in its text or sheet, and columns without a name."""
    severities: tuple[tuple[Sequence[Sequence[str]], str, Severity], ...] = (
        (before, "before the table are no rows of it and are passed over", "note"),
        (notes, "at the end are notes, no rows, and are left out", "warning"),
    )
    for records, what, severity in severities:
        lines = [" ".join(cell for cell in record if cell) for record in records if any(record)]
        if lines:
            shown = tuple(example(line) for line in lines[:5])
            says = f"{counted(len(lines), thing)} {what}."
            yield Oddity(kind="footnotes", says=says, count=len(lines), examples=shown, severity=severity)
    unnamed = sum(1 for name in names if name.startswith("Unnamed: "))
    if unnamed:
        yield Oddity(kind="unnamed-columns", says=f"{counted(unnamed, 'column')} without a name.", count=unnamed)


def sampled_table(
    source: SourceFile,
    reading: ReadOptions,
    schema: Schema,
    batches: Iterable[Batch],
    sample: RowSample,
    rows: int | None,
    places: str = "",
) -> RawTable:
    """A table of batches that are typed already, read through the sample until the time is up.

    `rows` are in the whole table; None: those that come. `places`: where they stand, if only some of them come.
    """
    names, is_over = unique_names(schema.names[: sample.budget.most_columns]), False
    wanted = list(range(len(names)))
    for batch in batches:
        sample.offer(batch.select(wanted))
        is_over = sample.budget.is_spent
        if is_over:
            break
    kept = sample.table(sample.seen)
    held = (schema.empty_table() if kept is None else kept).columns
    table = raw_table(
        source,
        reading,
        [RawColumn(name=name, values=values, is_text_format=False) for name, values in zip(names, held, strict=False)],
        [],
        rows=sample.seen if rows is None else rows,
        seen=sample.seen,
        stride=sample.stride,
        is_whole=not places and not is_over,
        is_counted=rows is not None or not is_over,
    )
    if places and not is_over:
        table.sampling = f"every {ordinal(max(2, sample.stride))} of {sample.seen:,} rows in {places}"
    return table


def _safe(value: Any) -> Any:
    match value:
        case bool():
            return value
        case int() if abs(value) > _LARGEST_INTEGER:
            return float(value) if abs(value) < 2**1000 else str(value.bit_length()) + " bits"
        case float() if math.isnan(value):
            return None
        case str():
            return value if value.isascii() else value.encode("utf-8", "replace").decode()
        case dt.timedelta():
            return value.total_seconds()
        case _:
            return value


_KINDS: Final[dict[type, str]] = {
    bool: "yes or no", int: "integer", float: "number", decimal.Decimal: "number", str: "text", bytes: "bytes",
    dt.datetime: "datetime", dt.date: "date", dt.time: "time", list: "list", dict: "object",
}  # fmt: skip


def _kind(value: Any) -> str:
    return _KINDS.get(type(value)) or type(value).__name__


def _array(values: Sequence[Any]) -> Any:
    try:
        return pa.array(values)
    except (pa.ArrowException, TypeError, ValueError, OverflowError, RecursionError):
        return None


def _mixed(name: str, values: Sequence[Any]) -> Oddity:
    there = [value for value in values if value is not None]
    kinds = Counter(map(_kind, there))
    first = {kind: next(value for value in there if _kind(value) == kind) for kind in sorted(kinds)[:4]}
    what = ", ".join(f"{kind} ({example(as_text(value))!r})" for kind, value in first.items())
    says = f"{name!r} holds values of {counted(len(kinds), 'kind')}: {what}."
    rarer = kinds.total() - max(kinds.values(), default=0)
    return Oddity(kind="mixed-types", says=says, column=name, count=rarer)
