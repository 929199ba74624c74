"""A file that is read by ranges: exactly what is asked for; more only for whoever reads on and on."""

from __future__ import annotations

import io
import os
from collections.abc import Callable
from typing import Any, Final

ReadRange = Callable[[int, int], bytes]
_SMALL_BYTES: Final = 64 << 10
_STEPS: Final = 2
"""So many small reads in a row, each where the last ended, and the next reads ahead."""
_FIRST_BYTES: Final = 256 << 10
_MOST_BYTES: Final = 16 << 20


class RangeFile(io.RawIOBase):
    """Parquet's readers jump to what they need, and get that alone; readers of text go on, and get ever more."""

    def __init__(self, size: int, read_range: ReadRange) -> None:
        self.size = size
        self._read_range = read_range
        self._at = 0
        self._steps = 0
        self._last_end = -1
        self._ahead_bytes = _FIRST_BYTES
        self._buffer = b""
        self._buffer_at = 0

    def readable(self) -> bool:
        """It is."""
        return True

    def seekable(self) -> bool:
        """It is."""
        return True

    def tell(self) -> int:
        """Where the next byte is read."""
        return self._at

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        """Go there; nothing is read."""
        start = {os.SEEK_SET: 0, os.SEEK_CUR: self._at, os.SEEK_END: self.size}[whence]
        if start + offset < 0:
            raise ValueError("A file has no bytes before its first.")
        self._at = start + offset
        return self._at

    def read(self, size: int | None = -1) -> bytes:
        """So many bytes, fewer only at the end."""
        if self.closed:
            raise ValueError("The file is closed.")
        stop = self.size if size is None or size < 0 else min(self.size, self._at + size)
        if self._at >= stop:
            return b""
        data = self._bytes(self._at, stop)
        self._at = stop
        return data

    def readinto(self, buffer: Any) -> int:
        """For Python's own readers."""
        view = memoryview(buffer).cast("B")
        data = self.read(len(view))
        view[: len(data)] = data
        return len(data)

    def readall(self) -> bytes:
        """The rest."""
        return self.read(-1)

    def _bytes(self, start: int, stop: int) -> bytes:
        end = self._buffer_at + len(self._buffer)
        if self._buffer_at <= start and stop <= end:
            self._last_end = stop
            return self._buffer[start - self._buffer_at : stop - self._buffer_at]
        is_step = stop - start <= _SMALL_BYTES and start == self._last_end
        self._steps = self._steps + 1 if is_step else 0
        self._last_end = stop
        if self._steps < _STEPS and not (is_step and self._buffer):
            self._buffer, self._ahead_bytes = b"", _FIRST_BYTES
            return self._read_range(start, stop)
        known = self._buffer[start - self._buffer_at :] if self._buffer_at <= start < end else b""
        first = start + len(known)
        self._buffer = known + self._read_range(first, min(self.size, max(stop, first + self._ahead_bytes)))
        self._buffer_at = start
        self._ahead_bytes = min(_MOST_BYTES, self._ahead_bytes * 2)
        return self._buffer[: stop - start]
