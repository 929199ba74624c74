"""What of a project is copied for a kernel that cannot have the real files, and whether it fits.

What git ignores stays behind, and so do virtual environments: a checkout with its `.venv` would otherwise be fifty
thousand files. What is tracked, revealed by a person, or holds the notebook itself comes along all the same.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import Final, Literal

from cellwright.errors import UserError
from cellwright.remedies import Hint, hint_after, remedy
from cellwright.sandbox.host.git_files import Unsound
from cellwright.sandbox.host.git_repository import Repository, find_repository
from cellwright.sandbox.host.gitignore import IgnoreRule, rules_in, tracked_files, verdict
from cellwright.sandbox.spec import MEGABYTE, Limits

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
