"""Where values are missing: in the same rows as others, at one end, in a block, or with a certain label."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import Final

import numpy as np

from cellwright_guest.profiling.columns import Studied
from cellwright_guest.profiling.typed import Codes, Mask
from cellwright_guest.profiling.wording import counted, named, percent, quoted

_FEWEST: Final = 3
_FEWEST_FOR_LABELS: Final = 8
_MOST_LABELS: Final = 30
_MOST_CATEGORIES: Final = 12
_SHARE: Final = 0.8


def missing_together(columns: Sequence[Studied]) -> tuple[tuple[str, ...], ...]:
    """Columns that are empty in exactly the same rows, where there are a few such rows."""
    groups: dict[bytes, list[str]] = defaultdict(list)
    for column in columns:
        if column.column.nulls >= _FEWEST and column.column.count:
            groups[np.packbits(column.typed.is_null()).tobytes()].append(column.column.name)
    return tuple(tuple(names) for names in groups.values() if len(names) > 1)[:20]


def null_patterns(columns: Sequence[Studied], *, is_sampled: bool) -> dict[str, str]:
    """For each column with a pattern in its gaps: the pattern in words."""
    groups = [column for column in columns if _is_grouping(column)][:_MOST_CATEGORIES]
    found: dict[str, str] = {}
    for column in columns:
        if column.column.nulls >= _FEWEST and column.column.count:
            nulls = column.typed.is_null()
            pattern = _by_label(column, nulls, groups) or _by_place(nulls, is_sampled=is_sampled)
            if pattern:
                found[column.column.name] = pattern
    return found


def _is_grouping(column: Studied) -> bool:
    is_kind = column.column.meaning in ("category", "flag", "code")
    return is_kind and 2 <= column.column.distinct <= _MOST_LABELS


def _by_place(nulls: Mask, *, is_sampled: bool) -> str:
    rows = np.flatnonzero(nulls)
    if len(rows) < 5 or int(rows[-1] - rows[0]) + 1 != len(rows):
        return ""
    if rows[-1] == len(nulls) - 1:
        return f"at the end: the last {counted(len(rows), 'row')}"
    if rows[0] == 0:
        return f"at the start: the first {counted(len(rows), 'row')}"
    where = "" if is_sampled else f", from row {int(rows[0]) + 1:,} to row {int(rows[-1]) + 1:,}"
    return f"in one block of {counted(len(rows), 'row')}{where}"


def _by_label(column: Studied, nulls: Mask, groups: Sequence[Studied]) -> str:
    """The label, or the emptiness, of another column with which this one is missing."""
    total = int(nulls.sum())
    if total < _FEWEST_FOR_LABELS:
        return ""
    best: tuple[float, str] = (0.0, "")
    for group in groups:
        if group is column:
            continue
        place, score, share = _strongest(group.typed.codes, nulls, len(group.typed.texts))
        if score > best[0] and place is not None:
            label = "is empty" if place < 0 else f"is {quoted(group.typed.text(place))}"
            words = "whenever" if share == 1.0 else "mostly when"
            best = (score, f"{words} {named(group.column.name)} {label} ({percent(share * 100, 100)} of those rows)")
    return best[1]


def _strongest(codes: Codes, nulls: Mask, size: int) -> tuple[int | None, float, float]:
    """(label, how well it explains the gaps, part of its rows that are empty)."""
    rows = np.bincount(codes + 1, minlength=size + 1)
    empty = np.bincount(codes[nulls] + 1, minlength=size + 1)
    total = int(nulls.sum())
    with np.errstate(all="ignore"):
        inside = np.where(rows > 0, empty / np.maximum(rows, 1), 0.0)
        outside = (total - empty) / np.maximum(len(codes) - rows, 1)
    fitting = (empty >= _SHARE * total) & (inside >= 0.5) & (outside < 0.25 * inside) & (rows < 0.9 * len(codes))
    if not fitting.any():
        return None, 0.0, 0.0
    place = int(np.argmax(np.where(fitting, empty / total * inside, -1.0)))
    return place - 1, float(empty[place] / total * inside[place]), float(inside[place])
