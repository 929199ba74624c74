"""A card: one verbatim quote of a source with its place, and what it says. All that writers and planners see of it."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Final

from pydantic import TypeAdapter

CARD: Final = "card"
"""The key of a tool's result under which a new card stands."""
_ID: Final = re.compile(r"c[0-9a-f]{7}")
CITATION: Final = re.compile(r"\[\s*(c[0-9a-f]{7}(?:\s*[,;]\s*c[0-9a-f]{7})*)\s*\]")
"""Ids of cards behind a sentence."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EvidenceCard:
    """What somebody found, where it stands and in which words."""

    id: str
    source: str
    """The SHA-256 of the document's bytes."""
    name: str
    """The document's own, as a person knows it."""
    page: int
    start: int
    """Where the quote begins in the text of its page, in characters."""
    end: int
    quote: str
    """As the document has it."""
    says: str
    """In a sentence of the reader's own."""
    about: str = ""
    """What it measures or claims something of, in a few words."""
    task: str = ""
    """The sub-goal it was noted for."""
    by: str = ""
    """The workflow of who noted it."""
    path: str = ""
    """Where the document lies, if it is a file."""
    address: str = ""
    """Where it was fetched from, if it is a page of the web."""
    title: str = ""
    """What its document calls itself, and the heading over the quote."""

    @property
    def names(self) -> str:
        """All that its document is called."""
        return f"{self.name} {self.title}"

    @property
    def place(self) -> str:
        """For people."""
        return f"{self.name}, p. {self.page}"


_CARDS: Final = TypeAdapter(tuple[EvidenceCard, ...])


def card_id(source: str, page: int, quote: str) -> str:
    """The same quote at the same place is the same card, whoever notes it."""
    told = f"{source}\n{page}\n{' '.join(quote.split())}".encode()
    return f"c{hashlib.sha256(told).hexdigest()[:7]}"


def parse_cards(values: Iterable[Any]) -> tuple[EvidenceCard, ...]:
    """Cards of plain values."""
    return _CARDS.validate_python(tuple(values))


def cards_json(cards: Sequence[EvidenceCard]) -> list[Any]:
    """As plain values."""
    return _CARDS.dump_python(tuple(cards), mode="json")


def cited_in(text: str) -> tuple[str, ...]:
    """The ids a text cites, each once, in their order."""
    found = (card for match in CITATION.finditer(text) for card in _ID.findall(match[1]))
    return tuple(dict.fromkeys(found))


def without_citations(text: str) -> str:
    """The words alone."""
    return re.sub(r"\s+([.,;:!?])", r"\1", CITATION.sub("", text)).strip()


def cards_text(cards: Sequence[EvidenceCard]) -> str:
    """As a planner or writer reads them."""
    lines = list[str]()
    for card in cards:
        about = f" (about: {card.about})" if card.about else ""
        quote = " ".join(card.quote.split())
        lines.append(f"[{card.id}] {card.says}{about}\n  {card.place}: “{quote}”")
    return "\n".join(lines)
