"""The processes below this one and the memory they use, where no namespace or control group holds them together."""

# Plain paths: this runs in the zygote and its children.
# ruff: noqa: PTH116, PTH123, PTH208

from __future__ import annotations

import os
import re
import signal
import time
from collections.abc import Callable, Collection
from contextlib import suppress
from dataclasses import dataclass, field

_KILL_TIMEOUT_SECONDS = 10.0
_KILL_INTERVAL_SECONDS = 0.001
_TICKS_PER_SECOND = os.sysconf("SC_CLK_TCK")


def _read(path: str) -> bytes:
    """Empty for a process that has just gone, or that has made itself unreadable."""
    try:
        with open(path, "rb") as file:
            return file.read()
    except OSError:
        return b""


def _stat(pid: int) -> list[bytes]:
    """The fields of `/proc/PID/stat` behind the name, which may hold anything; none if it has gone."""
    return _read(f"/proc/{pid}/stat").rpartition(b")")[2].split()


def _parents() -> dict[int, int]:
    """The parent of every process we can see."""
    found = {pid: _stat(pid) for pid in map(int, filter(str.isdigit, os.listdir("/proc")))}
    return {pid: int(fields[1]) for pid, fields in found.items() if fields}


def children() -> set[int]:
    """The direct children of this process."""
    own = os.getpid()
    return {pid for pid, parent in _parents().items() if parent == own}


def descendants(roots: set[int]) -> set[int]:
    """The given processes and everything below them."""
    parents = _parents()
    found = roots & parents.keys()
    while more := {pid for pid, parent in parents.items() if parent in found} - found:
        found |= more
    return found


def threads_of(uid: int) -> int:
    """How many threads this user has now, of those we can see."""
    found = 0
    for pid in filter(str.isdigit, os.listdir("/proc")):
        with suppress(OSError):
            if os.stat(f"/proc/{pid}").st_uid == uid:
                found += len(os.listdir(f"/proc/{pid}/task"))
    return found


def below() -> set[int]:
    """Everything below this process, by the system's lists of children: quick, but not exact while they change."""
    found: set[int] = set()
    waiting = [os.getpid()]
    while waiting:
        more = _listed_children(waiting.pop()) - found
        found |= more
        waiting += more
    return found


def _listed_children(pid: int) -> set[int]:
    try:
        threads = os.listdir(f"/proc/{pid}/task")
    except OSError:
        return set()
    return {int(child) for thread in threads for child in _read(f"/proc/{pid}/task/{thread}/children").split()}


def cpu_seconds() -> float:
    """CPU time of everything below this process, ended or not."""
    running = sum(map(cpu_seconds_of, descendants(children())))
    # Afterwards: one that is reaped in between is counted twice rather than not at all.
    ended = os.times()
    return running + ended.children_user + ended.children_system


def cpu_seconds_of(pid: int) -> float:
    """CPU time of one process and of the children it has waited for; 0 if it has gone."""
    # utime, stime, cutime, cstime
    return sum(map(int, _stat(pid)[11:15])) / _TICKS_PER_SECOND


def private_memory_kb(pid: int) -> int:
    """What it does not share with anybody: its private pages."""
    lines = _read(f"/proc/{pid}/smaps_rollup").splitlines()
    return sum(int(line.split()[1]) for line in lines if line.startswith(b"Private_"))


def system_call_of(pid: int) -> str:
    """The number of the system call its main thread waits in; `running` if in none."""
    return _read(f"/proc/{pid}/syscall").partition(b" ")[0].decode(errors="replace").strip()


def is_dead(pid: int) -> bool:
    """Whether it has ended, reaped or not."""
    return _stat(pid)[:1] in ([], [b"Z"], [b"X"])


def stop_and_kill(pids: Collection[int]) -> None:
    """Stopped first: a process may fork while we look, but not once it is stopped."""
    for number in (signal.SIGSTOP, signal.SIGKILL):
        for pid in pids:
            with suppress(ProcessLookupError, PermissionError):
                os.kill(pid, number)


def kill_descendants() -> dict[int, int]:
    """Kill everything below this process until nothing is left; it must be a subreaper, so that orphans come here.

    Returns the wait status of every child that ended.
    """
    return _kill_trees(children)


def kill_strays(known: set[int]) -> None:
    """Kill orphans that came to this process because their supervisor was killed."""
    _kill_trees(lambda: children() - known)


def _kill_trees(find_roots: Callable[[], set[int]]) -> dict[int, int]:
    """Again and again, until none is left."""
    statuses: dict[int, int] = {}
    end = time.monotonic() + _KILL_TIMEOUT_SECONDS
    while (roots := find_roots()) and time.monotonic() < end:
        stop_and_kill(descendants(roots))
        time.sleep(_KILL_INTERVAL_SECONDS)
        for pid in roots:
            try:
                reaped, status = os.waitpid(pid, os.WNOHANG)
            except ChildProcessError:
                continue
            if reaped:
                statuses[pid] = status
    return statuses


_PRIVATE = re.compile(rb"^RssAnon:\s+(\d+) kB", re.MULTILINE)
_SIZE = re.compile(rb"^VmSize:\s+(\d+) kB", re.MULTILINE)
_EXACT = re.compile(rb"^Pss_Anon:\s+(\d+) kB", re.MULTILINE)
_SHARED = re.compile(rb"^([0-9a-f]+)-([0-9a-f]+) \S+ \S+ \S+ (\d+) +/dev/zero \(deleted\)$", re.MULTILINE)
_READS_BEFORE_AGAIN = 10


@dataclass(slots=True)
class _ProcessMemory:
    """What was found in one process, and how big it was then."""

    size_kb: int = -1
    times: int = 0
    shared_kb: dict[bytes, int] = field(default_factory=dict[bytes, int])


class MemoryMeter:
    """Looked at several times a second, it remembers what rarely changes."""

    def __init__(self) -> None:
        self._looked: dict[int, _ProcessMemory] = {}
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
        looked = {pid: self._looked.get(pid) or _ProcessMemory() for pid in sizes_kb}
        areas: dict[bytes, int] = {}
        for pid, size_kb in sizes_kb.items():
            known = looked[pid]
            known.times += 1
            if size_kb != known.size_kb or known.times > _READS_BEFORE_AGAIN:
                looked[pid] = known = _ProcessMemory(size_kb, 0, self._shared_areas(pid, size_kb))
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


def _number(pattern: re.Pattern[bytes], text: bytes) -> int:
    found = pattern.search(text)
    return int(found[1]) if found else 0
