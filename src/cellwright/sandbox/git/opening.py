"""Files of a repository, opened step by step: no link is followed on the way, and no file is longer than expected."""

from __future__ import annotations

import os
import stat
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from cellwright.sandbox import linux
from cellwright.sandbox.git.objects import Unsound

_DIRECTORY: Final = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_FILE: Final = os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK


@contextmanager
def directory(root: Path, path: str = "", *, make: bool = False) -> Generator[int]:
    """An open directory below `root`. `FileNotFoundError` if it is not there; `Unsound` if a link leads to it."""
    here = os.open(root, _DIRECTORY)
    try:
        for part in path.split("/") if path else ():
            below = _step(here, part, make)
            os.close(here)
            here = below
        yield here
    finally:
        os.close(here)


def _step(here: int, name: str, make: bool) -> int:
    if make:
        try:
            os.mkdir(name, 0o777, dir_fd=here)
            own_like(here, name)
        except FileExistsError:
            pass
    try:
        return os.open(name, _DIRECTORY, dir_fd=here)
    except NotADirectoryError:
        if stat.S_ISLNK(os.stat(name, dir_fd=here, follow_symlinks=False).st_mode):
            raise Unsound(f"{name!r} in the repository is a symbolic link") from None
        raise


def own_like(here: int, name: str) -> None:
    """What root makes in somebody's repository belongs to that person."""
    if linux.is_root():
        owner = os.fstat(here)
        os.chown(name, owner.st_uid, owner.st_gid, dir_fd=here, follow_symlinks=False)


def read_file(root: Path, path: str, *, most_bytes: int) -> bytes | None:
    """The content of a plain file below `root`; None if there is none."""
    parent, _, name = path.rpartition("/")
    try:
        with directory(root, parent) as here:
            descriptor = open_file(here, name, most_bytes=most_bytes)
    except (FileNotFoundError, NotADirectoryError):
        return None
    with os.fdopen(descriptor, "rb") as file:
        return file.read(most_bytes)


def open_file(here: int, name: str, *, most_bytes: int) -> int:
    """A descriptor for a plain file of bounded length."""
    try:
        descriptor = os.open(name, _FILE, dir_fd=here)
    except OSError as error:
        if isinstance(error, FileNotFoundError) or not is_link(here, name):
            raise
        raise Unsound(f"{name!r} in the repository is a symbolic link") from None
    status = os.fstat(descriptor)
    if stat.S_ISREG(status.st_mode) and status.st_size <= most_bytes:
        return descriptor
    os.close(descriptor)
    if stat.S_ISDIR(status.st_mode):
        raise FileNotFoundError(name)
    raise Unsound(f"{name!r} in the repository is no plain file, or {status.st_size} bytes long")


def is_link(here: int, name: str) -> bool:
    """Whether a symbolic link stands there."""
    try:
        return stat.S_ISLNK(os.stat(name, dir_fd=here, follow_symlinks=False).st_mode)
    except OSError:
        return False
