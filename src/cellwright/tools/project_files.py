"""Files of the project as an agent may touch them: never outside, never what looks like a secret, never half written.

Paths are followed once and then opened part by part without following links, so nobody can swap one in between.
"""

from __future__ import annotations

import errno
import os
import secrets
import stat
from collections.abc import Collection, Generator, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Final

from cellwright.errors import RefusedByPolicy, UserError
from cellwright.sandbox.host.project import hidden_in
from cellwright.tools.tool import ErrorKind, ToolFailure

_FOLDER: Final = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_NOT_WHAT_IT_WAS: Final = frozenset({errno.ELOOP, errno.ENOTDIR})
_UNINTERESTING: Final = frozenset(
    {".git", "__pycache__", "node_modules", ".venv", "venv", ".mypy_cache", ".ruff_cache"}
)


@dataclass(frozen=True, slots=True, kw_only=True)
class ProjectEntry:
    """One file or folder."""

    path: str
    """Relative to the project."""
    is_folder: bool
    size: int


class ProjectFiles:
    """The files of one project. Everything here blocks."""

    def __init__(self, project: Path, *, reveal: Collection[str] = (), protected: Collection[Path] = ()) -> None:
        self.root: Final = project.resolve()
        self._reveal = tuple(reveal)
        self._protected = {path.resolve() for path in protected}

    def locate(self, path: str, *, to_write: bool = False) -> Path:
        """The real path. Raises `RefusedByPolicy` for what is outside, hidden or not to be written."""
        if "\0" in path or not path:
            raise UserError(f"{path!r} is no path.", hint="Give one relative to the project.")
        try:
            real = (self.root / path).resolve()
        except (OSError, RuntimeError) as error:
            raise UserError(f"{path!r} cannot be followed: {error}.") from error
        if not real.is_relative_to(self.root):
            raise RefusedByPolicy(f"{path!r} is not in the project.", hint="Only its files can be used.")
        if self._is_hidden(real.relative_to(self.root).as_posix()):
            raise RefusedByPolicy(
                f"{path!r} looks like a secret and is hidden.", hint="Do without it, or ask the person."
            )
        if to_write and real in self._protected:
            raise RefusedByPolicy(f"{path!r} is the notebook itself.", hint="Change its cells with `apply`.")
        return real

    def read(self, real: Path, most: int) -> tuple[bytes, int]:
        """The beginning of a file and its size. Raises `UserError` for what is no file."""
        with self._parent(real) as parent:
            descriptor = _open(real, os.O_RDONLY | os.O_NONBLOCK, parent)
            try:
                found = os.fstat(descriptor)
                if not stat.S_ISREG(found.st_mode):
                    hint = "List it, if it is a folder."
                    raise ToolFailure(f"{self.name(real)!r} is no file.", kind="not-found", hint=hint)
                with os.fdopen(descriptor, "rb", closefd=False) as stream:
                    return stream.read(most), found.st_size
            finally:
                os.close(descriptor)

    def write(self, real: Path, content: bytes) -> None:
        """Replace a file, or make it with its folders; all or nothing."""
        with self._parent(real, make=True) as parent:
            mode = _mode_of(real.name, parent)
            temporary = f".{real.name}.{secrets.token_hex(6)}.saving"
            descriptor = _open(real.with_name(temporary), os.O_WRONLY | os.O_CREAT | os.O_EXCL, parent)
            try:
                with os.fdopen(descriptor, "wb") as stream:
                    os.fchmod(descriptor, mode)
                    stream.write(content)
                    stream.flush()
                    os.fsync(descriptor)
                os.replace(temporary, real.name, src_dir_fd=parent, dst_dir_fd=parent)
            except BaseException:
                with suppress(OSError):
                    os.unlink(temporary, dir_fd=parent)
                raise
            os.fsync(parent)

    def walk(self, folder: Path, *, depth: int = 64) -> Iterator[ProjectEntry]:
        """Files and folders below, in order; not what is hidden, and not into what tools have made."""
        yield from self._walk(folder, depth, set(hidden_in(self.root, self._reveal)))

    def name(self, real: Path) -> str:
        """The path as an agent writes it."""
        return real.relative_to(self.root).as_posix()

    def _walk(self, folder: Path, depth: int, hidden: set[str]) -> Iterator[ProjectEntry]:
        try:
            entries = sorted(os.scandir(folder), key=lambda entry: entry.name)
        except OSError as error:
            raise ToolFailure(
                f"{self.name(folder)!r} cannot be listed: {error.strerror}.", kind=_kind(error)
            ) from error
        for entry in entries:
            path = Path(entry.path)
            name = self.name(path)
            if name in hidden or entry.is_symlink():
                continue
            is_folder = entry.is_dir(follow_symlinks=False)
            size = 0 if is_folder else entry.stat(follow_symlinks=False).st_size
            yield ProjectEntry(path=name, is_folder=is_folder, size=size)
            if is_folder and depth > 1 and entry.name not in _UNINTERESTING:
                yield from self._walk(path, depth - 1, hidden)

    def _is_hidden(self, name: str) -> bool:
        parts = PurePosixPath(name)
        hidden = set(hidden_in(self.root, self._reveal))
        return any(str(part) in hidden for part in (parts, *parts.parents))

    @contextmanager
    def _parent(self, real: Path, *, make: bool = False) -> Generator[int]:
        """The folder of a real path, reached without following a link."""
        descriptor = os.open(self.root, _FOLDER)
        try:
            for part in real.relative_to(self.root).parts[:-1]:
                if make:
                    with suppress(FileExistsError):
                        os.mkdir(part, dir_fd=descriptor)
                deeper = _open(Path(part), _FOLDER, descriptor)
                os.close(descriptor)
                descriptor = deeper
            yield descriptor
        finally:
            os.close(descriptor)


def _open(path: Path, flags: int, parent: int) -> int:
    try:
        return os.open(path.name, flags | os.O_NOFOLLOW | os.O_CLOEXEC, 0o644, dir_fd=parent)
    except OSError as error:
        if error.errno in _NOT_WHAT_IT_WAS:
            raise RefusedByPolicy(f"{path.name!r} became a link, or no folder, while it was used.") from error
        message = f"{path.name!r} cannot be opened: {error.strerror}."
        raise ToolFailure(message, kind=_kind(error), hint="List the folder.") from error


def _kind(error: OSError) -> ErrorKind:
    return "not-found" if isinstance(error, FileNotFoundError | NotADirectoryError) else "failed"


def _mode_of(name: str, parent: int) -> int:
    try:
        return stat.S_IMODE(os.stat(name, dir_fd=parent, follow_symlinks=False).st_mode)
    except FileNotFoundError:
        return 0o644
