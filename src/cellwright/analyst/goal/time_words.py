"""What a goal says of time: spans, steps, and parts of the calendar to group by. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from typing import Final

from cellwright.analyst.goal.data_names import DataNames
from cellwright.analyst.goal.date_ranges import FoundRange, TimeCoverage, find_date_ranges, parse_day
from cellwright.analyst.goal.goal_text import GoalWord
from cellwright.analyst.goal.question import CalendarPart, TimeUnit
from cellwright.analyst.goal.question_vocabulary import ARTICLES, RANKERS
from cellwright.analyst.goal.request import DateRange, NamedColumn
from cellwright.analyst.goal.vocabulary import words_in
from cellwright.profiles.profile import ColumnProfile, TableProfile

_UNIT_NOUNS: Final[dict[str, TimeUnit]] = {
    **{"hour": "hour", "day": "day", "week": "week", "month": "month", "quarter": "quarter", "year": "year"},
    **{"stunde": "hour", "tag": "day", "woche": "week", "monat": "month", "quartal": "quarter", "jahr": "year"},
}
_UNIT_ADVERBS: Final[dict[str, TimeUnit]] = {
    **{"hourly": "hour", "daily": "day", "weekly": "week", "monthly": "month", "quarterly": "quarter"},
    **{"yearly": "year", "annual": "year", "annually": "year"},
    **{"taglich": "day", "wochentlich": "week", "monatlich": "month", "jahrlich": "year"},
}
_PARTS: Final[dict[TimeUnit, CalendarPart]] = {
    "hour": "hour",
    "month": "month",
    "quarter": "quarter",
    "year": "year",
}
_STEPPERS: Final = words_in("per by each every je pro nach jeden jede jedes pro")
_WEEKDAYS: Final = words_in(
    "monday tuesday wednesday thursday friday saturday sunday mondays tuesdays wednesdays thursdays fridays saturdays",
    "sundays weekend weekends",
)
_WEEKDAY_WORDS: Final = words_in("weekday weekdays wochentag wochentage wochentagen workday")
_DAYTIMES: Final = words_in("night nights nighttime morning mornings evening evenings afternoon afternoons")
_ASKERS: Final = words_in("which what welcher welchem welche welches best worst busiest")


@dataclass(frozen=True, slots=True, kw_only=True)
class TimeReading:
    """What a goal says of time."""

    spans: tuple[DateRange, ...] = ()
    unit: TimeUnit | None = None
    part: CalendarPart | None = None
    is_asked: bool = False
    """`which month`: the part or the step is what is asked for."""
    is_trend: bool = False
    """`over the year`, `per month`."""
    places: frozenset[int] = frozenset()
    notes: tuple[str, ...] = ()


def time_columns(names: DataNames, table: str) -> list[ColumnProfile]:
    """The columns that say when, of one table, its own first."""
    found = next((each for each in names.tables if each.name == table), None)
    if found is None:
        return []
    times = [column for column in found.columns if column.times and column.meaning == "date"]
    return sorted(times, key=lambda column: column.name != found.time_column)


def coverage_of(column: ColumnProfile) -> TimeCoverage | None:
    """What time a column covers; None if no calendar has it."""
    times = column.times
    first, last = (parse_day(times.first), parse_day(times.last)) if times else (None, None)
    if times and first and last and date(3, 1, 1) <= first <= last <= date(9990, 1, 1):
        return TimeCoverage(first=first, last=last, step=times.step)
    return None


def find_time(names: DataNames, tables: Sequence[str]) -> tuple[NamedColumn, TimeCoverage] | None:
    """The first column of these tables that says when, and what it covers."""
    for table in tables:
        for column in time_columns(names, table):
            if covered := coverage_of(column):
                return NamedColumn(table=table, column=column.name), covered
    return None


def read_spans(text: str, words: Sequence[GoalWord], covered: TimeCoverage) -> tuple[tuple[DateRange, ...], set[int]]:
    """The spans that a goal names, and which of its words name them."""
    found = find_date_ranges(text, covered)
    said = bytearray(len(text) + 1)
    for each in found:
        said[each.start : each.end] = b"x" * (each.end - each.start)
    places = {place for place, word in enumerate(words) if any(said[word.start : word.end])}
    return _distinct(found), places


def _distinct(found: list[FoundRange]) -> tuple[DateRange, ...]:
    spans = {(each.span.first, each.span.last): each.span for each in reversed(found)}
    ordered = dict.fromkeys((each.span.first, each.span.last) for each in found)
    return tuple(spans[key] for key in ordered)[:6]


def read_steps(words: Sequence[GoalWord], taken: set[int], covered: TimeCoverage | None) -> TimeReading:
    """Steps of time and parts of the calendar; the words of spans are taken already."""
    folded = ["" if place in taken else word.folded for place, word in enumerate(words)]
    stems = ["" if place in taken else word.stem for place, word in enumerate(words)]
    for read in (_particular, _weekday, _adverb, _stepped, _asked, _over):
        if found := read(folded, stems, covered):
            return found
    return TimeReading()


def _particular(folded: list[str], stems: list[str], covered: TimeCoverage | None) -> TimeReading | None:
    """`on Saturdays`, `at night`: all weekdays, or hours, are shown."""
    for place, word in enumerate(folded):
        if word in _WEEKDAYS:
            note = f"“{word.capitalize()}” was read as a question by weekday: all of them are shown."
            return TimeReading(part="weekday", places=frozenset({place}), notes=(note,))
        if word in _DAYTIMES and covered and covered.step in {"hour", "minute", "second"}:
            note = f"“{word.capitalize()}” was read as a question by hour of the day: all of them are shown."
            return TimeReading(part="hour", places=frozenset({place}), notes=(note,))
    return None


def _weekday(folded: list[str], stems: list[str], covered: TimeCoverage | None) -> TimeReading | None:
    for place, word in enumerate(folded):
        behind = [each for each in folded[place + 1 : place + 4] if each != "the"]
        is_asked = any(each in _ASKERS or each in RANKERS for each in folded[max(0, place - 2) : place])
        if word in _WEEKDAY_WORDS or (stems[place] == "day" and behind[:2] == ["of", "week"]):
            return TimeReading(part="weekday", is_asked=is_asked, places=frozenset({place}))
        if stems[place] in {"hour", "time"} and behind[:2] == ["of", "day"]:
            return TimeReading(part="hour", is_asked=is_asked, places=frozenset({place}))
    return None


def _adverb(folded: list[str], stems: list[str], covered: TimeCoverage | None) -> TimeReading | None:
    for place, word in enumerate(folded):
        if unit := _UNIT_ADVERBS.get(word):
            return TimeReading(unit=unit, is_trend=True, places=frozenset({place}))
    return None


def _stepped(folded: list[str], stems: list[str], covered: TimeCoverage | None) -> TimeReading | None:
    """`per month`, `for each week`, `month by month`."""
    for place, stem in enumerate(stems):
        unit = _UNIT_NOUNS.get(stem)
        before = folded[max(0, place - 3) : place]
        led = [word for word in before if word not in ARTICLES or word in _STEPPERS]
        # `by channel and month`: what stands before `and` was led in already.
        is_joined = bool(led) and led[-1] in {"and", "und"} and bool(_STEPPERS.intersection(folded[:place]))
        if unit and led and (led[-1] in _STEPPERS or is_joined):
            places = frozenset({place})
            if unit == "hour" and led[-1] == "by":
                return TimeReading(part="hour", places=places)
            return TimeReading(unit=unit, is_trend=True, places=places)
        if unit and folded[place + 1 : place + 2] in (["over"], ["to"]) and stems[place + 2 : place + 3] == [stem]:
            return TimeReading(unit=unit, is_trend=True, places=frozenset({place}))
    return None


def _asked(folded: list[str], stems: list[str], covered: TimeCoverage | None) -> TimeReading | None:
    """`which month`, `the busiest day`, `when`."""
    is_past = bool({"was", "had", "did", "were"}.intersection(folded))
    for place, stem in enumerate(stems):
        unit = _UNIT_NOUNS.get(stem)
        before = [word for word in folded[max(0, place - 3) : place] if word not in ARTICLES]
        if unit and before and (before[-1] in _ASKERS or before[-1] in RANKERS):
            places = frozenset({place})
            if unit in _PARTS:
                return TimeReading(part=_PARTS[unit], is_asked=True, places=places)
            if unit == "day" and not is_past and before[-1] in {"which", "what", "welchem", "welcher"}:
                note = "“Day” was read as the day of the week."
                return TimeReading(part="weekday", is_asked=True, places=places, notes=(note,))
            return TimeReading(unit=unit, is_asked=True, places=places)
    if folded[:1] in (["when"], ["wann"]) and covered:
        is_long = (covered.last - covered.first).days > 62
        part: CalendarPart = "month" if is_long else "hour" if covered.step == "hour" else "weekday"
        return TimeReading(part=part, is_asked=True, notes=(f"“When” was read as in which {part}.",))
    return None


def _over(folded: list[str], stems: list[str], covered: TimeCoverage | None) -> TimeReading | None:
    """`over the year`, `throughout the quarter`: month by month, or in what steps fit."""
    for place, stem in enumerate(stems):
        unit = _UNIT_NOUNS.get(stem)
        before = [word for word in folded[max(0, place - 4) : place] if word not in ARTICLES or word == "course"]
        if (
            unit
            and before
            and before[-1] in {"over", "throughout", "during", "through", "within", "across", "ubers", "uber"}
        ):
            smaller: dict[TimeUnit, TimeUnit] = {
                "year": "month",
                "quarter": "week",
                "month": "day",
                "week": "day",
                "day": "hour",
            }
            step = smaller.get(unit, unit)
            is_many = folded[place] in {"years", "jahre"} and covered and (covered.last - covered.first).days > 1_100
            step = "year" if is_many else step
            said = " ".join(word for word in folded[max(0, place - 2) : place + 1] if word)
            note = f"“{said[:1].upper()}{said[1:]}” was read as {step} by {step}."
            return TimeReading(unit=step, is_trend=True, places=frozenset({place}), notes=(note,))
    return None


def is_outside(span: DateRange, covered: TimeCoverage) -> bool:
    """Whether the data has nothing of that time."""
    return span.last < covered.first.isoformat() or span.first > covered.last.isoformat()


def years_covered(names: DataNames) -> TimeCoverage | None:
    """What a column of years covers, where no column says when."""
    for table in names.tables:
        column = stands_in(table, "year")
        numbers = next((each.numbers for each in table.columns if column and each.name == column.column), None)
        if numbers and 1_000 < numbers.least <= numbers.greatest < 3_000:
            return TimeCoverage(first=date(int(numbers.least), 1, 1), last=date(int(numbers.greatest), 12, 31))
    return None


def stands_in(table: TableProfile, unit: TimeUnit) -> NamedColumn | None:
    """A column that holds years, months or the like as plain values, where no column says when."""
    for column in table.columns:
        if column.name.casefold().strip() == unit and column.meaning in {"category", "measure", "code"}:
            return NamedColumn(table=table.name, column=column.name)
    return None
