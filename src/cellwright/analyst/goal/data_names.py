"""What the data calls its tables, columns and values, ready to be found in a goal's words. Pure."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import PurePosixPath
from typing import Final, Literal

from cellwright.analyst.goal.goal_text import fold, name_parts, root, singular
from cellwright.analyst.goal.question_vocabulary import (
    ADDED_UP,
    COST,
    MONEY_NAMES,
    NAME_SYNONYMS,
    PIECE_NAMES,
    PRICE,
    PROFIT,
    REVENUE,
    VALUE_SYNONYMS,
)
from cellwright.analyst.goal.request import NamedColumn
from cellwright.analyst.goal.vocabulary import EVERYDAY, GENERAL, words_in
from cellwright.profiles.profile import ColumnProfile, Profile, TableProfile

ColumnRole = Literal["measure", "group", "flag", "id", "time"]

_UNITS: Final = words_in(
    "mm cm m km g kg mg t lb c f k v mv ppm percent pct eur usd gbp euro s ms min h kwh mwh kw w hz pa hpa bar l ml",
    "db ph",
)
"""Parts of names that say a unit: a goal need not say them."""
TIME_PARTS: Final = words_in("year month day date time week quarter hour jahr monat tag woche datum zeit stunde")
_SMALL: Final = words_in("by of at on in to is has are the for from with was were")
_MAX_TEXT_VALUES: Final = 60
_MAX_VALUE_LENGTH: Final = 60
_NO_VALUES: Final = frozenset({"total-rows", "sentinel", "placeholder-nulls"})
_FIRST_WORD: Final = re.compile(r"[^\W_]+")


def _equivalents(groups: Iterable[frozenset[str]]) -> dict[str, frozenset[str]]:
    found: defaultdict[str, set[str]] = defaultdict(set)
    for group in groups:
        stems = {singular(word) for word in group}
        for stem in stems:
            found[stem] |= stems
    return {stem: frozenset(others) for stem, others in found.items()}


_SAME_NAMES: Final = _equivalents(NAME_SYNONYMS)
_SAME_VALUES: Final = _equivalents(VALUE_SYNONYMS)


def match_strength(word: str, part: str) -> int:
    """How well a goal's stem says a part of a name: 3 the same, 2 the same root, 1 another word for it, 0 not."""
    if word == part:
        return 3
    if len(word) > 3 and len(part) > 3 and root(word) == root(part):
        return 2
    return int(part in _SAME_NAMES.get(word, ()))


@dataclass(frozen=True, slots=True, eq=False)
class KnownColumn:
    """A column and what it may be called."""

    table: TableProfile
    column: ColumnProfile
    role: ColumnRole
    parts: tuple[str, ...]
    essential: tuple[str, ...]
    """Parts that a goal must say to have named it whole: no units, no words that every table has."""
    order: int
    """Its place among all columns."""

    @property
    def name(self) -> NamedColumn:
        """As a question has it."""
        return NamedColumn(table=self.table.name, column=self.column.name)

    @property
    def has_money(self) -> bool:
        """Whether it holds money: by its values, or by its name where that is all there is."""
        is_called_so = self.column.meaning == "measure" and bool(MONEY_NAMES.intersection(self.parts))
        return self.role == "measure" and (self.column.meaning == "currency" or is_called_so)

    @property
    def spoken(self) -> str:
        """Its name as one could type it."""
        words = " ".join(re.findall(r"[^\W_]+", self.column.name))
        kept = [word for word in words.split() if singular(fold(word)) not in _UNITS or len(self.parts) == 1]
        return " ".join(kept or words.split())[:60]


@dataclass(frozen=True, slots=True)
class KnownValue:
    """A value of a column, with every way it is spelt there."""

    owner: KnownColumn
    values: tuple[str, ...]
    parts: tuple[str, ...]


class DataNames:
    """The tables, columns and values of a profile, found by their words."""

    def __init__(self, profile: Profile) -> None:
        self.profile = profile
        self.tables = tuple(sorted(profile.tables, key=lambda table: -table.rows))
        """The one with most rows first."""
        self.columns = tuple(self._all_columns())
        self.by_part: defaultdict[str, list[KnownColumn]] = defaultdict(list)
        for known in self.columns:
            for part in dict.fromkeys([*known.essential, *map(root, known.essential)]):
                self.by_part[part].append(known)
        self._owners = {(known.table.name, known.column.name): known for known in self.columns}

    @cached_property
    def main(self) -> TableProfile | None:
        """The table whose rows are what happened: the one with most."""
        return self.tables[0] if self.tables else None

    def _all_columns(self) -> Iterator[KnownColumn]:
        order = 0
        for table in self.tables:
            for column in table.columns:
                role = _role(column)
                parts = name_parts(column.name)[:12]
                if role and parts:
                    yield KnownColumn(table, column, role, parts, _essential(parts), order)
                order += 1

    def find(self, name: NamedColumn) -> KnownColumn | None:
        """The column of this name."""
        return self._owners.get((name.table, name.column))

    def called(self, stem: str) -> list[KnownColumn]:
        """Columns with a part that a word says, in their order."""
        words = dict.fromkeys([stem, root(stem), *sorted(_SAME_NAMES.get(stem, ()))])
        return list(dict.fromkeys(known for word in words for known in self.by_part.get(word, ())))

    def with_initials(self, word: str) -> list[KnownColumn]:
        """Columns whose names have these initials: `mpg` of `Miles_per_Gallon`."""
        return [known for known in self.columns if "".join(part[0] for part in known.parts) == word]

    def of_table(self, table: str) -> Iterator[KnownColumn]:
        """The columns of one table."""
        return (known for known in self.columns if known.table.name == table)

    # ── tables ──

    @cached_property
    def table_words(self) -> dict[str, tuple[str, ...]]:
        """Each table → the stems it is called by; what its file gives to all of its tables is left out."""
        files: defaultdict[str, list[str]] = defaultdict(list)
        for table in self.tables:
            files[table.reading.path].append(table.name)
        found: dict[str, tuple[str, ...]] = {}
        for table in self.tables:
            parts = name_parts(table.name)
            stem = name_parts(PurePosixPath(table.reading.path).name.partition(".")[0])
            if len(files[table.reading.path]) > 1 and parts[: len(stem)] == stem and len(parts) > len(stem):
                parts = parts[len(stem) :]
            found[table.name] = tuple(part for part in parts if not part.isdecimal() and part not in {"data", "table"})
        return found

    def tables_called(self, stem: str) -> list[TableProfile]:
        """Tables whose rows a word names, the best first."""
        scored = [
            (match_strength(stem, parts[-1]), -len(parts), table)
            for table in self.tables
            if (parts := self.table_words[table.name]) and match_strength(stem, parts[-1])
        ]
        return [table for _, _, table in sorted(scored, key=lambda entry: entry[:2], reverse=True)]

    def joined_to(self, table: str) -> dict[str, tuple[str, str]]:
        """Tables that add columns to the rows of a table → the column here, and the one there."""
        found: dict[str, tuple[str, str]] = {}
        for join in self.profile.joins:
            if join.left == table and join.relation in {"many-to-one", "one-to-one"}:
                found.setdefault(join.right, (join.left_column, join.right_column))
            elif join.right == table and join.relation in {"one-to-many", "one-to-one"}:
                found.setdefault(join.left, (join.right_column, join.left_column))
        return found

    def is_added_to(self, table: str, other: str) -> bool:
        """Whether the columns of another table belong to each row of a table: of customers, to orders."""
        return table == other or other in self.joined_to(table)

    def is_reachable(self, table: str, other: str) -> bool:
        """Whether rows of two tables can be put side by side without repeating those of the finer one."""
        return self.is_added_to(table, other) or table in self.joined_to(other)

    def facts_about(self, table: str) -> tuple[TableProfile, NamedColumn] | None:
        """The table with most rows that names rows of this one, and the column that does: orders, `customer_id`."""
        for other in self.tables:
            key = self.joined_to(other.name).get(table)
            if key and other.name != table and other.rows > 1.5 * (self._rows(table) or 1):
                return other, NamedColumn(table=other.name, column=key[0])
        return None

    def _rows(self, table: str) -> int:
        return next((each.rows for each in self.tables if each.name == table), 0)

    def label_of(self, table: str) -> KnownColumn | None:
        """The column that says in words which row it is: `name`."""
        words = [known for known in self.of_table(table) if known.role == "group" and known.column.kind == "text"]
        named = (known for known in words if {"name", "title", "label", "bezeichnung"}.intersection(known.parts))
        return next(named, None)

    # ── measures ──

    def money_of(self, table: str) -> KnownColumn | None:
        """The column that says what was paid in a table, if one does."""
        columns = [known for known in self.of_table(table) if known.has_money]
        plain = [known for known in columns if not (COST | PROFIT).intersection(known.parts)]
        ranked = sorted(
            plain, key=lambda known: (not REVENUE.intersection(known.parts), bool(PRICE.intersection(known.parts)))
        )
        return ranked[0] if ranked else None

    def measure_of_grid(self, table: str) -> KnownColumn | None:
        """The only measure of a table with one row for each pair of a group and a time: such rows are not counted."""
        columns = list(self.of_table(table))
        measures = [known for known in columns if known.role == "measure"]
        groups = [known.column.distinct for known in columns if known.role == "group"]
        times = [known.column.distinct for known in columns if known.role == "time"]
        is_grid = any(
            group > 1 and time > 1 and group * time == self._rows(table) for group in groups for time in times
        )
        return measures[0] if is_grid and len(measures) == 1 else None

    def pieces_of(self, table: str) -> KnownColumn | None:
        """The column that says how many pieces there were, if one does."""
        columns = (known for known in self.of_table(table) if known.role == "measure")
        return next((known for known in columns if PIECE_NAMES.intersection(known.parts)), None)

    def is_added_up(self, known: KnownColumn) -> bool:
        """Whether a sum of it is what a goal asks for that does not say."""
        return bool(ADDED_UP.intersection(known.parts))

    # ── values ──

    def values_said(self, stems: frozenset[str]) -> list[KnownValue]:
        """Values whose first word is among these, each with all its spellings; the main table's first."""
        said = stems | {other for stem in stems for other in _SAME_VALUES.get(stem, ())}
        found: dict[KnownColumn, list[str]] = {}
        for stem in said:
            for known, value in self._values_by_stem.get(stem, ()):
                if said.issuperset(name_parts(value)):
                    found.setdefault(known, []).append(value)
        ordered = sorted(found.items(), key=lambda each: each[0].order)
        return [made for known, values in ordered for made in _spelt(known, values)]

    @cached_property
    def _values_by_stem(self) -> dict[str, list[tuple[KnownColumn, str]]]:
        """The stem of each value's first word → the values and their columns."""
        found: defaultdict[str, list[tuple[KnownColumn, str]]] = defaultdict(list)
        for known in self.columns:
            if known.role in {"group", "flag"}:
                for value in _values(known):
                    found[_first_stem(value)].append((known, value))
        return found


def _spelt(known: KnownColumn, matching: list[str]) -> Iterator[KnownValue]:
    """Some values of a column, each with all its spellings there."""
    values = _values(known)
    grouped: dict[tuple[str, ...], list[str]] = {}
    spelt = [oddity.values for oddity in known.table.oddities if oddity.kind == "near-duplicate-labels"
             and oddity.column == known.column.name]  # fmt: skip
    leader = {value: group[0] for group in spelt for value in group}
    for value in values:
        grouped.setdefault(name_parts(leader.get(value, value)), []).append(value)
    for value in dict.fromkeys(matching):
        parts = name_parts(value)
        spellings = grouped.get(name_parts(leader.get(value, value)), [value])
        yield KnownValue(known, tuple(dict.fromkeys(spellings)), parts)


def same_value_words(stem: str) -> frozenset[str]:
    """A stem and the other words for what it says."""
    return _SAME_VALUES.get(stem, frozenset()) | {stem}


def _role(column: ColumnProfile) -> ColumnRole | None:
    match column.meaning:
        case "measure" | "currency":
            return "measure"
        case "category" | "code" | "text" | "constant":
            return "group"
        case "flag":
            return "flag"
        case "id":
            return "id"
        case "date":
            return "time"
        case _:
            return "measure" if column.kind in {"integer", "number"} else "group" if column.kind == "text" else None


def _essential(parts: tuple[str, ...]) -> tuple[str, ...]:
    telling = tuple(part for part in parts if part not in _UNITS | _SMALL and not part.isdecimal())
    rare = tuple(part for part in telling if part not in GENERAL or part in TIME_PARTS)
    return tuple(dict.fromkeys(rare or telling or parts))


def _values(known: KnownColumn) -> list[str]:
    """What it holds, as far as the profile says, without what only looks like a value."""
    column = known.column
    if column.meaning == "text" and column.distinct > _MAX_TEXT_VALUES:
        return []
    odd = (each for each in known.table.oddities if each.column == column.name)
    labels = {value for each in odd if each.kind in _NO_VALUES for value in each.values}
    values = dict.fromkeys([*(entry.value for entry in column.common), *column.examples])
    return [
        value for value in values if value != column.name and value not in labels and len(value) <= _MAX_VALUE_LENGTH
    ]


def _first_stem(value: str) -> str:
    match = _FIRST_WORD.search(value)
    return singular(fold(match.group(0))) if match else ""


def is_everyday(value: str) -> bool:
    """Whether a value is a word that a goal has without meaning the value."""
    folded = fold(value.strip())
    return folded in EVERYDAY or len(folded) < 3 or folded.replace(".", "").isdigit()
