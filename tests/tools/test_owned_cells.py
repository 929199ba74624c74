"""A cell with an owner is changed by its run and by people; every way of an agent to change it is refused."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from cellwright.notebook.edits import (
    AtStart,
    ConfigureCell,
    CreateCell,
    DeleteCell,
    Edit,
    EditCell,
    MoveCell,
    RenameCell,
)
from cellwright.tools.finish_tool import run_notebook_tests
from cellwright.tools.history.moves import MoveRefused, UndoAll
from cellwright.tools.notebook.alternatives import TrialCandidate
from cellwright.tools.notebook.editor import NotebookEditor
from cellwright.tools.notebook.owned_cells import CellOwner
from cellwright.tools.notebook.saved_notebook import EditOutcome
from tests.conftest import Opener

TEST = "def test_total():\n    assert total == 3"
EASIER = "def test_total():\n    assert total"
AGENT = "r/agent:2/s1c0"


async def owned(editor: NotebookEditor) -> None:
    """The run has written a test, and keeps it."""
    await editor.apply([CreateCell(code=TEST, name="accept_total")], key="r/tests 1", run="none")
    [cell] = editor.notebook.document.named("accept_total")
    editor.owner = CellOwner(role="tester", run="r", cells={cell.id: "test_total"}, instead="dispute_check")


def refusal(outcome: object) -> str:
    assert isinstance(outcome, EditOutcome)
    assert outcome.observation.refused is not None
    return outcome.observation.refused.message


async def test_every_way_of_an_agent_to_change_anothers_cell_is_refused(opened: Opener, tmp_path: Path) -> None:
    async with opened("total = 3") as notebook:
        editor = await NotebookEditor.open(notebook, tmp_path / "desk.json")
        await editor.run("all")
        await owned(editor)
        [cell] = notebook.document.named("accept_total")
        told = "test_total is the tester's: only a person may change, rename, switch off or remove it."
        ways: list[Edit] = [
            EditCell(cell=cell.id, base_version=1, code=EASIER),
            DeleteCell(cell=cell.id, base_version=1),
            RenameCell(cell=cell.id, base_version=1, name="other"),
            ConfigureCell(cell=cell.id, base_version=1, config=replace(cell.config, disabled=True)),
        ]
        for way in ways:
            # With something else in the same call: all of it is made or none.
            message = refusal(await editor.apply([CreateCell(code="x = 1"), way], key=AGENT))
            assert message.startswith(told)
            assert message.endswith("call dispute_check.")
        assert told in refusal(await editor.history.undo(key=AGENT))
        tried = [
            TrialCandidate(
                name=name, edits=lambda _, code=code: [ways[0], CreateCell(code=code)], checks=("test_total",)
            )
            for name, code in (("one", "y = 1"), ("two", "y = 2"))
        ]
        chosen = await editor.choose(tried, key=AGENT)
        assert chosen.applied is None
        assert told in chosen.tried[0].note
        assert [each.code for each in notebook.document.cells] == ["total = 3", TEST]
        assert len(editor.timeline.changes) == 1


@pytest.mark.slow
async def test_the_run_and_people_change_it_and_anybody_may_move_it(opened: Opener, tmp_path: Path) -> None:
    async with opened("total = 3") as notebook:
        editor = await NotebookEditor.open(notebook, tmp_path / "desk.json")
        await owned(editor)
        [cell] = notebook.document.named("accept_total")
        moved = await editor.apply([MoveCell(cell=cell.id, base_version=1, place=AtStart())], key=AGENT)
        assert moved.observation.refused is None
        replaced = await editor.apply([EditCell(cell=cell.id, base_version=2, code=EASIER)], key="r/dispute 1")
        assert replaced.observation.refused is None
        dropped = await editor.apply([DeleteCell(cell=cell.id, base_version=3)], key="r/dispute 2", run="none")
        assert dropped.observation.refused is None
        # What the run took out, no agent brings back.
        assert "test_total is the tester's" in refusal(await editor.history.undo(key=AGENT))
        undone = await editor.history.move(UndoAll())
        assert not isinstance(undone, MoveRefused)
        assert [each.code for each in notebook.document.cells] == ["total = 3"]


@pytest.mark.slow
@pytest.mark.parametrize(("may_wait", "verdicts"), [(True, ["test_known"]), (False, ["test_known", "test_total"])])
async def test_a_test_that_was_written_first_waits_for_what_it_reads_as_long_as_it_may(
    opened: Opener, tmp_path: Path, may_wait: bool, verdicts: list[str]
) -> None:
    async with opened("known = abs(-3)", "def test_known():\n    assert known == max(1, 3)") as notebook:
        editor = await NotebookEditor.open(notebook, tmp_path / "desk.json")
        await owned(editor)
        assert editor.owner is not None
        ours = {each.id: "test" for each in notebook.document.cells}
        editor.owner = replace(editor.owner, may_wait=may_wait, cells=ours)
        await editor.run("all")
        assert sorted(test.name for test in await run_notebook_tests(editor)) == verdicts
