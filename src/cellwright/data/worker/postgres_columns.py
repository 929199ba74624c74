"""What the ADBC driver cannot read as it comes: cast by the server, or set right here. Pure."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc

from cellwright.data.worker.source import SourceFailed

_CASTS: Final = {"money": "{}::numeric", "oid": "{}::int8", "inet": "abbrev({})", "_money": "{}::numeric[]"}
_AS_TEXT: Final = "{}::text"
_AS_TEXTS: Final = "{}::text::text[]"
"""By the type's own text: a cast of the items would write a network's length where there is none."""
_TOKENS: Final = re.compile(r"'(?:[^']|'')*'|\"(?:[^\"]|\"\")*\"|\$(\d+)")
_FAR_TIMESTAMP: Final = -(2**63) + 946_684_800_000_000
_FAR_DATE: Final = -(2**31) + 10_957
"""What -infinity is read as; infinity wraps around to one less."""


def readable(statement: str, schema: pa.Schema) -> str:
    """The statement, or around it one that casts what the driver has no type for to what it has."""
    casts = [_cast(field) for field in schema]
    if not any(casts):
        return statement
    names = [f"c{place}" for place in range(len(casts))]
    columns = ", ".join(cast.format(name) if cast else name for name, cast in zip(names, casts, strict=True))
    # On lines of its own: a comment at its end would swallow the bracket.
    return f"SELECT {columns} FROM (\n{statement}\n) AS q({', '.join(names)})"


def _cast(field: pa.Field) -> str:
    called = (field.metadata or {}).get(b"POSTGRESQL:type", b"").decode()
    if called in _CASTS:
        return _CASTS[called]
    if pa.types.is_list(field.type):
        return _AS_TEXTS if _is_raw(field.type.value_type) else ""
    return _AS_TEXT if _is_raw(field.type) else ""


def _is_raw(kind: pa.DataType) -> bool:
    """The server's own bytes of a type that the driver does not know, or a row, which it often misreads."""
    return pa.types.is_struct(kind) or (isinstance(kind, pa.OpaqueType) and pa.types.is_binary(kind.storage_type))


def without_infinity(batch: pa.RecordBatch) -> pa.RecordBatch:
    """Dates that never come are null: no library has them, and the driver reads them as some day long ago."""
    arrays = [_finite(array) for array in batch.columns]
    return pa.RecordBatch.from_arrays(arrays, names=batch.schema.names) if arrays else batch


def _finite(array: pa.Array) -> pa.Array:
    if pa.types.is_timestamp(array.type):
        far, whole = _FAR_TIMESTAMP, array.view(pa.int64())
    elif pa.types.is_date32(array.type):
        far, whole = _FAR_DATE, array.view(pa.int32())
    else:
        return array
    # Asked first: making a scalar loads pandas, a third of a second that hardly any result needs.
    smallest = pc.call_function("min_max", [whole])["min"].as_py()
    if smallest is None or smallest > far:
        return array
    is_far = pc.call_function("less_equal", [whole, pa.scalar(far, whole.type)])
    return pc.call_function("if_else", [is_far, pa.scalar(None, array.type), array])


def bound_parameters(statement: str, values: Sequence[Any], types: Sequence[str]) -> tuple[str, list[str | None]]:
    """The statement that casts each parameter from text to what the server takes it for, and the texts.

    A judged statement has no comments, no `$` of another kind and no prefixed texts: what is outside quotes is a
    parameter. Raises `SourceFailed`.
    """
    if len(values) != len(types):
        raise SourceFailed("statement", f"The statement has {len(types)} parameters, and {len(values)} were given.")

    def cast(found: re.Match[str]) -> str:
        if found[1] is None:
            return found[0]
        return f"CAST({found[0]}::text AS {types[int(found[1]) - 1]})"

    return _TOKENS.sub(cast, statement), [_text(value) for value in values]


def _text(value: Any) -> str | None:
    match value:
        case None | str():
            return value
        case bool():
            return "true" if value else "false"
        case int() | float():
            return repr(value)
        case list() if all(item is None or isinstance(item, str | int | float) for item in value):
            return "{" + ",".join(_item(item) for item in value) + "}"
        case _:
            return json.dumps(value)


def _item(value: Any) -> str:
    text = _text(value)
    return "NULL" if text is None else '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'
