"""Reading a repository's objects, loose and packed, with nothing but Python: bounded, and each checked by its name."""

from __future__ import annotations

import os
import zlib
from pathlib import Path
from typing import Final

from cellwright.sandbox.git import opening
from cellwright.sandbox.git.objects import Format, ObjectKind, Unsound, as_kind
from cellwright.sandbox.git.packs import Delta, Pack, Whole, applied, inflate

_MOST_PACKS: Final = 2_000
_LONGEST_CHAIN: Final = 5_000
_LONGEST_HEADER: Final = 32
MOST_OBJECT_BYTES: Final = 64 << 20
"""Nothing longer is read into memory."""


class ObjectStore:
    """The objects below one `objects` directory. Not for several threads at once; close it."""

    def __init__(self, objects: Path, form: Format) -> None:
        self._objects = objects
        self.format = form
        self._packs: list[Pack] | None = None

    def close(self) -> None:
        """Let go of the packs."""
        for pack in self._packs or ():
            pack.close()
        self._packs = None

    def read(self, name: str, *, most_bytes: int = MOST_OBJECT_BYTES) -> tuple[ObjectKind, bytes]:
        """Kind and content. `Unsound` if it is missing, too long or not what its name says."""
        found = self._loose(name, most_bytes) or self._packed(name, most_bytes)
        if found is None:
            if name == self.format.empty_tree:
                return "tree", b""
            raise Unsound(f"the object {name} is not in the repository")
        kind, data = found
        if self.format.name_of(kind, data) != name:
            raise Unsound(f"the object {name} is damaged")
        return kind, data

    def kind_of(self, name: str) -> ObjectKind | None:
        """What it is, without reading it whole; None if it is not there."""
        raw = self._open_loose(name)
        if raw is not None:
            with os.fdopen(raw, "rb") as file:
                head = zlib.decompressobj().decompress(file.read(4096), _LONGEST_HEADER)
            return as_kind(head.partition(b" ")[0].decode("ascii", "replace"))
        where = self._locate(name)
        if where is None:
            return "tree" if name == self.format.empty_tree else None
        for _ in range(_LONGEST_CHAIN):
            pack, offset = where
            record = pack.record(offset)
            if isinstance(record, Whole):
                return record.kind
            where = self._base_of(pack, record)
        raise Unsound(f"the object {name} rests on too many others")

    def _open_loose(self, name: str) -> int | None:
        try:
            with opening.directory(self._objects, name[:2]) as here:
                return opening.open_file(here, name[2:], most_bytes=MOST_OBJECT_BYTES)
        except (FileNotFoundError, NotADirectoryError):
            return None

    def _loose(self, name: str, most_bytes: int) -> tuple[ObjectKind, bytes] | None:
        raw = self._open_loose(name)
        if raw is None:
            return None
        with os.fdopen(raw, "rb") as file:
            data = inflate(file.read(), most_bytes + _LONGEST_HEADER)
        head, _, content = data.partition(b"\0")
        kind, _, size = head.decode("ascii", "replace").partition(" ")
        if size != str(len(content)):
            raise Unsound(f"the object {name} is damaged")
        return as_kind(kind), content

    def _packed(self, name: str, most_bytes: int) -> tuple[ObjectKind, bytes] | None:
        where = self._locate(name)
        if where is None:
            return None
        deltas: list[bytes] = []
        for _ in range(_LONGEST_CHAIN):
            pack, offset = where
            record = pack.record(offset)
            if record.size > most_bytes:
                raise Unsound(f"the object {name} is longer than {most_bytes} bytes")
            data = pack.content(record)
            if isinstance(record, Whole):
                for delta in reversed(deltas):
                    data = applied(delta, data, most_bytes)
                return record.kind, data
            deltas.append(data)
            if sum(map(len, deltas)) > 4 * MOST_OBJECT_BYTES:
                break
            where = self._base_of(pack, record)
        raise Unsound(f"the object {name} rests on too many others")

    def _base_of(self, pack: Pack, delta: Delta) -> tuple[Pack, int]:
        if isinstance(delta.base, int):
            return pack, delta.base
        offset = pack.find(delta.base)
        where = self._locate(delta.base.hex()) if offset is None else (pack, offset)
        if where is None:
            raise Unsound(f"the object {delta.base.hex()} is not in the repository")
        return where

    def _locate(self, name: str) -> tuple[Pack, int] | None:
        digest = bytes.fromhex(name)
        for pack in self._all_packs():
            offset = pack.find(digest)
            if offset is not None:
                return pack, offset
        return None

    def _all_packs(self) -> list[Pack]:
        if self._packs is None:
            try:
                with opening.directory(self._objects, "pack") as here:
                    self._packs = self._open_packs(here)
            except FileNotFoundError:
                self._packs = []
        return self._packs

    def _open_packs(self, here: int) -> list[Pack]:
        stems = sorted(name.removesuffix(".idx") for name in os.listdir(here) if name.endswith(".idx"))
        if len(stems) > _MOST_PACKS:
            raise Unsound(f"the repository has {len(stems)} packs; `git gc` makes one of them")
        packs: list[Pack] = []
        for stem in stems:
            try:
                packs.append(Pack(here, stem, self.format))
            except FileNotFoundError:
                # Repacked this moment: what it held is in another one.
                continue
        return packs
