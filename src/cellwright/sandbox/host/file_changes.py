"""The files a notebook left: read from the layers its cage handed over, in the order in which they are applied.

Read on the host, after all processes of the cage had ended; places of the project are opened through no link.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, cast

from cellwright.errors import Unavailable
from cellwright.remedies import Hint
from cellwright.sandbox.host import staging_directory
from cellwright.sandbox.linux import syscalls
from cellwright.sandbox.linux.descriptors import DIRECTORY, FILE, GIVEN_DIRECTORY, closing, open_beneath, opened
from cellwright.sandbox.spec import PROTECTED

ChangeKind = Literal["created", "modified", "deleted"]
ChangeWhat = Literal["file", "directory", "symlink"]

_DEEPEST = 200
"""Limit of nested directories; removing a leftover takes an open descriptor for each."""
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


def _printable(name: str) -> str:
    """A name as proper Unicode; one that is none is changed here, and so found nowhere and not kept."""
    return name if name.isascii() else name.encode("utf-8", "replace").decode()


def read_change(raw: object) -> FileChange:
    """One changed file; `Unavailable` if it is told in no form we know."""
    match raw:
        case [str(path), ("created" | "modified" | "deleted") as kind, str(what), int(size), int(mode)]:
            name, _, target = what.partition(":")
            if name not in {"file", "directory", "symlink"}:
                raise Unavailable(f"The cage reported a {name[:20]!r}, which is no kind of file.")
            return FileChange(
                path=_printable(path[:4096]),
                kind=kind,
                what=cast("ChangeWhat", name),
                bytes=max(0, size),
                mode=mode,
                target=_printable(target[:4096]),
            )
        case _:
            raise Unavailable("The cage reported its changes in a form nobody knows.")


@dataclass(frozen=True, slots=True, kw_only=True)
class UnkeptChanges:
    """Changes of which none was kept, though that was agreed, or of which a person is asked."""

    files: int
    bytes: int
    reason: str
    hint: Hint
    option: str = ""
    """The limit that would have let them pass, as `Limits.parse` takes it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class KeepReport:
    """What became of a notebook's changes."""

    kept: tuple[str, ...]
    refused: tuple[tuple[str, str], ...]
    """Path and reason."""
    held_back: UnkeptChanges | None = None
    """Set if nothing was kept: too much to keep unasked, or no time left."""
    changes: tuple[FileChange, ...] = field(default=(), compare=False, repr=False)
    """All there were."""


class ChangeRefused(Exception):
    """This change is not kept; the message says why."""


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
        descriptor = self._open_readable(name, FILE)
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
            self._open.append(self._open_readable(name, DIRECTORY))
            self._names.append(name)

    def _open_readable(self, name: str, flags: int) -> int:
        try:
            return os.open(name, flags, dir_fd=self._open[-1])
        except PermissionError:
            self._make_readable(name)
            return os.open(name, flags, dir_fd=self._open[-1])

    def _make_readable(self, name: str) -> None:
        """A notebook may take the rights to read from its own files; its user is ours, so we may give them back."""
        with opened(name, _NAMED, within=self._open[-1]) as named:
            status = os.fstat(named)
            mode = status.st_mode
            if not stat.S_ISLNK(mode) and status.st_dev == self._device:
                # There is no way to change the mode of a file that is only named, but through here.
                os.chmod(f"/proc/self/fd/{named}", stat.S_IMODE(mode) | stat.S_IRUSR | stat.S_IXUSR)  # noqa: PTH101


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


class ProjectPaths:
    """Which paths of a project a notebook may change."""

    def __init__(self, hidden: Sequence[str]) -> None:
        self._hidden = {path.casefold() for path in hidden}
        self._checked: tuple[str, list[str]] = ("", [])

    def parts(self, path: str) -> list[str]:
        """The names of a path, each checked; `ChangeRefused` if one is none, or is not a notebook's to change."""
        above, _, name = path.rpartition("/")
        if not above:
            parents: list[str] = []
            if path.startswith("/"):
                raise ChangeRefused("not a proper path")
        elif self._checked[0] == above:
            # Most files lie beside the one before.
            parents = self._checked[1]
        else:
            parents = self.parts(above)
            self._checked = (above, parents)
        if len(parents) >= _DEEPEST:
            raise ChangeRefused("nested too deeply")
        if name in {"", ".", ".."} or "\0" in name or len(name.encode()) > 255:
            raise ChangeRefused("not a proper path")
        if name.casefold() in PROTECTED:
            raise ChangeRefused("this directory is never changed by a notebook")
        if path.casefold() in self._hidden:
            raise ChangeRefused("it is hidden from notebooks")
        if name.startswith(staging_directory.PREFIX):
            raise ChangeRefused("a name we use ourselves")
        return [*parents, name]


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


def without_leftovers(project: Path, paths: tuple[str, ...]) -> tuple[str, ...]:
    """Those of these paths that are a person's. What a killed process left among them is removed.

    What another keeps at this moment is neither: it is gone before anybody could hide it.
    """
    ours = [path for path in paths if staging_directory.is_staging_name(path.rpartition("/")[2])]
    if not ours:
        return paths
    with opened(project, GIVEN_DIRECTORY) as root:
        for path in ours:
            *parents, name = path.split("/")
            with suppress(OSError), closing(open_beneath(root, parents)) as parent:
                staging_directory.clear(parent, name)
    return tuple(path for path in paths if path not in ours)
