"""Files written so that a crash at any moment leaves the old one or the new one, never a mix."""

from __future__ import annotations

import contextlib
import errno
import glob
import os
import secrets
import stat
import time
from collections.abc import Callable
from enum import StrEnum
from pathlib import Path
from typing import Final

_LEFTOVER_SECONDS: Final = 600


class SavePoint(StrEnum):
    """The moments of a save, in order; crash tests end the process at each of them."""

    CREATED = "created"
    HALF_WRITTEN = "half-written"
    WRITTEN = "written"
    SYNCED = "synced"
    REPLACED = "replaced"


def write_atomically(
    target: Path,
    content: bytes,
    *,
    may_replace: Callable[[], bool] = lambda: True,
    reached: Callable[[SavePoint], None] = lambda _: None,
) -> bool:
    """Put `content` at `target`, keeping its mode and owner. False, and nothing done, if `may_replace` says no.

    `may_replace` is asked last, right before the rename. A temporary file that a crash leaves behind is hidden,
    does not end in `.py`, and goes with a later save.
    """
    _sweep_leftovers(target)
    temporary = target.with_name(f".{target.name}.{secrets.token_hex(6)}.saving")
    descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o666)
    try:
        with os.fdopen(descriptor, "wb", buffering=0) as stream:
            reached(SavePoint.CREATED)
            _take_over_owner_and_mode(descriptor, target)
            middle = len(content) // 2
            _write_all(stream.write, content[:middle])
            reached(SavePoint.HALF_WRITTEN)
            _write_all(stream.write, content[middle:])
            reached(SavePoint.WRITTEN)
            os.fsync(descriptor)
        reached(SavePoint.SYNCED)
        if not may_replace():
            return False
        temporary.replace(target)
    finally:
        temporary.unlink(missing_ok=True)
    _sync_directory(target.parent)
    reached(SavePoint.REPLACED)
    return True


def write_new(target: Path, content: bytes, *, mode: int = 0o666) -> bool:
    """Put `content` at a path where nothing is yet, whole or not at all. False, and nothing done, if something is."""
    temporary = target.with_name(f".{target.name[:200]}.{secrets.token_hex(6)}.saving")
    if os.path.lexists(target):
        return False
    try:
        # Its mode from its first byte; complete before it has its name.
        descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, mode)
        with os.fdopen(descriptor, "wb") as stream:
            stream.write(content)
            stream.flush()
            os.fsync(descriptor)
        return _link(temporary, target)
    finally:
        temporary.unlink(missing_ok=True)


def _link(temporary: Path, target: Path) -> bool:
    try:
        # A link, not a rename: it fails where a file has appeared meanwhile.
        os.link(temporary, target)
    except FileExistsError:
        return False
    except OSError as error:
        if error.errno not in {errno.EPERM, errno.ENOTSUP, errno.EMLINK}:
            raise
        # Some file systems have no links.
        if os.path.lexists(target):
            return False
        temporary.rename(target)
    return True


def _write_all(write: Callable[[bytes], int | None], content: bytes) -> None:
    while content:
        content = content[write(content) or 0 :]


def _take_over_owner_and_mode(descriptor: int, target: Path) -> None:
    try:
        old = target.stat()
    except FileNotFoundError:
        return
    with contextlib.suppress(PermissionError):
        os.fchown(descriptor, old.st_uid, old.st_gid)
    os.fchmod(descriptor, stat.S_IMODE(old.st_mode))


def _sweep_leftovers(target: Path) -> None:
    for leftover in target.parent.glob(f".{glob.escape(target.name)}.*.saving"):
        with contextlib.suppress(OSError):
            if time.time() - leftover.stat().st_mtime > _LEFTOVER_SECONDS:
                leftover.unlink()


def _sync_directory(directory: Path) -> None:
    descriptor = os.open(directory, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
