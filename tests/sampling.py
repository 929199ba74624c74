"""Which of many alike cases run every time; the others wait for `make test-all`."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest


def some(cases: Iterable[Any], number: int) -> list[Any]:
    """The first so many as they are, the others marked as slow."""
    return [case if place < number else _slow(case) for place, case in enumerate(cases)]


def every(cases: Iterable[Any], step: int) -> list[Any]:
    """Each so many-th as it is, the others marked as slow.

    Of a product of lists, a step that shares no factor with the length of the inner ones meets every value of each.
    """
    return [_slow(case) if place % step else case for place, case in enumerate(cases)]


def spread(cases: Iterable[Any], number: int) -> list[Any]:
    """So many of them as they are, evenly spread over all, the others marked as slow."""
    every = list(cases)
    kept = {place * len(every) // number for place in range(number)}
    return [case if place in kept else _slow(case) for place, case in enumerate(every)]


def _slow(case: Any) -> Any:
    values = case if isinstance(case, tuple) else (case,)
    return pytest.param(*values, marks=pytest.mark.slow)
