"""Copies of project files for where the real ones cannot be used in place, and what a notebook changed in one.

Goes by directory descriptors, follows no link, leaves special files out, and stops at a budget. Changes of a plain copy
are found by a walk before its kernel ran and one after.
"""

from __future__ import annotations

import errno
import os
import shutil
import stat
from collections.abc import Collection, Iterator
from contextlib import suppress
from dataclasses import dataclass

from cellwright.sandbox.linux.descriptors import (
    DIRECTORY,
    FILE,
    NEW_FILE,
    closing,
    open_beneath,
    opened,
    status_of,
)
from cellwright.sandbox.spec import MEGABYTE, Limits

_OPAQUE = "user.overlay.opaque"


@dataclass(slots=True, kw_only=True)
class CopyBudget:
    """What may still be copied."""

    bytes: int
    files: int

    @classmethod
    def of(cls, limits: Limits) -> CopyBudget:
        """As much as a notebook may write."""
        return cls(bytes=limits.disk_mb * MEGABYTE, files=limits.inodes)

    def has_room(self, size: int) -> bool:
        """Whether one more file of this size fits."""
        return self.files >= 1 and self.bytes >= size

    def spend(self, size: int) -> None:
        """Take one file from the budget; `OSError(EFBIG)` when it is used up."""
        if not self.has_room(size):
            raise OSError(errno.EFBIG, "the project is too big to be copied")
        self.files -= 1
        self.bytes -= size


@dataclass(frozen=True, slots=True, kw_only=True)
class Copier:
    """Copies from one project into another place, for one owner."""

    leave_out: Collection[str]
    """Paths relative to the project."""
    owner: tuple[int, int] | None
    """Whom the copies belong to; nobody in particular if we are not root."""
    budget: CopyBudget

    def copy_all(self, source: int, target: int, prefix: str = "") -> None:
        """Everything below `source`; what we may not read is left out."""
        for entry in _entries(source):
            path = prefix + entry.name
            if path in self.leave_out:
                continue
            status = entry.stat(follow_symlinks=False)
            if stat.S_ISDIR(status.st_mode):
                self._copy_directory(source, target, entry.name, path, status)
            elif stat.S_ISLNK(status.st_mode):
                self.budget.spend(0)
                os.symlink(os.readlink(entry.name, dir_fd=source), entry.name, dir_fd=target)
                self._own(target, entry.name)
            elif stat.S_ISREG(status.st_mode):
                self.copy_file(source, target, entry.name, status)

    def _copy_directory(self, source: int, target: int, name: str, path: str, status: os.stat_result) -> None:
        try:
            inner = os.open(name, DIRECTORY, dir_fd=source)
        except PermissionError:
            return
        with closing(inner):
            self.budget.spend(0)
            with closing(self.make_directory(target, name, status)) as copy:
                self.copy_all(inner, copy, f"{path}/")

    def make_directory(self, target: int, name: str, like: os.stat_result) -> int:
        """A new directory with the same mode for its owner, opened."""
        os.mkdir(name, 0o700, dir_fd=target)
        os.chmod(name, (like.st_mode & 0o777) | 0o700, dir_fd=target)
        self._own(target, name)
        return os.open(name, DIRECTORY, dir_fd=target)

    def copy_file(self, source: int, target: int, name: str, status: os.stat_result) -> None:
        """One plain file with its mode and modification time."""
        try:
            reading = os.open(name, FILE, dir_fd=source)
        except PermissionError:
            return
        with closing(reading):
            self.budget.spend(status.st_size)
            with opened(name, NEW_FILE, within=target) as writing:
                left = status.st_size
                while left and (sent := os.sendfile(writing, reading, None, min(left, 1 << 30))):
                    left -= sent
                if self.owner is not None:
                    os.fchown(writing, *self.owner)
                os.fchmod(writing, status.st_mode & 0o777)
                os.utime(writing, ns=(status.st_atime_ns, status.st_mtime_ns))

    def _own(self, target: int, name: str) -> None:
        if self.owner is not None:
            os.chown(name, *self.owner, dir_fd=target, follow_symlinks=False)


class LayerCopier:
    """Copies a layer of an overlay, or scratch space, as it is: also the marks for what is gone or replaced."""

    def copy_all(self, source: int, target: int) -> None:
        """Everything below `source`, which may change meanwhile; what vanishes is left out."""
        for entry in _entries(source):
            try:
                self.copy_one(source, target, entry.name, entry.stat(follow_symlinks=False))
            except FileNotFoundError:
                continue

    def copy_one(self, source: int, target: int, name: str, status: os.stat_result) -> None:
        """One entry with everything below it; a file or a link of this name is replaced, a directory gone into."""
        mode = stat.S_IMODE(status.st_mode)
        if stat.S_ISDIR(status.st_mode):
            self._copy_directory(source, target, name, mode)
        elif stat.S_ISLNK(status.st_mode):
            os.symlink(os.readlink(name, dir_fd=source), name, dir_fd=target)
        elif stat.S_ISREG(status.st_mode):
            self._copy_file(source, target, name, status)
        elif stat.S_ISCHR(status.st_mode) and status.st_rdev == 0:
            os.mknod(name, stat.S_IFCHR, os.makedev(0, 0), dir_fd=target)
        elif stat.S_ISFIFO(status.st_mode):
            os.mkfifo(name, mode, dir_fd=target)

    def _copy_directory(self, source: int, target: int, name: str, mode: int) -> None:
        with opened(name, within=source) as inner:
            with suppress(FileExistsError):
                os.mkdir(name, mode, dir_fd=target)
            with opened(name, within=target) as copy:
                self.copy_all(inner, copy)
                _copy_marks(inner, copy)
                os.fchmod(copy, mode)

    def _copy_file(self, source: int, target: int, name: str, status: os.stat_result) -> None:
        with opened(name, FILE, within=source) as reading, opened(name, NEW_FILE, within=target) as writing:
            while os.sendfile(writing, reading, None, 1 << 30):
                pass
            _copy_marks(reading, writing)
            os.fchmod(writing, stat.S_IMODE(status.st_mode))
            os.utime(writing, ns=(status.st_atime_ns, status.st_mtime_ns))


def _copy_marks(source: int, target: int) -> None:
    for name in os.listxattr(source):
        if name.startswith("user.overlay."):
            os.setxattr(target, name, os.getxattr(source, name))


class ForeignCopier:
    """Finds what belongs to neither the project's owner nor group and copies it into an overlay layer."""

    def __init__(self, copier: Copier, project: os.stat_result) -> None:
        self._copier = copier
        self._owner = (project.st_uid, project.st_gid)

    def copy(self, source: int, target: int, prefix: str = "") -> None:
        """All of it that fits; the rest stays as it is, readable if its mode says so."""
        self._walk(source, _Layer(self._copier, target, None, "", None), prefix)

    def _walk(self, source: int, layer: _Layer, prefix: str) -> None:
        for entry in _entries(source):
            path = prefix + entry.name
            if path in self._copier.leave_out:
                continue
            status = entry.stat(follow_symlinks=False)
            is_foreign = (status.st_uid, status.st_gid) != self._owner
            if stat.S_ISDIR(status.st_mode):
                self._walk_directory(source, layer, entry.name, path, status, is_foreign=is_foreign)
            elif is_foreign and stat.S_ISREG(status.st_mode) and self._copier.budget.has_room(status.st_size):
                self._copier.copy_file(source, layer.descriptor(), entry.name, status)

    def _walk_directory(
        self, source: int, layer: _Layer, name: str, path: str, status: os.stat_result, *, is_foreign: bool
    ) -> None:
        with opened(name, within=source) as inner:
            below = _Layer(self._copier, None, layer, name, status)
            try:
                if is_foreign and status.st_mode & 0o005 != 0o005:
                    # Nobody in the cage could look into it: the copy must stand for all of it.
                    self._copier.copy_all(inner, below.descriptor(), f"{path}/")
                    os.setxattr(below.descriptor(), _OPAQUE, b"y")
                else:
                    if is_foreign:
                        below.descriptor()
                    self._walk(inner, below, f"{path}/")
            finally:
                below.close()


class _Layer:
    """A directory of the layer that is made when something must go into it."""

    def __init__(
        self, copier: Copier, opened: int | None, parent: _Layer | None, name: str, like: os.stat_result | None
    ) -> None:
        self._copier, self._opened, self._parent, self._name, self._like = copier, opened, parent, name, like

    def descriptor(self) -> int:
        if self._opened is None:
            assert self._parent is not None and self._like is not None
            self._opened = self._copier.make_directory(self._parent.descriptor(), self._name, self._like)
        return self._opened

    def close(self) -> None:
        if self._opened is not None:
            os.close(self._opened)


def _entries(directory: int) -> list[os.DirEntry[str]]:
    with os.scandir(directory) as entries:
        return list(entries)


def copy_paths(source: str, target: str, paths: list[str]) -> None:
    """Make each of these paths in one project what it is in another; what is not there goes."""
    for path in paths:
        if any(part in {"", ".", ".."} for part in path.split("/")):
            raise ValueError(f"bad path {path!r}")
    with opened(source) as reading, opened(target) as writing:
        for path in sorted(paths):
            _copy_path(reading, writing, path)


def _copy_path(source: int, target: int, path: str) -> None:
    *parents, name = path.split("/")
    try:
        above = open_beneath(source, parents)
    except (FileNotFoundError, NotADirectoryError):
        _remove(target, parents, name)
        return
    with closing(above):
        if (status := status_of(above, name)) is None:
            _remove(target, parents, name)
            return
        with closing(open_beneath(target, parents, is_made=True)) as beside:
            _remove_entry(beside, name, only_other_than=stat.S_IFMT(status.st_mode))
            LayerCopier().copy_one(above, beside, name, status)


def _remove(directory: int, parents: list[str], name: str) -> None:
    try:
        above = open_beneath(directory, parents)
    except (FileNotFoundError, NotADirectoryError):
        return
    with closing(above):
        _remove_entry(above, name, only_other_than=0)


def _remove_entry(above: int, name: str, *, only_other_than: int) -> None:
    """Whatever has this name, unless both are directories: their contents are told path by path."""
    if (status := status_of(above, name)) is None:
        return
    if not stat.S_ISDIR(status.st_mode):
        os.unlink(name, dir_fd=above)
    elif only_other_than != stat.S_IFDIR:
        shutil.rmtree(name, dir_fd=above)


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
