"""The part and the whole of a share: `what share of web orders came from the South`. Pure."""

from __future__ import annotations

from typing import Final

from cellwright.analyst.goal.filters import PlacedFilter
from cellwright.analyst.goal.question import NumberFilter, QuestionKind, ValueFilter
from cellwright.analyst.goal.sentence import Sentence
from cellwright.analyst.goal.vocabulary import words_in

_PIVOTS: Final = words_in(
    "is are was were come comes came have has had get gets got belong belongs go goes went account accounts make",
    "makes made that who which took take takes buy bought pay paid stem stems falls arrive ist sind kommt kommen",
    "hat haben live lives agree agrees contain cost costs weigh weighs use used ordered order",
)
_AnyFilter = ValueFilter | NumberFilter


def split_share(
    kind: QuestionKind, sentence: Sentence, placed: list[PlacedFilter], *, is_of_each: bool
) -> tuple[tuple[_AnyFilter, ...], tuple[_AnyFilter, ...]]:
    """The filters that make the part, and those that make the whole; all are the part if nothing parts them.

    `is_of_each`: the parts are the groups of a column, so every filter makes the whole.
    """
    every = tuple(each.filter for each in placed)
    if kind == "share" and is_of_each:
        return (), every
    if kind != "share" or len(placed) < 2:
        return every, ()
    pivot = _pivot(sentence, placed)
    part = tuple(each.filter for each in placed if each.place > pivot)
    whole = tuple(each.filter for each in placed if each.place < pivot)
    return (part, whole) if part else (whole, ())


def _pivot(sentence: Sentence, placed: list[PlacedFilter]) -> int:
    """Where the whole ends: the first verb behind `share of`."""
    start = next((at for at, word in enumerate(sentence.words) if word.folded in {"of", "der", "an", "von"}), 0)
    for place in range(start + 1, len(sentence.words)):
        if sentence.words[place].folded in _PIVOTS and place > start + 1:
            return place
    return -1
