"""Rows that are no observations: sums of other rows, and headers among the data."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

import numpy as np

from cellwright_guest.profiling.numbers import as_mask
from cellwright_guest.profiling.records import Oddity
from cellwright_guest.profiling.typed import Floats, Mask, Typed, compute
from cellwright_guest.profiling.wording import counted, cut, listed, named, sentence

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


def find_totals(columns: Sequence[Typed], *, ignored: Mask, is_sampled: bool) -> tuple[Mask, list[Oddity]]:
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
        kept = np.array([row for row in rows if row in certain or _is_strong(column.text(column.codes[row]))], np.int64)
        if len(kept) - len(certain) > max(1, _MOST_UNPROVEN * len(labelled)):
            continue
        if len(kept):
            totals[kept] = True
            oddities.append(_told(column, kept, len(adds_up & set(kept.tolist()))))
    if not oddities and measures:
        return _unlabelled(columns, measures, ignored)
    return totals, oddities


def _labelled(column: Typed) -> Mask:
    if not column.is_stored_as_text and column.kind != "text":
        return np.zeros(len(column.codes), bool)
    able = np.arange(len(column.texts)) if column.values is None else np.flatnonzero(np.isnan(column.values))
    heads = compute.utf8_slice_codeunits(column.texts.take(able), 0, _LONGEST_LABEL + 1)
    words = "|".join(re.escape(word) for word in sorted(TOTAL_WORDS))
    found = as_mask(compute.match_substring_regex(compute.utf8_lower(heads), _LABEL.format(words=words)))
    return np.isin(column.codes, able[found]) if found.any() else np.zeros(len(column.codes), bool)


def _is_strong(label: str) -> bool:
    return label.strip().lower() in STRONG_WORDS


def _emptied(columns: Sequence[Typed], rows: np.ndarray[tuple[int], np.dtype[np.intp]]) -> set[int]:
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
            since, all_before = running[row] - running[last], running[row]
            if np.isfinite(value) and value and row - last >= _FEWEST_SUMMED:
                if _is_close(value, since) or _is_close(value, all_before):
                    found.add(int(row))
            elif np.isfinite(value) and value and _is_close(value, all_before):
                found.add(int(row))
            last = int(row) + 1
    return found


def _is_close(value: float, total: float) -> bool:
    return abs(value - total) <= _TOLERANCE * abs(value)


def _unlabelled(columns: Sequence[Typed], measures: Sequence[Floats], ignored: Mask) -> tuple[Mask, list[Oddity]]:
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


def _told(column: Typed, rows: np.ndarray[tuple[int], np.dtype[np.int64]], adding_up: int) -> Oddity:
    codes = list(dict.fromkeys(int(column.codes[row]) for row in rows))
    labels = [column.text(code) for code in codes[:40]]
    sums = (
        " Its figures are sums of other rows." if len(rows) == 1 else f" In {adding_up:,} of them the figures add up."
    )
    says = (
        f"{counted(len(rows), 'row')} of {named(column.name)} {'is' if len(rows) == 1 else 'are'} labelled "
        f"{listed(labels)}: {'a sum' if len(rows) == 1 else 'sums'} among the data.{sums if adding_up else ''}"
    )
    return Oddity(
        kind="total-rows",
        column=column.name,
        says=sentence(says),
        count=len(rows),
        examples=tuple(cut(label) for label in labels[:5]),
        values=tuple(labels),
        rows=tuple(int(row) for row in rows[:20]),
        severity="problem",
    )


def find_repeated_headers(columns: Sequence[Typed]) -> Mask:
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


def tell_repeated_headers(rows: Mask) -> list[Oddity]:
    """What to say of headers among the data."""
    places = np.flatnonzero(rows)
    if not len(places):
        return []
    says = f"The header is repeated among the data in {counted(len(places), 'row')}."
    shown = tuple(int(row) for row in places[:20])
    return [Oddity(kind="repeated-header", says=says, count=len(places), rows=shown, severity="problem")]
