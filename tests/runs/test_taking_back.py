"""One cell's change is taken back, at the desk and in the file: only while the cell is as the change left it."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from dataclasses import replace
from pathlib import Path

import anyio
import pytest

from cellwright.errors import Unavailable
from cellwright.ids import CellId
from cellwright.kernel.session.open_notebook import OpenNotebook
from cellwright.notebook import AtStart, CreateCell, DeleteCell, EditCell, MoveCell, RenameCell, read
from cellwright.runs.history.history import FileHistory, changes_of
from cellwright.tools.history.moves import HistoryOutcome, Moved, MoveRefused, NothingToMove, UndoCell
from cellwright.tools.history.timeline import RevisionTimeline, read_timeline
from cellwright.tools.notebook.editor import NotebookEditor
from tests.runs.histories import redo_live, undo_in_file, undo_live
from tests.sampling import spread

Opener = Callable[..., AbstractAsyncContextManager[OpenNotebook]]


@pytest.fixture
def memory(tmp_path: Path) -> Path:
    return tmp_path / "state/desk.json"


def codes(path: Path) -> list[str]:
    return [cell.code for cell in read(path).document.cells]


async def revert_live(desk: NotebookEditor, number: int, cell: CellId) -> HistoryOutcome:
    return await desk.history.move(UndoCell(number=number, cell=cell))


async def revert_in_file(path: Path, memory: Path, number: int, cell: CellId) -> HistoryOutcome:
    return await FileHistory(notebook=path, stored=memory).move(UndoCell(number=number, cell=cell))


def is_changed(outcome: HistoryOutcome) -> bool:
    assert isinstance(outcome, Moved) and outcome.revisions == (1,), outcome
    return bool(outcome.cells)


async def busy_turn(desk: NotebookEditor) -> dict[str, CellId]:
    """One change that does everything to cells: a is edited, b deleted, c moved to the start, d renamed, e made."""
    a, b, c, d = desk.notebook.document.cells
    await desk.apply(
        [
            EditCell(cell=a.id, base_version=1, code="a = 10"),
            DeleteCell(cell=b.id, base_version=1),
            MoveCell(cell=c.id, base_version=1, place=AtStart()),
            RenameCell(cell=d.id, base_version=1, name="dee"),
            CreateCell(code="e = a + 1", name="made"),
        ],
        key="r/agent:1/c1",
    )
    made = next(cell.id for cell in desk.notebook.document.cells if cell.name == "made")
    return {"a": a.id, "b": b.id, "c": c.id, "d": d.id, "e": made}


START = ("a = 1", "b = 2", "c = 3", "d = 4")
AFTER = ["c = 3", "a = 10", "d = 4", "e = a + 1"]
TAKEN_BACK = {
    "a": ["c = 3", "a = 1", "d = 4", "e = a + 1"],
    "b": ["c = 3", "a = 10", "b = 2", "d = 4", "e = a + 1"],
    "c": ["a = 10", "c = 3", "d = 4", "e = a + 1"],
    "d": AFTER,
    "e": ["c = 3", "a = 10", "d = 4"],
}


async def test_a_change_says_what_it_made_of_each_cell(opened: Opener, memory: Path) -> None:
    async with opened(*START) as notebook:
        desk = await NotebookEditor.open(notebook, memory)
        cells = await busy_turn(desk)
        [change] = changes_of(desk.timeline)
    names = {cell: name for name, cell in cells.items()}
    assert {names[each.cell]: (each.kind, each.before, each.after, each.name) for each in change.cells} == {
        "a": ("edited", "a = 1", "a = 10", ""),
        "b": ("deleted", "b = 2", None, ""),
        "c": ("moved", None, None, ""),
        "d": ("edited", "d = 4", "d = 4", "dee"),
        "e": ("created", None, "e = a + 1", "made"),
    }


@pytest.mark.parametrize("name", spread(sorted(TAKEN_BACK), 2))
async def test_one_cells_change_is_taken_back_in_the_editor_and_the_others_stay(
    opened: Opener, memory: Path, name: str
) -> None:
    async with opened(*START) as notebook:
        desk, path = await NotebookEditor.open(notebook, memory), notebook.path
        cells = await busy_turn(desk)
        assert codes(path) == AFTER
        assert is_changed(await revert_live(desk, 1, cells[name]))
        assert codes(path) == [cell.code for cell in notebook.document.cells] == TAKEN_BACK[name]
        assert ("dee" in path.read_text()) == (name != "d")
        assert not is_changed(await revert_live(desk, 1, cells[name]))
        await desk.sync()
        assert desk.pop_news() == ""
    await check_the_rest_is_undone(path, memory)


@pytest.mark.parametrize("name", spread(sorted(TAKEN_BACK), 2))
async def test_one_cells_change_is_taken_back_in_the_file_and_the_others_stay(
    opened: Opener, memory: Path, name: str
) -> None:
    async with opened(*START) as notebook:
        desk, path = await NotebookEditor.open(notebook, memory), notebook.path
        cells = await busy_turn(desk)
    assert is_changed(await revert_in_file(path, memory, 1, cells[name]))
    assert codes(path) == TAKEN_BACK[name]
    assert ("dee" in path.read_text()) == (name != "d")
    assert not is_changed(await revert_in_file(path, memory, 1, cells[name]))
    await check_the_rest_is_undone(path, memory)


async def check_the_rest_is_undone(path: Path, memory: Path) -> None:
    """As ever; only where cells came or went since, their order stays."""
    outcome = await undo_in_file(path, memory)
    assert isinstance(outcome, Moved)
    assert (sorted(codes(path)), outcome.kept) == ([*START], ())


async def test_in_the_editor_what_depends_on_the_cell_runs_again_and_it_is_no_revision(
    opened: Opener, memory: Path
) -> None:
    async with opened("a = 1", "b = a + 1") as notebook:
        desk = await NotebookEditor.open(notebook, memory)
        await desk.run("all")
        cell = notebook.document.cells[0]
        await desk.apply([EditCell(cell=cell.id, base_version=1, code="a = 100")], key="r/agent:1/c1")
        assert is_changed(await revert_live(desk, 1, cell.id))
        with anyio.fail_after(120):
            assert (await notebook.look(["b"]))[0].text == "2"
        assert [turn.key for turn in desk.timeline.revisions] == ["r/agent:1/c1"]
        assert desk.pop_news() == ""


async def test_what_somebody_made_of_the_cell_since_is_theirs(opened: Opener, memory: Path) -> None:
    async with opened("a = 1") as notebook:
        desk, path = await NotebookEditor.open(notebook, memory), notebook.path
        cell = notebook.document.cells[0]
        for number in (2, 3):
            version = notebook.document.cells[0].version
            edit = EditCell(cell=cell.id, base_version=version, code=f"a = {number}")
            await desk.apply([edit], key=f"r/agent:1/c{number}")
        later = f"{cell.id} (a = 3): change 2 of this run came later."
        assert await revert_live(desk, 1, cell.id) == MoveRefused(why=later)
        path.write_text(path.read_text().replace("a = 3", "a = 33"))
        changed = f"{cell.id} (a = 33): somebody changed it since."
        assert await revert_live(desk, 2, cell.id) == MoveRefused(why=changed)
        assert await revert_live(desk, 9, cell.id) == MoveRefused(why="The run has no change 9.")
        unknown = MoveRefused(why="The change did not touch the cell 'nope'.")
        assert await revert_live(desk, 2, CellId("nope")) == unknown
    assert codes(path) == ["a = 33"]


async def test_the_newest_changes_go_back_with_variables_and_files_and_forward_again(
    opened: Opener, memory: Path
) -> None:
    async with opened("items = [1]") as notebook:
        desk = await NotebookEditor.open(notebook, memory)
        await desk.run("all")
        await desk.apply([CreateCell(code="items.append(2)", name="two")], key="r/agent:1/c1")
        await desk.apply([CreateCell(code="items.append(3)", name="three")], key="r/agent:1/c2")
        undone = await undo_live(desk)
        assert isinstance(undone, Moved)
        assert (undone.revisions, undone.by) == ((2, 1), "checkpoint")
        assert (await notebook.values(["items"]))["items"].json == [1]
        assert await redo_live(desk) == Moved(cells=("added two", "added three"), by="checkpoint")
        assert (await notebook.values(["items"]))["items"].json == [1, 2, 3]
        assert codes(notebook.path) == ["items = [1]", "items.append(2)", "items.append(3)"]
        assert isinstance(await redo_live(desk), NothingToMove)
        assert [(each.number, each.agent, each.is_undone) for each in changes_of(desk.timeline)] == [
            (1, "r/agent:1", False),
            (2, "r/agent:1", False),
        ]


async def test_everything_is_undone_in_the_editor_and_numbers_stay(opened: Opener, memory: Path) -> None:
    async with opened("a = 1") as notebook:
        desk = await NotebookEditor.open(notebook, memory)
        await desk.apply([CreateCell(code="b = 2", name="b_cell")], key="r/agent:1/c1")
        await desk.apply([CreateCell(code="c = 3", name="c_cell")], key="r/agent:1/c2")
        undone = await undo_live(desk, step=1)
        assert undone == Moved(revisions=(1,), cells=("removed b_cell",), kept=(), by="cells")
        assert codes(notebook.path) == ["a = 1", "c = 3"]
        await desk.apply([CreateCell(code="d = 4")], key="r/agent:1/c3")
        assert [(each.number, each.is_undone) for each in changes_of(desk.timeline)] == [
            (1, True),
            (2, False),
            (3, False),
        ]
    known = read_timeline(memory)
    assert known is not None
    assert [(each.number, each.is_undone) for each in changes_of(known)] == [(1, True), (2, False), (3, False)]


async def test_changes_keep_their_numbers_when_the_first_are_forgotten(opened: Opener, memory: Path) -> None:
    async with opened("a = 1") as notebook:
        desk = await NotebookEditor.open(notebook, memory)
        await desk.apply([CreateCell(code="b = 2", name="b_cell")], key="r/agent:1/c1")
        [revision] = desk.timeline.revisions
    known = RevisionTimeline(cells=desk.timeline.cells)
    for number in range(1, 251):
        known = known.append(replace(revision, key=f"r/agent:1/c{number}"))
    history = changes_of(known)
    assert [(each.number, each.key) for each in (history[0], history[-1])] == [
        (151, "r/agent:1/c151"),
        (250, "r/agent:1/c250"),
    ]


async def test_in_an_editor_that_is_closed_nothing_is_taken_back(opened: Opener, memory: Path) -> None:
    async with opened("a = 1") as notebook:
        desk = await NotebookEditor.open(notebook, memory)
        await desk.apply([CreateCell(code="b = 2", name="b_cell")], key="r/agent:1/c1")
        await desk.close()
        with pytest.raises(Unavailable, match="let go of its notebook"):
            await revert_live(desk, 1, notebook.document.cells[1].id)


async def test_of_a_run_that_nothing_is_remembered_of_nothing_is_taken_back(tmp_path: Path) -> None:
    outcome = await revert_in_file(tmp_path / "n.py", tmp_path / "desk.json", 1, CellId("x"))
    assert outcome == MoveRefused(why="Nothing is remembered of what this run did to a notebook.")
