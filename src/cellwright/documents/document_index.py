"""An index over documents: which pages speak of what, by SQLite's full-text search; made anew where it is needed."""

from __future__ import annotations

import re
import sqlite3
import weakref
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Final, Self

from cellwright.documents.document import Document

_CHUNK_CHARACTERS: Final = 1_500
_MOST_WORDS: Final = 64
_WORD: Final = re.compile(r"\w+")


@dataclass(frozen=True, slots=True, kw_only=True)
class Passage:
    """Some text of a document, and where it stands."""

    document: str
    """The sha256 of the file."""
    name: str
    page: int
    start: int
    """Characters from the page's beginning."""
    end: int
    text: str


class DocumentIndex:
    """In a temporary file of SQLite's own, which is gone with the process. Blocking."""

    def __init__(self) -> None:
        self._connection = sqlite3.connect("", check_same_thread=False, isolation_level=None)
        # Whoever needs it for as long as there is something to find closes it by letting go of it.
        self._close = weakref.finalize(self, self._connection.close)
        self._connection.execute(
            "CREATE VIRTUAL TABLE passages USING fts5(text, title, document UNINDEXED, name UNINDEXED, page UNINDEXED, "
            "start UNINDEXED, tokenize = 'porter unicode61 remove_diacritics 2')"
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._close()

    def add(self, documents: Iterable[Document]) -> None:
        """Make these findable; each is to be added once."""
        for document in documents:
            rows = ((p.text, document.title, p.document, p.name, p.page, p.start) for p in passages(document))
            self._connection.execute("BEGIN")
            self._connection.executemany("INSERT INTO passages VALUES (?, ?, ?, ?, ?, ?)", rows)
            self._connection.execute("COMMIT")

    def find(self, query: str, k: int = 10, document: str = "") -> tuple[Passage, ...]:
        """The `k` passages that say most of the query's words, the best first; any text is a query.

        `document`: the hash of the only one that is looked in.
        """
        words = dict.fromkeys(_WORD.findall(query)[:_MOST_WORDS])
        if not words:
            return ()
        rows = self._connection.execute(
            "SELECT document, name, page, start, text FROM passages WHERE passages MATCH ? "
            "AND (? = '' OR document = ?) ORDER BY bm25(passages, 1.0, 2.0), document, page, start LIMIT ?",
            (" OR ".join(f'"{word}"' for word in words), document, document, k),
        )
        return tuple(
            Passage(document=document, name=name, page=page, start=start, end=start + len(text), text=text)
            for document, name, page, start, text in rows
        )


def passages(document: Document, characters: int = _CHUNK_CHARACTERS) -> Iterator[Passage]:
    """The document in pieces that end where a paragraph, a line or a word does; none is on two pages."""
    for page in document.pages:
        start = 0
        while start < len(page.text):
            end = _end_of_piece(page.text, start, characters)
            text = page.text[start:end]
            yield Passage(
                document=document.sha256, name=document.name, page=page.number, start=start, end=end, text=text
            )
            start = end


def _end_of_piece(text: str, start: int, characters: int) -> int:
    most = start + characters
    if most >= len(text):
        return len(text)
    for mark in ("\n\n", "\n", " "):
        found = text.rfind(mark, start + characters // 2, most)
        if found > 0:
            return found + len(mark)
    return most
