"""What columns of a table have to do with each other: gaps in the same rows, and columns that say the same."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from itertools import combinations, pairwise
from typing import Final

import numpy as np
import numpy.typing as npt
import pandas as pd

from cellwright_guest.profiling.columns import StudiedColumn
from cellwright_guest.profiling.records import Repeat
from cellwright_guest.profiling.typed_column import Codes, Floats, Mask, spread
from cellwright_guest.profiling.wording import counted, figure, named, percent, quoted, sentence

_FEWEST: Final = 3
_FEWEST_FOR_LABELS: Final = 8
_MOST_LABELS: Final = 30
_MOST_CATEGORIES: Final = 12
_SHARE: Final = 0.8


def missing_together(columns: Sequence[StudiedColumn]) -> tuple[tuple[str, ...], ...]:
    """Columns that are empty in exactly the same rows, where there are a few such rows."""
    groups: dict[bytes, list[str]] = defaultdict(list)
    for column in columns:
        if column.column.nulls >= _FEWEST and column.column.count:
            groups[np.packbits(column.typed.is_null()).tobytes()].append(column.column.name)
    return tuple(tuple(names) for names in groups.values() if len(names) > 1)[:20]


def null_patterns(columns: Sequence[StudiedColumn], *, is_sampled: bool) -> dict[str, str]:
    """For each column with a pattern in its gaps: the pattern in words."""
    kinds = [column for column in columns if column.column.meaning in ("category", "flag", "code")]
    groups = [column for column in kinds if 2 <= column.column.distinct <= _MOST_LABELS][:_MOST_CATEGORIES]
    found: dict[str, str] = {}
    for column in columns:
        if column.column.nulls >= _FEWEST and column.column.count:
            nulls = column.typed.is_null()
            pattern = _by_label(column, nulls, groups) or _by_place(nulls, is_sampled=is_sampled)
            if pattern:
                found[column.column.name] = pattern
    return found


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


def _by_label(column: StudiedColumn, nulls: Mask, groups: Sequence[StudiedColumn]) -> str:
    """The label, or the emptiness, of another column with which this one is missing."""
    if int(nulls.sum()) < _FEWEST_FOR_LABELS:
        return ""
    best: tuple[float, str] = (0.0, "")
    for group in groups:
        if group is column:
            continue
        index, score, share = _strongest(group.typed.codes, nulls, len(group.typed.texts))
        if score > best[0] and index is not None:
            label = "is empty" if index < 0 else f"is {quoted(group.typed.text(index))}"
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
    index = int(np.argmax(np.where(fitting, empty / total * inside, -1.0)))
    return index - 1, float(empty[index] / total * inside[index]), float(inside[index])


_FEWEST_ROWS: Final = 10
_MOST_NUMBERS: Final = 60
_MOST_REPEATS: Final = 30
_SAMPLE: Final = 400
_FIRST_LOOK: Final = 1_000


def find_repeats(columns: Sequence[StudiedColumn], ignored: Mask) -> tuple[Repeat, ...]:
    """Pairs of columns of which one can be told from the other."""
    if int((~ignored).sum()) < _FEWEST_ROWS:
        return ()
    found = _by_codes(columns, ignored)
    known = {frozenset((repeat.first, repeat.second)) for repeat in found}
    found += [repeat for repeat in _linear(columns, ignored) if frozenset((repeat.first, repeat.second)) not in known]
    return tuple(found[:_MOST_REPEATS])


def _by_codes(columns: Sequence[StudiedColumn], ignored: Mask) -> list[Repeat]:
    """Codes count values in the order of first sight, so columns that go together have the same ones."""
    able = [
        column for column in columns if column.column.distinct >= 2 and column.column.kind not in ("nested", "empty")
    ]
    rows = np.flatnonzero(~ignored)
    groups = (group for likely in _grouped(able, rows[:_FIRST_LOOK]) for group in _grouped(likely, rows))
    return [repeat for group in groups for pair in pairwise(group) if (repeat := _same(*pair)) is not None]


def _grouped(columns: Sequence[StudiedColumn], rows: npt.NDArray[np.intp]) -> list[list[StudiedColumn]]:
    """Columns that go together in these rows."""
    groups: dict[bytes, list[StudiedColumn]] = defaultdict(list)
    for column in columns:
        codes = column.typed.codes[rows]
        groups[np.where(codes < 0, -1, pd.factorize(codes)[0]).tobytes()].append(column)
    return [group for group in groups.values() if len(group) > 1]


def _same(first: StudiedColumn, second: StudiedColumn) -> Repeat | None:
    one, other = first.column, second.column
    if _has_equal_values(first, second):
        says = f"{named(one.name)} and {named(other.name)} hold the same values."
        return Repeat(first=one.name, second=other.name, how="equal", says=sentence(says))
    if one.distinct > 0.9 * one.count or "measure" in (one.meaning, other.meaning):
        return None
    says = f"Each {named(one.name)} goes with exactly one {named(other.name)} ({one.distinct:,} of each)."
    return Repeat(first=one.name, second=other.name, how="one-to-one", says=sentence(says))


def _has_equal_values(first: StudiedColumn, second: StudiedColumn) -> bool:
    one, other = first.typed, second.typed
    there = np.flatnonzero((one.codes >= 0) & (other.codes >= 0))
    if one.values is not None and other.values is not None and one.kind == other.kind:
        left, right = one.row_values()[there], other.row_values()[there]
        return bool(((left == right) | (np.isnan(left) & np.isnan(right))).all())
    indices = there[spread(len(there), 2_000)]
    pairs = {(int(one.codes[index]), int(other.codes[index])) for index in indices}
    return one.kind == other.kind == "text" and all(one.text(a).strip() == other.text(b).strip() for a, b in pairs)


# ── one number from the other ──

_Numbers = tuple[StudiedColumn, Floats]
"""A column with the value of each row."""


def _linear(columns: Sequence[StudiedColumn], ignored: Mask) -> list[Repeat]:
    groups: dict[bytes, list[_Numbers]] = defaultdict(list)
    numeric = [column for column in columns if column.column.kind in ("integer", "number")]
    for column in [column for column in numeric if column.column.distinct >= 5][:_MOST_NUMBERS]:
        values = column.typed.row_values()[~ignored]
        groups[np.isfinite(values).tobytes()].append((column, values))
    pairs = (pair for group in groups.values() for pair in _candidates(group))
    return [repeat for one, other in pairs if (repeat := _multiple(*one, *other)) is not None]


def _candidates(group: Sequence[_Numbers]) -> list[tuple[_Numbers, _Numbers]]:
    """Pairs that go together in a sample."""
    known = np.flatnonzero(np.isfinite(group[0][1]))
    if len(group) < 2 or len(known) < _FEWEST_ROWS:
        return []
    indices = known[spread(len(known), _SAMPLE)]
    with np.errstate(all="ignore"):
        related = np.abs(np.corrcoef(np.stack([values[indices] for _, values in group])))
    pairs = combinations(range(len(group)), 2)
    return [(group[one], group[other]) for one, other in pairs if related[one, other] > 0.9999]


def _multiple(first: StudiedColumn, one: Floats, second: StudiedColumn, other: Floats) -> Repeat | None:
    known = np.isfinite(one)
    left, right = one[known], other[known]
    with np.errstate(all="ignore"):
        centre = right.mean()
        factor = float(((right - centre) * (left - left.mean())).sum() / ((right - centre) ** 2).sum())
        shift = float(left.mean() - factor * centre)
        misses = np.abs(left - factor * right - shift)
    span = float(left.max() - left.min())
    if not np.isfinite(misses).all() or not factor or misses.max() > max(1e-6 * span, _rounding(left, span)):
        return None
    if abs(shift) < 1e-6 * max(span, abs(float(left.mean()))):
        shift = 0.0
    what = f"{named(first.column.name)} is {figure(_round(factor))} × {named(second.column.name)}"
    more = f" {'+' if shift > 0 else '-'} {figure(abs(_round(shift)))}" if shift else ""
    says = sentence(f"{what}{more} in every row.")
    return Repeat(first=first.column.name, second=second.column.name, how="linear", says=says)


def _round(number: float) -> float:
    return float(f"{number:.6g}")


def _rounding(values: Floats, span: float) -> float:
    """Half of the last place the values are written with, where that is small against their span."""
    for decimals in range(5):
        if bool((np.abs(values - np.round(values, decimals)) < 1e-9 * max(1.0, float(np.abs(values).max()))).all()):
            unit = 10.0**-decimals
            return 0.51 * unit if span > 100 * unit else 0.0
    return 0.0
