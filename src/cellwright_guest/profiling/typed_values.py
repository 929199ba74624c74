"""Values of a program (of JSON, a sheet, a database) become columns of arrow."""

from __future__ import annotations

import datetime as dt
import decimal
import json
import math
from collections.abc import Mapping, Sequence
from typing import Any, Final

import pyarrow as pa

from cellwright_guest.profiling.arrow import Schema, Table
from cellwright_guest.profiling.raw import RawColumn
from cellwright_guest.profiling.records import Oddity
from cellwright_guest.profiling.sampling import Sample
from cellwright_guest.profiling.sources import example, plural, short_name

_LARGEST_INTEGER: Final = 2**63 - 1
_LONGEST_TEXT: Final = 1 << 20


def typed_column(name: str, values: Sequence[Any]) -> tuple[RawColumn, list[Oddity]]:
    """A column of what the values are; of text, and said, where they are of several kinds."""
    values = [_safe(value) for value in values]
    kinds = {_kind(value) for value in values if value is not None}
    if kinds == {"integer", "number"}:
        values, kinds = [None if value is None else float(value) for value in values], {"number"}
    if kinds == {"date", "datetime"}:
        values, kinds = [_as_datetime(value) for value in values], {"datetime"}
    if len(kinds) <= 1:
        array = _array(values)
        if array is not None:
            return RawColumn(name=name, values=array, is_text_format=False), []
    told = sorted(kinds)
    texts = [None if value is None else as_text(value) for value in values]
    odd = [Oddity(kind="mixed-types", says=_says_mixed(name, values, told), column=name, count=_rarer(values))]
    return RawColumn(name=name, values=pa.array(texts, type=pa.string()), is_text_format=False), odd


def typed_columns(names: Sequence[str], rows: Sequence[Sequence[Any]]) -> tuple[list[RawColumn], list[Oddity]]:
    """Columns of rows that are as long as `names`."""
    columns, odd = list[RawColumn](), list[Oddity]()
    for at, name in enumerate(names):
        column, noticed = typed_column(short_name(name), [row[at] for row in rows])
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


def raw_columns(table: Table, names: Sequence[str]) -> list[RawColumn]:
    """Columns that are typed already."""
    return [
        RawColumn(name=name, values=column, is_text_format=False)
        for name, column in zip(names, table.columns, strict=True)
    ]


def kept_or_empty(sample: Sample, rows: int, schema: Schema) -> Table:
    """The rows of a sample; no rows where none came."""
    table = sample.table(rows)
    return schema.empty_table() if table is None else table


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


def _kind(value: Any) -> str:
    match value:
        case bool():
            return "yes or no"
        case int():
            return "integer"
        case float() | decimal.Decimal():
            return "number"
        case str():
            return "text"
        case dt.datetime():
            return "datetime"
        case dt.date():
            return "date"
        case dt.time():
            return "time"
        case bytes():
            return "bytes"
        case list():
            return "list"
        case Mapping():
            return "object"
        case _:
            return type(value).__name__


def _as_datetime(value: Any) -> Any:
    return dt.datetime(value.year, value.month, value.day) if type(value) is dt.date else value


def _array(values: Sequence[Any]) -> Any:
    try:
        return pa.array(values)
    except (pa.ArrowException, TypeError, ValueError, OverflowError, RecursionError):
        return None


def _rarer(values: Sequence[Any]) -> int:
    """How many values are not of the commonest kind."""
    kinds = [_kind(value) for value in values if value is not None]
    return len(kinds) - max((kinds.count(kind) for kind in set(kinds)), default=0)


def _says_mixed(name: str, values: Sequence[Any], kinds: Sequence[str]) -> str:
    shown = [
        example(as_text(next(value for value in values if value is not None and _kind(value) == kind)))
        for kind in kinds
    ]
    what = ", ".join(f"{kind} ({text!r})" for kind, text in zip(kinds[:4], shown, strict=False))
    return f"{name!r} holds values of {plural(len(kinds), 'kind')}: {what}."
