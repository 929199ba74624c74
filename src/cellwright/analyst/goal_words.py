"""What a goal in words asks for: read by plain rules, against what the data has. Pure, and no model is asked."""

from __future__ import annotations

import re
from datetime import date
from typing import Final

from cellwright.analyst.goal_names import NamesFound, find_names
from cellwright.analyst.goal_spans import Covered, read_spans
from cellwright.analyst.goal_vocabulary import NEEDS_MODEL, PURPOSES
from cellwright.analyst.profile import Profile, Table
from cellwright.analyst.wanted import Purpose, Span, Unserved, Wanted

_LONGEST_GOAL: Final = 4_000


def read_goal_words(words: str, profile: Profile) -> Wanted | Unserved:
    """What comes first for a goal; or that it needs a model, if it asks for what no plain analysis gives."""
    plain = _folded(words[:_LONGEST_GOAL])
    names = find_names(words, profile)
    spans = read_spans(words[:_LONGEST_GOAL], covered) if (covered := _covered(profile, names)) else ()
    beyond = next((what for pattern, what in NEEDS_MODEL if re.search(pattern, plain)), "")
    said = _purpose_said(_without_beyond(plain) if beyond else plain)
    if beyond and (said in {None, "overview"} or not (names.measures or names.groups or said == "quality")):
        return Unserved(
            why=f"The goal asks for {beyond}, which the analyst does not do: it describes, compares and tests."
        )
    notes = (*names.notes, *((f"The goal also asks for {beyond}: that part is left out.",) if beyond else ()))
    return Wanted(
        purpose=_purpose(said, names, spans),
        measures=names.measures,
        groups=names.groups,
        values=names.values,
        spans=spans,
        is_understood=bool(said or names.measures or names.groups or spans),
        notes=notes,
    )


def _folded(words: str) -> str:
    plain = " ".join(words.split()).casefold()
    return plain.translate(str.maketrans({"ä": "a", "ö": "o", "ü": "u", "ß": "ss"}))


def _without_beyond(plain: str) -> str:
    for pattern, _ in NEEDS_MODEL:
        plain = re.sub(pattern, " ", plain)
    return plain


def _purpose_said(plain: str) -> Purpose | None:
    return next((purpose for purpose, pattern in PURPOSES if re.search(pattern, plain)), None)


def _purpose(said: Purpose | None, names: NamesFound, spans: tuple[Span, ...]) -> Purpose:
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


def _covered(profile: Profile, names: NamesFound) -> Covered | None:
    """The time that the data named covers; else that of the table with most rows."""
    named = {name.table for name in (*names.measures, *names.groups)}
    order = sorted(profile.tables, key=lambda table: (table.name not in named, -table.rows))
    return next((covered for table in order if (covered := _covered_by(table))), None)


def _covered_by(table: Table) -> Covered | None:
    columns = sorted(table.columns, key=lambda column: column.name != table.time_column)
    for column in columns:
        if column.times is None:
            continue
        try:
            first, last = (date.fromisoformat(text[:10]) for text in (column.times.first, column.times.last))
        except ValueError:
            continue
        if date(2, 1, 1) <= first <= last <= date(9990, 1, 1):
            return Covered(first=first, last=last, step=column.times.step)
    return None
