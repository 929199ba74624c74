"""Lifetimes that own background tasks, without changing what is raised inside them."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager


@contextmanager
def unwrap_single_error() -> Generator[None]:
    """Around a task group: when exactly one thing went wrong, raise that thing and not a group of one.

    Whoever writes `async with open_notebook(…)` expects the exception of their own block to come out as it is.
    """
    try:
        yield
    except BaseExceptionGroup as group:
        alone = _only_one(group)
        if alone is None:
            raise
        raise alone from alone.__cause__


def _only_one(group: BaseExceptionGroup[BaseException]) -> BaseException | None:
    if len(group.exceptions) != 1:
        return None
    first = group.exceptions[0]
    return _only_one(first) if isinstance(first, BaseExceptionGroup) else first
