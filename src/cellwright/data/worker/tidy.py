"""Types as people use them: what pandas, polars and DuckDB compute with, whatever the driver calls it.

A number of any size becomes int64 while all of them are whole and fit, else float64: only the values tell, so a column
may widen while its result streams. Pure.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

Convert = Callable[[pa.Array], pa.Array]
_UUID_DASHES: Final = (8, 13, 18, 23)
_HEX: Final = np.frombuffer(b"0123456789abcdef", dtype=np.uint8)
_INTERVAL: Final = np.dtype([("months", "<i4"), ("days", "<i4"), ("nanoseconds", "<i8")])
_DAY_MICROSECONDS: Final = 86_400_000_000
_YEAR_MICROSECONDS: Final = 31_557_600_000_000
"""365.25 days: what Postgres itself counts for a year of an interval."""


class TidyColumns:
    """Batches of a driver in, batches for people out. `schema` may change with a batch: see `widen`."""

    def __init__(self, schema: pa.Schema) -> None:
        self._columns = [_Column(field) for field in schema]
        self._names = unique_names(schema.names)
        self.schema = self._schema()

    def take(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        """The same rows; from now on `schema` is that of this batch."""
        arrays = [column.take(array) for column, array in zip(self._columns, batch.columns, strict=True)]
        if any(array.type != known for array, known in zip(arrays, self.schema.types, strict=True)):
            self.schema = self._schema()
        if not arrays:
            return batch
        return pa.RecordBatch.from_arrays(arrays, schema=self.schema)

    def _schema(self) -> pa.Schema:
        return pa.schema([(name, column.type) for name, column in zip(self._names, self._columns, strict=True)])


class _Column:
    def __init__(self, field: pa.Field) -> None:
        self.type, self._convert = _rule(field.type)
        self._widens = self.type == pa.int64() and _is_number(field.type)
        if self._widens and _scale_of(field) > 0:
            self.type, self._widens = pa.float64(), False

    def take(self, array: pa.Array) -> pa.Array:
        if self._widens:
            try:
                return _stored(array).cast(pa.int64())
            except pa.ArrowInvalid:
                self.type, self._widens = pa.float64(), False
        if self.type == pa.float64():
            return _floats(array)
        return self._convert(array)


def widen(batch: pa.RecordBatch, schema: pa.Schema) -> pa.RecordBatch:
    """A batch of before, in the types of after."""
    arrays = [
        array if array.type == field.type else array.cast(field.type, safe=False)
        for array, field in zip(batch.columns, schema, strict=True)
    ]
    return pa.RecordBatch.from_arrays(arrays, schema=schema)


def unique_names(names: Iterable[str]) -> list[str]:
    """Each once, as DuckDB does it: a second `id` is `id_1`. Not all libraries take two columns of one name."""
    taken, unique = set(names), list[str]()
    for name in names:
        number, fresh = 0, name
        while fresh in unique or (number and fresh in taken):
            number += 1
            fresh = f"{name}_{number}"
        unique.append(fresh)
    return unique


# ── one type ──


def _rule(kind: pa.DataType) -> tuple[pa.DataType, Convert]:
    """What a type becomes, and how."""
    if _is_number(kind):
        return (pa.float64(), _floats) if pa.types.is_decimal(kind) and kind.scale > 0 else (pa.int64(), _floats)
    if isinstance(kind, pa.UuidType):
        return pa.string(), _uuid_texts
    if isinstance(kind, pa.BaseExtensionType):
        target, convert = _rule(kind.storage_type)
        return target, lambda array: convert(_stored(array))
    if pa.types.is_interval(kind):
        return pa.duration("us"), _durations
    if pa.types.is_dictionary(kind):
        # The file format has one dictionary for a column; batches come with their own.
        target, convert = _rule(kind.value_type)
        return target, lambda array: convert(array.dictionary_decode())
    if pa.types.is_string_view(kind) or pa.types.is_binary_view(kind):
        target = pa.large_string() if pa.types.is_string_view(kind) else pa.large_binary()
        return target, lambda array: array.cast(target)
    return _nested_rule(kind)


def _nested_rule(kind: pa.DataType) -> tuple[pa.DataType, Convert]:
    if pa.types.is_list(kind) or pa.types.is_large_list(kind):
        inner, convert = _inner_rule(kind.value_type)
        if inner != kind.value_type:
            whole = pa.list_(inner) if pa.types.is_list(kind) else pa.large_list(inner)
            return whole, lambda array: _list_of(array, convert, whole)
    if pa.types.is_struct(kind):
        rules = [_inner_rule(field.type) for field in kind]
        whole = pa.struct([(field.name, rule[0]) for field, rule in zip(kind, rules, strict=True)])
        if whole != kind:
            return whole, lambda array: _struct_of(array, [rule[1] for rule in rules], whole)
    return kind, lambda array: array


def _inner_rule(kind: pa.DataType) -> tuple[pa.DataType, Convert]:
    """Inside lists and structures a number is a float at once: nothing widens there."""
    return (pa.float64(), _floats) if _is_number(kind) else _rule(kind)


def _is_number(kind: pa.DataType) -> bool:
    if isinstance(kind, pa.OpaqueType):
        return kind.type_name == "numeric" and pa.types.is_string(kind.storage_type)
    return pa.types.is_decimal(kind)


def _scale_of(field: pa.Field) -> int:
    """Digits behind the point that the column was declared with."""
    if pa.types.is_decimal(field.type):
        return field.type.scale
    declared = int((field.metadata or {}).get(b"POSTGRESQL:typmod", b"-1"))
    return (declared - 4) & 0x7FF if declared >= 4 else 0


def _stored(array: pa.Array) -> pa.Array:
    return array.storage if isinstance(array, pa.ExtensionArray) else array


def _floats(array: pa.Array) -> pa.Array:
    return _stored(array).cast(pa.float64(), safe=False)


def _list_of(array: Any, convert: Convert, whole: pa.DataType) -> pa.Array:
    kind = pa.ListArray if pa.types.is_list(whole) else pa.LargeListArray
    values = convert(array.flatten())
    lengths = pc.call_function("list_value_length", [array]).fill_null(0)
    ends = np.concatenate(([0], np.cumsum(lengths.to_numpy(zero_copy_only=False))))
    offsets = pa.array(ends, type=pa.int32() if pa.types.is_list(whole) else pa.int64())
    return kind.from_arrays(offsets, values, type=whole, mask=array.is_null())


def _struct_of(array: Any, converts: list[Convert], whole: pa.DataType) -> pa.Array:
    children = [convert(child) for convert, child in zip(converts, array.flatten(), strict=True)]
    return pa.StructArray.from_arrays(children, fields=list(whole), mask=array.is_null())


def _uuid_texts(array: Any) -> pa.Array:
    stored = array.storage.fill_null(bytes(16))
    raw = np.frombuffer(stored.buffers()[1], dtype=np.uint8, count=16 * len(stored), offset=16 * stored.offset)
    digits = np.empty((len(stored), 32), dtype=np.uint8)
    digits[:, 0::2] = _HEX[raw.reshape(-1, 16) >> 4]
    digits[:, 1::2] = _HEX[raw.reshape(-1, 16) & 15]
    texts = np.full((len(stored), 36), ord("-"), dtype=np.uint8)
    texts[:, [place for place in range(36) if place not in _UUID_DASHES]] = digits
    offsets = np.arange(len(stored) + 1, dtype=np.int32) * 36
    whole = pa.StringArray.from_buffers(len(stored), pa.py_buffer(offsets), pa.py_buffer(texts))
    if not array.null_count:
        return whole
    return pc.call_function("if_else", [array.is_null(), pa.scalar(None, pa.string()), whole])


def _durations(array: Any) -> pa.Array:
    raw = np.frombuffer(array.buffers()[1], dtype=_INTERVAL, count=len(array), offset=_INTERVAL.itemsize * array.offset)
    years, months = np.divmod(raw["months"].astype(np.int64), 12)
    days = months * 30 + raw["days"]
    spans = years * _YEAR_MICROSECONDS + days * _DAY_MICROSECONDS + raw["nanoseconds"] // 1000
    mask = array.is_null().to_numpy(zero_copy_only=False) if array.null_count else None
    return pa.array(spans, type=pa.duration("us"), mask=mask)
