"""Keys and joins: columns that name each row once, and columns by which tables can be joined.

For a join the values overlap, and the names do not speak against it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import combinations
from typing import Any, Final, Literal

import numpy as np
import numpy.typing as npt
from pandas.core.util.hashing import hash_array

from cellwright_guest.profiling.columns import StudiedColumn
from cellwright_guest.profiling.meanings import words_of
from cellwright_guest.profiling.records import Join, Relation
from cellwright_guest.profiling.typed_column import Codes, Mask, compute, spread
from cellwright_guest.profiling.wording import named, percent, quoted, sentence

_MOST_PAIRED: Final = 12
_MOST_KEYS: Final = 5
_FIRST_KEY_ROWS: Final = 2_000
_NO_KEYS: Final = ("measure", "currency", "flag", "constant")


def find_keys(columns: Sequence[StudiedColumn], ignored: Mask) -> tuple[tuple[str, ...], ...]:
    """The keys of the rows that are not ignored: single columns, else pairs; the likeliest first."""
    rows = int((~ignored).sum())
    if rows < 2:
        return ()
    able = [column for column in columns if _may_be_key(column)]
    singles = [column for column in able if _is_unique(column.typed.codes[~ignored])]
    singles.sort(key=lambda column: column.column.meaning != "id")
    if singles:
        return tuple((column.column.name,) for column in singles[:_MOST_KEYS])
    return _pairs(able, ignored, rows)


def _may_be_key(column: StudiedColumn) -> bool:
    found = column.column
    if found.kind in ("nested", "empty", "boolean", "number") or found.meaning in _NO_KEYS:
        return False
    return found.meaning != "text" or (found.texts is not None and found.texts.mean_words <= 4)


def _is_unique(codes: Codes) -> bool:
    return len(codes) > 1 and int(codes.min()) >= 0 and int(np.bincount(codes).max()) == 1


def _pairs(able: Sequence[StudiedColumn], ignored: Mask, rows: int) -> tuple[tuple[str, ...], ...]:
    kept = [(column, column.typed.codes[~ignored]) for column in able]
    full = [(column, codes) for column, codes in kept if len(codes) and int(codes.min()) >= 0]
    full.sort(key=lambda pair: -pair[0].column.distinct)
    found: list[tuple[str, ...]] = []
    for (first, one), (second, other) in combinations(full[:_MOST_PAIRED], 2):
        if first.column.distinct * second.column.distinct < rows:
            continue
        together = one * (int(other.max()) + 1) + other
        if all(len(np.unique(part)) == len(part) for part in (together[:_FIRST_KEY_ROWS], together)):
            found.append((first.column.name, second.column.name))
        if len(found) >= _MOST_KEYS:
            break
    return tuple(found)


Hashes = npt.NDArray[np.uint64]
Need = Literal["spaces", "case", "zeros"]
Level = tuple[Need, ...]
_LEVELS: Final[tuple[Level, ...]] = (
    (), ("spaces",), ("spaces", "case"), ("zeros",), ("spaces", "case", "zeros"),
)  # fmt: skip
_GENERIC: Final = frozenset(
    {"id", "ids", "key", "code", "nr", "no", "number", "name", "uuid", "pk", "fk", "ref", "num"}
)
_ORDINALS: Final = frozenset(
    {"rank", "ranking", "rang", "row", "zeile", "index", "idx", "position", "place", "line", "unnamed", "level"}
)
"""Columns that only count through their own table: all of them hold 1, 2, 3."""
_RELATIONS: Final[dict[tuple[bool, bool], Relation]] = {
    (True, True): "one-to-one", (False, True): "many-to-one",
    (True, False): "one-to-many", (False, False): "many-to-many",
}  # fmt: skip
_MOST_SIDES: Final = 16
_FIRST_LOOK: Final = 300
_MOST_DISTINCT: Final = 300_000
_MOST_JOINS: Final = 20
_MOST_PER_PAIR: Final = 3


@dataclass(slots=True, kw_only=True)
class JoinSide:
    """A column that may take part in a join."""

    table: str
    studied: StudiedColumn
    there: npt.NDArray[np.intp]
    """Codes that occur."""
    hashes: dict[Level, tuple[Hashes, Hashes]] = field(default_factory=dict[Level, tuple[Hashes, Hashes]])

    @property
    def name(self) -> str:
        """The column's name."""
        return self.studied.column.name

    def at(self, level: Level) -> tuple[Hashes, Hashes]:
        """One number for each different value, levelled so far: as they come, and in their own order."""
        if level not in self.hashes:
            texts = level_texts(self.studied.typed.texts.take(self.there), level)
            hashes = hash_array(np.array(texts.to_pylist(), dtype=object), categorize=False)
            self.hashes[level] = hashes, np.sort(hashes)
        return self.hashes[level]

    def holds(self, wanted: Hashes, level: Level) -> Mask:
        """Which of the wanted are among its values."""
        known = self.at(level)[1]
        return known[np.minimum(np.searchsorted(known, wanted), len(known) - 1)] == wanted

    def is_unique(self) -> bool:
        """Whether each value occurs once."""
        return self.studied.column.is_unique

    def is_counting(self) -> bool:
        """Small whole numbers without many holes: any two such columns overlap."""
        numbers = self.studied.column.numbers
        if self.studied.column.kind != "integer" or numbers is None:
            return False
        return numbers.greatest - numbers.least + 1 <= 3 * len(self.there) or numbers.greatest < 1000


def level_texts(texts: Any, level: Level) -> Any:
    """Texts (a pyarrow array) without what is to be levelled."""
    if "spaces" in level:
        texts = compute.utf8_trim_whitespace(texts)
    if "case" in level:
        texts = compute.utf8_lower(texts)
    return compute.replace_substring_regex(texts, "^0+([0-9]+)$", r"\1") if "zeros" in level else texts


@dataclass(frozen=True, slots=True, kw_only=True)
class JoinCandidate:
    """Two sides with how well they fit."""

    left: JoinSide
    right: JoinSide
    level: Level
    coverages: tuple[float, float]
    likeness: float
    """Of the names: 0 to 1."""

    def score(self) -> float:
        """The better the higher."""
        overlap = self.coverages[0] * len(self.left.there)
        is_one = self.left.is_unique() or self.right.is_unique()
        return self.likeness + max(self.coverages) + (0.7 if is_one else 0.0) + 0.1 * math.log10(1 + overlap)


def find_joins(tables: Sequence[tuple[str, Sequence[StudiedColumn]]], *, is_sampled: bool) -> tuple[Join, ...]:
    """The joins between all tables, the best first."""
    sides = [(name, _sides(name, columns)) for name, columns in tables]
    found: list[JoinCandidate] = []
    names = {name: tuple(column.column.name for column in columns) for name, columns in tables}
    for (one, lefts), (other, rights) in combinations(sides, 2):
        # Tables of one shape are stacked, not joined.
        if len(names[one]) > 1 and names[one] == names[other]:
            continue
        between = [candidate for left in lefts for right in rights if (candidate := _fit(left, right)) is not None]
        between.sort(key=lambda candidate: -candidate.score())
        found += _each_once(between)[:_MOST_PER_PAIR]
    found.sort(key=lambda candidate: -candidate.score())
    return tuple(_told(candidate, is_sampled=is_sampled) for candidate in found[:_MOST_JOINS])


def _each_once(candidates: Sequence[JoinCandidate]) -> list[JoinCandidate]:
    """Each column in its best join only: a second one is the same by other names."""
    used: set[tuple[str, str]] = set()
    kept: list[JoinCandidate] = []
    for candidate in candidates:
        ends = {(side.table, side.name) for side in (candidate.left, candidate.right)}
        if not ends & used:
            used |= ends
            kept.append(candidate)
    return kept


def _sides(table: str, columns: Sequence[StudiedColumn]) -> list[JoinSide]:
    able = [column for column in columns if _may_join(column)]
    able.sort(key=lambda column: (column.column.meaning != "id", not column.column.is_unique))
    return [
        JoinSide(table=table, studied=column, there=np.flatnonzero(column.typed.counts()))
        for column in able[:_MOST_SIDES]
    ]


def _may_join(studied: StudiedColumn) -> bool:
    column = studied.column
    if not 2 <= column.distinct <= _MOST_DISTINCT or column.kind not in ("text", "integer", "date"):
        return False
    if column.meaning in ("currency", "flag", "constant", "unknown"):
        return False
    words = _words(column.name) - {"0"}
    if words and words <= _ORDINALS:
        return False
    return column.meaning != "text" or (column.texts is not None and column.texts.mean_words <= 5)


def likeness_of(left: JoinSide, right: JoinSide) -> float:
    """How much the names speak for a join: 1 the same, 0 nothing in common."""
    one, other = _words(left.name), _words(right.name)
    first, second = one - _GENERIC, other - _GENERIC
    if not first and not second:
        return 0.3 if one & other else 0.0
    if not first or not second:
        core, table = (second, left.table) if not first else (first, right.table)
        return 1.0 if core & _words(table) else 0.0
    if first == second:
        return 1.0
    if any(_abbreviates(a, b) for a in first for b in second) and len(first) == len(second) == 1:
        return 0.8
    return 0.5 if first <= second or second <= first else 0.0


def _words(name: str) -> set[str]:
    return {word[:-1] if len(word) > 3 and word.endswith("s") else word for word in words_of(name)}


def _abbreviates(one: str, other: str) -> bool:
    short, long = sorted((one, other), key=len)
    return len(short) >= 3 and long.startswith(short)


def _fit(left: JoinSide, right: JoinSide) -> JoinCandidate | None:
    """How well they fit, the side that repeats on the left, so that the right one is looked up."""
    if left.is_unique() and not right.is_unique():
        left, right = right, left
    kinds = {left.studied.column.kind, right.studied.column.kind}
    likeness = likeness_of(left, right)
    if "date" in kinds and (len(kinds) > 1 or likeness < 1.0):
        return None
    if "measure" in (left.studied.column.meaning, right.studied.column.meaning) and likeness < 0.8:
        return None
    if not _may_overlap(left, right, likeness):
        return None
    full = _coverages(left, right, _LEVELS[-1])
    if not _is_worth(left, right, full, likeness):
        return None
    for level in _LEVELS:
        reached = _coverages(left, right, level)
        if min(reached[0] - full[0], reached[1] - full[1]) > -0.01:
            return JoinCandidate(left=left, right=right, level=level, coverages=reached, likeness=likeness)
    return None


def _coverages(left: JoinSide, right: JoinSide, level: Level) -> tuple[float, float]:
    return float(right.holds(left.at(level)[0], level).mean()), float(left.holds(right.at(level)[0], level).mean())


def _may_overlap(left: JoinSide, right: JoinSide, likeness: float) -> bool:
    """A cheap look at a few values, and none where the names speak against it already."""
    if likeness < 0.8 and (left.is_counting() or right.is_counting() or not (left.is_unique() or right.is_unique())):
        return False
    one, other = left.at(_LEVELS[-1])[0], right.at(_LEVELS[-1])[0]
    some, more = one[spread(len(one), _FIRST_LOOK)], other[spread(len(other), _FIRST_LOOK)]
    return max(right.holds(some, _LEVELS[-1]).mean(), left.holds(more, _LEVELS[-1]).mean()) >= 0.05


def _is_worth(left: JoinSide, right: JoinSide, coverages: tuple[float, float], likeness: float) -> bool:
    """Whether the overlap is more than chance; the less the names agree, the more is asked of it."""
    overlap = round(coverages[0] * len(left.there))
    is_one = left.is_unique() or right.is_unique()
    many = coverages[0] if right.is_unique() else coverages[1] if left.is_unique() else min(coverages)
    if overlap < 2:
        return False
    if likeness >= 0.8:
        return max(coverages) >= 0.2
    if likeness >= 0.3:
        return is_one and many >= 0.5
    return is_one and many >= 0.8 and overlap >= 5


def _told(candidate: JoinCandidate, *, is_sampled: bool) -> Join:
    left, right = candidate.left, candidate.right
    one = f"{named(left.table)}.{named(left.name)}"
    other = f"{named(right.table)}.{named(right.name)}"
    there, back = (percent(100 * part, 100) for part in candidate.coverages)
    ways = f"{back} of its {len(right.there):,} the other way round"
    says = f"{there} of the {len(left.there):,} values of {one} are in {other}, {ways}"
    # A value of the left side that the right one does not have.
    lost = np.flatnonzero(~right.holds(left.at(candidate.level)[0], candidate.level))
    says += f"; not found: {quoted(left.studied.typed.text(left.there[lost[0]]))}" if len(lost) else ""
    needs = {"spaces": "spaces around", "case": "upper and lower case", "zeros": "leading zeros"}
    if candidate.level:
        says += f"; compared without regard for {', '.join(needs[need] for need in candidate.level)}"
    says += "; both are samples" if is_sampled else ""
    return Join(
        left=left.table,
        left_column=left.name,
        right=right.table,
        right_column=right.name,
        left_coverage=round(candidate.coverages[0], 6),
        right_coverage=round(candidate.coverages[1], 6),
        relation=_RELATIONS[left.is_unique(), right.is_unique()],
        says=sentence(says + "."),
        needs=candidate.level,
    )
