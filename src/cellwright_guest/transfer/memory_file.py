"""The memory file in which variables travel from one kernel to another: pieces of bytes and an index of them.

A page with where the index is, then the pieces in the order they were written, then the index. Everything is written
and read at its place, so the file's own position plays no part and nothing stays mapped: the host can seal it.
"""

from __future__ import annotations

import io
import os
import struct
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final, Literal

import msgspec

if TYPE_CHECKING:
    from _typeshed import ReadableBuffer, WriteableBuffer

PAGE: Final = 4096
_HEADER: Final = struct.Struct("<8sQQ")
_MAGIC: Final = b"cw-carry"
_BLOCK: Final = 1 << 20
_MOST_INDEX: Final = 64 << 20
_MOST_AT_ONCE: Final = 1 << 30
"""Limit of bytes of one call: the operating system takes at most about 2 GB."""


class FileFull(Exception):
    """It does not fit into the file."""


class BadFile(Exception):
    """This is no file that `MemoryFileWriter` finished."""


class Segment(msgspec.Struct, frozen=True, array_like=True):
    """A piece of the file."""

    offset: int
    length: int


class Frame(msgspec.Struct, frozen=True, kw_only=True):
    """A table in Arrow's format, and the variables that hold it."""

    names: list[str]
    kind: Literal["polars", "table", "batch"]
    stream: list[Segment]


class Index(msgspec.Struct, frozen=True, kw_only=True):
    """What is in the file."""

    pickled: list[str] = []
    """Variables, each by one `load` of the same unpickler, in this order."""
    stream: list[Segment] = []
    buffers: list[Segment] = []
    frames: list[Frame] = []
    states: list[Segment] = []
    """The states of the global random generators."""


class MemoryFileWriter:
    """Puts pieces into the file, one behind the other, within its size and the bound."""

    def __init__(self, descriptor: int, most_bytes: int) -> None:
        self._descriptor = descriptor
        self._most = min(most_bytes, os.fstat(descriptor).st_size)
        self.end = PAGE

    @property
    def room(self) -> int:
        """How many bytes still fit."""
        return self._most - self.end

    def put(self, data: ReadableBuffer) -> Segment:
        """Write it at the end; a large piece begins on a page of its own."""
        view = _octets(data)
        length = len(view)
        start = -(-self.end // PAGE) * PAGE if length >= PAGE else self.end
        if start + length > self._most:
            raise FileFull
        done = 0
        while done < length:
            done += os.pwrite(self._descriptor, view[done : done + _MOST_AT_ONCE], start + done)
        self.end = start + length
        return Segment(start, length)

    def finish(self, index: Index) -> int:
        """Write the index and where it is; gives the size of it all."""
        segment = self.put(msgspec.msgpack.encode(index))
        os.pwrite(self._descriptor, _HEADER.pack(_MAGIC, segment.offset, segment.length), 0)
        return self.end


class SegmentWriter(io.RawIOBase):
    """A stream of bytes into the file, in as many segments as other pieces come between."""

    def __init__(self, file: MemoryFileWriter) -> None:
        self._file = file
        self._waiting = bytearray()
        self._segments: list[Segment] = []

    def writable(self) -> bool:
        """Always."""
        return True

    def write(self, data: ReadableBuffer, /) -> int:
        """Take the bytes; small ones wait for more."""
        view = _octets(data)
        if len(view) >= _BLOCK:
            self._put_waiting()
            self._segments.append(self._file.put(view))
        else:
            self._waiting += view
        if len(self._waiting) >= _BLOCK:
            self._put_waiting()
        return len(view)

    def segments(self) -> list[Segment]:
        """Where all of it lies."""
        self._put_waiting()
        return self._segments

    def _put_waiting(self) -> None:
        if self._waiting:
            self._segments.append(self._file.put(self._waiting))
            self._waiting = bytearray()


class MemoryFileReader:
    """Gets pieces out of the file, always as copies."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._size = os.fstat(descriptor).st_size

    def index(self) -> Index:
        """What is in it; `BadFile` if that cannot be said."""
        header = os.pread(self._descriptor, _HEADER.size, 0)
        if len(header) < _HEADER.size:
            raise BadFile("it is empty")
        magic, offset, length = _HEADER.unpack(header)
        if magic != _MAGIC or length > _MOST_INDEX:
            raise BadFile("it was never finished")
        try:
            return msgspec.msgpack.decode(self.copy(Segment(offset, length)), type=Index)
        except msgspec.MsgspecError as error:
            raise BadFile(f"its index is broken: {error}") from error

    def copy(self, segment: Segment) -> bytearray:
        """A piece, in memory of its own."""
        self.check(segment)
        content = bytearray(segment.length)
        self.fill(content, segment.offset)
        return content

    def joined(self, segments: Sequence[Segment]) -> bytes:
        """The bytes of a stream again."""
        return b"".join(self.copy(segment) for segment in segments)

    def fill(self, target: WriteableBuffer, offset: int) -> None:
        """Read into memory that is there already."""
        view = _octets(target)
        done = 0
        while done < len(view):
            got = os.preadv(self._descriptor, [view[done : done + _MOST_AT_ONCE]], offset + done)
            if not got:
                raise BadFile("it ends too early")
            done += got

    def check(self, segment: Segment) -> None:
        """Before memory is taken for it: whether it can be there at all."""
        if segment.offset < 0 or segment.length < 0 or segment.offset + segment.length > self._size:
            raise BadFile("a piece lies outside of it")


def _octets(data: ReadableBuffer) -> memoryview:
    view = memoryview(data)
    return view if (view.format, view.ndim) == ("B", 1) else view.cast("B")
