"""The files a notebook left, read on the host from the layers its cage handed over after all its processes had ended.

The layers are a stranger's: every step goes by a directory descriptor, follows no link and leaves no file system.
Nothing of them ever becomes part of the project. A kept file is a copy, so whoever still holds the original, by an open
descriptor, a shared mapping or another name, cannot change what was kept.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from cellwright.sandbox import linux

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


class NotLeft(Exception):
    """There is no such plain file in the layers; the message says why."""


class LeftFiles:
    """Layers, newest first: a file is found in the first that has it. Owns and closes their descriptors."""

    def __init__(self, layers: Sequence[int], *, is_in_memory: bool) -> None:
        self._layers = [_Layer(descriptor) for descriptor in layers]
        if is_in_memory and not all(linux.is_on_tmpfs(descriptor) for descriptor in layers):
            self.close()
            raise NotLeft("what the cage handed over is not its own")

    def open(self, parents: Sequence[str], name: str) -> tuple[int, os.stat_result]:
        """A plain file, open, which you close; `NotLeft` or `OSError` if it cannot be had."""
        for layer in self._layers:
            try:
                return layer.open(parents, name)
            except FileNotFoundError:
                continue
        raise NotLeft("the cage does not have it")

    def close(self) -> None:
        """Let go of the layers."""
        for layer in self._layers:
            layer.close()


class _Layer:
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
            raise NotLeft("it is no plain file")
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
