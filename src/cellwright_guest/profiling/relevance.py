"""Which files speak of a goal: its words against names, columns and values. Pure; the cage and the host rank alike."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Final

__all__ = ["SpokenWords", "goal_words", "relevant", "score_files", "spoken"]

_WORD: Final = re.compile(r"[^\W\d_]+|\d+")
_HUMP: Final = re.compile(r"(?<=[a-zäöüß0-9])(?=[A-Z])")
_MOST_WORDS: Final = 60
_MOST_CHARACTERS: Final = 50_000
_IN_NAME, _IN_COLUMNS, _IN_VALUES = 3.0, 2.0, 1.0
_RELEVANT_SHARE: Final = 0.3
"""Of the best score; what reaches less speaks of the goal by accident."""
_STOP_WORDS: Final = """
all also and any are average avg based between calculate can column compute content count csv das data dataset der
des did die does each einer excel fewest file find folder for from get give had has have having highest how into its
json large larger largest least less list lowest many mean median more most much name not number one only out over
parquet per please report result row same should show smallest some sum table tell than that the their them then
there these they this those total und use using value was were what when where which who whose why will with within
would xlsx your
"""
"""What goals are made of, whatever they are about."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SpokenWords:
    """The words of one file."""

    name: frozenset[str]
    """Of its name and its folders."""
    columns: frozenset[str] = frozenset()
    values: frozenset[str] = frozenset()


def goal_words(goal: str) -> tuple[str, ...]:
    """What a goal is about, as stems, each once."""
    found = dict.fromkeys(_stems(goal[:_MOST_CHARACTERS]))
    return tuple(word for word in found if _is_telling(word))[:_MOST_WORDS]


def spoken(text: str, wanted: Collection[str]) -> frozenset[str]:
    """Which of the wanted stems are words of a text."""
    return frozenset(_stems(text[:_MOST_CHARACTERS])) & frozenset(wanted)


def score_files(words: Sequence[str], files: Sequence[SpokenWords]) -> list[float]:
    """How much each speaks of the words; what all files speak of tells none of them apart."""
    counts = Counter(word for file in files for word in file.name | file.columns | file.values)
    weights = {word: math.log(1 + len(files) / counts[word]) for word in words if counts[word]}
    return [sum(weight * _place(word, file) for word, weight in weights.items()) for file in files]


def relevant(scores: Sequence[float]) -> list[int]:
    """Which are worth a close look, the best first; none if nothing speaks of the goal."""
    best = max(scores, default=0.0)
    found = [index for index, score in enumerate(scores) if score > 0 and score >= _RELEVANT_SHARE * best]
    return sorted(found, key=lambda index: -scores[index])


def _place(word: str, file: SpokenWords) -> float:
    if word in file.name:
        return _IN_NAME
    return _IN_COLUMNS if word in file.columns else _IN_VALUES if word in file.values else 0.0


def _stems(text: str) -> Iterable[str]:
    return (_stem(word) for word in _WORD.findall(_HUMP.sub(" ", text).casefold()))


def _stem(word: str) -> str:
    """Without the ending of a plural."""
    if len(word) > 4 and word.endswith("ies"):
        return f"{word[:-3]}y"
    return word[:-1] if len(word) > 3 and word.endswith("s") and not word.endswith("ss") else word


def _is_telling(word: str) -> bool:
    if word.isdecimal():
        return len(word) > 1 and bool(word.strip("0"))
    return word not in _stop_stems() and (len(word) > 2 or not word.isascii())


@cache
def _stop_stems() -> frozenset[str]:
    return frozenset(_stems(_STOP_WORDS))
