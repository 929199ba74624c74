"""The timeline of a notebook and the moves on it, as values: what stands, what can be redone, what is stored."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from cellwright.errors import Defect, UserError
from cellwright.ids import CellId
from cellwright.notebook.document import Document
from cellwright.notebook.edits import CreateCell, Edit, EditCell, EditRefused, apply_edits
from cellwright.tools.history.moves import (
    Move,
    Moved,
    MoveRefused,
    NothingToMove,
    PlannedTarget,
    Redo,
    UndoAgent,
    UndoAll,
    UndoCell,
    UndoChange,
    UndoLast,
    plan,
)
from cellwright.tools.history.timeline import (
    RevisionTimeline,
    read_timeline,
    revision_between,
    with_renamed_run,
    write_timeline,
)

OLD = Path(__file__).parent / "desk_of_format_1.json"


def edited(document: Document, edits: Sequence[Edit]) -> Document:
    after = apply_edits(document, edits)
    assert not isinstance(after, EditRefused), after
    return after


class Notes:
    """A notebook and its timeline, both values."""

    def __init__(self, *codes: str) -> None:
        self.document = edited(Document.new(), [CreateCell(code=code) for code in codes])
        self.timeline = RevisionTimeline().of(self.document, ())

    def change(self, key: str, *edits: Edit) -> None:
        after = edited(self.document, edits)
        self.timeline = self.timeline.append(revision_between(key, self.document, after)).of(after, ())
        self.document = after

    def move(self, target: PlannedTarget, key: str = "") -> Moved | NothingToMove | MoveRefused:
        move = plan(self.timeline, self.document, target, key)
        if not isinstance(move, Move):
            return move
        done = self.timeline if move.revision is None else self.timeline.append(move.revision)
        self.document, self.timeline = move.document, done.of(move.document, ())
        return move.outcome

    def person_edits(self, place: int, code: str) -> None:
        cell = self.document.cells[place]
        self.document = edited(self.document, [EditCell(cell=cell.id, base_version=cell.version, code=code)])

    @property
    def codes(self) -> list[str]:
        return [cell.code for cell in self.document.cells]

    @property
    def standing(self) -> list[int]:
        return [change.number for change in self.timeline.standing]


@pytest.fixture
def notes() -> Notes:
    """A cell of a person, and one cell of each of three changes by two agents."""
    notes = Notes("x = 1")
    for key, name in (("r/agent:1/c1", "a"), ("r/agent:1/c2", "b"), ("r/agent:2/c1", "c")):
        notes.change(key, CreateCell(code=f"{name} = x", name=name))
    return notes


MOVES: list[tuple[str, list[PlannedTarget], list[int], str]] = [
    ("the last", [UndoLast()], [1, 2], "xab"),
    ("the last, twice", [UndoLast(), UndoLast()], [1], "xa"),
    ("all", [UndoAll()], [], "x"),
    ("one in the midst", [UndoChange(number=2)], [1, 3], "xac"),
    ("one agent's", [UndoAgent(agent="r/agent:1")], [3], "xc"),
    ("all and forth", [UndoAll(), Redo()], [1, 2, 3], "xabc"),
    ("two and one forth", [UndoLast(), UndoChange(number=1), Redo()], [1, 2], "xab"),
    ("two and both forth", [UndoLast(), UndoChange(number=1), Redo(), Redo()], [1, 2, 3], "xabc"),
    ("forth and back again", [UndoAll(), Redo(), UndoChange(number=2)], [1, 3], "xac"),
    ("back, forth, back, forth", [UndoLast(), Redo(), UndoLast(), Redo()], [1, 2, 3], "xabc"),
]


@pytest.mark.parametrize(("targets", "standing", "cells"), [row[1:] for row in MOVES], ids=[row[0] for row in MOVES])
def test_a_way_through_the_history_ends_where_it_says(
    notes: Notes, targets: list[PlannedTarget], standing: list[int], cells: str
) -> None:
    for target in targets:
        assert isinstance(notes.move(target), Moved)
    assert (notes.standing, notes.codes) == (standing, ["x = 1", *(f"{name} = x" for name in cells[1:])])
    assert [change.number for change in notes.timeline.changes] == [1, 2, 3], "what is undone is still listed"


def test_a_new_change_ends_redoing_and_gets_the_next_number(notes: Notes) -> None:
    notes.move(UndoAll())
    notes.change("r/agent:3/c1", CreateCell(code="d = x"))
    assert isinstance(notes.move(Redo()), NothingToMove)
    assert (notes.standing, notes.codes) == ([4], ["x = 1", "d = x"])


def test_an_agents_redo_brings_its_change_back_under_its_own_number_and_both_calls_are_known(notes: Notes) -> None:
    notes.move(UndoLast(), "r/agent:2/c2")
    notes.move(Redo(), "r/agent:2/c3")
    assert notes.standing == [1, 2, 3]
    assert [notes.timeline.find(f"r/agent:2/c{call}") is not None for call in (2, 3)] == [True, True]


def test_one_cell_taken_back_is_no_revision(notes: Notes) -> None:
    cell = notes.document.cells[3].id
    before = notes.timeline.revisions
    assert notes.move(UndoCell(number=3, cell=cell)) == Moved(revisions=(3,), cells=("removed c",))
    assert notes.move(UndoCell(number=3, cell=cell)) == Moved(revisions=(3,))
    assert notes.timeline.revisions == before
    assert notes.move(UndoCell(number=3, cell=CellId("no"))) == MoveRefused(
        why="The change did not touch the cell 'no'."
    )


def test_a_redo_is_refused_where_somebody_changed_the_notebook_since(notes: Notes) -> None:
    notes.move(UndoLast())
    notes.person_edits(1, "a = 7")
    assert notes.move(Redo()) == MoveRefused(why="Somebody changed the notebook since the undo (changed a).")
    assert notes.codes == ["x = 1", "a = 7", "b = x"]


def test_what_somebody_changed_stays_and_only_cells_go_back(notes: Notes) -> None:
    notes.person_edits(3, "c = 7")
    move = plan(notes.timeline, notes.document, UndoLast())
    assert isinstance(move, Move)
    assert (move.outcome.kept, move.state_before) == (("c: somebody changed it since",), None)


def test_only_the_newest_changes_go_back_with_their_state(notes: Notes) -> None:
    oldest = {
        number: move.state_before and move.state_before.number
        for number, target in enumerate([UndoAll(), UndoLast(), UndoChange(number=2)])
        if isinstance(move := plan(notes.timeline, notes.document, target), Move)
    }
    assert oldest == {0: 1, 1: 3, 2: None}


def test_a_change_that_never_was_is_an_error_with_those_there_are(notes: Notes) -> None:
    with pytest.raises(UserError, match="no change 4") as caught:
        notes.move(UndoChange(number=4))
    assert caught.value.hint == "It made the changes 1 to 3."


# ── crashes ──


@pytest.mark.parametrize(
    ("target", "standing"), [(UndoLast(), [1, 2]), (UndoAll(), []), (UndoChange(number=1), [2, 3]), (Redo(), [1, 2, 3])]
)
@pytest.mark.parametrize("is_saved", [True, False])
def test_a_pending_revision_counts_after_a_crash_if_the_file_holds_it(
    notes: Notes, target: PlannedTarget, standing: list[int], *, is_saved: bool
) -> None:
    if isinstance(target, Redo):
        notes.move(UndoLast())
    before = notes.standing
    move = plan(notes.timeline, notes.document, target)
    assert isinstance(move, Move)
    settled, found = replace(notes.timeline, pending=move.revision).settled(
        move.document if is_saved else notes.document
    )
    assert [change.number for change in settled.standing] == (standing if is_saved else before)
    assert (settled.pending, found.cells) == (None, settled.cells)


# ── what is stored ──


def test_what_is_written_is_read_again(notes: Notes, tmp_path: Path) -> None:
    notes.move(UndoChange(number=2))
    notes.move(UndoLast())
    notes.move(Redo())
    write_timeline(tmp_path / "desk.json", notes.timeline)
    assert read_timeline(tmp_path / "desk.json") == notes.timeline


def test_a_history_of_the_version_before_is_read_and_left_as_it_is() -> None:
    """Two agents' five changes and undos, a person's redo, and two undos of theirs; one call was cut off."""
    stored = OLD.read_bytes()
    old = read_timeline(OLD)
    assert old is not None
    assert OLD.read_bytes() == stored
    assert [(each.number, each.key, each.number in old.reverted) for each in old.changes] == [
        (1, "r/agent:1/c1", True),
        (2, "r/agent:1/c2", True),
        (3, "r/agent:1/c4", False),
        (4, "r/agent:2/c1", True),
    ]
    assert old.pending is not None
    assert all(old.find(key) is not None for key in ("r/agent:1/c3", "r/agent:2/c2"))


def test_what_could_be_redone_in_the_version_before_still_can() -> None:
    old = read_timeline(OLD)
    assert old is not None
    notes = Notes()
    notes.timeline, notes.document = old.settled(old.document)
    assert notes.codes == ["x = 1", "z = x", "total = y"]
    assert notes.move(Redo()) == Moved(cells=("added ws",))
    assert notes.move(Redo()) == Moved(cells=("added ys",))
    assert isinstance(notes.move(Redo()), NothingToMove)
    assert (notes.standing, sorted(notes.codes)) == ([1, 3, 4], ["total = y", "w = 5", "x = 1", "y = x + 1", "z = x"])


def test_a_call_of_the_version_before_that_was_cut_off_counts_if_the_file_holds_it() -> None:
    old = read_timeline(OLD)
    assert old is not None
    settled, _ = old.settled(edited(old.document, [CreateCell(code="late = 1", name="late")]))
    assert [(each.number, each.key) for each in settled.standing] == [(3, "r/agent:1/c4"), (5, "r/agent:3/c1")]


@pytest.mark.parametrize("stored", [b'{"cells": 3}', b"[]", b"{", b'{"format": 2, "revisions": 1}'])
def test_a_history_that_cannot_be_read_is_a_defect(tmp_path: Path, stored: bytes) -> None:
    (tmp_path / "desk.json").write_bytes(stored)
    with pytest.raises(Defect, match="cannot be read"):
        read_timeline(tmp_path / "desk.json")


def test_a_forked_run_has_the_changes_under_its_own_name_and_nothing_to_redo(notes: Notes) -> None:
    notes.move(UndoLast())
    forked = with_renamed_run(notes.timeline, "r", "q")
    assert [(each.key, each.number in forked.reverted) for each in forked.changes] == [
        ("q/agent:1/c1", False),
        ("q/agent:1/c2", False),
        ("q/agent:2/c1", True),
    ]
    assert forked.redoable is None
