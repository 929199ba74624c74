"""A goal in people's words read as one question about the data, by plain rules. Pure; no model is asked.

Words that carry meaning and that neither the data nor a question has are never passed over: the question is declined.
"""

from __future__ import annotations

import re
from dataclasses import replace
from itertools import islice
from typing import Final

from cellwright.analyst.goal.data_names import DataNames
from cellwright.analyst.goal.declined import asked_beyond, decline
from cellwright.analyst.goal.filters import FilterReading, missing_in, read_filters
from cellwright.analyst.goal.grouping import read_groups
from cellwright.analyst.goal.measures import QuantityReading, as_extreme, counted_once, divided_by, table_of
from cellwright.analyst.goal.quantities import default_quantity, read_quantity
from cellwright.analyst.goal.question import DeclinedQuestion, Quantity, Question, QuestionKind
from cellwright.analyst.goal.question_kinds import few_numbers, is_ranked, read_kind
from cellwright.analyst.goal.question_vocabulary import DISTRIBUTION, MEAN
from cellwright.analyst.goal.relations import read_pair
from cellwright.analyst.goal.request import DateRange
from cellwright.analyst.goal.sentence import Sentence, read_sentence
from cellwright.analyst.goal.shares import split_share
from cellwright.analyst.goal.time_spans import TimeChoice, choose_time
from cellwright.analyst.goal.unexplained import find_unexplained
from cellwright.profiles.profile import Profile, TableProfile

_MAX_GOAL_LENGTH: Final = 2_000
_MAX_NEAREST: Final = 3
_WHEN_CHANGED: Final = re.compile(
    r"\bwhen\b.*\b(?:chang|fall|fell|drop|ris|rose|jump|shift|step|break|broke|start|stop|begin|began)\w*",
    re.IGNORECASE,
)
_ONWARDS: Final = re.compile(r"\bfrom ([\w ,]{3,24}?) on(?:wards?)?\b(?! (?:to|until))", re.IGNORECASE)
_SAME: Final = re.compile(r"\bsame (?:months?|periods?|time|weeks?|days|half|quarters?|span)\b", re.IGNORECASE)
_WHOLE_SENTENCE: Final = frozenset({"what would happen if things were different", "advice", "a conversation"})
"""Asked for, they are what the whole goal is about: no part of it is answered alone."""


def read_question(words: str, profile: Profile) -> Question | DeclinedQuestion:
    """What a goal asks of the data; or why that cannot be told without a model, and what can be asked instead."""
    text = _ONWARDS.sub(r"since \1", words[:_MAX_GOAL_LENGTH])
    names = DataNames(profile)
    if not re.search(r"\w", text) or not names.tables:
        return Question(kind="overview", is_understood=not text.strip())
    beyond = asked_beyond(text, names)
    if beyond is None:
        return _of_moments(text, _read(text, names))
    what, span = beyond
    rest = "" if what in _WHOLE_SENTENCE else _without_clause(text, span)
    answered = _read(rest, names) if re.search(r"\w{3}", rest) else None
    if isinstance(answered, Question) and answered.kind != "overview":
        note = f"The goal also asks for {what}: that part is left out."
        return replace(answered, notes=(*answered.notes, note))
    why = f"The goal asks for {what}, which the analyst does not do: it counts, compares and tests what the data has."
    return _checked(decline(why, read_sentence(text, names), names, what=what), names)


def _of_moments(text: str, read: Question | DeclinedQuestion) -> Question | DeclinedQuestion:
    """`When did the level change` asks for the course, not for the month with most."""
    if isinstance(read, Question) and read.kind == "drivers" and read.spans and _names_a_level(text):
        return replace(read, kind="change", by=(), asks_why=True)
    if isinstance(read, Question) and len(read.spans) == 2 and _SAME.search(text):
        return replace(read, spans=_same_of_year(read.spans))
    if isinstance(read, Question) and read.kind == "ranking" and read.part and _WHEN_CHANGED.search(text):
        notes = tuple(note for note in read.notes if "“When”" not in note)
        return replace(read, kind="trend", part=None, notes=notes)
    return read


def _names_a_level(text: str) -> bool:
    return re.search(r"\bwhy\b.*\b(?:high|low|large|small|bad|good|expensive|cheap|many|few)\b", text, re.I) is not None


def _same_of_year(spans: tuple[DateRange, ...]) -> tuple[DateRange, ...]:
    """`the first half of 2002 against the same months of 2001`: a year named so stands for those months of it."""
    short = next((each for each in spans if (each.first[5:], each.last[5:]) != ("01-01", "12-31")), None)
    year = next((each for each in spans if (each.first[5:], each.last[5:]) == ("01-01", "12-31")), None)
    if short is None or year is None or short.first[:4] != short.last[:4] or short.last[5:] == "02-29":
        return spans
    moved = replace(year, first=year.first[:4] + short.first[4:], last=year.first[:4] + short.last[4:])
    return tuple(moved if each is year else each for each in spans)


def _without_clause(text: str, span: tuple[int, int]) -> str:
    """The rest of a goal, without the clause that something stands in."""
    ends = [match.span() for match in re.finditer(r"[.;?!,]\s|\band\b|\bund\b|\bthen\b|$", text)]
    start = max((end for _, end in ends if end <= span[0]), default=0)
    stop = min((begin for begin, _ in ends if begin >= span[1]), default=len(text))
    return f"{text[:start]} {text[stop:]}"


def _read(text: str, names: DataNames) -> Question | DeclinedQuestion:
    sentence = read_sentence(text, names)
    filters = read_filters(sentence, _rows_table(sentence))
    kind = read_kind(sentence, filters)
    if kind in {"overview", "quality"}:
        return _about_all(kind, sentence)
    found = read_quantity(sentence, filters, has_groups=is_ranked(sentence))
    if spread := few_numbers(sentence):
        found = QuantityReading(quantity=Quantity(how="count", table=spread.known.table.name, words="rows"))
    unexplained = find_unexplained(sentence, found)
    if unexplained and not unexplained.is_grave and found is not None and _names_anything(sentence, filters):
        sentence.notes.append(unexplained.note)
    elif unexplained:
        return _checked(unexplained.declined(sentence, found.quantity if found else None), names)
    if kind == "outliers":
        return _checked(_outliers(sentence, filters, found), names)
    if missing := missing_in(sentence):
        why = f"The goal asks for what is not in {missing[:60]}, which the analyst does not look for."
        return _checked(decline(why, sentence, names, what="it"), names)
    if filters.unclear:
        why = f"It is not clear which column “{filters.unclear}” is about."
        return _checked(decline(why, sentence, names, what="a reading of it"), names)
    if found is None and kind == "figure" and not _names_anything(sentence, filters):
        is_of_data = sentence.has({"data", "dataset", "file", "files", "table", "tables", "daten", "everything"})
        return Question(kind="overview", is_understood=is_of_data, notes=tuple(sentence.notes))
    found = found or default_quantity(kind, sentence, _default_table(sentence))
    if found is None:
        return Question(kind="overview", is_understood=False)
    return _checked(_composed(kind, sentence, filters, found), names)


def _rows_table(sentence: Sentence) -> str:
    """The table that a goal's conditions are most likely about."""
    measures = [each.known.table.name for each in sentence.mentions.columns if each.known.role == "measure"]
    named = [each.table for each in sentence.mentions.tables]
    main = sentence.names.main
    finest = max(named, key=lambda table: table.rows).name if named else ""
    return finest or (measures[0] if measures else main.name if main else "")


def _default_table(sentence: Sentence) -> TableProfile | None:
    """The table whose measure is looked at if none is named: of customers, that of what they did."""
    named = [each.table for each in sentence.mentions.tables]
    main = sentence.names.main
    if not named:
        owners = [each.options[0].owner.table for each in sentence.mentions.values]
        is_known = not main or not owners or sentence.names.is_added_to(main.name, owners[0].name)
        return main if is_known else owners[0]
    finest = max(named, key=lambda table: table.rows)
    facts = sentence.names.facts_about(finest.name)
    return facts[0] if facts else finest


def _names_anything(sentence: Sentence, filters: FilterReading) -> bool:
    return bool(sentence.mentions.used or filters.placed or sentence.spans or sentence.time.unit or sentence.time.part)


def _about_all(kind: QuestionKind, sentence: Sentence) -> Question:
    notes = list(sentence.notes)
    if unknown := find_unexplained(sentence, None, is_of_all=True):
        notes.append(f"The data has nothing called {unknown.listed}.")
    is_both = kind == "overview" and sentence.has({"wrong", "problem", "problems", "issues", "errors", "quality"})
    if is_both:
        notes.append("Problems of the data are told too.")
    return Question(kind=kind, notes=tuple(notes))


def _outliers(sentence: Sentence, filters: FilterReading, found: QuantityReading | None) -> Question | DeclinedQuestion:
    has_measure = found is not None and found.quantity.column is not None and found.quantity.how != "distinct"
    chosen = found if has_measure else None
    time = choose_time(
        "outliers", sentence, filters.tables, table_of(chosen.quantity) if chosen else _rows_table(sentence)
    )
    if isinstance(time, str):
        return decline(time, sentence, sentence.names)
    if sentence.has(DISTRIBUTION):
        sentence.notes.append("A distribution was read as how the values spread, and which of them lie far off.")
    return Question(
        kind="outliers",
        quantity=chosen.quantity if chosen else None,
        filters=tuple(each.filter for each in (*filters.placed, *time.filters)),
        spans=time.spans,
        time=time.column,
        notes=tuple(dict.fromkeys([*sentence.notes, *filters.notes, *time.notes, *(chosen.notes if chosen else ())])),
    )


def _composed(
    kind: QuestionKind, sentence: Sentence, filters: FilterReading, found: QuantityReading
) -> Question | DeclinedQuestion:
    """The question, once its kind and what it computes are known."""
    names = sentence.names
    base = table_of(found.quantity)
    if ratio := divided_by(sentence, found):
        why = f"The goal divides by {ratio[:60]}, which the analyst does not do: it counts, adds up and averages."
        return decline(why, sentence, names, what="it", quantity=found.quantity)
    groups = read_groups(kind, sentence, filters, found)
    if groups.lost:
        why = f"The data does not say which rows are of which {groups.lost[:60]}."
        return decline(why, sentence, names, quantity=found.quantity)
    time = choose_time(kind, sentence, groups.tables | filters.tables, base)
    if isinstance(time, str):
        return decline(time, sentence, names, quantity=found.quantity)
    if lost := _unreachable(names, base, groups.tables | filters.tables):
        why = f"Nothing joins the rows of {base[:60]} with those of {lost[:60]}."
        return decline(why, sentence, names, quantity=found.quantity)
    found = counted_once(names, found, groups.tables | filters.tables)
    pair = read_pair(kind, sentence, found, groups)
    kind, found, groups = pair.kind, pair.found, pair.groups
    placed = [each for each in filters.placed if not (kind == "relation" and each.filter.column in groups.by)]
    part_of, within = split_share(kind, sentence, [*placed, *time.filters], is_of_each=groups.is_of_each)
    added = list(time.notes) + list(pair.notes)
    if kind == "ranking" and not groups.by and sentence.has({"who", "wer"}):
        return decline("The data does not say who.", sentence, names, quantity=found.quantity)
    if sentence.has(MEAN) and found.quantity.how in {"count", "distinct"}:
        added.append("Numbers are shown for each, not their average.")
    asked, kind = kind, _settled(kind, groups.by, time)
    is_ordered = sentence.has({"rank", "ranked", "ranking", "order", "sorted"})
    if asked == "ranking" and kind == "figure" and (found.is_default or is_ordered):
        why = "It is not clear by which measure that is put in order."
        return decline(why, sentence, names, quantity=found.quantity)
    if asked == "ranking" and kind == "figure":
        found = as_extreme(sentence, found, is_lowest=groups.is_lowest)
    if kind == "share" and sentence.top and groups.by:
        kind = "ranking"
        added.append(f"What the first {sentence.top} have together is not told: each is shown on its own.")
    if kind == "share" and not (part_of or groups.by):
        why = "It is not clear of which part the share is asked for."
        return decline(why, sentence, names, quantity=found.quantity)
    notes = [*sentence.notes, *found.notes, *groups.notes, *filters.notes, *added]
    return Question(
        kind=kind,
        quantity=found.quantity,
        by=(*groups.by, *time.by),
        part=time.part,
        filters=part_of,
        within=within,
        spans=time.spans,
        time=time.column,
        unit=time.unit,
        top=sentence.top,
        is_lowest=groups.is_lowest and kind == "ranking",
        asks_why=kind == "change" and time.asks_why,
        notes=tuple(dict.fromkeys(note for note in notes if note)),
    )


def _settled(kind: QuestionKind, by: tuple[object, ...], time: TimeChoice) -> QuestionKind:
    """The kind, corrected by what was found to group by."""
    has_groups = bool(by or time.by or time.part)
    match kind:
        case "ranking" | "groups" if not has_groups and not time.unit:
            return "figure"
        case "groups" if not has_groups:
            return "trend"
        case "figure" if has_groups:
            return "groups"
        case "figure" if len(time.spans) > 1:
            return "change"
        case "trend" | "change" if time.part or time.by:
            return "groups"
        case _:
            return kind


def _unreachable(names: DataNames, base: str, tables: set[str]) -> str:
    return next((table for table in sorted(tables) if not names.is_reachable(base, table)), "")


def _checked(answer: Question | DeclinedQuestion, names: DataNames) -> Question | DeclinedQuestion:
    """The same; of a declined one only with nearest questions that can indeed be answered."""
    if isinstance(answer, Question):
        return answer
    kept = islice((each for each in answer.nearest if _is_answered(each, names)), _MAX_NEAREST)
    return replace(answer, nearest=tuple(kept))


def _is_answered(text: str, names: DataNames) -> bool:
    sentence = read_sentence(text, names)
    filters = read_filters(sentence, _rows_table(sentence))
    found = read_quantity(sentence, filters, has_groups=True)
    return find_unexplained(sentence, found) is None
