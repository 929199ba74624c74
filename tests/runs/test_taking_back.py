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
from cellwright.kernel import OpenNotebook
from cellwright.notebook import AtStart, CreateCell, DeleteCell, EditCell, MoveCell, RenameCell, read
from cellwright.runs.history.changes import history_of
from cellwright.runs.history.restore import (
    CellNotReverted,
    CellReverted,
    NoRevisionToRedo,
    RedoneRevision,
    redo_live,
    revert_cell_in_file,
    revert_cell_live,
)
from cellwright.runs.history.undo import UndoneRevisions, undo_in_file, undo_live
from cellwright.tools.notebook.editor import NotebookEditor
from cellwright.tools.notebook.revisions import EditorState, read_editor_state
from tests.sampling import spread

Opener = Callable[..., AbstractAsyncContextManager[OpenNotebook]]


@pytest.fixture
def memory(tmp_path: Path) -> Path:
    return tmp_path / "state/desk.json"


def codes(path: Path) -> list[str]:
    return [cell.code for cell in read(path).document.cells]


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
        [change] = history_of(desk.memory)
    names = {cell: name for name, cell in cells.items()}
    assert {names[each.cell]: (each.kind, each.before, each.after, each.name) for each in change.cells} == {
        "a": ("edited", "a = 1", "a = 10", ""),
        "b": ("deleted", "b = 2", None, ""),
        "c": ("moved", None, None, ""),
        "d": ("edited", "d = 4", "d = 4", "dee"),
        "e": ("created", None, "e = a + 1", "made"),
    }


@pytest.mark.parametrize("name", spread(sorted(TAKEN_BACK), 2))
async def test_one_cells_change_is_taken_back_at_the_desk_and_the_others_stay(
    opened: Opener, memory: Path, name: str
) -> None:
    async with opened(*START) as notebook:
        desk, path = await NotebookEditor.open(notebook, memory), notebook.path
        cells = await busy_turn(desk)
        assert codes(path) == AFTER
        assert await revert_cell_live(desk, 1, cells[name]) == CellReverted(is_changed=True)
        assert codes(path) == [cell.code for cell in notebook.document.cells] == TAKEN_BACK[name]
        assert ("dee" in path.read_text()) == (name != "d")
        assert await revert_cell_live(desk, 1, cells[name]) == CellReverted(is_changed=False)
        await desk.sync()
        assert desk.take_news() == ""
    await check_the_rest_is_undone(path, memory)


@pytest.mark.parametrize("name", spread(sorted(TAKEN_BACK), 2))
async def test_one_cells_change_is_taken_back_in_the_file_and_the_others_stay(
    opened: Opener, memory: Path, name: str
) -> None:
    async with opened(*START) as notebook:
        desk, path = await NotebookEditor.open(notebook, memory), notebook.path
        cells = await busy_turn(desk)
    assert await revert_cell_in_file(path, memory, 1, cells[name]) == CellReverted(is_changed=True)
    assert codes(path) == TAKEN_BACK[name]
    assert ("dee" in path.read_text()) == (name != "d")
    assert await revert_cell_in_file(path, memory, 1, cells[name]) == CellReverted(is_changed=False)
    await check_the_rest_is_undone(path, memory)


async def check_the_rest_is_undone(path: Path, memory: Path) -> None:
    """As ever; only where cells came or went since, their order stays."""
    outcome = await undo_in_file(path, memory)
    assert isinstance(outcome, UndoneRevisions)
    assert (sorted(codes(path)), outcome.kept) == ([*START], ())


async def test_at_the_desk_what_depends_on_the_cell_runs_again_and_it_is_no_turn(opened: Opener, memory: Path) -> None:
    async with opened("a = 1", "b = a + 1") as notebook:
        desk = await NotebookEditor.open(notebook, memory)
        await desk.run("all")
        cell = notebook.document.cells[0]
        await desk.apply([EditCell(cell=cell.id, base_version=1, code="a = 100")], key="r/agent:1/c1")
        assert await revert_cell_live(desk, 1, cell.id) == CellReverted(is_changed=True)
        with anyio.fail_after(120):
            assert (await notebook.look(["b"]))[0].text == "2"
        assert [turn.key for turn in desk.memory.turns] == ["r/agent:1/c1"]
        assert desk.take_news() == ""


async def test_what_somebody_made_of_the_cell_since_is_theirs(opened: Opener, memory: Path) -> None:
    async with opened("a = 1") as notebook:
        desk, path = await NotebookEditor.open(notebook, memory), notebook.path
        cell = notebook.document.cells[0]
        for number in (2, 3):
            version = notebook.document.cells[0].version
            edit = EditCell(cell=cell.id, base_version=version, code=f"a = {number}")
            await desk.apply([edit], key=f"r/agent:1/c{number}")
        later = f"{cell.id} (a = 3): change 2 of this run came later."
        assert await revert_cell_live(desk, 1, cell.id) == CellNotReverted(why=later)
        path.write_text(path.read_text().replace("a = 3", "a = 33"))
        changed = f"{cell.id} (a = 33): somebody changed it since."
        assert await revert_cell_live(desk, 2, cell.id) == CellNotReverted(why=changed)
        assert await revert_cell_live(desk, 9, cell.id) == CellNotReverted(why="The run has no change 9.")
        unknown = CellNotReverted(why="The change did not touch the cell 'nope'.")
        assert await revert_cell_live(desk, 2, CellId("nope")) == unknown
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
        assert isinstance(undone, UndoneRevisions)
        assert (undone.turns, undone.by) == ((2, 1), "checkpoint")
        assert (await notebook.values(["items"]))["items"].json == [1]
        assert await redo_live(desk) == RedoneRevision(cells=("added two", "added three"), by="checkpoint")
        assert (await notebook.values(["items"]))["items"].json == [1, 2, 3]
        assert codes(notebook.path) == ["items = [1]", "items.append(2)", "items.append(3)"]
        assert isinstance(await redo_live(desk), NoRevisionToRedo)
        assert [(each.number, each.agent, each.is_undone) for each in history_of(desk.memory)] == [
            (1, "r/agent:1", False),
            (2, "r/agent:1", False),
        ]


async def test_everything_is_undone_at_the_desk_and_numbers_stay(opened: Opener, memory: Path) -> None:
    async with opened("a = 1") as notebook:
        desk = await NotebookEditor.open(notebook, memory)
        await desk.apply([CreateCell(code="b = 2", name="b_cell")], key="r/agent:1/c1")
        await desk.apply([CreateCell(code="c = 3", name="c_cell")], key="r/agent:1/c2")
        undone = await undo_live(desk, step=1)
        assert undone == UndoneRevisions(turns=(1,), cells=("removed b_cell",), kept=(), by="cells")
        assert codes(notebook.path) == ["a = 1", "c = 3"]
        await desk.apply([CreateCell(code="d = 4")], key="r/agent:1/c3")
        assert [(each.number, each.is_undone) for each in history_of(desk.memory)] == [
            (1, True),
            (2, False),
            (3, False),
        ]
    known = read_editor_state(memory)
    assert known is not None
    assert [(each.number, each.is_undone) for each in history_of(known)] == [(1, True), (2, False), (3, False)]


async def test_changes_keep_their_numbers_when_the_first_are_forgotten(opened: Opener, memory: Path) -> None:
    async with opened("a = 1") as notebook:
        desk = await NotebookEditor.open(notebook, memory)
        await desk.apply([CreateCell(code="b = 2", name="b_cell")], key="r/agent:1/c1")
        [turn] = desk.memory.turns
    known = EditorState(cells=desk.memory.cells)
    for number in range(1, 251):
        known = known.with_turn(replace(turn, key=f"r/agent:1/c{number}"))
    history = history_of(known)
    assert [(each.number, each.key) for each in (history[0], history[-1])] == [
        (151, "r/agent:1/c151"),
        (250, "r/agent:1/c250"),
    ]


async def test_at_a_desk_that_is_closed_nothing_is_taken_back(opened: Opener, memory: Path) -> None:
    async with opened("a = 1") as notebook:
        desk = await NotebookEditor.open(notebook, memory)
        await desk.apply([CreateCell(code="b = 2", name="b_cell")], key="r/agent:1/c1")
        await desk.close()
        with pytest.raises(Unavailable, match="let go of its notebook"):
            await revert_cell_live(desk, 1, notebook.document.cells[1].id)


async def test_of_a_run_that_nothing_is_remembered_of_nothing_is_taken_back(tmp_path: Path) -> None:
    outcome = await revert_cell_in_file(tmp_path / "n.py", tmp_path / "desk.json", 1, CellId("x"))
    assert outcome == CellNotReverted(why="Nothing is remembered of what this run did to a notebook.")
