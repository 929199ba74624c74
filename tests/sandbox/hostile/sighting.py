"""What was seen of one hostile program, caged or not, from outside; and the processes that belong to it."""

from __future__ import annotations

import json
import os
import signal
import threading
import time
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from collections.abc import Generator

Ending = Literal["finished", "died", "outlived"]
"""finished: the program came to its end, be it by an exception. died: it was killed, or its whole kernel was.
outlived: it went on until the test lost patience and ended it by force."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """The program's own last line."""

    leak: bool
    detail: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Sighting:
    """One run of one program."""

    ended: Ending
    console: str
    """The end of what reached the host, at most a few kilobytes."""
    why: str = ""
    """What the host says about the end."""
    console_bytes: int = 0
    """How much reached the host in all."""
    traces: tuple[str, ...] = ()
    """What the attack changed on the host: `Stage.traces()`."""
    survivors: int = 0
    """Its processes still there after the kill that should have taken them all."""
    peak_processes: int = 0
    others: int = 0
    """Threads of the same user outside the cage when it began: where only the user's sum can be limited, they count."""
    peak_memory_mb: int = 0
    host_fell: str = ""
    """How the host process on the other end of the socket ended; empty while it is well."""
    host_growth_mb: int = 0
    project_mb: int = 0
    """What the project on the host holds afterwards, holes included."""

    @property
    def verdict(self) -> Verdict | None:
        """The last line that is one, if the program lived to say it."""
        for line in reversed(self.console.splitlines()):
            if line.startswith('{"leak"'):
                said = json.loads(line)
                return Verdict(leak=said["leak"], detail=said["detail"])
        return None


def processes_named(mark: str) -> list[int]:
    """Live processes that carry the mark, in whatever namespace they are."""
    found: list[int] = []
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit():
            continue
        try:
            name, _, rest = (entry / "stat").read_text("utf-8", "replace").partition("(")[2].rpartition(")")
        except OSError:
            continue
        if name == mark and rest.split()[0] not in "ZX":
            found.append(int(entry.name))
    return found


def survivors(mark: str, *, patience_seconds: float = 0.5) -> int:
    """How many are left, after time enough for the dying to finish."""
    deadline = time.monotonic() + patience_seconds
    while (left := len(processes_named(mark))) and time.monotonic() < deadline:
        time.sleep(0.02)
    return left


def sweep(mark: str) -> None:
    """Kill every process that carries the mark, until none does."""
    deadline = time.monotonic() + 10
    while (left := processes_named(mark)) and time.monotonic() < deadline:
        for pid in left:
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                continue
        time.sleep(0.01)


@dataclass(slots=True)
class Peak:
    """The most that was seen at once."""

    processes: int = 0
    memory_mb: int = 0


@contextmanager
def watch(mark: str, *, processes: bool = True, memory: bool = True) -> Generator[Peak]:
    """Count the attack's processes and their memory, every few milliseconds, for as long as the block runs."""
    peak, done = Peak(), threading.Event()
    if not (processes or memory):
        yield peak
        return

    def look() -> None:
        while not done.wait(0.03):
            pids = processes_named(mark)
            peak.processes = max(peak.processes, len(pids))
            if memory:
                peak.memory_mb = max(peak.memory_mb, sum(map(_own_kb, pids)) // 1024)

    watcher = threading.Thread(target=look)
    watcher.start()
    try:
        yield peak
    finally:
        done.set()
        watcher.join()


def _own_kb(pid: int) -> int:
    """Its part of what it has in memory: pages shared with the zygote and its other children count by their share."""
    try:
        lines = Path(f"/proc/{pid}/smaps_rollup").read_text("utf-8").splitlines()
    except OSError:
        return 0
    return sum(int(line.split()[1]) for line in lines if line.startswith(("Pss_Anon", "Pss_Shmem")))
