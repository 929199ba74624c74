"""What a goal asks, without how it wants the answer written: decimals, units, which figures to name. Pure."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from cellwright.runs.review.units import unit_of

_SENTENCE: Final = re.compile(r"(?<=[.?!])\s+(?=[A-Z])")
_DECIMALS: Final = r"(?:with|to|rounded to|at) (?:one|two|three|four|no|\d) decimals?(?: places?)?"
_PHRASES: Final = re.compile(
    rf",?\s*\b{_DECIMALS}\b|,?\s*\b(?:as an?|in) (?:percent(?:age)?|per cent)\b"
    r"|,?\s*\band (?:how (?:much|many)|by how much)\b(?: (?:is (?:it|that)|was (?:it|that)))?",
    re.IGNORECASE,
)
_CURRENCY: Final = re.compile(r",?\s+in (euros?|dollars?|pounds|EUR|USD|GBP)\b", re.IGNORECASE)
_CURRENCIES: Final = {"euro": "EUR", "dollar": "USD", "pound": "GBP"}
_UNIT: Final = re.compile(r",?\s+in ([^\W\d_]{1,14})(?=[\s,.?!]|$)")
_TELLING: Final = frozenset({
    "a", "an", "and", "answer", "as", "at", "by", "cent", "decimal", "decimals", "each", "euro", "euros", "figure",
    "figures", "first", "four", "give", "highest", "how", "in", "is", "it", "its", "just", "least", "lowest", "most",
    "name", "no", "number", "of", "one", "only", "per", "percent", "percentage", "place", "places", "please", "point",
    "points", "report", "round", "rounded", "say", "short", "state", "tell", "than", "that", "the", "their", "then",
    "three", "to", "two", "value", "what", "which", "with",
})  # fmt: skip
"""Words of a sentence that says only how the answer is to be written."""
_ASKS_FIGURE: Final = re.compile(r"\bhow (?:much|many)\b|\b(?:its|their|the) \w+ with \w+ decimals?\b", re.IGNORECASE)


@dataclass(frozen=True, slots=True, kw_only=True)
class QuestionWords:
    """The question of a goal."""

    words: str
    """Without what concerns the writing only."""
    unit: str = ""
    """The unit it asks for; empty: none."""
    unread: str = ""
    """Sentences that say more than how to write the answer; empty: nothing is left."""
    currency: str = ""
    """The currency it asks for."""
    wants_figure: bool = False
    """Of a leader its figure, too."""


def question_words(goal: str) -> QuestionWords:
    """The question of this goal; whoever cannot use all of it is told by `unread`."""
    text = " ".join(goal.split())
    first, *others = _SENTENCE.split(text)
    wants = _ASKS_FIGURE.search(text) is not None
    asked = _PHRASES.sub("", first)
    unit = currency = ""
    if found := _CURRENCY.search(asked):
        word = found[1].casefold().rstrip("s")
        currency = _CURRENCIES.get(word, word.upper())
        asked = asked[: found.start()] + asked[found.end() :]
    if (found := _UNIT.search(asked)) and unit_of(found[1]):
        unit = unit_of(found[1])
        asked = asked[: found.start()] + asked[found.end() :]
    known = _TELLING | _words(first)
    unread = [each for each in others if not _words(each) <= known]
    return QuestionWords(words=asked, unit=unit, currency=currency, unread=" ".join(unread), wants_figure=wants)


def _words(text: str) -> frozenset[str]:
    return frozenset(re.findall(r"[^\W\d_]+", text.casefold()))
