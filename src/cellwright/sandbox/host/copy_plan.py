"""What of a project is copied for a kernel that cannot have the real files, and whether it fits.

What git ignores stays behind, and so do virtual environments: a checkout with its `.venv` would otherwise be fifty
thousand files. What is tracked, revealed by a person, or holds the notebook itself comes along all the same.

What git would ignore is told by its `.gitignore` files alone: no git runs, and nobody's settings are read. A project is
a stranger's: rules are bounded in number and length, links to rule files are not followed (as git does), and no pattern
can make matching slow.
"""

from __future__ import annotations

import fnmatch
import os
import re
import shutil
import struct
import tempfile
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path, PurePosixPath
from typing import Final, Literal

from cellwright.errors import UserError
from cellwright.policy.paths import matches_wild
from cellwright.remedies import Hint, hint_after, remedy
from cellwright.sandbox.host.git_files import Unsound
from cellwright.sandbox.host.git_repository import Repository, find_repository
from cellwright.sandbox.linux.descriptors import FILE
from cellwright.sandbox.spec import MEGABYTE, Limits

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
    matching = (rule for rule in reversed(rules) if rule.matches(parts, is_directory=is_directory))
    return next((not rule.is_exception for rule in matching), None)


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


_NO_NAMESPACES: Final = "Without user namespaces a notebook works on a copy; the doctor says how to do without one."
_VOLUMES: Final = (
    "Something is mounted inside this project, so a notebook works on a copy of the rest; it does not when started as "
    "root, or when that is mounted elsewhere and given as data."
)
_NAMED: Final = 3
"""Limit of directories that a refusal names."""

_Mode = Literal["by rules", "everything", "listed"]
"""Of a directory: what the rules let through, all of it, or only what was asked for by name."""
_Level = tuple[int, tuple[IgnoreRule, ...]]
"""The rules of one file, and how many parts of a path lie above its directory."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CopyPlan:
    """What is left out of a copy, and how much the rest is."""

    left_out: tuple[str, ...] = ()
    """Paths relative to the project; nothing below them is copied."""
    files: int = 0
    bytes: int = 0
    largest: tuple[tuple[str, int, int], ...] = ()
    """The places directly in the project that hold most: name, files, bytes."""

    def check(self, project: Path, limits: Limits, *, has_volumes: bool = False) -> None:
        """`UserError` if it does not fit into the limits, or not on the disk. Blocking.

        `has_volumes`: it is copied into memory, only because something is mounted inside it.
        """
        if self.files > limits.inodes or self.bytes > limits.disk_mb * MEGABYTE:
            most = f"{limits.inodes:,} files and {limits.disk_mb:,} MB are allowed"
            why = _VOLUMES if has_volumes else _NO_NAMESPACES
            raise self._too_big(project, most, why, remedy("raise_limit", limits="disk inodes"))
        if has_volumes:
            return
        place = Path(tempfile.gettempdir())
        free = shutil.disk_usage(place).free
        if self.bytes > free:
            most = f"{free // MEGABYTE:,} MB are free at {str(place)!r}"
            raise self._too_big(project, most, _NO_NAMESPACES, "give that place more room.")

    def _too_big(self, project: Path, most: str, why: str, last: Hint) -> UserError:
        named = ", ".join(f"{name} ({files:,} files, {size // MEGABYTE:,} MB)" for name, files, size in self.largest)
        return UserError(
            f"The project {str(project)!r} is too big to be copied for its notebook: {self.files:,} files and "
            f"{self.bytes // MEGABYTE:,} MB, where {most}. Most is in {named}.",
            hint=hint_after(
                f"{why} Add to .gitignore what the notebook does not need, name a smaller project, or", last
            ),
        )


def plan_copy(
    project: Path, *, needed: Iterable[str] = (), reveal: Sequence[str] = (), skipped: Iterable[str] = ()
) -> CopyPlan:
    """What a copy of the project would hold. Blocking: looks at every file that is not ignored.

    `needed` are files whose directories are not ignored whatever a rule says; `reveal` are paths a person asked for;
    `skipped` are never copied for another reason, and not counted.
    """
    walk = _Walk.of(project, needed=needed, reveal=reveal, skipped=skipped)
    walk.look(project, (), walk.above, "by rules")
    largest = sorted(walk.bytes, key=lambda name: (walk.bytes[name], walk.files[name]), reverse=True)[:_NAMED]
    return CopyPlan(
        left_out=tuple(sorted(walk.left_out)),
        files=walk.files.total(),
        bytes=walk.bytes.total(),
        largest=tuple((name, walk.files[name], walk.bytes[name]) for name in largest),
    )


@dataclass(slots=True, kw_only=True)
class _Walk:
    """One walk over a project."""

    above: tuple[_Level, ...]
    kept: frozenset[str]
    """Tracked and revealed paths."""
    on_the_way: frozenset[str]
    """The directories that lead to those."""
    open: frozenset[str]
    """The directories that lead to what is needed: no rule closes them."""
    revealed: frozenset[str]
    skipped: frozenset[str]
    prefix: tuple[str, ...]
    """The directories between the working tree's root and the project."""
    left_out: list[str] = field(default_factory=list[str])
    files: Counter[str] = field(default_factory=Counter[str])
    bytes: Counter[str] = field(default_factory=Counter[str])

    @classmethod
    def of(cls, project: Path, *, needed: Iterable[str], reveal: Sequence[str], skipped: Iterable[str]) -> _Walk:
        repository = _repository_of(project)
        prefix = PurePosixPath(repository.prefix).parts if repository is not None else ()
        tracked = _tracked(repository)
        revealed = frozenset(path.strip("/") for path in reveal)
        return cls(
            above=_rules_above(repository, prefix),
            kept=tracked | revealed,
            on_the_way=_parents(tracked | revealed),
            open=_parents(needed),
            revealed=revealed,
            skipped=frozenset(skipped),
            prefix=prefix,
        )

    def look(self, directory: Path, parts: tuple[str, ...], levels: tuple[_Level, ...], mode: _Mode) -> None:
        """Everything in one directory of the project and below it."""
        if mode == "by rules" and (own := rules_in(directory)):
            levels = (*levels, (len(self.prefix) + len(parts), own))
        try:
            entries = os.scandir(directory)
        except OSError:
            return
        with entries:
            for entry in entries:
                here = (*parts, entry.name)
                path = "/".join(here)
                if path in self.skipped:
                    continue
                is_directory = entry.is_dir(follow_symlinks=False)
                inner = self._mode(path, here, levels, mode, entry if is_directory else None)
                if inner is None:
                    self.left_out.append(path)
                    continue
                self.files[here[0]] += 1
                if is_directory:
                    self.look(directory / entry.name, here, levels, inner)
                elif entry.is_file(follow_symlinks=False):
                    self.bytes[here[0]] += entry.stat(follow_symlinks=False).st_size

    def _mode(
        self,
        path: str,
        here: tuple[str, ...],
        levels: tuple[_Level, ...],
        mode: _Mode,
        directory: os.DirEntry[str] | None,
    ) -> _Mode | None:
        """How to go on with one entry; None: it is left out."""
        if mode == "everything" or path in self.revealed:
            return "everything"
        if directory is None:
            is_in = path in self.kept or (mode == "by rules" and not self._is_ignored(here, levels, is_directory=False))
            return "by rules" if is_in else None
        if path in self.open:
            return "by rules"
        is_environment = os.path.lexists(f"{directory.path}/pyvenv.cfg")
        if mode == "by rules" and not is_environment and not self._is_ignored(here, levels, is_directory=True):
            return "by rules"
        return "listed" if path in self.on_the_way else None

    def _is_ignored(self, here: tuple[str, ...], levels: tuple[_Level, ...], *, is_directory: bool) -> bool:
        """The rules of the nearest file that speaks of it decide."""
        whole = (*self.prefix, *here)
        for depth, rules in reversed(levels):
            said = verdict(rules, whole[depth:], is_directory=is_directory)
            if said is not None:
                return said
        return False


def _repository_of(project: Path) -> Repository | None:
    try:
        return find_repository(project)
    except (UserError, Unsound, OSError):
        # Its own rules hold all the same: a folder may be a checkout that somebody copied without its repository.
        return None


def _rules_above(repository: Repository | None, prefix: tuple[str, ...]) -> tuple[_Level, ...]:
    """The rules from outside the project; none if they ignore the project itself, as they then say nothing of it."""
    if repository is None:
        return ()
    levels: list[_Level] = [(0, rules_in(repository.common / "info", "exclude"))]
    directory = repository.top
    for depth, name in enumerate(prefix):
        levels.append((depth, rules_in(directory)))
        directory /= name
    for end in range(1, len(prefix) + 1):
        for depth, rules in reversed(levels[: end + 1]):
            said = verdict(rules, prefix[depth:end], is_directory=True)
            if said is not None:
                if said:
                    return ()
                break
    return tuple(levels)


def _tracked(repository: Repository | None) -> frozenset[str]:
    if repository is None:
        return frozenset()
    above = f"{repository.prefix}/" if repository.prefix else ""
    found = tracked_files(repository.own)
    return frozenset(path.removeprefix(above) for path in found if path.startswith(above))


def _parents(paths: Iterable[str]) -> frozenset[str]:
    return frozenset(
        parent.as_posix() for path in paths for parent in PurePosixPath(path).parents if parent != PurePosixPath()
    )
