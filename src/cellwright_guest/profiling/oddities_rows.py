"""Rows that occur twice: exactly, but for case and spaces, or but for their key."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from cellwright_guest.profiling.columns import Studied
from cellwright_guest.profiling.numbers import as_mask
from cellwright_guest.profiling.records import Oddity
from cellwright_guest.profiling.typed import Codes, Mask, compute, encode
from cellwright_guest.profiling.wording import counted, named, percent, sentence

Hashes = npt.NDArray[np.uint64]
_CHANCE: Final = 0.05
_FEWEST_COLUMNS: Final = 3
_NEARLY_UNIQUE: Final = 0.95


def odd_rows(columns: Sequence[Studied], ignored: Mask) -> list[Oddity]:
    """Everything odd about rows that resemble each other."""
    usable = [column for column in columns if column.typed.kind not in ("empty", "nested")]
    has_any = np.zeros(len(ignored), bool)
    for column in usable:
        has_any |= column.typed.codes >= 0
    rows = np.flatnonzero(has_any & ~ignored)
    if not usable or len(rows) < 2:
        return []
    codes = [column.typed.codes[rows] for column in usable]
    is_key = [_is_key(column, len(rows)) for column in usable]
    others = [
        one
        for one, column, skip in zip(codes, usable, is_key, strict=True)
        if not skip and column.column.kind != "text"
    ]
    if _name_each_row(others):
        return []
    levelled = [_levelled(column)[rows] for column in usable]
    exact = hash_rows(codes)
    alike = exact
    found = _duplicates(exact, codes, rows)
    if any(int(new.max()) < int(old.max()) for new, old in zip(levelled, codes, strict=True)):
        alike = hash_rows(levelled)
        found += _but_for_spelling(exact, alike, rows)
    return found + _but_for_key(usable, levelled, alike, rows)


def _name_each_row(columns: Sequence[Codes]) -> bool:
    """Whether some column that is no text has a different value in each row, so that no two rows are alike."""
    return any(int(codes.max()) + 1 == len(codes) and int(codes.min()) == 0 for codes in columns)


def hash_rows(columns: Sequence[Codes]) -> Hashes:
    """One number per row; equal rows have equal ones."""
    hashes = np.zeros(len(columns[0]), np.uint64)
    for place, codes in enumerate(columns):
        mixed = (codes.astype(np.uint64) + np.uint64(place * 2 + 1)) * np.uint64(0x9E3779B97F4A7C15)
        hashes = (hashes ^ mixed ^ (mixed >> np.uint64(29))) * np.uint64(0xBF58476D1CE4E5B9)
        hashes ^= hashes >> np.uint64(32)
    return hashes


def repeated(hashes: Hashes) -> Mask:
    """Rows that equal one before them."""
    order = np.argsort(hashes, kind="stable")
    again = np.zeros(len(hashes), bool)
    again[order[1:]] = hashes[order[1:]] == hashes[order[:-1]]
    return again


def expected_pairs(columns: Sequence[Codes]) -> float:
    """How many pairs of equal rows chance alone would give, were the columns independent."""
    size = len(columns[0])
    logarithm = np.log(max(size * (size - 1) / 2, 1.0))
    for codes in _independent(columns):
        counts = np.bincount(codes + 1).astype(float)
        alike = float((counts * (counts - 1)).sum()) / max(size * (size - 1), 1)
        logarithm += np.log(max(alike, 1.0 / (size * size)))
    return float(np.exp(min(logarithm, 100.0)))


def _independent(columns: Sequence[Codes]) -> list[Codes]:
    """Without columns that only say again what another says, such as a label beside its code."""
    size = len(columns[0])
    kept: dict[bytes, Codes] = {}
    for place, codes in enumerate(columns):
        is_telling = int(codes.max()) > 0.5 * size
        kept[b"%d" % place if is_telling else codes.tobytes()] = codes
    return list(kept.values())


def _duplicates(exact: Hashes, codes: Sequence[Codes], rows: Codes) -> list[Oddity]:
    again = repeated(exact)
    count = int(again.sum())
    if not count:
        return []
    chance = expected_pairs(codes)
    is_natural = chance > 0.2 * count
    if is_natural and count > 0.5 * len(rows):
        return []
    verb = "repeats" if count == 1 else "repeat"
    says = f"{counted(count, 'row')} ({percent(count, len(rows))}) {verb} an earlier row exactly."
    if is_natural:
        says += " With so few different values that may be chance."
    return [_told("duplicate-rows", says, rows[again], is_note=is_natural)]


def _but_for_spelling(exact: Hashes, levelled: Hashes, rows: Codes) -> list[Oddity]:
    again = repeated(levelled) & ~repeated(exact)
    count = int(again.sum())
    if not count or count > 0.2 * len(rows):
        return []
    verb = "repeats" if count == 1 else "repeat"
    says = f"{counted(count, 'row')} {verb} an earlier row but for case or spaces."
    return [_told("near-duplicate-rows", says, rows[again], is_note=False)]


def _but_for_key(columns: Sequence[Studied], codes: Sequence[Codes], alike: Hashes, rows: Codes) -> list[Oddity]:
    is_key = [_is_key(column, len(rows)) for column in columns]
    rest = [one for one, skip in zip(codes, is_key, strict=True) if not skip]
    if not any(is_key) or len(rest) < _FEWEST_COLUMNS or expected_pairs(rest) > _CHANCE:
        return []
    hashes = hash_rows(rest)
    again = repeated(hashes) & ~repeated(alike)
    is_empty = np.logical_and.reduce([one < 0 for one in rest])
    again &= ~is_empty
    count = int(again.sum())
    if not count or count > 0.2 * len(rows):
        return []
    key = next(column.column.name for column, skip in zip(columns, is_key, strict=True) if skip)
    verb = "repeats" if count == 1 else "repeat"
    says = f"{counted(count, 'row')} {verb} an earlier row in everything but {named(key)}."
    return [_told("near-duplicate-rows", says, rows[again], is_note=False, column=key)]


def _is_key(column: Studied, rows: int) -> bool:
    is_id = column.column.meaning == "id" or (column.column.kind == "integer" and column.column.is_unique)
    return is_id and column.column.distinct >= _NEARLY_UNIQUE * rows


def _told(kind: Any, says: str, rows: Codes, *, is_note: bool, column: str = "") -> Oddity:
    shown = tuple(int(row) for row in rows[:20])
    severity = "note" if is_note else "warning"
    return Oddity(kind=kind, says=sentence(says), column=column, count=len(rows), rows=shown, severity=severity)


def _levelled(column: Studied) -> Codes:
    """Codes in which texts that differ only in case and spaces are one."""
    typed = column.typed
    if typed.kind != "text" or column.column.meaning == "id":
        return typed.codes
    texts = compute.utf8_trim_whitespace(compute.utf8_lower(typed.texts))
    if as_mask(compute.match_substring(texts, "  ")).any():
        texts = compute.replace_substring_regex(texts, " +", " ")
    return np.append(encode(texts).codes, -1)[typed.codes]
