"""Directories of our own in a project, for what is on its way into it, and how leftovers are told apart.

Whoever has one holds a lock in it, which ends with its process however that ends: one that nobody holds was left by a
process that was killed. Versions before made single files of these names, with a lock on the file itself.
"""

from __future__ import annotations

import errno
import fcntl
import os
import re
import secrets
import shutil
import stat
from contextlib import suppress

from cellwright.sandbox.linux.descriptors import DIRECTORY, FILE, NEW_FILE, closing, opened

PREFIX = ".cellwright-keep-"
_STAGING_NAME = re.compile(re.escape(PREFIX) + "[0-9a-f]{16}")
_PART = ".part"
_LOCK = "lock"
"""In the directory; whatever else is there has a number."""
_ATTEMPTS = 8


def is_staging_name(name: str) -> bool:
    """Whether a file or directory of this name is ours."""
    return _STAGING_NAME.fullmatch(name) is not None


class StagingDirectory:
    """A new directory in `parent` that only we may enter, locked until it is closed. It keeps `parent` open."""

    def __init__(self, parent: int) -> None:
        self._parent = os.dup(parent)
        self._last = 0
        try:
            self.name, self.descriptor, self._lock = _new(parent)
        except BaseException:
            os.close(self._parent)
            raise

    def next_name(self) -> str:
        """A name in it that nothing has."""
        self._last += 1
        return str(self._last)

    def close(self) -> None:
        """Nothing is left of it, but what was moved out."""
        try:
            _empty(self._parent, self.name, self.descriptor)
        finally:
            for descriptor in (self.descriptor, self._lock, self._parent):
                os.close(descriptor)


def clear(parent: int, name: str) -> bool:
    """Remove a claim that nobody holds, with all in it; False if somebody does, or nobody can say."""
    try:
        with opened(name, FILE, within=parent) as descriptor:
            mode = os.fstat(descriptor).st_mode
            if stat.S_ISDIR(mode):
                return _clear_directory(parent, name, descriptor)
            return stat.S_ISREG(mode) and _clear_file(parent, name, descriptor)
    except OSError:
        return False


def _clear_directory(parent: int, name: str, descriptor: int) -> bool:
    try:
        lock = os.open(_LOCK, FILE, dir_fd=descriptor)
    except FileNotFoundError:
        # Its maker was killed before it had a lock, or has none yet: then it finds this gone and makes another.
        os.rmdir(name, dir_fd=parent)
        return True
    with closing(lock):
        # Not an exclusive one: over a network that needs a file one may write to.
        fcntl.flock(lock, fcntl.LOCK_SH | fcntl.LOCK_NB)
        _empty(parent, name, descriptor)
    return True


def _clear_file(parent: int, name: str, descriptor: int) -> bool:
    fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    # The part first: without its claim nobody would find it.
    _remove(parent, name + _PART)
    _remove(parent, name)
    return True


def _new(parent: int) -> tuple[str, int, int]:
    """Its name, the directory and its lock."""
    for _ in range(_ATTEMPTS):
        name = PREFIX + secrets.token_hex(8)
        os.mkdir(name, 0o700, dir_fd=parent)
        try:
            descriptor = os.open(name, DIRECTORY, dir_fd=parent)
        except FileNotFoundError:
            continue
        try:
            lock = os.open(_LOCK, NEW_FILE, 0o600, dir_fd=descriptor)
        except FileNotFoundError:
            os.close(descriptor)
            continue
        if _is_held(lock):
            return name, descriptor, lock
        os.close(lock)
        os.close(descriptor)
    raise OSError(errno.EBUSY, "what we write is taken away")


def _is_held(descriptor: int) -> bool:
    """False if somebody cleared it between its making and its locking."""
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:
        # A file system without locks: nobody can take it for a leftover, either.
        return True
    return os.fstat(descriptor).st_nlink > 0


def _empty(parent: int, name: str, descriptor: int) -> None:
    """The lock goes last: without it the next one who looks takes the directory for one that is still empty."""
    with os.scandir(descriptor) as entries:
        names = [entry.name for entry in entries if entry.name != _LOCK]
    for each in names:
        _remove(descriptor, each)
    _remove(descriptor, _LOCK)
    # Two who clear the same leftover help each other.
    with suppress(FileNotFoundError):
        os.rmdir(name, dir_fd=parent)


def _remove(directory: int, name: str) -> None:
    try:
        os.unlink(name, dir_fd=directory)
    except FileNotFoundError:
        return
    except IsADirectoryError:
        # Follows no link, whoever puts one there meanwhile.
        shutil.rmtree(name, ignore_errors=True, dir_fd=directory)
