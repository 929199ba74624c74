"""What the kernels of open notebooks use of this machine, by what /proc says about everything in their cages."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Final

import anyio.to_thread

from cellwright.kernel.session.open_notebook import OpenNotebook
from cellwright.server.http.schemas.notebooks import KernelShape

_PROC: Final = Path("/proc")
_TICKS: Final = os.sysconf("SC_CLK_TCK")


async def measure_kernels(notebooks: Mapping[str, OpenNotebook]) -> dict[str, KernelShape]:
    """What the kernel of each notebook uses, by the same names; a notebook without a living kernel has none."""
    pids = {
        name: notebook.live.kernel.pid
        for name, notebook in notebooks.items()
        if notebook.live.kernel is not None and not notebook.live.kernel.is_over
    }
    if not pids:
        return {}
    measured = await anyio.to_thread.run_sync(_measure, [*pids.values()])
    return {
        name: KernelShape(
            pid=pid,
            memory_mb=round(measured[pid][0], 1),
            cpu_seconds=round(measured[pid][1], 2),
            state="idle" if notebooks[name].current is None else "running",
        )
        for name, pid in pids.items()
    }


def _measure(roots: list[int]) -> dict[int, tuple[float, float]]:
    """Megabytes and seconds of each process with all below it. Blocking."""
    children: dict[int, list[int]] = {}
    seconds: dict[int, float] = {}
    for entry in _PROC.iterdir():
        if entry.name.isdigit() and (found := _stat(entry)) is not None:
            parent, used = found
            children.setdefault(parent, []).append(int(entry.name))
            seconds[int(entry.name)] = used
    return {root: _sums(root, children, seconds) for root in roots}


def _sums(root: int, children: Mapping[int, list[int]], seconds: Mapping[int, float]) -> tuple[float, float]:
    family = [root]
    for member in family:
        family += children.get(member, [])
    # Where a share of pages may not be read, the pages a process has for itself; 0 for one that has gone.
    kilobytes = (_field(pid, "smaps_rollup", "Pss:") or _field(pid, "status", "RssAnon:") for pid in family)
    return sum(kilobytes) / 1024, sum(seconds.get(member, 0.0) for member in family)


def _stat(process: Path) -> tuple[int, float] | None:
    """Its parent and its seconds of CPU, those of children it has waited for included; None if it has just gone."""
    try:
        fields = (process / "stat").read_text(errors="replace").rpartition(")")[2].split()
    except OSError:
        return None
    return int(fields[1]), sum(map(int, fields[11:15])) / _TICKS


def _field(pid: int, file: str, name: str) -> int:
    try:
        lines = (_PROC / str(pid) / file).read_text().splitlines()
    except OSError:
        return 0
    return next((int(line.split()[1]) for line in lines if line.startswith(name)), 0)
