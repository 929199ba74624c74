"""What a process holds, to be looked through for what must not be there."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path


def seen_from_outside(pid: int) -> bytes:
    """Its arguments, and its environment where whoever asks may look: into one that cannot be dumped, only root may."""
    seen = Path(f"/proc/{pid}/cmdline").read_bytes()
    with suppress(PermissionError):
        seen += Path(f"/proc/{pid}/environ").read_bytes()
    return seen


def memory_with(pid: int, wanted: tuple[bytes, ...]) -> Iterator[bytes]:
    """Each of the wanted that is in the memory of a process which it can write."""
    with Path(f"/proc/{pid}/maps").open() as maps, Path(f"/proc/{pid}/mem").open("rb", 0) as memory:
        for line in maps:
            place, rights = line.split()[:2]
            start, end = (int(each, 16) for each in place.split("-"))
            if not rights.startswith("rw") or end - start > 1 << 30:
                continue
            with suppress(OSError, ValueError, OverflowError):
                memory.seek(start)
                piece = memory.read(end - start)
                yield from (each for each in wanted if each in piece)
