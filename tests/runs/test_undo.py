"""What a run did is taken back as cells, on the file alone; a person's changes stay; a second undo finds nothing."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from pathlib import Path

import anyio
import pytest
from inline_snapshot import snapshot

from cellwright.errors import Defect, Unavailable, UserError
from cellwright.kernel.session.open_notebook import OpenNotebook
from cellwright.notebook.document import Document
from cellwright.notebook.edits import AtStart, CreateCell, DeleteCell, EditCell, MoveCell, RenameCell, apply_edits
from cellwright.notebook.files import read
from cellwright.notebook.render import render
from cellwright.tools.history.moves import HistoryOutcome, Moved, MoveRefused, NothingToMove
from cellwright.tools.notebook.editor import NotebookEditor
from tests.runs.histories import changes_in, undo_in_file
from tests.sampling import spread

Opener = Callable[..., AbstractAsyncContextManager[OpenNotebook]]


@pytest.fixture
def memory(tmp_path: Path) -> Path:
    return tmp_path / "state/desk.json"


def codes(path: Path) -> list[str]:
    return [cell.code for cell in read(path).document.cells]


def by_person(path: Path, old: str, new: str) -> None:
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new))


def contents(path: Path) -> bytes:
    return path.read_bytes()


def put(path: Path, content: bytes) -> None:
    path.write_bytes(content)


def as_marimo_writes_it(path: Path, *cells: str) -> Path:
    document = apply_edits(Document.new(), [CreateCell(code=code) for code in cells])
    assert isinstance(document, Document)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(render(document))
    return path


def done(outcome: HistoryOutcome) -> Moved:
    assert isinstance(outcome, Moved), outcome
    return outcome


async def three_turns(opened: Opener, memory: Path) -> tuple[Path, bytes]:
    """A person's notebook, and three changes by two agents: a cell added, one changed, one more added."""
    written = as_marimo_writes_it(memory.parent.parent / "project/n.py", "# mine  \nx = 1", "z = x")
    async with opened(path=written) as notebook:
        before = notebook.path.read_bytes()
        desk = await NotebookEditor.open(notebook, memory)
        z = notebook.document.cells[1]
        await desk.apply([CreateCell(code="y = x + 1", name="ys")], key="run/agent:1/c1")
        await desk.apply([EditCell(cell=z.id, base_version=1, code="z = x * 2")], key="run/agent:1/c2")
        await desk.apply([CreateCell(code="total = y + z", name="total")], key="run/agent:2/c1")
        return notebook.path, before


async def test_everything_a_run_did_is_taken_back_byte_for_byte(opened: Opener, memory: Path) -> None:
    path, before = await three_turns(opened, memory)
    outcome = done(await undo_in_file(path, memory))
    assert path.read_bytes() == before
    assert (outcome.revisions, outcome.kept, outcome.by) == ((3, 2, 1), (), "file")
    assert sorted(outcome.cells) == snapshot(["removed total", "removed ys", "restored MJUe (z = x)"])


async def test_a_second_undo_finds_nothing(opened: Opener, memory: Path) -> None:
    path, before = await three_turns(opened, memory)
    await undo_in_file(path, memory)
    assert await undo_in_file(path, memory) == NothingToMove(why="Everything was undone already.")
    assert await undo_in_file(path, memory, step=2) == NothingToMove(why="Change 2 was undone already.")
    assert path.read_bytes() == before


async def test_one_change_is_taken_back_and_the_others_stay_under_their_numbers(opened: Opener, memory: Path) -> None:
    path, _ = await three_turns(opened, memory)
    assert done(await undo_in_file(path, memory, step=2)).revisions == (2,)
    assert codes(path) == ["# mine  \nx = 1", "z = x", "y = x + 1", "total = y + z"]
    assert [(turn.number, turn.is_undone) for turn in changes_in(memory)] == [(1, False), (2, True), (3, False)]
    assert done(await undo_in_file(path, memory)).revisions == (3, 1)
    assert codes(path) == ["# mine  \nx = 1", "z = x"]


async def test_the_changes_say_who_made_them_and_what_they_did(opened: Opener, memory: Path) -> None:
    await three_turns(opened, memory)
    assert [(turn.number, turn.agent, turn.key, turn.texts) for turn in changes_in(memory)] == snapshot(
        [
            (1, "run/agent:1", "run/agent:1/c1", ("added ys",)),
            (2, "run/agent:1", "run/agent:1/c2", ("changed MJUe (z = x * 2)",)),
            (3, "run/agent:2", "run/agent:2/c1", ("added total",)),
        ]
    )


# ── a person's changes ──


async def test_what_a_person_changed_since_stays_and_is_said(opened: Opener, memory: Path) -> None:
    path, _ = await three_turns(opened, memory)
    by_person(path, "y = x + 1", "y = x + 100")
    outcome = done(await undo_in_file(path, memory))
    assert codes(path) == ["# mine  \nx = 1", "z = x", "y = x + 100"]
    assert outcome.kept == ("ys: somebody changed it since",)
    assert isinstance(await undo_in_file(path, memory), NothingToMove)


async def test_cells_a_person_added_stay_and_those_they_removed_stay_away(opened: Opener, memory: Path) -> None:
    path, _ = await three_turns(opened, memory)
    by_person(path, "@app.cell\ndef total", "@app.cell\ndef hers():\n    own = 5\n    return\n\n\n@app.cell\ndef total")
    text = path.read_text()
    start = text.index("@app.cell\ndef ys")
    path.write_text(text[:start] + text[text.index("@app.cell", start + 5) :])
    outcome = done(await undo_in_file(path, memory))
    assert codes(path) == ["# mine  \nx = 1", "z = x", "own = 5"]
    assert outcome.kept == ()


async def test_a_cell_that_a_later_change_of_the_run_built_on_is_said(opened: Opener, memory: Path) -> None:
    async with opened("x = 1") as notebook:
        desk = await NotebookEditor.open(notebook, memory)
        cell = notebook.document.cells[0]
        for number in (2, 3):
            edit = EditCell(cell=cell.id, base_version=notebook.document.cells[0].version, code=f"x = {number}")
            await desk.apply([edit], key=f"r/a:1/{number}")
        path = notebook.path
    outcome = done(await undo_in_file(path, memory, step=1))
    assert (codes(path), outcome.cells) == (["x = 3"], ())
    assert outcome.kept == (f"{cell.id} (x = 3): change 2 of this run came later",)


async def test_names_moves_and_deletions_come_back_too(opened: Opener, memory: Path) -> None:
    written = as_marimo_writes_it(memory.parent.parent / "project/n.py", "a = 1", "b = a", "c = b", "d = 4  # gone")
    async with opened(path=written) as notebook:
        before = notebook.path.read_bytes()
        desk = await NotebookEditor.open(notebook, memory)
        a, b, c, d = notebook.document.cells
        edits = [
            DeleteCell(cell=d.id, base_version=1),
            RenameCell(cell=a.id, base_version=1, name="first"),
            MoveCell(cell=c.id, base_version=1, place=AtStart()),
            EditCell(cell=b.id, base_version=1, code="b = a + 1"),
        ]
        await desk.apply(edits, key="r/a:1/1", run="none")
        path = notebook.path
    assert path.read_bytes() != before
    await undo_in_file(path, memory)
    assert path.read_bytes() == before


async def test_a_name_that_a_person_has_taken_meanwhile_is_not_taken_from_them(opened: Opener, memory: Path) -> None:
    async with opened("a = 1", "b = 2") as notebook:
        desk = await NotebookEditor.open(notebook, memory)
        first = notebook.document.cells[0]
        await desk.apply([RenameCell(cell=first.id, base_version=1, name="old")], key="r/a:1/1", run="none")
        await desk.apply([RenameCell(cell=first.id, base_version=2, name="new")], key="r/a:1/2", run="none")
        path = notebook.path
    by_person(path, "def _():\n    b", "def old():\n    b")
    before = path.read_bytes()
    outcome = await undo_in_file(path, memory, step=2)
    assert isinstance(outcome, MoveRefused) and "old" in outcome.why
    assert path.read_bytes() == before
    assert [turn.is_undone for turn in changes_in(memory)] == [False, False]


# ── with the desk ──


@pytest.mark.slow
async def test_what_an_agent_undid_itself_is_not_undone_twice(opened: Opener, memory: Path) -> None:
    async with opened("x = 1") as notebook:
        before = notebook.path.read_bytes()
        desk = await NotebookEditor.open(notebook, memory)
        await desk.apply([CreateCell(code="y = 1")], key="r/a:1/1")
        await desk.apply([CreateCell(code="w = 1")], key="r/a:1/2")
        await desk.history.undo(key="r/a:1/3")
        path = notebook.path
    assert [(turn.number, turn.is_undone) for turn in changes_in(memory)] == [(1, False), (2, True)]
    assert done(await undo_in_file(path, memory)).revisions == (1,)
    assert path.read_bytes() == before


@pytest.mark.slow
async def test_an_editor_opened_afterwards_knows_what_was_undone(opened: Opener, memory: Path) -> None:
    path, _ = await three_turns(opened, memory)
    await undo_in_file(path, memory, step=3)
    async with opened(path=path) as notebook:
        desk = await NotebookEditor.open(notebook, memory)
        assert desk.timeline.standing[-1].key == "run/agent:1/c2"
        assert "meanwhile" not in desk.pop_news()
        await desk.apply([CreateCell(code="more = 1")], key="run/agent:3/c1")
    assert [(turn.number, turn.is_undone) for turn in changes_in(memory)][2:] == [(3, True), (4, False)]


# ── crashes and broken things ──


async def test_an_undo_that_ended_before_it_was_remembered_is_finished_later(opened: Opener, memory: Path) -> None:
    path, before = await three_turns(opened, memory)
    kept = contents(memory)
    await undo_in_file(path, memory)
    put(memory, kept)
    outcome = done(await undo_in_file(path, memory))
    assert (outcome.revisions, outcome.cells, outcome.kept) == ((3, 2, 1), (), ())
    assert path.read_bytes() == before
    assert isinstance(await undo_in_file(path, memory), NothingToMove)


async def test_a_change_that_a_crash_left_unfinished_is_undone_if_the_file_has_it(opened: Opener, memory: Path) -> None:
    async with opened("x = 1") as notebook:
        before = notebook.path.read_bytes()
        desk = await NotebookEditor.open(notebook, memory)
        start = contents(memory)
        await desk.apply([CreateCell(code="y = 1")], key="r/a:1/1")
        path = notebook.path
    known = json.loads(start)
    known["pending"] = json.loads(contents(memory))["revisions"][0]
    put(memory, json.dumps(known).encode())
    assert done(await undo_in_file(path, memory)).revisions == (1,)
    assert path.read_bytes() == before


@pytest.mark.slow
async def test_somebody_who_keeps_saving_the_file_never_leaves_a_mix(
    opened: Opener, memory: Path, tmp_path: Path
) -> None:
    path, _ = await three_turns(opened, memory)
    process = await anyio.open_process([sys.executable, "-I", "-c", SAVING, str(path)], stderr=subprocess.PIPE)
    outcome = None
    async with process:
        assert process.stdout is not None
        await process.stdout.receive()
        while outcome is None:
            try:
                outcome = await undo_in_file(path, memory)
            except Unavailable:
                # It says so and does nothing; the other one ends some time.
                assert not any(turn.is_undone for turn in changes_in(memory))
        await process.wait()
    assert isinstance(outcome, Moved)
    assert codes(path)[1:] in (["z = x"], ["z = x * 2", "y = x + 1", "total = y + z"])


SAVING = """
import os, pathlib, sys
path = pathlib.Path(sys.argv[1])
other = path.with_name(".other")
for number in range(100):
    other.write_text(path.read_text().replace("# mine", f"# mine {number},"))
    os.replace(other, path)
    print(number, flush=True)
"""


async def test_without_a_memory_or_changes_there_is_nothing_to_undo(
    opened: Opener, memory: Path, tmp_path: Path
) -> None:
    assert changes_in(memory) == ()
    async with opened("x = 1") as notebook:
        path = notebook.path
        assert isinstance(await undo_in_file(path, memory), NothingToMove)
        await NotebookEditor.open(notebook, memory)
    assert await undo_in_file(path, memory) == NothingToMove(why="The run changed no cells.")
    with pytest.raises(UserError, match="no change 1"):
        await undo_in_file(path, memory, step=1)


@pytest.mark.slow
@pytest.mark.parametrize("step", spread([0, -1, 4, 10**9], 2))
async def test_a_change_that_never_was_is_refused(opened: Opener, memory: Path, step: int) -> None:
    path, _ = await three_turns(opened, memory)
    before = path.read_bytes()
    with pytest.raises(UserError, match="no change") as caught:
        await undo_in_file(path, memory, step=step)
    assert caught.value.hint == "It made the changes 1 to 3."
    assert path.read_bytes() == before


async def test_a_notebook_that_is_gone_or_broken_is_said_and_nothing_is_forgotten(opened: Opener, memory: Path) -> None:
    path, _ = await three_turns(opened, memory)
    kept, text = contents(memory), path.read_text()
    path.write_text("def broken(")
    with pytest.raises(UserError):
        await undo_in_file(path, memory)
    path.unlink()
    with pytest.raises(UserError):
        await undo_in_file(path, memory)
    assert contents(memory) == kept
    path.write_text(text)
    assert isinstance(await undo_in_file(path, memory), Moved)


async def test_a_memory_that_cannot_be_read_is_a_defect_not_a_loss(opened: Opener, memory: Path) -> None:
    path, _ = await three_turns(opened, memory)
    before = path.read_bytes()
    put(memory, b'{"cells": 3}')
    with pytest.raises(Defect):
        await undo_in_file(path, memory)
    assert path.read_bytes() == before


@pytest.mark.slow
async def test_many_revisions_are_taken_back_in_one_go(opened: Opener, memory: Path) -> None:
    async with opened("x = 1") as notebook:
        before = notebook.path.read_bytes()
        desk = await NotebookEditor.open(notebook, memory)
        for number in range(30):
            await desk.apply([CreateCell(code=f"a{number} = {number}")], key=f"r/a:1/{number}", run="none")
        path = notebook.path
    assert len(done(await undo_in_file(path, memory)).revisions) == 30
    assert path.read_bytes() == before
