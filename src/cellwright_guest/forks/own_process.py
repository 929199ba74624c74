"""This process as the operating system sees it: memory map, threads and whose they are, open descriptors.

A native thread belongs to the library nearest the base of its stack. Stacks are read through `/proc/self/mem`: where
a thread ends meanwhile, reading fails and nothing crashes. Nothing is opened, and no offset of a file moves.
"""

from __future__ import annotations

import bisect
import fcntl
import os
import platform
import re
import stat
import struct
import sys
import termios
import time
from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from cellwright_guest.report_wire import MOST_LISTED, UNKNOWN, DatabaseFile

_SCAN_BYTES = 1 << 16
_MOST_WORDS_TO_A_FRAME = 512
"""Limit of words above a waiting thread's stack pointer that are searched for its first frame record."""
_52_BITS = (1 << 52) - 1
_48_BITS = (1 << 48) - 1
_LOW_ADDRESSES = 1 << 32
"""Below lies only an executable without PIE: a plain number on a stack may look like an address of its code."""
_SECONDS_FOR_BUSY = 1.0
_POLL_INTERVAL_SECONDS = 0.004
"""Poll interval. BLAS and OpenMP threads spin for a few hundredths of a second after their last work."""

_ROW = re.compile(r"^(\w+)-(\w+) (.w..|..x.) \S+ \S+ \S+ *(.*)$", re.MULTILINE)
_DELETED = " (deleted)"
_NOBODYS = re.compile(r"(ld-|libc[.-]|libpthread[.-]|libstdc\+\+|libgcc_s|libm[.-]|\[)")
_C_LIBRARY = re.compile(r"libc[.-]|ld-musl")
_NOT_THE_NAME = re.compile(r"(\.(cpython|abi3|so)\b.*|-[0-9a-f]{6,}.*|-\d[\d.]*\.so.*)$")


class MemoryMapping(NamedTuple):
    """One row of the memory map; not a dataclass, because there are thousands."""

    start: int
    end: int
    permissions: str
    path: str
    is_deleted: bool


def memory_map() -> list[MemoryMapping]:
    """What this process can write or execute, lowest address first."""
    rows = _ROW.findall(Path("/proc/self/maps").read_text(errors="replace"))
    return [
        MemoryMapping(int(start, 16), int(end, 16), permissions, path.removesuffix(_DELETED), path.endswith(_DELETED))
        for start, end, permissions, path in rows
    ]


def library_name(path: str) -> str:
    """The name without version, platform and the hash that a wheel adds: `libgomp-e985bcbb.so.1` is `libgomp`."""
    return _NOT_THE_NAME.sub("", path.rpartition("/")[2])


def thread_name(thread: int) -> str:
    """What the thread calls itself; nothing if it has ended."""
    try:
        return Path(f"/proc/self/task/{thread}/comm").read_text(errors="replace").strip()
    except OSError:
        return ""


def is_thread_alive(thread: int) -> bool:
    """Whether this process still has the thread."""
    return Path(f"/proc/self/task/{thread}").exists()


def thread_owners(threads: Iterable[int], mappings: Sequence[MemoryMapping]) -> dict[int, str]:
    """Each thread that still lives, and the name of the library it belongs to.

    A busy thread shows no stack: it is given a moment to come to rest, and is `UNKNOWN` when it does not.
    """
    found: dict[int, str] = {}
    waiting = list(threads)
    if not waiting:
        return found
    try:
        memory = os.open("/proc/self/mem", os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return dict.fromkeys(waiting, UNKNOWN)
    try:
        stacks = ThreadStacks(mappings, memory)
        until = time.monotonic() + _SECONDS_FOR_BUSY
        while waiting := [thread for thread in waiting if not _settled(thread, stacks, found)]:
            if time.monotonic() > until:
                break
            time.sleep(_POLL_INTERVAL_SECONDS)
    finally:
        os.close(memory)
    return found | dict.fromkeys(waiting, UNKNOWN)


def _settled(thread: int, stacks: ThreadStacks, found: dict[int, str]) -> bool:
    try:
        state = Path(f"/proc/self/task/{thread}/syscall").read_text().split()
    except OSError:
        # It has ended, or the system does not show this.
        if is_thread_alive(thread):
            found[thread] = UNKNOWN
        return True
    if len(state) < 3:
        return False
    found[thread] = stacks.owner(stack_pointer=int(state[-2], 16))
    return True


class ThreadStacks:
    """Which library a thread's stack belongs to; `memory` is an open file of the whole address space."""

    def __init__(self, mappings: Sequence[MemoryMapping], memory: int, machine: str = platform.machine()) -> None:
        self._mappings = mappings
        self._starts = [mapping.start for mapping in mappings]
        self._memory = memory
        self._has_frame_records = machine == "aarch64"
        code = [mapping for mapping in mappings if "x" in mapping.permissions and mapping.path]
        self._lowest, self._highest = (code[0].start, code[-1].end) if code else (0, 0)

    def owner(self, *, stack_pointer: int) -> str:
        """The library nearest the stack's base, or `UNKNOWN`."""
        stack = self._at(stack_pointer)
        if stack is None:
            return UNKNOWN
        held = self._read(stack_pointer, min(stack.end - stack_pointer, _SCAN_BYTES) & ~7)
        words = struct.unpack(f"={len(held) // 8}Q", held[: len(held) & ~7])
        if not self._has_frame_records:
            return _outermost_owner(self._scanned(words, stack_pointer))
        records = self._frame_records(words, stack_pointer)
        found = _outermost_owner([self._code_name(words[index + 1]) for index in records])
        if found != UNKNOWN or not records:
            return found
        # Its library keeps no frame records. The last record is glibc's, so the stack ends there.
        return _outermost_owner(self._scanned(words[: records[-1] + 2], stack_pointer))

    def _scanned(self, words: Sequence[int], stack_pointer: int) -> list[str]:
        """File names of the code that words on the stack point into, the base's last."""
        names: list[str] = []
        for index, word in enumerate(words):
            address = stack_pointer + index * 8
            # glibc's own record of the thread points at itself on x86-64; the stack ends below it.
            if word == address and words[index + 2 : index + 3] == (address,):
                break
            name = self._code_name(word)
            if name and (word >= _LOW_ADDRESSES or self._follows_call(word)):
                names.append(name)
        return names

    def _frame_records(self, words: Sequence[int], stack_pointer: int) -> list[int]:
        """Where frame records stand, as the ABI of aarch64 chains them: (the next one's address, a return address).

        The kernel does not tell the frame pointer of a waiting thread, so the first chain that ends at the base is
        taken: `clone` starts each thread with a next address of 0. A stale record below it leads to the same base.
        """
        end = stack_pointer + 8 * len(words)
        for first in range(min(len(words) - 1, _MOST_WORDS_TO_A_FRAME)):
            records: list[int] = []
            at = stack_pointer + 8 * first
            # A stack pointer is a multiple of 16 here at every call, and so is a record's address.
            while stack_pointer <= at <= end - 16 and at % 16 == 0:
                index = (at - stack_pointer) // 8
                if not self._code_name(words[index + 1]):
                    break
                records.append(index)
                if words[index] == 0:
                    return records
                if words[index] <= at:
                    break
                at = words[index]
        return []

    def _code_name(self, address: int) -> str:
        """The file name of the code at an address; empty where there is none.

        With pointer authentication the unused upper bits of a return address are a signature. How many those are
        depends on the kernel: 52 bits of address come first, since 48 could cut a true address.
        """
        candidates = (address, address & _52_BITS, address & _48_BITS) if self._has_frame_records else (address,)
        for candidate in candidates:
            if self._lowest <= candidate < self._highest:
                mapping = self._at(candidate)
                if mapping is not None and "x" in mapping.permissions and mapping.path:
                    return mapping.path.rpartition("/")[2]
        return ""

    def _follows_call(self, address: int) -> bool:
        """Whether the instruction before is a call (x86-64): E8 with an offset, or FF with /2 in its second byte."""
        before = self._read(address - 7, 7)
        if len(before) < 7:
            return False
        is_indirect = any(before[at] == 0xFF and before[at + 1] >> 3 & 7 == 2 for at in (0, 1, 3, 4, 5))
        return before[2] == 0xE8 or is_indirect

    def _read(self, address: int, length: int) -> bytes:
        try:
            return os.pread(self._memory, length, address)
        except (OSError, OverflowError):
            return b""

    def _at(self, address: int) -> MemoryMapping | None:
        index = bisect.bisect_right(self._starts, address) - 1
        if index < 0 or address >= self._mappings[index].end:
            return None
        return self._mappings[index]


def _outermost_owner(passed: Sequence[str]) -> str:
    """The library nearest the base that can own a thread."""
    # Above the frames lies thread-local data; the outermost frames are the C library's.
    outermost = max((index for index, name in enumerate(passed) if _C_LIBRARY.match(name)), default=len(passed))
    outermost_first = (*reversed(passed[:outermost]), *reversed(passed[outermost:]))
    return next((library_name(name) for name in outermost_first if not _NOBODYS.match(name)), UNKNOWN)


_PATH_CHARS = 300
_HARMLESS_DEVICES = frozenset(("/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom"))
_HEAD_BYTES = 32
_JOURNALS = ("-journal", "-wal", ".wal")
_FLAGS = re.compile(r"^flags:\s*([0-7]+)$", re.MULTILINE)


@dataclass(slots=True, kw_only=True)
class Descriptors:
    """What was found; lists end at `MOST_LISTED`."""

    sockets: int = 0
    pipes: int = 0
    unread_pipes: int = 0
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
        found.anonymous[bounded_text(target.removeprefix("anon_inode:").strip("[]"))] += 1
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
        if target not in _HARMLESS_DEVICES and len(found.devices) < MOST_LISTED:
            found.devices.append(bounded_text(target))
    elif not stat.S_ISDIR(mode):
        found.anonymous[bounded_text(target.partition(":")[0]) or "other"] += 1


def _sort_file(found: Descriptors, descriptor: int, target: str, status: os.stat_result) -> None:
    path = target.removesuffix(_DELETED) if status.st_nlink == 0 else target
    has_journal = any(os.path.exists(f"{path}{suffix}") for suffix in _JOURNALS)  # noqa: PTH110
    engine = _engine(descriptor, status, has_journal=has_journal)
    if engine and len(found.databases) < MOST_LISTED:
        found.databases.append(DatabaseFile(engine=engine, path=bounded_text(path), has_journal=has_journal))


def _engine(descriptor: int, status: os.stat_result, *, has_journal: bool) -> str:
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
    flags = _flags(descriptor)
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


def bounded_text(text: str) -> str:
    """A text of the system, of bounded length and fit for a message."""
    return text[:_PATH_CHARS].encode("utf-8", "replace").decode("utf-8")
