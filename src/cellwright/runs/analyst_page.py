"""The page of an analyst's notebook in the order it is read: what was found first, how it was found last. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from cellwright.notebook import Cell, Document
from cellwright.tools.drafted_cells import OurCell

_METHODS: Final = ("about_the_methods", "method_", "define_", "answer_sentences")
_CHECKS: Final = "check_"
_FOUND, _TOLD, _DATA, _MADE_WITH, _CHECKED = range(1, 6)


def arranged(document: Document, ours: Sequence[OurCell]) -> tuple[dict[str, Any], ...]:
    """The moves that bring the page into order, as the tool `apply` takes them; none if it is.

    The answer, the findings and what to keep in mind; then the data as it was read, repaired, looked at and tested;
    functions and checks at the end. Cells of others stay where they are among the data.
    """
    known = {cell.id: cell for cell in ours}
    places = [_place(cell, known) for cell in document.cells]
    if places == sorted(places):
        return ()
    top = next((cell.id for cell in reversed(document.cells) if _place(cell, known) == 0), None)
    story = [cell for place in (_FOUND, _TOLD) for cell in _at(document, known, place)]
    behind: dict[str, str] = {"after": top} if top is not None else {"at": "start"}
    # Each goes right behind the same cell: so the last comes first.
    moves = [_move(cell, behind) for cell in reversed(story)]
    end = [cell for place in (_MADE_WITH, _CHECKED) for cell in _at(document, known, place)]
    return (*moves, *(_move(cell, {"at": "end"}) for cell in end))


def _at(document: Document, known: dict[str, OurCell], place: int) -> list[Cell]:
    return [cell for cell in document.cells if _place(cell, known) == place]


def _place(cell: Cell, known: dict[str, OurCell]) -> int:
    ours = known.get(cell.id)
    if ours is None:
        return _DATA
    if ours.is_at_start:
        return 0
    if ours.draft.startswith(_METHODS):
        return _MADE_WITH
    if ours.draft.startswith(_CHECKS):
        return _CHECKED
    return {"findings": _FOUND, "tell": _TOLD}.get(ours.section, _DATA)


def _move(cell: Cell, where: dict[str, str]) -> dict[str, Any]:
    return {"op": "move", "cell": cell.id, "base_version": cell.version, **where}
