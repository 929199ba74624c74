"""Going to before a cell: a turn of the editor like any other, refused where it would cost somebody their work."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from pathlib import Path

import pytest

from cellwright.kernel.branches.checkpoints import CheckpointBudget
from cellwright.kernel.session.open_notebook import OpenNotebook
from cellwright.notebook.edits import CreateCell, EditCell
from cellwright.notebook.files import read
from cellwright.tools.history.moves import MoveRefused
from cellwright.tools.notebook.editor import NotebookEditor
from cellwright.tools.notebook.saved_notebook import EditOutcome
from cellwright.tools.notebook_tools import notebook_tools
from cellwright.tools.tool import Done, ToolError
from tests.tools.call_driver import open_driver

Opener = Callable[..., AbstractAsyncContextManager[OpenNotebook]]
READ = "from pathlib import Path\nrows = [1, 2, 3]"
CLEAN = "rows.pop()\nPath('clean.txt').touch()\nclean = len(rows)"
SUM = "total = clean + sum(rows)\nrows.clear()\nPath('sum.txt').touch()"
STEPS = [CreateCell(code=READ), CreateCell(code=CLEAN, name="clean"), CreateCell(code=SUM, name="total")]


@pytest.fixture
def memory(tmp_path: Path) -> Path:
    return tmp_path / "state" / "desk.json"


def codes(path: Path) -> list[str]:
    return [cell.code for cell in read(path).document.cells]


async def state_of(notebook: OpenNotebook) -> tuple[dict[str, object], list[str]]:
    values = {name: value.json for name, value in (await notebook.values(["rows", "clean", "total"])).items()}
    return values, sorted(change.path for change in await notebook.changed_files())


AFTER = ({"rows": [], "clean": 2, "total": 5}, ["clean.txt", "sum.txt"])
BEFORE_SUM = ({"rows": [1, 2], "clean": 2}, ["clean.txt"])


async def built(notebook: OpenNotebook, memory: Path, *, apart_ms: float = 0) -> NotebookEditor:
    """A editor whose agent has made three cells in one turn."""
    notebook.checkpoints.budget = CheckpointBudget(apart_ms=apart_ms)
    editor = await NotebookEditor.open(notebook, memory)
    applied = await editor.apply(STEPS, key="run/agent:1/s1c0")
    assert applied.observation.is_ok, applied
    assert await state_of(notebook) == AFTER
    return editor


@pytest.mark.slow
@pytest.mark.parametrize("apart_ms", [0, 60_000], ids=["kept", "run again"])
async def test_going_before_a_cell_is_a_revision_that_is_saved_and_undone_and_redone(
    opened: Opener, memory: Path, apart_ms: float
) -> None:
    async with opened("note = 1") as notebook:
        editor = await built(notebook, memory, apart_ms=apart_ms)
        await editor.apply([CreateCell(code="late = total")], key="run/agent:1/s2c0")
        gone = await editor.history.go_before("total", key="run/agent:1/s3c0")
        assert isinstance(gone, EditOutcome)
        assert gone.back_by == "checkpoint"
        assert ("ran again" in gone.news) == bool(apart_ms)
        assert await state_of(notebook) == BEFORE_SUM
        assert codes(notebook.path) == ["note = 1", READ, CLEAN, SUM], "what came later is not in the file"
        assert [notebook.state.name_of(cell) for cell in gone.observation.stale][-1] == "total"
        last = editor.timeline.standing[-1]
        assert last.key == "run/agent:1/s3c0"
        undone = await editor.history.undo(key="u")
        assert isinstance(undone, EditOutcome)
        assert undone.back_by == "checkpoint"
        assert (await state_of(notebook), codes(notebook.path)[-1]) == (AFTER, "late = total")
        redone = await editor.history.redo(key="r")
        assert isinstance(redone, EditOutcome)
        assert await state_of(notebook) == BEFORE_SUM


@pytest.mark.slow
async def test_one_undo_takes_back_a_revision_that_kept_a_state_before_each_cell(opened: Opener, memory: Path) -> None:
    async with opened("note = 1") as notebook:
        editor = await built(notebook, memory)
        assert len(notebook.checkpoints.kept) == 3
        undone = await editor.history.undo(key="u")
        assert isinstance(undone, EditOutcome)
        assert undone.back_by == "checkpoint"
        assert (await state_of(notebook), codes(notebook.path)) == (({}, []), ["note = 1"])
        redone = await editor.history.redo(key="r")
        assert isinstance(redone, EditOutcome)
        assert redone.back_by == "checkpoint"
        assert await state_of(notebook) == AFTER
        assert isinstance(await editor.history.go_before("total", key="t"), EditOutcome)
        assert await state_of(notebook) == BEFORE_SUM


@pytest.mark.slow
async def test_versions_never_go_back_with_the_state(opened: Opener, memory: Path) -> None:
    async with opened("note = 1") as notebook:
        editor = await built(notebook, memory)
        known = notebook.document.cells[3]
        await editor.apply([EditCell(cell=known.id, base_version=known.version, code="total = 0")], key="e")
        later = notebook.document.cells[3].version
        assert isinstance(await editor.history.go_before("clean", key="t"), EditOutcome)
        assert notebook.document.cells[3].code == SUM
        assert notebook.document.cells[3].version > later


async def test_what_a_person_changed_since_is_not_lost_to_a_journey(opened: Opener, memory: Path) -> None:
    async with opened("note = 1") as notebook:
        editor = await built(notebook, memory)
        notebook.path.write_text(notebook.path.read_text().replace("note = 1", "note = 'mine'"))
        refused = await editor.history.go_before("total", key="t")
        assert isinstance(refused, MoveRefused)
        assert "Somebody else changed cells since" in refused.why
        assert codes(notebook.path)[0] == "note = 'mine'"
        assert await state_of(notebook) == AFTER


@pytest.mark.slow
async def test_after_a_lost_kernel_no_state_is_kept_and_the_revision_is_undone_by_replay(
    opened: Opener, memory: Path
) -> None:
    async with opened("note = 1") as notebook:
        notebook.checkpoints.budget = CheckpointBudget(apart_ms=0)
        editor = await NotebookEditor.open(notebook, memory)
        await editor.run("all", key="first")
        kill = "import os, signal\nos.kill(os.getpid(), signal.SIGKILL)\ntotal = clean"
        applied = await editor.apply([*STEPS[:2], CreateCell(code=kill, name="total")], key="a")
        assert applied.observation.kernel_end is not None
        refused = await editor.history.go_before("clean", key="t")
        assert isinstance(refused, MoveRefused)
        assert "No state before the cell 'clean' is kept" in refused.why
        undone = await editor.history.undo(key="u")
        assert isinstance(undone, EditOutcome)
        assert undone.back_by == "replay"
        assert (await state_of(notebook), codes(notebook.path)) == (({}, []), ["note = 1"])


@pytest.mark.slow
async def test_an_agent_goes_before_a_cell_with_its_undo_tool(opened: Opener, memory: Path, where: Path) -> None:
    async with opened("note = 1") as notebook:
        editor = await built(notebook, memory)
        async with open_driver(where, notebook_tools(editor), project=str(notebook.path.parent)) as driver:
            none = await driver.call("undo", {"before_cell": "nowhere"}, run="a")
            assert isinstance(none, ToolError)
            assert "Cells one can go before:" in none.message
            gone = await driver.call("undo", {"before_cell": "total"}, run="b")
            assert isinstance(gone, Done), gone
            assert "By checkpoint: cells, outputs, variables and files are as they were." in gone.text
            assert await state_of(notebook) == BEFORE_SUM
            again = await driver.call("run", {}, run="c")
            assert isinstance(again, Done), again
            assert await state_of(notebook) == AFTER


@pytest.mark.slow
async def test_what_would_die_in_a_fork_that_stays_goes_back_by_replay(opened: Opener, memory: Path) -> None:
    connect = "import duckdb\nconnection = duckdb.connect(config={'threads': 3})\nconnection.execute('select 1')"
    async with opened(connect) as notebook:
        editor = await NotebookEditor.open(notebook, memory)
        await editor.run("all", key="r/agent:1/s0c0")
        await editor.apply([CreateCell(code="x = connection.execute('select 7').fetchone()[0]")], key="r/agent:1/s1c0")
        undone = await editor.history.undo(key="u")
        assert isinstance(undone, EditOutcome)
        assert undone.back_by == "replay"
        closed = await editor.apply([CreateCell(code="connection.close()")], key="r/agent:1/s2c0")
        assert closed.observation.is_ok, "in a fork it would have ended the kernel"
