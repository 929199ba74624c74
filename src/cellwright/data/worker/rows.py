"""Rows of Python values as Arrow, for a driver that gives nothing else. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from decimal import Decimal
from typing import Any, Final

import pyarrow as pa

from cellwright.data.worker.tidy import unique_names

_BATCH_ROWS: Final = 20_000

Fetch = Callable[[int], Sequence[Sequence[Any]]]


def row_batches(names: Sequence[str], fetch: Fetch) -> tuple[pa.Schema, Iterator[pa.RecordBatch]]:
    """The first rows say what the columns are; later values that are none of that are null, or text."""
    first = fetch(_BATCH_ROWS)
    arrays = [_array([row[place] for row in first]) for place in range(len(names))]
    schema = pa.schema(list(zip(unique_names(names), (array.type for array in arrays), strict=True)))

    def batches() -> Iterator[pa.RecordBatch]:
        rows = first
        while rows:
            columns = zip(*rows, strict=True)
            ready = [_array(column, kind) for column, kind in zip(columns, schema.types, strict=True)]
            yield pa.RecordBatch.from_arrays(ready, schema=schema)
            rows = fetch(_BATCH_ROWS)

    return schema, batches()


def _array(values: Sequence[Any], kind: pa.DataType | None = None) -> pa.Array:
    plain = [float(value) if isinstance(value, Decimal) else value for value in values]
    try:
        array = pa.array(plain, kind)
    except (pa.ArrowInvalid, pa.ArrowTypeError, pa.ArrowNotImplementedError, OverflowError):
        if kind is not None and not pa.types.is_string(kind):
            return pa.array([_fits(value, kind) for value in plain], kind)
        return pa.array([None if value is None else str(value) for value in plain], pa.string())
    return array.cast(pa.string()) if pa.types.is_null(array.type) else array


def _fits(value: Any, kind: pa.DataType) -> Any:
    try:
        return pa.scalar(value, kind).as_py()
    except (pa.ArrowInvalid, pa.ArrowTypeError, pa.ArrowNotImplementedError, OverflowError):
        return None
