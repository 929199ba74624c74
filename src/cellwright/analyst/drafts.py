"""Cells the analyst wants in the notebook, and what the notebook's tests told it. Plain values."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, slots=True, kw_only=True)
class CellDraft:
    """One cell to be written."""

    name: str
    """A plain identifier, unique in the notebook."""
    code: str
    is_words: bool = False
    """Words for the reader: its code is hidden."""
    at_start: bool = False
    """It stands above everything else."""
    shows: str = ""
    """Of a cell with one test function: what that shows, in one sentence."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Section:
    """Cells that are written together: one task of the plan, one revision that can be undone."""

    id: str
    """`read`, `quality`, `look`, `test`, `findings`, `tell`."""
    title: str
    """For the plan: `Read the data`."""
    cells: tuple[CellDraft, ...] = ()
    caveats: tuple[str, ...] = ()
    """What a reader must know, in whole sentences."""

    @property
    def checks(self) -> tuple[tuple[str, str], ...]:
        """Tests among the cells: the name of the test function, and what it shows in one sentence."""
        return tuple(
            (cell.code.removeprefix("def ").partition("(")[0], cell.shows) for cell in self.cells if cell.shows
        )


TestKind = Literal["difference", "association", "correlation", "trend", "season", "break", "change"]
"""difference: of a measure between groups. association: of two categories. correlation: of two measures.
trend, season, break: of a measure over time. change: of a measure between two spans of time."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TestRow:
    """One test the notebook made: a row of its table `tests`."""

    __test__ = False  # pytest would take it for tests of ours
    kind: TestKind
    table: str
    """The variable that holds the table in the notebook."""
    y: str
    """The measure; of an association the one category."""
    x: str
    """The group, the other measure, the date column."""
    test: str
    """`Kruskal-Wallis`."""
    n: int
    statistic: float
    p: float
    p_adjusted: float
    effect: float
    effect_name: str
    low: float
    high: float
    """A 95 % interval of the effect."""
    checked: str
    """Which assumptions were looked at, and how they stood."""
    says: str
    """The finding in one sentence without numbers of the test: `revenue is highest in North and lowest in South`."""
    is_finding: bool
    """Strong and certain enough to mention, all tests taken together."""
