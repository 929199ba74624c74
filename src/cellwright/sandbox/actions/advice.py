"""What a model is told about a failure: which part of Python is missing here, and what to write instead. Pure.

The interpreter says "not yet supported" in several ways; here each becomes the feature's name and a way round.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from cellwright.sandbox.actions.steps import FailureKind, LimitName


@dataclass(frozen=True, slots=True, kw_only=True)
class Advice:
    """How a failure is classified and put."""

    kind: FailureKind
    message: str
    hint: str = ""


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
    ("template strings", "t-strings", "Use an f-string."),
    ("IPython", "notebook magics (`%`, `!`)", "Write plain Python; to run a cell or a command use a tool."),
    ("class bodies", "class bodies with more than methods and simple variables", "Use functions and dicts."),
    ("complex class variable", "class bodies with more than methods and simple variables", "Use functions and dicts."),
    ("assignment expressions", "`:=` in a class body", "Assign before the class."),
    ("multiple **kwargs", "several `**` in one call", "Merge the dicts first: `{**a, **b}`."),
    ("starred expressions", "`*` in this place", "Build the list first, with + or extend()."),
    ("matrix multiplication", "matrix multiplication (`@`)", "Run array code in a notebook cell, through the tools."),
    ("callable replacement", "re.sub with a function", "Loop over re.finditer and join the parts."),
)  # fmt: skip
_ABSENT_NAMES = {
    "bytearray": "Use bytes or a list of integers.",
    "memoryview": "Use bytes.",
    "input": "Ask through a tool, if one is there.",
    "exit": "Let the program end, or raise an exception.",
    "quit": "Let the program end, or raise an exception.",
    "super": "There are no base classes; call the function itself.",
    "classmethod": "Use a function.",
    "staticmethod": "Use a function.",
    "property": "Use a method.",
    "__import__": "Use an `import` statement.",
    "globals": "Use variables.",
    "locals": "Use variables.",
    "vars": "Use variables.",
    "compile": "Write the code itself.",
    "breakpoint": "Use print().",
}
_ASYNCIO_HINT = "Use `await asyncio.gather(...)` to do several things at once."
_NOT_YET = re.compile(r"not yet support|is not supported in this environment|not yet implemented")
_ABSENT_NAME = re.compile(r"name '(\w+)' is not defined")
_ABSENT_MODULE = re.compile(r"No module named '([\w.]+)'")
_ABSENT_PART = re.compile(r"cannot import name '(\w+)' from '([\w.]+)'|module '([\w.]+)' has no attribute '(\w+)'")
_DUNDER_METHOD = re.compile(r"object of type '(\w+)' has no len\(\)")

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


def advise(kind: FailureKind, error: str, message: str, limit: LimitName | None = None) -> Advice:
    """The failure in words that help."""
    if limit is not None:
        return Advice(kind="limit", message=message, hint=_LIMIT_HINTS[limit])
    if kind == "types":
        return Advice(kind=kind, message=message, hint=_about_types(message))
    if kind == "state":
        return Advice(kind=kind, message=message, hint="Start the program again from its beginning.")
    if kind == "crash":
        return Advice(kind=kind, message=message, hint="Write the program in another, simpler way.")
    return _missing(error, message) or Advice(kind=kind, message=message, hint=_about_error(error, message))


def _missing(error: str, message: str) -> Advice | None:
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
    if (found := _ABSENT_NAME.search(message)) and found[1] in _ABSENT_NAMES:
        return _unsupported(f"`{found[1]}`", _ABSENT_NAMES[found[1]])
    if found := _DUNDER_METHOD.search(message):
        return _unsupported(f"`__len__` of an own class ({found[1]})", "Add a method `size()` and call that.")
    return None


def _feature(message: str) -> Advice | None:
    for words, name, hint in _FEATURES:
        if words in message:
            return _unsupported(name, hint)
    if _NOT_YET.search(message) is None:
        # The program's own NotImplementedError.
        return None
    what = re.sub(r"^The monty syntax parser does not yet support ", "", message)
    return Advice(
        kind="unsupported", message=f"Not available in programs: {what}", hint="Write it with simpler Python."
    )


def _unsupported(name: str, hint: str) -> Advice:
    return Advice(kind="unsupported", message=f"Not available in programs: {name}.", hint=hint)


def _about_types(message: str) -> str:
    if "CoroutineType[" in message or "is not awaited" in message:
        return "Tools are async: write `await tool(...)`, or gather several with `await asyncio.gather(...)`."
    if "used when not defined" in message:
        return "Define it first; the only tools are the ones listed."
    return "Call the tools as their signatures say."


def _about_error(error: str, message: str) -> str:
    if "'coroutine' object" in message or error == "NeverAwaited":
        return "Tools are async: write `await tool(...)`, or gather several with `await asyncio.gather(...)`."
    if error == "PermissionError" or "in this environment" in message:
        return "Programs have no files, no network and no environment; use the tools."
    if error == "NameError":
        return "Define it first; the only tools are the ones listed."
    return ""
