"""Writing a notebook's changes into the real project, as if a stranger had sent them.

Names are checked, no link is followed, and nothing a person changed in the meantime is overwritten: that is reported as
a conflict. Everything is first copied into a directory of our own in the project and written to the disk; only then
does each thing take its place, a new directory with all in it at once. Until that moment whoever stops it finds the
project as it was; a process killed later leaves each file the old or the new one.
"""

from __future__ import annotations

import errno
import os
import stat
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from cellwright.sandbox.host import staging_directory
from cellwright.sandbox.host.file_changes import (
    ChangeRefused,
    FileChange,
    KeepPlan,
    KeepReport,
    LeftFiles,
    MissingLeftFile,
    ProjectPaths,
    inherited,
    stays_inside,
)
from cellwright.sandbox.linux import syscalls
from cellwright.sandbox.linux.descriptors import GIVEN_DIRECTORY, NEW_FILE, closing, open_beneath, opened, status_of

_FEW = 64
"""Limit of files that are synced one by one; a sync of the whole file system also waits for other programs."""
_WHOLE_BYTES = 256 * 1024
_PIECE_BYTES = 16 * 1024 * 1024
_NO_DIRECT_COPY = {errno.EXDEV, errno.EINVAL, errno.ENOSYS, errno.EOPNOTSUPP}


class KeepStopped(Exception):
    """Nothing is kept; the message says why."""


@dataclass(slots=True)
class _StagedChange:
    """Something that is ready to take its place: a file, a link, or a new directory with all in it."""

    path: str
    parts: list[str]
    claim: staging_directory.StagingDirectory
    name: str
    """In the claim."""
    is_new: bool
    inner: list[str] = field(default_factory=list[str])
    """What comes with it."""


@dataclass(slots=True)
class _Folder:
    """Where the next files are made: in a claim, or in a new directory that is in one."""

    claim: staging_directory.StagingDirectory
    descriptor: int
    host: int | None = None
    """The folder of the project they will go to, if there is one already."""
    top: _StagedChange | None = None
    """Otherwise the new directory with which they will take their place."""


class ProjectWriter:
    """Applies changes to one project directory, once. For one thread, but for `stop`, `done` and `step`."""

    def __init__(
        self,
        project: Path,
        left: LeftFiles,
        *,
        since_ns: int,
        hidden: Sequence[str] = (),
        most_bytes: int = 1 << 62,
        seconds: float | None = None,
    ) -> None:
        self.done = 0
        """How many changes are ready to take their place."""
        self.step = "copying"
        self._left = left
        self._project = project
        self._root = -1
        self._is_root = syscalls.is_root()
        self._since_ns = since_ns
        self._paths = ProjectPaths(hidden)
        self._bytes_left = most_bytes
        self._seconds = seconds
        self._deadline = None if seconds is None else time.monotonic() + seconds
        self._stop_reason: str | None = None
        self._has_many = False
        self._claims: dict[object, staging_directory.StagingDirectory] = {}
        self._folder: tuple[list[str], _Folder] | None = None
        self._parent: tuple[list[str], int] | None = None
        self._new_folders: dict[str, tuple[_StagedChange, str]] = {}
        """Path of a new directory → with what it takes its place, and where it is in that claim."""
        self._staged: list[_StagedChange] = []
        self._made: set[str] = set()
        self._kept: list[str] = []
        self._refused: list[tuple[str, str]] = []

    def stop(self, reason: str) -> None:
        """Keep nothing, if there is still time for that."""
        self._stop_reason = reason

    def keep(self, changes: Sequence[FileChange]) -> KeepReport:
        """Copy, sync, then put everything in its place; `KeepStopped` if nothing was. Blocking."""
        plan = KeepPlan.of(changes)
        self._root = os.open(self._project, GIVEN_DIRECTORY)
        self._has_many = sum(change.what == "file" for change in plan.new) > _FEW
        try:
            for change in plan.new:
                self._go_on()
                self._attempt(change.path, [], partial(self._stage, change, plan))
                self.done += 1
            self._sync()
            # From here on it only goes forward, and takes no longer than a few system calls a file.
            self._go_on()
            self.step = "placing"
            self._put_in_place(plan)
        finally:
            self._close()
        return KeepReport(kept=tuple(self._kept), refused=tuple(self._refused))

    # ── copying ──

    def _go_on(self) -> None:
        if self._stop_reason is not None:
            raise KeepStopped(self._stop_reason)
        if self._deadline is not None and time.monotonic() > self._deadline:
            raise KeepStopped(f"keeping them took longer than {self._seconds:g} s")

    def _attempt(self, path: str, inner: Sequence[str], action: Callable[[], None]) -> None:
        """Note what cannot be kept, and go on with the rest."""
        try:
            action()
        except (ChangeRefused, MissingLeftFile) as refusal:
            reason = str(refusal)
        except OSError as error:
            reason = error.strerror or str(error)
        else:
            return
        self._refused += [(each, reason) for each in (path, *inner)]

    def _stage(self, change: FileChange, plan: KeepPlan) -> None:
        parts = self._paths.parts(change.path)
        folder = self._folder_for(parts[:-1])
        status = None
        if folder.host is not None and change.path not in plan.in_the_way:
            status = status_of(folder.host, parts[-1])
            if change.what == "directory" and status is not None and stat.S_ISDIR(status.st_mode):
                return
            self._check_target(status, change.path, is_new=change.kind == "created" or change.what == "directory")
        name = parts[-1] if folder.top is not None else folder.claim.next_name()
        match change.what:
            case "directory":
                os.mkdir(name, 0o755, dir_fd=folder.descriptor)
                self._give_away(name, folder.descriptor)
            case "symlink":
                if not stays_inside(parts, change.target):
                    raise ChangeRefused(f"a symbolic link out of the project, to {change.target[:200]!r}")
                os.symlink(change.target, name, dir_fd=folder.descriptor)
                self._give_away(name, folder.descriptor)
            case "file":
                self._copy(parts, folder.descriptor, name, change.mode, status)
        self._note(change, parts, folder, name)

    def _note(self, change: FileChange, parts: list[str], folder: _Folder, name: str) -> None:
        staged, inside = folder.top, name
        if staged is None:
            is_new = change.kind == "created" or change.what == "directory"
            staged = _StagedChange(change.path, parts, folder.claim, name, is_new)
            self._staged.append(staged)
        else:
            staged.inner.append(change.path)
            inside = f"{self._new_folders['/'.join(parts[:-1])][1]}/{name}"
        if change.what == "directory":
            self._new_folders[change.path] = (staged, inside)

    def _copy(self, parts: list[str], folder: int, name: str, mode: int, before: os.stat_result | None) -> None:
        source, status = self._left.open(parts[:-1], parts[-1])
        with closing(source):
            # Holes and further names of a file take no room where it was made, but they do here.
            if status.st_size > self._bytes_left:
                raise ChangeRefused("all kept files together are over the disk limit")
            with opened(name, NEW_FILE, within=folder) as target:
                try:
                    self._copy_bytes(source, target, status.st_size)
                    if self._is_root:
                        owner = before if before and stat.S_ISREG(before.st_mode) else os.fstat(self._root)
                        os.fchown(target, owner.st_uid, owner.st_gid)
                    # Nobody's special bits; attributes and access lists a new file has none.
                    os.fchmod(target, stat.S_IMODE(mode) & 0o777)
                    if not self._has_many:
                        os.fdatasync(target)
                except BaseException:
                    os.unlink(name, dir_fd=folder)
                    raise
            self._bytes_left -= status.st_size

    def _copy_bytes(self, source: int, target: int, size: int) -> None:
        if size <= _WHOLE_BYTES:
            data = os.read(source, size) if size else b""
            if len(data) != size or os.write(target, data) != size:
                raise ChangeRefused("it could not be copied whole")
            return
        # Shares the blocks where a file system can do that.
        copy, done = os.copy_file_range, 0
        while done < size:
            self._go_on()
            try:
                count = copy(source, target, min(_PIECE_BYTES, size - done))
            except OSError as error:
                if error.errno not in _NO_DIRECT_COPY or copy is _send:
                    raise
                copy = _send
                continue
            if count == 0:
                raise ChangeRefused("it could not be copied whole")
            done += count

    def _give_away(self, name: str, folder: int) -> None:
        # Started as root: new things belong to whom the project belongs.
        if self._is_root:
            owner = os.fstat(self._root)
            os.chown(name, owner.st_uid, owner.st_gid, dir_fd=folder, follow_symlinks=False)

    def _folder_for(self, parents: list[str]) -> _Folder:
        if self._folder is not None and self._folder[0] == parents:
            return self._folder[1]
        self._leave_folder()
        path = "/".join(parents)
        if path in self._new_folders:
            top, inside = self._new_folders[path]
            folder = _Folder(top.claim, open_beneath(top.claim.descriptor, inside.split("/")), top=top)
        else:
            host = self._open_folder(parents)
            try:
                claim = self._claim_for(host)
            except BaseException:
                os.close(host)
                raise
            folder = _Folder(claim, claim.descriptor, host=host)
        self._folder = (parents, folder)
        return folder

    def _leave_folder(self) -> None:
        if self._folder is not None:
            folder, self._folder = self._folder[1], None
            os.close(folder.descriptor if folder.host is None else folder.host)

    def _claim_for(self, folder: int) -> staging_directory.StagingDirectory:
        """One for all folders from which things can be moved to one another and would inherit the same."""
        kind = inherited(folder)
        if kind not in self._claims:
            self._claims[kind] = staging_directory.StagingDirectory(folder)
        return self._claims[kind]

    def _sync(self) -> None:
        """A file must be on the disk before it takes the place of another: a power cut would leave neither."""
        self.step = "syncing"
        self._leave_folder()
        if self._has_many:
            for claim in self._claims.values():
                syscalls.sync_file_system(claim.descriptor)

    # ── putting in place ──

    def _put_in_place(self, plan: KeepPlan) -> None:
        """What takes nothing away before what does, so that nothing is gone that was only renamed."""
        for staged in self._staged:
            if staged.path not in plan.in_the_way:
                self._attempt(staged.path, staged.inner, partial(self._place, staged))
        self._sync_folders()
        for change in plan.gone_first:
            self._attempt(change.path, [], partial(self._delete, change))
        for staged in self._staged:
            if staged.path in plan.in_the_way:
                self._attempt(staged.path, staged.inner, partial(self._place, staged))
        for change in plan.gone_last:
            self._attempt(change.path, [], partial(self._delete, change))

    def _place(self, staged: _StagedChange) -> None:
        parent = self._parent_for(staged.parts[:-1])
        self._check_target(status_of(parent, staged.parts[-1]), staged.path, is_new=staged.is_new)
        os.rename(staged.name, staged.parts[-1], src_dir_fd=staged.claim.descriptor, dst_dir_fd=parent)
        self._made.add(staged.path)
        self._kept += [staged.path, *staged.inner]

    def _delete(self, change: FileChange) -> None:
        """Remove a file or an empty directory that nobody changed meanwhile."""
        parts = self._paths.parts(change.path)
        parent = self._parent_for(parts[:-1])
        status = status_of(parent, parts[-1])
        if status is None:
            return
        if change.what == "directory" and stat.S_ISDIR(status.st_mode):
            self._remove_directory(parent, parts[-1])
        elif stat.S_ISDIR(status.st_mode):
            raise ChangeRefused("it is a directory on the host now")
        else:
            self._check_unchanged(status, change.path)
            os.unlink(parts[-1], dir_fd=parent)
        self._kept.append(change.path)

    def _remove_directory(self, parent: int, name: str) -> None:
        try:
            os.rmdir(name, dir_fd=parent)
        except OSError as error:
            if error.errno in {errno.ENOTEMPTY, errno.EEXIST}:
                raise ChangeRefused("the directory is not empty on the host") from None
            raise

    def _sync_folders(self) -> None:
        """The new names, once for each folder."""
        folders = {"/".join(staged.parts[:-1]): staged.parts[:-1] for staged in self._staged}
        if len(folders) > _FEW:
            for claim in self._claims.values():
                syscalls.sync_file_system(claim.descriptor)
            return
        for parents in folders.values():
            try:
                os.fsync(self._parent_for(parents))
            except (OSError, ChangeRefused):
                # Gone meanwhile, or a file system that knows no such thing: the files are there.
                continue

    def _parent_for(self, parents: list[str]) -> int:
        if self._parent is None or self._parent[0] != parents:
            self._leave_parent()
            self._parent = (parents, self._open_folder(parents))
        return self._parent[1]

    def _leave_parent(self) -> None:
        if self._parent is not None:
            descriptor, self._parent = self._parent[1], None
            os.close(descriptor)

    # ── what may be written where ──

    def _check_target(self, status: os.stat_result | None, path: str, *, is_new: bool) -> None:
        if status is None:
            if not is_new:
                raise ChangeRefused("conflict: it was deleted on the host meanwhile")
            return
        if stat.S_ISDIR(status.st_mode):
            raise ChangeRefused("it is a directory on the host")
        if not (stat.S_ISREG(status.st_mode) or stat.S_ISLNK(status.st_mode)):
            raise ChangeRefused("it is not a plain file on the host")
        if is_new and path not in self._made:
            raise ChangeRefused("conflict: a file with this name appeared on the host meanwhile")
        self._check_unchanged(status, path)

    def _check_unchanged(self, status: os.stat_result, path: str) -> None:
        # The change time cannot be set back by anyone, unlike the modification time.
        if path not in self._made and status.st_ctime_ns >= self._since_ns:
            raise ChangeRefused("conflict: it was changed on the host meanwhile")

    def _open_folder(self, parents: list[str]) -> int:
        try:
            return open_beneath(self._root, parents)
        except OSError as error:
            if error.errno in {errno.ELOOP, errno.EXDEV, errno.ENOTDIR}:
                raise ChangeRefused("its directory leads out of the project") from None
            if error.errno == errno.ENOENT:
                raise ChangeRefused("conflict: its directory was deleted on the host meanwhile") from None
            raise

    def _close(self) -> None:
        self._leave_folder()
        self._leave_parent()
        for claim in self._claims.values():
            claim.close()
        os.close(self._root)


def _send(source: int, target: int, count: int) -> int:
    """From any file system to any other, without a detour through our memory."""
    return os.sendfile(target, source, None, count)
