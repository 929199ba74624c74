"""What a field of text looks like at a glance: enough to tell names from values, and a table from prose."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import pairwise
from typing import Final

_NUMBER: Final = re.compile(
    r"[-+(]?\s?(?:[€$£¥]|[A-Z]{3}|US\$|CHF|Rs\.?)?\s?[-+]?(?:\d{1,3}(?:[ ,.'\u00a0\u202f]\d{3})+|\d+)?(?:[.,]\d+)?"
    r"(?:[eE][-+]?\d+)?\s?(?:[%€$£¥]|[A-Za-z°µ²³/]{1,4})?\)?"
)
_DATE: Final = re.compile(
    r"\d{1,4}[-/.]\d{1,2}[-/.]\d{1,4}"
    r"(?:[T ]\d{1,2}:\d{2}(?::\d{2}(?:[.,]\d+)?)?(?:\s?[AaPp][Mm])?(?:Z|[-+]\d{2}:?\d{2})?)?"
    r"|\d{4}-\d{2}|\d{4}[-/ ]?[QW]\d{1,2}|\d{1,2}:\d{2}(?::\d{2}(?:[.,]\d+)?)?"
    r"|\d{1,2}[-. ]?\s?[A-Za-zäé]{3,9}\.?[-. ,]\s?\d{2,4}|[A-Za-z]{3,9}\.? \d{1,2},? \d{4}"
)
_WORD: Final = re.compile(r"[\w.@+#-]{1,40}")
_RULE: Final = re.compile(r"[-=+:_ ]*[-=]{2,}[-=+:_ ]*")
_NULL_WORDS: Final = frozenset(
    {"", "-", "--", "na", "n/a", "nan", "null", "none", "nil", "?", ".", "..", "missing", "#n/a"}
)
_WORDS_OF_BOOLEANS: Final = frozenset({"true", "false", "yes", "no"})


def is_null(cell: str) -> bool:
    """The field is empty, or holds a word for nothing."""
    return cell.strip().lower() in _NULL_WORDS


def is_typed(cell: str) -> bool:
    """The field looks like a number, a date, a time or a yes or no."""
    cell = cell.strip()
    if not cell or len(cell) > 48:
        return False
    if cell.lower() in _WORDS_OF_BOOLEANS:
        return True
    has_digit = any(character.isdigit() for character in cell)
    return has_digit and bool(_NUMBER.fullmatch(cell) or _DATE.fullmatch(cell))


def is_plain(cell: str) -> bool:
    """The field is one value: typed, empty, or one word."""
    return is_null(cell) or is_typed(cell) or bool(_WORD.fullmatch(cell.strip()))


def is_rule(record: Sequence[str]) -> bool:
    """A line drawn with dashes under the names."""
    return any(record) and all(not cell.strip() or _RULE.fullmatch(cell.strip()) for cell in record)


def are_years(cells: Sequence[str]) -> bool:
    """Whole years (or other whole numbers) in even steps: they can be names of columns."""
    numbers = [
        int(cell) for cell in cells if cell.strip().isascii() and cell.strip().isdigit() and len(cell.strip()) <= 4
    ]
    if len(numbers) != len(cells) or len(numbers) < 3:
        return False
    step = numbers[1] - numbers[0]
    return step != 0 and all(after - before == step for before, after in pairwise(numbers))
