"""The files a notebook left: read from the layers its cage handed over, in the order in which they are applied.

Read on the host, after all processes of the cage had ended; places of the project are opened through no link.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from cellwright.sandbox.linux import syscalls
from cellwright.sandbox.spec import PROTECTED

ChangeKind = Literal["created", "modified", "deleted"]
ChangeWhat = Literal["file", "directory", "symlink"]

_DIRECTORY = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
# Without waiting: a named pipe would wait for its other end.
_FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_NAMED = os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC


@dataclass(frozen=True, slots=True, kw_only=True)
class FileChange:
    """One difference between the project and what the notebook left."""

    path: str
    kind: ChangeKind
    bytes: int
    what: ChangeWhat = "file"
    mode: int = 0o644
    target: str = ""
    """Where a symbolic link points."""


class MissingLeftFile(Exception):
    """There is no such plain file in the layers; the message says why."""


class LeftFiles:
    """Layers, newest first: a file is found in the first that has it. Owns and closes their descriptors."""

    def __init__(self, layers: Sequence[int], *, is_in_memory: bool) -> None:
        self._layers = [_LayerReader(descriptor) for descriptor in layers]
        if is_in_memory and not all(syscalls.is_on_tmpfs(descriptor) for descriptor in layers):
            self.close()
            raise MissingLeftFile("what the cage handed over is not its own")

    def open(self, parents: Sequence[str], name: str) -> tuple[int, os.stat_result]:
        """A plain file, open, which you close; `MissingLeftFile` or `OSError` if it cannot be had."""
        for layer in self._layers:
            try:
                return layer.open(parents, name)
            except FileNotFoundError:
                continue
        raise MissingLeftFile("the cage does not have it")

    def close(self) -> None:
        """Let go of the layers."""
        for layer in self._layers:
            layer.close()


class _LayerReader:
    """One tree. The directories on the way to the last file stay open: most files lie beside the one before."""

    def __init__(self, root: int) -> None:
        self._device = os.fstat(root).st_dev
        self._names: list[str] = []
        self._open = [root]

    def open(self, parents: Sequence[str], name: str) -> tuple[int, os.stat_result]:
        if self._names != parents:
            self._go_to(parents)
        try:
            descriptor = os.open(name, _FILE, dir_fd=self._open[-1])
        except PermissionError:
            self._make_readable(name)
            descriptor = os.open(name, _FILE, dir_fd=self._open[-1])
        status = os.fstat(descriptor)
        # A mount in there would lead elsewhere.
        if not stat.S_ISREG(status.st_mode) or status.st_dev != self._device:
            os.close(descriptor)
            raise MissingLeftFile("it is no plain file")
        return descriptor, status

    def close(self) -> None:
        while self._open:
            os.close(self._open.pop())

    def _go_to(self, parents: Sequence[str]) -> None:
        common = 0
        while common < min(len(self._names), len(parents)) and self._names[common] == parents[common]:
            common += 1
        while len(self._names) > common:
            self._names.pop()
            os.close(self._open.pop())
        for name in parents[common:]:
            try:
                inner = os.open(name, _DIRECTORY, dir_fd=self._open[-1])
            except PermissionError:
                self._make_readable(name)
                inner = os.open(name, _DIRECTORY, dir_fd=self._open[-1])
            self._open.append(inner)
            self._names.append(name)

    def _make_readable(self, name: str) -> None:
        """A notebook may take the rights to read from its own files; its user is ours, so we may give them back."""
        named = os.open(name, _NAMED, dir_fd=self._open[-1])
        try:
            status = os.fstat(named)
            mode = status.st_mode
            if not stat.S_ISLNK(mode) and status.st_dev == self._device:
                # There is no way to change the mode of a file that is only named, but through here.
                os.chmod(f"/proc/self/fd/{named}", stat.S_IMODE(mode) | stat.S_IRUSR | stat.S_IXUSR)  # noqa: PTH101
        finally:
            os.close(named)


_RESOLVE_NO_MAGICLINKS, _RESOLVE_NO_SYMLINKS, _RESOLVE_BENEATH = 0x2, 0x4, 0x8
_RESOLVE = _RESOLVE_NO_MAGICLINKS | _RESOLVE_NO_SYMLINKS | _RESOLVE_BENEATH
DIRECTORY = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_DEFAULT_ACL = "system.posix_acl_default"


@dataclass(frozen=True, slots=True, kw_only=True)
class KeepPlan:
    """Changes in the order in which they are applied."""

    new: list[FileChange]
    gone_first: list[FileChange]
    """They make room: a file is where the project has a directory, or the other way round."""
    gone_last: list[FileChange]
    in_the_way: frozenset[str]

    @classmethod
    def of(cls, changes: Sequence[FileChange]) -> KeepPlan:
        """What takes nothing away before what does, but for what is in the way."""
        gone = [change for change in changes if change.kind == "deleted"]
        new = [change for change in changes if change.kind != "deleted"]
        there = {change.path: change.what for change in new} if gone else {}
        in_the_way: set[str] = set()
        for change in sorted(gone, key=lambda change: len(change.path)):
            above = change.path.rpartition("/")[0]
            if change.path in there or above in in_the_way or there.get(above, "directory") != "directory":
                in_the_way.add(change.path)
        return cls(
            new=new,
            gone_first=[change for change in gone if change.path in in_the_way],
            gone_last=[change for change in gone if change.path not in in_the_way],
            in_the_way=frozenset(in_the_way),
        )


def open_beneath(root: int, parts: Sequence[str]) -> int:
    """A directory below, following no link."""
    if not parts:
        return os.dup(root)
    try:
        return syscalls.openat2(root, "/".join(parts), DIRECTORY, 0, _RESOLVE)
    except OSError as error:
        if error.errno != errno.ENOSYS:
            raise
    # Without openat2: step by step.
    here = os.dup(root)
    for name in parts:
        try:
            inner = os.open(name, DIRECTORY, dir_fd=here)
        finally:
            os.close(here)
        here = inner
    return here


def inherited(folder: int) -> tuple[object, ...]:
    """What tells folders apart: things move only within a mount, and take group and access from where they are made."""
    status = os.fstat(folder)
    try:
        acl = os.getxattr(folder, _DEFAULT_ACL)
    except OSError:
        acl = b""
    # The same file system may be mounted twice; only here the two can be told apart.
    lines = Path(f"/proc/self/fdinfo/{folder}").read_text().splitlines()
    mount = [line for line in lines if line.startswith("mnt_id")]
    return (status.st_dev, *mount, status.st_gid if status.st_mode & stat.S_ISGID else None, acl)


def status_of(directory: int, name: str) -> os.stat_result | None:
    """What is there, or None; a link itself, not what it leads to."""
    try:
        return os.stat(name, dir_fd=directory, follow_symlinks=False)
    except FileNotFoundError:
        return None


def stays_inside(parts: list[str], target: str) -> bool:
    """Only leading `..` and no more than there are directories: `..` after a name could leave through another link."""
    if not target or target.startswith("/") or "\0" in target:
        return False
    steps = [step for step in target.split("/") if step not in {"", "."}]
    ups = 0
    while ups < len(steps) and steps[ups] == "..":
        ups += 1
    names = {step.casefold() for step in steps[ups:]}
    return ups < len(parts) and ".." not in names and not names & set(PROTECTED)
