"""This process as the kernel of the operating system sees it: its memory map, its threads and whose they are.

A native thread belongs to the library nearest the base of its stack. Stacks are read through `/proc/self/mem`: when a
thread ends meanwhile that is an error to catch, and not a crash of the notebook.
"""

from __future__ import annotations

import bisect
import os
import re
import struct
import time
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

from cellwright_guest.hazard_facts import UNKNOWN

_SCAN_BYTES = 1 << 16
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
        atlas = _Atlas(mappings, memory)
        until = time.monotonic() + _SECONDS_FOR_BUSY
        while waiting := [thread for thread in waiting if not _settled(thread, atlas, found)]:
            if time.monotonic() > until:
                break
            time.sleep(_SECONDS_BETWEEN_LOOKS)
    finally:
        os.close(memory)
    return found | dict.fromkeys(waiting, UNKNOWN)


def _settled(thread: int, atlas: _Atlas, found: dict[int, str]) -> bool:
    try:
        state = Path(f"/proc/self/task/{thread}/syscall").read_text().split()
    except OSError:
        # It has ended, or the system does not show this.
        if is_alive(thread):
            found[thread] = UNKNOWN
        return True
    if len(state) < 3:
        return False
    found[thread] = atlas.owner(stack_pointer=int(state[-2], 16))
    return True


class _Atlas:
    """Which library an address lies in."""

    def __init__(self, mappings: Sequence[Mapping], memory: int) -> None:
        self._mappings = mappings
        self._starts = [mapping.start for mapping in mappings]
        self._memory = memory
        code = [mapping for mapping in mappings if "x" in mapping.permissions and mapping.path]
        self._lowest, self._highest = (code[0].start, code[-1].end) if code else (0, 0)

    def owner(self, *, stack_pointer: int) -> str:
        stack = self._at(stack_pointer)
        if stack is None:
            return UNKNOWN
        passed = self._code_on(stack, stack_pointer)
        # Above the frames lies thread-local data; the outermost frames are the C library's.
        outermost = max((index for index, name in enumerate(passed) if _C_LIBRARY.match(name)), default=len(passed))
        for part in (passed[:outermost], passed[outermost:]):
            for name in reversed(part):
                if not _NOBODYS.match(name):
                    return library_name(name)
        return UNKNOWN

    def _code_on(self, stack: Mapping, stack_pointer: int) -> list[str]:
        """File names of the code that words on the stack point into, the base's last."""
        length = min(stack.end - stack_pointer, _SCAN_BYTES) & ~7
        try:
            held = os.pread(self._memory, length, stack_pointer)
        except (OSError, OverflowError):
            return []
        names: list[str] = []
        words = struct.unpack(f"={len(held) // 8}Q", held[: len(held) & ~7])
        for index, word in enumerate(words):
            address = stack_pointer + index * 8
            # glibc's own record of the thread points at itself; the stack ends below it.
            if word == address and words[index + 2 : index + 3] == (address,):
                break
            if self._lowest <= word < self._highest:
                mapping = self._at(word)
                if mapping is not None and "x" in mapping.permissions and mapping.path:
                    names.append(mapping.path.rpartition("/")[2])
        return names

    def _at(self, address: int) -> Mapping | None:
        index = bisect.bisect_right(self._starts, address) - 1
        if index < 0 or address >= self._mappings[index].end:
            return None
        return self._mappings[index]
