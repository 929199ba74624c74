"""Paths as they are judged: absolute, without `.` and doubled slashes, and never with `..`.

Nothing here asks the file system, so a link cannot be followed: whoever makes an action gives the real path. `..` is
refused rather than undone, because behind a link it leads elsewhere than its spelling says.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from cellwright.policy.wildcards import matches_glob, matches_wild

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
