"""Slips of a finger in a goal, put right where only one word can be meant. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from cellwright.analyst.goal.data_names import DataNames
from cellwright.analyst.goal.goal_text import GoalWord, near_word
from cellwright.analyst.goal.question_vocabulary import (
    ADJECTIVES,
    ARRIVALS,
    EVENTS,
    KNOWN,
    LIGHT,
    NUMBER_WORDS,
    PIECES,
    PRICE,
    REVENUE,
    ROWS,
)

_MAX_CORRECTED: Final = 6
_MAX_UNKNOWN: Final = 12
"""Words that may be slips of a finger; a goal with more is in words that nobody here knows."""
_SPOKEN: Final = frozenset({*ADJECTIVES, *EVENTS, *ARRIVALS, *ROWS, *NUMBER_WORDS})


def correct_spelling(
    words: Sequence[GoalWord], names: DataNames, taken: set[int]
) -> tuple[tuple[GoalWord, ...], list[str]]:
    """The words with slips of a finger put right, where only one word of the data or of questions can be meant."""
    known: set[str] | None = None
    fixed, notes, unknown = list(words), list[str](), 0
    for place, word in enumerate(words):
        if place in taken or len(notes) >= _MAX_CORRECTED or len(word.text) < 5 or is_known(word, names):
            continue
        unknown += 1
        if unknown > _MAX_UNKNOWN:
            break
        if known is None:
            tables = (part for parts in names.table_words.values() for part in parts)
            known = {*names.by_part, *REVENUE, *(KNOWN - LIGHT), *tables}
        if (meant := near_word(word.stem, known)) and meant != word.stem:
            fixed[place] = GoalWord(meant, word.start, word.end)
            notes.append(f"“{word.text[:40]}” was read as “{meant}”.")
    return tuple(fixed), notes


def is_known(word: GoalWord, names: DataNames) -> bool:
    """Whether a word is one of questions or of the data's names."""
    is_of_questions = word.folded in KNOWN or word.folded in REVENUE or word.folded in PIECES or word.folded in PRICE
    is_of_questions = is_of_questions or word.folded in _SPOKEN or word.is_number
    return is_of_questions or bool(names.called(word.stem) or names.tables_called(word.stem))
