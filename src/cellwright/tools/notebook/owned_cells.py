"""Cells with an owner: what one agent wrote for others to meet is changed by its run and by people, nobody else."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from cellwright.ids import CellId
from cellwright.notebook.edits import DeleteCell, EditRefused
from cellwright.tools.history.timeline import Revision

_JOIN: Final = "/join"
"""In the key of what puts a parallel part into the notebook: in its branch nobody else could change such a cell."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CellOwner:
    """Whose cells these are, and what others do instead of changing one."""

    role: str
    run: str
    """The run whose agent it was: its own changes are let through, those of its agents are not."""
    cells: Mapping[CellId, str]
    """With what each is called. One that was taken out stays here: no undo brings it back."""
    instead: str
    """The tool that others call."""
    may_wait: bool = True
    """Its tests may read names that nobody has defined yet."""

    def refusal(self, revision: Revision) -> EditRefused | None:
        """Why this change is not made; None: it may be. Moving a cell changes nothing in it."""
        if revision.agent == self.run or _JOIN in revision.key:
            return None
        for change in revision.changes:
            if (name := self.cells.get(change.id)) is not None:
                edit = DeleteCell(cell=change.id, base_version=change.cell.version)
                message = f"{name} is the {self.role}'s: only a person may change, rename, switch off or remove it. "
                message += f"Make it pass, or, if the test itself is wrong, call {self.instead}."
                return EditRefused(index=0, edit=edit, reason="owned", message=message)
        return None
