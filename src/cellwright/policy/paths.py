"""Paths as they are judged: absolute, without `.` and doubled slashes.

Never with `..`; and wildcards over any sequence.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final, TypeVar

_Part = TypeVar("_Part")


def matches_wild(
    pattern: Sequence[_Part], items: Sequence[str], *, star: _Part, matches_one: Callable[[_Part, str], bool]
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


_UNSUPPORTED: Final = re.compile(r"[\[\]{}\\]")


def parse_path(text: str, project: str) -> str | None:
    """The absolute path, a relative one being in `project`; None for one that names no place for sure."""
    if not text or "\0" in text:
        return None
    parts = [
        part for part in (text if text.startswith("/") else f"{project}/{text}").split("/") if part not in ("", ".")
    ]
    return None if ".." in parts else "/" + "/".join(parts)


def is_within(path: str, folder: str) -> bool:
    """Whether an absolute path is the folder or lies in it."""
    return path == folder or path.startswith(folder.rstrip("/") + "/")


@dataclass(frozen=True, slots=True, kw_only=True)
class PathPattern:
    """Which paths a rule means: folders and names with `*` and `?`, and `**` for any number of folders."""

    parts: tuple[str, ...]

    def matches(self, path: str) -> bool:
        """Whether an absolute path fits."""
        items = [part for part in path.split("/") if part]
        return matches_wild(self.parts, items, star="**", matches_one=matches_glob)


def parse_path_pattern(text: str, *, project: str, home: str) -> PathPattern | str:
    """A pattern, or what is wrong with it. Relative ones are in the project, `~/` is the person's home."""
    if found := _UNSUPPORTED.search(text):
        return f"has {found.group()!r}, which patterns do not know; `?` stands for any one character"
    if text == "~" or text.startswith("~/"):
        if not home:
            return "starts with `~`, and no home folder is known here"
        text = f"{home}/{text[2:]}"
    elif text.startswith(("~", "!")):
        return f"starts with {text[0]!r}; write `./{text}` for a file of that name"
    path = parse_path(text, project)
    if path is None:
        return "is empty, has `..` or a NUL"
    parts = tuple(part for part in path.split("/") if part)
    if any("**" in part and part != "**" for part in parts):
        return "has `**` beside other characters; it must stand alone between slashes"
    return PathPattern(parts=parts)
