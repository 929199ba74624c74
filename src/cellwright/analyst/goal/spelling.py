"""Slips of a finger in a goal, and words that the data shortens, put right where only one word can be meant. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from cellwright.analyst.goal.data_names import DataNames, match_strength
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
_SHORTEST: Final = 3
"""Letters of a part of a name that may stand for a longer word, and at least so many fewer than that has."""
_SPOKEN: Final = frozenset({*ADJECTIVES, *EVENTS, *ARRIVALS, *ROWS, *NUMBER_WORDS})


def correct_spelling(
    words: Sequence[GoalWord], names: DataNames, taken: set[int]
) -> tuple[tuple[GoalWord, ...], list[str]]:
    """The words with slips of a finger put right, where only one word of the data or of questions can be meant.

    A word that a name of several parts shortens is read as that part: `life expectancy` of a column `lifeExp`.
    """
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
        around = [words[each].stem for each in (place - 1, place + 1) if 0 <= each < len(words)]
        if (meant := near_word(word.stem, known) or _shortened(word.stem, around, names)) and meant != word.stem:
            fixed[place] = GoalWord(meant, word.start, word.end)
            notes.append(f"“{word.text[:40]}” was read as “{meant}”.")
    return tuple(fixed), notes


def _shortened(stem: str, around: Sequence[str], names: DataNames) -> str:
    """The only part that a word begins with, of a name whose other parts stand beside it; empty if there is none."""
    found = {
        part
        for beside in around
        for known in names.called(beside)
        for part in known.essential
        if _SHORTEST <= len(part) <= len(stem) - _SHORTEST
        and stem.startswith(part)
        and not match_strength(beside, part)
    }
    return found.pop() if len(found) == 1 else ""


def is_known(word: GoalWord, names: DataNames) -> bool:
    """Whether a word is one of questions or of the data's names."""
    is_of_questions = word.folded in KNOWN or word.folded in REVENUE or word.folded in PIECES or word.folded in PRICE
    is_of_questions = is_of_questions or word.folded in _SPOKEN or word.is_number
    return is_of_questions or bool(names.called(word.stem) or names.tables_called(word.stem))
