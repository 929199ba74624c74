"""The notebook editor: one call at a time, saved after each, a person's edits kept, and back again after kill -9."""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Any

import anyio
import anyio.to_thread
import pytest

from cellwright.errors import Unavailable
from cellwright.kernel.observation import ConsoleText
from cellwright.kernel.session.open_notebook import OpenNotebook
from cellwright.notebook.edits import AtStart, CreateCell, DeleteCell, EditCell, MoveCell, RenameCell
from cellwright.notebook.files import read
from cellwright.tools.history.moves import NothingToMove, NotMoved
from cellwright.tools.notebook.editor import NotebookEditor
from cellwright.tools.notebook.saved_notebook import EditorPoint, EditOutcome
from tests.agents.forked import Forker
from tests.conftest import notebook_source
from tests.sampling import some

Opener = Callable[..., AbstractAsyncContextManager[OpenNotebook]]


def codes(path: Path) -> list[str]:
    """The cells as they stand in the file."""
    return [cell.code for cell in read(path).document.cells]


def edit(notebook: OpenNotebook, old: str, new: str) -> EditCell:
    cell = next(cell for cell in notebook.document.cells if cell.code == old)
    return EditCell(cell=cell.id, base_version=cell.version, code=new)


def by_person(path: Path, old: str, new: str) -> None:
    """A person's editor saves the file."""
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new))


def values(applied: EditOutcome | NotMoved) -> dict[str, str]:
    assert isinstance(applied, EditOutcome)
    return {variable.name: variable.text for cell in applied.observation.cells for variable in cell.variables}


@pytest.fixture
def memory(tmp_path: Path) -> Path:
    return tmp_path / "state" / "desk.json"


async def test_each_apply_is_run_and_saved(opened: Opener, memory: Path) -> None:
    async with opened("x = 1") as notebook:
        editor = await NotebookEditor.open(notebook, memory)
        applied = await editor.apply([CreateCell(code="y = x + 1")], key="a")
        assert values(applied) == {"x": "1", "y": "2"}
        assert codes(notebook.path) == ["x = 1", "y = x + 1"]
        assert applied.news == ""


async def test_refused_edits_change_nothing_and_are_no_revision(opened: Opener, memory: Path) -> None:
    async with opened("x = 1") as notebook:
        editor = await NotebookEditor.open(notebook, memory)
        stale = EditCell(cell=notebook.document.cells[0].id, base_version=7, code="x = 2")
        applied = await editor.apply([stale], key="a")
        assert applied.observation.refused is not None
        assert editor.done("a") is None
        assert isinstance(await editor.history.undo(key="b"), NothingToMove)


@pytest.mark.slow
async def test_calls_at_the_same_time_take_turns(opened: Opener, memory: Path) -> None:
    async with opened("x = 0") as notebook:
        editor = await NotebookEditor.open(notebook, memory)
        async with anyio.create_task_group() as tasks:
            for number in range(8):
                create = CreateCell(code=f"a{number} = x + {number}")
                tasks.start_soon(lambda number, create: editor.apply([create], key=str(number)), number, create)
        assert sorted(codes(notebook.path)) == sorted(["x = 0", *(f"a{number} = x + {number}" for number in range(8))])
        assert all(editor.done(str(number)) for number in range(8))


async def test_what_a_person_types_while_the_agents_cells_run_is_kept_and_told(opened: Opener, memory: Path) -> None:
    async with opened("x = 20") as notebook:
        editor = await NotebookEditor.open(notebook, memory)
        theirs = EditCell(cell=notebook.document.cells[0].id, base_version=1, code="x = 21")
        endless = CreateCell(code="import time\nprint('here')\nwhile True:\n    time.sleep(0.01)")

        async def type_meanwhile() -> None:
            async with notebook.observe() as events:
                is_watching.set()
                async for event in events:
                    if isinstance(event, ConsoleText):
                        break
            assert notebook.edit([theirs]) is None
            await notebook.interrupt()

        is_watching = anyio.Event()
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(type_meanwhile)
            await is_watching.wait()
            news = (await editor.apply([endless], key="a")).news
            assert "A person changed the notebook through an editor meanwhile" in news
            assert "+x = 21" in news
        assert codes(notebook.path) == ["x = 21", endless.code]
        again = await editor.apply([CreateCell(code="y = 1")], key="b")
        assert again.news == ""


# ── undo ──


@pytest.mark.slow
async def test_what_is_tried_out_leaves_cells_file_and_revisions_as_they_were(opened: Opener, memory: Path) -> None:
    async with opened("x = 20") as notebook:
        editor = await NotebookEditor.open(notebook, memory)
        await editor.apply([CreateCell(code="y = x + 1")], key="a")
        document, file, turn = notebook.document, notebook.path.read_bytes(), editor.timeline.standing
        tried = await editor.try_out("z = y * 2\nprint(z)")
        assert [(cell.status, cell.console) for cell in tried.observation.cells] == [("ok", "42\n")]
        for wrong in ("1 / 0", "(", "y = 5", "import os\nos.kill(os.getpid(), 9)"):
            assert not (await editor.try_out(wrong)).observation.is_ok
        assert notebook.document is document
        assert notebook.path.read_bytes() == file
        assert editor.timeline.standing == turn
        assert notebook.outcomes.keys() == {cell.id for cell in document.cells}
        assert values(await editor.apply([CreateCell(code="after = y + 0")], key="b"))["after"] == "21"


async def test_what_a_person_does_while_something_is_tried_is_kept_and_told(opened: Opener, memory: Path) -> None:
    async with opened("x = 1") as notebook:
        editor = await NotebookEditor.open(notebook, memory)
        async with notebook.observe() as events, anyio.create_task_group() as tasks:
            tasks.start_soon(editor.try_out, "print('begun')\nimport time as _time\n_time.sleep(0.3)")
            with anyio.fail_after(120):
                async for event in events:
                    if isinstance(event, ConsoleText):
                        break
            by_person(notebook.path, "x = 1", "x = 1000")
        applied = await editor.apply([CreateCell(code="y = x + 1")], key="a")
        assert values(applied)["y"] == "1001"
        assert "A person changed the notebook in its file" in applied.news
        assert codes(notebook.path) == ["x = 1000", "y = x + 1"]


async def test_trying_that_is_cancelled_leaves_no_cell_behind(opened: Opener, memory: Path) -> None:
    async with opened("x = 1") as notebook:
        editor = await NotebookEditor.open(notebook, memory)
        document = notebook.document
        async with notebook.observe() as events, anyio.create_task_group() as tasks:
            tasks.start_soon(editor.try_out, "print('begun')\nimport time as _time\n_time.sleep(600)")
            with anyio.fail_after(120):
                async for event in events:
                    if isinstance(event, ConsoleText):
                        break
            tasks.cancel_scope.cancel()
        assert [cell.code for cell in notebook.document.cells] == [cell.code for cell in document.cells]
        assert values(await editor.apply([CreateCell(code="y = x + 1")], key="a"))["y"] == "2"


async def test_undo_restores_the_file_byte_for_byte(opened: Opener, memory: Path) -> None:
    odd = "# Grüße \t \nx = 1   # two  spaces\n\n\ny = '''\n  a\n'''"
    async with opened(odd, "z = x", "w = z", "del_me = 1") as notebook:
        editor = await NotebookEditor.open(notebook, memory)
        await editor.run("all")
        before = notebook.path.read_bytes()
        first, second, third, fourth = notebook.document.cells
        await editor.apply(
            [
                EditCell(cell=first.id, base_version=1, code="x = 5"),
                DeleteCell(cell=fourth.id, base_version=1),
                RenameCell(cell=second.id, base_version=1, name="second"),
                MoveCell(cell=third.id, base_version=1, place=AtStart()),
                CreateCell(code="new = x"),
            ],
            key="a",
        )
        assert notebook.path.read_bytes() != before
        undone = await editor.history.undo(key="b")
        assert notebook.path.read_bytes() == before
        assert values(undone)["x"] == "1"
        assert [cell.id for cell in notebook.document.cells] == [first.id, second.id, third.id, fourth.id]


@pytest.mark.slow
async def test_undo_goes_back_revision_by_revision_and_then_says_so(opened: Opener, memory: Path) -> None:
    async with opened("x = 0") as notebook:
        editor = await NotebookEditor.open(notebook, memory)
        for number in (1, 2, 3):
            await editor.apply([edit(notebook, f"x = {number - 1}", f"x = {number}")], key=str(number))
        seen: list[list[str]] = []
        while not isinstance(await editor.history.undo(key=f"undo {len(seen)}"), NothingToMove):
            seen.append(codes(notebook.path))
        assert seen == [["x = 2"], ["x = 1"], ["x = 0"]]


async def test_undo_leaves_what_a_person_changed_since(opened: Opener, memory: Path) -> None:
    async with opened("x = 1", "y = 1") as notebook:
        editor = await NotebookEditor.open(notebook, memory)
        await editor.apply([edit(notebook, "x = 1", "x = 2"), edit(notebook, "y = 1", "y = 2")], key="a")
        by_person(notebook.path, "y = 2", "y = 300")
        undone = await editor.history.undo(key="b")
        assert codes(notebook.path) == ["x = 1", "y = 300"]
        assert isinstance(undone, EditOutcome)
        assert "Not undone, because somebody changed them since" in undone.news


# ── a person's edits ──


async def test_a_persons_edit_in_the_file_is_kept_and_told(opened: Opener, memory: Path) -> None:
    async with opened("x = 1", "y = x") as notebook:
        editor = await NotebookEditor.open(notebook, memory)
        await editor.run("all")
        first = notebook.document.cells[0]
        by_person(notebook.path, "x = 1", "x = 40")
        applied = await editor.apply([edit(notebook, "y = x", "y = x + 2")], key="a")
        assert codes(notebook.path) == ["x = 40", "y = x + 2"]
        assert values(applied)["y"] == "42"
        assert "A person changed the notebook in its file meanwhile" in applied.news
        assert "+x = 40" in applied.news
        assert notebook.document.cells[0].id == first.id
        assert (await editor.run("stale")).news == ""


async def test_an_edit_of_a_cell_a_person_just_changed_is_refused_with_their_text(opened: Opener, memory: Path) -> None:
    async with opened("x = 1") as notebook:
        editor = await NotebookEditor.open(notebook, memory)
        mine = edit(notebook, "x = 1", "x = 2")
        by_person(notebook.path, "x = 1", "x = 99")
        applied = await editor.apply([mine], key="a")
        assert applied.observation.refused is not None
        assert applied.observation.refused.current is not None
        assert applied.observation.refused.current.code == "x = 99"
        assert codes(notebook.path) == ["x = 99"]


async def test_a_person_who_saves_while_cells_run_loses_nothing(opened: Opener, memory: Path) -> None:
    async with opened("x = 1", "y = 1", "z = 1") as notebook:

        def reached(point: EditorPoint) -> None:
            if point is EditorPoint.RAN and "z = 1" in notebook.path.read_text():
                by_person(notebook.path, "x = 1", "x = 77")
                by_person(notebook.path, "z = 1", "z = 3")

        editor = await NotebookEditor.open(notebook, memory, reached=reached)
        edits = [edit(notebook, "x = 1", "x = 2"), edit(notebook, "y = 1", "y = 2"), CreateCell(code="new = y")]
        applied = await editor.apply(edits, key="a")
        assert codes(notebook.path) == ["x = 77", "y = 2", "z = 3", "new = y"]
        assert "Your change of the same cell was given up for theirs" in applied.news
        assert "+x = 2" in applied.news
        assert values(await editor.run("stale")) == {"x": "77", "z": "3"}
        await editor.history.undo(key="b")
        assert codes(notebook.path) == ["x = 77", "y = 1", "z = 3"]


async def test_a_revision_whose_file_is_broken_meanwhile_is_saved_with_the_next_call(
    opened: Opener, memory: Path
) -> None:
    async with opened("x = 1") as notebook:
        good = notebook.path.read_text()

        def reached(point: EditorPoint) -> None:
            if point is EditorPoint.RAN and notebook.path.read_text() == good:
                notebook.path.write_text("def half(")

        editor = await NotebookEditor.open(notebook, memory, reached=reached)
        applied = await editor.apply([CreateCell(code="y = 1")], key="a")
        assert "could not be saved" in applied.news
        notebook.path.write_text(good.replace("x = 1", "x = 5"))
        again = await editor.run("stale")
        assert codes(notebook.path) == ["x = 5", "y = 1"]
        assert "A person changed" in again.news
        assert editor.done("a") is not None


async def test_an_edit_through_an_editor_is_told(opened: Opener, memory: Path) -> None:
    async with opened("x = 1") as notebook:
        editor = await NotebookEditor.open(notebook, memory)
        await notebook.apply([edit(notebook, "x = 1", "x = 3")])
        applied = await editor.apply([CreateCell(code="y = x")], key="a")
        assert "A person changed the notebook through an editor meanwhile" in applied.news
        assert codes(notebook.path) == ["x = 3", "y = x"]


async def test_a_file_that_is_no_notebook_for_a_moment_is_left_alone(opened: Opener, memory: Path) -> None:
    async with opened("x = 1") as notebook:
        editor = await NotebookEditor.open(notebook, memory)
        good = notebook.path.read_text()
        notebook.path.write_text("def half(")
        with pytest.raises(Unavailable, match="cannot be read now"):
            await editor.apply([CreateCell(code="y = 1")], key="a")
        assert notebook.path.read_text() == "def half("
        notebook.path.write_text(good)
        await editor.apply([CreateCell(code="y = 1")], key="a")
        assert codes(notebook.path) == ["x = 1", "y = 1"]


# ── opened again ──


async def test_an_editor_opened_again_has_the_same_cells_and_results(opened: Opener, memory: Path) -> None:
    async with opened("x = 1") as notebook:
        editor = await NotebookEditor.open(notebook, memory)
        await editor.apply([CreateCell(code="y = x + 1")], key="a")
        await editor.apply([edit(notebook, "x = 1", "x = 10")], key="b")
        path, cells = notebook.path, notebook.document.cells
    async with opened(path=path) as notebook:
        editor = await NotebookEditor.open(notebook, memory)
        assert notebook.document.cells == cells
        assert {preview.name: preview.text for preview in await notebook.look()} == {"x": "10", "y": "11"}
        assert "2 cells were run again" in editor.pop_news()
        assert isinstance(await editor.history.undo(key="c"), EditOutcome)
        assert codes(path) == ["x = 1", "y = x + 1"]


async def test_cells_that_had_not_run_are_not_run_by_coming_back(opened: Opener, memory: Path) -> None:
    async with opened("x = 1") as notebook:
        editor = await NotebookEditor.open(notebook, memory)
        await editor.apply([CreateCell(code="y = 5")], key="a", run="none")
        path = notebook.path
    async with opened(path=path) as notebook:
        await NotebookEditor.open(notebook, memory)
        assert await notebook.look() == ()


async def test_what_a_person_changed_while_the_editor_was_away_is_kept_and_told(opened: Opener, memory: Path) -> None:
    async with opened("x = 1", "y = 2", "z = 3") as notebook:
        editor = await NotebookEditor.open(notebook, memory)
        await editor.run("all")
        path, ids = notebook.path, [cell.id for cell in notebook.document.cells]
    path.write_text(notebook_source("inserted = 0", "y = 2", "x = 1 + 0", "z = 3"))
    async with opened(path=path) as notebook:
        editor = await NotebookEditor.open(notebook, memory)
        now = {cell.code: cell for cell in notebook.document.cells}
        assert now["y = 2"].id == ids[1]
        assert now["x = 1 + 0"].id == ids[0]
        assert now["x = 1 + 0"].version > 1
        assert now["inserted = 0"].id not in ids
        assert "A person changed the notebook in its file" in editor.pop_news()


# ── killed ──


@pytest.mark.slow
@pytest.mark.parametrize("point", some(reversed(EditorPoint), 2))
async def test_an_editor_killed_anywhere_comes_back_with_each_revision_once(
    opened: Opener, write_notebook: Callable[..., Path], memory: Path, forker: Forker, point: EditorPoint
) -> None:
    path = write_notebook("x = 1", "y = x + 1")
    at_work = forker.of("tests.tools.editor_process")
    assert await anyio.to_thread.run_sync(at_work.run, str(path), str(memory), point) == -9
    async with opened(path=path) as notebook:
        editor = await NotebookEditor.open(notebook, memory)
        assert editor.done("first") is not None
        if editor.done("second") is None:
            assert codes(path) == ["x = 2", "y = x + 1"]
            await editor.apply([CreateCell(code="z = y * 10"), edit(notebook, "x = 2", "x = 3")], key="second")
        assert codes(path) == ["x = 3", "y = x + 1", "z = y * 10"]
        assert {preview.name: preview.text for preview in await notebook.look()} == {"x": "3", "y": "4", "z": "40"}
        await editor.history.undo(key="third")
        assert codes(path) == ["x = 2", "y = x + 1"]
        await editor.history.undo(key="fourth")
        assert codes(path) == ["x = 1", "y = x + 1"]


async def test_the_memory_holds_no_more_than_the_cells(opened: Opener, memory: Path) -> None:
    async with opened("x = 'a' * 10**7") as notebook:
        editor = await NotebookEditor.open(notebook, memory)
        await editor.run("all")
        content = await anyio.Path(memory).read_bytes()
        kept: Any = json.loads(content)
        assert kept["ran"] == [notebook.document.cells[0].id]
        assert len(content) < 1_000
