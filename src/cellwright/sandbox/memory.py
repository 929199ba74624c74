"""How much memory everything in a cage has, where no control group counts it.

A quick sum first, in which pages that forks share count for each of them; the exact one only when that is over the
limit.
"""

# Plain paths: this runs in a cage's init and in a supervisor.
# ruff: noqa: PTH123

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass, field

_PRIVATE = re.compile(rb"^RssAnon:\s+(\d+) kB", re.MULTILINE)
_SIZE = re.compile(rb"^VmSize:\s+(\d+) kB", re.MULTILINE)
_EXACT = re.compile(rb"^Pss_Anon:\s+(\d+) kB", re.MULTILINE)
_SHARED = re.compile(rb"^([0-9a-f]+)-([0-9a-f]+) \S+ \S+ \S+ (\d+) +/dev/zero \(deleted\)$", re.MULTILINE)
_LOOKS_BEFORE_AGAIN = 10


@dataclass(slots=True)
class _Looked:
    """What was found in one process, and how big it was then."""

    size_kb: int = -1
    times: int = 0
    shared_kb: dict[bytes, int] = field(default_factory=dict[bytes, int])


class MemoryMeter:
    """Looked at several times a second, it remembers what rarely changes."""

    def __init__(self) -> None:
        self._looked: dict[int, _Looked] = {}
        self._can_look = False
        self._last_kb = 0
        self._times_over = 0
        self.is_urgent = False
        """Whether it is time to look more often."""

    def is_over(self, pids: Collection[int], *, limit_kb: int) -> bool:
        """Whether these processes together have more than the limit, twice in a row.

        A single look is unsure while processes end: what they shared is then counted for those that are left, too.
        """
        used_kb = self._used_kb(pids, limit_kb)
        self._times_over = self._times_over + 1 if used_kb > limit_kb else 0
        self.is_urgent = used_kb > limit_kb // 2 and (used_kb > self._last_kb or self._times_over > 0)
        self._last_kb = used_kb
        return self._times_over > 1

    def _used_kb(self, pids: Collection[int], limit_kb: int) -> int:
        status = {pid: _read(f"/proc/{pid}/status") for pid in pids}
        private = {pid: _number(_PRIVATE, text) for pid, text in status.items()}
        shared = self._shared_kb({pid: _number(_SIZE, text) for pid, text in status.items()})
        if sum(private.values()) + shared <= limit_kb:
            return sum(private.values()) + shared
        return sum(map(_exact_kb, pids)) + shared

    def _shared_kb(self, sizes_kb: dict[int, int]) -> int:
        """Anonymous memory made to be shared, by its whole size: its pages may stand in no process's books."""
        looked = {pid: self._looked.get(pid) or _Looked() for pid in sizes_kb}
        areas: dict[bytes, int] = {}
        for pid, size_kb in sizes_kb.items():
            known = looked[pid]
            known.times += 1
            if size_kb != known.size_kb or known.times > _LOOKS_BEFORE_AGAIN:
                looked[pid] = known = _Looked(size_kb, 0, self._shared_areas(pid, size_kb))
            for inode, length in known.shared_kb.items():
                areas[inode] = max(length, areas.get(inode, 0))
        self._looked = looked
        return sum(areas.values())

    def _shared_areas(self, pid: int, size_kb: int) -> dict[bytes, int]:
        """Kilobytes by the number of the nameless file behind them. Who hides them is taken to have nothing else."""
        maps = _read(f"/proc/{pid}/maps")
        self._can_look = self._can_look or bool(maps)
        if not maps and self._can_look:
            return {b"hidden by %d" % pid: size_kb}
        areas: dict[bytes, int] = {}
        for start, end, inode in _SHARED.findall(maps):
            areas[inode] = areas.get(inode, 0) + (int(end, 16) - int(start, 16)) // 1024
        return areas


def _exact_kb(pid: int) -> int:
    """Its share of all pages it has. One that hides that is given them whole; one that has gone has none."""
    return _number(_EXACT, _read(f"/proc/{pid}/smaps_rollup")) or _number(_PRIVATE, _read(f"/proc/{pid}/status"))


def _read(path: str) -> bytes:
    """Empty for a process that has just gone, or that has made itself unreadable."""
    try:
        with open(path, "rb") as file:
            return file.read()
    except OSError:
        return b""


def _number(pattern: re.Pattern[bytes], text: bytes) -> int:
    found = pattern.search(text)
    return int(found[1]) if found else 0
