"""Names of our own beside a person's files, for what is on its way into a project, and how leftovers are told apart.

Whoever has such a file holds a lock on it, which ends with its process however that ends: one that nobody holds was
left by a process that was killed.
"""

from __future__ import annotations

import errno
import fcntl
import os
import re
import secrets
import stat

PREFIX = ".cellwright-keep-"
_CLAIM = re.compile(re.escape(PREFIX) + "[0-9a-f]{16}")
_PART = ".part"
_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
_LOOK = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_ATTEMPTS = 8


def is_claim(name: str) -> bool:
    """Whether a file of this name is ours."""
    return _CLAIM.fullmatch(name) is not None


class Claim:
    """A new file in `directory`, empty and locked until it is closed."""

    def __init__(self, directory: int) -> None:
        self._directory = directory
        self.name, self.descriptor = _new(directory)

    @property
    def part(self) -> str:
        """A name for what is no plain file and cannot be locked: it is cleared with the claim."""
        return self.name + _PART

    def close(self) -> None:
        """Nothing is left of it, but what was given another name."""
        _remove(self._directory, self.part)
        _remove(self._directory, self.name)
        os.close(self.descriptor)


def clear(directory: int, name: str) -> bool:
    """Remove a claim that nobody holds, and its part; False if somebody does, or nobody can say."""
    try:
        descriptor = os.open(name, _LOOK, dir_fd=directory)
    except OSError:
        return False
    try:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            return False
        # Not an exclusive one: over a network that needs a file one may write to.
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
        # The part first: without its claim nobody would find it.
        return _remove(directory, name + _PART) and _remove(directory, name)
    except OSError:
        return False
    finally:
        os.close(descriptor)


def _new(directory: int) -> tuple[str, int]:
    for _ in range(_ATTEMPTS):
        name = PREFIX + secrets.token_hex(8)
        descriptor = os.open(name, _NEW, 0o600, dir_fd=directory)
        if _is_held(descriptor):
            return name, descriptor
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


def _remove(directory: int, name: str) -> bool:
    """Whether it is gone."""
    try:
        os.unlink(name, dir_fd=directory)
    except FileNotFoundError:
        return True
    except IsADirectoryError:
        return _remove_directory(directory, name)
    except OSError:
        return False
    return True


def _remove_directory(directory: int, name: str) -> bool:
    try:
        os.rmdir(name, dir_fd=directory)
    except OSError:
        return False
    return True
