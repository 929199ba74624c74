"""A question about data, read from a goal's words: what is computed, of which rows, by what, how it is told. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from cellwright.analyst.goal.request import DateRange, NamedColumn

QuestionKind = Literal[
    "figure", "share", "ranking", "groups", "trend", "change", "drivers", "relation", "outliers", "quality", "overview"
]
"""figure: one number. share: a part of a whole. ranking: the groups with most or least. groups: groups compared.
trend: over time. change: two spans of time compared, `asks_why` for what it comes from. drivers: what goes with a
measure. relation: of two columns. outliers: values far off. quality: what is wrong. overview: what it is."""
Aggregate = Literal["count", "distinct", "sum", "mean", "median", "min", "max"]
TimeUnit = Literal["hour", "day", "week", "month", "quarter", "year"]
CalendarPart = Literal["hour", "weekday", "month", "quarter", "year"]
Comparison = Literal["=", "<", "<=", ">", ">="]


@dataclass(frozen=True, slots=True, kw_only=True)
class Quantity:
    """What is computed from rows."""

    how: Aggregate
    column: NamedColumn | None = None
    """What is added up, averaged or counted once each; None: rows are counted."""
    table: str = ""
    """Of rows that are counted: whose."""
    words: str = ""
    """As the goal has it: `revenue`, `orders`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ValueFilter:
    """Rows in which a column has one of some values, or none of them."""

    column: NamedColumn
    values: tuple[str, ...]
    """As they stand in the file."""
    is_excluded: bool = False
    words: str = ""
    """As the goal has it: `in the South`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NumberFilter:
    """Rows in which a number is above, below or equal to another."""

    column: NamedColumn
    comparison: Comparison
    number: float
    words: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """What is asked for."""

    kind: QuestionKind
    quantity: Quantity | None = None
    """None only of an overview, a question of quality, and of outliers in every column."""
    by: tuple[NamedColumn, ...] = ()
    """Groups, or of a relation the other column; both, if rows are counted. Of a share: one for each group."""
    part: CalendarPart | None = None
    """Groups by the calendar: `which weekday`, `which month`."""
    filters: tuple[ValueFilter | NumberFilter, ...] = ()
    """Each must hold; of a share: which part it is, the whole being all rows that `within` leaves."""
    within: tuple[ValueFilter | NumberFilter, ...] = ()
    """Of a share only: of which whole."""
    spans: tuple[DateRange, ...] = ()
    """None: all time. One: that time only; of a change it is held against the time before. Two: compared."""
    time: NamedColumn | None = None
    """The column that says when, of `spans`, `unit` and `part`; None: the question is of no time."""
    unit: TimeUnit | None = None
    """Steps of time that the goal names: `per month`; a ranking with one is told over time too, and one by nothing else
    ranks these steps: `which day was best`."""
    top: int = 0
    """`the five best`; 0: the goal gives no number."""
    is_lowest: bool = False
    """The least first: `which region sells least`."""
    asks_why: bool = False
    """Of a change: what it comes from."""
    notes: tuple[str, ...] = ()
    """How its words were read where that was not plain, and what of it is left out: whole sentences."""
    is_understood: bool = True
    """False: nothing in it was recognised, so an overview is given and the reader is told."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DeclinedQuestion:
    """A question that cannot be answered without a model, or not from this data."""

    why: str
    """One sentence: what it asks for that cannot be given."""
    nearest: tuple[str, ...] = ()
    """Questions that can be answered, nearest first, in words one could type."""
    model_would: str = ""
    """What a model would add, in one sentence; empty: it could not answer either, the data does not have it."""
