"""MySQL's texts as Arrow's types. A date of zeros is null; what a type cannot hold never ends a result. Pure."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc
from pymysql.constants import FIELD_TYPE, FLAG

Values = Sequence[bytes | None]
_BINARY_CHARSET: Final = 63
_NUMERIC: Final = pa.opaque(pa.string(), "numeric", "MySQL")
"""Whole numbers of any size: `TidyColumns` decides."""
_INTEGERS: Final = {
    FIELD_TYPE.TINY: (pa.int8(), pa.uint8()),
    FIELD_TYPE.SHORT: (pa.int16(), pa.uint16()),
    FIELD_TYPE.INT24: (pa.int32(), pa.uint32()),
    FIELD_TYPE.LONG: (pa.int32(), pa.uint32()),
    FIELD_TYPE.LONGLONG: (pa.int64(), pa.uint64()),
    FIELD_TYPE.YEAR: (pa.int16(), pa.int16()),
}
_DATES: Final = {
    FIELD_TYPE.DATE: pa.date32(),
    FIELD_TYPE.NEWDATE: pa.date32(),
    FIELD_TYPE.DATETIME: pa.timestamp("us"),
    FIELD_TYPE.TIMESTAMP: pa.timestamp("us"),
}
_TEXTS: Final = frozenset(
    {
        FIELD_TYPE.VARCHAR, FIELD_TYPE.VAR_STRING, FIELD_TYPE.STRING, FIELD_TYPE.BLOB, FIELD_TYPE.TINY_BLOB,
        FIELD_TYPE.MEDIUM_BLOB, FIELD_TYPE.LONG_BLOB,
    }
)  # fmt: skip
_WORDS: Final = frozenset({FIELD_TYPE.ENUM, FIELD_TYPE.SET, FIELD_TYPE.JSON, FIELD_TYPE.NULL})
_ZEROS: Final = r"^0000|-00"
_TIME: Final = re.compile(rb"(-?)(\d+):(\d+):(\d+)(?:\.(\d{1,6}))?")


def column_type(field: Any) -> pa.DataType:
    """Of a column as the server describes it."""
    code = field.type_code
    if code in _INTEGERS:
        return _INTEGERS[code][bool(field.flags & FLAG.UNSIGNED)]
    if code in _DATES:
        return _DATES[code]
    if code in {FIELD_TYPE.DECIMAL, FIELD_TYPE.NEWDECIMAL}:
        return _NUMERIC if field.scale == 0 else pa.float64()
    if code in _WORDS or (code in _TEXTS and field.charsetnr != _BINARY_CHARSET):
        return pa.string()
    known = {
        FIELD_TYPE.FLOAT: pa.float32(),
        FIELD_TYPE.DOUBLE: pa.float64(),
        FIELD_TYPE.TIME: pa.duration("us"),
        FIELD_TYPE.BIT: pa.bool_() if field.length == 1 else pa.uint64(),
    }
    return known.get(code, pa.binary())


def column_array(values: Values, field: Any) -> pa.Array:
    """The values of a column."""
    kind = column_type(field)
    if pa.types.is_duration(kind):
        return pa.array([_microseconds(value) for value in values], kind)
    if field.type_code == FIELD_TYPE.BIT:
        return pa.array(
            [None if value is None else int.from_bytes(value, "big") for value in values], pa.uint64()
        ).cast(kind)
    raw = pa.array(values, pa.binary())
    if pa.types.is_binary(kind):
        return raw
    texts = _texts(raw, values)
    if isinstance(kind, pa.OpaqueType):
        return pa.ExtensionArray.from_storage(kind, texts)
    if kind in {pa.date32(), pa.timestamp("us")}:
        texts = _null_where(texts, _ZEROS)
    return _tolerant(texts, kind)


def _texts(raw: pa.Array, values: Values) -> pa.Array:
    try:
        return raw.cast(pa.string())
    except pa.ArrowInvalid:
        return pa.array([None if value is None else value.decode("utf-8", "replace") for value in values], pa.string())


def _tolerant(texts: pa.Array, kind: pa.DataType) -> pa.Array:
    try:
        return texts.cast(kind)
    except pa.ArrowInvalid:
        return pa.array([_one(text, kind) for text in texts], kind)


def _one(text: pa.Scalar, kind: pa.DataType) -> Any:
    try:
        return text.cast(kind).as_py()
    except pa.ArrowInvalid:
        return None


def _null_where(texts: pa.Array, pattern: str) -> pa.Array:
    found = pc.call_function("match_substring_regex", [texts], pc.MatchSubstringOptions(pattern))
    if not pc.call_function("any", [found]).as_py():
        return texts
    return pc.call_function("if_else", [found, pa.scalar(None, pa.string()), texts])


def _microseconds(value: bytes | None) -> int | None:
    """A TIME is up to 838 hours, before or behind."""
    found = _TIME.fullmatch(value) if value is not None else None
    if found is None:
        return None
    hours, minutes, seconds = int(found[2]), int(found[3]), int(found[4])
    total = ((hours * 60 + minutes) * 60 + seconds) * 1_000_000 + int((found[5] or b"0").ljust(6, b"0"))
    return -total if found[1] else total
