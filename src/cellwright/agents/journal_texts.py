"""Whole texts kept in the journal's own database, each once under the hash of its bytes.

What an agent read in a step, and the documents it wrote, are kept here: another worker can read them, and a backup
holds them.
"""

from __future__ import annotations

import anyio.to_thread

from cellwright.errors import Defect
from cellwright.journal import Records
from cellwright.journal.blobs import Blobs


class JournalTexts:
    """Texts by the hash of their bytes."""

    def __init__(self, records: Records) -> None:
        self._blobs = Blobs(records.database)

    async def keep(self, key: str, text: str) -> str:
        """Keep the text; its name. The key does not matter: equal texts are one."""
        return await anyio.to_thread.run_sync(self._blobs.put, text)

    async def read(self, name: str) -> str | None:
        """The text of this name, if it is here."""
        try:
            return await anyio.to_thread.run_sync(self._blobs.get, name)
        except Defect:
            return None
