"""Tests are tested: each variable that a test reads is changed a little, and the test is called again.

A test that passes whatever is changed notices nothing: it is hollow. Changed are copies, one variable at a time: by one
percent, a row lost, a row doubled, a value missing. Whatever a value's own code does here, it does in its cage.
"""

from __future__ import annotations

import contextlib
import datetime
import dis
import inspect
import io
import re
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from time import monotonic
from types import CodeType, FunctionType
from typing import Any, Final

from cellwright_guest.answer_wire import MutantsTold, MutatedTest, MutateTests
from cellwright_guest.functions import put_back
from cellwright_guest.previews import within
from cellwright_guest.previews.time_limit import TimeUp

_SECONDS: Final = 10.0
"""For all tests together; those that it does not come to are not judged."""
_CALL_SECONDS: Final = 2.0
_MOST_TESTS: Final = 200
_MOST_ITEMS: Final = 100_000
"""What is larger is copied too slowly to be tried."""
_DEPTH: Final = 3
_LITTLE: Final = 1.01
_PRIVATE: Final = re.compile(r"^_cell_\w+?_(?=\w)")
"""What marimo puts before the names that are private to a cell."""


def mutate(asked: MutateTests, names: dict[str, Any]) -> MutantsTold:
    """What each of these tests, which pass as it is, notices."""
    before, end = dict(names), monotonic() + _SECONDS
    tests: list[MutatedTest] = []
    for name in asked.names[:_MOST_TESTS]:
        test = names.get(name)
        if monotonic() < end and isinstance(test, FunctionType) and not inspect.signature(test).parameters:
            tests.append(_mutated(name, test, names, end))
            put_back(names, before)
    return MutantsTold(request=asked.request, tests=tests)


def _mutated(name: str, test: FunctionType, names: dict[str, Any], end: float) -> MutatedTest:
    tried, noticed, reads = 0, 0, list[str]()
    for variable in _Reader(names).read(test):
        value, before = names[variable], tried
        for mutant in _mutants_of(value):
            if monotonic() > end:
                # It might have noticed the next one.
                return MutatedTest(name=name, tried=0)
            tried += 1
            names[variable] = mutant
            noticed += _notices(test)
            names[variable] = value
        if tried > before:
            reads.append(_PRIVATE.sub("_", variable)[:100])
    return MutatedTest(name=name, tried=tried, noticed=noticed, reads=reads[:20])


def _notices(test: Callable[[], object]) -> bool:
    def call() -> bool:
        with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
            test()
        return False

    def failed(error: BaseException) -> bool:
        # What takes too long is no test that passes.
        return isinstance(error, Exception | TimeUp)

    return within(_CALL_SECONDS, call, failed)


@dataclass(slots=True)
class _Reader:
    """Finds the variables that a test reads, itself and through functions of the notebook."""

    names: dict[str, Any]
    seen: set[int] = field(default_factory=set[int])

    def read(self, function: FunctionType) -> list[str]:
        return list(dict.fromkeys(self._read(function)))

    def _read(self, function: FunctionType) -> Iterator[str]:
        if id(function) in self.seen or function.__globals__ is not self.names:
            return
        self.seen.add(id(function))
        for name in _globals_in(function.__code__):
            value = self.names.get(name)
            if isinstance(value, FunctionType):
                yield from self._read(value)
            elif value is not None and not inspect.ismodule(value) and not callable(value):
                yield name


def _globals_in(code: CodeType) -> Iterator[str]:
    for step in dis.get_instructions(code):
        if step.opname in ("LOAD_GLOBAL", "LOAD_NAME"):
            yield str(step.argval)
    for inner in code.co_consts:
        if isinstance(inner, CodeType):
            yield from _globals_in(inner)


# ── small changes ──


class _Same(Exception):
    """Nothing in it can be changed by a little."""


def _mutants_of(value: Any) -> Iterator[Any]:
    """A few values that are nearly this one; none of what we do not know."""
    for make in (_by_a_little, _without_one, _with_one_twice, _with_one_missing):
        # A value that cannot be changed in this way is not tried in this way; its own code may do anything.
        yield from within(_CALL_SECONDS, lambda make=make: (make(value),), lambda _: ())


def _kind(value: Any) -> str:
    return type(value).__module__.partition(".")[0]


def _size(value: Any) -> int:
    size = len(value)
    if not 0 < size <= _MOST_ITEMS:
        raise _Same
    return size


def _by_a_little(value: Any, depth: int = _DEPTH) -> Any:
    if isinstance(value, bool) or type(value).__name__ == "bool_":
        return not value
    if isinstance(value, int):
        return value + max(1, round(abs(value) * (_LITTLE - 1)))
    if isinstance(value, float):
        return value * _LITTLE if value else 0.01
    if isinstance(value, str):
        return f"{value}~"
    if isinstance(value, datetime.date):
        return value + datetime.timedelta(days=1)
    if isinstance(value, dict):
        return dict(zip(value, _items_by_a_little(list(value.values()), depth), strict=True))
    if type(value) in (list, tuple):
        return type(value)(_items_by_a_little(list(value), depth))
    return _table_by_a_little(value)


def _items_by_a_little(items: list[Any], depth: int) -> list[Any]:
    _size(items)
    changed, has_changed = list[Any](), False
    for item in items:
        try:
            if depth == 0:
                raise _Same
            changed.append(_by_a_little(item, depth - 1))
            has_changed = True
        except (_Same, TypeError, ValueError, AttributeError):
            changed.append(item)
    if not has_changed:
        raise _Same
    return changed


def _table_by_a_little(value: Any) -> Any:
    match _kind(value):
        case "pandas" if hasattr(value, "columns"):
            _size(value)
            numbers = value.select_dtypes("number").columns
            if not len(numbers):
                raise _Same
            return value.assign(**{str(name): value[name] * _LITTLE for name in numbers if isinstance(name, str)})
        case "polars" if hasattr(value, "columns"):
            selectors: Any = sys.modules["polars"].selectors
            _size(value)
            return value.with_columns(selectors.numeric() * _LITTLE)
        case "numpy" if getattr(value, "ndim", 0) == 0:
            return value * _LITTLE if value else value + 1
        case "pandas" | "polars" | "numpy":
            _size(value)
            return value * _LITTLE
        case _:
            raise _Same


def _without_one(value: Any) -> Any:
    _size(value)
    if isinstance(value, dict):
        return dict(list(value.items())[1:])
    if type(value) in (set, frozenset):
        return type(value)(list(value)[1:])
    if type(value) in (list, tuple):
        return value[1:]
    return value.iloc[1:] if hasattr(value, "iloc") else _known_table(value)[1:]


def _with_one_twice(value: Any) -> Any:
    _size(value)
    if type(value) in (list, tuple):
        return value[:1] + value
    first = value.iloc[:1] if hasattr(value, "iloc") else _known_table(value)[:1]
    library: Any = sys.modules[_kind(value)]
    join = library.concatenate if _kind(value) == "numpy" else library.concat
    return join([first, value])


def _with_one_missing(value: Any) -> Any:
    size = _size(value)
    if _kind(value) != "pandas":
        raise _Same
    numpy: Any = sys.modules["numpy"]
    is_kept = numpy.ones(value.shape, dtype=bool)
    is_kept[size // 2] = False
    return value.where(is_kept)


def _known_table(value: Any) -> Any:
    if _kind(value) not in ("numpy", "polars"):
        raise _Same
    return value
