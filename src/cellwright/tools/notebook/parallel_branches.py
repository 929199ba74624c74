"""Parallel branches: editors of their own over the same notebook, and how what they built becomes one.

Joining is pure: who defines a name first keeps it.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Collection, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final

import anyio.to_thread

from cellwright.errors import Unavailable
from cellwright.ids import CellId
from cellwright.kernel.branches.factory import open_parallel_session
from cellwright.kernel.session.open_notebook import OpenNotebook
from cellwright.notebook.document import DEFAULT_NAME, Cell, Document
from cellwright.notebook.edits import Edit, restore_edits
from cellwright.notebook.files import NotebookFile, SaveConflict, new, read, save
from cellwright.notebook.marimo_file import new_cell_id
from cellwright.notebook.marimo_graph import graph
from cellwright.notebook.source_text import numbered
from cellwright.notebook.syntax_trees import with_names
from cellwright.tools.history.timeline import RevisionTimeline, read_timeline, write_timeline
from cellwright.tools.notebook.cell_changes import changes_between, merge
from cellwright.tools.notebook.editor import NotebookEditor
from cellwright.tools.section_cells import imports_of, without_imports

_SHOWN: Final = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class JoinPlan:
    """How a part becomes one with the whole."""

    edits: tuple[Edit, ...]
    renamed: Mapping[str, str] = field(default_factory=dict[str, str])
    """Names of the part that were taken, and what they are called now."""


@dataclass(frozen=True, slots=True, kw_only=True)
class JoinConflict:
    """Why a part cannot be joined as it is."""

    why: str


def join(base: Document, part: Document, whole: Document, suffix: str) -> JoinPlan | JoinConflict:
    """What makes the part, built from `base`, one with the whole, which others have built on since.

    Cells that the whole has already, and imports, are not made twice. Names that are taken get the suffix.
    """
    if part.header != whole.header:
        return JoinConflict(why="it needs packages of its own")
    ours = _with_free_ids(base, part, whole)
    mine = {change.id for change in changes_between(base, ours) if change.after is not None}
    ours = _without_doubles(ours, whole, mine, mine - _ids(base))
    mine &= _ids(ours)
    nodes = [*graph(ours).nodes.values(), *graph(whole).nodes.values()]
    known = {name for node in nodes for name in node.defs | node.refs}
    taken = _taken(ours, whole, mine)
    names = {name: numbered(f"{name}_{suffix}", lambda free: free not in known) for name in taken}
    renamed = _renamed(ours, mine, _ids(base), names)
    if isinstance(renamed, JoinConflict):
        return renamed
    ours = _with_free_cell_names(base, renamed, whole, suffix)
    merged = merge(replace(base, header=whole.header), ours, whole)
    if merged.given_up:
        cells = ", ".join(change.id for change in merged.given_up[:_SHOWN])
        return JoinConflict(why=f"another part changed the same cells: {cells}")
    joined = _in_order(merged.document, base, ours)
    if (why := _why_not(whole, joined)) is not None:
        return JoinConflict(why=why)
    return JoinPlan(edits=tuple(restore_edits(whole, joined)), renamed=names)


# ── cells ──


def _ids(document: Document) -> set[CellId]:
    return {cell.id for cell in document.cells}


def _with_free_ids(base: Document, part: Document, whole: Document) -> Document:
    """New cells whose ids the whole has for others get other ones."""
    known, theirs = _ids(base), _ids(whole) | set(whole.retired)
    taken = theirs | _ids(part)
    cells: list[Cell] = []
    for cell in part.cells:
        if cell.id not in known and cell.id in theirs and not cell.is_setup:
            cell = replace(cell, id=new_cell_id(taken), version=1)
            taken.add(cell.id)
        cells.append(cell)
    return replace(part, cells=tuple(cells))


def _with_free_cell_names(base: Document, part: Document, whole: Document, suffix: str) -> Document:
    known = {cell.id: cell.name for cell in base.cells}
    theirs = {cell.id: cell.name for cell in whole.cells}
    taken = {name for cell, name in theirs.items() if name != known.get(cell, "")} - {DEFAULT_NAME}
    names = taken | {cell.name for cell in part.cells}
    cells: list[Cell] = []
    for cell in part.cells:
        if cell.name in taken and cell.name != known.get(cell.id) and not cell.is_setup:
            cell = replace(cell, name=numbered(f"{cell.name}_{suffix}", lambda name: name not in names))
            names.add(cell.name)
        cells.append(cell)
    return replace(part, cells=tuple(cells))


def _without_doubles(part: Document, whole: Document, mine: Collection[CellId], new: Collection[CellId]) -> Document:
    """New cells without what the whole has word for word, and without imports it has."""
    theirs, ours = graph(whole).nodes, graph(part)
    codes = {cell.code.strip() for cell in whole.cells if theirs[cell.id].defs}
    imported = {name: source for cell in whole.cells for name, source in imports_of(cell.code)}
    cells, own = {cell.id: cell for cell in part.cells}, set[str]()
    for cell in ours.in_order(mine):
        node, code = ours.nodes[cell], cells[cell].code
        if cell in new and not cells[cell].is_setup:
            # The same words over values of its own are something else.
            is_double = code.strip() in codes and not node.refs & own
            left = "" if is_double else without_imports(code, imported)
            if not left.strip() and code.strip():
                del cells[cell]
                continue
            cells[cell] = replace(cells[cell], code=left)
        own |= {name for name in node.defs if (name, imported.get(name)) not in dict(imports_of(code)).items()}
    return replace(part, cells=tuple(cells[cell.id] for cell in part.cells if cell.id in cells))


def _in_order(joined: Document, base: Document, part: Document) -> Document:
    """What the part has behind everything it began with stands at the end: behind the parts before it."""
    known = _ids(base)
    tail: list[CellId] = []
    for cell in reversed(part.cells):
        if cell.id in known:
            break
        tail.insert(0, cell.id)
    cells = {cell.id: cell for cell in joined.cells}
    kept = [cell for cell in joined.cells if cell.id not in tail]
    return replace(joined, cells=(*kept, *(cells[cell] for cell in tail if cell in cells)))


# ── names ──


def _taken(part: Document, whole: Document, mine: Collection[CellId]) -> list[str]:
    """Names that the part's own cells define and other cells of the whole do, too."""
    here = {name for cell, node in graph(part).nodes.items() if cell in mine for name in node.defs}
    there = {name for cell, node in graph(whole).nodes.items() if cell not in mine for name in node.defs}
    return sorted(here & there)


def _renamed(
    part: Document, mine: Collection[CellId], known: Collection[CellId], names: Mapping[str, str]
) -> Document | JoinConflict:
    if not names:
        return part
    nodes = graph(part).nodes
    cells: list[Cell] = []
    for cell in part.cells:
        node = nodes[cell.id]
        used = {name: names[name] for name in (node.defs | node.refs) & names.keys()}
        if used and (cell.id in known and node.defs & used.keys()):
            return JoinConflict(why=f"both define {', '.join(sorted(used))}, here in a cell that was there before")
        if used and cell.id in mine:
            code = None if node.language == "sql" else with_names(cell.code, used)
            if code is None or code == cell.code:
                return JoinConflict(
                    why=f"both define {', '.join(sorted(used))}, and renaming is not certain to be right"
                )
            cell = replace(cell, code=code)
        cells.append(cell)
    return replace(part, cells=tuple(cells))


def _why_not(whole: Document, joined: Document) -> str | None:
    before, after = graph(whole), graph(joined)
    if twice := sorted(set(after.defined_twice) - set(before.defined_twice)):
        return f"{', '.join(twice[:_SHOWN])} would be defined twice"
    tied = {cycle.names for cycle in after.cycles} - {cycle.names for cycle in before.cycles}
    if tied:
        return f"cells would need each other: {', '.join(sorted(tied)[0][:_SHOWN])}"
    return None


_BASE_FILE: Final = "base.json"
_STATE_FILE: Final = "desk.json"


@dataclass(frozen=True, slots=True, kw_only=True)
class ParallelBranch:
    """One agent's own editor."""

    editor: NotebookEditor
    base: Document
    """The notebook's cells when the branch was made."""


@asynccontextmanager
async def open_parallel_branch(editor: NotebookEditor, folder: Path) -> AsyncGenerator[ParallelBranch]:
    """A branch of this editor's notebook, kept in this folder; the second time, as it was left."""
    await editor.sync()
    notebook = editor.notebook
    base, file = await anyio.to_thread.run_sync(_begin, notebook, folder)
    known = await anyio.to_thread.run_sync(read_timeline, folder / _STATE_FILE)
    async with open_parallel_session(notebook, notebook.branches.forks, file) as session:
        if known is not None:
            there = _unchanged(known, notebook.document)
            outcomes = {cell: outcome for cell, outcome in session.outcomes.items() if cell in there}
            session.state = replace(session.state, outcomes=outcomes)
        yield ParallelBranch(editor=await NotebookEditor.open(session, folder / _STATE_FILE), base=base.document)


def _begin(notebook: OpenNotebook, folder: Path) -> tuple[RevisionTimeline, NotebookFile]:
    """What the branch began with, and its file. Blocking."""
    path = folder / notebook.path.name
    if (base := read_timeline(folder / _BASE_FILE)) is not None:
        return base, read(path)
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    # Left by a process that ended before anybody could work here.
    path.unlink(missing_ok=True)
    saved = save(new(path), notebook.document)
    if isinstance(saved, SaveConflict):
        raise Unavailable(f"The branch's file {str(path)!r} was written by somebody else.", hint="Try again.")
    base = RevisionTimeline().of(notebook.document, ())
    write_timeline(folder / _BASE_FILE, base)
    return base, saved


def _unchanged(known: RevisionTimeline, parent: Document) -> set[CellId]:
    """The cells whose results come with the parent's state: the branch has not touched them."""
    cells = {cell.id: cell for cell in known.cells}
    touched = {change.id for change in known.pending.changes} if known.pending is not None else set[CellId]()
    theirs = {cell.id for cell in parent.cells if cell.id in cells and cells[cell.id].code == cell.code}
    return theirs - touched
