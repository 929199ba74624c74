"""What a goal's words ask for, as far as they name what the data has. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Purpose = Literal["overview", "compare", "relate", "change", "trend", "quality"]
"""overview: tell me about it. compare: groups. relate: what goes with what. change: why did it rise or fall.
trend: over time. quality: how far can it be trusted."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DateRange:
    """A span of time named in a goal."""

    words: str
    """As the goal has it: `Q3`."""
    first: str
    """ISO date, inclusive."""
    last: str
    """ISO date, inclusive."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NamedColumn:
    """A column that a goal names."""

    table: str
    column: str


@dataclass(frozen=True, slots=True, kw_only=True)
class AnalysisRequest:
    """What comes first."""

    purpose: Purpose
    measures: tuple[NamedColumn, ...] = ()
    groups: tuple[NamedColumn, ...] = ()
    values: tuple[tuple[NamedColumn, str], ...] = ()
    """Values of columns that it names: `region` is `North`."""
    spans: tuple[DateRange, ...] = ()
    is_understood: bool = True
    """False: nothing in it was recognised, so an overview is given and the reader is told."""
    notes: tuple[str, ...] = ()
    """How its words were read where that was not plain, and what of it is left out: whole sentences."""


@dataclass(frozen=True, slots=True, kw_only=True)
class UnsupportedGoal:
    """A goal that cannot be served without a model."""

    why: str
    """One sentence: what it asks for that the analyst does not do."""
    needs_model: bool = True
    """Whether a model could do it; else the data does not have it."""
