"""Spans of time that a goal names, as dates. Pure: "now" is the last date in the data."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import date, timedelta
from typing import Final, TypeAlias

from cellwright.analyst.goal.request import DateRange

_MONTH_WORDS: Final = (
    *("january jan januar", "february feb februar", "march mar märz maerz", "april apr", "may mai", "june jun juni"),
    *("july jul juli", "august aug", "september sep sept", "october oct oktober okt", "november nov"),
    "december dec dezember dez",
)
_MONTHS: Final = {name: number for number, names in enumerate(_MONTH_WORDS, start=1) for name in names.split()}
_WORDY: Final = frozenset({"may", "march", "mar", "jan", "dec", "sep", "mai", "august"})
"""Months that are also words: they count with a capital letter, a year, or a word of time before them."""
_Found: TypeAlias = tuple[int, int, str, date, date]
_ORDINALS: Final = {"first": 1, "1st": 1, "second": 2, "2nd": 2, "third": 3, "3rd": 3, "fourth": 4, "4th": 4}
_UNITS: Final = {
    **{"day": "day", "days": "day", "week": "week", "weeks": "week", "month": "month", "months": "month"},
    **{"quarter": "quarter", "quarters": "quarter", "year": "year", "years": "year"},
    **{"tag": "day", "tage": "day", "woche": "week", "wochen": "week", "monat": "month", "monate": "month"},
    **{"quartal": "quarter", "quartale": "quarter", "jahr": "year", "jahre": "year"},
}
_NUMBERS: Final = {"two": 2, "three": 3, "four": 4, "five": 5, "six": 6, "ten": 10, "twelve": 12}

_SEASONS: Final = {"spring": 3, "summer": 6, "autumn": 9, "fruhling": 3, "sommer": 6, "herbst": 9}

_YEAR: Final = r"(?:19|20)\d{2}"
_JOINT: Final = r"\s*(?:of|in|/|-|,)?\s*"
_MOMENT: Final = re.compile(
    r"(?P<iso>\b\d{4}-\d{2}-\d{2}\b)"
    rf"|(?P<isomonth>\b{_YEAR}-(?:0[1-9]|1[0-2])\b(?!-))"
    rf"|\bq(?P<quarter>[1-4])\b(?:{_JOINT}(?P<quarteryear>{_YEAR})\b)?"
    rf"|\b(?P<ordinal>{'|'.join(_ORDINALS)}) quarter\b(?:{_JOINT}(?P<ordinalyear>{_YEAR})\b)?"
    rf"|\b(?P<quartal>[1-4])\. ?quartal\b(?:{_JOINT}(?P<quartalyear>{_YEAR})\b)?"
    rf"|\b(?:h(?P<half>[12])|(?P<halfname>first|1st|second|2nd|1\.|2\.) (?:half(?: of the year)?|halbjahr))\b"
    rf"(?:{_JOINT}(?P<halfyear>{_YEAR})\b)?"
    rf"|\b(?P<month>{'|'.join(sorted(_MONTHS, key=len, reverse=True))})\b\.?(?:{_JOINT}(?P<monthyear>{_YEAR})\b)?"
    rf"|\b(?P<season>spring|summer|autumn|fruhling|sommer|herbst)\b(?:{_JOINT}(?P<seasonyear>{_YEAR})\b)?"
    rf"|(?P<year>(?:(?<![\w.,-])|(?<=[12]\d{{3}}-)){_YEAR}(?![\w]|[.,]\d))",
    re.IGNORECASE,
)
_RELATIVE: Final = re.compile(
    r"\b(?P<which>last|past|previous|this|current|letzte[nrsm]?|vorige[nrsm]?|diese[nrsm]?)\s+"
    r"(?:(?P<count>\d{1,3}|two|three|four|five|six|ten|twelve)\s+)?"
    rf"(?P<unit>{'|'.join(sorted(_UNITS, key=len, reverse=True))})\b",
    re.IGNORECASE,
)
_BEFORE_IT: Final = re.compile(
    r"\b(?:the )?(?P<unit>week|month|quarter|year) before(?: (?:that|it))?\b(?!\s+(?:\d|q[1-4]))", re.IGNORECASE
)
_OPENERS: Final = {
    **{"since": "since", "seit": "since", "starting": "since", "after": "after", "nach": "after"},
    **{"before": "before", "vor": "before", "until": "until", "till": "until", "through": "until", "bis": "until"},
}
_TIME_WORDS: Final = (
    r"(?:in|since|of|from|during|between|until|before|after|through|to|and|seit|im|vor|nach|bis|von)\s+$"
)
_YEAR_WORDS: Final = re.compile(r"\b(?:in|since|during|until|year|jahr|seit)\s+$", re.IGNORECASE)
"""Before a number they make a year of it, also of one that the data has nothing of."""
_YEAR_BACK: Final = re.compile(
    r"\b(?:the )?(?:same (?:\w+ )?(?:of |in )?(?:the )?(?:last|previous|prior) year"
    r"|(?:the |a )?year (?:before|earlier|ago)|(?:the )?previous year|last year)\b",
    re.IGNORECASE,
)
_AGAINST: Final = frozenset(
    {
        "vs",
        "vs.",
        "versus",
        "against",
        "than",
        "than in",
        "compared to",
        "compared with",
        "compared to that in",
        "gegen",
    }
)
_TO_DATE: Final = re.compile(r"\b(?:year to date|ytd|so far this year)\b", re.IGNORECASE)
_TODAY: Final = re.compile(
    r"\b(?P<day>(?:the )?day before yesterday|vorgestern|today|yesterday|heute|gestern)\b", re.IGNORECASE
)
_DAYS_BACK: Final = {
    "yesterday": 1,
    "gestern": 1,
    "day before yesterday": 2,
    "the day before yesterday": 2,
    "vorgestern": 2,
}
_PERIOD_BACK: Final = re.compile(
    r"\b(?:the )?(?:(?:previous|prior|preceding) (?P<unit>week|month|quarter|half|year|period)"
    r"|(?P<before>week|month|quarter|half|year|period) before(?: (?:that|it))?)\b",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class TimeCoverage:
    """What time the data covers."""

    first: date
    last: date
    step: str = ""
    """`month`: dates stand for whole months."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundRange:
    """A span of time and where the goal names it."""

    start: int
    end: int
    span: DateRange


@dataclass(frozen=True, slots=True)
class _Moment:
    start: int
    end: int
    words: str
    unit: str
    first: int
    """Its first month."""
    last: int
    """Its last month."""
    year: int | None
    day: date | None = None


def read_date_ranges(words: str, covered: TimeCoverage) -> tuple[DateRange, ...]:
    """The spans named in a goal, in its order, each within what a calendar can hold."""
    return tuple(dict.fromkeys(found.span for found in find_date_ranges(words, covered)))[:6]


def find_date_ranges(words: str, covered: TimeCoverage) -> list[FoundRange]:
    """The spans named in a goal and where, in its order."""
    found_moments = list[_Moment]()
    for moment in _moments(words, covered):
        if not found_moments or moment.start >= found_moments[-1].end:
            found_moments.append(moment)
    moments = list(_with_years(words, found_moments, covered))
    back = _a_year_back(words, moments)
    relative = [each for each in _relative(words, covered) if not (back and each[0] < back[1] and back[0] < each[1])]
    found = [*_from_moments(words, moments, covered), *relative, *([back] if back else [])]
    found.sort(key=lambda entry: entry[:2])
    return [
        FoundRange(
            start=start,
            end=end,
            span=DateRange(words=" ".join(text.split())[:80], first=first.isoformat(), last=last.isoformat()),
        )
        for start, end, text, first, last in found
        if first <= last
    ]


def _a_year_back(words: str, moments: list[_Moment]) -> _Found | None:
    """The one span that is named, a year before: `Q3 2025 against the same quarter of the year before`."""
    if len(moments) != 1 or moments[0].unit == "day" or not moments[0].year:
        return None
    moment = moments[0]
    if (match := _PERIOD_BACK.search(words)) and (match["unit"] or match["before"]).casefold() in {
        moment.unit,
        "period",
    }:
        months = moment.last - moment.first + 1
        first = date(*_months_later(_bounds(moment)[0], -months), 1)
        return match.start(), match.end(), match.group(0), first, _bounds(moment)[0] - timedelta(days=1)
    if moment.unit == "year":
        return None
    match = _YEAR_BACK.search(words, moment.end)
    if not match or moment.year is None:
        return None
    return match.start(), match.end(), match.group(0), *_bounds(replace(moment, year=moment.year - 1))


def _moments(words: str, covered: TimeCoverage) -> Iterator[_Moment]:
    for match in _MOMENT.finditer(words):
        text, at, to = match.group(0), match.start(), match.end()
        if iso := match["iso"] or match["isomonth"]:
            day = parse_day(iso if match["iso"] else f"{iso}-01")
            # A day before the first or after the last of the calendar is none.
            if day and 1 < day.year < 9999:
                unit = "day" if match["iso"] else "month"
                yield _Moment(at, to, text, unit, day.month, day.month, day.year, day if match["iso"] else None)
        elif number := match["quarter"] or match["ordinal"] or match["quartal"]:
            year = match["quarteryear"] or match["ordinalyear"] or match["quartalyear"]
            last = 3 * (_ORDINALS.get(number.lower()) or int(number))
            yield _Moment(at, to, text, "quarter", last - 2, last, int(year) if year else None)
        elif half := match["half"] or match["halfname"]:
            is_second = half.lower() in {"2", "2.", "second", "2nd"}
            year = int(match["halfyear"]) if match["halfyear"] else None
            yield _Moment(at, to, text, "half", 7 if is_second else 1, 12 if is_second else 6, year)
        elif month := match["month"]:
            is_plain = month.casefold() not in _WORDY or (month[0].isupper() and at > 0) or match["monthyear"]
            if is_plain or re.search(_TIME_WORDS, _just_before(words, at), re.IGNORECASE):
                number, year = _MONTHS[month.casefold()], int(match["monthyear"]) if match["monthyear"] else None
                yield _day_of(words, _Moment(at, to, text, "month", number, number, year))
        elif season := match["season"]:
            year, first = int(match["seasonyear"]) if match["seasonyear"] else None, _SEASONS[season.casefold()]
            yield _Moment(at, to, text, "season", first, first + 2, year)
        elif covered.first.year - 1 <= int(match["year"]) <= covered.last.year + 1 or _YEAR_WORDS.search(
            _just_before(words, at)
        ):
            yield _Moment(at, to, text, "year", 1, 12, int(match["year"]))


def _day_of(words: str, moment: _Moment) -> _Moment:
    """The day of a month, where one is named with its year: `17 October 2024`, `October 17, 2024`."""
    before = re.search(
        r"\b(\d{1,2})(?:st|nd|rd|th|\.)?\s+(?:of\s+)?$", _just_before(words, moment.start), re.IGNORECASE
    )
    behind = re.match(rf"\s+(\d{{1,2}})(?:st|nd|rd|th)?,?\s+({_YEAR})\b", words[moment.end :], re.IGNORECASE)
    if before and moment.year:
        start = moment.start - len(_just_before(words, moment.start)) + before.start()
        number, year, end = before[1], moment.year, moment.end
    elif behind and not moment.year:
        number, year, start, end = behind[1], int(behind[2]), moment.start, moment.end + behind.end()
    else:
        return moment
    day = parse_day(f"{year}-{moment.first:02d}-{int(number):02d}")
    if day is None:
        return moment
    return replace(moment, start=start, end=end, words=words[start:end], unit="day", year=year, day=day)


def _just_before(words: str, place: int) -> str:
    """The words that lead something in: enough of them, however long the goal is."""
    return words[max(0, place - 40) : place]


def parse_day(text: str) -> date | None:
    """The day that an ISO date or time begins with; None for anything else."""
    try:
        return date.fromisoformat(text[:10])
    except ValueError:
        return None


def _with_years(words: str, moments: list[_Moment], covered: TimeCoverage) -> Iterator[_Moment]:
    """Moments without a year take that of one that has it, the next first, else the latest in the data."""
    for place, moment in enumerate(moments):
        if moment.year is not None:
            yield moment
            continue
        later = next((other for other in moments[place + 1 :] if other.year and other.unit != "year"), None)
        earlier = next((other for other in reversed(moments[:place]) if other.year and other.unit != "year"), None)
        if later and later.year:
            # "November to February 2024" begins the year before; "Q3 against Q2 2024" does not.
            is_span = words[moment.end : later.start].strip().casefold() not in _AGAINST
            year = later.year if moment.first <= later.last or not is_span else later.year - 1
        elif earlier and earlier.year:
            year = earlier.year
        else:
            year = covered.last.year
            if date(year, moment.first, 1) > covered.last:
                year -= 1
        yield replace(moment, year=year)


def _bounds(moment: _Moment) -> tuple[date, date]:
    if moment.day:
        return moment.day, moment.day
    year = min(max(moment.year or 2000, 1), 9998)
    return date(year, moment.first, 1), _month_after(year, moment.last) - timedelta(days=1)


def _months_later(day: date, months: int) -> tuple[int, int]:
    """The year and month so many months later, or earlier."""
    year, month = divmod(day.year * 12 + day.month - 1 + months, 12)
    return min(max(year, 1), 9998), month + 1


def _month_after(year: int, month: int) -> date:
    return date(year + month // 12, month % 12 + 1, 1)


def _from_moments(words: str, moments: list[_Moment], covered: TimeCoverage) -> Iterator[_Found]:
    place = 0
    while place < len(moments):
        moment = moments[place]
        first, last = _bounds(moment)
        opener = re.search(r"(\w+)(?:\s+(?:the|in|from|last|end of|start of))?\s+$", _just_before(words, moment.start))
        kind = _OPENERS.get(opener[1].casefold(), "") if opener else ""
        if re.search(r"\b(?:before and after|vor und nach)\s+$", _just_before(words, moment.start), re.IGNORECASE):
            yield moment.start - 1, moment.start, f"before {moment.words}", covered.first, first - timedelta(days=1)
        following = moments[place + 1] if place + 1 < len(moments) else None
        if following and _is_range(words, moment, following):
            yield moment.start, following.end, words[moment.start : following.end], first, _bounds(following)[1]
            place += 2
            continue
        text = f"{opener[1]} {moment.words}" if opener and kind else moment.words
        bounds = {
            "since": (first, max(covered.last, first)),
            "after": (last + timedelta(days=1), covered.last),
            "before": (covered.first, first - timedelta(days=1)),
            "until": (covered.first, last),
        }.get(kind, (first, last))
        yield moment.start, moment.end, text, *bounds
        place += 1


def _is_range(words: str, moment: _Moment, following: _Moment) -> bool:
    """Whether two moments are the ends of one span: `between March and June`, `from May to July`, `2021-2023`."""
    joint = words[moment.end : following.start].strip().casefold()
    opener = words[: moment.start].rstrip().casefold()
    if joint in {"to", "until", "till", "through", "bis", "-", "–", "…"}:
        # "fell from Q2 to Q3" compares two quarters; "from March to June" is one span.
        is_compared = re.search(
            r"(?:fell|fall|dropp?|rose|rise|chang|grew|grow|declin|increas|decreas)\w*", words, re.I
        )
        return not (is_compared and moment.unit in {"quarter", "half", "year"})
    return joint in {"and", "und"} and opener.endswith(("between", "zwischen")) and moment.unit in {"month", "day"}


def _relative(words: str, covered: TimeCoverage) -> Iterator[_Found]:
    for match in _RELATIVE.finditer(words):
        unit, which = _UNITS[match["unit"].casefold()], match["which"].casefold()
        count = _NUMBERS.get((match["count"] or "1").casefold()) or int(match["count"] or 1)
        if count > 1 or which == "past":
            first = _back(covered.last, unit, count) + timedelta(days=1)
            yield match.start(), match.end(), match.group(0), first, covered.last
            continue
        first, last = _period(covered.last, unit)
        if which in {"last", "previous"} or which.startswith(("letzt", "vorig")):
            is_beside_this = re.search(rf"\b(?:this|current|diese\w?)\s+{match['unit']}\b", words, re.IGNORECASE)
            whole = _period(first - timedelta(days=1), unit) if is_beside_this else last_whole_period(covered, unit)
            first, last = whole
        yield match.start(), match.end(), match.group(0), first, last
    if (match := _BEFORE_IT.search(words)) and _RELATIVE.search(words[: match.start()]):
        first, _ = last_whole_period(covered, match["unit"].casefold())
        yield match.start(), match.end(), match.group(0), *_period(first - timedelta(days=1), match["unit"].casefold())
    for match in _TO_DATE.finditer(words):
        yield match.start(), match.end(), match.group(0), date(covered.last.year, 1, 1), covered.last
    for match in _TODAY.finditer(words):
        day = covered.last - timedelta(days=_DAYS_BACK.get(match["day"].casefold(), 0))
        yield match.start(), match.end(), match.group(0), day, day


def last_whole_period(covered: TimeCoverage, unit: str) -> tuple[date, date]:
    """The last period that the data has whole; dates of monthly data stand for their months."""
    first, last = _period(covered.last, unit)
    order = ("day", "week", "month", "quarter", "year")
    stands_for = _period(covered.last, covered.step)[1] if covered.step in order else covered.last
    return (first, last) if stands_for >= last else _period(first - timedelta(days=1), unit)


def _period(day: date, unit: str) -> tuple[date, date]:
    match unit:
        case "week":
            monday = day - timedelta(days=day.weekday())
            return monday, monday + timedelta(days=6)
        case "month":
            return day.replace(day=1), _month_after(min(day.year, 9998), day.month) - timedelta(days=1)
        case "quarter":
            start = (day.month - 1) // 3 * 3 + 1
            return date(day.year, start, 1), _month_after(min(day.year, 9998), start + 2) - timedelta(days=1)
        case "year":
            return date(day.year, 1, 1), date(day.year, 12, 31)
        case _:
            return day, day


def _back(day: date, unit: str, count: int) -> date:
    if unit in {"day", "week"}:
        return day - timedelta(days=count * (7 if unit == "week" else 1))
    months = day.year * 12 + day.month - 1 - count * {"month": 1, "quarter": 3, "year": 12}[unit]
    start = date(max(months // 12, 1), months % 12 + 1, 1)
    return min(start + timedelta(days=day.day - 1), _period(start, "month")[1])
