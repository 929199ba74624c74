"""ClickHouse's Arrow set right: dates and enumerations come as bare numbers, addresses as bytes. Pure."""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Callable, Sequence
from typing import Any, Final

import pyarrow as pa

Convert = Callable[[pa.Array], pa.Array]
_WRAPPED: Final = re.compile(r"(?:Nullable|LowCardinality)\((.*)\)", re.DOTALL)
_DATE_TIME: Final = re.compile(r"DateTime(?:\('([^']*)'\))?")
_MEMBERS: Final = re.compile(r"'((?:[^'\\]|\\.)*)' = (-?\d+)")
_WIDE: Final = re.compile(r"U?Int(?:128|256)")
_NUMERIC: Final = pa.opaque(pa.string(), "numeric", "ClickHouse")


def set_right(batch: pa.RecordBatch, types: Sequence[str]) -> pa.RecordBatch:
    """The batch with its columns as the server means them; `types` are the server's own words, as far as known."""
    said = [*types, *([""] * batch.num_columns)]
    arrays = [_column(array, kind) for array, kind in zip(batch.columns, said, strict=False)]
    return pa.RecordBatch.from_arrays(arrays, names=batch.schema.names) if arrays else batch


def _column(array: pa.Array, said: str) -> pa.Array:
    while found := _WRAPPED.fullmatch(said):
        said = found[1]
    if (found := _DATE_TIME.fullmatch(said)) and pa.types.is_integer(array.type):
        zone = found[1] or "UTC"
        return array.cast(pa.int64()).cast(pa.timestamp("s", zone)).cast(pa.timestamp("us", zone))
    if said.startswith("Enum") and pa.types.is_integer(array.type):
        names = {int(number): name.replace("\\'", "'").replace("\\\\", "\\") for name, number in _MEMBERS.findall(said)}
        return pa.array([names.get(value) for value in array.to_pylist()], pa.string())
    if said == "IPv4" and pa.types.is_integer(array.type):
        return _each(array, lambda value: str(ipaddress.IPv4Address(value)))
    if said == "IPv6" and pa.types.is_fixed_size_binary(array.type):
        return _each(array, lambda value: str(ipaddress.IPv6Address(value)))
    if _WIDE.fullmatch(said) and pa.types.is_fixed_size_binary(array.type):
        signed = said.startswith("Int")
        texts = _each(array, lambda value: str(int.from_bytes(value, "little", signed=signed)))
        return pa.ExtensionArray.from_storage(_NUMERIC, texts)
    return _readable(array) if pa.types.is_string(array.type) else array


def _each(array: pa.Array, text: Callable[[Any], str]) -> pa.Array:
    return pa.array([None if value is None else text(value) for value in array.to_pylist()], pa.string())


def _readable(array: pa.Array) -> pa.Array:
    """A ClickHouse text may be any bytes; what is none is shown with marks."""
    try:
        array.validate(full=True)
    except pa.ArrowInvalid:
        raw = array.view(pa.binary()).to_pylist()
        return pa.array([None if value is None else value.decode("utf-8", "replace") for value in raw], pa.string())
    return array
