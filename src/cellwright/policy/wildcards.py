"""Wildcards over any sequence: characters of a name, folders of a path, arguments of a command."""

from __future__ import annotations

from collections.abc import Callable, Sequence


def matches_wild(
    pattern: Sequence[str], items: Sequence[str], *, star: str, matches_one: Callable[[str, str], bool]
) -> bool:
    """Whether `items` fit `pattern`, in which `star` stands for any number of items.

    Only the latest star is ever widened, so it takes at most `len(pattern) * len(items)` steps.
    """
    at, item, last_star, resume = 0, 0, -1, 0
    while item < len(items):
        if at < len(pattern) and pattern[at] == star:
            last_star, resume = at, item
            at += 1
        elif at < len(pattern) and matches_one(pattern[at], items[item]):
            at, item = at + 1, item + 1
        elif last_star >= 0:
            resume += 1
            at, item = last_star + 1, resume
        else:
            return False
    return all(part == star for part in pattern[at:])


def matches_glob(pattern: str, name: str) -> bool:
    """Whether a name fits a pattern of `*` (any characters) and `?` (one character)."""
    # pyrefly: ignore[string-as-iterable]  # its items are its characters
    return matches_wild(pattern, name, star="*", matches_one=lambda one, character: one in ("?", character))
