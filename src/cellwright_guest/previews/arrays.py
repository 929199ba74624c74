"""Arrays: shape, type, range and first elements. Only a few spans of the data are ever read."""

from __future__ import annotations

from typing import Any, Final

from cellwright_guest.previews import identity
from cellwright_guest.previews.columns import Brief, NumpyColumn, cell, describe
from cellwright_guest.previews.plain import elements

_SMALL: Final = 64
_DEVICE_LIBRARIES: Final = frozenset({"torch", "jax", "jaxlib", "cupy", "tensorflow", "mlx", "dask", "zarr", "h5py"})


def is_array(kind: type, packages: set[str]) -> bool:
    """numpy's arrays, and anything whose class has a shape and a dtype."""
    if "numpy" in packages and identity.is_kind(kind, "numpy", "ndarray"):
        return True
    has_shape = identity.class_attribute(kind, "shape") is not None
    return has_shape and (identity.class_attribute(kind, "dtype") is not None or bool(packages & _DEVICE_LIBRARIES))


def headline(value: Any) -> str:
    """`float64 array 1,000 × 3`, from attributes alone."""
    sizes = " × ".join(f"{int(size):,}" for size in tuple(value.shape)[:8]) or "scalar"
    device = getattr(value, "device", None)
    where = f" on {str(device)[:20]}" if device is not None and str(device) != "cpu" else ""
    return f"{str(value.dtype)[:40]} array {sizes}{where}"


def text(value: Any, kind: type, room: int, brief: Brief) -> str:
    """The preview; elements only of numpy arrays, whose memory is at hand."""
    first = headline(value)
    if not identity.is_kind(kind, "numpy", "ndarray") or not value.size:
        return first
    if value.size <= _SMALL and value.dtype.itemsize <= 64 and value.dtype.kind != "V":
        nested: Any = value.tolist()
        left = room - len(first) - 2
        return f"{first}: " + elements([nested], 1, left, lambda item, space, depth: brief(item, space), 0)
    column = describe("", _Flat(value), rows=int(value.size), head_rows=8, brief=brief)
    facts = ", ".join(part for part in (first, column.nulls.replace("nulls", "NaN"), column.span) if part)
    return f"{facts}: {', '.join(column.head)}, …"


class _Flat(NumpyColumn):
    """An array of any number of dimensions and strides, read through its flat iterator, which never copies it."""

    def __init__(self, values: Any) -> None:
        super().__init__(values)
        self._flat = values.flat

    def sample(self, start: int, stop: int) -> list[Any] | None:
        """Elements of a span."""
        return None if self._is_wide else self._flat[start:stop].tolist()

    def head(self, count: int, brief: Brief) -> list[str]:
        """The first elements."""
        return [cell(value, brief) for value in self.sample(0, count) or []]
