"""Why a measure changed between two spans: the spans meant, and cells that say which parts of it the change comes from.

The change itself is a test like any other. Its parts are arithmetic: they add up to the change exactly, and are told
only while the test holds.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date, timedelta
from typing import Final

from cellwright.analyst.drafts import CellDraft, TestRow
from cellwright.analyst.goal.date_ranges import parse_day
from cellwright.analyst.goal.request import AnalysisRequest, DateRange
from cellwright.analyst.sections.charts import BLUE, VERMILION, tooltips
from cellwright.analyst.sections.columns import ColumnDescription, Columns
from cellwright.analyst.sections.text import code_of, plain, shown, words_cell, wrapped
from cellwright.notebook.source_text import literal

ATTRIBUTION_FUNCTIONS: Final = ("telling_order", "why_it_changed", "largest_parts")
"""What its cells call."""
_MAX_BREAKDOWNS: Final = 8
"""Limit of columns by which a change is broken down."""
_LIKE: Final = 0.1
"""Largest difference in length, as a share, at which the totals of two periods can be compared."""

DateBounds = tuple[str, str]


def spans_of(wanted: AnalysisRequest, columns: Columns) -> tuple[DateBounds, DateBounds] | None:
    """The two spans to compare, the earlier first.

    One span is held against the same days of the year before, so that no season is taken for a change; where the data
    does not reach so far, against the time before it.
    """
    spans = sorted(wanted.spans, key=_start)
    if len(spans) >= 2:
        return (spans[0].first, spans[0].last), (spans[-1].first, spans[-1].last)
    if len(spans) == 1:
        return _year_before(spans[0], columns) or _before(spans[0])
    return _halves(columns) if wanted.purpose == "change" else None


def against_words(wanted: AnalysisRequest, columns: Columns) -> str:
    """What is held against what, in the goal's own words."""
    spans = [plain(span.words) or f"{span.first} to {span.last}" for span in sorted(wanted.spans, key=_start)]
    if not spans:
        return "the second half of the time against the first"
    if len(spans) >= 2:
        return f"{spans[-1]} against {spans[0]}"
    is_year = _year_before(wanted.spans[0], columns) is not None
    return f"{spans[0]} against {'the same time a year before' if is_year else 'the time before'}"


def _start(span: DateRange) -> tuple[str, str]:
    return span.first, span.last


def _year_before(span: DateRange, columns: Columns) -> tuple[DateBounds, DateBounds] | None:
    """The span and the same days a year before, where the data holds those and the span is no longer than a year."""
    first, last = parse_day(span.first), parse_day(span.last)
    begins = min((first for first, _ in _covered(columns) if first), default=None)
    if first is None or last is None or begins is None or not begins < first <= last or (last - first).days > 366:
        return None
    earlier = _shifted(first), _shifted(last + timedelta(days=1)) - timedelta(days=1)
    if earlier[0] < begins:
        return None
    return (earlier[0].isoformat(), earlier[1].isoformat()), (span.first, span.last)


def _shifted(day: date) -> date:
    """A year before; the 29th of February becomes the 28th."""
    return day.replace(year=day.year - 1, day=28 if (day.month, day.day) == (2, 29) else day.day)


def _covered(columns: Columns) -> Iterator[tuple[date | None, date | None]]:
    """The first and the last day of each table that has time."""
    for table in columns.tables:
        time = columns.first(table, "time")
        if time and time.record.times:
            yield parse_day(time.record.times.first), parse_day(time.record.times.last)


def _before(span: DateRange) -> tuple[DateBounds, DateBounds] | None:
    """The span with one of the same length before it; whole months are compared with whole months."""
    first, last = parse_day(span.first), parse_day(span.last)
    if first is None or last is None or first > last:
        return None
    next_day = last + timedelta(days=1)
    if first.day == 1 and next_day.day == 1:
        months = (next_day.year - first.year) * 12 + next_day.month - first.month
        place = first.year * 12 + first.month - 1 - months
        if place < 12:
            return None
        start = date(place // 12, place % 12 + 1, 1)
    else:
        start = first - (next_day - first) if (first - date.min) >= (next_day - first) else date.min
    before = (start.isoformat(), (first - timedelta(days=1)).isoformat())
    return before, (span.first, span.last)


def _halves(columns: Columns) -> tuple[DateBounds, DateBounds] | None:
    for first, last in _covered(columns):
        if first and last and (last - first).days >= 2:
            middle = first + (last - first) / 2
            return (first.isoformat(), middle.isoformat()), ((middle + timedelta(days=1)).isoformat(), last.isoformat())
    return None


# ── cells ──


def because_variable(variable: str) -> str:
    """Holds the sentence that says what the change comes from; empty while the change is none."""
    return f"{variable}_because"


def can_be_explained(row: TestRow, columns: Columns, wanted: AnalysisRequest) -> bool:
    """Whether it is a change, and there is a column by which it can be taken apart."""
    return row.kind == "change" and bool(columns.every(row.table, "group")) and spans_of(wanted, columns) is not None


def explanation_cells(row: TestRow, columns: Columns, wanted: AnalysisRequest, variable: str) -> Iterator[CellDraft]:
    """The parts of a change by each group column, which to show, a chart, and a sentence."""
    spans = spans_of(wanted, columns)
    if spans is None:
        return
    breakdowns = _breakdowns(row, columns, wanted)
    how = _how(columns.find(row.table, row.y), spans)
    yield words_cell(f"{variable}_parts_words", _words(columns.label(row.table, row.y), how))
    parts, chosen = f"{variable}_parts", f"{variable}_by"
    arguments = f"{row.table}, {literal(row.y)}, {literal(row.x)}, *_spans, _column, how={literal(how)}"
    yield CellDraft(
        name=parts,
        code=f"_spans = {code_of(spans)}\n"
        f"_columns = {wrapped({each.label: each.name for each in breakdowns})}\n"
        f"{parts} = {{\n    _label: explain_change({arguments})\n    for _label, _column in _columns.items()\n}}",
    )
    options = f'list({parts}), value=telling_order({parts})[0], label="Parts by"'
    yield CellDraft(name=chosen, code=f"{chosen} = mo.ui.dropdown(\n    {options}\n)\n{chosen}")
    yield CellDraft(name=f"{parts}_chart", code=_chart(parts, chosen, columns.label(row.table, row.y)))
    because = because_variable(variable)
    yield CellDraft(
        name=because,
        code=f"{because} = why_it_changed({variable}, {parts}, {literal(_what(how))})\nmo.md(escaped({because}))",
    )


def _breakdowns(row: TestRow, columns: Columns, wanted: AnalysisRequest) -> list[ColumnDescription]:
    """Group columns: those the goal names first, then those with few values."""
    asked = columns.requested(wanted)
    groups = columns.every(row.table, "group")
    found: dict[str, ColumnDescription] = {}
    for each in sorted(groups, key=lambda one: (not asked.has(row.table, one.name), one.record.distinct > 30)):
        found.setdefault(each.label, each)
    return list(found.values())[:_MAX_BREAKDOWNS]


def _how(measure: ColumnDescription | None, spans: tuple[DateBounds, DateBounds]) -> str:
    """Totals of money over spans of like length; else means, which need neither."""
    days = [(parse_day(first), parse_day(last)) for first, last in spans]
    lengths = [(last - first).days + 1 if first and last else 0 for first, last in days]
    is_alike = abs(lengths[0] - lengths[1]) <= _LIKE * max(lengths)
    return "sum" if is_alike and measure is not None and measure.record.meaning == "currency" else "mean"


def _what(how: str) -> str:
    return "total" if how == "sum" else "mean"


def _words(label: str, how: str) -> str:
    what = _what(how)
    return (
        f"### What the change of {shown(label)} comes from\n\n"
        f"The change of the {what} between the two spans, taken apart: the parts add up to it exactly. `amount` is "
        "what comes from more or fewer rows, `rate` from other values in them. The column first chosen is the one "
        "with a label that makes up far more of the change than its size would lead one to expect."
    )


def _chart(parts: str, chosen: str, label: str) -> str:
    spans = [(f"{span}:Q", f"{span} span", ",.4~r") for span in ("first", "second")]
    titles = {"change:Q": "change", "amount:Q": "from more or fewer rows", "rate:Q": "from other values"}
    changes = [(field, title, "+,.4~r") for field, title in titles.items()]
    return f"""
_shown = largest_parts({parts}[{chosen}.value])
_title = f"Contribution to the change, by {{{chosen}.value}}"
alt.Chart(_shown, title=_title).mark_bar().encode(
    y=alt.Y("label:N", sort=None, title={chosen}.value, axis=alt.Axis(labelLimit=220)),
    x=alt.X("change:Q", title={literal(f"change of {label}")}),
    color=alt.condition("datum.change < 0", alt.value("{VERMILION}"), alt.value("{BLUE}")),
{tooltips(("label:N", "part"), *spans, *changes, ("share:Q", "share of the change", ".0%"))}
).properties(width="container", height=alt.Step(26))
""".strip()
