"""This process as the kernel of the operating system sees it: its memory map, its threads and whose they are.

A native thread belongs to the library nearest the base of its stack. Stacks are read through `/proc/self/mem`: when a
thread ends meanwhile that is an error to catch, and not a crash of the notebook.
"""

from __future__ import annotations

import bisect
import os
import platform
import re
import struct
import time
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

from cellwright_guest.hazard_facts import UNKNOWN

_SCAN_BYTES = 1 << 16
_MOST_WORDS_TO_A_FRAME = 512
"""How far above a waiting thread's stack pointer its first frame record is looked for: system calls use little."""
_52_BITS = (1 << 52) - 1
_48_BITS = (1 << 48) - 1
_LOW_ADDRESSES = 1 << 32
"""Below lies only an executable without PIE: a plain number on a stack may look like an address of its code."""
_SECONDS_FOR_BUSY = 1.0
_SECONDS_BETWEEN_LOOKS = 0.004
"""BLAS and OpenMP threads spin for a few hundredths of a second after their last work before they wait."""

_ROW = re.compile(r"^(\w+)-(\w+) (.w..|..x.) \S+ \S+ \S+ *(.*)$", re.MULTILINE)
_DELETED = " (deleted)"
_NOBODYS = re.compile(r"(ld-|libc[.-]|libpthread[.-]|libstdc\+\+|libgcc_s|libm[.-]|\[)")
_C_LIBRARY = re.compile(r"libc[.-]|ld-musl")
_NOT_THE_NAME = re.compile(r"(\.(cpython|abi3|so)\b.*|-[0-9a-f]{6,}.*|-\d[\d.]*\.so.*)$")


class Mapping(NamedTuple):
    """One row of the memory map; not a dataclass, because there are thousands."""

    start: int
    end: int
    permissions: str
    path: str
    is_deleted: bool


def memory_map() -> list[Mapping]:
    """What this process can write or execute, lowest address first."""
    rows = _ROW.findall(Path("/proc/self/maps").read_text(errors="replace"))
    return [
        Mapping(int(start, 16), int(end, 16), permissions, path.removesuffix(_DELETED), path.endswith(_DELETED))
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


def is_alive(thread: int) -> bool:
    """Whether this process still has the thread."""
    return Path(f"/proc/self/task/{thread}").exists()


def owners(threads: Iterable[int], mappings: Sequence[Mapping]) -> dict[int, str]:
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
            time.sleep(_SECONDS_BETWEEN_LOOKS)
    finally:
        os.close(memory)
    return found | dict.fromkeys(waiting, UNKNOWN)


def _settled(thread: int, stacks: ThreadStacks, found: dict[int, str]) -> bool:
    try:
        state = Path(f"/proc/self/task/{thread}/syscall").read_text().split()
    except OSError:
        # It has ended, or the system does not show this.
        if is_alive(thread):
            found[thread] = UNKNOWN
        return True
    if len(state) < 3:
        return False
    found[thread] = stacks.owner(stack_pointer=int(state[-2], 16))
    return True


class ThreadStacks:
    """Which library a thread's stack belongs to; `memory` is an open file of the whole address space."""

    def __init__(self, mappings: Sequence[Mapping], memory: int, machine: str = platform.machine()) -> None:
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

    def _at(self, address: int) -> Mapping | None:
        index = bisect.bisect_right(self._starts, address) - 1
        if index < 0 or address >= self._mappings[index].end:
            return None
        return self._mappings[index]


def _outermost_owner(passed: Sequence[str]) -> str:
    """The library nearest the base that can own a thread."""
    # Above the frames lies thread-local data; the outermost frames are the C library's.
    outermost = max((index for index, name in enumerate(passed) if _C_LIBRARY.match(name)), default=len(passed))
    for part in (passed[:outermost], passed[outermost:]):
        for name in reversed(part):
            if not _NOBODYS.match(name):
                return library_name(name)
    return UNKNOWN
