"""Columns of table libraries as numpy arrays, where that copies nothing and starts no thread of theirs."""

from __future__ import annotations

import sys
from typing import Any, Final

from cellwright_guest.element_scan import Stretch, TextBytes, token
from cellwright_guest.previews import identity
from cellwright_guest.previews.columns import ArrowColumn, ColumnSource, NumpyColumn, PandasColumn

_READABLE: Final = frozenset("biufcmMSU")
_CATEGORIES: Final = 1_000
_TEXT_OFFSETS: Final = {"string": "i4", "large_string": "i8", "binary": "i4", "large_binary": "i8"}


def stretches_of(source: ColumnSource) -> list[Stretch] | None:
    """The column's memory; None when only its library can read it."""
    if "numpy" not in sys.modules:
        return None
    match source:
        case PandasColumn():
            return _pandas(source.values)
        case NumpyColumn():
            return _listed(array_stretch(source.values))
        case ArrowColumn():
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


def text_bytes_of(source: ColumnSource) -> tuple[list[TextBytes], int] | None:
    """An arrow column of texts (pandas' own texts are such), and how many are null; None for any other column."""
    letters = _TEXT_OFFSETS.get(str(source.values.type)) if isinstance(source, ArrowColumn) else None
    if letters is None or "numpy" not in sys.modules:
        return None
    return [TextBytes(chunk, letters) for chunk in _chunks(source.values)], source.values.null_count
