"""Which rows a goal means: values it names or leaves out, and numbers it compares with. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final

from cellwright.analyst.goal.data_names import DataNames, KnownColumn, KnownValue, match_strength
from cellwright.analyst.goal.goal_text import fold
from cellwright.analyst.goal.mentions import ColumnMention, TableMention, ValueMention
from cellwright.analyst.goal.number_words import NumberMention, parse_number
from cellwright.analyst.goal.question import NumberFilter, ValueFilter
from cellwright.analyst.goal.question_vocabulary import (
    ADJECTIVES,
    ARRIVALS,
    ARTICLES,
    JOINERS,
    LIGHT,
    NEGATORS,
    UNIT_ALIASES,
    VAGUE,
)
from cellwright.analyst.goal.request import NamedColumn
from cellwright.analyst.goal.sentence import Sentence
from cellwright.analyst.goal.vocabulary import words_in

_PREPOSITIONS: Final = words_in(
    "in from for by at via through on with of to over within im aus fur mit von bei and or either both who that are",
    "is not",
)
_TRUE: Final = words_in("yes true y ja 1 t wahr x")
_FALSE: Final = words_in("no false n nein 0 f falsch")
_UNIT_COLUMNS: Final = {"degree": "temperature", "celsius": "temperature", "grad": "temperature", "%": "percent"}
_FACTORS: Final = {
    ("kg", "g"): 1_000.0,
    ("g", "kg"): 0.001,
    ("m", "mm"): 1_000.0,
    ("cm", "mm"): 10.0,
    ("m", "cm"): 100.0,
}


@dataclass(frozen=True, slots=True)
class PlacedFilter:
    """A filter and where it stands in the goal."""

    place: int
    filter: ValueFilter | NumberFilter


@dataclass(slots=True)
class FilterReading:
    """The filters of a goal."""

    placed: list[PlacedFilter] = field(default_factory=list[PlacedFilter])
    compared: list[NamedColumn] = field(default_factory=list[NamedColumn])
    """Columns of which a goal names several values: what it compares, if it compares."""
    unclear: str = ""
    """A number of which nobody can say what it is about."""
    notes: list[str] = field(default_factory=list[str])

    @property
    def tables(self) -> set[str]:
        """Whose columns they are."""
        return {each.filter.column.table for each in self.placed}


def read_filters(sentence: Sentence, table: str) -> FilterReading:
    """The filters in a goal about the rows of a table."""
    reading = FilterReading()
    _absorb_columns(sentence)
    _add_values(sentence, reading)
    _add_flags(sentence, reading)
    for number in sentence.numbers:
        _add_number(sentence, number, table, reading)
    _add_equal_numbers(sentence, reading)
    _add_keys(sentence, reading)
    if vague := _vague(sentence):
        reading.unclear = vague
    if sentence.says("above average", "below average", "than average", "above the average", "below the average"):
        reading.unclear = reading.unclear or "average"
    reading.placed.sort(key=lambda each: each.place)
    return reading


# ── values ──


def _absorb_columns(sentence: Sentence) -> None:
    """A column right beside one of its values only says of what the value is: `channel web`, `the South region`."""
    for mention in sentence.mentions.columns:
        lead = sentence.lead(mention.at[0])
        for value in sentence.mentions.values:
            if lead in {"by", "per", "each", "every", "which", "across"} or mention.known.role == "measure":
                continue
            between = range(min(mention.at[-1], value.at[-1]) + 1, max(mention.at[0], value.at[0]))
            is_beside = all(
                sentence.words[at].folded in {"is", "equals", "of", "the", "being", "s", "that", "with"}
                for at in between
            )
            is_its = any(option.owner.name == mention.known.name for option in value.options)
            if is_beside and len(between) < 3 and is_its:
                sentence.absorbed.update(mention.at)


def _add_values(sentence: Sentence, reading: FilterReading) -> None:
    groups: dict[tuple[NamedColumn, bool], list[tuple[ValueMention, KnownValue]]] = {}
    for mention in sentence.mentions.values:
        chosen = mention.options[0]
        others = {
            option.owner.name
            for option in mention.options[1:]
            if option.owner.column.name != chosen.owner.column.name
            and sentence.names.is_reachable(chosen.owner.table.name, option.owner.table.name)
        }
        named = any(column.known.name == chosen.owner.name for column in sentence.mentions.columns)
        if others and not named and not _is_repeat(chosen, mention):
            other = next(iter(sorted(name.column for name in others)))
            reading.notes.append(
                f"“{mention.said}” was read as a value of {chosen.owner.column.name[:60]}; {other[:60]} has it too."
            )
        key = (chosen.owner.name, is_negated(sentence, mention.at[0]))
        groups.setdefault(key, []).append((mention, chosen))
    for (column, is_excluded), entries in groups.items():
        values = tuple(dict.fromkeys(value for _, chosen in entries for value in chosen.values))
        first, last = entries[0][0].at[0], entries[-1][0].at[-1]
        words = _value_words(sentence, [mention for mention, _ in entries], first, last)
        made = ValueFilter(column=column, values=values, is_excluded=is_excluded, words=words)
        reading.placed.append(PlacedFilter(first, made))
        if len({chosen.values for _, chosen in entries}) > 1 and not is_excluded:
            reading.compared.append(column)


def _value_words(sentence: Sentence, entries: list[ValueMention], first: int, last: int) -> str:
    """The goal's words for some values, with what leads them in."""
    places = {place for mention in entries for place in mention.at}
    between = {sentence.words[place].folded for place in range(first, last + 1) if place not in places}
    is_one_phrase = between <= (_PREPOSITIONS | ARTICLES | JOINERS | {"vs", "versus", "than"})
    if is_one_phrase:
        return sentence.cut(_phrase_start(sentence, first), last)
    return " and ".join(mention.said for mention in entries)[:80]


def _is_repeat(chosen: KnownValue, mention: ValueMention) -> bool:
    pairs = {frozenset((each.first, each.second)) for each in chosen.owner.table.repeats}
    names = {option.owner.column.name for option in mention.options[1:]}
    return all(frozenset((chosen.owner.column.name, name)) in pairs for name in names)


def is_negated(sentence: Sentence, place: int) -> bool:
    """Whether a name is led in by a word that leaves it out: `without`, `except for`."""
    at = place - 1
    values = {each for value in sentence.mentions.values for each in value.at}
    while at >= 0:
        word = sentence.words[at].folded
        before = sentence.words[at - 1].folded if at else ""
        if word in NEGATORS or (word in {"from", "than"} and before in {"apart", "other", "aside"}):
            return word != "no" or not sentence.says("no matter")
        if not (word in ARTICLES or word in _PREPOSITIONS or word in JOINERS or at in values):
            return False
        if word == "with":
            return False
        at -= 1
    return False


def _phrase_start(sentence: Sentence, place: int) -> int:
    at = place
    while at > 0 and sentence.words[at - 1].folded in ARTICLES:
        at -= 1
    while (
        at > 0
        and place - at < 4
        and sentence.words[at - 1].folded in (_PREPOSITIONS | NEGATORS) - {"is", "are", "that", "who"}
    ):
        at -= 1
    return at


# ── flags ──


def _add_flags(sentence: Sentence, reading: FilterReading) -> None:
    for mention in sentence.mentions.columns:
        if mention.known.role != "flag" or mention.at[0] in sentence.absorbed or is_flag_group(sentence, mention):
            continue
        is_excluded = is_negated(sentence, mention.at[0])
        values = flag_values(mention.known, is_true=not is_excluded)
        if values:
            words = sentence.cut(_phrase_start(sentence, mention.at[0]), mention.at[-1])
            made = ValueFilter(column=mention.known.name, values=values, words=words)
            reading.placed.append(PlacedFilter(mention.at[0], made))


def is_flag_group(sentence: Sentence, mention: ColumnMention) -> bool:
    """Whether a flag is what is compared: `by newsletter`, `with and without newsletter`."""
    lead = sentence.lead(mention.at[0])
    is_led = lead in {"by", "per", "each", "every", "which", "across", "whether", "does", "do", "of", "on", "to"}
    return (is_led and not sentence.says("share of", "percentage of")) or sentence.says(
        "with and without", "with or without", "without and with", "with vs without", "with versus without"
    )


def flag_values(known: KnownColumn, *, is_true: bool) -> tuple[str, ...]:
    """The values of a flag that say yes, or no."""
    conversion = known.column.conversion
    words = conversion.true_words if is_true else conversion.false_words
    if words:
        return tuple(words)
    wanted = _TRUE if is_true else _FALSE
    values = [entry.value for entry in known.column.common if fold(entry.value.strip()) in wanted]
    return tuple(values) or (("True",) if is_true else ("False",))


# ── numbers ──


def _add_number(sentence: Sentence, number: NumberMention, table: str, reading: FilterReading) -> None:
    words = sentence.cut(number.at[0], number.at[-1])
    counted = next(
        (each for each in sentence.mentions.tables if number.unit_at is not None and number.unit_at in each.at), None
    )
    is_of_how_often = number.unit == "time" or (counted and sentence.says("how many", "number of", "wie viele"))
    if is_of_how_often:
        reading.unclear = reading.unclear or words
        return
    if counted:
        reading.notes.append(f"“{words}” is no condition on single rows: all groups are shown with their numbers.")
        return
    found = _number_column(sentence, number, table)
    if found is None:
        reading.unclear = reading.unclear or words
        return
    known, factor, note = found
    if beside := next(
        (
            each
            for each in sentence.mentions.columns
            if each.at[-1] < number.at[0] and _is_beside(sentence, each, number)
        ),
        None,
    ):
        words = sentence.cut(beside.at[0], number.at[-1])
    if note:
        reading.notes.append(note)
    if number.unit_at is not None and _is_unit_of(sentence.names, number, known):
        sentence.taken.add(number.unit_at)
    made = NumberFilter(column=known.name, comparison=number.comparison, number=number.number * factor, words=words)
    reading.placed.append(PlacedFilter(number.at[0], made))


def _vague(sentence: Sentence) -> str:
    """`late orders`: a choice of rows that nothing in the data tells."""
    for mention in sentence.mentions.tables:
        place = mention.at[0]
        before = sentence.words[place - 1].folded if place else ""
        is_arrival = before in ARRIVALS and (sentence.spans or sentence.time.unit or sentence.time.part)
        is_led = place > 1 and sentence.words[place - 2].folded in {"most", "least", "more", "less"}
        if before in VAGUE and not is_arrival and not is_led:
            return f"{before} {mention.said}"
    return ""


def _add_equal_numbers(sentence: Sentence, reading: FilterReading) -> None:
    """`quantity 5`, `a satisfaction of 8`: a number right behind a measure."""
    for mention in sentence.mentions.columns:
        at = mention.at[-1] + 1
        if at < len(sentence.words) and sentence.words[at].folded in {"of", "is", "was"}:
            at += 1
        is_free = at < len(sentence.words) and at not in sentence.taken and sentence.words[at].is_number
        number = parse_number(sentence.words[at].folded) if is_free else None
        if mention.known.role == "measure" and number is not None and not mention.is_meant:
            sentence.taken.add(at)
            sentence.absorbed.update(mention.at)
            words = sentence.cut(mention.at[0], at)
            made = NumberFilter(column=mention.known.name, comparison="=", number=number, words=words)
            reading.placed.append(PlacedFilter(mention.at[0], made))


def _add_keys(sentence: Sentence, reading: FilterReading) -> None:
    """`customer C0001`: a text behind the name of a key, of the shape that the key's values have."""
    named = [(each.at[-1], (each.known,)) for each in sentence.mentions.columns if each.known.role == "id"]
    named += [(each.at[-1], each.columns) for each in sentence.mentions.tables]
    for place, columns in named:
        if place + 1 >= len(sentence.words):
            continue
        match = re.match(r"\S+", sentence.text[sentence.words[place + 1].start :])
        said = match.group(0).strip("?!.,;:()“”\"'") if match else ""
        keys = [known for known in columns if known.role == "id" and _shape(said) in map(_shape, known.column.examples)]
        if not said or not keys or not any(map(str.isdigit, said)):
            continue
        end = sentence.words[place + 1].start + len(said)
        sentence.taken.update(at for at in range(place + 1, len(sentence.words)) if sentence.words[at].end <= end)
        sentence.absorbed.add(place)
        made = ValueFilter(column=keys[0].name, values=(said,), words=said)
        reading.placed.append(PlacedFilter(place + 1, made))


def _shape(text: str) -> str:
    return re.sub(r"\d", "9", re.sub(r"[^\W\d_]", "a", text.casefold()))


def _is_unit_of(names: DataNames, number: NumberMention, known: KnownColumn) -> bool:
    return number.unit == "money" or any(
        each.name == known.name for each, _ in _with_unit(names, number.unit, known.table.name)
    )


def _number_column(sentence: Sentence, number: NumberMention, table: str) -> tuple[KnownColumn, float, str] | None:
    """Which column a number is about: said beside it, by its unit, by an adjective, or the money of the rows."""
    names = sentence.names
    beside = _beside(sentence, number)
    if beside:
        sentence.absorbed.update(beside.at)
        return beside.known, 1.0, ""
    if number.unit == "money":
        money = names.money_of(table) or next(filter(None, (names.money_of(each.name) for each in names.tables)), None)
        return (money, 1.0, "") if money else None
    by_unit = next(_with_unit(names, number.unit, table), None)
    if by_unit and not number.adjective:
        return *by_unit, ""
    if number.adjective:
        wanted = ADJECTIVES[number.adjective][0].split()
        fitting = (
            known for name in wanted for known in names.columns
            if known.role == "measure" and name in known.parts and "birth" not in known.parts
        )  # fmt: skip
        units = list(_with_unit(names, number.unit, table))
        known = units[0] if units else None
        if known:
            return *known, ""
        chosen = next(fitting, None)
        return (chosen, 1.0, "") if chosen else None
    money = names.money_of(table)
    follows = number.unit_at is None or sentence.words[number.unit_at].folded in LIGHT
    if money and follows:
        note = f"“{sentence.cut(number.at[0], number.at[-1])}” was read as a condition on {money.column.name[:60]}."
        return money, 1.0, note
    return None


def _beside(sentence: Sentence, number: NumberMention) -> ColumnMention | None:
    """A measure named right before the comparison, or right behind the number."""
    for mention in sentence.mentions.columns:
        if mention.known.role != "measure":
            continue
        if number.unit_at is not None and number.unit_at in mention.at and not mention.is_meant:
            return mention
        if _is_beside(sentence, mention, number):
            return mention
    return None


def _is_beside(sentence: Sentence, mention: ColumnMention, number: NumberMention) -> bool:
    gap = range(mention.at[-1] + 1, number.at[0])
    is_before = mention.at[-1] < number.at[0] and len(gap) < 3 and not mention.is_meant
    between = {"is", "of", "was", "are", "were", "the", "a"}
    return is_before and mention.known.role == "measure" and all(sentence.words[at].folded in between for at in gap)


def _with_unit(names: DataNames, unit: str, table: str) -> Iterator[tuple[KnownColumn, float]]:
    """Measures in this unit, those of the table first; others that can be turned into it."""
    if not unit:
        return
    unit = UNIT_ALIASES.get(unit, unit)
    called = _UNIT_COLUMNS.get(unit, unit)
    measures = sorted(
        (known for known in names.columns if known.role == "measure"), key=lambda each: each.table.name != table
    )
    for known in measures:
        own = fold(known.column.unit)
        if own == unit or called in known.parts or any(match_strength(called, part) > 1 for part in known.essential):
            yield known, 1.0
    for known in measures:
        if factor := _FACTORS.get((unit, fold(known.column.unit))):
            yield known, factor


def missing_in(sentence: Sentence) -> str:
    """The table that somebody is not in: `customers who never ordered`; empty if nothing is asked of that kind."""
    for mention in sentence.mentions.tables:
        before = [word.folded for word in sentence.words[max(0, mention.at[0] - 2) : mention.at[0]]]
        if NEGATORS.intersection(before) and not is_beside_value(sentence, mention):
            return mention.table.name
    return ""


def threshold_tables(sentence: Sentence) -> set[int]:
    """Words of tables that are only counted against a number: `more than 100 orders`."""
    places = {each.unit_at for each in sentence.numbers if each.unit_at is not None}
    return {place for mention in sentence.mentions.tables for place in mention.at if place in places}


def is_beside_value(sentence: Sentence, mention: TableMention) -> bool:
    """Whether a table's word only carries a value: `without web orders`."""
    return any(value.at[-1] + 1 == mention.at[0] for value in sentence.mentions.values)
