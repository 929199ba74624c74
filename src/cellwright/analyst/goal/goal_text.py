"""The words of a goal and of names, alike in case, accents, plural and the ways to join them. Pure."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Final

_WORD: Final = re.compile(r"\d+(?:[.,]\d+)+|[^\W_]+")
_HUMP: Final = re.compile(r"(?<=[a-z0-9]{2})(?=[A-Z][a-z])")
_ENDINGS: Final = (("ation", 5), ("ing", 3), ("ed", 3))
"""Of verbs, with how much must be left of them."""


@dataclass(frozen=True)
class GoalWord:
    """A word where it stands in a goal."""

    text: str
    start: int
    end: int

    @cached_property
    def folded(self) -> str:
        """Without case and accents."""
        return fold(self.text)

    @cached_property
    def stem(self) -> str:
        """Without the ending of a plural too."""
        return singular(self.folded)

    @property
    def is_number(self) -> bool:
        """Whether it is made of digits."""
        return self.text[0].isdecimal() and self.text[-1].isdecimal() and not any(map(str.isalpha, self.text))


def split_words(text: str) -> tuple[GoalWord, ...]:
    """The words in a text, in order; `bodyMass` and `body_mass` are two each."""
    found: list[GoalWord] = []
    for match in _WORD.finditer(text):
        at = match.start()
        for piece in _HUMP.split(match.group(0)):
            found.append(GoalWord(piece, at, at + len(piece)))
            at += len(piece)
    return tuple(found)


@lru_cache(maxsize=16_384)
def name_parts(name: str) -> tuple[str, ...]:
    """The stems in a name."""
    pieces = (piece for word in _WORD.findall(name) for piece in (_HUMP.split(word) if not word.islower() else (word,)))
    return tuple(singular(fold(piece)) for piece in pieces)


@lru_cache(maxsize=4096)
def fold(text: str) -> str:
    """Text without case and accents."""
    if text.isascii():
        return text.lower()
    folded = unicodedata.normalize("NFKD", text.replace("ß", "ss")).casefold()
    return "".join(sign for sign in folded if not unicodedata.combining(sign))


@lru_cache(maxsize=4096)
def singular(word: str) -> str:
    """A folded word without the ending of a plural."""
    if len(word) > 4 and word.endswith("ies"):
        return f"{word[:-3]}y"
    return word[:-1] if len(word) > 3 and word.endswith("s") and not word.endswith("ss") else word


@lru_cache(maxsize=4096)
def root(stem: str) -> str:
    """A stem without the ending of a verb: `returned`, `shipping`."""
    for ending, least in _ENDINGS:
        if stem.endswith(ending) and len(stem) - len(ending) >= least:
            bare = stem[: -len(ending)]
            return bare[:-1] if len(bare) > 3 and bare[-1] == bare[-2] and bare[-1] not in "sl" else bare
    return stem


def is_near(word: str, other: str) -> bool:
    """Whether one slip of a finger makes one of the other: a letter more, fewer, other or exchanged."""
    if word == other:
        return True
    if abs(len(word) - len(other)) > 1:
        return False
    same = 0
    while same < min(len(word), len(other)) and word[same] == other[same]:
        same += 1
    rest, left = word[same:], other[same:]
    swapped = len(rest) > 1 and len(left) > 1 and rest[0] == left[1] and rest[1] == left[0] and rest[2:] == left[2:]
    return swapped or rest[1:] == left[1:] or rest[1:] == left or rest == left[1:]


def near_word(word: str, known: Iterable[str]) -> str:
    """The only known word that a slip of a finger makes of this one; empty if there is none, or several."""
    if len(word) < 5:
        return ""
    found = {other for other in known if len(other) > 4 and other[0] == word[0] and is_near(word, other)}
    return found.pop() if len(found) == 1 else ""
