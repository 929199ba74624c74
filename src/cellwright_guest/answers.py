"""An agent's answer: a text filled with the notebook's values by nothing but names, attributes, items and formats; and
the notebook's plain tests, called where they are.

Whatever a value's own code does here, it does in its cage, and is stopped like any cell.
"""

from __future__ import annotations

import ast
import contextlib
import inspect
import io
import linecache
import math
import re
import traceback
from collections.abc import Mapping
from typing import Any, Final

from cellwright_guest.answer_wire import (
    FIELD,
    MOST_CHARACTERS,
    MOST_FIELDS,
    Doubt,
    FilledField,
    FillText,
    NotebookTest,
    NotebookTests,
    RunTests,
    TextFilled,
)
from cellwright_guest.functions import put_back
from cellwright_guest.previews import within
from cellwright_guest.previews.time_limit import TimeUp
from cellwright_guest.streams import encodable

_STEP: Final = re.compile(r"\.(\w+)|\[([^\[\]]+)\]")
_PARTS: Final = re.compile(r"\s*(?:'[^']*'|\"[^\"]*\"|[^,'\"]+)")
_INDEXERS: Final = frozenset({"_LocIndexer", "_iLocIndexer", "_AtIndexer", "_iAtIndexer"})
"""Of pandas: they take a row and a column."""
_WIDE: Final = re.compile(r"\d{4}")
_MESSAGE: Final = 1_000
_LINE: Final = 160
_MOST_TESTS: Final = 200
_FILL_SECONDS: Final = 5.0
_TEST_SECONDS: Final = 5.0


class _Refused(Exception):
    """A field that is not filled, and why."""


def fill(asked: FillText, names: Mapping[str, Any], *, seconds: float = _FILL_SECONDS) -> TextFilled:
    """The text with every field replaced by its value, or why it cannot be."""

    def refused(error: BaseException) -> TextFilled:
        why = str(error) if isinstance(error, _Refused) else f"It cannot be filled: {type(error).__name__}: {error}"
        return TextFilled(request=asked.request, error=encodable(why[:_MESSAGE]))

    return within(seconds, lambda: _filled(asked, names), refused)


def _filled(asked: FillText, names: Mapping[str, Any]) -> TextFilled:
    pieces, fields, end = list[str](), list[FilledField](), 0
    for match in FIELD.finditer(asked.text):
        if len(fields) == MOST_FIELDS:
            raise _Refused(f"It has more than {MOST_FIELDS} fields.")
        value = _value(match, names)
        text = encodable(_shown(value, match))
        doubt = _doubt(value, text, match["format"] or "", asked.text[match.end() :])
        pieces += [asked.text[end : match.start()], text]
        fields.append(FilledField(field=match[0], text=text, doubt=doubt))
        end = match.end()
    whole = "".join([*pieces, asked.text[end:]])
    if len(whole) > MOST_CHARACTERS:
        raise _Refused(f"It would have {len(whole):,} characters: say less.")
    return TextFilled(request=asked.request, text=whole, fields=fields)


def _value(match: re.Match[str], names: Mapping[str, Any]) -> Any:
    name, field = match["name"], match[0]
    if name.startswith("_") or name not in names:
        raise _Refused(f"{field}: no cell defines {name!r}, or it is private to one.")
    value = names[name]
    for attribute, item in _STEP.findall(match["path"]):
        if attribute.startswith("_"):
            raise _Refused(f"{field}: {attribute!r} is private.")
        try:
            value = getattr(value, attribute) if attribute else value[_key(item, value)]
        except (AttributeError, LookupError, TypeError, ValueError) as error:
            raise _Refused(f"{field}: {type(error).__name__}: {error}") from error
    if callable(value):
        raise _Refused(f"{field} is a function: assign what it gives to a variable in a cell.")
    return value


def _key(item: str, value: Any) -> Any:
    """A number counts positions, unless the value has it as a key; quotes may stand around a key."""
    if type(value).__name__ in _INDEXERS and len(parts := _PARTS.findall(item)) > 1:
        return tuple(_key(part.strip(), None) for part in parts)
    if item[0] in "'\"" and item[-1] == item[0] and len(item) > 1:
        return item[1:-1]
    if re.fullmatch(r"-?\d{1,18}", item) and not (isinstance(value, dict) and item in value):
        return int(item)
    return item


def _shown(value: Any, match: re.Match[str]) -> str:
    spec = match["format"] or ""
    if _WIDE.search(spec):
        raise _Refused(f"{match[0]}: its format is too wide.")
    try:
        if match["conversion"]:
            value = repr(value) if match["conversion"] == "r" else str(value)
        text = format(value, spec)
    except (TypeError, ValueError) as error:
        raise _Refused(f"{match[0]}: {type(error).__name__}: {error}") from error
    if len(text) > MOST_CHARACTERS:
        raise _Refused(f"{match[0]} alone has {len(text):,} characters: take a part of it.")
    return text


def _doubt(value: Any, text: str, spec: str, after: str) -> Doubt:
    """What a careful reader would stop at."""
    if value is None or text in ("NaT", "<NA>"):
        return "missing"
    if isinstance(value, int | float) or (hasattr(value, "dtype") and getattr(value, "ndim", 1) == 0):
        return _number_doubt(value, spec, after)
    if getattr(value, "shape", (1,))[:1] == (0,):
        return "no rows"
    return "empty" if not text.strip() or (hasattr(value, "__len__") and len(value) == 0) else ""


def _number_doubt(value: Any, spec: str, after: str) -> Doubt:
    try:
        number = float(value)
    except (TypeError, ValueError, OverflowError):
        return ""
    if math.isnan(number):
        return "NaN"
    if math.isinf(number):
        return "infinite"
    most = 1.0 if spec.endswith("%") else 100.0 if after.lstrip(" \u202f\xa0").startswith("%") else math.inf
    # A change may well be below nothing.
    return "no share" if math.isfinite(most) and abs(number) > most else ""


def run_tests(asked: RunTests, names: dict[str, Any], *, seconds_each: float = _TEST_SECONDS) -> NotebookTests:
    """Each of these functions, called once; what it prints is nobody's, and names it binds are bound as before."""
    before = dict(names)
    ran = [_run_test(name, names.get(name), names, seconds_each) for name in asked.names[:_MOST_TESTS]]
    put_back(names, before)
    return NotebookTests(request=asked.request, tests=ran)


def _run_test(name: str, test: Any, names: Mapping[str, Any], seconds: float) -> NotebookTest:
    if test is None:
        return NotebookTest(name=name, verdict="failed", message="its cell has not run")
    if not inspect.isfunction(test) or inspect.iscoroutinefunction(test) or hasattr(test, "pytestmark"):
        return NotebookTest(name=name, verdict="not here", message="it is no plain function")
    takes = [one for one in inspect.signature(test).parameters.values() if one.default is one.empty]
    given = {one.name: names[one.name] for one in takes if one.name in names}
    if lacking := [one.name for one in takes if one.name not in given or one.kind is one.POSITIONAL_ONLY]:
        mend = f"it takes {', '.join(lacking)}: write `def {name}():` and read the notebook's variables in it"
        return NotebookTest(name=name, verdict="failed", message=mend)

    def call() -> NotebookTest:
        with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
            test(**given)
        return NotebookTest(name=name, verdict="passed")

    def failed(error: BaseException) -> NotebookTest:
        said = _failed_line(test, error) + f"{type(error).__name__}: {error}".rstrip(": ")
        if isinstance(error, TimeUp):
            said = f"it took longer than {seconds:g} s"
        return NotebookTest(name=name, verdict="failed", message=encodable(said[:_MESSAGE]))

    return within(seconds, call, failed)


def _failed_line(test: Any, error: BaseException) -> str:
    """Which of its lines it was: of several asserts the words alone may not tell."""
    frames = (frame for frame, _ in traceback.walk_tb(error.__traceback__) if frame.f_code is test.__code__)
    numbers = {frame.f_code.co_filename: frame.f_lineno for frame in frames}
    lines = [linecache.getline(file, _asserted(file, number)) for file, number in numbers.items()]
    line = "".join(each.strip() for each in lines)
    return f"`{line[:_LINE]}`: " if line else ""


def _asserted(file: str, number: int) -> int:
    """The line with what is asserted: Python 3.12 names the one that `assert (` stands on."""
    try:
        tree = ast.parse("".join(linecache.getlines(file)))
    except (SyntaxError, ValueError, RecursionError):
        return number
    asserts = (node for node in ast.walk(tree) if isinstance(node, ast.Assert) and node.lineno == number)
    return next((node.test.lineno for node in asserts), number)
