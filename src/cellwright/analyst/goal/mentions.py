"""Where a goal's words name tables, columns and values of the data. Pure."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Final

from cellwright.analyst.goal.data_names import (
    TIME_PARTS,
    DataNames,
    KnownColumn,
    KnownValue,
    is_everyday,
    match_strength,
    same_value_words,
)
from cellwright.analyst.goal.goal_text import GoalWord, fold
from cellwright.analyst.goal.question import Aggregate
from cellwright.analyst.goal.question_vocabulary import (
    ADJECTIVES,
    ARTICLES,
    COUNTERS,
    CURRENCY_WORDS,
    KNOWN,
    MEAN,
    MOVED,
    NUMBERED_MOST,
    PEOPLE,
    PIECES,
    PRICE,
    REVENUE,
    REVENUE_VERBS,
    THINGS,
    UNIT_ALIASES,
)
from cellwright.profiles.profile import TableProfile

_WINDOW: Final = 7
_PERSONS: Final = ("customer", "respondent", "person", "patient", "user", "member", "student", "employee", "passenger")
_BASKETS: Final = frozenset({"order", "basket", "cart", "ticket", "purchase", "transaction", "invoice"})
_BETWEEN: Final = ARTICLES | frozenset({"of", "at", "in", "for", "from", "did", "doe", "do"})
"""Stems that may stand between the parts of a name: `the wind at T2`."""
_MAX_MENTIONS: Final = 40
_FEW_INITIALS: Final = 2
"""So few may be any word."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ColumnMention:
    """Words that name a column."""

    at: tuple[int, ...]
    """Which words of the goal."""
    known: KnownColumn
    said: str
    note: str = ""
    """How it was read, where that was not plain."""
    is_lowest: bool = False
    """The word itself says that less of it is meant: `coldest`."""
    is_meant: bool = False
    """No name was said, but what it is about: `sells`, `cheapest`."""
    is_noun: bool = True
    """False of a verb or an adjective, which gives way to a measure that is named: `sells most pieces`."""
    how: Aggregate | None = None
    """What the word itself says is computed: the mean of an `order value`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ValueMention:
    """Words that name a value; `options` are the columns that have it, the likeliest first."""

    at: tuple[int, ...]
    options: tuple[KnownValue, ...]
    said: str


@dataclass(frozen=True, slots=True, kw_only=True)
class TableMention:
    """A word that names the rows of a table: `orders`."""

    at: tuple[int, ...]
    table: TableProfile
    columns: tuple[KnownColumn, ...]
    """Columns that are called so too: `order_id`."""
    said: str


@dataclass(slots=True)
class Mentions:
    """What was found, in the order of the goal."""

    columns: list[ColumnMention] = field(default_factory=list[ColumnMention])
    values: list[ValueMention] = field(default_factory=list[ValueMention])
    tables: list[TableMention] = field(default_factory=list[TableMention])
    notes: list[str] = field(default_factory=list[str])

    @property
    def used(self) -> set[int]:
        """Words that name something."""
        return {place for each in (*self.columns, *self.values, *self.tables) for place in each.at}


def find_mentions(words: Sequence[GoalWord], names: DataNames, taken: set[int]) -> Mentions:
    """Every name of the data in some words; those already taken are passed over."""
    found = Mentions()
    finder = _Finder(words, names, set(taken))
    for place in range(len(words)):
        if place in finder.taken:
            continue
        if len(found.columns) + len(found.values) + len(found.tables) >= _MAX_MENTIONS:
            break
        mention = finder.mention_at(place)
        match mention:
            case ColumnMention():
                found.columns.append(mention)
            case ValueMention():
                found.values.append(mention)
            case TableMention():
                found.tables.append(mention)
            case None:
                continue
        finder.taken.update(mention.at)
    found.values = [_settled(value, found) for value in found.values]
    return found


class _Finder:
    def __init__(self, words: Sequence[GoalWord], names: DataNames, taken: set[int]) -> None:
        self.words, self.names, self.taken = words, names, taken
        stems = frozenset(word.stem for word in words)
        self.values: defaultdict[str, list[KnownValue]] = defaultdict(list)
        for value in names.values_said(stems):
            if value.parts:
                self.values[value.parts[0]].append(value)
        self.main = names.main.name if names.main else ""
        self.seen: dict[tuple[str, ...], list[tuple[tuple[int, ...], KnownColumn, tuple[int, ...]]]] = {}

    def mention_at(self, place: int) -> ColumnMention | ValueMention | TableMention | None:
        word = self.words[place]
        column = self.column_at(place)
        if column and word.folded in REVENUE and column.known.role != "measure" and not _is_exact(column, self.words):
            column = None
        value = self.value_at(place)
        if value and not (column and _is_exact(column, self.words) and len(column.at) >= len(value.at)):
            return value
        if word.folded in PIECES and (pieces := self._pieces()):
            return ColumnMention(at=(place,), known=pieces, said=word.text)
        if word.folded in PEOPLE and (person := self._person(place)):
            return person
        tables = self.names.tables_called(word.stem)
        is_longer = column is not None and len(column.at) > 1 and column.known.role != "id"
        is_exact = column is not None and column.known.role == "measure" and _is_exact(column, self.words)
        # `how many flights`, `flights by month`: not their numbers, which nobody adds up.
        is_exact = is_exact and not (column and tables and self._is_counted(place, column.known))
        is_exact = is_exact or (column is not None and self._is_kind(place, column, tables))
        if column and column.known.role == "id" and column.known.column.is_unique and not tables:
            tables = [column.known.table]
        if tables and not is_longer and not is_exact and not self._is_revenue(word, tables[0]):
            columns = tuple(known for known in self.names.called(word.stem) if known.essential == (word.stem,))
            return TableMention(at=(place,), table=tables[0], columns=columns, said=word.text)
        if column and column.known.role == "time" and word.folded in REVENUE:
            return self.meant_at(place) or column
        return column or self.meant_at(place)

    def _is_counted(self, place: int, known: KnownColumn) -> bool:
        before = tuple(word.folded for word in self.words[max(place - 2, 0) : place])
        is_thing = self.words[place].folded in THINGS and MEAN.isdisjoint(before)
        is_said = is_thing or before in COUNTERS or not NUMBERED_MOST.isdisjoint(before[-1:])
        return is_said and not self.names.is_added_up(known) and not known.has_money

    def _is_kind(self, place: int, column: ColumnMention, tables: Sequence[TableProfile]) -> bool:
        """`by weather`, of a table of the weather: the column that says which kind."""
        is_led = place > 0 and self.words[place - 1].folded in {"by", "per", "each", "every"}
        is_own = tables[:1] == [column.known.table]
        return is_led and is_own and column.known.role == "group" and _is_exact(column, self.words)

    def _is_revenue(self, word: GoalWord, table: TableProfile) -> bool:
        """Whether a word means money, and the table only by another word for it."""
        parts = self.names.table_words[table.name]
        return word.folded in REVENUE and not (parts and match_strength(word.stem, parts[-1]) > 2)

    def _person(self, place: int) -> ColumnMention | TableMention | None:
        """Who is meant by people that are counted: customers, respondents, whom the data knows."""
        before = self.words[place - 1].folded if place else ""
        if before not in {"many", "of"}:
            return None
        said = self.words[place].text
        for stem in _PERSONS:
            if tables := self.names.tables_called(stem):
                return TableMention(at=(place,), table=tables[0], columns=tuple(self.names.called(stem)), said=said)
            known = next((each for each in self.names.called(stem) if each.role in {"id", "group"}), None)
            if known and known.role == "id" and known.column.is_unique:
                return TableMention(at=(place,), table=known.table, columns=(known,), said=said)
            if known:
                return ColumnMention(at=(place,), known=known, said=said)
        return None

    def _pieces(self) -> KnownColumn | None:
        return next((found for table in self.names.tables if (found := self.names.pieces_of(table.name))), None)

    # ── columns by their names ──

    def column_at(self, place: int) -> ColumnMention | None:
        window = tuple(word.stem for word in self.words[place : place + _WINDOW])
        if window not in self.seen:
            scored = [self._score(known, window) for known in self.names.called(window[0])]
            self.seen[window] = sorted((each for each in scored if each), key=lambda each: each[0], reverse=True)
        matching = [each for each in self.seen[window] if not self.taken.intersection(place + at for at in each[2])]
        if not matching:
            return self._initials_at(place)
        strength, known, places = matching[0]
        at = tuple(place + each for each in places)
        said = " ".join(self.words[each].text for each in at)[:60]
        ties = [other for score, other, _ in matching[1:] if score[:5] == strength[:5] and other.role == known.role]
        return ColumnMention(at=at, known=known, said=said, note=self._tie_note(said, known, ties))

    def _initials_at(self, place: int) -> ColumnMention | None:
        word = self.words[place]
        called = self.names.with_initials(word.folded) if len(word.text) > _FEW_INITIALS else []
        if len(called) != 1 or word.folded in KNOWN:
            return None
        note = f"“{word.text}” was read as {called[0].column.name[:60]}."
        return ColumnMention(at=(place,), known=called[0], said=word.text, note=note)

    def _score(
        self, known: KnownColumn, window: tuple[str, ...]
    ) -> tuple[tuple[int, ...], KnownColumn, tuple[int, ...]] | None:
        places: list[int] = []
        strength = 0
        missing: list[str] = []
        for part in known.essential:
            found = self._place_of(part, window, places)
            if found is None:
                missing.append(part)
                continue
            places.append(found[0])
            strength += found[1]
        said = [part for part in known.essential if part not in missing]
        is_time_only = all(part in TIME_PARTS for part in said)
        # `how did sales change` does not name a column `price_change`.
        is_verb_only = bool(missing) and all(window[at] in MOVED for at in places)
        if 0 not in places or is_time_only or is_verb_only or (known.role == "time" and missing):
            return None
        more = self._more(known, window, places)
        places += more
        # Of several that fit as well, the one that is the sum of the others.
        is_total = int("total" in known.column.name.casefold())
        score = (int(not missing), len(said), strength, -len(missing), len(more), is_total, -known.order)
        return score, known, tuple(sorted(places))

    @staticmethod
    def _place_of(part: str, window: tuple[str, ...], places: list[int]) -> tuple[int, int] | None:
        reach = max(places, default=0)
        for at, stem in enumerate(window):
            if at > reach + 1 and any(word not in _BETWEEN for word in window[reach + 1 : at]):
                return None
            if at not in places and (strength := match_strength(stem, part)):
                return at, strength
        return None

    @staticmethod
    def _more(known: KnownColumn, window: tuple[str, ...], places: list[int]) -> list[int]:
        """Words right behind that are parts of the name too, though they need not be said: its unit."""
        more: list[int] = []
        at = max(places) + 1
        loose = [part for part in known.parts if part not in known.essential]
        while at < len(window) and any(match_strength(window[at], part) for part in loose):
            more.append(at)
            at += 1
        return more

    def _tie_note(self, said: str, known: KnownColumn, ties: list[KnownColumn]) -> str:
        repeats = {frozenset((each.first, each.second)) for each in known.table.repeats}
        others = [
            other
            for other in ties
            if other.table is known.table and frozenset((known.column.name, other.column.name)) not in repeats
        ]
        if not others:
            return ""
        listed = " or ".join(other.column.name[:60] for other in others[:3])
        return f"“{said}” was read as {known.column.name[:60]}; it could also mean {listed}."

    # ── what is meant by other words ──

    def meant_at(self, place: int) -> ColumnMention | None:
        word = self.words[place]
        if word.folded in REVENUE and (money := self._money()):
            return self._meant(place, money, "sum")
        priced = self._measure_called("price") if word.folded in PRICE else None
        if (word.folded in PRICE or self._is_basket(place)) and (money := priced or self._money()):
            return self._meant(place, money, "mean", is_lowest=ADJECTIVES.get(word.folded, ("", False))[1])
        if word.folded in {"cost", "costs"} and self._is_how_much() and (money := self._money()):
            return self._meant(place, money, "mean")
        if place and self.words[place - 1].folded == "many" and (known := self._measured_in(word)):
            return self._meant(place, known, "sum")
        if word.folded in ADJECTIVES:
            names, is_lowest = ADJECTIVES[word.folded]
            for name in names.split():
                if known := self._measure_called(name, "min" if is_lowest else "max"):
                    # The later the birth, the younger.
                    return self._meant(place, known, None, is_lowest=is_lowest != (name == "birth_year"))
        return None

    def _is_how_much(self) -> bool:
        said = [word.folded for word in self.words[:6]]
        return "how" in said and "much" in said

    def _measured_in(self, word: GoalWord) -> KnownColumn | None:
        """The measure in a unit that is counted: `how many kg`."""
        unit = UNIT_ALIASES.get(word.stem, word.folded)
        measures = (known for known in self.names.columns if known.role == "measure")
        return next((known for known in measures if known.column.unit and fold(known.column.unit) == unit), None)

    def _is_basket(self, place: int) -> bool:
        """`order value`, `basket size`: what one order is worth."""
        word, before = self.words[place], self.words[place - 1] if place else None
        is_of_one = before is not None and (before.stem in _BASKETS or bool(self.names.tables_called(before.stem)))
        return word.folded in {"aov", "basket"} or (word.folded in {"value", "values", "worth", "size"} and is_of_one)

    def _meant(
        self, place: int, known: KnownColumn, how: Aggregate | None, *, is_lowest: bool = False
    ) -> ColumnMention:
        said = self.words[place].text
        computed = f"the {how} of " if how else ""
        note = f"“{said[:1].upper()}{said[1:]}” was read as {computed}{known.column.name[:60]}."
        default = "mean" if how == "mean" else None
        is_noun = fold(said) not in REVENUE_VERBS and fold(said) not in ADJECTIVES
        return ColumnMention(
            at=(place,),
            known=known,
            said=said,
            note=note,
            is_lowest=is_lowest,
            is_meant=True,
            is_noun=is_noun,
            how=default,
        )

    def _money(self) -> KnownColumn | None:
        return next((found for table in self.names.tables if (found := self.names.money_of(table.name))), None)

    def _measure_called(self, name: str, end: str = "") -> KnownColumn | None:
        """The first measure of that name; of several, one of this end: `temp_min` for the coldest."""
        wanted = name.split("_")
        measures = [
            known
            for known in self.names.columns
            if known.role == "measure"
            and all(any(match_strength(word, part) for part in known.parts) for word in wanted)
        ]
        return next((known for known in measures if end in known.parts), measures[0] if measures else None)

    # ── values ──

    def value_at(self, place: int) -> ValueMention | None:
        known = [value for stem in same_value_words(self.words[place].stem) for value in self.values.get(stem, ())]
        known.sort(key=lambda value: value.owner.order)
        fitting = [(value, at) for value in known if (at := self._value_places(value, place))]
        if not fitting:
            return None
        longest = max(len(at) for _, at in fitting)
        options = tuple(value for value, at in fitting if len(at) == longest)
        at = tuple(range(place, place + longest))
        return ValueMention(at=at, options=_merged(options), said=" ".join(self.words[each].text for each in at)[:60])

    def _value_places(self, value: KnownValue, place: int) -> tuple[int, ...]:
        at = tuple(range(place, place + len(value.parts)))
        if not at or at[-1] >= len(self.words) or self.taken.intersection(at):
            return ()
        if not all(part in same_value_words(self.words[each].stem) for part, each in zip(value.parts, at, strict=True)):
            return ()
        word = self.words[place]
        if len(at) == 1:
            is_plain = word.folded not in KNOWN and word.folded not in CURRENCY_WORDS
            if not is_plain and not (word.text[:1].isupper() and place > 0):
                return ()
            if is_everyday(value.values[0]) and not self._is_named_before(value, place):
                return ()
        return at

    def _is_named_before(self, value: KnownValue, place: int) -> bool:
        """`region code S`: a short value counts behind its column's name, or in capitals as it stands in the file."""
        before = [
            word.stem for word in self.words[max(0, place - 3) : place] if word.folded not in {"is", "equals", "="}
        ]
        is_named = bool(before) and before[-1] in value.owner.parts
        word = self.words[place].text
        has_letters_and_digits = any(map(str.isdigit, word)) and any(map(str.isalpha, word))
        return is_named or (has_letters_and_digits and word in value.values)


def _merged(options: Iterable[KnownValue]) -> tuple[KnownValue, ...]:
    return tuple({(each.owner.name, each.values): each for each in options}.values())


def _is_exact(mention: ColumnMention, words: Sequence[GoalWord]) -> bool:
    said = {words[place].stem for place in mention.at}
    return set(mention.known.essential) <= said


def _settled(value: ValueMention, found: Mentions) -> ValueMention:
    """The same, with the column first that the goal names elsewhere."""
    named = [mention.known.name for mention in found.columns]
    options = sorted(value.options, key=lambda option: option.owner.name not in named)
    return ValueMention(at=value.at, options=tuple(options), said=value.said)
