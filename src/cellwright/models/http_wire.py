"""HTTP/1.1 as bytes: a request put together, an answer's head and body taken apart. Pure; reads and sends nothing.

Only what an endpoint that answers one request at a time needs: no pipelining, no upgrades. What is not clearly HTTP is
refused rather than guessed at.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

Line = tuple[bytes, bytes]

_LONGEST_HEAD: Final = 128 << 10
_LONGEST_SIZE_LINE: Final = 4 << 10
_HEAD_END: Final = re.compile(rb"\r?\n\r?\n")
_STATUS: Final = re.compile(rb"HTTP/1\.([01]) ([1-9]\d\d)(?: ([^\r\n]*))?")
_NAME: Final = re.compile(rb"[!#$%&'*+\-.^_`|~0-9A-Za-z]+")
_CHUNK: Final = re.compile(rb"([0-9A-Fa-f]{1,15})[ \t]*(?:;[^\r\n]*)?\r?")
_BARE: Final = frozenset({204, 304})
"""An answer with one of these has no body, whatever its head says."""


class NotHttp(Exception):
    """The other side does not keep to the protocol, or a request of ours would not."""


class Counted:
    """A body whose length was said."""

    may_end: Final = False
    """Whether the connection may end with the body not over."""

    def __init__(self, length: int) -> None:
        self._left = length

    @property
    def is_over(self) -> bool:
        """Whether all of it was taken."""
        return self._left == 0

    def take(self, buffer: bytearray) -> bytes:
        """What of the body is in the buffer, taken out of it."""
        piece = bytes(buffer[: self._left])
        del buffer[: len(piece)]
        self._left -= len(piece)
        return piece


class Unbounded:
    """A body that ends with its connection."""

    may_end: Final = True
    is_over: Final = False

    def take(self, buffer: bytearray) -> bytes:
        """All of it so far."""
        piece = bytes(buffer)
        buffer.clear()
        return piece


class Chunked:
    """A body in chunks, each with its size before it."""

    may_end: Final = False

    def __init__(self) -> None:
        self.is_over = False
        self._left = 0
        self._is_within = False
        """A chunk has begun and its end of line has not come."""
        self._is_trailing = False
        """The last chunk has come; lines that belong to no chunk follow, up to an empty one."""

    def take(self, buffer: bytearray) -> bytes:
        """What the chunks that are there hold, taken out of the buffer. Raises `NotHttp`."""
        pieces = list[bytes]()
        while not self.is_over:
            if self._left:
                piece = bytes(buffer[: self._left])
                del buffer[: len(piece)]
                self._left -= len(piece)
                pieces.append(piece)
                if self._left:
                    break
            elif (line := _line(buffer)) is None:
                break
            else:
                self._read(line)
        return b"".join(pieces)

    def _read(self, line: bytes) -> None:
        if self._is_trailing:
            self.is_over = line in (b"", b"\r")
        elif self._is_within:
            if line not in (b"", b"\r"):
                raise NotHttp("a chunk longer than its size")
            self._is_within = False
        elif (size := _CHUNK.fullmatch(line)) is None:
            raise NotHttp("a chunk without its size")
        else:
            self._left = int(size[1], 16)
            self._is_within = self._left > 0
            self._is_trailing = self._left == 0


Body = Counted | Unbounded | Chunked


@dataclass(frozen=True, slots=True, kw_only=True)
class Head:
    """How an answer begins."""

    status: int
    reason: bytes
    lines: list[Line]
    body: Body
    may_stay: bool
    """Whether the connection can carry another request once the body is over."""


def written(method: str, target: bytes, lines: Sequence[Line], body: bytes) -> bytes:
    """A whole request. Raises `NotHttp` if a line of its head would be two."""
    head = [
        b"%s %s HTTP/1.1\r\n" % (method.encode("ascii"), target),
        *(b"%s: %s\r\n" % line for line in lines),
        b"\r\n",
    ]
    whole = b"".join(head)
    if whole.count(b"\n") != len(head) or whole.count(b"\r") != len(head) or b"\0" in whole:
        raise NotHttp("a line of its head has an end within")
    return whole + body


def read_head(buffer: bytearray, method: str) -> Head | None:
    """The head of the answer to such a request, taken out of the buffer once it is there whole. Raises `NotHttp`."""
    while True:
        if (end := _HEAD_END.search(buffer)) is None:
            if len(buffer) > _LONGEST_HEAD:
                raise NotHttp("a head without end")
            return None
        first, *rest = bytes(buffer[: end.start()]).replace(b"\r\n", b"\n").split(b"\n")
        del buffer[: end.end()]
        found = _STATUS.fullmatch(first)
        if found is None or found[2] == b"101":
            raise NotHttp("an answer that does not begin as one")
        status = int(found[2])
        # Those below only say that the real one is coming.
        if status >= 200:
            return _head(status, found, [_header(line) for line in rest], method)


def _head(status: int, found: re.Match[bytes], lines: list[Line], method: str) -> Head:
    codings, lengths, wishes = set[bytes](), set[bytes](), set[bytes]()
    by_name = {b"transfer-encoding": codings, b"content-length": lengths, b"connection": wishes}
    for name, value in lines:
        if (values := by_name.get(name.lower())) is not None:
            values.update(part.strip().lower() for part in value.split(b","))
    if (
        codings - {b"chunked"}
        or len(lengths) > 1
        or not all(length.isdigit() and len(length) < 16 for length in lengths)
    ):
        raise NotHttp("a body of unclear length")
    if status in _BARE or method == "HEAD":
        body: Body = Counted(0)
    elif codings:
        body = Chunked()
    else:
        body = Counted(int(lengths.pop())) if lengths else Unbounded()
    # Both said is how answers are smuggled: such a connection is used no more.
    is_clear = not (codings and lengths)
    may_stay = found[1] == b"1" and b"close" not in wishes and is_clear and not body.may_end
    return Head(status=status, reason=found[3] or b"", lines=lines, body=body, may_stay=may_stay)


def _header(line: bytes) -> Line:
    name, colon, value = line.partition(b":")
    if not colon or _NAME.fullmatch(name) is None or b"\r" in value or b"\0" in value:
        raise NotHttp("a head with a line that is none")
    return name, value.strip(b" \t")


def _line(buffer: bytearray) -> bytes | None:
    """The next line without its newline, taken out of the buffer; None if it is not whole."""
    end = buffer.find(b"\n")
    if end < 0:
        if len(buffer) > _LONGEST_SIZE_LINE:
            raise NotHttp("a line without end")
        return None
    line = bytes(buffer[:end])
    del buffer[: end + 1]
    return line
