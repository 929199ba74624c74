"""Where a program stands: paused at tool calls, finished, failed, or lost with its worker. And what it may use.

A failure says which part of Python is missing here, and what to write instead.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, Literal

from cellwright.journal.values import Json

MOST_MESSAGE_CHARACTERS: Final = 2000
FailureKind = Literal["error", "syntax", "unsupported", "types", "limit", "state", "crash"]
LimitName = Literal[
    "seconds", "sleep_seconds", "memory", "output_bytes", "tool_calls", "argument_bytes", "value_bytes", "state_bytes",
    "program_bytes", "recursion", "lookups",
]  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class ProgramLimits:
    """What one program may use, from its start to its end, over all its pauses."""

    seconds: float = 10
    """Time its own code runs; waiting for tools does not count."""
    sleep_seconds: float = 10
    """All its `sleep` calls together."""
    memory_mb: int = 64
    """What its values take."""
    output_bytes: int = 65_536
    """What it prints."""
    tool_calls: int = 200
    argument_bytes: int = 1 << 20
    """Of one call, as JSON."""
    value_bytes: int = 1 << 20
    """Of its result, as JSON."""
    state_bytes: int = 16 << 20
    """What is written down at each pause."""
    program_bytes: int = 262_144


@dataclass(frozen=True, slots=True, kw_only=True)
class ProgramCall:
    """A tool the program wants called. The id stays the same wherever the program is continued."""

    id: int
    name: str
    arguments: Mapping[str, Json]
    """By the parameters' names, however the program wrote them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CallFailure:
    """A tool's answer that is raised in the program, where it can be caught."""

    message: str
    type: str = "RuntimeError"
    """A built-in exception; any other name becomes part of the message of a `RuntimeError`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ProgramPaused:
    """Waits for the answers to at least one of these calls."""

    calls: tuple[ProgramCall, ...]
    """Every call without an answer, those of an earlier pause included."""
    state: bytes
    """The program as it stands, for `ActionWorker.load`. Opaque: it is only ever opened in a cage."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ProgramFinished:
    """Ran to its end."""

    value: Json
    """Of its last expression."""
    output: str
    """What it printed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ProgramFailed:
    """Stopped before its end, through its own doing; written so that a model can repair it."""

    kind: FailureKind
    type: str
    """The exception's name."""
    message: str
    line: int | None = None
    hint: str = ""
    """What to write instead, where that is known."""
    limit: LimitName | None = None
    """Which one, if it was a limit."""
    output: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ProgramLost:
    """The worker ended under it. Nothing is wrong with the program: load its state, or start it again."""

    reason: str
    state: bytes | None
    """Where it last paused; None if it never did."""


ProgramStep = ProgramPaused | ProgramFinished | ProgramFailed | ProgramLost


_Advice = tuple[FailureKind, str, str]
"""How a failure is classified and put: its kind, a message, and a hint."""


_MODULES = (
    "asyncio, base64, bisect, collections, copy, csv, dataclasses, datetime, decimal, functools, hashlib, itertools, "
    "json, math, random, re, time, typing, unicodedata"
)

_FEATURES: tuple[tuple[str, str, str], ...] = (
    ("class inheritance", "class inheritance (base classes, own exceptions, Enum, TypedDict)",
     "Use functions, dicts or a @dataclass without a base class; raise ValueError or RuntimeError."),
    ("yield from", "generator functions (`yield from`)", "Build a list and return it, or use a comprehension."),
    ("yield", "generator functions (`yield`)", "Build a list and return it, or use a generator expression."),
    ("method decorators", "@staticmethod, @classmethod and @property", "Use plain methods or functions."),
    ("the 'del' statement", "the `del` statement", "Use d.pop(key), or rebind the name."),
    ("type aliases", "`type X = …` statements", "Leave the alias out: annotations are not needed."),
    ("async for", "`async for`", "Await a list, then use a plain `for`."),
    ("async comprehensions", "async comprehensions", "Use `await asyncio.gather(*[tool(x) for x in items])`."),
    ("async context managers", "`async with` (and so asyncio.TaskGroup)", "Use `await asyncio.gather(...)`."),
    ("exception groups", "`except*`", "Use plain `except`."),
    ("callable replacement", "re.sub with a function", "Loop over re.finditer and join the parts."),
)  # fmt: skip
_ABSENT_HINT = (
    "Use functions, variables and bytes; ask through a tool, if one is there, and let the program end itself."
)
_ASYNCIO_HINT = "Use `await asyncio.gather(...)` to do several things at once."
_NOT_YET = re.compile(r"not yet support|is not supported in this environment|not yet implemented")
_ABSENT_NAME = re.compile(
    r"name '(bytearray|memoryview|input|exit|quit|super|classmethod|staticmethod|property|__import__|globals|locals"
    r"|vars|compile|breakpoint)' is not defined"
)
_ABSENT_MODULE = re.compile(r"No module named '([\w.]+)'")
_ABSENT_PART = re.compile(r"cannot import name '(\w+)' from '([\w.]+)'|module '([\w.]+)' has no attribute '(\w+)'")
_DUNDER_METHOD = re.compile(r"object of type '(\w+)' has no len\(\)")

_NOT_AWAITED = re.compile(r"CoroutineType\[|is not awaited|'coroutine' object")
_KIND_HINTS: dict[FailureKind, str] = {
    "types": "Call the tools as their signatures say.",
    "state": "Start the program again from its beginning.",
    "crash": "Write the program in another, simpler way.",
}
_LIMIT_HINTS: dict[LimitName, str] = {
    "seconds": "Do less work here: compute in a notebook cell through the tools, or in smaller programs.",
    "sleep_seconds": "Do not wait in a program; end it and look again later.",
    "memory": "Keep large data in the notebook and fetch only what is needed, for example counts or the first rows.",
    "output_bytes": "Print less: a summary instead of everything.",
    "tool_calls": "Make fewer calls: ask for more at once, or stop when enough is known.",
    "argument_bytes": "Pass less: a name, a path or a part instead of the whole.",
    "value_bytes": "Return less: a summary instead of everything.",
    "state_bytes": "Keep fewer values in variables when a tool is called.",
    "program_bytes": "Write a shorter program; data does not belong into it.",
    "recursion": "Use a loop instead of deep recursion.",
    "lookups": "Do not use undefined names or missing modules in a loop.",
}


def program_failed(
    kind: FailureKind,
    error: str,
    message: str,
    line: int | None = None,
    limit: LimitName | None = None,
    output: str = "",
) -> ProgramFailed:
    """The failure in words that help."""
    kind, message, hint = _advise(kind, error, message[:MOST_MESSAGE_CHARACTERS], limit)
    return ProgramFailed(kind=kind, type=error[:200], message=message, line=line, hint=hint, limit=limit, output=output)


def _advise(kind: FailureKind, error: str, message: str, limit: LimitName | None) -> _Advice:
    if limit is not None:
        return "limit", message, _LIMIT_HINTS[limit]
    missing = None if kind in _KIND_HINTS else _missing(error, message)
    return missing or (kind, message, _hint(kind, error, message))


def _missing(error: str, message: str) -> _Advice | None:
    """The part of Python that is not there, if that is what it is about."""
    if error == "NotImplementedError" or _NOT_YET.search(message):
        return _feature(message)
    if found := _ABSENT_MODULE.search(message):
        hint = f"A program can import {_MODULES}. Everything else runs in a notebook cell, through the tools."
        return _unsupported(f"the module {found[1]!r}", hint)
    if found := _ABSENT_PART.search(message):
        module, name = found[2] or found[3], found[1] or found[4]
        hint = _ASYNCIO_HINT if module == "asyncio" else "Write it with plain Python, or run it in a notebook cell."
        return _unsupported(f"`{module}.{name}`", hint)
    if found := _ABSENT_NAME.search(message):
        return _unsupported(f"`{found[1]}`", _ABSENT_HINT)
    if found := _DUNDER_METHOD.search(message):
        return _unsupported(f"`__len__` of an own class ({found[1]})", "Add a method `size()` and call that.")
    return None


def _feature(message: str) -> _Advice | None:
    for words, name, hint in _FEATURES:
        if words in message:
            return _unsupported(name, hint)
    if _NOT_YET.search(message) is None:
        # The program's own NotImplementedError.
        return None
    what = re.sub(r"^The monty syntax parser does not yet support ", "", message)
    return "unsupported", f"Not available in programs: {what}", "Write it with simpler Python."


def _unsupported(name: str, hint: str) -> _Advice:
    return "unsupported", f"Not available in programs: {name}.", hint


def _hint(kind: FailureKind, error: str, message: str) -> str:
    if kind in ("state", "crash"):
        return _KIND_HINTS[kind]
    if error == "NeverAwaited" or _NOT_AWAITED.search(message):
        return "Tools are async: write `await tool(...)`, or gather several with `await asyncio.gather(...)`."
    if kind != "types" and (error == "PermissionError" or "in this environment" in message):
        return "Programs have no files, no network and no environment; use the tools."
    if error == "NameError" or (kind == "types" and "used when not defined" in message):
        return "Define it first; the only tools are the ones listed."
    return _KIND_HINTS.get(kind, "")
