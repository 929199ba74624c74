"""The descriptors this process holds open, sorted by what a fork would do to them."""

from __future__ import annotations

import fcntl
import os
import re
import stat
import struct
import sys
import termios
from collections import Counter
from collections.abc import Collection
from dataclasses import dataclass, field
from pathlib import Path

from cellwright_guest.hazard_facts import MOST, DatabaseFile, OpenFile

_PATH_CHARS = 300
_HARMLESS_DEVICES = frozenset(("/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom"))
_HEAD_BYTES = 32
_JOURNALS = ("-journal", "-wal", ".wal")
_FLAGS = re.compile(r"^flags:\s*([0-7]+)$", re.MULTILINE)


@dataclass(slots=True, kw_only=True)
class Descriptors:
    """What was found; lists end at `MOST`."""

    sockets: int = 0
    pipes: int = 0
    unread_pipes: int = 0
    files: list[OpenFile] = field(default_factory=list[OpenFile])
    databases: list[DatabaseFile] = field(default_factory=list[DatabaseFile])
    anonymous: Counter[str] = field(default_factory=Counter[str])
    devices: list[str] = field(default_factory=list[str])


def look_at_descriptors(*, own: Collection[int]) -> Descriptors:
    """All open descriptors but `own`. Nothing is opened, and no offset moves."""
    found = Descriptors()
    for name in os.listdir("/proc/self/fd"):  # noqa: PTH208
        descriptor = int(name)
        if descriptor in own:
            continue
        try:
            target = os.readlink(f"/proc/self/fd/{name}")  # noqa: PTH115
            status = os.fstat(descriptor)
        except OSError:
            # The one that listed the directory.
            continue
        _sort(found, descriptor, target, status)
    return found


def _sort(found: Descriptors, descriptor: int, target: str, status: os.stat_result) -> None:
    mode = status.st_mode
    if target.startswith("anon_inode:"):
        found.anonymous[_text(target.removeprefix("anon_inode:").strip("[]"))] += 1
    elif target.startswith("/memfd:"):
        found.anonymous["memfd"] += 1
    elif stat.S_ISSOCK(mode):
        found.sockets += 1
    elif stat.S_ISFIFO(mode):
        found.pipes += 1
        found.unread_pipes += _waiting_bytes(descriptor) > 0
    elif stat.S_ISREG(mode):
        _sort_file(found, descriptor, target, status)
    elif stat.S_ISCHR(mode) or stat.S_ISBLK(mode):
        if target not in _HARMLESS_DEVICES and len(found.devices) < MOST:
            found.devices.append(_text(target))
    elif not stat.S_ISDIR(mode):
        found.anonymous[_text(target.partition(":")[0]) or "other"] += 1


def _sort_file(found: Descriptors, descriptor: int, target: str, status: os.stat_result) -> None:
    flags = _flags(descriptor)
    is_deleted = status.st_nlink == 0
    path = target.removesuffix(" (deleted)") if is_deleted else target
    has_journal = any(os.path.exists(f"{path}{suffix}") for suffix in _JOURNALS)  # noqa: PTH110
    engine = _engine(descriptor, flags, status, has_journal=has_journal)
    if engine and len(found.databases) < MOST:
        found.databases.append(DatabaseFile(engine=engine, path=_text(path), has_journal=has_journal))
    elif not engine and len(found.files) < MOST:
        is_writable = flags & os.O_ACCMODE != os.O_RDONLY
        found.files.append(OpenFile(path=_text(path), is_writable=is_writable, is_deleted=is_deleted))


def _engine(descriptor: int, flags: int, status: os.stat_result, *, has_journal: bool) -> str:
    """Whose database file this is by its first bytes; empty when it is none."""
    try:
        head = os.pread(descriptor, _HEAD_BYTES, 0)
    except OSError:
        head = b""
    if head.startswith(b"SQLite format 3\0"):
        return "sqlite"
    if head[8:12] == b"DUCK":
        return "duckdb"
    if head[16:20] == b"\xde\xc0\xef\xbe":
        return "lmdb"
    # SQLite writes nothing before the first commit. It follows no links, as `tempfile` does, whose files are private.
    has_its_flags = flags & os.O_NOFOLLOW and flags & os.O_ACCMODE == os.O_RDWR
    is_new = has_its_flags and status.st_mode & 0o777 != 0o600 and status.st_nlink and "_sqlite3" in sys.modules
    return "sqlite" if status.st_size == 0 and (is_new or has_journal) else ""


def _flags(descriptor: int) -> int:
    try:
        found = _FLAGS.search(Path(f"/proc/self/fdinfo/{descriptor}").read_text())
    except OSError:
        found = None
    return int(found[1], 8) if found else fcntl.fcntl(descriptor, fcntl.F_GETFL)


def _waiting_bytes(descriptor: int) -> int:
    try:
        return struct.unpack("i", fcntl.ioctl(descriptor, termios.FIONREAD, b"\0" * 4))[0]
    except OSError:
        return 0


def _text(text: str) -> str:
    return text[:_PATH_CHARS].encode("utf-8", "replace").decode("utf-8")
