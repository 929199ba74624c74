"""What stands in the live notebook after the analyst wrote a section: which cells, and which of them failed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

from cellwright.analyst.drafts import CellDraft
from cellwright.analyst.profile import one_line
from cellwright.ids import CellId
from cellwright.kernel import OpenNotebook
from cellwright.tools.drafted_cells import Fitted, OurCell
from cellwright.tools.notebook_desk import NotebookDesk

_BAD: Final = frozenset({"failed", "interrupted", "cancelled", "lost"})
_LONGEST: Final = 240
ANCESTOR_FAILED: Final = "AncestorFailed"
"""So begins why a cell has no result that only needs another one's."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """A section in the notebook. Plain values: a step's result."""

    cells: tuple[OurCell, ...] = ()
    bad: tuple[tuple[str, str], ...] = ()
    """Drafts whose cells have no result, and why."""
    harmed: tuple[str, ...] = ()
    """Cells of others that ran before and fail now."""


def failing_cells(notebook: OpenNotebook) -> tuple[str, ...]:
    """The ids of all cells that have failed."""
    return tuple(cell for cell, outcome in notebook.outcomes.items() if outcome.status in _BAD)


def standing_of(
    desk: NotebookDesk,
    section: str,
    drafts: Sequence[CellDraft],
    fitted: Fitted,
    *,
    keys: Sequence[str],
    failing: Sequence[str],
) -> Standing:
    """How the section stands after these calls; `failing`: cells that had failed before them."""
    document = desk.notebook.document
    now = [
        replace(cell, version=found.version)
        for cell in (*fitted.stands, *_created(desk, section, drafts, fitted, keys))
        if (found := document.find(CellId(cell.id))) is not None
    ]
    wrong = [(cell.draft, why) for cell in now if (why := _why_not(desk.notebook, cell.id))]
    own = {cell.id for cell in now}
    harmed = set(failing_cells(desk.notebook)) - own - set(failing)
    return Standing(
        cells=tuple(now),
        bad=tuple(wrong),
        harmed=tuple(sorted(desk.notebook.name_of(CellId(cell)) for cell in harmed)),
    )


def _created(
    desk: NotebookDesk, section: str, drafts: Sequence[CellDraft], fitted: Fitted, keys: Sequence[str]
) -> list[OurCell]:
    """The cells that these calls made, as the desk remembers them, in the order of the drafts."""
    turns = [turn for key in keys if (turn := desk.done(key)) is not None]
    made = {change.after.name: change.after for turn in turns for change in turn.changes if change.after is not None}
    named = dict(fitted.names)
    return [
        OurCell(section=section, draft=draft.name, id=cell.id, code=cell.code, is_at_start=draft.at_start)
        for draft in drafts
        if draft.name in named and (cell := made.get(named[draft.name])) is not None
    ]


def _why_not(notebook: OpenNotebook, cell: str) -> str:
    """Why a cell has no result; empty if it has one."""
    outcome = notebook.outcomes.get(CellId(cell))
    if outcome is None:
        return "it did not run"
    if outcome.status not in _BAD:
        return ""
    fault = outcome.error
    return outcome.status if fault is None else one_line(f"{fault.type}: {fault.message}", _LONGEST)
