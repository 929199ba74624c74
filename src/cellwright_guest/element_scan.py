"""Missing values, range and a digest of many elements, by numpy and in small pieces.

Views only, of columns of table libraries too: a piece of 65,536 elements is the largest thing that is ever copied.
Nothing here starts a thread, neither ours nor theirs, so a kernel that was looked at can still be forked.
"""

from __future__ import annotations

import sys
import zlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Final

from cellwright_guest.previews import columns, identity
from cellwright_guest.previews.plain import bounded, brief, integer, one_line
from cellwright_guest.report_wire import MOST_TEXT, ColumnFacts

EXACT_BYTES: Final = 16 << 20
"""Limit of what one call reads whole; the rest is sampled."""
EXACT_ITEMS: Final = 20_000
"""The same limit for Python objects, each of which costs more."""
_PIECE: Final = 1 << 16
_SPANS: Final = 64
_SPAN: Final = 256
_SPAN_BYTES: Final = 1 << 16
_ITEM_TEXT: Final = 200
_NOT_A_TIME: Final = -(1 << 63)
_READABLE: Final = frozenset("biufcmMSU")
_CATEGORIES: Final = 1_000
_TEXT_OFFSETS: Final = {"string": "i4", "large_string": "i8", "binary": "i4", "large_binary": "i8"}


@dataclass(slots=True, kw_only=True)
class ScanBudget:
    """How much may still be read whole."""

    bytes: int = EXACT_BYTES

    def takes(self, size: int) -> bool:
        """Whether `size` bytes fit; then they are taken from it."""
        if size > self.bytes:
            return False
        self.bytes -= size
        return True


@dataclass(frozen=True, slots=True, kw_only=True)
class Stretch:
    """Elements that lie in one numpy array."""

    values: Any
    """One dimension, any strides; or the flat iterator of an array with more."""
    count: int
    dtype: Any
    missing: Callable[[int, int], Any] | None = None
    """(start, stop) → which of them are null, as booleans; None: only what NaN and NaT say."""
    has_order: bool = True
    """False: the numbers stand for something else, as a category's do."""
    meaning: bytes = b""
    """What they stand for, as far as it counts for the digest."""


@dataclass(slots=True)
class _ScanResult:
    seen: int = 0
    nulls: int = 0
    smallest: Any = None
    largest: Any = None
    digest: int = 0

    def widen(self, low: Any, high: Any) -> None:
        """Take two more values into the range."""
        self.smallest = low if self.smallest is None else min(self.smallest, low)
        self.largest = high if self.largest is None else max(self.largest, high)


# ── numpy ──


def scan(stretches: Sequence[Stretch], *, type_name: str, budget: ScanBudget) -> ColumnFacts:
    """Facts of numbers, times, truths and fixed-width texts: of all of them, or of a sample if they are too many."""
    rows = sum(stretch.count for stretch in stretches)
    is_exact = budget.takes(sum(stretch.count * stretch.dtype.itemsize for stretch in stretches))
    found = _ScanResult()
    for stretch in stretches if is_exact else stretches[:: -(-len(stretches) // _SPANS)]:
        found.digest = zlib.crc32(stretch.meaning, found.digest)
        for start, stop in _pieces(stretch.count) if is_exact else _samples(stretch.count, len(stretches)):
            _take(found, stretch, start, stop)
    show = _shown(stretches[0].dtype) if stretches else str
    return _told(found, rows, type_name, show)


def _told(
    found: _ScanResult, rows: int, type_name: str, show: Callable[[Any], str], nulls: int | None = None
) -> ColumnFacts:
    smallest, largest = (
        "" if end is None else bounded(show(end), MOST_TEXT) for end in (found.smallest, found.largest)
    )
    is_sample = 0 < found.seen < rows
    return ColumnFacts(
        type=bounded(one_line(type_name), MOST_TEXT),
        nulls=nulls if nulls is not None else round(found.nulls * rows / found.seen) if is_sample else found.nulls,
        smallest=smallest,
        largest=largest,
        digest=f"{found.digest:08x}",
        is_exact=found.seen >= rows,
    )


def _pieces(count: int) -> Iterator[tuple[int, int]]:
    for start in range(0, count, _PIECE):
        yield start, min(start + _PIECE, count)


def _samples(count: int, stretches: int) -> list[tuple[int, int]]:
    """Evenly spread short spans with both ends, fewer of each stretch where there are many."""
    return columns.spans_of(count, max(_SPANS // stretches, 2), _SPAN)


def _take(found: _ScanResult, stretch: Stretch, start: int, stop: int) -> None:
    import numpy as np

    piece = np.ascontiguousarray(stretch.values[start:stop])
    kind = stretch.dtype.kind
    if kind in "mM":
        piece = piece.view("i8") if piece.dtype.itemsize == 8 else piece.astype("i8")
    absent = np.zeros(len(piece), bool) if stretch.missing is None else stretch.missing(start, stop)
    if kind in "fc":
        absent = absent | np.isnan(piece)
    elif kind in "mM":
        absent = absent | (piece == _NOT_A_TIME)
    missing = int(np.count_nonzero(absent))
    found.seen += len(piece)
    found.nulls += missing
    if missing:
        # What lies under a null is whatever was there before: it must not count as a difference.
        found.digest = zlib.crc32(np.packbits(absent).tobytes(), found.digest)
        piece = piece[~absent]
    if piece.dtype.itemsize:
        found.digest = zlib.crc32(memoryview(piece.view("u1").data), found.digest)
    if len(piece) and stretch.has_order and kind in "biufmM":
        found.widen(piece.min().item(), piece.max().item())


def _shown(dtype: Any) -> Callable[[Any], str]:
    if dtype.kind in "mM":
        import numpy as np

        told: tuple[Any, int] = np.datetime_data(dtype)
        unit, size = told
        if dtype.kind == "M":
            return lambda value: _moment(str(np.datetime64(value * size, unit)))
        return lambda value: str(np.timedelta64(value * size, unit).astype("m8[us]").item())
    return _number


def _moment(text: str) -> str:
    """`2024-01-31 00:00:00.000000000` as people write it."""
    day, _, time = text.partition("T")
    time = time.rstrip("0").rstrip(".") if "." in time else time
    return day if time in {"", "00", "00:00", "00:00:00"} else f"{day} {time}"


def _number(value: Any) -> str:
    if type(value) is float:
        return f"{value:.6g}"
    return integer(value) if type(value) is int else str(value)


# ── texts ──


class TextBytes:
    """Texts of an arrow column as the bytes they lie in, so that no Python object is made of any."""

    def __init__(self, chunk: Any, letters: str) -> None:
        import numpy as np

        _, offsets, memory = chunk.buffers()
        first, last = chunk.offset, chunk.offset + len(chunk) + 1
        self.offsets: Any = np.frombuffer(offsets, letters)[first:last] if len(chunk) else np.zeros(1, letters)
        self.memory = memoryview(memory) if memory is not None else memoryview(b"")
        self.count = len(chunk)

    def window(self, start: int, stop: int) -> tuple[bytes, memoryview]:
        """Where each text of the span ends, and their bytes."""
        ends = self.offsets[start : stop + 1] - self.offsets[start]
        return ends.tobytes(), self.memory[int(self.offsets[start]) : int(self.offsets[stop])]

    @property
    def size(self) -> int:
        """Bytes of all of it."""
        return int(self.offsets[-1] - self.offsets[0]) + self.offsets.nbytes


def scan_texts(pieces: Sequence[TextBytes], *, nulls: int, type_name: str, budget: ScanBudget) -> ColumnFacts:
    """Facts of texts without making an object of any; a sample is read up to `_SPAN_BYTES` a span."""
    is_exact = budget.takes(sum(piece.size for piece in pieces))
    digest = 0
    for piece in pieces if is_exact else pieces[:: -(-len(pieces) // _SPANS)]:
        for start, stop in _pieces(piece.count) if is_exact else _samples(piece.count, len(pieces)):
            ends, letters = piece.window(start, stop)
            digest = zlib.crc32(letters if is_exact else letters[:_SPAN_BYTES], zlib.crc32(ends, digest))
    return ColumnFacts(
        type=bounded(one_line(type_name), MOST_TEXT), nulls=nulls, digest=f"{digest:08x}", is_exact=is_exact
    )


# ── Python objects ──


def scan_items(items: Sequence[Any], *, rows: int, type_name: str, nulls: int | None = None) -> ColumnFacts:
    """Facts of values that were taken out as Python objects: all `rows` of them, or a sample.

    Only numbers and times are compared, and only if all that are not missing are such; texts count by their digest.
    """
    values = [value for value in map(columns.plain_scalar, items) if not columns.is_missing(value)]
    found = _ScanResult(seen=len(items), nulls=len(items) - len(values))
    for value in values:
        found.digest = zlib.crc32(token(value).encode("utf-8", "surrogatepass") + b"\0", found.digest)
    if values and all(columns.has_order(value) or type(value) is bool for value in values):
        # Numbers among dates, or times with and without a zone, cannot be compared.
        with suppress(TypeError):
            found.widen(min(values), max(values))
    return _told(found, rows, type_name, _number, nulls)


def spread(count: int) -> list[tuple[int, int]]:
    """Spans of a sequence of objects that are worth reading: all when they are few."""
    return [(0, count)] if count <= EXACT_ITEMS else _samples(count, 1)


def token(value: Any, room: int = _ITEM_TEXT) -> str:
    """A builtin as short text, anything else by its type; runs no code of the notebook."""
    return brief(value, room, lambda other, room, depth: f"<{identity.qualified_name(type(other))}>")


def digest_of(text: str) -> str:
    """Of a text that may be long."""
    return f"{zlib.crc32(text.encode('utf-8', 'surrogatepass')):08x}"


# ── columns of table libraries as numpy arrays, where that copies nothing ──


def stretches_of(source: columns.ColumnSource) -> list[Stretch] | None:
    """The column's memory; None when only its library can read it."""
    if "numpy" not in sys.modules:
        return None
    match source:
        case columns.PandasColumn():
            return _pandas(source.values)
        case columns.NumpyColumn():
            return _listed(array_stretch(source.values))
        case columns.ArrowColumn():
            return _arrow(source.values)
        case _:
            return _polars(source.values)


def array_stretch(values: Any) -> Stretch | None:
    """A numpy array of any shape; None when its elements are objects or records."""
    import numpy as np

    array = np.ndarray.view(values, np.ndarray)
    if array.dtype.kind not in _READABLE:
        return None
    is_flat = array.flags.c_contiguous or array.ndim == 1
    return Stretch(values=array.reshape(-1) if is_flat else array.flat, count=int(array.size), dtype=array.dtype)


def _pandas(held: Any) -> list[Stretch] | None:
    dtype = held.dtype
    if (moments := getattr(held, "_ndarray", None)) is not None and dtype.kind in "mM":
        return _listed(array_stretch(moments))
    if type(dtype).__name__ == "CategoricalDtype":
        return [_categories(held.codes, held.categories)]
    if any(base.__name__ == "BaseMaskedDtype" for base in identity.ancestry(type(dtype))):
        values, mask = held._data, held._mask
        size, dtype = len(values), values.dtype
        return [Stretch(values=values, count=size, dtype=dtype, missing=lambda start, stop: mask[start:stop])]
    return None


def _listed(stretch: Stretch | None) -> list[Stretch] | None:
    return None if stretch is None else [stretch]


def _polars(series: Any) -> list[Stretch] | None:
    if not series.dtype.is_numeric() or series.null_count() or series.n_chunks() != 1:
        return None
    if str(series.dtype).startswith(("Decimal", "Int128", "UInt128")):
        return None
    return _listed(array_stretch(series.to_numpy(allow_copy=False)))


def _categories(codes: Any, names: Any) -> Stretch:
    meaning = "\0".join(token(name) for name in names[:_CATEGORIES].tolist()).encode("utf-8", "surrogatepass")

    def missing(start: int, stop: int) -> Any:
        return codes[start:stop] < 0

    return Stretch(values=codes, count=len(codes), dtype=codes.dtype, missing=missing, has_order=False, meaning=meaning)


def _arrow(values: Any) -> list[Stretch] | None:
    found = [_arrow_numbers(chunk) for chunk in _chunks(values)]
    known = [stretch for stretch in found if stretch is not None]
    return known if len(known) == len(found) else None


def _chunks(values: Any) -> Any:
    return values.chunks if hasattr(values, "chunks") else [values]


def _arrow_numbers(chunk: Any) -> Stretch | None:
    import numpy as np

    dtype, (bits, memory, *_) = _arrow_dtype(chunk.type), (*chunk.buffers(), None)
    if dtype is None or memory is None:
        return None
    stored = dtype if dtype.kind != "M" else np.dtype(f"i{chunk.type.bit_width // 8}")
    values = np.frombuffer(memory, stored)[chunk.offset : chunk.offset + len(chunk)]
    missing = _from_bits(bits, chunk.offset) if chunk.null_count and bits is not None else None
    return Stretch(values=values, count=len(chunk), dtype=dtype, missing=missing)


def _arrow_dtype(kind: Any) -> Any:
    """How numpy reads it where it lies; None for truths, which are bits, and for what is no number."""
    import numpy as np

    name = str(kind)
    if name.startswith("timestamp"):
        return np.dtype(f"M8[{kind.unit}]")
    if name.startswith("date"):
        return np.dtype("M8[D]" if name.startswith("date32") else "M8[ms]")
    short = {"double": "f8", "float": "f4", "halffloat": "f2"}.get(name, name)
    is_number = short in {"f8", "f4", "f2"} or name.startswith(("int", "uint"))
    return np.dtype(short) if is_number and "[" not in name and "<" not in name else None


def _from_bits(bits: Any, offset: int) -> Any:
    import numpy as np

    valid = np.frombuffer(bits, "u1")

    def missing(start: int, stop: int) -> Any:
        first, last = offset + start, offset + stop
        held = np.unpackbits(valid[first // 8 : -(-last // 8)], bitorder="little")
        return held[first % 8 : first % 8 + stop - start] == 0

    return missing


def text_bytes_of(source: columns.ColumnSource) -> tuple[list[TextBytes], int] | None:
    """An arrow column of texts (pandas' own texts are such), and how many are null; None for any other column."""
    letters = _TEXT_OFFSETS.get(str(source.values.type)) if isinstance(source, columns.ArrowColumn) else None
    if letters is None or "numpy" not in sys.modules:
        return None
    return [TextBytes(chunk, letters) for chunk in _chunks(source.values)], source.values.null_count
