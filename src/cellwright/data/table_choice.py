"""Which tables a question is about: by their names and columns, by values it quotes, and by what they are joined with.

Pure but for an index in memory. The same catalogue and question always give the same tables.
"""

from __future__ import annotations

import re
import sqlite3
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from contextlib import closing
from dataclasses import dataclass
from types import TracebackType
from typing import Final, Self

from cellwright.data.catalogue import Catalogue, CatalogueTable

_MOST_TABLES: Final = 40
_BY_WORDS: Final = 20
"""So many are taken by their own words before those they are joined with."""
_VALUE_SHARE: Final = 0.6
"""What a quoted value counts, of what the best fit by words does."""
_NAME_SHARE: Final = 0.5
"""What it counts, likewise, that every word of a table's name is in the question."""
_EMPTY_SHARE: Final = 0.3
"""What is left of a fit if the server says that the table has no row."""
_MAX_WORDS: Final = 40
_MAX_QUESTION: Final = 4_000
_WORD: Final = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+|[^\W\d_A-Za-z]+")
_QUOTED: Final = re.compile(r"[\"'`“„‘»«]([^\"'`“”„’»«]{1,60})[\"'`”“’»«]")
_CAPITALISED: Final = re.compile(r"\b[^\W\d_a-z]\w*(?: [^\W\d_a-z]\w*){0,2}")
_COMMON: Final = frozenset(
    {
        "a", "about", "all", "an", "and", "any", "are", "as", "at", "be", "been", "between", "by", "can", "did",
        "do", "does", "for", "from", "get", "give", "had", "has", "have", "how", "i", "in", "is", "it", "last",
        "list", "many", "me", "most", "much", "my", "name", "number", "of", "on", "or", "our", "per", "please",
        "select", "show", "since", "sum", "than", "that", "the", "their", "them", "there", "these", "they",
        "this", "those", "to", "total", "was", "we", "were", "what", "when", "where", "which", "who", "why",
        "with", "without", "you",
    }
)  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class TableChoice:
    """Tables for one question, the likeliest first."""

    tables: tuple[CatalogueTable, ...]
    values: tuple[tuple[str, str], ...] = ()
    """Values that the question names, each with the column (`schema.table.column`) that has it."""
    others: int = 0
    """How many tables were left out."""
    fitting: int = 0
    """So many of them, the first, fit the question or are joined with one that does; the others are there for room."""


class TableIndex:
    """A catalogue, ready for questions; close it in the end. For one thread at a time."""

    def __init__(self, catalogue: Catalogue) -> None:
        self._tables = catalogue.tables
        self._values = _values(catalogue.tables)
        self._joined = _joined(catalogue.tables)
        self._names = [frozenset(map(_singular, _split(table.name).split())) for table in catalogue.tables]
        self._database = sqlite3.connect(":memory:", check_same_thread=False)
        self._database.execute(
            "create virtual table words using fts5(name, columns, comment, content='', tokenize='porter unicode61')"
        )
        self._database.executemany("insert into words(rowid, name, columns, comment) values (?, ?, ?, ?)", self._rows())

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, problem: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Forget it."""
        self._database.close()

    def choose(self, question: str, *, most: int = _MOST_TABLES) -> TableChoice:
        """At most so many tables, with those that are needed to join them."""
        question = question[:_MAX_QUESTION]
        scores = self._by_words(question)
        found = self._by_values(question)
        best = max(scores.values(), default=1.0)
        asked = set(map(_singular, _split(question).split()))
        for at in [at for at in scores if self._names[at] <= asked]:
            scores[at] += best * _NAME_SHARE
        for at in {at for at, _, _ in found}:
            scores[at] = scores.get(at, 0.0) + best * _VALUE_SHARE
        for at in [at for at in scores if self._tables[at].rows == 0]:
            scores[at] *= _EMPTY_SHARE
        chosen, fitting = self._with_neighbours(scores, most)
        values = tuple(
            (f"{self._tables[at].qualified}.{column}", value) for at, column, value in found if at in set(chosen)
        )
        return TableChoice(
            tables=tuple(self._tables[at] for at in chosen),
            values=values,
            others=len(self._tables) - len(chosen),
            fitting=fitting,
        )

    def _rows(self) -> Iterable[tuple[int, str, str, str]]:
        for at, table in enumerate(self._tables):
            columns = " ".join(_split(column.name) for column in table.columns)
            comments = " ".join(_split(text) for text in (table.comment, *(column.comment for column in table.columns)))
            yield at, _split(f"{table.schema} {table.name}"), columns, comments

    def _by_words(self, question: str) -> dict[int, float]:
        words = list(dict.fromkeys(word for word in _split(question).split() if word not in _COMMON))[:_MAX_WORDS]
        if not words:
            return {}
        wanted = " OR ".join(f'"{word}"' for word in words)
        # bm25 is the better the smaller it is; a word in a table's own name counts most.
        rows = self._database.execute(
            "select rowid, -bm25(words, 5.0, 1.0, 1.0) from words where words match ? order by 2 desc, 1 limit 200",
            (wanted,),
        )
        return dict(rows.fetchall())

    def _by_values(self, question: str) -> list[tuple[int, str, str]]:
        words = [match.group(1) for match in _QUOTED.finditer(question)]
        for match in _CAPITALISED.finditer(question):
            words += self._longest_known(match.group().split(" "))
        return [place for word in dict.fromkeys(words) for place in self._values.get(word.casefold(), ())]

    def _longest_known(self, parts: list[str]) -> list[str]:
        """Of words in a row the longest that is a value: Black Friday is not Black."""
        for length in range(len(parts), 0, -1):
            for at in range(len(parts) - length + 1):
                if (word := " ".join(parts[at : at + length])).casefold() in self._values:
                    return [*self._longest_known(parts[:at]), word, *self._longest_known(parts[at + length :])]
        return []

    def _with_neighbours(self, scores: Mapping[int, float], most: int) -> tuple[list[int], int]:
        """The best by themselves, then what joins them, then the rest; and how many there are before that."""
        ranked = sorted(scores, key=lambda at: (-scores[at], at))
        chosen = ranked[: min(_BY_WORDS, most)]
        reached: Counter[int] = Counter()
        for at in chosen:
            for other in self._joined.get(at, ()):
                reached[other] += scores[at]  # pyrefly: ignore[unsupported-operation]  - a Counter of floats
        near = sorted((at for at in reached if at not in set(chosen)), key=lambda at: (-reached[at], at))
        rest = [at for at in [*ranked, *range(len(self._tables))] if at not in {*chosen, *near}]
        everything = list(dict.fromkeys([*chosen, *near, *rest]))
        return everything[:most], min(most, len(everything) - sum(at not in scores for at in rest))


def choose_tables(catalogue: Catalogue, question: str, *, most: int = _MOST_TABLES) -> TableChoice:
    """For one question only; whoever asks more keeps a `TableIndex`."""
    with closing(TableIndex(catalogue)) as index:
        return index.choose(question, most=most)


def _split(text: str) -> str:
    return " ".join(_WORD.findall(text)).casefold()


def _singular(word: str) -> str:
    if word.endswith("ies"):
        return f"{word[:-3]}y"
    return word.removesuffix("s") if len(word) > 3 else word


def _values(tables: Iterable[CatalogueTable]) -> dict[str, list[tuple[int, str, str]]]:
    found: dict[str, list[tuple[int, str, str]]] = defaultdict(list)
    for at, table in enumerate(tables):
        for column in table.columns:
            for sample in column.samples:
                found[sample.casefold()].append((at, column.name, sample))
    return dict(found)


def _joined(tables: Iterable[CatalogueTable]) -> dict[int, set[int]]:
    places = {table.qualified: at for at, table in enumerate(tables)}
    joined: dict[int, set[int]] = defaultdict(set)
    for at, table in enumerate(tables):
        for key in table.foreign_keys:
            if (other := places.get(key.table)) is not None and other != at:
                joined[at].add(other)
                joined[other].add(at)
    return dict(joined)
