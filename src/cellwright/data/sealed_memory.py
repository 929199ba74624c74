"""Bytes in memory that has a descriptor, sealed: whoever gets it reads it without a copy, and nobody changes it."""

from __future__ import annotations

import fcntl
import hashlib
import os
from collections.abc import Iterable
from pathlib import Path
from typing import Final, NamedTuple

_SEALS: Final = 0xF
"""F_SEAL_SEAL, SHRINK, GROW and WRITE: nobody changes it any more, we neither."""


class SealedMemory(NamedTuple):
    """A descriptor that is open for reading only, and the receiver's to close."""

    descriptor: int
    bytes: int
    sha256: str


def new_memory() -> int:
    """A descriptor to write to, for `seal`."""
    return os.memfd_create("cellwright-result", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)


def sealed(parts: Iterable[bytes]) -> SealedMemory:
    """These bytes in memory of their own. Blocking."""
    descriptor = new_memory()
    with os.fdopen(descriptor, "wb", buffering=1 << 20) as file:
        file.writelines(parts)
        file.flush()
        return seal(descriptor)


def seal(descriptor: int) -> SealedMemory:
    """What was written to `new_memory`, for others; the descriptor given is still the caller's to close. Blocking."""
    fcntl.fcntl(descriptor, fcntl.F_ADD_SEALS, _SEALS)
    place = Path(f"/proc/self/fd/{descriptor}")
    with place.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
    return SealedMemory(os.open(place, os.O_RDONLY | os.O_CLOEXEC), os.fstat(descriptor).st_size, digest)
