"""Which tests a reader is told about, and in which order: what was asked for first, then the strongest. Pure."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from cellwright.analyst.drafts import TestRow
from cellwright.analyst.goal.request import AnalysisRequest
from cellwright.notebook.source_text import literal

MAX_CHOSEN: Final = 8
"""Limit of findings; nobody reads more."""
_MAX_UNPROVEN: Final = 3
"""Limit of tests reported that were asked for and found nothing."""
_KNOWN_FACTOR: Final = 0.55
"""Factor on a finding's weight for each of its columns that the reader has met before."""
TIME_KINDS: Final = frozenset({"trend", "season", "break", "change"})

_WEIGHTS: Final = {"correlation": 0.7, "association": 0.9}

ColumnKey = tuple[str, str]
"""A table's variable in the notebook, and a column of it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestedColumns:
    """What a goal names, in the words of the notebook."""

    measures: frozenset[ColumnKey] = frozenset()
    groups: frozenset[ColumnKey] = frozenset()

    def has(self, table: str, column: str) -> bool:
        """Whether it names the column."""
        return (table, column) in self.measures or (table, column) in self.groups


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportedFinding:
    """A test that the notebook tells of, and what it is called there."""

    row: TestRow
    is_asked: bool
    """The goal asks for it: it is told even when nothing was found."""
    variable: str
    """Holds the row of `tests`, or None when there is none any more. Its cell has the same name."""
    topic: str
    """`revenue (EUR) by region`. Plain text."""
    y_label: str
    x_label: str
    is_explained: bool = False
    """A change that is taken apart by what it comes from."""
    spans: tuple[tuple[str, str], tuple[str, str]] | None = None
    """Of a change: the two spans of days."""

    @property
    def claim(self) -> str:
        """The variable with the sentence."""
        return f"{self.variable}_claim"

    @property
    def arguments(self) -> str:
        """Code of its table and columns, as functions take them."""
        return f"{self.row.table}, {literal(self.row.y)}, {literal(self.row.x)}"


ReportedFindings = Sequence[ReportedFinding]


def select_tests(
    tests: Sequence[TestRow], asked: RequestedColumns, wanted: AnalysisRequest
) -> list[tuple[TestRow, bool]]:
    """At most eight: what the goal asks for (True), then the strongest findings that are not variations of those."""
    ordered = sorted(tests, key=lambda row: (-strength(row), row.kind, row.table, row.y, row.x))
    answers = _answers(ordered, asked, wanted)
    rest = [row for row in ordered if row.is_finding and row not in answers]
    others = _varied(rest, answers, MAX_CHOSEN - len(answers))
    return [*((row, True) for row in answers), *((row, False) for row in others)]


def strength(row: TestRow) -> float:
    """How much a finding weighs: its effect on one scale from 0 to 1, less for kinds that seldom surprise."""
    return _size(row) * _WEIGHTS.get(row.kind, 1.0)


def _size(row: TestRow) -> float:
    size = abs(row.effect) if math.isfinite(row.effect) else 0.0
    name = row.effect_name.lower()
    if "squared" in name or "²" in name:
        return min(1.0, math.sqrt(size))
    if "standard deviation" in name:
        return size / math.sqrt(size * size + 4)
    return min(1.0, size)


def _answers(ordered: Sequence[TestRow], asked: RequestedColumns, wanted: AnalysisRequest) -> list[TestRow]:
    """The tests that the goal asks for, findings first, the rest bounded."""
    matching = [(row, _fit(row, asked, wanted)) for row in ordered]
    best = sorted((pair for pair in matching if pair[1] > 0), key=lambda pair: (-pair[1], not pair[0].is_finding))
    found = [row for row, _ in best if row.is_finding][:MAX_CHOSEN]
    unproven = [row for row, fit in best if not row.is_finding and fit >= 2][:_MAX_UNPROVEN]
    kept = {id(row) for row in (*found, *unproven)}
    return [row for row, _ in best if id(row) in kept][:MAX_CHOSEN]


def _fit(row: TestRow, asked: RequestedColumns, wanted: AnalysisRequest) -> int:
    """How well a test answers the goal: 0 not at all, 1 it holds what is named, 2 it may be meant, 3 exactly."""
    y, x = asked.has(row.table, row.y), asked.has(row.table, row.x)
    if row.kind == "change":
        return 3 if y or not asked.measures else 0
    if row.kind in TIME_KINDS:
        # Asked why something changed, nobody wants to read that there is no trend.
        is_meant = wanted.purpose == "trend" or (wanted.purpose == "change" and row.is_finding)
        return (2 if is_meant else 1) if y else 0
    if y and x:
        return 3
    if not (y or x):
        return 0
    # With a group and a measure named, another pair that holds only one of them is beside the point.
    return 1 if asked.measures and asked.groups else 2 if row.is_finding else 1


def _varied(rows: Sequence[TestRow], known: Sequence[TestRow], most: int) -> Iterator[TestRow]:
    """The strongest first, each weighed down by what the reader has been told of its columns already."""
    left, met = list(rows), [_columns(row) for row in known]
    while left and most > 0:
        times = [sum(len(_columns(row) & columns) for columns in met) for row in left]
        best = left.pop(max(range(len(left)), key=lambda at: (strength(left[at]) * _KNOWN_FACTOR ** times[at], -at)))
        met.append(_columns(best))
        most -= 1
        yield best


def _columns(row: TestRow) -> frozenset[ColumnKey]:
    return frozenset({(row.table, row.y), (row.table, row.x)})
