"""Why a cell has no result, short enough to read: what went wrong, on which line, and how it got there."""

from __future__ import annotations

import re
import sys
from collections import deque
from collections.abc import Iterable, Sequence
from difflib import get_close_matches
from linecache import cache as _line_cache
from types import FrameType, ModuleType, TracebackType
from typing import Any, Final, assert_never

from marimo._messaging import errors as marimo_errors
from marimo._runtime.control_flow import MarimoStopError
from marimo._runtime.exceptions import MarimoMissingRefError, MarimoRuntimeException

from cellwright_guest import report_wire
from cellwright_guest.previews import identity, within
from cellwright_guest.previews.plain import bounded, brief, exact, one_line
from cellwright_guest.previews.preview import plain_or_type
from cellwright_guest.previews.things import safe_str

_MESSAGE_BYTES: Final = 2_000
_TRACEBACK_BYTES: Final = 4_000
_SOURCE_LENGTH: Final = 120
_FRAMES_EACH_END: Final = 8
_CHAIN: Final = 3
_GROUP: Final = 5
_NOTES: Final = 5
_FAULT_TIMEOUT_SECONDS: Final = 3.0
"""Of wall time: on a busy machine even a short message may take a while."""
_MOST_NAMES: Final = 2_000
_CELL_FILE: Final = re.compile(r"__marimo__cell_(.+?)_(?:\.py)?$")
_LIBRARY_TAIL: Final = re.compile(r".*/(?:site-packages|dist-packages|python3\.\d+)/(.+)$", re.DOTALL)

_TYPES: Final[dict[type, str]] = {
    marimo_errors.MultipleDefinitionError: "multiple-definition",
    marimo_errors.MarimoStrictExecutionError: "strict-execution",
    marimo_errors.MarimoSQLError: "sql",
}
"""Errors that we call otherwise than marimo does."""


def raised(
    exception: BaseException | marimo_errors.Error, *, cell: str, seconds: float = _FAULT_TIMEOUT_SECONDS
) -> report_wire.CellError:
    """What a cell raised while it ran, as marimo's runner hands it over. Never raises, never longer than promised."""
    if not isinstance(exception, BaseException):
        return structural([exception])
    error = _unwrapped(exception)
    kind = type(error)
    return within(
        seconds,
        lambda: _error_of(error, cell),
        lambda problem: report_wire.CellError(
            type=identity.qualified_name(kind), message="Its message could not be read.", line=_line(error, cell)
        ),
    )


def structural(errors: Sequence[marimo_errors.Error]) -> report_wire.CellError:
    """Why marimo would not run a cell; the first error, and how many more there are."""
    if not errors:
        return report_wire.CellError(type="unknown", message="The cell could not be run.")
    first = _structural(errors[0])
    if len(errors) == 1:
        return first
    others = "; ".join(one_line(_structural(error).message) for error in errors[1:4])
    more = f" (+{len(errors) - 4} more)" if len(errors) > 4 else ""
    message = bounded(f"{first.message}\nAlso: {others}{more}", _MESSAGE_BYTES)
    return report_wire.CellError(type=first.type, message=message, line=first.line)


def _unwrapped(exception: BaseException) -> BaseException:
    for _ in range(8):
        inner: BaseException | None = None
        if isinstance(exception, MarimoRuntimeException):
            inner = exception.__cause__
        elif isinstance(exception, MarimoMissingRefError):
            inner = exception.name_error
        if inner is None:
            return exception
        exception = inner
    return exception


# ── exceptions ──


def _error_of(error: BaseException, cell: str) -> report_wire.CellError:
    return report_wire.CellError(
        type=bounded(identity.qualified_name(type(error)), 200),
        message=bounded(_message(error), _MESSAGE_BYTES),
        line=_line(error, cell),
        traceback=bounded("\n".join(_traceback(error.__traceback__)), _TRACEBACK_BYTES),
    )


def _message(error: BaseException) -> str:
    if isinstance(error, KeyboardInterrupt):
        return "Interrupted."
    if isinstance(error, MarimoStopError):
        return "Stopped by mo.stop()."
    parts = [_own_words(error) + _suggestion(error)]
    notes = identity.instance_attributes(error).get("__notes__")
    if type(notes) is list:
        parts += [brief(note, 400, plain_or_type) if type(note) is not str else note[:400] for note in notes[:_NOTES]]
    if isinstance(error, BaseExceptionGroup):
        parts += _members(error, 0)
    parts += _causes(error)
    return "\n".join(part for part in parts if part)


def _own_words(error: BaseException) -> str:
    if isinstance(error, SyntaxError) and type(error.msg) is str:
        where = f" (line {error.lineno})" if type(error.lineno) is int else ""
        line = f"\n    {error.text.strip()[:_SOURCE_LENGTH]}" if type(error.text) is str else ""
        return f"{error.msg[:_MESSAGE_BYTES]}{where}{line}"
    return safe_str(error, _MESSAGE_BYTES)


def _summary(error: BaseException) -> str:
    message = one_line(_own_words(error)[:300])
    name = identity.qualified_name(type(error))
    return f"{name}: {message}" if message else name


def _members(group: BaseExceptionGroup[Any], depth: int) -> list[str]:
    inner = group.exceptions
    lines: list[str] = []
    for member in inner[:_GROUP]:
        lines.append(f"{'  ' * depth}- {_summary(member)}")
        if isinstance(member, BaseExceptionGroup) and depth < 2:
            lines += _members(member, depth + 1)
    if len(inner) > _GROUP:
        lines.append(f"{'  ' * depth}- … {len(inner) - _GROUP:,} more")
    return lines


def _causes(error: BaseException) -> list[str]:
    lines: list[str] = []
    seen = {id(error)}
    for _ in range(_CHAIN):
        words, inner = "caused by", error.__cause__
        if inner is None and not error.__suppress_context__:
            words, inner = "while handling", error.__context__
        if inner is None or id(inner) in seen or isinstance(inner, MarimoRuntimeException):
            break
        seen.add(id(inner))
        lines.append(f"{words} {_summary(inner)}")
        error = inner
    return lines


def _suggestion(error: BaseException) -> str:
    """A name that looks like the one that was not found; objects other than modules are not asked."""
    name: Any = getattr(error, "name", None) if type(error) in {NameError, AttributeError, ImportError} else None
    if type(name) is not str or len(name) > 60:
        return ""
    known: Iterable[Any] = ()
    if type(error) is AttributeError and type(error.obj) is ModuleType:
        known = error.obj.__dict__
    elif type(error) is NameError and (last := deque(_frames(error.__traceback__), maxlen=1)):
        known = [*last[0][0].f_locals, *last[0][0].f_globals]
    choices = [key for key in list(known)[:_MOST_NAMES] if type(key) is str and not key.startswith("_")]
    close = get_close_matches(name, choices, n=1, cutoff=0.75)
    return f" Did you mean {close[0]!r}?" if close and close[0] != name else ""


# ── where ──


def _frames(traceback: TracebackType | None) -> Iterable[tuple[FrameType, int]]:
    while traceback is not None:
        yield traceback.tb_frame, traceback.tb_lineno or 0
        traceback = traceback.tb_next


def _cell_of(frame: FrameType) -> str | None:
    found = _CELL_FILE.search(exact(frame.f_code.co_filename)[-200:])
    return found[1] if found else None


def _line(error: BaseException, cell: str) -> int | None:
    """The innermost line of the cell that took part."""
    line = None
    for frame, number in _frames(error.__traceback__):
        if _cell_of(frame) == cell and number > 0:
            line = number
    return line


def _traceback(traceback: TracebackType | None) -> list[str]:
    first: list[str] = []
    last: deque[str] = deque(maxlen=_FRAMES_EACH_END)
    count = repeats = 0
    previous: tuple[int, int] | None = None
    library: tuple[FrameType, int] | None = None
    for frame, line in _frames(traceback):
        cell = _cell_of(frame)
        library = (frame, line) if cell is None else None
        if cell is None:
            continue
        if previous == (id(frame.f_code), line):
            repeats += 1
            continue
        for entry in (*_repeated(repeats), _cell_line(frame, cell, line)):
            first.append(entry) if len(first) < _FRAMES_EACH_END else last.append(entry)
            count += 1
        previous, repeats = (id(frame.f_code), line), 0
    last.extend(_repeated(repeats))
    dropped = count - len(first) - len(last)
    lines = [*first, *([f"… {dropped:,} more lines"] if dropped > 0 else []), *last]
    return [*lines, _library_line(*library)] if library is not None else lines


def _repeated(times: int) -> list[str]:
    return [f"  (previous line {times:,} more times)"] if times else []


def _cell_line(frame: FrameType, cell: str, line: int) -> str:
    function = exact(frame.f_code.co_name)
    within_function = "" if function == "<module>" else f" in {function[:60]}"
    source = _source(exact(frame.f_code.co_filename), line)
    return f"cell {cell}, line {line}{within_function}{f': {source}' if source else ''}"


def _source(filename: str, line: int) -> str:
    # Only what marimo put there: linecache itself would open any file that user code names.
    entry: Any = _line_cache.get(filename)
    if type(entry) is not tuple or len(entry) != 4 or type(entry[2]) is not list:
        return ""
    lines: list[Any] = entry[2]
    found = lines[line - 1] if 0 < line <= len(lines) else ""
    return found.strip()[:_SOURCE_LENGTH] if type(found) is str else ""


def _library_line(frame: FrameType, line: int) -> str:
    filename = exact(frame.f_code.co_filename)[-1_000:]
    found = _LIBRARY_TAIL.match(filename)
    if found:
        shown = found[1]
    elif filename.startswith("<"):
        shown = filename[:60]
    else:
        # Of the project, with its folder; of Python's own, the name says enough.
        shown = "/".join(filename.split("/")[-1 if filename.startswith((sys.prefix, sys.base_prefix)) else -2 :])
    return f"{shown[-120:]}, line {line} in {exact(frame.f_code.co_name)[:60]}"


# ── marimo's own errors ──


def _structural(error: marimo_errors.Error) -> report_wire.CellError:
    kind, message, line = _TYPES.get(type(error), str(type(error).__struct_config__.tag)), error.describe(), None
    match error:
        case marimo_errors.MarimoSyntaxError(lineno=line) | marimo_errors.ImportStarError(lineno=line):
            pass
        case marimo_errors.CycleError(edges_with_vars=edges):
            message = f"These cells need each other: {_edges(edges)}."
        case marimo_errors.SetupRootError(edges_with_vars=edges):
            message = f"The setup cell cannot use names of other cells: {_edges(edges)}."
        case marimo_errors.MultipleDefinitionError(name=name, cells=cells):
            others = ", ".join(f"cell {cell!r}" for cell in cells[:5])
            message = f"{name!r} is also defined in {others}. A name has one cell."
        case marimo_errors.MarimoInterruptionError():
            message = "Interrupted."
        case marimo_errors.MarimoAncestorPreventedError(raising_cell=source):
            message = f"cell {source!r}, which it needs, did not run."
        case marimo_errors.MarimoAncestorStoppedError(raising_cell=source):
            message = f"cell {source!r}, which it needs, called mo.stop()."
        case marimo_errors.MarimoExceptionRaisedError(exception_type=kind, raising_cell=source):
            message = message if source is None else f"{message.rstrip()} cell {source!r}."
        case marimo_errors.MarimoStrictExecutionError(blamed_cell=source):
            message = f"{message} (cell {source!r})" if source else message
        case marimo_errors.MarimoSQLError():
            message, line = _sql(error)
        case marimo_errors.MarimoInternalError():
            pass
        case marimo_errors.UnknownError(error_type=named):
            kind, message = named or kind, _last_words(message)
        case other:
            assert_never(other)
    return report_wire.CellError(type=bounded(kind, 200), message=bounded(message.strip(), _MESSAGE_BYTES), line=line)


def _sql(error: marimo_errors.MarimoSQLError) -> tuple[str, int | None]:
    where = "" if error.sql_line is None else f"\nin line {error.sql_line + 1} of the SQL"
    statement = error.sql_statement[:2_000].split("\n")
    if error.sql_line is not None and error.sql_line < len(statement):
        where += f": {statement[error.sql_line].strip()[:_SOURCE_LENGTH]}"
    hint = f"\n{error.hint}" if error.hint else ""
    return f"{error.msg}{where}{hint}", error.node_lineno + (error.sql_line or 0) if error.node_lineno else None


def _last_words(message: str) -> str:
    """The last lines of a formatted traceback, without the paths before them."""
    if not message.startswith("Traceback (most recent call last)"):
        return message
    lines = message[-_MESSAGE_BYTES:].rstrip().split("\n")
    start = max((n for n, line in enumerate(lines) if line.startswith(" ")), default=-1)
    return "\n".join(lines[start + 1 :])


def _edges(edges: Sequence[Any]) -> str:
    shown = [
        f"cell {source!r} gives {', '.join(variables[:5])} to cell {target!r}"
        for source, variables, target in edges[:6]
    ]
    return "; ".join(shown) + ("; …" if len(edges) > 6 else "")
