"""Files that the host hands in: packages that came while the kernel runs, and the project as another kernel left it.

Packages go into a folder of their own, behind everything else on the path. Into the project every step goes by
directory descriptors and follows no link: a link may point anywhere, and what is written must stay in the project.
"""

from __future__ import annotations

import importlib
import os
import shutil
import stat
import sys
import tempfile
from pathlib import Path
from typing import Final

from cellwright_guest import transfer_wire, wire


class Additions:
    """The folder, made when the first file comes."""

    def __init__(self) -> None:
        self._folder: Path | None = None

    def take(self, asked: wire.AddFiles) -> wire.FilesAdded:
        """Put the files there; imports that are tried from now on find them."""
        try:
            folder = self._folder = self._folder or Path(tempfile.mkdtemp(prefix="packages-"))
            for path, content in asked.files.items():
                place = folder / path
                place.parent.mkdir(parents=True, exist_ok=True)
                place.write_bytes(content)
        except OSError as error:
            return wire.FilesAdded(request=asked.request, error=f"{error.strerror or error}")
        if str(folder) not in sys.path:
            sys.path.append(str(folder))
        importlib.invalidate_caches()
        return wire.FilesAdded(request=asked.request)


PROJECT: Final = "/project"


def project() -> str:
    """Where the project is seen: tier C has no root of its own, so there it is wherever its copy lies."""
    return os.environ.get("CELLWRIGHT_PROJECT", PROJECT)


_DIRECTORY: Final = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_WRITE: Final = os.O_WRONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_LONGEST_NAME: Final = 255


class SeedRefused(Exception):
    """This path cannot be made so; the message says why."""


def seed_files(asked: transfer_wire.SeedFiles, project: str = PROJECT) -> transfer_wire.FilesSeeded:
    """Make each path what it shall be; what cannot be is told, and the others go on."""
    refused: dict[str, str] = {}
    root = os.open(project, _DIRECTORY & ~os.O_NOFOLLOW)
    try:
        for piece in asked.pieces:
            # The rest of a file whose beginning is not there would be another file.
            if piece.path in refused and piece.offset:
                continue
            try:
                _seed(root, piece)
            except (SeedRefused, ValueError) as error:
                refused[piece.path] = str(error)[:300]
            except OSError as error:
                refused[piece.path] = error.strerror or str(error)[:300]
    finally:
        os.close(root)
    return transfer_wire.FilesSeeded(request=asked.request, refused=refused)


def _seed(root: int, piece: transfer_wire.SeedPiece) -> None:
    *parents, name = _parts(piece.path)
    try:
        parent = _open_parent(root, parents)
    except FileNotFoundError:
        if piece.kind == "deleted":
            return
        raise
    try:
        match piece.kind:
            case "deleted":
                _remove(parent, name)
            case "directory":
                _make_directory(parent, name, piece.mode)
            case "symlink":
                _remove(parent, name)
                os.symlink(piece.target, name, dir_fd=parent)
            case "file":
                _write(parent, name, piece)
    finally:
        os.close(parent)


def _parts(path: str) -> list[str]:
    parts = path.split("/")
    if any(part in {"", ".", ".."} or "\0" in part or len(os.fsencode(part)) > _LONGEST_NAME for part in parts):
        raise SeedRefused("not a proper path")
    return parts


def _open_parent(root: int, parents: list[str]) -> int:
    here = os.dup(root)
    for name in parents:
        try:
            inner = os.open(name, _DIRECTORY, dir_fd=here)
        finally:
            os.close(here)
        here = inner
    return here


def _status(parent: int, name: str) -> os.stat_result | None:
    try:
        return os.stat(name, dir_fd=parent, follow_symlinks=False)
    except FileNotFoundError:
        return None


def _remove(parent: int, name: str) -> None:
    status = _status(parent, name)
    if status is None:
        return
    if stat.S_ISDIR(status.st_mode):
        shutil.rmtree(name, dir_fd=parent)
    else:
        os.unlink(name, dir_fd=parent)


def _make_directory(parent: int, name: str, mode: int) -> None:
    status = _status(parent, name)
    if status is None or not stat.S_ISDIR(status.st_mode):
        _remove(parent, name)
        os.mkdir(name, dir_fd=parent)
    made = os.open(name, _DIRECTORY, dir_fd=parent)
    try:
        os.fchmod(made, stat.S_IMODE(mode) & 0o777)
    finally:
        os.close(made)


def _write(parent: int, name: str, piece: transfer_wire.SeedPiece) -> None:
    status = _status(parent, name)
    is_there = status is not None and stat.S_ISREG(status.st_mode)
    if piece.offset and not is_there:
        raise SeedRefused("its beginning is not there")
    if not is_there:
        _remove(parent, name)
    flags = _WRITE | (0 if is_there else os.O_CREAT | os.O_EXCL) | (0 if piece.offset else os.O_TRUNC)
    # In place: whoever may write a file need not be allowed to replace it.
    file = _open_to_write(parent, name, flags)
    try:
        os.fchmod(file, stat.S_IMODE(piece.mode) & 0o777)
        view = memoryview(piece.content)
        done = 0
        while done < len(view):
            done += os.pwrite(file, view[done:], piece.offset + done)
    finally:
        os.close(file)


def _open_to_write(parent: int, name: str, flags: int) -> int:
    try:
        return os.open(name, flags, 0o600, dir_fd=parent)
    except PermissionError:
        # A file of ours that nobody shall write, ourselves included; its mode is set again afterwards.
        os.chmod(name, 0o600, dir_fd=parent)
        return os.open(name, flags, 0o600, dir_fd=parent)
