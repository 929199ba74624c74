"""Turns: what was changed through Cellwright in an attached notebook, as texts, so that it can be taken back.

Kept in a file of the state directory, so a later command can undo what an earlier one did. No token is in it.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

import msgspec

from cellwright.ids import CellId
from cellwright.notebook.atomic_write import write_atomically
from cellwright.notebook.document import Cell, CellConfig, Document
from cellwright.notebook.edits import (
    After,
    AtStart,
    ConfigureCell,
    CreateCell,
    DeleteCell,
    Edit,
    EditCell,
    RenameCell,
    created,
)

_MOST_TURNS: Final = 50


class CellText(msgspec.Struct, frozen=True):
    """A cell as it was, and behind which one it stood."""

    id: str
    code: str
    name: str
    config: tuple[int | None, bool, bool, bool]
    after: str = ""

    @classmethod
    def of(cls, cell: Cell, document: Document) -> CellText:
        """As it is in the document."""
        at = next(at for at, each in enumerate(document.cells) if each.id == cell.id)
        behind = document.cells[at - 1].id if at else ""
        config = (cell.config.column, cell.config.disabled, cell.config.hide_code, cell.config.expand_output)
        return cls(id=cell.id, code=cell.code, name=cell.name, config=config, after=behind)

    def cell(self) -> Cell:
        """The same as a cell."""
        column, disabled, hide_code, expand = self.config
        config = CellConfig(column=column, disabled=disabled, hide_code=hide_code, expand_output=expand)
        return Cell(id=CellId(self.id), code=self.code, name=self.name, config=config)


class CellTurn(msgspec.Struct, frozen=True):
    """One cell before and after; None: it was not there."""

    before: CellText | None
    after: CellText | None


Turn = list[CellTurn]


def turn_between(before: Document, after: Document, edits: Sequence[Edit], made: Mapping[str, str]) -> Turn | None:
    """What these edits changed; None if nothing. `made`: which ids new cells were given."""
    ids: list[CellId] = []
    for edit in edits:
        if isinstance(edit, CreateCell):
            ids.append(CellId(made.get(str(edit.id), str(edit.id or edit.name))))
        else:
            ids.append(edit.cell)
    turn: Turn = []
    for id in dict.fromkeys(ids):
        old, new = before.find(id), after.find(id)
        if old is None or new is None or not old.has_same_content(new):
            was = CellText.of(old, before) if old is not None else None
            now = CellText.of(new, after) if new is not None else None
            if was is not None or now is not None:
                turn.append(CellTurn(before=was, after=now))
    return turn or None


def undo_edits(turn: Turn, document: Document) -> tuple[list[Edit], list[CellId]]:
    """The edits that take a turn back, and the cells somebody has changed since, which stay."""
    edits: list[Edit] = []
    kept: list[CellId] = []
    for each in reversed(turn):
        was, made = each.before, each.after
        known = made or was
        now = document.find(CellId(known.id)) if known is not None else None
        if made is None:
            if was is not None and now is None:
                place = After(cell=CellId(was.after)) if document.find(CellId(was.after)) else AtStart()
                edits.append(created(was.cell(), place))
        elif now is None or not now.has_same_content(made.cell()):
            kept.append(CellId(made.id))
        elif was is None:
            edits.append(DeleteCell(cell=now.id, base_version=now.version))
        else:
            edits += _restored(was.cell(), now)
    return edits, kept


def _restored(was: Cell, now: Cell) -> list[Edit]:
    edits: list[Edit] = []
    if was.code != now.code:
        edits.append(EditCell(cell=now.id, base_version=now.version, code=was.code))
    if was.name != now.name:
        edits.append(RenameCell(cell=now.id, base_version=now.version, name=was.name))
    if was.config != now.config:
        edits.append(ConfigureCell(cell=now.id, base_version=now.version, config=was.config))
    return edits


class TurnStore:
    """The turns of one notebook on one server, newest last."""

    def __init__(self, folder: Path, server: str, notebook: str) -> None:
        name = hashlib.sha256(f"{server}\n{notebook}".encode()).hexdigest()[:24]
        self._file = folder / f"{name}.json"

    def last(self) -> Turn | None:
        """The one that an undo takes back."""
        return turns[-1] if (turns := self._read()) else None

    def add(self, turn: Turn) -> None:
        """Remember it."""
        self._write([*self._read(), turn][-_MOST_TURNS:])

    def drop_last(self) -> None:
        """It is taken back."""
        self._write(self._read()[:-1])

    def _read(self) -> list[Turn]:
        try:
            return msgspec.json.decode(self._file.read_bytes(), type=list[Turn])
        except FileNotFoundError:
            return []
        except msgspec.MsgspecError:
            # Of a version before, or cut off: there is nothing it could undo.
            return []

    def _write(self, turns: list[Turn]) -> None:
        self._file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        write_atomically(self._file, msgspec.json.encode(turns))
