"""A goal's words read by plain rules against what the data has: purpose, columns, values and periods. Pure.

No model is asked: a goal that no plain analysis serves is an `UnsupportedGoal`.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import date
from typing import Final

from cellwright.analyst.goal.date_ranges import TimeCoverage, parse_day, read_date_ranges
from cellwright.analyst.goal.request import AnalysisRequest, DateRange, NamedColumn, Purpose, UnsupportedGoal
from cellwright.analyst.goal.vocabulary import EVERYDAY, GENERAL, MONEY, NEEDS_MODEL, PURPOSES, SYNONYMS
from cellwright.profiles.profile import ColumnProfile, Profile, TableProfile

_MAX_GOAL_LENGTH: Final = 4_000
_MAX_NAMED: Final = 12
_TIES: Final = 3
"""Limit of columns that one word may stand for; with more, it names none of them."""


@dataclass(frozen=True, slots=True)
class _Match:
    table: TableProfile
    column: ColumnProfile
    place: int
    """Which word of the goal it begins with."""
    strength: tuple[int, int]
    """How much of the name was said, and (below zero) how much was not."""

    @property
    def name(self) -> NamedColumn:
        return NamedColumn(table=self.table.name, column=self.column.name)


def find_names(words: str, profile: Profile) -> AnalysisRequest:
    """The columns and values named in a goal, in the order it names them; nothing else is read from it yet."""
    parts = parts_of(words)
    matches, notes = _best([*(found := list(_matches(parts, profile))), *_money(parts, profile, found)])
    values = tuple(_values(words, profile, {match.column.name for match in matches}))[:_MAX_NAMED]
    named = {kind: [match.name for match in matches if _use(match.column) == kind] for kind in ("measure", "group")}
    groups = dict.fromkeys([*named["group"], *(owner for owner, _ in values)])
    return AnalysisRequest(
        purpose="overview",
        measures=tuple(dict.fromkeys(named["measure"]))[:_MAX_NAMED],
        groups=tuple(groups)[:_MAX_NAMED],
        values=values,
        notes=tuple(notes),
    )


def parts_of(text: str) -> tuple[str, ...]:
    """The words in a name or a goal, without case, accents, plural and the ways to join them."""
    spaced = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", " ", text)
    folded = unicodedata.normalize("NFKD", spaced.replace("ß", "ss")).casefold()
    bare = "".join(sign for sign in folded if not unicodedata.combining(sign))
    return tuple(_singular(part) for part in re.findall(r"[^\W_]+", bare))


def _singular(part: str) -> str:
    if len(part) > 4 and part.endswith("ies"):
        return f"{part[:-3]}y"
    return part[:-1] if len(part) > 3 and part.endswith("s") and not part.endswith("ss") else part


def _use(column: ColumnProfile) -> str:
    is_group = column.meaning in {"category", "flag", "code", "id"}
    return "measure" if column.meaning in {"measure", "currency"} else "group" if is_group else ""


def _matches(goal: tuple[str, ...], profile: Profile) -> Iterator[_Match]:
    known = set(goal)
    for table in profile.tables:
        for column in table.columns:
            name = parts_of(column.name)
            if not _use(column) or not name:
                continue
            place = next((at for at in range(len(goal)) if goal[at : at + len(name)] == name), -1)
            if place >= 0 and not (len(name) == 1 and ((name[0] in GENERAL and len(goal) > 1) or len(name[0]) < 2)):
                yield _Match(table, column, place, (3, 0))
                continue
            rare = [part for part in name if len(part) > 2 and part not in GENERAL]
            said = [part for part in rare if any(_same(word, part) for word in known)]
            if said:
                word = next(word for word in goal if _same(word, said[0]))
                yield _Match(table, column, goal.index(word), (1 + (word == said[0]), len(said) - len(name)))


def _money(goal: tuple[str, ...], profile: Profile, found: list[_Match]) -> Iterator[_Match]:
    """Columns of money, where the goal speaks of money and no measure is called by that word."""
    place = next((at for at, word in enumerate(goal) if word in MONEY), -1)
    if place < 0 or any(_same(goal[place], part) for match in found for part in parts_of(match.column.name)):
        return
    columns = ((table, column) for table in profile.tables for column in table.columns)
    yield from (_Match(table, column, place, (1, 0)) for table, column in columns if column.meaning == "currency")


def _same(word: str, part: str) -> bool:
    return word == part or any(word in group and part in group for group in SYNONYMS)


def _best(matches: list[_Match]) -> tuple[list[_Match], list[str]]:
    """For each word the columns it fits best; where several fit as well, all of them up to a few, and a note."""
    chosen: list[_Match] = []
    notes: list[str] = []
    for place in sorted({match.place for match in matches}):
        here = [match for match in matches if match.place == place]
        strongest = max(match.strength for match in here)
        best = [match for match in here if match.strength == strongest]
        tables = {match.table.name for match in best}
        names = [f"{match.table.name}.{match.column.name}" for match in best]
        if len(best) > _TIES * len(tables):
            notes.append(f"A word of the goal could mean any of {len(best)} columns, so none was put first.")
            continue
        if len(best) > 1:
            notes.append(f"A word of the goal could mean {' or '.join(names[:_MAX_NAMED])}; all are looked at.")
        chosen += best
    return chosen, notes


def _values(words: str, profile: Profile, named: set[str]) -> Iterator[tuple[NamedColumn, str]]:
    seen: set[str] = set()
    folded = words.casefold()
    columns = [(table, column) for table in profile.tables for column in table.columns if _use(column) == "group"]
    for table, column in sorted(columns, key=lambda pair: pair[1].name not in named):
        for entry in column.common:
            value = entry.value.strip()
            if value.casefold() not in seen and _is_said(value, words, folded):
                seen.add(value.casefold())
                yield NamedColumn(table=table.name, column=column.name), entry.value


def _is_said(value: str, words: str, folded: str) -> bool:
    if not value or value.casefold() in EVERYDAY or value.replace(".", "").isdigit():
        return False
    if len(value) < 3:
        pattern = rf"(?<!\w){re.escape(value)}(?!\w)(?=\s+(?:vs\.?|versus|and|against|or|und|gegen)\b)"
        after = rf"(?:\b(?:vs\.?|versus|and|against|or|than|und|gegen))\s+{re.escape(value)}(?!\w)"
        return value.isupper() and bool(re.search(pattern, words) or re.search(after, words))
    return bool(re.search(rf"(?<!\w){re.escape(value.casefold())}(?!\w)", folded))


def read_goal_words(words: str, profile: Profile) -> AnalysisRequest | UnsupportedGoal:
    """What comes first for a goal; or that it needs a model, if it asks for what no plain analysis gives."""
    words = words[:_MAX_GOAL_LENGTH]
    plain = " ".join(words.split()).casefold().translate(str.maketrans({"ä": "a", "ö": "o", "ü": "u", "ß": "ss"}))
    names = find_names(words, profile)
    spans = read_date_ranges(words, covered) if (covered := _covered(profile, names)) else ()
    beyond = next((what for what, pattern in NEEDS_MODEL.items() if re.search(pattern, plain)), "")
    for pattern in NEEDS_MODEL.values():
        plain = re.sub(pattern, " ", plain)
    said = next((purpose for purpose, pattern in PURPOSES if re.search(pattern, plain)), None)
    if beyond and (said in {None, "overview"} or not (names.measures or names.groups or said == "quality")):
        return UnsupportedGoal(
            why=f"The goal asks for {beyond}, which the analyst does not do: it describes, compares and tests."
        )
    notes = (*names.notes, *((f"The goal also asks for {beyond}: that part is left out.",) if beyond else ()))
    return replace(
        names,
        purpose=_purpose(said, names, spans),
        spans=spans,
        is_understood=bool(said or names.measures or names.groups or spans),
        notes=notes,
    )


def _purpose(said: Purpose | None, names: AnalysisRequest, spans: tuple[DateRange, ...]) -> Purpose:
    """What the words say, corrected by what they name: two spans set against each other are a change."""
    if said in {None, "compare", "overview"} and len(spans) == 2 and (names.measures or said == "compare"):
        return "change"
    if said == "compare" and not (names.groups or names.measures):
        return "overview"
    if said is not None and said != "overview":
        return said
    if names.measures and names.groups:
        return "compare"
    if len(names.measures) > 1:
        return "relate"
    return "trend" if names.measures and spans else "overview"


def _covered(profile: Profile, names: AnalysisRequest) -> TimeCoverage | None:
    """The time that the data named covers; else that of the table with most rows."""
    named = {name.table for name in (*names.measures, *names.groups)}
    order = sorted(profile.tables, key=lambda table: (table.name not in named, -table.rows))
    return next((covered for table in order if (covered := _covered_by(table))), None)


def _covered_by(table: TableProfile) -> TimeCoverage | None:
    columns = sorted(table.columns, key=lambda column: column.name != table.time_column)
    for times in (column.times for column in columns if column.times):
        first, last = parse_day(times.first), parse_day(times.last)
        if first and last and date(2, 1, 1) <= first <= last <= date(9990, 1, 1):
            return TimeCoverage(first=first, last=last, step=times.step)
    return None
