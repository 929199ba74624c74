"""How the workflow engine's rows are written: JSON for everything. One of the doorkeepers of DBOS."""

from __future__ import annotations

from typing import Any, Final

import dbos

from cellwright.journal.blobs import Blobs
from cellwright.journal.crash import AtCrashPoint, CrashPoint
from cellwright.journal.values import Mask, dump, error_json, load, parse_error

_BLOB_CHARACTERS: Final = 64_000
"""Above this, a value is kept once, under its hash, and the row only refers to it."""


class JsonSerializer(dbos.Serializer):
    """JSON for everything; large values as blobs, errors in their envelope."""

    def __init__(self, blobs: Blobs, at_crash_point: AtCrashPoint, mask: Mask | None) -> None:
        self._blobs = blobs
        self._at = at_crash_point
        self._mask = mask

    def serialize(self, data: Any) -> str:
        """The text that is kept."""
        text = dump({"error": error_json(data, self._mask)} if isinstance(data, BaseException) else {"value": data})
        if len(text) <= _BLOB_CHARACTERS:
            return text
        kept = dump({"blob": self._blobs.put(text), "characters": len(text)})
        self._at(CrashPoint.BLOB_WRITTEN)
        return kept

    def deserialize(self, serialized_data: str) -> Any:
        """The value or error of what was kept."""
        kept = load(serialized_data)
        if "blob" in kept:
            kept = load(self._blobs.get(kept["blob"]))
        return parse_error(kept["error"]) if "error" in kept else kept["value"]

    def name(self) -> str:
        """How rows written by this are marked."""
        return "cellwright_json"
