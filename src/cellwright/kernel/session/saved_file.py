"""The file of an open notebook, as it was last read or saved."""

from __future__ import annotations

import anyio
import anyio.to_thread

from cellwright.notebook import Document, NotebookFile, SaveConflict, save
from cellwright.notebook.files import read_if_changed


class SavedFile:
    """Writes one notebook, and notices when somebody else did."""

    def __init__(self, last: NotebookFile) -> None:
        self.last = last
        """What was last read or saved."""
        self._saving = anyio.Lock()

    async def save(self, document: Document) -> SaveConflict | None:
        """Write the notebook, atomically. A file that changed since it was read is left alone: both texts come back."""
        async with self._saving:
            saved = await anyio.to_thread.run_sync(save, self.last, document)
            if isinstance(saved, SaveConflict):
                return saved
            self.last = saved
            return None

    async def changed_on_disk(self) -> NotebookFile | None:
        """The file read again, if it is not what was last read or saved. Raises `UserError` if it is no notebook."""
        return await anyio.to_thread.run_sync(read_if_changed, self.last)
