"""What was found for a query, as a reader sees it: sentences around the words, copies of a passage once. Pure."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

_BEFORE: Final = 0.3
"""Of an excerpt, so much stands before the words that were looked for."""
_ENDS: Final = re.compile(r"[.!?:;][\"”')\]]*\s+|\n\s*\n|\n(?=\s*(?:[-*#]|\(?\w{1,3}[.)]\s))")
_SHORTEST_STEM: Final = 4
_MOST_MATCHES: Final = 400


@dataclass(frozen=True, slots=True, kw_only=True)
class Excerpt:
    """Whole sentences of a page, as far as they fit."""

    where: str
    """The document and page, for a reader."""
    start: int
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundPassage:
    """An excerpt, and where else it stands in the same words."""

    excerpt: Excerpt
    also: tuple[str, ...] = ()


def excerpt_of(text: str, query: str, within: tuple[int, int], characters: int) -> tuple[int, int]:
    """Where the sentences begin and end that have most of the words looked for, of those within this piece."""
    first, last = within
    stems = dict.fromkeys(_stem(word) for word in re.findall(r"\w+", query.casefold()))
    level = text[first:last].casefold()
    matches = sorted(
        (match.start() + first, stem)
        for stem in stems
        for match in list(re.finditer(rf"\b{re.escape(stem)}", level))[:_MOST_MATCHES]
    )
    best = max(
        (
            (len({stem for at, stem in matches if start <= at < start + characters // 2}), -start)
            for start, _ in matches
        ),
        default=(0, -first),
    )
    middle = -best[1]
    start = _after_an_end(text, max(0, middle - int(characters * _BEFORE)), middle)
    return start, _end_before(text, middle, start + characters)


def folded(excerpts: Sequence[Excerpt], most: int) -> tuple[FoundPassage, ...]:
    """Each passage once; one whose words another has, in any lines, is named with it. What differs in a word stays."""
    found = list[tuple[Excerpt, str, list[str]]]()
    for each in excerpts:
        words = " ".join(re.findall(r"\w+", each.text.casefold()))
        if not words:
            continue
        same = next((known for known in found if words == known[1] or f" {words} " in f" {known[1]} "), None)
        if same is None:
            found.append((each, words, []))
        elif each.where not in (same[0].where, *same[2]):
            same[2].append(each.where)
    return tuple(FoundPassage(excerpt=excerpt, also=tuple(also)) for excerpt, _, also in found[:most])


def _stem(word: str) -> str:
    bare = re.sub(r"(?:ing|ed|es|s|y|ies)$", "", word)
    return bare if len(bare) >= _SHORTEST_STEM else word


def _after_an_end(text: str, least: int, middle: int) -> int:
    """Where the first sentence begins that does so in this stretch."""
    if least == 0:
        return 0
    ends = [match.end() for match in _ENDS.finditer(text, least, middle)]
    return ends[0] if ends else text.find(" ", least, middle) + 1 or least


def _end_before(text: str, middle: int, most: int) -> int:
    """Where the last sentence ends that does so in this stretch."""
    if most >= len(text):
        return len(text)
    # An end right behind the words would leave out what is said of them.
    ends = [match.end() for match in _ENDS.finditer(text, middle + (most - middle) // 3, most)]
    word = text.rfind(" ", middle + 1, most)
    return ends[-1] if ends else word if word > 0 else most
