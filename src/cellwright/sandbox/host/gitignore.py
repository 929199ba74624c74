"""What git would ignore, by its `.gitignore` files alone: no git runs, and nobody's settings are read.

A project is a stranger's: rules are bounded in number and length, links to rule files are not followed (as git does),
and no pattern can make matching slow.
"""

from __future__ import annotations

import fnmatch
import os
import re
import struct
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Final

from cellwright.policy.paths import matches_wild
from cellwright.sandbox.linux.descriptors import FILE

_MOST_RULE_BYTES: Final = 64 << 10
_MOST_RULES: Final = 1_000
"""Limit of rules of one file."""
_MOST_INDEX_BYTES: Final = 64 << 20
_ENTRY_BYTES: Final = 62
"""Size of an index entry with a SHA-1, before the name of its file."""
_EXTENDED: Final = 0x4000


@dataclass(frozen=True, slots=True)
class IgnoreRule:
    """One line of a `.gitignore`."""

    segments: tuple[re.Pattern[str] | None, ...]
    """What each part of a path must match; None stands for `**`: any number of parts."""
    is_anchored: bool
    """Whether it speaks of paths from its file's directory on, and not of names anywhere below it."""
    is_for_directories: bool
    is_exception: bool

    def matches(self, parts: Sequence[str], *, is_directory: bool) -> bool:
        """Whether it speaks of this path, given relative to the directory of its file."""
        if self.is_for_directories and not is_directory:
            return False
        wanted = parts if self.is_anchored else parts[-1:]
        return matches_wild(self.segments, wanted, star=None, matches_one=_matches)


def rules_in(directory: Path, name: str = ".gitignore") -> tuple[IgnoreRule, ...]:
    """The rules of one file, the first first; none where there is no such file. Blocking."""
    return read_rules(_read(directory / name, _MOST_RULE_BYTES).decode("utf-8", "surrogateescape"))


def _read(path: Path, most_bytes: int) -> bytes:
    """The beginning of a file; nothing of one that is a link, or not there."""
    try:
        descriptor = os.open(path, FILE)
    except OSError:
        return b""
    with os.fdopen(descriptor, "rb") as file:
        return file.read(most_bytes)


def read_rules(text: str) -> tuple[IgnoreRule, ...]:
    """The rules a text holds, the first first."""
    rules = (_rule(line) for line in text.removeprefix("\ufeff").split("\n")[:_MOST_RULES])
    return tuple(rule for rule in rules if rule is not None)


def _rule(line: str) -> IgnoreRule | None:
    # Spaces at the end count only behind a backslash.
    line = re.sub(r"(?<!\\) +$", "", line.removesuffix("\r"))
    if not line or line.startswith("#"):
        return None
    is_exception = line.startswith("!")
    line = line.removeprefix("!")
    is_for_directories, line = line.endswith("/"), line.removesuffix("/")
    if not line:
        return None
    parts = line.removeprefix("/").split("/")
    segments = [None if re.fullmatch(r"\*\*+", part) else _segment(part) for part in parts]
    return IgnoreRule(
        # `**/` also stands for no directory at all; at the end of a pattern it stands for something.
        segments=(*segments, _segment("*")) if segments[-1] is None else tuple(segments),
        is_anchored="/" in line,
        is_for_directories=is_for_directories,
        is_exception=is_exception,
    )


def _matches(segment: re.Pattern[str] | None, part: str) -> bool:
    return segment is not None and segment.fullmatch(part) is not None


@cache
def _segment(pattern: str) -> re.Pattern[str]:
    """One part of a pattern. `fnmatch` gives each star an atomic group, which never goes back to try another length."""
    # What fnmatch has no words for: a backslash, and `^` for "none of these".
    plain = re.sub(r"\\(.)", lambda match: f"[{match[1]}]" if match[1] in "*?[" else match[1], pattern)
    return re.compile(fnmatch.translate(plain.replace("[^", "[!")))


def verdict(rules: Sequence[IgnoreRule], parts: Sequence[str], *, is_directory: bool) -> bool | None:
    """Whether these rules of one file ignore the path; None if none of them speaks of it. The last one wins."""
    for rule in reversed(rules):
        if rule.matches(parts, is_directory=is_directory):
            return not rule.is_exception
    return None


def tracked_files(repository: Path) -> frozenset[str]:
    """What is in the index, from the working tree's root on: git ignores none of it. Blocking.

    Empty where the index is of a kind we do not read (compressed names, SHA-256, split): then the rules alone count.
    """
    try:
        return frozenset(_names(_read(repository / "index", _MOST_INDEX_BYTES)))
    except (struct.error, ValueError):
        return frozenset()


def _names(data: bytes) -> list[str]:
    magic, version, count = struct.unpack_from(">4sII", data)
    if magic != b"DIRC" or version not in {2, 3}:
        raise ValueError("not an index that can be read here")
    names: list[str] = []
    at = 12
    for _ in range(count):
        (flags,) = struct.unpack_from(">H", data, at + _ENTRY_BYTES - 2)
        begin = at + _ENTRY_BYTES + (2 if flags & _EXTENDED else 0)
        end = data.index(b"\0", begin)
        names.append(os.fsdecode(data[begin:end]))
        # Entries are padded with one to eight zeros to a multiple of eight.
        at += (end - at + 8) // 8 * 8
    return names
