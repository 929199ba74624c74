"""Bodies in Amazon's own chunks, as SDKs upload them: each with its size and signature, and checksums at the end."""

from __future__ import annotations

import re
from typing import Final

_SIZE: Final = re.compile(rb"([0-9A-Fa-f]{1,8})(;[!-~]{0,200})?\r\n")
_MAX_LINE: Final = 256
_MAX_TRAILER: Final = 8192


class BadChunk(Exception):
    """That is no chunk."""


class AwsChunks:
    """Takes the chunks away. What signs them was made with a key that is none."""

    def __init__(self) -> None:
        self._held = b""
        self._left = -1
        """Of the chunk that is read, with its end of line; -1: its size comes next."""
        self._is_over = False

    def feed(self, data: bytes) -> bytes:
        """What it brings of the body. Raises `BadChunk`."""
        self._held += data
        parts = list[bytes]()
        while not self._is_over and (part := self._next()) is not None:
            parts.append(part)
        if self._is_over and len(self._held) > _MAX_TRAILER:
            raise BadChunk("the end of the body does not end")
        return b"".join(parts)

    def finish(self) -> None:
        """Raises `BadChunk` if the last one is missing."""
        if not self._is_over:
            raise BadChunk("the body ended in the middle")

    def _next(self) -> bytes | None:
        """Some bytes of the body; None: more must come first."""
        if self._left < 0:
            found = _SIZE.match(self._held)
            if found is None:
                if len(self._held) > _MAX_LINE or b"\n" in self._held:
                    raise BadChunk("a chunk has no size")
                return None
            size = int(found[1], 16)
            self._held = self._held[found.end() :]
            self._is_over = size == 0
            self._left = size + 2
            return b""
        if not self._held or (self._left <= 2 and len(self._held) < self._left):
            return None
        if self._left <= 2:
            end, self._held = self._held[: self._left], self._held[self._left :]
            if end != b"\r\n"[-self._left :]:
                raise BadChunk("a chunk is longer than it says")
            self._left = -1
            return b""
        part = self._held[: self._left - 2]
        self._held = self._held[len(part) :]
        self._left -= len(part)
        return part
