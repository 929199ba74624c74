"""Writing a notebook's changes into the real project, as if a stranger had sent them.

Names are checked, no link is followed, everything takes its place at once or not at all, even if we are killed, and
nothing a person changed in the meantime is overwritten: that is reported as a conflict.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType

from cellwright.sandbox import claims, linux
from cellwright.sandbox.spec import PROTECTED

_RESOLVE_NO_MAGICLINKS, _RESOLVE_NO_SYMLINKS, _RESOLVE_BENEATH = 0x2, 0x4, 0x8
_RESOLVE = _RESOLVE_NO_MAGICLINKS | _RESOLVE_NO_SYMLINKS | _RESOLVE_BENEATH
_DIRECTORY = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


class Refused(Exception):
    """This change is not kept; the message says why."""


@dataclass(frozen=True, slots=True, kw_only=True)
class KeepReport:
    """What became of a notebook's changes."""

    kept: tuple[str, ...]
    refused: tuple[tuple[str, str], ...]
    """Path and reason."""


class Keeper:
    """Applies changes to one project directory. Not for several threads at once."""

    def __init__(self, project: Path, *, since_ns: int, hidden: tuple[str, ...] = ()) -> None:
        self._root = os.open(project, _DIRECTORY & ~os.O_NOFOLLOW)
        self._owner = os.fstat(self._root)
        self._since_ns = since_ns
        self._hidden = {path.casefold() for path in hidden}
        self._made: set[str] = set()
        self._kept: list[str] = []
        self._refused: list[tuple[str, str]] = []

    def close(self) -> None:
        """Let go of the project."""
        os.close(self._root)

    def report(self) -> KeepReport:
        """What was kept and what was not."""
        return KeepReport(kept=tuple(self._kept), refused=tuple(self._refused))

    def refuse(self, path: str, reason: str) -> None:
        """Note that a change was not kept."""
        self._refused.append((path, reason))

    def check_file(self, path: str, *, is_new: bool) -> None:
        """Whether a file may be written here; `Refused` if not."""
        parts = self._parts(path)
        parent = self._open_parent(parts)
        try:
            self._check_target(parent, parts[-1], path, is_new=is_new)
        finally:
            os.close(parent)

    def new_file(self, path: str, mode: int) -> KeptFile:
        """A temporary file beside `path` that takes its place on `commit`."""
        parts = self._parts(path)
        return KeptFile(self, path, self._open_parent(parts), parts[-1], stat.S_IMODE(mode) & 0o777)

    def make_directory(self, path: str) -> None:
        """A new directory."""
        parts = self._parts(path)
        parent = self._open_parent(parts)
        try:
            status = _status(parent, parts[-1])
            if status is not None and stat.S_ISDIR(status.st_mode):
                return
            if status is not None:
                raise Refused("conflict: a file with this name appeared on the host meanwhile")
            with self._taking_place(parent, parts[-1], path) as part:
                os.mkdir(part, 0o755, dir_fd=parent)
        finally:
            os.close(parent)

    def make_link(self, path: str, target: str, is_new: bool) -> None:
        """A symbolic link, if it stays inside the project."""
        parts = self._parts(path)
        if not _stays_inside(parts, target):
            raise Refused(f"a symbolic link out of the project, to {target[:200]!r}")
        parent = self._open_parent(parts)
        try:
            self._check_target(parent, parts[-1], path, is_new=is_new)
            with self._taking_place(parent, parts[-1], path) as part:
                os.symlink(target, part, dir_fd=parent)
        finally:
            os.close(parent)

    def delete(self, path: str, what: str) -> None:
        """Remove a file or an empty directory that nobody changed meanwhile."""
        parts = self._parts(path)
        parent = self._open_parent(parts)
        try:
            status = _status(parent, parts[-1])
            if status is None:
                return
            if what == "directory" and stat.S_ISDIR(status.st_mode):
                self._remove_directory(parent, parts[-1])
            elif stat.S_ISDIR(status.st_mode):
                raise Refused("it is a directory on the host now")
            else:
                self._check_unchanged(status, path)
                os.unlink(parts[-1], dir_fd=parent)
            self._kept.append(path)
        finally:
            os.close(parent)

    def _remove_directory(self, parent: int, name: str) -> None:
        try:
            os.rmdir(name, dir_fd=parent)
        except OSError as error:
            if error.errno in {errno.ENOTEMPTY, errno.EEXIST}:
                raise Refused("the directory is not empty on the host") from None
            raise

    def _check_target(self, parent: int, name: str, path: str, *, is_new: bool) -> None:
        status = _status(parent, name)
        if status is None:
            if not is_new:
                raise Refused("conflict: it was deleted on the host meanwhile")
            return
        if stat.S_ISDIR(status.st_mode):
            raise Refused("it is a directory on the host")
        if not (stat.S_ISREG(status.st_mode) or stat.S_ISLNK(status.st_mode)):
            raise Refused("it is not a plain file on the host")
        if is_new and path not in self._made:
            raise Refused("conflict: a file with this name appeared on the host meanwhile")
        self._check_unchanged(status, path)

    def _check_unchanged(self, status: os.stat_result, path: str) -> None:
        # The change time cannot be set back by anyone, unlike the modification time.
        if path not in self._made and status.st_ctime_ns >= self._since_ns:
            raise Refused("conflict: it was changed on the host meanwhile")

    def _parts(self, path: str) -> list[str]:
        parts = path.split("/")
        if any(part in {"", ".", ".."} or "\0" in part or len(part.encode()) > 255 for part in parts):
            raise Refused("not a proper path")
        folded = [part.casefold() for part in parts]
        if any(part in PROTECTED for part in folded):
            raise Refused("this directory is never changed by a notebook")
        if any("/".join(folded[:end]) in self._hidden for end in range(1, len(parts) + 1)):
            raise Refused("it is hidden from notebooks")
        if parts[-1].startswith(claims.PREFIX):
            raise Refused("a name we use ourselves")
        return parts

    def _open_parent(self, parts: list[str]) -> int:
        if len(parts) == 1:
            return os.dup(self._root)
        try:
            return linux.openat2(self._root, "/".join(parts[:-1]), _DIRECTORY, 0, _RESOLVE)
        except OSError as error:
            if error.errno == errno.ENOSYS:
                return self._walk(parts[:-1])
            if error.errno in {errno.ELOOP, errno.EXDEV, errno.ENOTDIR}:
                raise Refused("its directory leads out of the project") from None
            if error.errno == errno.ENOENT:
                raise Refused("conflict: its directory was deleted on the host meanwhile") from None
            raise

    def _walk(self, parents: list[str]) -> int:
        """Without openat2: step by step, following no link."""
        here = os.dup(self._root)
        for name in parents:
            try:
                inner = os.open(name, _DIRECTORY, dir_fd=here)
            except OSError:
                raise Refused("its directory is not there or leads out of the project") from None
            finally:
                os.close(here)
            here = inner
        return here

    @contextmanager
    def _taking_place(self, parent: int, name: str, path: str) -> Generator[str]:
        """A name under which to make what then gets its owner and its own name at once."""
        claim = claims.Claim(parent)
        try:
            yield claim.part
            # Started as root: new things belong to whom the project belongs.
            if linux.is_root():
                os.chown(claim.part, self._owner.st_uid, self._owner.st_gid, dir_fd=parent, follow_symlinks=False)
            os.rename(claim.part, name, src_dir_fd=parent, dst_dir_fd=parent)
            self._kept_new(path)
        finally:
            claim.close()

    def clear(self, path: str) -> bool:
        """Remove what a killed process left on the way into the project; False if it is in use or not to be had."""
        *parents, name = path.split("/")
        try:
            parent = self._open_parent([*parents, name])
        except (Refused, OSError):
            return False
        try:
            return claims.is_claim(name) and claims.clear(parent, name)
        finally:
            os.close(parent)

    def _kept_new(self, path: str) -> None:
        self._made.add(path)
        self._kept.append(path)


class KeptFile:
    """A file on its way into the project; without `commit` no trace of it remains."""

    def __init__(self, keeper: Keeper, path: str, parent: int, name: str, mode: int) -> None:
        self._keeper, self._path, self._parent, self._name, self._mode = keeper, path, parent, name, mode
        try:
            self._claim = claims.Claim(parent)
        except OSError:
            os.close(parent)
            raise

    def __enter__(self) -> KeptFile:
        return self

    def write(self, data: bytes) -> None:
        """Append to the file."""
        view = memoryview(data)
        while view:
            view = view[os.write(self._claim.descriptor, view) :]

    def commit(self) -> None:
        """Take the place of the old file, once more only if nobody changed it."""
        status = _status(self._parent, self._name)
        self._keeper._check_target(self._parent, self._name, self._path, is_new=status is None)
        owner = status if status is not None and stat.S_ISREG(status.st_mode) else self._keeper._owner
        if linux.is_root():
            os.fchown(self._claim.descriptor, owner.st_uid, owner.st_gid)
        os.fchmod(self._claim.descriptor, self._mode)
        os.rename(self._claim.name, self._name, src_dir_fd=self._parent, dst_dir_fd=self._parent)
        self._keeper._kept_new(self._path)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._claim.close()
        os.close(self._parent)


def without_leftovers(project: Path, paths: tuple[str, ...]) -> tuple[str, ...]:
    """Those of these paths that are a person's. What a killed process left among them is removed.

    What another keeps at this moment is neither: it is gone before anybody could hide it.
    """
    ours = [path for path in paths if claims.is_claim(path.rpartition("/")[2])]
    if not ours:
        return paths
    keeper = Keeper(project, since_ns=0)
    try:
        for path in ours:
            keeper.clear(path)
    finally:
        keeper.close()
    return tuple(path for path in paths if path not in ours)


def _status(directory: int, name: str) -> os.stat_result | None:
    try:
        return os.stat(name, dir_fd=directory, follow_symlinks=False)
    except FileNotFoundError:
        return None


def _stays_inside(parts: list[str], target: str) -> bool:
    """Only leading `..` and no more than there are directories: `..` after a name could leave through another link."""
    if not target or target.startswith("/") or "\0" in target:
        return False
    steps = [step for step in target.split("/") if step not in {"", "."}]
    ups = 0
    while ups < len(steps) and steps[ups] == "..":
        ups += 1
    names = {step.casefold() for step in steps[ups:]}
    return ups < len(parts) and ".." not in names and not names & set(PROTECTED)
