"""Spans of time in a question's notebook: what is held against what, steps of time, and the widgets for both. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from typing import Final

from cellwright.analyst.answers.frames import Frame
from cellwright.analyst.drafts import CellDraft
from cellwright.analyst.goal.date_ranges import parse_day
from cellwright.analyst.goal.question import TimeUnit
from cellwright.analyst.goal.request import DateRange, NamedColumn
from cellwright.notebook.source_text import literal
from cellwright.profiles.profile import ColumnProfile

STEPS: Final[dict[TimeUnit, str]] = {
    "hour": "h", "day": "D", "week": "W-MON", "month": "MS", "quarter": "QS", "year": "YS",
}  # fmt: skip
"""How pandas names the beginnings of steps of time."""
_DAYS: Final[dict[TimeUnit, float]] = {
    "hour": 1 / 24,
    "day": 1,
    "week": 7,
    "month": 30.4,
    "quarter": 91.3,
    "year": 365.25,
}
_FINEST: Final[dict[str, TimeUnit]] = {
    "": "day", "second": "hour", "minute": "hour", "hour": "hour", "day": "day", "week": "week", "month": "month",
    "quarter": "quarter", "year": "year",
}  # fmt: skip
_POINTS: Final = 60


@dataclass(frozen=True, slots=True)
class Span:
    """Days, both ends included."""

    first: date
    last: date

    @property
    def days(self) -> int:
        """How many."""
        return (self.last - self.first).days + 1

    @property
    def is_of_months(self) -> bool:
        """Whether it is whole months."""
        return self.first.day == 1 and (self.last + timedelta(days=1)).day == 1

    @property
    def months(self) -> int:
        """How many, where it is whole months."""
        end = self.last + timedelta(days=1)
        return (end.year - self.first.year) * 12 + end.month - self.first.month

    def moved(self, months: int) -> Span | None:
        """So many months earlier; None where no calendar reaches."""
        try:
            end = _months_back(self.last + timedelta(days=1), months) - timedelta(days=1)
            return Span(_months_back(self.first, months), end)
        except (ValueError, OverflowError):
            return None

    @property
    def code(self) -> str:
        """As a widget takes it."""
        return f"({literal(self.first.isoformat())}, {literal(self.last.isoformat())})"


def _months_back(day: date, months: int) -> date:
    place = day.year * 12 + day.month - 1 - months
    year, month = place // 12, place % 12 + 1
    last = (date(year + month // 12, month % 12 + 1, 1) - timedelta(days=1)).day
    return date(year, month, min(day.day, last))


def covered(record: ColumnProfile) -> Span | None:
    """The days that a column of dates covers."""
    if record.times is None:
        return None
    first, last = parse_day(record.times.first), parse_day(record.times.last)
    if first is None or last is None or first > last or first.year < 2 or last.year > 9990:
        return None
    return Span(first, last)


def span_of(range_: DateRange) -> Span | None:
    """A span named in a goal."""
    first, last = parse_day(range_.first), parse_day(range_.last)
    return Span(first, last) if first and last and first <= last else None


def compared(spans: Sequence[DateRange], data: Span) -> tuple[Span, Span] | None:
    """The two spans to compare, the earlier first.

    One is held against the same days of the year before, so that no season is taken for a change; where the data does
    not reach so far, against the time before it. None: the first half against the second.
    """
    known = sorted((found for each in spans if (found := span_of(each))), key=lambda span: (span.first, span.last))
    if len(known) >= 2:
        return known[0], known[-1]
    if not known:
        if data.days < 4:
            return None
        middle = data.first + timedelta(days=data.days // 2)
        return Span(data.first, middle - timedelta(days=1)), Span(middle, data.last)
    (span,) = known
    year = span.moved(12) if span.days <= 366 else None
    if year and year.first >= data.first:
        return year, span
    before = span.moved(span.months) if span.is_of_months else None
    before = before or Span(span.first - timedelta(days=span.days), span.first - timedelta(days=1))
    return (before, span) if before.last >= data.first else None


def step_for(record: ColumnProfile, data: Span, wanted: TimeUnit | None = None, most: int = _POINTS) -> TimeUnit:
    """The steps to show a course in: those asked for, else the finest that leaves at most so many points."""
    finest = _FINEST.get(record.times.step if record.times else "", "day")
    if wanted is not None and _DAYS[wanted] >= _DAYS[finest]:
        return wanted
    units = [unit for unit in _DAYS if _DAYS[unit] >= _DAYS[finest]]
    return next((unit for unit in units if data.days / _DAYS[unit] <= most), "year")


def when_of(frame: Frame, named: NamedColumn | None = None) -> tuple[str, ColumnProfile, Span] | None:
    """The column that says when (`named`, where the question means one), what is known of it, the days it covers."""
    found = (frame.find(named) if named else None) or frame.when
    data = covered(found[1]) if found else None
    return (*found, data) if found and data else None


def period_cell(data: Span, **spans: Span) -> CellDraft:
    """Widgets for spans of time, each named; every figure follows them."""
    first = min([data.first, *(span.first for span in spans.values())])
    last = max([data.last, *(span.last for span in spans.values())])
    ends = f"start={literal(first.isoformat())}, stop={literal(last.isoformat())}"
    lines = [
        f"        {literal(name)}: mo.ui.date_range({ends}, value={span.code}, label={literal(_LABELS[name])}),\n"
        for name, span in spans.items()
    ]
    return CellDraft(name="periods", code=f"periods = mo.ui.dictionary(\n    {{\n{''.join(lines)}    }}\n)")


_LABELS: Final = {"now": "Period", "before": "held against", "period": "Period"}
