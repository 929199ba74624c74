"""Numbers in a goal: how many are wanted first, and rows above or below a number. Pure."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from cellwright.analyst.goal.goal_text import GoalWord
from cellwright.analyst.goal.question import Comparison
from cellwright.analyst.goal.question_vocabulary import ADJECTIVES, CURRENCY_WORDS, NUMBER_WORDS
from cellwright.analyst.goal.vocabulary import words_in

_MAX_TOP: Final = 1_000
_MAX_COMPARISONS: Final = 12
_PHRASES: Final[dict[tuple[str, ...], Comparison]] = {
    tuple(phrase.split()): comparison
    for comparison, phrases in (
        (">", "more than|greater than|higher than|larger than|bigger than|above|over|exceeding|exceed|exceeds|beyond"),
        (">", "mehr als|uber|grosser als"),
        (">=", "at least|no less than|not less than|no fewer than|minimum of|mindestens|a minimum of"),
        ("<", "less than|fewer than|lower than|smaller than|below|under|weniger als|unter"),
        ("<=", "at most|up to|within|no more than|not more than|maximum of|hochstens|a maximum of"),
        ("=", "exactly|equal to|equals|genau"),
    )
    for phrase in phrases.split("|")
}  # fmt: skip
_SIGNS: Final[dict[str, Comparison]] = {">=": ">=", "≥": ">=", "<=": "<=", "≤": "<=", ">": ">", "<": "<", "=": "="}
_AFTER: Final[dict[tuple[str, ...], Comparison]] = {
    ("or", "more"): ">=", ("and", "more"): ">=", ("or", "above"): ">=", ("and", "above"): ">=", ("or", "over"): ">=",
    ("or", "higher"): ">=", ("or", "less"): "<=", ("or", "fewer"): "<=", ("or", "below"): "<=", ("or", "lower"): "<=",
    ("oder", "mehr"): ">=",
}  # fmt: skip
_SIGN: Final = re.compile(r"[<>]=?|[≥≤=]")
_CURRENCY_SIGN: Final = re.compile(r"[€$£]")
_FILLERS: Final = words_in("a the of about around roughly than")


@dataclass(frozen=True, slots=True, kw_only=True)
class NumberMention:
    """A comparison with a number, before it is known of what."""

    at: tuple[int, ...]
    comparison: Comparison
    number: float
    unit: str
    """The stem right behind the number, `money` for a sign of a currency; empty: nothing tells."""
    unit_at: int | None
    """Where that stands."""
    adjective: str = ""
    """`heavier`: what it is about."""


def parse_number(text: str) -> float | None:
    """A number as people write it: `1,000`, `2.5`, `1.234,50`, `3k`, `five`."""
    folded = text.casefold()
    if folded in NUMBER_WORDS:
        return float(NUMBER_WORDS[folded])
    if match := re.fullmatch(r"(\d{1,9})k", folded):
        return float(match[1]) * 1_000
    if not re.fullmatch(r"\d{1,15}(?:[.,]\d+)*", folded):
        return None
    if re.fullmatch(r"\d{1,3}(?:,\d{3})+(?:\.\d+)?", folded):
        return float(folded.replace(",", ""))
    if re.fullmatch(r"\d{1,3}(?:\.\d{3})+(?:,\d+)?", folded):
        return float(folded.replace(".", "").replace(",", "."))
    plain = folded.replace(",", ".")
    return float(plain) if plain.count(".") < 2 else None


def find_numbers(text: str, words: Sequence[GoalWord], taken: set[int]) -> list[NumberMention]:
    """Every comparison with a number."""
    found: list[NumberMention] = []
    used = set(taken)
    for place, word in enumerate(words):
        number = None if place in used else parse_number(word.folded)
        if number is None:
            continue
        if len(found) >= _MAX_COMPARISONS:
            break
        if pair := _between(text, words, place, used):
            found += pair
        elif one := _comparison(text, words, place, number):
            found.append(one)
        else:
            continue
        used.update(at for each in found for at in each.at)
    return found


def _comparison(text: str, words: Sequence[GoalWord], place: int, number: float) -> NumberMention | None:
    unit, unit_at = _unit(text, words, place)
    behind = (unit_at if unit_at is not None else place) + 1
    after = tuple(word.folded for word in words[behind : behind + 2])
    direct = tuple(word.folded for word in words[place + 1 : place + 3])
    sign = _SIGN.search(text[words[place - 1].end if place else 0 : words[place].start])
    adjective, lead, comparison = _lead(words, place)
    at = {*lead, place, *([unit_at] if unit_at is not None else [])}
    if after in _AFTER or direct in _AFTER:
        start = behind if after in _AFTER else place + 1
        comparison, at = _AFTER[after if after in _AFTER else direct], {*at, start, start + 1}
    elif sign:
        comparison = _SIGNS[sign.group(0)]
    elif comparison is None and place and words[place - 1].folded in {"with", "mit"} and unit:
        comparison = "="
    if comparison is None:
        return None
    return NumberMention(
        at=tuple(sorted(at)), comparison=comparison, number=number, unit=unit, unit_at=unit_at, adjective=adjective
    )


def _lead(words: Sequence[GoalWord], place: int) -> tuple[str, tuple[int, ...], Comparison | None]:
    """The words of comparison right before a number."""
    start = place
    while start > 0 and words[start - 1].folded in _FILLERS - {"than", "of"}:
        start -= 1
    for length in (3, 2, 1):
        phrase = tuple(word.folded for word in words[max(0, start - length) : start])
        if len(phrase) == length and phrase in _PHRASES:
            return "", tuple(range(start - length, place)), _PHRASES[phrase]
    before = [word.folded for word in words[max(0, start - 2) : start]]
    if len(before) == 2 and before[1] in {"than", "als"} and before[0] in ADJECTIVES:
        comparison: Comparison = "<" if ADJECTIVES[before[0]][1] else ">"
        return before[0], tuple(range(start - 2, place)), comparison
    return "", (), None


def _unit(text: str, words: Sequence[GoalWord], place: int) -> tuple[str, int | None]:
    around = text[words[place - 1].end if place else 0 : words[place].start][-2:]
    behind = text[words[place].end : words[place + 1].start if place + 1 < len(words) else len(text)]
    if _CURRENCY_SIGN.search(around) or _CURRENCY_SIGN.search(behind[:2]):
        return "money", None
    if behind.lstrip().startswith("%"):
        return "%", None
    if place + 1 >= len(words):
        return "", None
    following = words[place + 1]
    if following.folded in CURRENCY_WORDS:
        return "money", place + 1
    return following.stem, place + 1


def _between(text: str, words: Sequence[GoalWord], place: int, used: set[int]) -> list[NumberMention]:
    """`between 50 and 100 euros`."""
    is_led = place > 0 and words[place - 1].folded in {"between", "zwischen"}
    if not is_led or place + 2 >= len(words) or words[place + 1].folded not in {"and", "und"} or place + 2 in used:
        return []
    low, high = parse_number(words[place].folded), parse_number(words[place + 2].folded)
    if low is None or high is None or low > high:
        return []
    unit, unit_at = _unit(text, words, place + 2)
    places = (place - 1, place, place + 1, place + 2, *([unit_at] if unit_at is not None else []))
    first = NumberMention(at=places, comparison=">=", number=low, unit=unit, unit_at=unit_at)
    return [first, NumberMention(at=places, comparison="<=", number=high, unit=unit, unit_at=unit_at)]


def find_top(
    words: Sequence[GoalWord], taken: set[int], rankers: frozenset[str], nouns: set[int]
) -> tuple[int, set[int]]:
    """How many are wanted first, and which word says it; `nouns` are the words that name groups."""
    has_ranker = any(word.folded in rankers for word in words)
    for place, word in enumerate(words):
        number = None if place in taken else parse_number(word.folded)
        if number is None or number != int(number) or not 0 < number <= _MAX_TOP:
            continue
        before = words[place - 1].folded if place else ""
        after = words[place + 1].folded if place + 1 < len(words) else ""
        is_beside = before in rankers or before in {"first", "last"} or after in rankers
        if is_beside or (has_ranker and {place + 1, place + 2} & nouns):
            return int(number), {place}
    return 0, set()
