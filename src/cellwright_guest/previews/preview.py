"""A typed, bounded look at any value."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

from cellwright_guest import report_wire
from cellwright_guest.previews import columns, figures, identity, plain, tables, things
from cellwright_guest.previews.plain import bounded, one_line, room_of
from cellwright_guest.previews.time_limit import NEVER, WAITING_TIMES, TimeLimit, TimeUp

EACH_SECONDS: Final = 0.5
"""Timeout of one value; the rest of the batch does not wait longer for it."""

_NAME_BYTES: Final = 200
_KINDS: Final[dict[type, tuple[str, str]]] = {
    int: ("number", "int"),
    float: ("number", "float"),
    complex: ("number", "complex"),
    bool: ("bool", "bool"),
    type(None): ("none", "NoneType"),
    str: ("text", "str"),
    bytes: ("text", "bytes"),
    bytearray: ("text", "bytearray"),
    list: ("list", "list"),
    tuple: ("tuple", "tuple"),
    set: ("set", "set"),
    frozenset: ("set", "frozenset"),
    dict: ("dict", "dict"),
}
_COUNTED: Final = frozenset({list, tuple, set, frozenset, dict})


def preview(name: str, value: object, *, tokens: int = 200, seconds: float = EACH_SECONDS) -> report_wire.Variable:
    """One value: never raises, never longer than `tokens`, costs the same for 10 MB and 1 GB."""
    return preview_all([(name, value)], tokens_each=tokens, seconds=seconds * WAITING_TIMES, each_seconds=seconds)[0]


def preview_all(
    items: Iterable[tuple[str, object]],
    tokens_each: int = 200,
    seconds: float = 2.0,
    each_seconds: float = EACH_SECONDS,
) -> list[report_wire.Variable]:
    """All of them under one time limit; builtin values need none and are looked at first."""
    named = list(items)
    room = room_of(tokens_each)
    shown = [plain_preview(name, value, room) for name, value in named]
    if None not in shown:
        return [variable for variable in shown if variable is not None]
    drawn: set[int] = set()
    with TimeLimit(seconds=seconds, each_seconds=each_seconds) as limit:
        return [
            variable or limited_preview(name, value, room, limit, drawn)
            for variable, (name, value) in zip(shown, named, strict=True)
        ]


def plain_preview(name: str, value: Any, room: int) -> report_wire.Variable | None:
    """A builtin that holds only builtins, in a few microseconds; None for all else."""
    kind = type(value)
    known = _KINDS.get(kind)
    if known is None:
        return None
    inner = room - min(24, room // 4)  # for a count in front, and for letters of several bytes
    try:
        text = plain.brief(value, inner)
    except (plain.NotBuiltin, RuntimeError):  # RuntimeError: a thread of theirs changed it meanwhile
        return None
    if len(text) > inner - 24 and kind in _COUNTED:
        text = f"{len(value):,} items: {text}"
    return report_wire.Variable(name=bounded(name, _NAME_BYTES), kind=known[0], type=known[1], text=bounded(text, room))


def limited_preview(name: str, value: object, room: int, limit: TimeLimit, drawn: set[int]) -> report_wire.Variable:
    """Any value, while `limit` is entered. Figures already `drawn` are not drawn again for their axes."""
    kind = type(value)
    type_name = "object"
    found, text, png = "object", "", b""
    try:
        type_name = bounded(identity.qualified_name(kind), _NAME_BYTES)
        if limit.start():
            found, text = classify(value, kind, room)
            png = _picture(value, kind, drawn) if found == "figure" else b""
        else:
            text = f"<{type_name}: not looked at, the time for previews was used up>"
        limit.deadline = NEVER
    except TimeUp:
        limit.deadline = NEVER
        text = text or f"<{type_name}: looking at it took too long>"
    except BaseException as error:  # noqa: BLE001  # a library or the value itself may raise anything
        limit.deadline = NEVER
        text = text or f"<{type_name}: looking at it raised {identity.qualified_name(type(error))}>"
    return report_wire.Variable(
        name=bounded(name, _NAME_BYTES), kind=found, type=type_name, text=bounded(text, room), picture=png
    )


def classify(value: Any, kind: type, room: int) -> tuple[str, str]:
    """(kind, text), the first family that knows the value."""
    if kind in _KINDS:
        return _KINDS[kind][0], plain.brief(value, room - min(24, room // 4), nested)
    packages = identity.packages_of(kind)
    if table := tables.table_of(value, kind, packages):
        return table[0], tables.text(table[1], room, cell)
    if found := things.code(value, kind, room, nested):
        return found
    if BaseException in identity.ancestry(kind):
        return "exception", things.exception(value, kind, room)
    if found := things.marimo(value, kind, packages, room, nested):
        return found
    if (text := figures.text(value, kind, packages, room)) is not None:
        return "figure", text
    if identity.is_kind(kind, "numpy", "generic"):
        return "number", things.safe_repr(value, room)
    if columns.is_array(kind, packages):
        return "array", columns.array_text(value, kind, room, cell)
    if (text := things.model(value, kind, packages, room, nested, 0)) is not None:
        return "model", text
    if found := things.subclass_of_builtin(value, kind, room, nested, 0):
        return found
    return "object", things.anything(value, kind, room, nested, 0)


def nested(value: Any, room: int, depth: int) -> str:
    """A value inside another one: one line, tables and arrays by their shape."""
    kind = type(value)
    if kind in _KINDS:
        return plain.brief(value, room, nested, depth)
    packages = identity.packages_of(kind)
    if table := tables.table_of(value, kind, packages):
        return f"<{identity.qualified_name(kind)}: {table[1].headline()}>"
    if found := things.code(value, kind, room, plain_or_type):
        return f"<{found[1].partition(':')[0]}>"
    if identity.is_kind(kind, "numpy", "generic"):
        return things.safe_repr(value, room)
    if "numpy" in packages and identity.is_kind(kind, "numpy", "ndarray"):
        return f"<{columns.array_headline(value)}>"
    if found := things.marimo(value, kind, packages, room, plain_or_type):
        return f"<{one_line(found[1])}>"
    if (text := things.model(value, kind, packages, room, nested, depth)) is not None:
        return one_line(text)
    if found := things.subclass_of_builtin(value, kind, room, nested, depth):
        return found[1]
    return one_line(things.anything(value, kind, room, nested, depth))


def plain_or_type(value: Any, room: int, depth: int) -> str:
    """A builtin by its text, anything else by its type: the end of the walk."""
    if type(value) in _KINDS:
        return plain.brief(value, room, plain_or_type, depth)
    return f"<{identity.qualified_name(type(value))}>"


def cell(value: Any, room: int) -> str:
    """A value inside a table or array."""
    return nested(value, room, 2)


def _picture(value: Any, kind: type, drawn: set[int]) -> bytes:
    try:
        figure = figures.drawable(value, kind)
        if figure is None or id(figure) in drawn:
            return b""
        drawn.add(id(figure))
        return figures.picture(figure)
    except TimeUp:
        raise
    except BaseException:  # noqa: BLE001  # drawing runs the person's artists; the text is enough
        return b""
