"""Which time a question is about: spans, steps and parts of the calendar of the column that says when. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import timedelta
from typing import Final

from cellwright.analyst.goal.date_ranges import TimeCoverage, last_whole_period
from cellwright.analyst.goal.filters import PlacedFilter
from cellwright.analyst.goal.question import CalendarPart, QuestionKind, TimeUnit, ValueFilter
from cellwright.analyst.goal.question_kinds import is_why
from cellwright.analyst.goal.request import DateRange, NamedColumn
from cellwright.analyst.goal.sentence import NO_TIME, Sentence
from cellwright.analyst.goal.time_words import (
    coverage_of,
    is_outside,
    read_spans,
    stands_in,
    time_columns,
    years_covered,
)

_TIMED: Final = frozenset({"trend", "change"})


@dataclass(frozen=True, slots=True, kw_only=True)
class TimeChoice:
    """What a question says of time."""

    column: NamedColumn | None = None
    spans: tuple[DateRange, ...] = ()
    unit: TimeUnit | None = None
    part: CalendarPart | None = None
    by: tuple[NamedColumn, ...] = ()
    """A column of years, where nothing else says when."""
    filters: tuple[PlacedFilter, ...] = ()
    asks_why: bool = False
    notes: tuple[str, ...] = ()


def choose_time(kind: QuestionKind, sentence: Sentence, tables: set[str], base: str) -> TimeChoice | str:
    """The time that a question is about; a sentence where the data does not have it."""
    reading = sentence.time
    is_timed = bool(sentence.spans or reading.unit or reading.part or kind in _TIMED)
    why = is_why(sentence)
    if not is_timed:
        return TimeChoice(asks_why=why)
    choices = list(_choices(sentence, tables, base))
    if not choices:
        return _without_dates(kind, sentence, base)
    column, covered, spans = _fitting(sentence, choices)
    if outside := [span for span in spans if is_outside(span, covered)]:
        return (
            f"The data covers {covered.first.isoformat()} to {covered.last.isoformat()}: "
            f"it has nothing of “{outside[0].words}”."
        )
    notes: list[str] = []
    main = sentence.names.main
    is_of_things = bool(main and main.time_column and base != main.name and base in sentence.names.joined_to(main.name))
    if column.table != base or is_of_things:
        notes.append(f"Time is that of {column.table[:60]}.{column.column[:60]}.")
    notes += [
        f"“{span.words}” was read as {span.first}: the data ends on {covered.last.isoformat()}."
        for span in spans
        if span.words.casefold() in {"today", "yesterday", "heute", "gestern"}
    ]
    if kind == "change" and not spans:
        spans = (_last_period(covered),)
        notes.append(f"No time is named: {spans[0].words} is held against the time before.")
    if reading.part == "hour" and covered.step not in {"hour", "minute", "second"}:
        return "The data has days, and no hours."
    return TimeChoice(
        column=column, spans=spans[:2] if kind == "change" else _joined(spans, notes), unit=reading.unit,
        part=reading.part, asks_why=why, notes=tuple(notes),
    )  # fmt: skip


def _joined(spans: tuple[DateRange, ...], notes: list[str]) -> tuple[DateRange, ...]:
    if len(spans) > 2:
        notes.append("Of the times named, the first two are looked at.")
    return spans[:2]


def _choices(sentence: Sentence, tables: set[str], base: str) -> Iterator[tuple[NamedColumn, TimeCoverage]]:
    """Columns that say when: one that the goal names, then those of the rows, then those of tables joined to them."""
    names = sentence.names
    said = [each.known for each in sentence.mentions.columns if each.known.role == "time"]
    for known in said:
        if covered := coverage_of(known.column):
            yield known.name, covered
    facts = names.facts_about(base)
    order = [base, *sorted(tables), *([facts[0].name] if facts else []), *names.joined_to(base)]
    for table in dict.fromkeys(order):
        for column in time_columns(names, table):
            if covered := coverage_of(column):
                yield NamedColumn(table=table, column=column.name), covered


def _fitting(
    sentence: Sentence, choices: list[tuple[NamedColumn, TimeCoverage]]
) -> tuple[NamedColumn, TimeCoverage, tuple[DateRange, ...]]:
    """The first column that has all the spans; else the first."""
    read = [(name, covered, read_spans(sentence.text, sentence.words, covered)[0]) for name, covered in choices[:6]]
    for each in read:
        if len(each[2]) >= len(sentence.spans) and not any(is_outside(span, each[1]) for span in each[2]):
            return each
    return read[0]


def _last_period(covered: TimeCoverage) -> DateRange:
    days = (covered.last - covered.first).days
    unit = "quarter" if days > 270 else "month" if days > 60 else "week" if days > 20 else "day"
    first, last = last_whole_period(covered, unit)
    if first - timedelta(days=1) < covered.first:
        first, last = covered.last, covered.last
    return DateRange(words=f"the last {unit}", first=first.isoformat(), last=last.isoformat())


def _without_dates(kind: QuestionKind, sentence: Sentence, base: str) -> TimeChoice | str:
    """Time where no column says when: a column of years may stand for it."""
    reading = sentence.time
    table = next((each for each in sentence.names.tables if each.name == base), None)
    unit = reading.unit or reading.part or "year"
    column = stands_in(table, unit if unit != "weekday" else "day") if table else None
    if column is None or table is None:
        return "No column of the data says when, so nothing can be told about time."
    spans, _ = read_spans(sentence.text, sentence.words, years_covered(sentence.names) or NO_TIME)
    years = [span for span in spans if span.first.endswith("-01-01") and span.last.endswith("-12-31")]
    if len(years) != len(spans):
        return f"The data has {unit}s only, in {column.column[:60]}."
    values = [entry.value for each in table.columns if each.name == column.column for entry in each.common]
    wanted = [value for span in years for value in values if value[:4] == span.first[:4]]
    if years and not wanted:
        return f"The data has nothing of “{years[0].words}”: {column.column[:60]} is {', '.join(sorted(values)[:6])}."
    filters: tuple[PlacedFilter, ...] = ()
    if wanted:
        words = " ".join(span.words for span in years)
        filters = (PlacedFilter(0, ValueFilter(column=column, values=tuple(wanted), words=words)),)
    is_grouped = kind in _TIMED or len(wanted) > 1 or bool(reading.unit or reading.part)
    note = f"Time is that of {column.column[:60]}: no other column says when."
    return TimeChoice(by=(column,) if is_grouped else (), filters=filters, notes=(note,))
