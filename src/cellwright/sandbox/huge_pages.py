"""The zygote's memory in pages of 2 MB, so that a fork copies hundreds of entries instead of tens of thousands.

A kernel that writes still copies 4 KB at a time. Where the machine offers no huge pages everything works, slower.
"""

from __future__ import annotations

import ctypes
from collections.abc import Iterator
from typing import Final

_HUGE: Final = 2 << 20
_MADV_COLLAPSE: Final = 25

_libc = ctypes.PyDLL(None, use_errno=True)
_libc.madvise.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]


def gather() -> int:
    """Put this process's private memory into huge pages now; how many pages that made.

    A range that cannot be gathered, because it is empty or memory is short, stays as it is: only speed is at stake.
    """
    gathered = 0
    for start, end in list(_private_memory()):
        for address in range(-(-start // _HUGE) * _HUGE, end - _HUGE + 1, _HUGE):
            gathered += _libc.madvise(address, _HUGE, _MADV_COLLAPSE) == 0
    return gathered


def _private_memory() -> Iterator[tuple[int, int]]:
    """Writable memory that belongs to no file, and is no stack: a stack grows."""
    with open("/proc/self/maps") as maps:  # noqa: PTH123  read by the zygote, before anything else is imported
        for line in maps:
            place, rights, _, _, inode, *name = line.split(maxsplit=5)
            if rights == "rw-p" and inode == "0" and not "".join(name).startswith("[stack"):
                start, _, end = place.partition("-")
                yield int(start, 16), int(end, 16)
