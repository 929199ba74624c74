"""One column of any table library, or an array: exactly, as long as there is time for it, else through a sample.

A source knows its type, and can give values of a short span without touching the rest: numpy and pandas by views,
arrow by slices, polars by the calls that start none of its threads.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from math import isnan
from time import monotonic
from typing import Any, Final, Protocol

from cellwright_guest.previews import identity
from cellwright_guest.previews.plain import ELLIPSIS, elements, one_line

Brief = Callable[[Any, int], str]
"""(value, room) → text of one cell, never raising."""

SAMPLE_SPANS: Final = 8
SPAN_ROWS: Final = 64
SAMPLE_ROWS: Final = SAMPLE_SPANS * SPAN_ROWS
EXACT_SECONDS: Final = 0.15
"""So long all columns of one table are looked at whole."""
_PIECE_ROWS: Final = 4_096
_MOST_BOXED: Final = 500_000
"""Rows that can become Python objects in that time; to begin with more would be for nothing."""
_PIECE_NUMBERS: Final = 1 << 18
CELL_ROOM: Final = 24
"""Characters that every value of a row has; a text has more where the row has room for it."""
_LONGEST_CELL: Final = 120
_LARGE_CELL_BYTES: Final = 1 << 16
_TYPE_LENGTH: Final = 40
_ORDERED: Final = frozenset({int, float, Decimal, date, datetime, timedelta})
_NOT_TEXT: Final = frozenset({"null", "nan", "NaN", "None", "True", "False"})
_LIKE_NUMBER: Final = re.compile(r"[-+]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][-+]?[0-9]+)?$")
_UNIT_MICROSECONDS: Final = {"s": 1e6, "ms": 1e3, "us": 1.0, "ns": 1e-3}


@dataclass(frozen=True, slots=True, kw_only=True)
class ColumnPreview:
    """What is told of one column."""

    name: str
    dtype: str
    nulls: str
    span: str
    head: list[str]

    def title(self) -> str:
        """`price: float64`: what values that are all shown do not say themselves."""
        return f"{self.name}: {self.dtype}"

    def line(self) -> str:
        """`price: float64, nulls 3, 0.5 … 99`."""
        return ", ".join(part for part in (self.title(), self.nulls, self.span) if part)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Facts:
    """What was counted."""

    seen: int
    missing: int
    smallest: Any = None
    largest: Any = None


class ColumnSource(Protocol):
    """Where the values of a column come from."""

    dtype: str
    values: Any
    """All of them, as their library holds them."""

    def vector(self) -> Any:
        """All numbers or times as a numpy array, without copying them; None where there is none."""

    def sample(self, start: int, stop: int) -> list[Any] | None:
        """Plain values of a span; None where only the head may be read."""

    def nulls(self, start: int, stop: int) -> int | None:
        """Missing values of a span; None when they must be counted in the sample."""

    def head(self, count: int, brief: Brief) -> list[str]:
        """The first values as text."""


def spans_of(rows: int, spans: int = SAMPLE_SPANS, length: int = SPAN_ROWS) -> list[tuple[int, int]]:
    """Everything when it is small, else evenly spread short spans with both ends."""
    if rows <= spans * length:
        return [(0, rows)]
    last = rows - length
    return [(start, start + length) for start in (last * number // (spans - 1) for number in range(spans))]


def describe(
    name: str, source: ColumnSource, *, rows: int, head_rows: int, brief: Brief, until: float
) -> ColumnPreview:
    """A column as told: whole where that is done by `until`, else from at most `SAMPLE_ROWS` of its values."""
    facts = _of_numbers(source, until) or _of_all(source, rows, until) or _of_pieces(source, spans_of(rows))
    assert facts is not None
    nulls, span = _nulls(facts, rows), _span(facts.smallest, facts.largest)
    sampled = " (sampled)" if facts.seen < rows else ""
    return ColumnPreview(
        name=name,
        dtype=one_line(source.dtype)[:_TYPE_LENGTH],
        nulls=nulls and nulls + sampled,
        span=span and span + sampled,
        head=source.head(min(head_rows, rows), brief),
    )


def _of_numbers(source: ColumnSource, until: float) -> _Facts | None:
    """Of all of them, by numpy; None where it cannot, or not in time."""
    numbers = source.vector()
    if numbers is None or not numbers.size:
        return None
    is_time = numbers.dtype.kind in "mM"
    least, most = identity.loaded("numpy", "fmin"), identity.loaded("numpy", "fmax")
    lacks = identity.loaded("numpy", "isnat" if is_time else "isnan")
    found, missing = list[tuple[Any, Any]](), 0
    for start in range(0, numbers.size, _PIECE_NUMBERS):
        if monotonic() > until:
            return None
        piece = numbers[start : start + _PIECE_NUMBERS]
        found.append((least.reduce(piece), most.reduce(piece)))
        missing += 0 if numbers.dtype.kind in "iu" else int(lacks(piece).sum())
    if missing == numbers.size:
        return _Facts(seen=missing, missing=missing)
    ends = least.reduce([low for low, _ in found]), most.reduce([high for _, high in found])
    # A time is told as its library tells it, with its zone.
    smallest, largest = (source.values[int((numbers == end).argmax())] if is_time else end.item() for end in ends)
    return _Facts(seen=numbers.size, missing=missing, smallest=smallest, largest=largest)


def _of_all(source: ColumnSource, rows: int, until: float) -> _Facts | None:
    """Of all values, or all nulls where only those are counted; None if that cannot be done in time."""
    if rows > _MOST_BOXED and source.sample(0, 1) is not None:
        return None
    return _of_pieces(source, ((at, min(at + _PIECE_ROWS, rows)) for at in range(0, rows, _PIECE_ROWS)), until)


def _of_pieces(source: ColumnSource, pieces: Iterable[tuple[int, int]], until: float = float("inf")) -> _Facts | None:
    """Of these spans; None if it was not done in time."""
    seen = missing = 0
    smallest = largest = None
    for start, stop in pieces:
        if monotonic() > until:
            return None
        values = source.sample(start, stop)
        counted = source.nulls(start, stop)
        seen += stop - start
        missing += counted if counted is not None else sum(map(is_missing, values or ()))
        ordered = list(filter(has_order, map(plain_scalar, values or ())))
        if ordered:
            smallest = _extreme(min, smallest, ordered)
            largest = _extreme(max, largest, ordered)
    return _Facts(seen=seen, missing=missing, smallest=smallest, largest=largest)


def is_missing(value: Any) -> bool:
    """None, NaN, NaT and pandas' NA, without comparing anything that is not a float."""
    kind = type(value)
    return (
        value is None
        or (kind is float and isnan(value))
        or (kind.__name__ in {"NAType", "NaTType"} and identity.module_of(kind).startswith("pandas"))
    )


def cell(value: Any, brief: Brief) -> str:
    """One value in a row: strings bare, floats short."""
    value = plain_scalar(value)
    kind = type(value)
    if is_missing(value):
        return "null"
    if kind is float:
        return f"{value:.6g}"
    if kind is str:
        return _bare(cut_middle(value, _LONGEST_CELL))
    if kind in {datetime, date, timedelta, Decimal} or kind.__name__ in {"Timestamp", "Timedelta", "Period"}:
        return str(value)[:CELL_ROOM]
    return brief(value, CELL_ROOM)


def cut_middle(text: str, longest: int) -> str:
    """The text, or both its ends: what tells values apart stands at one of them."""
    if len(text) <= longest:
        return text
    end = (longest - 1) // 2
    return f"{text[: longest - 1 - end]}{ELLIPSIS}{text[-end:]}"


def _bare(text: str) -> str:
    """Text as it is; in quotes where it would pass for a number or nothing, or loses blanks when it is read."""
    is_plain = text and text == one_line(text) and text not in _NOT_TEXT
    return text if is_plain and not _LIKE_NUMBER.match(text) else repr(text)


def has_order(value: Any) -> bool:
    """Whether it is a number or a time that can be compared with others of its kind."""
    kind = type(value)
    if kind is float:
        return not isnan(value)
    if kind is Decimal:
        return not value.is_nan()
    return kind in _ORDERED or kind.__name__ in {"Timestamp", "Timedelta"}


def _extreme(choose: Callable[..., Any], found: Any, values: list[Any]) -> Any:
    try:
        return choose(values) if found is None else choose(found, choose(values))
    except TypeError:
        return found


def _span(smallest: Any, largest: Any) -> str:
    return "" if smallest is None or largest is None else f"{_number(smallest)} … {_number(largest)}"


def plain_scalar(value: Any) -> Any:
    """A scalar of numpy as Python's own; anything else as it is."""
    kind: Any = type(value)
    return value.item() if kind.__module__ == "numpy" and identity.is_kind(kind, "numpy", "generic") else value


def _number(value: Any) -> str:
    return f"{value:.6g}" if type(value) is float else str(value)


def _nulls(facts: _Facts, rows: int) -> str:
    if not facts.missing:
        return ""
    return f"nulls {facts.missing:,}" if facts.seen >= rows else f"nulls {100 * facts.missing / facts.seen:.2g}%"


class NumpyColumn:
    """A one-dimensional numpy array; every span is a view."""

    def __init__(self, values: Any) -> None:
        self.values = values
        self.dtype = str(values.dtype)
        self._is_wide = values.dtype.itemsize > _LARGE_CELL_BYTES

    def vector(self) -> Any:
        """Itself, if it holds numbers."""
        return self.values if self.values.dtype.kind in "iuf" else None

    def sample(self, start: int, stop: int) -> list[Any] | None:
        """Values of a span as plain Python."""
        return None if self._is_wide else self.values[start:stop].tolist()

    def nulls(self, start: int, stop: int) -> int | None:
        """Counted in the sample."""
        return None

    def head(self, count: int, brief: Brief) -> list[str]:
        """The first values."""
        values = self.sample(0, count)
        return [self.dtype] * count if values is None else [cell(value, brief) for value in values]


class PandasColumn(NumpyColumn):
    """A pandas extension array: dates, categories, masked numbers."""

    def __init__(self, values: Any) -> None:
        self.values = values
        self.dtype = str(values.dtype)
        # A slice of a sparse array walks all its stored values.
        self._is_wide = self.dtype.startswith("Sparse")

    def vector(self) -> Any:
        """What times are stored as."""
        stored = getattr(self.values, "_ndarray", None)
        return stored if getattr(getattr(stored, "dtype", None), "kind", "") in {"m", "M"} else None

    def sample(self, start: int, stop: int) -> list[Any] | None:
        """Values of a span, boxed by pandas."""
        return None if self._is_wide else list(self.values[start:stop])


class ArrowColumn:
    """A pyarrow array or chunked array."""

    def __init__(self, values: Any, dtype: str = "") -> None:
        self.values = values
        kind = str(values.type)
        self.dtype = dtype or kind
        self._is_number = kind.startswith(("int", "uint", "float", "double", "halffloat", "decimal"))

    def vector(self) -> Any:
        """None: with nulls it would be a copy."""
        return None

    def sample(self, start: int, stop: int) -> list[Any] | None:
        """Numbers only: strings and lists may be of any size."""
        return self.values.slice(start, stop - start).to_pylist() if self._is_number else None

    def nulls(self, start: int, stop: int) -> int | None:
        """From the validity bits of the span."""
        return self.values.slice(start, stop - start).null_count

    def head(self, count: int, brief: Brief) -> list[str]:
        """The first values, long ones by their size."""
        return [arrow_scalar(self.values[index], brief) for index in range(count)]


class PolarsColumn:
    """A polars Series, through the calls that need none of polars' threads."""

    def __init__(self, series: Any) -> None:
        self.values = series
        kind = series.dtype
        self.dtype = str(kind)
        self._is_ordered = kind.is_numeric() or kind.is_temporal()

    def vector(self) -> Any:
        """None: polars would start a thread to make one."""
        return None

    def sample(self, start: int, stop: int) -> list[Any] | None:
        """Numbers and times only."""
        return self.values.slice(start, stop - start).to_list() if self._is_ordered else None

    def nulls(self, start: int, stop: int) -> int | None:
        """From the validity bits of the span."""
        return self.values.slice(start, stop - start).null_count()

    def head(self, count: int, brief: Brief) -> list[str]:
        """The first values, long ones by their size."""
        return [self._cell(self.values.slice(index, 1), brief) for index in range(count)]

    def _cell(self, one: Any, brief: Brief) -> str:
        size = one.estimated_size()
        if size > _LARGE_CELL_BYTES:
            return f"<{self.dtype[:CELL_ROOM]}, {size:,} bytes>"
        return cell(one.to_list()[0], brief)


def arrow_scalar(scalar: Any, brief: Brief) -> str:
    """One arrow value; looks at the size of its buffer before making a Python object of it."""
    if not scalar.is_valid:
        return "null"
    kind = type(scalar)
    if hasattr(kind, "as_buffer"):
        return _arrow_text(scalar.as_buffer(), "String" in kind.__name__, brief)
    if kind.__name__ == "DictionaryScalar":
        return arrow_scalar(scalar.value, brief)
    if "List" in kind.__name__ or kind.__name__ in {"StructScalar", "MapScalar", "UnionScalar"}:
        return _arrow_nested(scalar, brief)
    unit = getattr(scalar.type, "unit", None)
    if unit is not None:
        return _arrow_time(scalar, str(unit))
    return cell(scalar.as_py(), brief)


def _arrow_text(data: Any, is_text: bool, brief: Brief) -> str:
    """Of long ones only both ends are copied."""
    most = 4 * _LONGEST_CELL
    is_whole = data.size <= most
    start = data.slice(0, data.size if is_whole else most).to_pybytes()
    if not is_text:
        return cell(start, brief) if is_whole else f"{brief(start[:12], CELL_ROOM)}{ELLIPSIS}({data.size:,} bytes)"
    end = b"" if is_whole else data.slice(data.size - most // 2, most // 2).to_pybytes()
    return cell((start + end).decode("utf-8", "replace"), brief)


def _arrow_nested(scalar: Any, brief: Brief) -> str:
    # as_py() would make a Python object of every element, however many there are.
    if "List" in type(scalar).__name__:
        values = scalar.values
        first = ", ".join(arrow_scalar(values[index], brief) for index in range(min(3, len(values))))
        return f"[{first}, … {len(values):,} items]" if len(values) > 3 else f"[{first}]"
    return f"<{str(scalar.type)[:CELL_ROOM]}>"


def _arrow_time(scalar: Any, unit: str) -> str:
    # as_py() of nanoseconds imports pandas.
    if type(scalar).__name__ != "TimestampScalar":
        return f"{scalar.value}{unit}"
    moment = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=scalar.value * _UNIT_MICROSECONDS[unit])
    return moment.replace(tzinfo=None).isoformat(" ")


_SMALL: Final = 64
_DEVICE_LIBRARIES: Final = frozenset({"torch", "jax", "jaxlib", "cupy", "tensorflow", "mlx", "dask", "zarr", "h5py"})


def is_array(kind: type, packages: set[str]) -> bool:
    """numpy's arrays, and anything whose class has a shape and a dtype."""
    if "numpy" in packages and identity.is_kind(kind, "numpy", "ndarray"):
        return True
    has_shape = identity.class_attribute(kind, "shape") is not None
    return has_shape and (identity.class_attribute(kind, "dtype") is not None or bool(packages & _DEVICE_LIBRARIES))


def array_headline(value: Any) -> str:
    """`float64 array 1,000 × 3`, from attributes alone."""
    sizes = " × ".join(f"{int(size):,}" for size in tuple(value.shape)[:8]) or "scalar"
    device = getattr(value, "device", None)
    where = f" on {str(device)[:20]}" if device is not None and str(device) != "cpu" else ""
    return f"{str(value.dtype)[:40]} array {sizes}{where}"


def array_text(value: Any, kind: type, room: int, brief: Brief) -> str:
    """The preview; elements only of numpy arrays, whose memory is at hand."""
    first = array_headline(value)
    if not identity.is_kind(kind, "numpy", "ndarray") or not value.size:
        return first
    if value.size <= _SMALL and value.dtype.itemsize <= 64 and value.dtype.kind != "V":
        nested: Any = value.tolist()
        left = room - len(first) - 2
        return f"{first}: " + elements([nested], 1, left, lambda item, space, depth: brief(item, space), 0)
    until = monotonic() + EXACT_SECONDS
    column = describe("", _Flat(value), rows=int(value.size), head_rows=8, brief=brief, until=until)
    facts = ", ".join(part for part in (first, column.nulls.replace("nulls", "NaN"), column.span) if part)
    return f"{facts}: {', '.join(column.head)}, …"


class _Flat(NumpyColumn):
    """An array of any number of dimensions and strides, read through its flat iterator, which never copies it."""

    def vector(self) -> Any:
        """Its numbers in a row, where they are stored so."""
        is_number = self.values.dtype.kind in "iuf" and self.values.flags.c_contiguous
        return self.values.reshape(-1) if is_number else None

    def sample(self, start: int, stop: int) -> list[Any] | None:
        """Elements of a span."""
        return None if self._is_wide else self.values.flat[start:stop].tolist()
