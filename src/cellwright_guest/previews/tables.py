"""DataFrames, Series and relations: shape, types, nulls, ranges and first rows with their labels.

Nothing is collected, executed or copied. polars is asked only what it answers without starting threads:
a fork of a process in which they have started hangs.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from time import monotonic
from typing import Any, Final

from cellwright_guest.previews import columns, identity
from cellwright_guest.previews.plain import ELLIPSIS, one_line
from cellwright_guest.previews.plain import brief as brief_builtin

_COLUMN_SHARE: Final = 0.6
_HEAD_ROWS: Final = 5
_SMALL_ROWS: Final = 20
"""A table of no more is shown whole, if there is room."""
_SMALL_WIDTH: Final = 40
_ROW_ROOM: Final = 120
"""Characters of a row that are never too many."""
_NAME_LENGTH: Final = 120
_NUMPY_KINDS: Final = frozenset("biufcSUOV")


@dataclass(frozen=True, slots=True, kw_only=True)
class TableSource:
    """A table of any library, with its columns behind a function so that only the shown ones are touched."""

    rows: int | None
    width: int
    source: Callable[[int], tuple[str, columns.ColumnSource | str]]
    """Name, and where its values are; or only the name of its type."""
    note: str = ""
    is_series: bool = False
    labels: Callable[[int], tuple[str, list[str]]] = lambda _: ("", [])
    """What the rows' labels are called, and those of the first rows; none where rows are only numbered."""

    def headline(self) -> str:
        """`1,000 rows × 3 columns`."""
        if self.is_series:
            return f"{self.rows:,} value{'s' * (self.rows != 1)}" + (f", {self.note}" if self.note else "")
        width = f"{self.width:,} column{'s' * (self.width != 1)}"
        shape = width if self.rows is None else f"{self.rows:,} row{'s' * (self.rows != 1)} × {width}"
        return f"{shape}, {self.note}" if self.note else shape


def table_of(value: Any, kind: type, packages: set[str]) -> tuple[str, TableSource] | None:
    """(`dataframe` or `series`, table) when the value is one, by whichever loaded library."""
    if "pandas" in packages:
        return _pandas(value, kind)
    if "polars" in packages:
        return _polars(value, kind)
    if "pyarrow" in packages:
        return _arrow(value, kind)
    if packages & {"duckdb", "_duckdb"} and kind.__name__ == "DuckDBPyRelation":
        return _unread(list(zip(value.columns, value.types, strict=True)), "not executed")
    return None


def text(table: TableSource, room: int, brief: columns.Brief) -> str:
    """The whole preview: all rows of a small table, else a line for each column and the first rows."""
    headline = table.headline()
    if table.rows and table.rows <= _SMALL_ROWS and table.width <= _SMALL_WIDTH:
        shown = [column for _, column in _described(table, table.rows, brief) if column is not None]
        rows = _rows([column.title() for column in shown], shown, table.labels(table.rows)) if shown else []
        if rows and len(headline) + len("\nrows:") + sum(len(line) + 1 for line in rows) <= room:
            return "\n".join([headline, "rows:", *rows])
    return "\n".join(_begun(table, headline, room, brief))


def _begun(table: TableSource, headline: str, room: int, brief: columns.Brief) -> list[str]:
    """A line for each column, as many as there is room for, and the first rows."""
    lines, shown = [headline], list[columns.ColumnPreview]()
    budget = int((room - len(headline)) * _COLUMN_SHARE)
    head_rows = 2 * _HEAD_ROWS if room > 1_200 else _HEAD_ROWS
    for count, (line, column) in enumerate(_described(table, head_rows, brief)):
        if budget < len(line) + 1 and count:
            lines.append(f"{ELLIPSIS} {table.width - count:,} more columns")
            break
        lines.append(line)
        budget -= len(line) + 1
        if column is not None:
            shown.append(column)
    if not shown or not shown[0].head:
        return lines
    titles, *rows = _rows([column.name for column in shown], shown, table.labels(len(shown[0].head)))
    first = ["first rows:"] if len(shown) == 1 else ["first rows:", titles]
    left = room - sum(len(line) + 1 for line in [*lines, *first])
    kept = sum(end <= left for end in itertools.accumulate(len(row) + 1 for row in rows))
    return [*lines, *first, *rows[:kept]] if kept else lines


def _described(
    table: TableSource, head_rows: int, brief: columns.Brief
) -> Iterator[tuple[str, columns.ColumnPreview | None]]:
    until = monotonic() + columns.EXACT_SECONDS
    for index in range(table.width):
        name, source = table.source(index)
        if isinstance(source, str):
            yield f"{name}: {source}", None
        else:
            column = columns.describe(name, source, rows=table.rows or 0, head_rows=head_rows, brief=brief, until=until)
            yield column.line(), column


def _rows(titles: list[str], shown: list[columns.ColumnPreview], labels: tuple[str, list[str]]) -> list[str]:
    """A line of titles and a line for each row, with their labels."""
    heads = [column.head for column in shown]
    if labels[1]:
        heads, titles = [labels[1], *heads], [labels[0], *titles]
    # Blanks inside quotes stay as they are.
    cells = [[value if value.isprintable() else one_line(value) for value in head] for head in heads]
    same = [_in_common(head) for head in cells]
    return [" | ".join(titles), *(_row(row, same) for row in zip(*cells, strict=True))]


def _in_common(texts: list[str]) -> tuple[int, int]:
    """How many characters all of them begin and end with."""
    least, most = min(texts), max(texts)
    if least == most:
        return 0, 0
    start = _same_start(least, most)
    rests = [text[start:][::-1] for text in texts]
    return start, _same_start(min(rests), max(rests))


def _same_start(one: str, other: str) -> int:
    return sum(1 for _ in itertools.takewhile(lambda pair: pair[0] == pair[1], zip(one, other, strict=False)))


def _row(cells: tuple[str, ...], same: list[tuple[int, int]]) -> str:
    """One line; where it is long, its longest values are cut, none shorter than `CELL_ROOM`."""
    longest, room = max(map(len, cells)), max(_ROW_ROOM, columns.CELL_ROOM * len(cells))
    while longest > columns.CELL_ROOM and sum(min(len(each), longest) for each in cells) > room:
        longest -= 1
    return " | ".join(_cut(each, longest, *ends) for each, ends in zip(cells, same, strict=True))


def _cut(text: str, longest: int, start: int, end: int) -> str:
    """Both ends of it, and what tells it from the others of its column, if that is short enough."""
    own = text[start : len(text) - end]
    half = (longest - len(own)) // 2
    if len(text) <= longest or half < 3:
        return columns.cut_middle(text, longest)
    return (
        columns.cut_middle(text[:start], longest - len(own) - min(half, end))
        + own
        + (columns.cut_middle(text[len(text) - end :], max(half, longest - len(own) - start)))
    )


def _named(value: Any, room: int) -> str:
    return brief_builtin(value, room, lambda other, _, __: f"<{identity.qualified_name(type(other))}>")


def _label(name: Any) -> str:
    if type(name) is tuple:
        return f"({', '.join(_label(part) for part in name[:4])})"
    shown = name if type(name) is str else columns.cell(name, _named)
    shown = shown if len(shown) <= _NAME_LENGTH else f"{shown[:_NAME_LENGTH]}{ELLIPSIS}"
    # Code must name it exactly so.
    return shown if shown and shown == one_line(shown) else repr(shown)


def _series(rows: int, name: str, source: columns.ColumnSource, **more: Any) -> tuple[str, TableSource]:
    return "series", TableSource(rows=rows, width=1, is_series=True, source=lambda _: (name, source), **more)


# ── pandas ──


def _pandas(value: Any, kind: type) -> tuple[str, TableSource] | None:
    if identity.is_kind(kind, "pandas", "DataFrame"):
        labels = value.columns

        def source(index: int) -> tuple[str, columns.ColumnSource]:
            return _label(labels[index]), _pandas_source(value.iloc[:, index])

        shape = {"rows": len(value), "width": len(labels)}
        return "dataframe", TableSource(**shape, source=source, **_pandas_index(value.index))
    if identity.is_kind(kind, "pandas", "Series"):
        name = _label(value.name) if value.name is not None else "values"
        return _series(len(value), name, _pandas_source(value), **_pandas_index(value.index))
    if identity.is_kind(kind, "pandas", "Index") and not identity.is_kind(kind, "pandas", "MultiIndex"):
        return _series(len(value), "index", _pandas_source(value))
    return None


def _pandas_source(series: Any) -> columns.ColumnSource:
    dtype = series.dtype
    if getattr(dtype, "kind", "") in _NUMPY_KINDS and identity.is_kind(type(dtype), "numpy", "dtype"):
        if identity.is_kind(type(series), "pandas", "RangeIndex"):
            return columns.PandasColumn(series)
        return columns.NumpyColumn(series.to_numpy(copy=False))
    values = series.array
    stored = getattr(values, "_pa_array", None)
    return columns.PandasColumn(values) if stored is None else columns.ArrowColumn(stored, str(dtype))


def _pandas_index(index: Any) -> dict[str, Any]:
    """What is said of the rows' labels; nothing where they are only numbered."""
    kind = type(index).__name__
    if not len(index) or (kind == "RangeIndex" and index.start == 0 and index.step == 1):
        return {}

    def labels(count: int) -> tuple[str, list[str]]:
        names = [_label(name) for name in index.names if name is not None]
        return ", ".join(names), [_label(index[number]) for number in range(count)]

    return {"note": f"{kind} {_label(index[0])} {ELLIPSIS} {_label(index[-1])}", "labels": labels}


# ── polars ──


def _polars(value: Any, kind: type) -> tuple[str, TableSource] | None:
    if identity.is_kind(kind, "polars", "DataFrame"):
        names = value.columns

        def source(index: int) -> tuple[str, columns.ColumnSource]:
            return _label(names[index]), columns.PolarsColumn(value.to_series(index))

        return "dataframe", TableSource(rows=value.height, width=value.width, source=source)
    if identity.is_kind(kind, "polars", "Series"):
        return _series(value.len(), _label(value.name or "values"), columns.PolarsColumn(value))
    if identity.is_kind(kind, "polars", "LazyFrame"):
        if polars_has_started():
            return _unread(list(value.collect_schema().items()), "lazy, not collected")
        return _unread([], "lazy; its schema is known after the first collect() or collect_schema() in this notebook")
    return None


def _unread(named: list[tuple[Any, Any]], note: str) -> tuple[str, TableSource]:
    """Of which only the columns' names and types are known."""

    def source(index: int) -> tuple[str, str]:
        return _label(named[index][0]), str(named[index][1])[: columns.CELL_ROOM]

    return "dataframe", TableSource(rows=None, width=len(named), source=source, note=note)


def polars_has_started() -> bool:
    """Whether polars' own worker threads already run here; resolving a lazy schema would start them."""
    try:
        names = [(task / "comm").read_text() for task in Path("/proc/self/task").iterdir()]
    except OSError:
        return False
    return any(name.startswith(("tokio-rt", "polars-0")) for name in names)


# ── arrow ──


def _arrow(value: Any, kind: type) -> tuple[str, TableSource] | None:
    if identity.is_kind(kind, "pyarrow", "Table") or identity.is_kind(kind, "pyarrow", "RecordBatch"):
        schema = value.schema

        def source(index: int) -> tuple[str, columns.ColumnSource]:
            return _label(schema.field(index).name), columns.ArrowColumn(value.column(index))

        return "dataframe", TableSource(rows=value.num_rows, width=value.num_columns, source=source)
    if identity.is_kind(kind, "pyarrow", "Array") or identity.is_kind(kind, "pyarrow", "ChunkedArray"):
        return _series(len(value), "values", columns.ArrowColumn(value))
    return None
