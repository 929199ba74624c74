"""What each page has on its screen, as far as we know: so that only what a person changed there counts as a change.

A page that was away, or is about to be told, still sends whole texts when it runs or saves. What it has not changed
must not undo what others did meanwhile.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from typing import Final

from marimo._messaging.notebook.changes import CreateCell, DeleteCell, DocumentChange, ReorderCells, SetCode
from marimo._messaging.notebook.document import NotebookCell
from marimo._types.ids import CellId_t

from cellwright.ids import CellId

_MAX_PAGES: Final = 64
_ECHO_SECONDS: Final = 5.0
"""A page sends back what it was told, once the typing seems to pause; by then there may be something newer."""


class PageTexts:
    """The texts of every page's cells."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._texts: dict[str, dict[CellId, str]] = {}
        self._sent: deque[tuple[float, str, CellId, str]] = deque(maxlen=5_000)

    def knows(self, page: str) -> bool:
        """Whether this page was here before."""
        return page in self._texts

    def shows(self, page: str, cells: Iterable[NotebookCell]) -> None:
        """This page is told everything."""
        self._texts.pop(page, None)
        while len(self._texts) >= _MAX_PAGES:
            del self._texts[next(iter(self._texts))]
        self._texts[page] = {CellId(cell.id): cell.code for cell in cells}

    def were_sent(self, pages: Iterable[str], changes: Sequence[DocumentChange]) -> None:
        """These pages were told of changes."""
        for page in pages:
            texts = self._texts.get(page, {})
            for change in changes:
                if isinstance(change, CreateCell | SetCode):
                    texts[CellId(change.cell_id)] = change.code
                    self._sent.append((self._clock(), page, CellId(change.cell_id), change.code))
                elif isinstance(change, DeleteCell):
                    texts.pop(CellId(change.cell_id), None)

    def typed(self, page: str, cell: CellId, code: str) -> bool:
        """Whether this text is news from the page, rather than what it was sent."""
        texts = self._texts.setdefault(page, {})
        self._forget_what_is_old()
        if texts.get(cell) == code or any(sent[1:] == (page, cell, code) for sent in self._sent):
            return False
        texts[cell] = code
        return True

    def was_told_lately(self, page: str, cell: CellId) -> bool:
        """Whether the page may have put another's text over what was being typed there."""
        self._forget_what_is_old()
        return any(sent[1:3] == (page, cell) for sent in self._sent)

    def _forget_what_is_old(self) -> None:
        while self._sent and self._sent[0][0] < self._clock() - _ECHO_SECONDS:
            self._sent.popleft()

    def missed(self, page: str, cells: Sequence[NotebookCell]) -> list[DocumentChange]:
        """What this page has not been told, which from now on it has."""
        texts = self._texts.get(page, {})
        now = {CellId(cell.id) for cell in cells}
        changes: list[DocumentChange] = [DeleteCell(cell_id=CellId_t(id)) for id in texts if id not in now]
        for at, cell in enumerate(cells):
            known = texts.get(CellId(cell.id))
            if known is None:
                after = cells[at - 1].id if at else None
                before = cells[1].id if not at and len(cells) > 1 and CellId(cells[1].id) in texts else None
                changes.append(
                    CreateCell(
                        cell_id=cell.id, code=cell.code, name=cell.name, config=cell.config, after=after, before=before
                    )
                )
            elif known != cell.code:
                changes.append(SetCode(cell_id=cell.id, code=cell.code))
        if changes:
            changes.append(ReorderCells(cell_ids=tuple(cell.id for cell in cells)))
        self.shows(page, cells)
        return changes
