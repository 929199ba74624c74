"""Oddities of labels: spellings of one thing, spaces around, one label that is nearly everything."""

from __future__ import annotations

import re
import unicodedata
from collections import defaultdict
from collections.abc import Sequence
from typing import Final

import numpy as np

from cellwright_guest.profiling.numbers import as_mask
from cellwright_guest.profiling.records import Oddity
from cellwright_guest.profiling.typed_column import Codes, TypedColumn, compute
from cellwright_guest.profiling.wording import counted, named, percent, quoted

_MOST_LABELS: Final = 5_000
_MOST_COMPARED: Final = 300
_MOST_GROUPS: Final = 12
_SHORTEST_MISSPELT: Final = 5
_SHORTEST_TWICE: Final = 10
_RARE: Final = 0.1


def odd_labels(typed: TypedColumn, *, is_category: bool, is_short: bool) -> list[Oddity]:
    """Everything odd about the labels of a column of text; of names that hardly repeat, only what is certain."""
    counts = typed.counts()
    found = _spaces(typed, counts)
    if is_category or is_short:
        found += _near_duplicates(typed, counts, with_slips=is_category)
    return found + (_unbalanced(typed, counts) if is_category else [])


def _spaces(typed: TypedColumn, counts: Codes) -> list[Oddity]:
    padded = as_mask(compute.not_equal(typed.texts, compute.utf8_trim_whitespace(typed.texts))) & (counts > 0)
    codes = np.flatnonzero(padded)
    count = int(counts[codes].sum())
    if not count:
        return []
    texts = typed.some_texts(codes, 40)
    says = f"{named(typed.name)} has spaces around its text in {counted(count, 'row')}, such as {quoted(texts[0])}."
    return [typed.oddity("spaces-around", says, count, texts=texts, codes=codes)]


def _unbalanced(typed: TypedColumn, counts: Codes) -> list[Oddity]:
    total, distinct = int(counts.sum()), int((counts > 0).sum())
    if total < 50 or distinct < 2 or counts.max() < 0.95 * total:
        return []
    label = typed.text(int(counts.argmax()))
    says = f"{named(typed.name)} is {quoted(label)} in {percent(int(counts.max()), total)} of the rows."
    return [typed.oddity("unbalanced", says, int(counts.max()), severity="note")]


# ── spellings of one thing ──


def level(label: str) -> str:
    """A label without case, accents, punctuation and needless spaces."""
    plain = unicodedata.normalize("NFKD", label.casefold())
    letters = "".join(letter for letter in plain if not unicodedata.combining(letter))
    words = re.sub(r"[^\w]+", " ", letters.replace("&", " and ").replace("_", " "))
    return " ".join(words.split())


def _near_duplicates(typed: TypedColumn, counts: Codes, *, with_slips: bool) -> list[Oddity]:
    there = np.flatnonzero(counts)
    if not 2 <= len(there) <= _MOST_LABELS:
        return []
    labels: dict[str, int] = defaultdict(int)
    for code in there:
        labels[typed.text(code)] += int(counts[code])
    return [_told(typed, group, labels) for group in spellings(labels, with_slips=with_slips)[:_MOST_GROUPS]]


def spellings(labels: dict[str, int], *, with_slips: bool) -> list[tuple[str, ...]]:
    """Groups of labels that are most likely one, the commonest of each first; the largest groups first."""
    by_level: dict[str, list[str]] = defaultdict(list)
    for label in labels:
        by_level[level(label) or label].append(label)
    weights = {key: sum(labels[label] for label in group) for key, group in by_level.items()}
    joined = _misspelt(weights) if with_slips else {}
    groups: dict[str, list[str]] = defaultdict(list)
    for key, group in by_level.items():
        groups[joined.get(key, key)] += group
    sorted_groups = [
        tuple(sorted(group, key=lambda label: (-labels[label], label)))
        for group in groups.values()
        if len({label.strip() for label in group}) > 1
    ]
    return sorted(sorted_groups, key=lambda group: (-sum(labels[label] for label in group), group))


def _misspelt(weights: dict[str, int]) -> dict[str, str]:
    """Rare labels that are a slip away from a common one: rare → common."""
    if len(weights) > _MOST_COMPARED:
        return {}
    keys = sorted(weights, key=lambda key: (-weights[key], key))
    joined: dict[str, str] = {}
    for index, rare in enumerate(keys):
        for common in keys[:index]:
            if common not in joined and weights[rare] <= _RARE * weights[common] and is_slip(common, rare):
                joined[rare] = common
                break
    return joined


def is_slip(right: str, wrong: str) -> bool:
    """Whether one word of several was misspelt: one letter, or two in long ones; never digits."""
    first, second = right.split(), wrong.split()
    if len(first) != len(second):
        return False
    differing = [(one, other) for one, other in zip(first, second, strict=True) if one != other]
    if len(differing) != 1:
        return False
    one, other = differing[0]
    if any(letter.isdigit() for letter in one + other) or min(len(one), len(other)) < _SHORTEST_MISSPELT:
        return False
    most = 2 if min(len(one), len(other)) >= _SHORTEST_TWICE else 1
    return abs(len(one) - len(other)) <= most and distance(one, other) <= most


def distance(one: str, other: str) -> int:
    """Letters changed, dropped, added, or two neighbours swapped."""
    before: Sequence[int] = []
    row = list(range(len(other) + 1))
    for i, letter in enumerate(one, 1):
        before_that, before = before, row
        row = [i] + [0] * len(other)
        for j, wanted in enumerate(other, 1):
            row[j] = min(before[j] + 1, row[j - 1] + 1, before[j - 1] + (letter != wanted))
            if i > 1 and j > 1 and letter == other[j - 2] and one[i - 2] == wanted:
                row[j] = min(row[j], before_that[j - 2] + 1)
    return row[-1]


def _told(typed: TypedColumn, group: tuple[str, ...], labels: dict[str, int]) -> Oddity:
    told = ", ".join(f"{quoted(label)} ({labels[label]:,})" for label in group[:4])
    more = f" and {len(group) - 4:,} more" if len(group) > 4 else ""
    count = sum(labels[label] for label in group[1:])
    says = f"{named(typed.name)} spells what is most likely one label in {len(group)} ways: {told}{more}."
    return typed.oddity("near-duplicate-labels", says, count, texts=group[:40])
