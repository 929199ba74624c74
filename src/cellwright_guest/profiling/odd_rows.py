"""Rows that are no observations of their own: sums of others, headers among the data, rows that occur twice."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

import numpy as np
import numpy.typing as npt

from cellwright_guest.profiling.columns import StudiedColumn
from cellwright_guest.profiling.numbers import as_mask
from cellwright_guest.profiling.records import Oddity, OddityKind, Severity
from cellwright_guest.profiling.typed_column import Codes, Floats, Mask, TypedColumn, compute, encode
from cellwright_guest.profiling.wording import counted, listed, named, percent, sentence

STRONG_WORDS: Final = frozenset({
    "total", "totals", "grand total", "subtotal", "sub-total", "sub total", "sum total", "overall total", "summe",
    "gesamt", "gesamtsumme", "insgesamt", "zwischensumme", "total général", "total general", "totale", "totaal", "suma",
    "razem", "somme", "итого", "合計", "总计", "total:", "sum:", "summe:",
})  # fmt: skip
"""A label that nothing else is called."""
WEAK_WORDS: Final = frozenset({"sum", "all", "overall", "alle", "tous", "todos", "ensemble", "everything", "both"})
"""A label that may be a value like others: only with figures that add up."""
TOTAL_WORDS: Final = STRONG_WORDS | WEAK_WORDS
_LABEL: Final = (
    r"^\s*(?:(?:{words})|(?:sub-?|grand |sum )?totals?[ :(-].*|.*[ (:-](?:sub-?)?totals?"
    r"|(?:zwischen)?summe .*|gesamt .*)\s*$"
)
_LONGEST_LABEL: Final = 60
_MOST_LABELLED: Final = 0.6
_MOST_UNPROVEN: Final = 0.2
_MOST_GAPS: Final = 0.1
_FEWEST_SUMMED: Final = 2
_TOLERANCE: Final = 1e-4


def find_totals(columns: Sequence[TypedColumn], *, ignored: Mask, is_sampled: bool) -> tuple[Mask, list[Oddity]]:
    """The rows that sum up others, and what to say of them."""
    totals = np.zeros(len(ignored), bool)
    oddities: list[Oddity] = []
    measures = [] if is_sampled else [column.row_values() for column in columns if column.kind in ("integer", "number")]
    for column in columns:
        labelled = _labelled(column) & ~ignored & ~totals
        rows = np.flatnonzero(labelled)
        if not len(rows) or len(rows) > _MOST_LABELLED * len(labelled) or len(labelled) - len(rows) < 2:
            continue
        adds_up = _rows_that_add_up(measures, rows, labelled | ignored | totals)
        certain = adds_up | _emptied(columns, rows)
        strong = {row for row in rows if column.text(column.codes[row]).strip().lower() in STRONG_WORDS}
        kept = np.array([row for row in rows if row in certain or row in strong], np.int64)
        if len(kept) - len(certain) > max(1, _MOST_UNPROVEN * len(labelled)):
            continue
        if len(kept):
            totals[kept] = True
            oddities.append(_describe_total(column, kept, len(adds_up & set(kept.tolist()))))
    if not oddities and measures:
        return _unlabelled(columns, measures, ignored)
    return totals, oddities


def _labelled(column: TypedColumn) -> Mask:
    if not column.is_stored_as_text and column.kind != "text":
        return np.zeros(len(column.codes), bool)
    able = np.arange(len(column.texts)) if column.values is None else np.flatnonzero(np.isnan(column.values))
    heads = compute.utf8_slice_codeunits(column.texts.take(able), 0, _LONGEST_LABEL + 1)
    words = "|".join(re.escape(word) for word in sorted(TOTAL_WORDS))
    found = as_mask(compute.match_substring_regex(compute.utf8_lower(heads), _LABEL.format(words=words)))
    return np.isin(column.codes, able[found]) if found.any() else np.zeros(len(column.codes), bool)


def _emptied(columns: Sequence[TypedColumn], rows: np.ndarray[tuple[int], np.dtype[np.intp]]) -> set[int]:
    """Of the labelled rows those that leave most columns empty which elsewhere hardly are."""
    full = [column.codes < 0 for column in columns if int((column.codes < 0).sum()) <= _MOST_GAPS * len(column.codes)]
    if len(full) < 3:
        return set()
    empty = np.sum([gaps[rows] for gaps in full], axis=0)
    return {int(row) for row, count in zip(rows, empty, strict=True) if count >= 0.5 * len(full)}


def _rows_that_add_up(
    measures: Sequence[Floats], rows: np.ndarray[tuple[int], np.dtype[np.intp]], skip: Mask
) -> set[int]:
    """Of the labelled rows those in which some measure is the sum of the rows before: all, or since the last one."""
    found: set[int] = set()
    for values in measures:
        running = np.concatenate([[0.0], np.cumsum(np.where(skip | ~np.isfinite(values), 0.0, values))])
        last = 0
        for row in rows:
            value = values[row]
            is_since = row - last >= _FEWEST_SUMMED and _is_close(value, running[row] - running[last])
            if np.isfinite(value) and value and (is_since or _is_close(value, running[row])):
                found.add(int(row))
            last = int(row) + 1
    return found


def _is_close(value: float, total: float) -> bool:
    return abs(value - total) <= _TOLERANCE * abs(value)


def _unlabelled(columns: Sequence[TypedColumn], measures: Sequence[Floats], ignored: Mask) -> tuple[Mask, list[Oddity]]:
    """A last row without a label, whose figures are the sums of all others."""
    none = np.zeros(len(ignored), bool)
    last = len(ignored) - 1
    if last < 3 or ignored[last]:
        return none, []
    others = [column for column in columns if column.kind not in ("integer", "number")]
    emptied = [column for column in others if column.codes[last] < 0 and not (column.codes[:last] < 0).any()]
    sums = [float(np.where(ignored[:last], 0.0, np.nan_to_num(values[:last])).sum()) for values in measures]
    adding = [
        bool(values[last]) and _is_close(float(values[last]), total)
        for values, total in zip(measures, sums, strict=True)
    ]
    if not emptied or not any(adding):
        return none, []
    none[last] = True
    says = "The last row has no label, but its figures are the sums of all rows before."
    return none, [Oddity(kind="total-rows", says=says, count=1, rows=(last,), severity="problem")]


def _describe_total(column: TypedColumn, rows: np.ndarray[tuple[int], np.dtype[np.int64]], adding_up: int) -> Oddity:
    codes = list(dict.fromkeys(int(column.codes[row]) for row in rows))
    labels = [column.text(code) for code in codes[:40]]
    sums = (
        " Its figures are sums of other rows." if len(rows) == 1 else f" In {adding_up:,} of them the figures add up."
    )
    says = (
        f"{counted(len(rows), 'row')} of {named(column.name)} {'is' if len(rows) == 1 else 'are'} labelled "
        f"{listed(labels)}: {'a sum' if len(rows) == 1 else 'sums'} among the data.{sums if adding_up else ''}"
    )
    return column.oddity("total-rows", says, len(rows), texts=labels, rows=rows, severity="problem")


def find_repeated_headers(columns: Sequence[TypedColumn]) -> Mask:
    """Rows that hold the columns' names."""
    texts = [column for column in columns if column.is_stored_as_text]
    if len(texts) < 2:
        return np.zeros(len(columns[0].codes) if columns else 0, bool)
    same = np.zeros(len(columns[0].codes), np.int64)
    for column in texts:
        name = re.sub(r"\.\d+$", "", column.name).strip()
        codes = np.flatnonzero(as_mask(compute.equal(compute.utf8_trim_whitespace(column.texts), name)))
        same += np.isin(column.codes, codes) if len(codes) else 0
    return same >= max(2, 0.6 * len(texts))


def describe_repeated_headers(rows: Mask) -> list[Oddity]:
    """What to say of headers among the data."""
    indices = np.flatnonzero(rows)
    if not len(indices):
        return []
    says = f"The header is repeated among the data in {counted(len(indices), 'row')}."
    shown = tuple(int(row) for row in indices[:20])
    return [Oddity(kind="repeated-header", says=says, count=len(indices), rows=shown, severity="problem")]


Hashes = npt.NDArray[np.uint64]
_CHANCE: Final = 0.05
_FEWEST_COLUMNS: Final = 3
_NEARLY_UNIQUE: Final = 0.95


def odd_rows(columns: Sequence[StudiedColumn], ignored: Mask) -> list[Oddity]:
    """Everything odd about rows that resemble each other."""
    usable = [column for column in columns if column.typed.kind not in ("empty", "nested")]
    has_any = np.logical_or.reduce([column.typed.codes >= 0 for column in usable])
    rows = np.flatnonzero(has_any & ~ignored)
    if not usable or len(rows) < 2:
        return []
    codes = [column.typed.codes[rows] for column in usable]
    is_key = [_is_key(column, len(rows)) for column in usable]
    # Where some column that is no text has a different value in each row, no two rows are alike.
    if any(
        not skip and column.column.kind != "text" and int(one.max()) + 1 == len(one) and int(one.min()) == 0
        for one, column, skip in zip(codes, usable, is_key, strict=True)
    ):
        return []
    levelled = [_levelled(column)[rows] for column in usable]
    exact = hash_rows(codes)
    alike = exact
    found = _duplicates(exact, codes, rows)
    if any(int(new.max()) < int(old.max()) for new, old in zip(levelled, codes, strict=True)):
        alike = hash_rows(levelled)
        found += _but_for_spelling(exact, alike, rows)
    return found + _but_for_key(usable, is_key, levelled, alike, rows)


def hash_rows(columns: Sequence[Codes]) -> Hashes:
    """One number per row; equal rows have equal ones."""
    hashes = np.zeros(len(columns[0]), np.uint64)
    for index, codes in enumerate(columns):
        mixed = (codes.astype(np.uint64) + np.uint64(index * 2 + 1)) * np.uint64(0x9E3779B97F4A7C15)
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
    for index, codes in enumerate(columns):
        is_telling = int(codes.max()) > 0.5 * size
        kept[b"%d" % index if is_telling else codes.tobytes()] = codes
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
    chance_words = " With so few different values that may be chance." if is_natural else ""
    part, severity = f" ({percent(count, len(rows))})", "note" if is_natural else "warning"
    return [_told("duplicate-rows", f"exactly.{chance_words}", rows[again], part=part, severity=severity)]


def _but_for_spelling(exact: Hashes, levelled: Hashes, rows: Codes) -> list[Oddity]:
    again = repeated(levelled) & ~repeated(exact)
    count = int(again.sum())
    if not count or count > 0.2 * len(rows):
        return []
    return [_told("near-duplicate-rows", "but for case or spaces.", rows[again])]


def _but_for_key(
    columns: Sequence[StudiedColumn], is_key: Sequence[bool], codes: Sequence[Codes], alike: Hashes, rows: Codes
) -> list[Oddity]:
    rest = [one for one, skip in zip(codes, is_key, strict=True) if not skip]
    if not any(is_key) or len(rest) < _FEWEST_COLUMNS or expected_pairs(rest) > _CHANCE:
        return []
    is_empty = np.logical_and.reduce([one < 0 for one in rest])
    again = repeated(hash_rows(rest)) & ~repeated(alike) & ~is_empty
    count = int(again.sum())
    if not count or count > 0.2 * len(rows):
        return []
    key = next(column.column.name for column, skip in zip(columns, is_key, strict=True) if skip)
    return [_told("near-duplicate-rows", f"in everything but {named(key)}.", rows[again], column=key)]


def _is_key(column: StudiedColumn, rows: int) -> bool:
    is_id = column.column.meaning == "id" or (column.column.kind == "integer" and column.column.is_unique)
    return is_id and column.column.distinct >= _NEARLY_UNIQUE * rows


def _told(
    kind: OddityKind, how: str, rows: Codes, *, part: str = "", severity: Severity = "warning", column: str = ""
) -> Oddity:
    verb = "repeats" if len(rows) == 1 else "repeat"
    says = f"{counted(len(rows), 'row')}{part} {verb} an earlier row {how}"
    shown = tuple(int(row) for row in rows[:20])
    return Oddity(kind=kind, says=sentence(says), column=column, count=len(rows), rows=shown, severity=severity)


def _levelled(column: StudiedColumn) -> Codes:
    """Codes in which texts that differ only in case and spaces are one."""
    typed = column.typed
    if typed.kind != "text" or column.column.meaning == "id":
        return typed.codes
    texts = compute.utf8_trim_whitespace(compute.utf8_lower(typed.texts))
    if as_mask(compute.match_substring(texts, "  ")).any():
        texts = compute.replace_substring_regex(texts, " +", " ")
    return np.append(encode(texts)[0], -1)[typed.codes]
