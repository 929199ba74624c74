"""The zygote's memory in huge pages, so that a fork copies hundreds of entries instead of tens of thousands.

A kernel that writes still copies one small page at a time. Where the machine offers no huge pages, or none of a
usable size, everything works, slower.
"""

from __future__ import annotations

import ctypes
import errno
from collections.abc import Iterator
from typing import Final

_SIZE_FILE: Final = "/sys/kernel/mm/transparent_hugepage/hpage_pmd_size"
_MOST_BYTES: Final = 32 << 20
"""2 MB with pages of 4 KiB, 32 MB with 16 KiB; the 512 MB of 64 KiB would fill memory that was never touched."""
_MADV_COLLAPSE: Final = 25

_libc = ctypes.PyDLL(None, use_errno=True)
_libc.madvise.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]


def huge_page_bytes() -> int | None:
    """The size of this machine's huge pages; None if it has none."""
    try:
        with open(_SIZE_FILE) as file:  # noqa: PTH123  read by the zygote, before anything else is imported
            return int(file.read())
    except (OSError, ValueError):
        return None


def can_gather(size: int | None) -> bool:
    """Whether pages of that size can be used here: Linux before 6.1 does not gather on request."""
    if size is None or size > _MOST_BYTES:
        return False
    # Nothing to gather: the kernel only says whether it knows the request.
    return _libc.madvise(None, 0, _MADV_COLLAPSE) == 0 or ctypes.get_errno() != errno.EINVAL


def gather() -> int:
    """Put this process's private memory into huge pages now; how many pages that made.

    A range that cannot be gathered, because it is empty or memory is short, stays as it is: only speed is at stake.
    """
    size, gathered = huge_page_bytes(), 0
    if size is None or not can_gather(size):
        return 0
    for start, end in list(_private_memory()):
        for address in range(-(-start // size) * size, end - size + 1, size):
            gathered += _libc.madvise(address, size, _MADV_COLLAPSE) == 0
    return gathered


def _private_memory() -> Iterator[tuple[int, int]]:
    """Writable memory that belongs to no file, and is no stack: a stack grows."""
    with open("/proc/self/maps") as maps:  # noqa: PTH123  read by the zygote, before anything else is imported
        for line in maps:
            addresses, rights, _, _, inode, *name = line.split(maxsplit=5)
            if rights == "rw-p" and inode == "0" and not "".join(name).startswith("[stack"):
                start, _, end = addresses.partition("-")
                yield int(start, 16), int(end, 16)
