"""The processes below this one, found by their parents; for tiers where no namespace holds them together."""

# Plain paths: this runs in the zygote and its children.
# ruff: noqa: PTH123, PTH208

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable

_DEADLINE_SECONDS = 10.0
_PAUSE_SECONDS = 0.001
_TICKS_PER_SECOND = os.sysconf("SC_CLK_TCK")


def _parents() -> dict[int, int]:
    """The parent of every process we can see."""
    parents: dict[int, int] = {}
    for name in os.listdir("/proc"):
        if name.isdigit():
            try:
                with open(f"/proc/{name}/stat", "rb") as file:
                    parents[int(name)] = int(file.read().rpartition(b")")[2].split()[1])
            except (OSError, ValueError, IndexError):
                continue
    return parents


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
    listed: set[int] = set()
    try:
        for thread in os.listdir(f"/proc/{pid}/task"):
            with open(f"/proc/{pid}/task/{thread}/children", "rb") as file:
                listed |= set(map(int, file.read().split()))
    except OSError:
        return listed
    return listed


def cpu_seconds() -> float:
    """CPU time of everything below this process, ended or not."""
    ticks = 0
    for pid in descendants(children()):
        try:
            with open(f"/proc/{pid}/stat", "rb") as file:
                ticks += sum(int(value) for value in file.read().rpartition(b")")[2].split()[11:15])
        except (OSError, ValueError):
            continue
    ended = os.times()
    return ticks / _TICKS_PER_SECOND + ended.children_user + ended.children_system


def kill_descendants() -> dict[int, int]:
    """Kill everything below this process until nothing is left; it must be a subreaper, so that orphans come here.

    Returns the wait status of every child that ended.
    """
    return _kill_trees(children)


def kill_strays(known: set[int]) -> None:
    """Kill orphans that came to this process because their supervisor was killed."""
    _kill_trees(lambda: children() - known)


def _kill_trees(find_roots: Callable[[], set[int]]) -> dict[int, int]:
    """Stop, then kill, again and again: a process may fork while we look, but not once it is stopped."""
    statuses: dict[int, int] = {}
    end = time.monotonic() + _DEADLINE_SECONDS
    while (roots := find_roots()) and time.monotonic() < end:
        family = descendants(roots)
        for number in (signal.SIGSTOP, signal.SIGKILL):
            for pid in family:
                try:
                    os.kill(pid, number)
                except (ProcessLookupError, PermissionError):
                    continue
        time.sleep(_PAUSE_SECONDS)
        for pid in roots:
            try:
                reaped, status = os.waitpid(pid, os.WNOHANG)
            except ChildProcessError:
                continue
            if reaped:
                statuses[pid] = status
    return statuses
