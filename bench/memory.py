"""Proportional memory of processes: pages shared by several count for each by its share."""

from __future__ import annotations

import contextlib
from pathlib import Path

_PROC = Path("/proc")


def family(pid: int) -> list[int]:
    """A process and everything below it."""
    children: dict[int, list[int]] = {}
    for entry in _PROC.iterdir():
        if entry.name.isdigit():
            parent = _parent(entry)
            if parent is not None:
                children.setdefault(parent, []).append(int(entry.name))
    members = [pid]
    for member in members:
        members += children.get(member, [])
    return members


def proportional_mb(pids: list[int]) -> float:
    """The summed PSS of processes, in MB. Those below the first may end meanwhile: they have nothing then."""
    first, *below = pids
    total = _pss_kb(first)
    for pid in below:
        with contextlib.suppress(FileNotFoundError, ProcessLookupError):
            total += _pss_kb(pid)
    return total / 1024


def _pss_kb(pid: int) -> int:
    for line in (_PROC / str(pid) / "smaps_rollup").read_text().splitlines():
        if line.startswith("Pss:"):
            return int(line.split()[1])
    return 0


def _parent(process: Path) -> int | None:
    try:
        stat = (process / "stat").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return None
    return int(stat.rpartition(")")[2].split()[1])
