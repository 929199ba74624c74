"""Values of strangers as short text, and figures as people write them. For sentences and examples."""

from __future__ import annotations

import math
import sys
from collections.abc import Iterable
from typing import Final

from cellwright_guest.profiling.records import LONGEST_VALUE

ELLIPSIS: Final = "…"
LONGEST_SENTENCE: Final = 400
"""Limit of characters of an oddity's sentence."""
_LONGEST_IN_SENTENCE: Final = 40


def cut(text: str, most: int = LONGEST_VALUE) -> str:
    """The text, valid as UTF-8 and at most so long."""
    sound = text[: most + 1].encode("utf-8", "replace").decode("utf-8")
    return sound if len(sound) <= most else sound[: most - 1] + ELLIPSIS


def quoted(text: str) -> str:
    """A value within a sentence: one line, short, in single quotes."""
    line = "".join(letter if letter.isprintable() else " " for letter in text[: _LONGEST_IN_SENTENCE + 1])
    return f"'{cut(line, _LONGEST_IN_SENTENCE)}'"


def named(name: str) -> str:
    """A column or table within a sentence: one line, short, as it is."""
    line = "".join(letter if letter.isprintable() else " " for letter in name[: _LONGEST_IN_SENTENCE + 1])
    return cut(line.strip(), _LONGEST_IN_SENTENCE) or "(no name)"


def sentence(text: str) -> str:
    """A sentence, bounded."""
    return cut(text, LONGEST_SENTENCE)


def figure(number: float) -> str:
    """`9999`, `0.5`, `1.234e+20`: short, whole numbers without a point."""
    if math.isfinite(number) and abs(number) < 1e15 and number == int(number):
        return str(int(number))
    return f"{number:.6g}" if abs(number) < 1e15 else f"{number:.4g}"


def percent(count: float, total: float) -> str:
    """`3.2 %`; a part that is not all is never told as 100 %."""
    share = 100.0 * count / total if total else 0.0
    if 0 < share < 0.1:
        return "under 0.1 %"
    if 99.9 < share < 100:
        return "over 99.9 %"
    return f"{share:.1f} %" if share != int(share) else f"{int(share)} %"


def counted(count: int, thing: str) -> str:
    """`1 row`, `1,200 rows`."""
    return f"{count:,} {thing}{'' if count == 1 else 's'}"


def listed(values: Iterable[str], most: int = 3) -> str:
    """`'a', 'b', 'c' and 4 more`."""
    kept = list(values)
    shown = ", ".join(quoted(value) for value in kept[:most])
    return shown if len(kept) <= most else f"{shown} and {len(kept) - most:,} more"


def finite(number: float) -> float:
    """A number that JSON can hold: none that is not one, none without end."""
    if math.isnan(number):
        return 0.0
    return min(max(float(number), -sys.float_info.max), sys.float_info.max)
