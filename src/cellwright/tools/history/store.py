"""The timeline in its file, `desk.json`. Earlier formats are read, too; only writing changes the file."""

from __future__ import annotations

import json
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any, Final

from pydantic import TypeAdapter, ValidationError

from cellwright.errors import Defect
from cellwright.ids import CellId
from cellwright.notebook import Cell
from cellwright.notebook.atomic_write import write_atomically
from cellwright.tools.history.timeline import Revision, RevisionKind, RevisionTimeline

_FORMAT: Final = 2


def read_timeline(path: Path) -> RevisionTimeline | None:
    """What is remembered; None where nothing is yet. Raises `Defect`. Blocking."""
    try:
        stored: Any = json.loads(path.read_bytes())
        if stored.get("format", 1) == _FORMAT:
            return _TIMELINE.validate_python(stored)
        return _upcast(_FIRST_FORMAT.validate_python(stored))
    except FileNotFoundError:
        return None
    except (ValidationError, ValueError, AttributeError) as error:
        raise Defect(f"The notebook's history in {str(path)!r} cannot be read: {error}.") from error


def write_timeline(path: Path, timeline: RevisionTimeline) -> None:
    """Replace what was remembered, all or nothing. Blocking."""
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    stored = {"format": _FORMAT, **_TIMELINE.dump_python(timeline, mode="json")}
    write_atomically(path, json.dumps(stored, separators=(",", ":")).encode())


_TIMELINE: Final = TypeAdapter(RevisionTimeline)


# ── the first format: undos stood among the turns, right behind what they undid or at the end ──


@dataclass(frozen=True, slots=True, kw_only=True)
class _Turn(Revision):
    is_undo: bool = False
    is_redone: bool = False
    """An undo that was taken back."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _UndoRecord:
    turn: _Turn
    marks: tuple[str, ...] = ()
    """The keys of the turns that say what it undid; none: it is an agent's, and such a turn itself."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _State:
    cells: tuple[Cell, ...] = ()
    retired: dict[CellId, int] = field(default_factory=dict[CellId, int])
    ran: tuple[CellId, ...] = ()
    turns: tuple[_Turn, ...] = ()
    forgotten: int = 0
    undone: tuple[_UndoRecord, ...] = ()
    pending: _Turn | None = None
    is_unsaved: bool = False


_FIRST_FORMAT: Final = TypeAdapter(_State)


def _upcast(state: _State) -> RevisionTimeline:
    """The same history: what was undone stays so, and what could be redone can be."""
    undos = {record.turn.key: _revision(record.turn, "undo") for record in state.undone}
    undo_of = {mark: record.turn.key for record in state.undone for mark in record.marks or (record.turn.key,)}
    revisions, redone, standing = list[Revision](), list[Revision](), list[int]()
    number = state.forgotten
    for turn in state.turns:
        if not turn.is_undo:
            number += 1
            standing.append(number)
            revisions.append(replace(_revision(turn, "change"), number=number))
        elif turn.is_redone or not standing:
            redone.append(_revision(turn, "undo"))
        elif (key := undo_of.get(turn.key)) is not None:
            undos[key] = replace(undos[key], reverts=(standing.pop(), *undos[key].reverts))
        else:
            revisions.append(replace(_revision(turn, "undo"), reverts=(standing.pop(),), left=""))
    revisions += undos.values()
    pending = None if state.pending is None else _revision(state.pending, "undo" if state.pending.is_undo else "change")
    if pending is not None and pending.kind == "undo":
        pending = replace(pending, reverts=tuple(standing[-1:]))
    return RevisionTimeline(
        cells=state.cells,
        retired=state.retired,
        ran=state.ran,
        revisions=(*revisions, *redone),
        cursor=len(revisions),
        forgotten=state.forgotten,
        pending=pending,
        is_unsaved=state.is_unsaved,
    )


def _revision(turn: _Turn, kind: RevisionKind) -> Revision:
    return Revision(**{each.name: getattr(turn, each.name) for each in fields(Revision)} | {"kind": kind})
