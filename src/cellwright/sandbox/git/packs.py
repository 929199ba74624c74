"""One pack of objects: found by its index, read by offset. Written against git's `gitformat-pack`."""

from __future__ import annotations

import mmap
import os
import struct
import zlib
from dataclasses import dataclass
from typing import Final

from cellwright.sandbox.git import opening
from cellwright.sandbox.git.objects import Format, ObjectKind, Unsound

_INDEX_HEAD: Final = b"\xfftOc\0\0\0\x02"
_FANOUT: Final = struct.Struct(">256I")
_HEAD_BYTES: Final = 8 + _FANOUT.size
_FAR: Final = 1 << 31
_KINDS: Final[dict[int, ObjectKind]] = {1: "commit", 2: "tree", 3: "blob", 4: "tag"}
_BY_OFFSET, _BY_NAME = 6, 7
_LONGEST_NUMBER: Final = 63
_CHUNK_BYTES: Final = 1 << 16
_MOST_PACK_BYTES: Final = 1 << 44


@dataclass(frozen=True, slots=True)
class Whole:
    """An object that stands in the pack as it is."""

    kind: ObjectKind
    size: int
    at: int
    """Where its compressed bytes begin."""


@dataclass(frozen=True, slots=True)
class Delta:
    """An object that is written as a change of another."""

    base: int | bytes
    """An offset in the same pack, or a name."""
    size: int
    at: int


class Pack:
    """An index and its pack, both mapped."""

    def __init__(self, here: int, stem: str, form: Format) -> None:
        self._form = form
        self._index = _mapped(here, f"{stem}.idx")
        try:
            if self._index[: len(_INDEX_HEAD)] != _INDEX_HEAD or len(self._index) < _HEAD_BYTES:
                raise Unsound(f"the index of {stem} has a form only an old git knows; `git gc` renews it")
            self._fanout = _FANOUT.unpack_from(self._index, 8)
            self._count = self._fanout[255]
            if len(self._index) < _HEAD_BYTES + self._count * (form.digest_bytes + 8):
                raise Unsound(f"the index of {stem} is cut off")
            self._pack = _mapped(here, f"{stem}.pack")
        except BaseException:
            self._index.close()
            raise

    def close(self) -> None:
        """Let go of both files."""
        self._index.close()
        self._pack.close()

    def find(self, digest: bytes) -> int | None:
        """Where in the pack this object begins."""
        size = self._form.digest_bytes
        low = self._fanout[digest[0] - 1] if digest[0] else 0
        high = min(self._fanout[digest[0]], self._count)
        while low < high:
            middle = (low + high) // 2
            at = _HEAD_BYTES + middle * size
            found = self._index[at : at + size]
            if found == digest:
                return self._offset(middle)
            low, high = (middle + 1, high) if found < digest else (low, middle)
        return None

    def _offset(self, number: int) -> int:
        near = _HEAD_BYTES + self._count * (self._form.digest_bytes + 4)
        try:
            (offset,) = struct.unpack_from(">I", self._index, near + 4 * number)
            if offset & _FAR:
                (offset,) = struct.unpack_from(">Q", self._index, near + 4 * self._count + 8 * (offset - _FAR))
        except struct.error:
            raise Unsound("the index of a pack is cut off") from None
        return offset

    def record(self, offset: int) -> Whole | Delta:
        """What stands at an offset."""
        try:
            return self._record(offset)
        except IndexError:
            raise Unsound("a pack is cut off") from None

    def _record(self, offset: int) -> Whole | Delta:
        if offset < 0:
            raise IndexError
        byte, at = self._pack[offset], offset + 1
        kind, size, shift = (byte >> 4) & 7, byte & 15, 4
        while byte & 0x80:
            byte, at = self._pack[at], at + 1
            size |= (byte & 0x7F) << shift
            shift = _next_shift(shift)
        if kind in _KINDS:
            return Whole(_KINDS[kind], size, at)
        if kind == _BY_NAME:
            end = at + self._form.digest_bytes
            return Delta(self._pack[at:end], size, end)
        if kind != _BY_OFFSET:
            raise Unsound("a pack holds an object of no known kind")
        back, at = self._distance(at)
        return Delta(offset - back, size, at)

    def _distance(self, at: int) -> tuple[int, int]:
        byte, at = self._pack[at], at + 1
        back = byte & 0x7F
        while byte & 0x80:
            byte, at = self._pack[at], at + 1
            back = ((back + 1) << 7) | (byte & 0x7F)
            _next_shift(back.bit_length())
        if back == 0:
            raise Unsound("a pack holds an object that rests on itself")
        return back, at

    def content(self, record: Whole | Delta) -> bytes:
        """The record's bytes; as many as it says, or `Unsound`."""
        inflater = zlib.decompressobj()
        data = bytearray()
        at = record.at
        try:
            while not inflater.eof and len(data) <= record.size and (inflater.unconsumed_tail or at < len(self._pack)):
                chunk = inflater.unconsumed_tail or self._pack[at : at + _CHUNK_BYTES]
                at += 0 if inflater.unconsumed_tail else _CHUNK_BYTES
                data += inflater.decompress(chunk, record.size + 1 - len(data))
        except zlib.error as error:
            raise Unsound(f"a pack is damaged: {error}") from None
        if len(data) != record.size:
            raise Unsound("a pack holds an object of another length than it says")
        return bytes(data)


def _mapped(here: int, name: str) -> mmap.mmap:
    descriptor = opening.open_file(here, name, most_bytes=_MOST_PACK_BYTES)
    try:
        return mmap.mmap(descriptor, 0, access=mmap.ACCESS_READ)
    except ValueError:
        raise Unsound(f"{name} is empty") from None
    finally:
        os.close(descriptor)


def inflate(data: bytes, most_bytes: int) -> bytes:
    """Decompressed, if that is not more than `most_bytes`."""
    inflater = zlib.decompressobj()
    try:
        plain = inflater.decompress(data, most_bytes + 1)
    except zlib.error as error:
        raise Unsound(f"an object is damaged: {error}") from None
    if len(plain) > most_bytes:
        raise Unsound(f"an object is longer than {most_bytes} bytes")
    if not inflater.eof:
        raise Unsound("an object is cut off")
    return plain


def applied(delta: bytes, base: bytes, most_bytes: int) -> bytes:
    """The object that a delta makes of its base."""
    try:
        base_size, at = _number(delta, 0)
        size, at = _number(delta, at)
        if base_size != len(base) or size > most_bytes:
            raise Unsound("a change in a pack does not fit, or makes an object that is too long")
        made = _copied(delta, at, base, size)
    except IndexError:
        raise Unsound("a change in a pack is cut off") from None
    if len(made) != size:
        raise Unsound("a change in a pack makes an object of another length than it says")
    return made


def _copied(delta: bytes, at: int, base: bytes, size: int) -> bytes:
    made = bytearray()
    while at < len(delta) and len(made) <= size:
        code, at = delta[at], at + 1
        if code & 0x80:
            fields = [0] * 7
            for bit in range(7):
                if code & (1 << bit):
                    fields[bit], at = delta[at], at + 1
            start = int.from_bytes(bytes(fields[:4]), "little")
            length = int.from_bytes(bytes(fields[4:]), "little") or 0x10000
            if start + length > len(base):
                raise IndexError
            made += base[start : start + length]
        elif code:
            made += delta[at : at + code]
            at += code
        else:
            raise Unsound("a change in a pack has an unknown step")
    return bytes(made)


def _number(delta: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte, at = delta[at], at + 1
        value |= (byte & 0x7F) << shift
        shift = _next_shift(shift)
        if not byte & 0x80:
            return value, at


def _next_shift(shift: int) -> int:
    if shift > _LONGEST_NUMBER:
        raise Unsound("a pack holds a number longer than any")
    return shift + 7
