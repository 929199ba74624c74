"""What a notebook changed in a plain copy of its project, by a walk before its kernel ran and one after."""

# Plain paths and descriptors: this runs in a cage's first process.

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass

from cellwright.sandbox.linux.descriptors import DIRECTORY, closing, opened

RawChange = tuple[str, str, str, int, int]
"""Path, created|modified|deleted, file|directory|symlink:target, bytes, mode."""


@dataclass(frozen=True, slots=True)
class CopyView:
    """A plain copy of the project and what it was like before the kernel ran."""

    upper: int
    before: dict[str, tuple[int, ...]]

    @classmethod
    def of(cls, copy: int) -> CopyView:
        """Remember the copy as it is now."""
        return cls(copy, {path: _mark(status) for path, status in _walk(copy, "")})


def copy_changes(view: CopyView, ignored: set[str]) -> Iterator[RawChange]:
    """Every difference of the copy from what it was like before, deletions first."""
    now = dict(_walk(view.upper, ""))
    both = view.before.keys() & now.keys()
    # A directory where something else was, or the other way round: the old one has to go first.
    replaced = {path for path in both if stat.S_ISDIR(view.before[path][0]) != stat.S_ISDIR(now[path].st_mode)}
    for path in sorted((view.before.keys() - now.keys() | replaced) - ignored, reverse=True):
        what = "directory" if stat.S_ISDIR(view.before[path][0]) else "file"
        yield (path, "deleted", what, 0, 0)
    for path, status in sorted(now.items()):
        before, mode = None if path in replaced else view.before.get(path), stat.S_IMODE(status.st_mode)
        if path in ignored or before == _mark(status):
            continue
        kind = "created" if before is None else "modified"
        if stat.S_ISDIR(status.st_mode):
            if kind == "created":
                yield (path, "created", "directory", 0, mode)
        elif stat.S_ISLNK(status.st_mode):
            target = os.readlink(path, dir_fd=view.upper)
            yield (path, kind, f"symlink:{target}", len(os.fsencode(target)), mode)
        elif stat.S_ISREG(status.st_mode):
            yield (path, kind, "file", status.st_size, mode)


def _mark(status: os.stat_result) -> tuple[int, ...]:
    """Directories change whenever something in them does, which is told elsewhere."""
    if stat.S_ISDIR(status.st_mode):
        return (stat.S_IFDIR,)
    return (status.st_mode, status.st_size, status.st_ino, status.st_mtime_ns, status.st_ctime_ns)


def _walk(directory: int, prefix: str) -> Iterator[tuple[str, os.stat_result]]:
    with os.scandir(directory) as entries:
        found = [(entry.name, entry.stat(follow_symlinks=False)) for entry in entries]
    for name, status in found:
        yield prefix + name, status
        if stat.S_ISDIR(status.st_mode):
            try:
                inner = os.open(name, DIRECTORY, dir_fd=directory)
            except OSError:
                continue
            with closing(inner):
                yield from _walk(inner, f"{prefix}{name}/")


def disk_use(directory: str) -> tuple[int, int]:
    """Bytes and number of files below a directory."""
    size = files = 0
    with opened(directory) as top, suppress(OSError):
        for _, status in _walk(top, ""):
            size += status.st_blocks * 512
            files += 1
    return size, files
