"""Agents try before they change: undo of state, mends in branches, and alternatives side by side, at a real editor."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from pathlib import Path

import anyio
import pytest

from cellwright.kernel.session.open_notebook import OpenNotebook
from cellwright.notebook.edits import CreateCell, EditCell
from cellwright.notebook.files import read
from cellwright.tools.history.moves import NothingToMove
from cellwright.tools.notebook.editor import NotebookEditor
from cellwright.tools.notebook.saved_notebook import EditorPoint, EditOutcome
from cellwright.tools.notebook.trial_records import TrialRecord
from cellwright.tools.notebook_tools import notebook_tools
from cellwright.tools.tool import Done, ToolError, ToolResult
from tests.agents.forked import Forker
from tests.tools.call_driver import CallDriver, open_driver

Opener = Callable[..., AbstractAsyncContextManager[OpenNotebook]]
GROWING = "items.append(2)\nimport pathlib as _pathlib\n_pathlib.Path('made.txt').write_text('x')"


@pytest.fixture
def memory(tmp_path: Path) -> Path:
    return tmp_path / "state" / "desk.json"


def codes(path: Path) -> list[str]:
    return [cell.code for cell in read(path).document.cells]


def edit(notebook: OpenNotebook, old: str, new: str) -> EditCell:
    cell = next(cell for cell in notebook.document.cells if cell.code == old)
    return EditCell(cell=cell.id, base_version=cell.version, code=new)


async def value(notebook: OpenNotebook, name: str) -> object:
    return (await notebook.values([name]))[name].json


async def numbers(notebook: OpenNotebook, name: str) -> list[int]:
    found = await value(notebook, name)
    assert isinstance(found, list)
    return [int(each) for each in found]  # JSON


async def changed(notebook: OpenNotebook) -> list[str]:
    return [change.path for change in await notebook.changed_files()]


# ── undo of state ──


@pytest.mark.slow
@pytest.mark.parametrize("by", ["checkpoint", "replay"])
async def test_undo_takes_back_cells_variables_and_files_together(opened: Opener, memory: Path, by: str) -> None:
    async with opened("items = [1]") as notebook:
        editor = await NotebookEditor.open(notebook, memory)
        await editor.run("all")
        await editor.apply([CreateCell(code=GROWING)], key="a")
        assert (await value(notebook, "items"), await changed(notebook)) == ([1, 2], ["made.txt"])
        if by == "replay":
            await notebook.checkpoints.close()
        undone = await editor.history.undo(key="b")
        assert isinstance(undone, EditOutcome)
        assert undone.back_by == by
        assert codes(notebook.path) == ["items = [1]"]
        assert (await value(notebook, "items"), await changed(notebook)) == ([1], [])
        redone = await editor.history.redo(key="c")
        assert isinstance(redone, EditOutcome)
        assert redone.back_by == by
        assert codes(notebook.path) == ["items = [1]", GROWING]
        assert (await value(notebook, "items"), await changed(notebook)) == ([1, 2], ["made.txt"])


@pytest.mark.slow
async def test_what_is_redone_can_be_undone_again_and_another_revision_ends_redoing(
    opened: Opener, memory: Path
) -> None:
    async with opened("items = [1]") as notebook:
        editor = await NotebookEditor.open(notebook, memory)
        await editor.run("all")
        await editor.apply([CreateCell(code="items.append(2)")], key="a")
        await editor.history.undo(key="b")
        await editor.history.redo(key="c")
        again = await editor.history.undo(key="d")
        assert isinstance(again, EditOutcome)
        assert (again.back_by, await value(notebook, "items")) == ("checkpoint", [1])
        await editor.apply([CreateCell(code="other = 1")], key="e")
        assert isinstance(await editor.history.redo(key="f"), NothingToMove)
        assert codes(notebook.path) == ["items = [1]", "other = 1"]


@pytest.mark.slow
async def test_a_version_that_was_undone_is_no_base_for_an_edit(opened: Opener, memory: Path) -> None:
    async with opened("x = 1") as notebook:
        editor = await NotebookEditor.open(notebook, memory)
        await editor.run("all")
        await editor.apply([edit(notebook, "x = 1", "x = 2")], key="a")
        known = notebook.document.cells[0]
        await editor.history.undo(key="b")
        stale = EditCell(cell=known.id, base_version=known.version, code="x = 3")
        assert (await editor.apply([stale], key="c")).observation.refused is not None
        assert codes(notebook.path) == ["x = 1"]


async def test_where_a_person_changed_something_since_only_cells_go_back(opened: Opener, memory: Path) -> None:
    async with opened("x = 1", "y = 1") as notebook:
        editor = await NotebookEditor.open(notebook, memory)
        await editor.run("all")
        await editor.apply([edit(notebook, "x = 1", "x = 2")], key="a")
        notebook.path.write_text(notebook.path.read_text().replace("y = 1", "y = 300"))
        undone = await editor.history.undo(key="b")
        assert isinstance(undone, EditOutcome)
        assert undone.back_by != "checkpoint"
        assert codes(notebook.path) == ["x = 1", "y = 300"]
        assert await value(notebook, "x") == 1


# ── through the tools ──


def done(result: ToolResult) -> Done:
    assert isinstance(result, Done), result
    return result


async def tried(driver: CallDriver, run: str) -> list[TrialRecord]:
    """What the run's stream tells of branches."""
    events = [recorded.event async for recorded in driver.journal.log.read_all(f"run:{run}")]
    return [event for event in events if isinstance(event, TrialRecord)]


def a_mend(notebook: OpenNotebook, old: str, new: str) -> dict[str, object]:
    wanted = edit(notebook, old, new)
    return {"edits": [{"op": "edit", "cell": wanted.cell, "base_version": wanted.base_version, "code": wanted.code}]}


@pytest.mark.slow
async def test_a_repair_that_fails_in_its_branch_never_reaches_the_notebook(
    opened: Opener, memory: Path, where: Path
) -> None:
    async with opened("rows = [1, 2]", "rows.pop()\ntotal = sum(row)") as notebook:
        editor = await NotebookEditor.open(notebook, memory)
        await editor.run("all")
        before = notebook.path.read_bytes()
        async with open_driver(where, notebook_tools(editor), project=str(notebook.path.parent)) as driver:
            wrong = a_mend(notebook, "rows.pop()\ntotal = sum(row)", "rows.pop()\ntotal = summe(rows)")
            failed = done(await driver.call("apply", wrong, run="a"))
            assert "summe" in failed.text
            assert "the notebook and its versions are as before" in failed.text
            assert notebook.path.read_bytes() == before
            assert editor.timeline.standing == ()
            rows = await numbers(notebook, "rows")
            right = a_mend(notebook, "rows.pop()\ntotal = sum(row)", "total = sum(rows)")
            mended = done(await driver.call("apply", right, run="b"))
            assert "Tried in a branch first (fork), where it passed" in mended.text
            assert codes(notebook.path) == ["rows = [1, 2]", "total = sum(rows)"]
            assert await value(notebook, "total") == sum(rows)
            [first], [second] = await tried(driver, "a"), await tried(driver, "b")
            assert (first.status, first.is_kept, first.way) == ("failed", False, "fork")
            assert "NameError" in first.cells[-1].error
            assert (second.status, second.is_kept) == ("passed", True)
            assert ("total", str(sum(rows))) in [(each.name, each.after) for each in second.variables]
        undone = await editor.history.undo(key="u")
        assert isinstance(undone, EditOutcome)
        assert undone.back_by == "checkpoint"


@pytest.mark.slow
async def test_a_repair_whose_dependents_have_faults_of_their_own_is_kept(
    opened: Opener, memory: Path, where: Path
) -> None:
    async with opened("x = nothing", "y = x + 'a'") as notebook:
        editor = await NotebookEditor.open(notebook, memory)
        await editor.run("all")
        async with open_driver(where, notebook_tools(editor), project=str(notebook.path.parent)) as driver:
            mended = done(await driver.call("apply", a_mend(notebook, "x = nothing", "x = 1"), run="a"))
            assert "TypeError" in mended.text
        assert codes(notebook.path) == ["x = 1", "y = x + 'a'"]


@pytest.mark.slow
async def test_a_repair_that_comes_out_otherwise_in_the_notebook_is_kept_and_that_is_told(
    opened: Opener, memory: Path
) -> None:
    async with opened("stamp = nothing") as notebook:
        editor = await NotebookEditor.open(notebook, memory)
        await editor.run("all")
        mend = edit(notebook, "stamp = nothing", "import time as _time\nstamp = _time.time_ns()")
        applied = await editor.apply([mend], key="a", tries_repairs=True)
        assert applied.is_kept
        assert "Not the same in the notebook as in the branch: stamp was" in applied.news
        assert codes(notebook.path) == [mend.code]
        assert [turn.key for turn in editor.timeline.revisions] == ["a"]


def candidate(name: str, code: str, *checks: str) -> dict[str, object]:
    return {"name": name, "edits": [{"op": "create", "code": code, "name": "average"}], "checks": list(checks)}


THREE = [
    candidate("mean", "average = sum(rows) / len(rows)"),
    candidate("median", "average = sorted(rows)[len(rows) // 2]", "average in rows"),
    candidate("broken", "average = rows.mean()"),
]


@pytest.mark.slow
async def test_the_alternative_whose_checks_hold_is_kept_and_no_other(
    opened: Opener, memory: Path, where: Path
) -> None:
    async with opened("rows = [1, 2, 9]") as notebook:
        editor = await NotebookEditor.open(notebook, memory)
        await editor.run("all")
        async with open_driver(where, notebook_tools(editor), project=str(notebook.path.parent)) as driver:
            arguments = {"candidates": THREE, "checks": ["average < 3"]}
            answer = done(await driver.call("try_alternatives", arguments, run="a"))
            assert codes(notebook.path) == ["rows = [1, 2, 9]", "average = sorted(rows)[len(rows) // 2]"]
            assert await value(notebook, "average") == 2
            ranked = await tried(driver, "a")
            assert [(each.purpose, each.status, each.is_kept) for each in ranked] == [
                ("median", "passed", True),
                ("mean", "failed", False),
                ("broken", "failed", False),
            ]
            assert [f"{each.checks_passed}/{len(each.checks)}" for each in ranked] == ["2/2", "0/1", "0/1"]
            assert len({each.group for each in ranked}) == 1
            lines = answer.text.splitlines()
            assert lines[0] == "| candidate | way | status | checks | variables | ms |"
            assert lines[2].startswith("| median (kept) | fork | passed | 2/2 | average = 2 |")
            assert "AttributeError" in answer.text
            [*_, turn] = editor.timeline.standing
            assert turn is not None
            assert turn.key == "a/c0"


@pytest.mark.slow
async def test_hypotheses_are_compared_and_leave_no_trace(opened: Opener, memory: Path, where: Path) -> None:
    async with opened("rows = [1, 2, 9]") as notebook:
        editor = await NotebookEditor.open(notebook, memory)
        await editor.run("all")
        before = notebook.path.read_bytes()
        check = "def test_small():\n    assert average < 3"
        tested = candidate("tested", "average = sorted(rows)[1]", "test_small")
        tested["edits"] = [{"op": "create", "code": "average = sorted(rows)[1]"}, {"op": "create", "code": check}]
        hypotheses = [candidate("pops", "average = rows.pop()"), tested]
        async with open_driver(where, notebook_tools(editor), project=str(notebook.path.parent)) as driver:
            given = {"candidates": hypotheses, "checks": ["average > 0"], "keep": "none"}
            answer = done(await driver.call("try_alternatives", given, run="a"))
            assert "Nothing was kept, as you wanted." in answer.text
            found = {each.purpose: each for each in await tried(driver, "a")}
            assert {name: (each.status, each.checks_passed, each.is_kept) for name, each in found.items()} == {
                "pops": ("passed", 1, False),
                "tested": ("passed", 2, False),
            }
        assert notebook.path.read_bytes() == before
        assert await value(notebook, "rows") == [1, 2, 9]
        assert editor.timeline.standing == ()


async def test_a_check_that_is_no_python_is_said_before_anything_is_tried(
    opened: Opener, memory: Path, where: Path
) -> None:
    async with opened("rows = [1]") as notebook:
        editor = await NotebookEditor.open(notebook, memory)
        async with open_driver(where, notebook_tools(editor), project=str(notebook.path.parent)) as driver:
            given = {"candidates": THREE[:2], "checks": ["average <"]}
            answer = await driver.call("try_alternatives", given, run="a")
            assert isinstance(answer, ToolError)
            assert "is no Python" in answer.message
            assert await tried(driver, "a") == []


# ── where no fork can be had ──


@pytest.mark.slow
async def test_where_a_kernel_cannot_be_forked_the_same_is_done_in_another_and_undo_replays(
    opened: Opener, memory: Path, where: Path
) -> None:
    thread = "import threading\nstop = threading.Event()\nwaits = threading.Thread(target=stop.wait, daemon=True)"
    async with opened(f"{thread}\nwaits.start()", "rows = [1, 2, 9]", "total = summe(rows)") as notebook:
        editor = await NotebookEditor.open(notebook, memory)
        await editor.run("all")
        async with open_driver(where, notebook_tools(editor), project=str(notebook.path.parent)) as driver:
            wrong = a_mend(notebook, "total = summe(rows)", "rows.pop()\ntotal = suum(rows)")
            done(await driver.call("apply", wrong, run="a"))
            arguments = {"candidates": THREE, "checks": ["average < 3"]}
            answer = done(await driver.call("try_alternatives", arguments, run="b"))
            assert "| median (kept) | carried | passed | 2/2 | average = 2 |" in answer.text
            found = [*await tried(driver, "a"), *await tried(driver, "b")]
            assert {each.way for each in found} == {"carried"}
            assert all("Python thread" in each.reasons[0] for each in found)
            assert [(each.purpose, each.status, each.is_kept) for each in found][:2] == [
                ("mend " + notebook.document.cells[2].id, "failed", False),
                ("median", "passed", True),
            ]
        assert await value(notebook, "average") == 2
        undone = await editor.history.undo(key="u")
        assert isinstance(undone, EditOutcome)
        assert (undone.back_by, await value(notebook, "rows")) == ("replay", [1, 2, 9])
        assert [cell.code for cell in notebook.document.cells][2:] == ["total = summe(rows)"]


# ── kill -9 ──


@pytest.mark.slow
@pytest.mark.parametrize(
    ("point", "is_made"),
    [
        (EditorPoint.BEGUN, False),
        pytest.param(EditorPoint.RAN, False, marks=pytest.mark.slow),
        (EditorPoint.SAVED, True),
    ],
)
async def test_a_repair_that_is_killed_is_made_whole_or_not_at_all(
    opened: Opener,
    write_notebook: Callable[..., Path],
    memory: Path,
    forker: Forker,
    point: EditorPoint,
    is_made: bool,
) -> None:
    path = write_notebook("x = 1", "y = nothing")
    repairing = forker.of("tests.tools.repair_process")
    assert await anyio.to_thread.run_sync(repairing.run, str(path), str(memory), point) == -9
    mended = "y = x + 1\nopen('made.txt', 'w').write('x')"
    assert codes(path) == ["x = 1", mended if is_made else "y = nothing"]
    assert not await anyio.Path(path.parent / "made.txt").exists()
    async with opened(path=path) as notebook:
        editor = await NotebookEditor.open(notebook, memory)
        assert (editor.done("mend") is not None) is is_made
        if not is_made:
            await editor.apply([edit(notebook, "y = nothing", mended)], key="mend", tries_repairs=True)
        assert codes(path) == ["x = 1", mended]
        assert await value(notebook, "y") == 2
        assert [turn.key for turn in editor.timeline.revisions] == ["mend"]
