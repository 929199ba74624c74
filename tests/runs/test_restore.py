"""What was undone comes back: with its variables at the desk, as cells in the file, in whichever process that is."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from pathlib import Path

import anyio
import pytest

from cellwright.kernel.session.open_notebook import OpenNotebook
from cellwright.notebook.edits import AtStart, CreateCell, DeleteCell, EditCell, MoveCell
from cellwright.notebook.files import read
from cellwright.tools.history.moves import HistoryOutcome, Moved, MoveRefused, NothingToMove
from cellwright.tools.history.timeline import read_timeline, write_timeline
from cellwright.tools.notebook.editor import NotebookEditor
from tests.runs.histories import changes_in, redo_in_file, redo_live, undo_in_file, undo_live

Opener = Callable[..., AbstractAsyncContextManager[OpenNotebook]]
NOTHING = NothingToMove(why="There is nothing to redo: nothing was undone, or something else was done since.")
REDO_AGAIN = """
import json, sys
from pathlib import Path
import anyio
from cellwright.runs.history.history import FileHistory
from cellwright.tools.history.moves import Redo
outcome = anyio.run(FileHistory(notebook=Path(sys.argv[1]), stored=Path(sys.argv[2])).move, Redo())
print(json.dumps([outcome.cells, outcome.by]))
"""


@pytest.fixture
def memory(tmp_path: Path) -> Path:
    return tmp_path / "state/desk.json"


def codes(path: Path) -> list[str]:
    return [cell.code for cell in read(path).document.cells]


def by_person(path: Path, old: str, new: str) -> None:
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new))


def as_remembered(memory: Path) -> list[tuple[int, bool]]:
    return [(turn.number, turn.is_undone) for turn in changes_in(memory)]


def done(outcome: HistoryOutcome) -> Moved:
    assert isinstance(outcome, Moved), outcome
    return outcome


async def three_turns(desk: NotebookEditor) -> Path:
    """A cell is added, one edited, one deleted and another moved."""
    x, z = desk.notebook.document.cells
    await desk.apply([CreateCell(code="y = x + 1", name="ys")], key="r/agent:1/c1")
    await desk.apply([EditCell(cell=z.id, base_version=1, code="z = x * 2")], key="r/agent:1/c2")
    version = desk.notebook.document.cells[1].version
    moved = [DeleteCell(cell=z.id, base_version=version), CreateCell(code="w = 5", name="ws", place=AtStart())]
    await desk.apply([*moved, MoveCell(cell=x.id, base_version=1, place=AtStart())], key="r/agent:2/c1")
    return desk.notebook.path


BEFORE = ["x = 1", "z = x"]
AFTER = ["x = 1", "w = 5", "y = x + 1"]


async def ended(opened: Opener, memory: Path) -> Path:
    async with opened(*BEFORE) as notebook:
        return await three_turns(await NotebookEditor.open(notebook, memory))


@pytest.mark.slow
async def test_what_was_undone_in_the_file_comes_back_in_another_process_byte_for_byte(
    opened: Opener, memory: Path
) -> None:
    path = await ended(opened, memory)
    whole = path.read_bytes()
    assert codes(path) == AFTER
    await undo_in_file(path, memory)
    assert codes(path) == BEFORE
    with anyio.fail_after(120):
        again = await anyio.run_process([sys.executable, "-c", REDO_AGAIN, str(path), str(memory)])
    cells, by = json.loads(again.stdout)
    assert (by, len(cells)) == ("file", 3)
    assert path.read_bytes() == whole
    assert as_remembered(memory) == [(1, False), (2, False), (3, False)]
    assert await redo_in_file(path, memory) == NOTHING
    assert path.read_bytes() == whole


async def test_undone_twice_is_redone_twice_the_last_undo_first(opened: Opener, memory: Path) -> None:
    path = await ended(opened, memory)
    seen = [codes(path)]
    for step in (3, 2):
        await undo_in_file(path, memory, step=step)
        seen.append(codes(path))
    assert as_remembered(memory) == [(1, False), (2, True), (3, True)]
    for left in ([(1, False), (2, False), (3, True)], [(1, False), (2, False), (3, False)]):
        seen.pop()
        assert done(await redo_in_file(path, memory)).by == "file"
        assert (codes(path), as_remembered(memory)) == (seen[-1], left)
    assert await redo_in_file(path, memory) == NOTHING
    assert isinstance(await undo_in_file(path, memory), Moved)
    assert codes(path) == BEFORE


@pytest.mark.slow
async def test_what_somebody_wrote_since_is_never_lost(opened: Opener, memory: Path) -> None:
    path = await ended(opened, memory)
    whole = codes(path)
    await undo_in_file(path, memory)
    by_person(path, "x = 1", "x = 7")
    refused = await redo_in_file(path, memory)
    assert isinstance(refused, MoveRefused)
    assert refused.why.startswith("Somebody changed the notebook since the undo (changed ")
    assert codes(path) == ["x = 7", "z = x"]
    by_person(path, "x = 7", "x = 1")
    done(await redo_in_file(path, memory))
    assert codes(path) == whole


@pytest.mark.slow
async def test_an_undo_that_kept_what_somebody_wrote_is_redone_around_it(opened: Opener, memory: Path) -> None:
    path = await ended(opened, memory)
    by_person(path, "y = x + 1", "y = x + 100")
    undone = await undo_in_file(path, memory)
    assert isinstance(undone, Moved)
    assert len(undone.kept) == 1
    assert sorted(codes(path)) == ["x = 1", "y = x + 100", "z = x"]
    done(await redo_in_file(path, memory))
    assert codes(path) == ["x = 1", "w = 5", "y = x + 100"]


@pytest.mark.slow
async def test_a_redo_that_was_cut_off_after_the_file_is_only_remembered(opened: Opener, memory: Path) -> None:
    path = await ended(opened, memory)
    whole = path.read_bytes()
    await undo_in_file(path, memory)
    before = read_timeline(memory)
    assert before is not None
    await redo_in_file(path, memory)
    write_timeline(memory, before)
    assert await redo_in_file(path, memory) == Moved(cells=(), by="file")
    assert (path.read_bytes(), as_remembered(memory)) == (whole, [(1, False), (2, False), (3, False)])


async def test_where_nothing_was_undone_nothing_is_redone(opened: Opener, memory: Path, tmp_path: Path) -> None:
    path = await ended(opened, memory)
    assert await redo_in_file(path, memory) == NOTHING
    unknown = await redo_in_file(path, tmp_path / "nowhere.json")
    assert unknown == NothingToMove(why="Nothing is remembered of what this run did to a notebook.")
    assert codes(path) == AFTER


# ── at the desk ──


async def test_undone_twice_is_redone_twice_with_variables_and_undone_again_by_checkpoint(
    opened: Opener, memory: Path
) -> None:
    async with opened("items = [1]") as notebook:
        desk = await NotebookEditor.open(notebook, memory)
        await desk.run("all")
        await desk.apply([CreateCell(code="items.append(2)", name="two")], key="r/agent:1/c1")
        await desk.apply([CreateCell(code="items.append(3)", name="three")], key="r/agent:1/c2")
        seen: list[object] = []
        for step in (2, 1, None, None, 2, None):
            is_redo = step is None
            did = await redo_live(desk) if is_redo else await undo_live(desk, step=step)
            assert isinstance(did, Moved)
            assert did.by == "checkpoint"
            seen.append((await notebook.values(["items"]))["items"].json)
        assert seen == [[1, 2], [1], [1, 2], [1, 2, 3], [1, 2], [1, 2, 3]]
        assert as_remembered(memory) == [(1, False), (2, False)]


async def test_an_agents_undo_is_redone_by_a_person_and_its_call_is_still_known(opened: Opener, memory: Path) -> None:
    async with opened("items = [1]") as notebook:
        desk = await NotebookEditor.open(notebook, memory)
        await desk.run("all")
        await desk.apply([CreateCell(code="items.append(2)", name="two")], key="r/agent:1/c1")
        await desk.history.undo(key="r/agent:1/c2")
        assert await redo_live(desk) == Moved(cells=("added two",), by="checkpoint")
        assert (await notebook.values(["items"]))["items"].json == [1, 2]
        assert desk.done("r/agent:1/c2") is not None
        assert as_remembered(memory) == [(1, False)]
        assert [turn.key for turn in desk.timeline.standing] == ["r/agent:1/c1"]


@pytest.mark.slow
async def test_an_undo_in_the_editor_is_redone_in_the_file_when_the_run_is_over(opened: Opener, memory: Path) -> None:
    async with opened(*BEFORE) as notebook:
        desk = await NotebookEditor.open(notebook, memory)
        path = await three_turns(desk)
        await undo_live(desk)
        assert codes(path) == BEFORE
    assert done(await redo_in_file(path, memory)).by == "file"
    assert codes(path) == AFTER


@pytest.mark.slow
async def test_what_an_agent_did_since_is_not_overwritten(opened: Opener, memory: Path) -> None:
    async with opened("items = [1]") as notebook:
        desk = await NotebookEditor.open(notebook, memory)
        await desk.apply([CreateCell(code="a = 2", name="two")], key="r/agent:1/c1")
        await undo_live(desk)
        await desk.apply([CreateCell(code="b = 3", name="three")], key="r/agent:1/c2")
        assert await redo_live(desk) == NOTHING
        assert codes(notebook.path) == ["items = [1]", "b = 3"]


async def test_in_the_editor_what_somebody_wrote_since_is_never_lost(opened: Opener, memory: Path) -> None:
    async with opened("items = [1]") as notebook:
        desk = await NotebookEditor.open(notebook, memory)
        await desk.apply([CreateCell(code="a = 2", name="two")], key="r/agent:1/c1")
        await undo_live(desk)
        by_person(notebook.path, "items = [1]", "items = [7]")
        assert isinstance(await redo_live(desk), MoveRefused)
        assert codes(notebook.path) == ["items = [7]"]


@pytest.mark.slow
async def test_without_a_checkpoint_a_redo_is_a_replay(opened: Opener, memory: Path) -> None:
    async with opened("items = [1]") as notebook:
        desk = await NotebookEditor.open(notebook, memory)
        await desk.run("all")
        await desk.apply([CreateCell(code="items.append(2)", name="two")], key="r/agent:1/c1")
        await undo_live(desk)
        await notebook.checkpoints.close()
        assert await redo_live(desk) == Moved(cells=("added two",), by="replay")
        assert (await notebook.values(["items"]))["items"].json == [1, 2]
