"""Private directories in the system's temporary one, and how those that killed processes left there are removed.

A directory is named after its process, which holds a lock on it: the lock ends with the process, however that ends,
and is seen from other process namespaces that share `/tmp`. One is a leftover only if it belongs to this user, no
process has its number any more, and nobody holds its lock.
"""

# Plain paths and descriptors: this runs in the zygote, too.
# ruff: noqa: PTH101, PTH110, PTH208

from __future__ import annotations

import fcntl
import os
import re
import shutil
import stat
import tempfile
from collections.abc import Generator
from contextlib import contextmanager, suppress
from pathlib import Path

from cellwright.sandbox.linux.descriptors import DIRECTORY, closing, opened

_NAME = re.compile(r"cellwright-(?:[a-z]+-)?([0-9]+)-[a-z0-9_]+")


@contextmanager
def private_directory(kind: str) -> Generator[Path]:
    """A new empty directory, removed at the end of the block."""
    directory = tempfile.mkdtemp(prefix=f"cellwright-{kind}-{os.getpid()}-")
    try:
        with closing(hold(directory)):
            yield Path(directory)
    finally:
        remove(directory)


def hold(directory: str) -> int:
    """The descriptor that holds a directory's lock; every process that has it must be gone before it is a leftover."""
    lock = os.open(directory, DIRECTORY)
    # Without locks nobody can take it for a leftover, either.
    with suppress(OSError):
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    return lock


def sweep() -> list[str]:
    """Remove what killed processes of this user left; says which."""
    # The zygote has no environment, so it works in /tmp whatever TMPDIR says here.
    folders = dict.fromkeys((tempfile.gettempdir(), "/tmp"))
    return [path for folder in folders for path in _leftovers(folder) if _is_removed(path)]


def _leftovers(folder: str) -> list[str]:
    try:
        names = os.listdir(folder)
    except OSError:
        return []
    found = ((name, _NAME.fullmatch(name)) for name in names)
    return [f"{folder}/{name}" for name, match in found if match and not os.path.exists(f"/proc/{match[1]}")]


def _is_removed(path: str) -> bool:
    try:
        with opened(path) as lock:
            if os.fstat(lock).st_uid != os.geteuid():
                return False
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            remove(path)
    except OSError:
        # A link, no directory, not ours to open, or held by somebody.
        return False
    return not os.path.lexists(path)


def remove(directory: str) -> None:
    """Delete a private directory, whatever modes a notebook left in it; links in it are not followed."""
    shutil.rmtree(directory, ignore_errors=True)
    if os.path.lexists(directory):
        os.chmod(directory, 0o700)
        for parent, names, _ in os.walk(directory):
            for name in names:
                if stat.S_ISDIR(os.lstat(f"{parent}/{name}").st_mode):
                    os.chmod(f"{parent}/{name}", 0o700)
        shutil.rmtree(directory, ignore_errors=True)
