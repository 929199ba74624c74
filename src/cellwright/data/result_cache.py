"""Results kept while a notebook is open: a rerun, or a branch, of the same query sends nothing.

Entries are sealed memory that others hold too, so keeping one costs a descriptor and no copy. What was asked under
other settings, masks, parameters, limits or another secret is another query. Emptied by a write; what was on its way
then is not kept. Never used for a proof.
"""

from __future__ import annotations

import os
from collections import OrderedDict
from collections.abc import Hashable
from dataclasses import dataclass, field, replace
from typing import Final

from cellwright.data.messages import QueryResult

_MAX_ENTRIES: Final = 200
_MAX_BYTES: Final = 4 << 30


@dataclass(slots=True)
class ResultCache:
    """The results of one open notebook."""

    writes: int = 0
    """How often it was emptied."""
    _entries: OrderedDict[Hashable, QueryResult] = field(default_factory=OrderedDict[Hashable, QueryResult])

    def find(self, key: Hashable) -> QueryResult | None:
        """What was kept under this key, with a descriptor of the caller's own."""
        found = self._entries.get(key)
        if found is None:
            return None
        self._entries.move_to_end(key)
        # Not a copy of ours: those share where they were read to, and the next would be given what is left.
        return replace(found, descriptor=os.open(f"/proc/self/fd/{found.descriptor}", os.O_RDONLY | os.O_CLOEXEC))

    def keep(self, key: Hashable, result: QueryResult, writes: int) -> None:
        """Keep it, unless it was asked for after fewer writes; the caller's descriptor stays the caller's."""
        if writes != self.writes or result.is_volatile or result.bytes > _MAX_BYTES // 4:
            return
        self._drop(key)
        self._entries[key] = replace(result, descriptor=os.dup(result.descriptor))
        while len(self._entries) > _MAX_ENTRIES or sum(each.bytes for each in self._entries.values()) > _MAX_BYTES:
            self._drop(next(iter(self._entries)))

    def clear(self) -> None:
        """Forget all."""
        self.writes += 1
        for key in list(self._entries):
            self._drop(key)

    def _drop(self, key: Hashable) -> None:
        if (entry := self._entries.pop(key, None)) is not None:
            os.close(entry.descriptor)
