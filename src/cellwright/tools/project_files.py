"""Files of the project, and data that was given, as an agent may touch them: nothing else outside, never what looks
like a secret, never half written.

Paths are followed once and then opened part by part without following links, so nobody can swap one in between.
"""

from __future__ import annotations

import errno
import os
import posixpath
import secrets
import stat
from collections.abc import Collection, Generator, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Final

from cellwright.data.files import DataFile
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
    """Relative to the project; of data that was given, as code calls it."""
    real: Path
    is_folder: bool
    size: int


class ProjectFiles:
    """The files of one project, and data from elsewhere that was `given`. Everything here blocks."""

    def __init__(
        self,
        project: Path,
        *,
        reveal: Collection[str] = (),
        protected: Collection[Path] = (),
        given: Sequence[DataFile] = (),
    ) -> None:
        self.root: Final = project.resolve()
        self._given = tuple(given)
        self._reveal = tuple(reveal)
        self._protected = {path.resolve() for path in protected}

    def locate(self, path: str, *, to_write: bool = False) -> Path:
        """The real path. Raises `RefusedByPolicy` for what is outside, hidden or not to be written."""
        if "\0" in path or not path:
            raise UserError(f"{path!r} is no path.", hint="Give one relative to the project.")
        if (data := self._locate_data(path)) is not None:
            if to_write:
                raise RefusedByPolicy(f"{path!r} is data that was given.", hint="Write to another file.")
            return data
        try:
            real = (self.root / path).resolve()
        except (OSError, RuntimeError) as error:
            raise UserError(f"{path!r} cannot be followed: {error}.") from error
        if not real.is_relative_to(self.root):
            raise RefusedByPolicy(f"{path!r} is not in the project.", hint="Only its files can be used.")
        self._check_visible(real, path)
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
        """Files and folders below, in order; not what is hidden, and not into what tools have made.

        The data that was given comes last in the project.
        """
        yield from self._walk(folder, depth, self._hidden_around(folder))
        for data in self._given if folder == self.root else ():
            if data.source.exists():
                size = 0 if data.is_folder else data.source.stat().st_size
                yield ProjectEntry(path=data.place, real=data.source, is_folder=data.is_folder, size=size)
            if data.is_folder and depth > 1:
                yield from self._walk(data.source, depth - 1, self._hidden_around(data.source))

    def is_given(self, real: Path) -> bool:
        """Whether it is data from elsewhere that the person gave: to read it needs nobody's leave."""
        return self._data_around(real) is not None

    def name(self, real: Path) -> str:
        """The path as an agent writes it."""
        if (data := self._data_around(real)) is not None:
            return posixpath.normpath(posixpath.join(data.place, real.relative_to(data.source).as_posix()))
        return real.relative_to(self.root).as_posix()

    def _locate_data(self, path: str) -> Path | None:
        """A file of the data that was given, by what code calls it; never one that a link in it leads to."""
        called = posixpath.normpath(path)
        for data in self._given:
            for place in (data.place, data.target):
                if called == place or called.startswith(f"{place}/"):
                    real = (data.source / posixpath.relpath(called, place)).resolve()
                    if not real.is_relative_to(data.source):
                        raise RefusedByPolicy(f"{path!r} leads out of the data that was given.")
                    self._check_visible(real, path)
                    return real
        return None

    def _data_around(self, real: Path) -> DataFile | None:
        return next((data for data in self._given if real.is_relative_to(data.source)), None)

    def _hidden_around(self, folder: Path) -> set[str]:
        """Names of what looks like a secret."""
        data = self._data_around(folder)
        if data is not None and not data.is_folder:
            return set()
        base = self.root if data is None else data.source
        return {self.name(base / each) for each in hidden_in(base, self._reveal)}

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
            yield ProjectEntry(path=name, real=path, is_folder=is_folder, size=size)
            if is_folder and depth > 1 and entry.name not in _UNINTERESTING:
                yield from self._walk(path, depth - 1, hidden)

    def _check_visible(self, real: Path, path: str) -> None:
        parts, hidden = PurePosixPath(self.name(real)), self._hidden_around(real)
        if any(str(part) in hidden for part in (parts, *parts.parents)):
            raise RefusedByPolicy(
                f"{path!r} looks like a secret and is hidden.", hint="Do without it, or ask the person."
            )

    @contextmanager
    def _parent(self, real: Path, *, make: bool = False) -> Generator[int]:
        """The folder of a real path, reached without following a link."""
        data = self._data_around(real)
        base = self.root if data is None else data.source if data.is_folder else data.source.parent
        descriptor = os.open(base, _FOLDER)
        try:
            for part in real.relative_to(base).parts[:-1]:
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
