"""Changes of cells: as a model writes them, found between two documents, and those of two people merged."""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any, Final, Literal

from pydantic import BaseModel, ConfigDict, Field

from cellwright.ids import CellId
from cellwright.notebook.document import DEFAULT_NAME, SETUP_NAME, Cell, Document
from cellwright.notebook.edit_json import parse_edits
from cellwright.notebook.edits import (
    After,
    AtStart,
    CellPosition,
    ConfigureCell,
    DeleteCell,
    Edit,
    EditCell,
    EditRefused,
    RenameCell,
    apply_edits,
    created,
)
from cellwright.notebook.marimo_file import new_cell_id
from cellwright.notebook.source_text import identifier, numbered
from cellwright.policy.actions import EditCells, RunCode

_SIMILAR: Final = 0.5
_COMPARED_CHARACTERS: Final = 4_000


@dataclass(frozen=True, slots=True, kw_only=True)
class CellDiff:
    """One cell before and after; None where it was not there."""

    before: Cell | None
    after: Cell | None

    @property
    def cell(self) -> Cell:
        """As it is after, or was before it went."""
        cell = self.after or self.before
        assert cell is not None
        return cell

    @property
    def id(self) -> CellId:
        """The cell's id, the same on both sides."""
        return self.cell.id

    def diff(self) -> str:
        """The change of its code, as a unified diff."""
        old = self.before.code.splitlines() if self.before else []
        new = self.after.code.splitlines() if self.after else []
        name = label(self.cell)
        lines = difflib.unified_diff(old, new, f"{name} before", f"{name} after", lineterm="")
        return "\n".join(lines) or f"{name}: name, place or configuration"


def changes_between(before: Document, after: Document) -> tuple[CellDiff, ...]:
    """The cells whose code, name or configuration differ, those that came and those that went."""
    old = {cell.id: cell for cell in before.cells}
    new = {cell.id: cell for cell in after.cells}
    gone = [CellDiff(before=cell, after=None) for cell in before.cells if cell.id not in new]
    rest = [
        CellDiff(before=old.get(cell.id), after=cell)
        for cell in after.cells
        if cell.id not in old or not cell.has_same_content(old[cell.id])
    ]
    return (*gone, *rest)


# ── the same cells again ──


def with_known_ids(known: Document, fresh: Document) -> Document:
    """`fresh`, its cells under the ids they had in `known`; versions grow where a cell changed."""
    pairs = _pairs(known.cells, fresh.cells)
    taken = {cell.id for cell in known.cells} | set(known.retired)
    order = [pairs[cell.id].id for cell in fresh.cells if cell.id in pairs]
    unmoved = still_in_order([cell.id for cell in known.cells], order)
    ids: dict[CellId, Cell] = {}
    for cell in fresh.cells:
        old = pairs.get(cell.id)
        if old is None:
            ids[cell.id] = replace(cell, id=new_cell_id(taken), version=1)
        else:
            is_same = cell.has_same_content(old) and old.id in unmoved
            ids[cell.id] = replace(cell, id=old.id, version=old.version + (not is_same))
        taken.add(ids[cell.id].id)
    kept = {cell.id for cell in ids.values()}
    gone = {cell.id: cell.version for cell in known.cells if cell.id not in kept}
    return _renumbered(replace(fresh, retired={**known.retired, **gone}), ids)


def _renumbered(document: Document, cells: dict[CellId, Cell]) -> Document:
    renewed = replace(document, cells=tuple(cells[cell.id] for cell in document.cells))
    origin = document.origin
    if origin is None:
        return renewed
    # What was read is told by the new ids too, or nothing would count as unchanged.
    chunks = tuple((cells[cell].id if cell in cells else cell, chunk) for cell, chunk in origin.layout.chunks)
    read = replace(origin.document, cells=tuple(cells[cell.id] for cell in origin.document.cells))
    return replace(renewed, origin=replace(origin, layout=replace(origin.layout, chunks=chunks), document=read))


def _pairs(known: Sequence[Cell], fresh: Sequence[Cell]) -> dict[CellId, Cell]:
    """Which known cell each fresh one is: alike in place, alike elsewhere, alike by name, similar in text."""
    pairs: dict[CellId, Cell] = {}
    left, wanted = list(known), list(fresh)

    def pair(cell: Cell, old: Cell) -> None:
        pairs[cell.id] = old
        left.remove(old)
        wanted.remove(cell)

    matcher = difflib.SequenceMatcher(None, [_key(cell) for cell in known], [_key(cell) for cell in fresh], False)
    for block in matcher.get_matching_blocks():
        for offset in range(block.size):
            pair(fresh[block.b + offset], known[block.a + offset])
    for is_same in (Cell.has_same_content, _is_namesake, _is_similar):
        for cell in list(wanted):
            found = next((old for old in left if is_same(old, cell) and old.is_setup == cell.is_setup), None)
            if found is not None:
                pair(cell, found)
    return pairs


def _key(cell: Cell) -> tuple[object, ...]:
    return (cell.is_setup, cell.code, cell.name, cell.config)


def _is_namesake(old: Cell, new: Cell) -> bool:
    return old.is_setup or (old.name == new.name and old.name != DEFAULT_NAME)


def _is_similar(old: Cell, new: Cell) -> bool:
    texts = old.code[:_COMPARED_CHARACTERS], new.code[:_COMPARED_CHARACTERS]
    return difflib.SequenceMatcher(None, *texts, False).ratio() >= _SIMILAR


def still_in_order(old: Sequence[CellId], new: Sequence[CellId]) -> set[CellId]:
    """The cells that nobody moved: those whose order is the same on both sides."""
    blocks = difflib.SequenceMatcher(None, old, new, False).get_matching_blocks()
    return {old[block.a + offset] for block in blocks for offset in range(block.size)}


# ── two people's changes ──


@dataclass(frozen=True, slots=True, kw_only=True)
class MergedDocument:
    """Both people's changes in one document."""

    document: Document
    given_up: tuple[CellDiff, ...] = ()
    """Changes of ours that the other's stood against: theirs were kept."""


def merge(base: Document, ours: Document, theirs: Document) -> MergedDocument:
    """What both made of `base`. Where both changed a cell, theirs is kept."""
    theirs_changed = {change.id for change in changes_between(base, theirs)}
    merged, given_up = theirs, list[CellDiff]()
    for change in changes_between(base, ours):
        if change.id in theirs_changed:
            given_up.append(change)
            continue
        tried = apply_edits(merged, list(_as_edits(change, merged, ours)))
        if isinstance(tried, EditRefused):
            given_up.append(change)
        else:
            merged = tried
    if theirs.header == base.header:
        merged = replace(merged, header=ours.header)
    return MergedDocument(document=merged, given_up=tuple(given_up))


def _as_edits(change: CellDiff, onto: Document, ours: Document) -> Iterator[Edit]:
    """The edits that make the change in another document."""
    if change.after is None:
        cell = onto.find(change.id)
        if cell is not None:
            yield DeleteCell(cell=cell.id, base_version=cell.version)
        return
    if change.before is None:
        yield created(change.after, place_in(change.id, [cell.id for cell in ours.cells], onto))
        return
    after, version = change.after, change.before.version
    if after.code != change.before.code:
        yield EditCell(cell=after.id, base_version=version, code=after.code)
    if after.name != change.before.name:
        yield RenameCell(cell=after.id, base_version=version, name=after.name)
    if after.config != change.before.config:
        yield ConfigureCell(cell=after.id, base_version=version, config=after.config)


def place_in(cell: CellId, order: Sequence[CellId], document: Document) -> CellPosition:
    """Behind the nearest cell above it that the document has."""
    here = {known.id for known in document.cells}
    above = [other for other in order[: order.index(cell)] if other in here]
    return After(cell=above[-1]) if above else AtStart()


def label(cell: Cell) -> str:
    """How a cell is called in what a model reads."""
    return cell.id if cell.name == DEFAULT_NAME else f"{cell.name} ({cell.id})"


_MOST_SECONDS: Final = 3_600

Seconds = Annotated[float, Field(gt=0, le=_MOST_SECONDS, description="Deadline.")]


class CellEdit(BaseModel):
    """`create` takes code, and name and a place if wanted; all others take cell and base_version."""

    model_config = ConfigDict(extra="forbid")

    op: Literal["create", "edit", "delete", "move", "rename", "configure"]
    cell: Annotated[str | None, Field(description="Id or name.")] = None
    base_version: Annotated[int | None, Field(description="Its version.")] = None
    code: str | None = None
    name: str | None = None
    after: Annotated[str | None, Field(description="A cell.")] = None
    before: str | None = None
    at: Literal["start", "end"] | None = None
    config: Annotated[dict[str, bool] | None, Field(description="hide_code, disabled")] = None


def edits_of(edits: Sequence[CellEdit], document: Document) -> list[Edit]:
    """The edits a model wrote, for this document; a new cell whose name is taken, or is none, gets the next best one.

    Raises `UserError`.
    """
    taken, wanted = {cell.name for cell in document.cells}, list[dict[str, Any]]()
    for edit in edits:
        fields = edit.model_dump(exclude_none=True)
        if edit.op == "create" and edit.name and edit.name not in {DEFAULT_NAME, SETUP_NAME}:
            plain = edit.name if edit.name.isidentifier() else identifier(edit.name)
            fields["name"] = numbered(plain or "cell", lambda name: name not in taken)
            taken.add(fields["name"])
        wanted.append(fields)
    return parse_edits(wanted, document)


def changes_by(edits: Sequence[CellEdit], document: Document) -> tuple[CellDiff, ...]:
    """What these edits would change; nothing where they cannot be made. Raises `UserError`."""
    after = apply_edits(document, edits_of(edits, document))
    return () if isinstance(after, EditRefused) else changes_between(document, after)


def actions_of(changes: Sequence[CellDiff], notebook: Path) -> tuple[EditCells, RunCode]:
    """What policy is asked about: the change, and running the code that it brings."""
    code = "\n\n".join(change.after.code for change in changes if change.after is not None)
    diff = "\n".join(change.diff() for change in changes)
    return EditCells(notebook=str(notebook), diff=diff), RunCode(notebook=str(notebook), code=code)
