"""What was read of files, kept while a notebook is open: a rerun, or a branch, of the same cell fetches nothing.

Small ranges are kept as bytes, large ones as the sealed memory they came in: descriptors are few. What was asked under
other settings or of another version is another entry; what was on its way when it was emptied is not kept. Never used
for a proof.
"""

from __future__ import annotations

import os
from collections import OrderedDict
from collections.abc import Hashable
from dataclasses import dataclass, field, replace
from typing import Final

from cellwright.data.messages import FileEntry, FileList, FilePart
from cellwright.data.sealed_memory import sealed

_MAX_ANSWERS: Final = 50_000
_MAX_BYTES: Final = 2 << 30
_MAX_DESCRIPTORS: Final = 200
_SMALL_BYTES: Final = 1 << 20

Known = FileList | FileEntry


@dataclass(frozen=True, slots=True)
class _KeptPart:
    part: FilePart
    data: bytes | None
    """None: it is in the part's descriptor."""


@dataclass(slots=True)
class FileCache:
    """Of one open notebook."""

    writes: int = 0
    """How often it was emptied."""
    _answers: OrderedDict[Hashable, Known] = field(default_factory=OrderedDict[Hashable, Known])
    _parts: OrderedDict[Hashable, _KeptPart] = field(default_factory=OrderedDict[Hashable, _KeptPart])
    _bytes: int = 0

    def find(self, key: Hashable) -> Known | None:
        """A list or an entry that was kept."""
        return self._answers.get(key)

    def keep(self, key: Hashable, answer: Known, writes: int) -> None:
        """Keep a list or an entry, unless it was asked for after fewer writes."""
        if writes != self.writes:
            return
        self._answers[key] = answer
        while len(self._answers) > _MAX_ANSWERS:
            self._answers.popitem(last=False)

    def find_part(self, key: Hashable) -> FilePart | None:
        """Bytes that were kept, with a descriptor of the caller's own. Blocking."""
        found = self._parts.get(key)
        if found is None:
            return None
        self._parts.move_to_end(key)
        is_open = found.data is None
        return replace(
            found.part, descriptor=os.dup(found.part.descriptor) if is_open else sealed([found.data or b""]).descriptor
        )

    def keep_part(self, key: Hashable, part: FilePart) -> None:
        """Keep bytes; the caller's descriptor stays the caller's. Blocking."""
        if part.size > _MAX_BYTES // 4:
            return
        self._drop(key)
        if part.size <= _SMALL_BYTES:
            kept = _KeptPart(replace(part, descriptor=-1), os.pread(part.descriptor, part.size, 0))
        else:
            kept = _KeptPart(replace(part, descriptor=os.dup(part.descriptor)), None)
        self._parts[key] = kept
        self._bytes += part.size
        while self._bytes > _MAX_BYTES or self._descriptors() > _MAX_DESCRIPTORS:
            self._drop(next(iter(self._parts)))

    def clear(self) -> None:
        """Forget all."""
        self.writes += 1
        self._answers.clear()
        for key in list(self._parts):
            self._drop(key)

    def _descriptors(self) -> int:
        return sum(kept.data is None for kept in self._parts.values()) if len(self._parts) > _MAX_DESCRIPTORS else 0

    def _drop(self, key: Hashable) -> None:
        if (kept := self._parts.pop(key, None)) is not None:
            self._bytes -= kept.part.size
            if kept.data is None:
                os.close(kept.part.descriptor)
