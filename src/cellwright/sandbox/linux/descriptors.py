"""Descriptors: files and directories opened through no link, and closed at the end of a block.

Where somebody else can change a tree meanwhile, a path is gone along by descriptors, name by name. The standard
library only: this runs in the zygote and in a cage's first process, too.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Generator, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress

DIRECTORY = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
# Without waiting: a named pipe would wait for its other end.
FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
NEW_FILE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
GIVEN_DIRECTORY = DIRECTORY & ~os.O_NOFOLLOW
"""A directory that a person named: its name may be a link."""


@contextmanager
def closing(descriptor: int) -> Generator[int]:
    """A descriptor that is closed at the end of the block."""
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def opened(
    path: str | os.PathLike[str], flags: int = DIRECTORY, *, within: int | None = None
) -> AbstractContextManager[int]:
    """A file or directory by name, below an open directory or not."""
    return closing(os.open(path, flags, 0o600, dir_fd=within))


def open_beneath(root: int, parts: Sequence[str], *, is_made: bool = False) -> int:
    """A directory below, following no link; with `is_made` those that are missing are made on the way."""
    here = os.dup(root)
    for name in parts:
        with closing(here):
            if name in {"", ".", ".."}:
                raise OSError(errno.EXDEV, f"{'/'.join(parts)!r} leads elsewhere")
            if is_made:
                with suppress(FileExistsError):
                    os.mkdir(name, 0o755, dir_fd=here)
            here = os.open(name, DIRECTORY, dir_fd=here)
    return here


def status_of(directory: int, name: str) -> os.stat_result | None:
    """What is there, or None; a link itself, not what it leads to."""
    try:
        return os.stat(name, dir_fd=directory, follow_symlinks=False)
    except FileNotFoundError:
        return None
