"""Columns that name each row once, alone or two together."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from typing import Final

import numpy as np

from cellwright_guest.profiling.columns import Studied
from cellwright_guest.profiling.typed import Codes, Mask

_MOST_PAIRED: Final = 12
_MOST_KEYS: Final = 5
_FIRST_LOOK: Final = 2_000


def find_keys(columns: Sequence[Studied], ignored: Mask) -> tuple[tuple[str, ...], ...]:
    """The keys of the rows that are not ignored: single columns, else pairs; the likeliest first."""
    rows = int((~ignored).sum())
    if rows < 2:
        return ()
    able = [column for column in columns if _may_be_key(column)]
    singles = [column for column in able if _is_unique(column.typed.codes[~ignored])]
    singles.sort(key=lambda column: column.column.meaning != "id")
    if singles:
        return tuple((column.column.name,) for column in singles[:_MOST_KEYS])
    return _pairs(able, ignored, rows)


def _may_be_key(column: Studied) -> bool:
    told = column.column
    if told.kind in ("nested", "empty", "boolean", "number") or told.meaning in (
        "measure",
        "currency",
        "flag",
        "constant",
    ):
        return False
    return told.meaning != "text" or (told.texts is not None and told.texts.mean_words <= 4)


def _is_unique(codes: Codes) -> bool:
    return len(codes) > 1 and int(codes.min()) >= 0 and int(np.bincount(codes).max()) == 1


def _pairs(able: Sequence[Studied], ignored: Mask, rows: int) -> tuple[tuple[str, ...], ...]:
    kept = [(column, column.typed.codes[~ignored]) for column in able]
    full = [(column, codes) for column, codes in kept if len(codes) and int(codes.min()) >= 0]
    full.sort(key=lambda pair: -pair[0].column.distinct)
    found: list[tuple[str, ...]] = []
    for (first, one), (second, other) in combinations(full[:_MOST_PAIRED], 2):
        if first.column.distinct * second.column.distinct < rows:
            continue
        together = one * (int(other.max()) + 1) + other
        if all(len(np.unique(part)) == len(part) for part in (together[:_FIRST_LOOK], together)):
            found.append((first.column.name, second.column.name))
        if len(found) >= _MOST_KEYS:
            break
    return tuple(found)
