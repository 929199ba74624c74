"""Everything that is no table, array or figure: models, functions, classes, modules, UI elements, any object."""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Callable, Iterable
from itertools import islice
from types import BuiltinFunctionType, CodeType, FunctionType, MethodType, ModuleType
from typing import Any, Final

from cellwright_guest.previews import identity, plain
from cellwright_guest.previews.time_limit import TimeUp

_ADDRESS: Final = re.compile(r" at 0x[0-9a-fA-F]+")
_MARKUP: Final = re.compile(r"<[^<>]*>")
_DOCUMENT_LENGTH: Final = 100
_VARIADIC: Final = 0x04
_KEYWORDS: Final = 0x08


def safe_repr(value: Any, room: int) -> str:
    """Whatever the value says of itself, without its address; or that it would not say."""
    said, error = _said(repr, value, room + 24)
    return _ADDRESS.sub("", said) if not error else f"<{identity.qualified_name(type(value))}: its repr raised {error}>"


def safe_str(value: Any, room: int) -> str:
    """Like `safe_repr`, for `str(value)`."""
    said, error = _said(str, value, room)
    return said if not error else f"<its message could not be read: {error}>"


def _said(say: Callable[[Any], str], value: Any, room: int) -> tuple[str, str]:
    """The beginning of it, or the name of what it raised instead."""
    try:
        return str.__getitem__(say(value), slice(0, room)), ""
    except TimeUp:
        raise
    except BaseException as error:  # noqa: BLE001  # its code may raise anything, SystemExit and KeyboardInterrupt too
        return "", identity.qualified_name(type(error))


# ── builtin subclasses and records ──


def subclass_of_builtin(value: Any, kind: type, room: int, other: plain.Other, depth: int) -> tuple[str, str] | None:
    """(kind, text) of a value that extends a builtin; its own overrides are not asked for anything but numbers."""
    bases = identity.ancestry(kind)
    if identity.module_of(kind) == "enum" or identity.class_attribute(kind, "_member_map_") is not None:
        return "object", safe_repr(value, room)
    if str in bases:
        return "text", plain.string(plain.exact(value) if len(bases) < 4 and str.__len__(value) < room else value, room)
    if bytes in bases or bytearray in bases:
        return "text", plain.octets(value, room)
    if int in bases:
        return "number", plain.integer(value)
    if float in bases or complex in bases:
        return "number", safe_repr(value, room)
    name = identity.qualified_name(kind).rpartition(".")[2]
    if dict in bases:
        body = _at_depth(depth) or plain.pairs(
            dict.items(value), dict.__len__(value), room - len(name) - 4, other, depth
        )
        return "dict", f"{name}({{{body}}})"
    for base, label in ((list, "list"), (tuple, "tuple"), (set, "set"), (frozenset, "set"), (deque, "list")):
        if base in bases:
            return label, _sequence(value, kind, base, name, room, other, depth)
    return None


def _sequence(value: Any, kind: type, base: Any, name: str, room: int, other: plain.Other, depth: int) -> str:
    if shallow := _at_depth(depth):
        return f"{name}({shallow})"
    fields = identity.class_attribute(kind, "_fields") if base is tuple else None
    if type(fields) is tuple:
        return record(name, zip(fields, tuple.__iter__(value), strict=False), room, other, depth)
    body = plain.elements(base.__iter__(value), base.__len__(value), room - len(name) - 4, other, depth)
    return f"{name}([{body}])"


def _at_depth(depth: int) -> str:
    return "…" if depth >= plain.DEPTH else ""


def record(name: str, fields: Iterable[tuple[Any, Any]], room: int, other: plain.Other, depth: int) -> str:
    """`Point(x=1, y=2)`, as many fields as fit."""
    shown: list[str] = []
    left = room - len(name) - 2
    for key, value in islice(fields, 200):
        if left < 8:
            shown.append("…")
            break
        label = str(key)[:40] if type(key) is str else "?"
        text = f"{label}={plain.brief(value, max(left - len(label) - 1, 8), other, depth + 1)}"
        shown.append(text)
        left -= len(text) + 2
    return f"{name}({', '.join(shown)})"


def model(value: Any, kind: type, packages: set[str], room: int, other: plain.Other, depth: int) -> str | None:
    """Records with named fields and fitted estimators; None for anything else. Fields hidden from repr stay hidden."""
    name = identity.qualified_name(kind).rpartition(".")[2]
    fields = identity.class_attribute(kind, "__dataclass_fields__")
    if type(fields) is dict and depth < plain.DEPTH and "marimo" not in packages:
        shown = [key for key, field in fields.items() if getattr(field, "repr", True)]
        return record(name, _values(value, shown), room, other, depth)
    if "pydantic" in packages and identity.is_kind(kind, "pydantic.main", "BaseModel") and depth < plain.DEPTH:
        described = identity.class_attribute(kind, "__pydantic_fields__")
        hidden = {key for key, field in described.items() if not field.repr} if type(described) is dict else set()
        held = identity.instance_attributes(value)
        return record(name, ((key, held[key]) for key in held if key not in hidden), room, other, depth)
    if "msgspec" in packages and type(names := identity.class_attribute(kind, "__struct_fields__")) is tuple:
        return record(name, _values(value, names), room, other, depth)
    if "sklearn" in packages and identity.is_kind(kind, "sklearn.base", "BaseEstimator"):
        learnt = [key for key in identity.instance_attributes(value) if key.endswith("_") and not key.startswith("_")]
        state = f", fitted: {', '.join(learnt[:8])}" if learnt else ", not fitted"
        return plain.one_line(safe_repr(value, room)) + state
    if "torch" in packages and identity.is_kind(kind, "torch.nn", "Module"):
        return safe_repr(value, room)
    return None


def _values(value: Any, names: Iterable[str]) -> Iterable[tuple[str, Any]]:
    for name in names:
        try:
            yield name, object.__getattribute__(value, name)
        except AttributeError:
            continue


# ── code ──


def code(value: Any, kind: type, room: int, other: plain.Other) -> tuple[str, str] | None:
    """(kind, text) of a function, class or module: its signature and the first line of its documentation."""
    bases = identity.ancestry(kind)
    if type in bases:
        return "class", _class(value, other)
    if kind is FunctionType:
        return "function", _documented(signature(value, other), value.__doc__)
    if kind is MethodType:
        inner = value.__func__
        shown = signature(inner, other) if type(inner) is FunctionType else safe_repr(value, room)
        return "function", f"bound method {shown}"
    if kind is BuiltinFunctionType or kind.__name__ in {"ufunc", "_ArrayFunctionDispatcher"}:
        name = getattr(value, "__name__", "?")
        shown = getattr(value, "__text_signature__", None)
        parameters = shown.replace("$module, ", "").replace("$self, ", "") if type(shown) is str else "(…)"
        return "function", _documented(f"{name}{parameters}", getattr(value, "__doc__", None))
    if ModuleType in bases:
        held = identity.instance_attributes(value)
        version = held.get("__version__")
        name = held.get("__name__")
        shown = f"module {name if type(name) is str else '?'}" + (f" {version}" if type(version) is str else "")
        return "module", shown
    return None


def signature(function: FunctionType, other: plain.Other) -> str:
    """`name(a: int, b=1, *rest, key, **more) -> str`, put together without asking any default for its repr first."""
    source: CodeType = function.__code__
    names = source.co_varnames
    positional, keyword_only = source.co_argcount, source.co_kwonlyargcount
    defaults: tuple[Any, ...] = function.__defaults__ or ()
    values = dict(zip(names[positional - len(defaults) : positional], defaults, strict=False))
    values |= function.__kwdefaults__ or {}
    notes = function.__annotations__

    def parameter(name: str, prefix: str = "") -> str:
        note = f": {_annotation(notes[name], other)}" if name in notes else ""
        return f"{prefix}{name}{note}" + (f"={plain.brief(values[name], 30, other, 2)}" if name in values else "")

    shown = [parameter(name) for name in names[: min(positional, 20)]]
    after = positional + keyword_only
    if source.co_flags & _VARIADIC:
        shown.append(parameter(names[after], "*"))
        after += 1
    elif keyword_only:
        shown.append("*")
    shown += [parameter(name) for name in names[positional : positional + min(keyword_only, 20)]]
    if source.co_flags & _KEYWORDS:
        shown.append(parameter(names[after], "**"))
    result = f" -> {_annotation(notes['return'], other)}" if "return" in notes else ""
    return f"{function.__qualname__.rpartition('.')[2]}({', '.join(shown)}){result}"


def _annotation(value: Any, other: plain.Other) -> str:
    if type(value) is str:
        return value[:60]
    if type in identity.ancestry(type(value)):
        return identity.qualified_name(value).rpartition(".")[2]
    return other(value, 60, 2)[:60]


def _class(value: Any, other: plain.Other) -> str:
    name = identity.qualified_name(value)
    bases = [identity.qualified_name(base) for base in identity.ancestry(value)[1:4] if base is not object]
    make = identity.class_attribute(value, "__init__")
    shown = f"class {name}" + (f" ({', '.join(bases)})" if bases else "")
    if type(make) is FunctionType:
        inner = signature(make, other).removeprefix("__init__").replace("(self, ", "(").replace("(self)", "()")
        shown += f", made by {name.rpartition('.')[2]}{inner.removesuffix(' -> None')}"
    # What a library's own class is for is no news.
    is_own = identity.module_of(value) in {"__main__", "__mp_main__", ""}
    return _documented(shown, identity.class_attribute(value, "__doc__")) if is_own else shown


def _documented(shown: str, document: Any) -> str:
    if type(document) is not str:
        return shown
    first = plain.one_line(document[:2_000].strip().partition("\n")[0][:_DOCUMENT_LENGTH])
    # A dataclass' generated documentation is its signature once more.
    return f"{shown}: {first}" if first and f"{first.partition('(')[0]}(" not in shown else shown


# ── marimo, errors, objects ──


def marimo(value: Any, kind: type, packages: set[str], room: int, other: plain.Other) -> tuple[str, str] | None:
    """(kind, text) of a UI element or of markup."""
    if "marimo" not in packages:
        return None
    held = identity.instance_attributes(value)
    if identity.is_kind(kind, "marimo._plugins.ui._core.ui_element", "UIElement"):
        label = _MARKUP.sub("", str(getattr(held.get("_args"), "label", "") or "")[:400]).strip()
        shown = f"mo.ui.{kind.__name__}" + (f" {label!r}" if label else "")
        return "ui", f"{shown} = {other(held.get('_value'), room - len(shown) - 3, 1)}"
    if type(source := held.get("_markdown_text")) is str:
        return "markdown", source[: room + 1]
    if identity.is_kind(kind, "marimo._output.hypertext", "Html") and type(markup := held.get("_text")) is str:
        return "html", f"markup of {len(markup):,} characters"
    return None


def exception(value: BaseException, kind: type, room: int) -> str:
    """`ValueError: message`."""
    name = identity.qualified_name(kind)
    message = safe_str(value, room)
    return f"{name}: {message}" if message else name


def anything(value: Any, kind: type, room: int, other: plain.Other, depth: int) -> str:
    """The value's own repr, or its attributes when it has none of its own."""
    if identity.class_attribute(kind, "__repr__") is not object.__repr__:
        return safe_repr(value, room)
    held = identity.instance_attributes(value)
    name = identity.qualified_name(kind).rpartition(".")[2]
    if not held or depth >= plain.DEPTH:
        return f"<{name} object>"
    return record(f"{name} object ", ((key, held[key]) for key in held), room, other, depth)
