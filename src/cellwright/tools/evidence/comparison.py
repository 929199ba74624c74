"""What two versions of a document differ in, line by line, bounded. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from difflib import SequenceMatcher
from typing import Final

from cellwright.documents.document import Page

_MOST_LINES: Final = 6_000
"""Of each: comparing takes the product of both."""


def compared_text(one: Sequence[Page], other: Sequence[Page], first: int, characters: int) -> str:
    """The changes from this one on (they count from 1), each with the page it stands on in both."""
    left, right = _lines(one), _lines(other)
    a, b = ([line for _, line in lines[:_MOST_LINES]] for lines in (left, right))
    groups = list(SequenceMatcher(None, a, b, autojunk=len(a) + len(b) > _MOST_LINES // 2).get_grouped_opcodes(1))
    told = list[str]()
    if max(len(left), len(right)) > _MOST_LINES:
        told.append(f"Only the first {_MOST_LINES:,} lines were compared.")
    used = 0
    for number, group in enumerate(groups[first - 1 :], first):
        text = _change(number, group, left, right)
        used += len(text)
        if used > characters and number > first:
            told.append(f"It goes on: from_change={number} of {len(groups)}.")
            break
        told.append(text[:characters])
    else:
        told.append(f"That is all: {len(groups)} change{'' if len(groups) == 1 else 's'}.")
    return "\n".join(told)


def _change(
    number: int,
    group: Sequence[tuple[str, int, int, int, int]],
    left: Sequence[tuple[int, str]],
    right: Sequence[tuple[int, str]],
) -> str:
    pages = [lines[at][0] if at < len(lines) else 0 for lines, at in ((left, group[0][1]), (right, group[0][3]))]
    told = [f"— change {number}, page {pages[0]} of a, page {pages[1]} of b —"]
    for kind, start, end, other_start, other_end in group:
        told += [f"  {line}" for _, line in left[start:end]] if kind == "equal" else []
        told += [f"- {line}" for _, line in left[start:end]] if kind in {"replace", "delete"} else []
        told += [f"+ {line}" for _, line in right[other_start:other_end]] if kind in {"replace", "insert"} else []
    return "\n".join(told)


def _lines(pages: Sequence[Page]) -> list[tuple[int, str]]:
    """Each with its page, and without what only sets it off."""
    return [
        (page.number, line) for page in pages for each in page.text.splitlines() if (line := " ".join(each.split()))
    ]
