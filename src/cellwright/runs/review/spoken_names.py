"""What a goal's words speak of: columns, labels, aggregates, units, steps of time. Pure, and wide: others check."""

from __future__ import annotations

import re
from typing import Final

from cellwright.profiles.profile import ColumnProfile
from cellwright.runs.review.units import unit_of

_AGGREGATES: Final = (
    ("mean", re.compile(r"\b(?:mean|average|on average|typical)\b", re.IGNORECASE)),
    ("median", re.compile(r"\bmedian\b", re.IGNORECASE)),
    ("max", re.compile(r"\b(?:maximum|highest|largest|longest|peak)\b", re.IGNORECASE)),
    ("min", re.compile(r"\b(?:minimum|lowest|smallest|shortest)\b", re.IGNORECASE)),
    ("sum", re.compile(r"\b(?:total|sum|how (?:much|many)|altogether|revenue of|most)\b", re.IGNORECASE)),
)
_MOMENTS: Final = (("day", "%Y-%m-%d"), ("month", "%Y-%m"), ("year", "%Y"), ("hour", "%H"), ("weekday", "%A"))
_SHORTEST_STEM: Final = 4


def aggregates_in(goal: str) -> list[str]:
    """How the goal wants figures made; sums and means where it does not say."""
    found = [how for how, pattern in _AGGREGATES if pattern.search(goal)]
    found += ["count"] if re.search(r"\bhow many\b|\bnumber of\b", goal, re.IGNORECASE) else []
    return found or ["sum", "mean"]


def moments_in(goal: str) -> list[str]:
    """Steps of time it names, as `strftime` writes them."""
    return [shape for word, shape in _MOMENTS if re.search(rf"\b{word}s?\b", goal, re.IGNORECASE)]


def units_in(goal: str) -> list[str]:
    """Units it asks for: `in minutes`, `how many kWh`."""
    found = re.findall(r"\b(?:in|how many) ([^\W\d_]+)", goal)
    return [unit for word in found if (unit := unit_of(word))]


def is_spoken(name: str, goal: str) -> bool:
    """Whether a word of a column's name, in whatever number, is a word of the goal."""
    words = {_stem(word) for word in re.findall(r"[^\W\d_]+", goal)}
    parts = [part for part in re.findall(r"[^\W\d_]+", re.sub(r"(?<=[a-z])(?=[A-Z])", " ", name)) if not unit_of(part)]
    return any(_stem(part) in words for part in parts)


def spoken_labels(column: ColumnProfile, words: str) -> list[str]:
    """The column's labels that stand in the words."""
    labels = [each.value.strip() for each in column.common]
    return [label for label in labels if label and re.search(rf"(?<!\w){re.escape(label)}(?!\w)", words, re.IGNORECASE)]


def _stem(word: str) -> str:
    lowered = word.casefold()
    return lowered[:-1] if lowered.endswith("s") and len(lowered) > _SHORTEST_STEM else lowered
