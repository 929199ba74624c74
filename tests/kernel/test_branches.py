"""A branch sees the live state, changes nothing of it, and can become it."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from textwrap import dedent

import anyio
import pytest

from cellwright.ids import CellId
from cellwright.kernel.branches.branch import CommitRefused, Committed, Differs, Promoted
from cellwright.kernel.branches.branch_kernel import BranchLimits
from cellwright.kernel.branches.checkpoints import Checkpoint
from cellwright.kernel.branches.runtime import NoFork
from cellwright.kernel.observation import Observation
from cellwright.kernel.session.open_notebook import OpenNotebook
from cellwright.notebook.edits import CreateCell, EditCell

Opener = Callable[..., AbstractAsyncContextManager[OpenNotebook]]

STATE = """
import os, random
from pathlib import Path
from textwrap import dedent
import numpy as np
numbers = np.arange(1_000)
random.seed(7)
Path("kept.txt").write_text("as it was")
reading = open("lines.txt")
first = reading.readline()
"""


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    folder.mkdir()
    (folder / "lines.txt").write_text("one\ntwo\nthree\n")
    return folder


def values(observation: Observation) -> dict[str, str]:
    return {variable.name: variable.text for cell in observation.cells for variable in cell.variables}


def console(observation: Observation) -> str:
    return "".join(cell.console for cell in observation.cells)


def new(code: str, cell: str = "tried") -> list[CreateCell]:
    return [CreateCell(id=CellId(cell), code=code)]


async def state_of(notebook: OpenNotebook) -> str:
    """Everything a branch could have spoilt, as the parent sees it."""
    code = (
        "print(int(numbers.sum()), random.getstate()[1][:3], reading.tell(), Path('kept.txt').read_text(),"
        " sorted(os.listdir('.')), os.getcwd(), sorted(os.listdir('/tmp')))"
    )
    observation = await notebook.apply(new(code, f"look{len(notebook.document.cells)}"))
    assert observation.is_ok, observation
    return console(observation)


async def test_a_branch_has_the_parents_variables_files_and_positions(project: Path, opened: Opener) -> None:
    async with opened(STATE) as notebook:
        await notebook.run("all")
        async with notebook.branch() as branch:
            code = "second, drawn = reading.readline(), random.random()\ntotal = int(numbers.sum())"
            tried = await branch.apply(new(code))
        assert tried.method is not None
        assert (tried.method.kind, tried.method.reasons) == ("fork", ())
        assert values(tried) == values(await notebook.apply(new(code))), "a plain run gives something else"


async def test_whatever_a_branch_does_the_parent_stays_as_it_is(project: Path, opened: Opener) -> None:
    async with opened(STATE) as notebook:
        await notebook.run("all")
        before = await state_of(notebook)
        async with notebook.branch() as branch:
            tried = await branch.apply(
                new(
                    "numbers[:] = 0\nreading.readlines(); reading.close()\nrandom.random()\n"
                    "Path('kept.txt').write_text('spoilt'); os.remove('lines.txt'); Path('more.txt').touch()\n"
                    "Path('/tmp/left').touch(); os.chdir('/tmp'); os._exit if False else None"
                )
            )
            assert tried.is_ok, tried
            assert {(change.path, change.kind) for change in await branch.changed_files()} == {
                ("kept.txt", "modified"), ("lines.txt", "deleted"), ("more.txt", "created"),
            }  # fmt: skip
        assert (await state_of(notebook)).replace("look2", "look1") == before
        assert [change.path for change in await notebook.changed_files()] == ["kept.txt"]


async def test_a_nameless_file_is_each_ones_own(project: Path, opened: Opener) -> None:
    code = "import tempfile\nscratch = tempfile.TemporaryFile('w+')\nscratch.write('one')\nscratch.flush()\nlength = 3"
    async with opened(code) as notebook:
        await notebook.run("all")
        async with notebook.branch() as branch:
            more = "scratch.write(' two')\nscratch.seek(0)\nread = scratch.read()"
            tried = await branch.apply(new(more))
            assert tried.method is not None and tried.method.kind == "fork", tried.method
            assert values(tried) == {"read": "'one two'"}
        assert values(await notebook.apply(new(more))) == {"read": "'one two'"}


async def test_branches_of_one_notebook_do_not_see_each_other(project: Path, opened: Opener) -> None:
    async with opened(STATE) as notebook:
        await notebook.run("all")
        found: dict[int, Observation] = {}

        async def attempt(number: int) -> None:
            async with notebook.branch() as branch:
                await branch.apply(new(f"numbers[0] = {number}\nPath('mine.txt').write_text('{number}')"))
                found[number] = await branch.apply(new("mine = int(numbers[0]), Path('mine.txt').read_text()", "look"))

        async with anyio.create_task_group() as tasks:
            for number in (1, 2, 3):
                tasks.start_soon(attempt, number)
        assert {number: values(observation)["mine"] for number, observation in found.items()} == {
            number: f"({number}, '{number}')" for number in (1, 2, 3)
        }


async def test_a_commit_does_the_same_in_the_parent(project: Path, opened: Opener) -> None:
    async with opened(STATE, "total = int(numbers.sum())") as notebook:
        await notebook.run("all")
        async with notebook.branch() as branch:
            await branch.apply(new("half = total // 2\nPath('half.txt').write_text(str(half))"))
            committed = await branch.commit()
        assert isinstance(committed, Committed)
        assert committed.files == ("half.txt",)
        assert values(committed.observation) == {"half": "249750"}
        assert notebook.document.find(CellId("tried")) is not None
        assert {change.path for change in await notebook.changed_files()} == {"kept.txt", "half.txt"}


async def test_files_that_were_rejected_are_as_before_the_commit(project: Path, opened: Opener) -> None:
    async with opened(STATE) as notebook:
        await notebook.run("all")
        async with notebook.branch() as branch:
            await branch.apply(new("Path('kept.txt').write_text('new'); Path('extra.txt').write_text('x')\ndone = 1"))
            committed = await branch.commit(reject_files=["kept.txt", "extra.txt"])
        assert isinstance(committed, Committed)
        assert (committed.files, set(committed.left_out)) == ((), {"kept.txt", "extra.txt"})
        look = await notebook.apply(new("print(Path('kept.txt').read_text(), Path('extra.txt').exists())", "look"))
        assert console(look) == "as it was False\n"


@pytest.mark.slow
async def test_a_replay_that_comes_out_otherwise_is_told_and_nothing_of_it_stays(project: Path, opened: Opener) -> None:
    async with opened(STATE) as notebook:
        await notebook.run("all")
        before = await state_of(notebook)
        async with notebook.branch() as branch:
            await branch.apply(new("import uuid\nPath('id.txt').touch()\nnumbers[0] = 5\nname = uuid.uuid4().hex"))
            committed = await branch.commit()
            assert isinstance(committed, Differs)
            assert [(difference.cell, difference.what, difference.name) for difference in committed.differences] == [
                ("tried", "variable", "name")
            ]
            assert notebook.document.find(CellId("tried")) is None
            assert await state_of(notebook) == before
            assert isinstance(await branch.commit(even_if_different=True), Committed)
        assert notebook.document.find(CellId("tried")) is not None


@pytest.mark.slow
async def test_a_commit_is_refused_when_somebody_changed_the_same_cell(project: Path, opened: Opener) -> None:
    async with opened("x = 1") as notebook:
        await notebook.run("all")
        cell = notebook.document.cells[0]
        async with notebook.branch() as branch:
            await branch.apply([EditCell(cell=cell.id, base_version=cell.version, code="x = 2")])
            await notebook.apply([EditCell(cell=cell.id, base_version=cell.version, code="x = 3  # by hand")])
            committed = await branch.commit()
        assert isinstance(committed, CommitRefused)
        assert committed.refused is not None
        assert notebook.document.cells[0].code == "x = 3  # by hand"


async def test_a_branch_takes_the_parents_place_without_running_again_and_that_can_be_undone(
    project: Path, opened: Opener
) -> None:
    async with opened(STATE) as notebook:
        await notebook.run("all")
        async with notebook.branch() as branch:
            await branch.apply(new("import uuid\nname = uuid.uuid4().hex\nPath('name.txt').write_text(name)"))
            [name] = await branch.look(["name"])
            assert await branch.promote() == Promoted(files=("name.txt",))
        [promoted] = await notebook.look(["name"])
        assert promoted.text == name.text
        assert {change.path for change in await notebook.changed_files()} == {"kept.txt", "name.txt"}
        async with notebook.branch() as again:
            further = await again.apply(new("length = len(name) + len(Path('name.txt').read_text())", "further"))
        assert values(further) == {"length": "64"}
        assert await notebook.checkpoints.undo() is not None
        assert [variable.name for variable in await notebook.look(["name"])] == []
        assert [change.path for change in await notebook.changed_files()] == ["kept.txt"]
    assert (project / "kept.txt").read_text() == "as it was"
    assert not (project / "name.txt").exists()


@pytest.mark.slow
async def test_what_a_promoted_branch_changed_is_kept_at_the_end(project: Path, opened: Opener) -> None:
    async with opened(STATE) as notebook:
        await notebook.run("all")
        async with notebook.branch() as branch:
            await branch.apply(new("Path('kept.txt').write_text('later'); os.remove('lines.txt'); done = 1"))
            assert isinstance(await branch.promote(), Promoted)
    assert (project / "kept.txt").read_text() == "later"
    assert not (project / "lines.txt").exists()


@pytest.mark.slow
async def test_a_promoted_branch_may_put_a_file_where_a_folder_was_and_a_folder_where_a_file_was(
    project: Path, opened: Opener
) -> None:
    (project / "folder").mkdir()
    (project / "folder" / "inside.txt").write_text("old")
    (project / "file").write_text("old")
    swap = """
        import shutil
        shutil.rmtree("folder")
        os.remove("file")
        Path("folder").write_text("now a file")
        Path("file").mkdir()
        Path("file/inside.txt").write_text("now in a folder")
        done = 1
    """
    async with opened(STATE) as notebook:
        await notebook.run("all")
        async with notebook.branch() as branch:
            assert (await branch.apply(new(dedent(swap)))).is_ok
            assert isinstance(await branch.promote(), Promoted)
    assert (project / "folder").read_text() == "now a file"
    assert (project / "file" / "inside.txt").read_text() == "now in a folder"


@pytest.mark.slow
async def test_what_a_branch_may_use_holds_no_longer_once_it_is_the_notebooks_kernel(
    project: Path, opened: Opener
) -> None:
    async with opened(STATE) as notebook:
        await notebook.run("all")
        async with notebook.branch(BranchLimits(memory_mb=64, live_seconds=5)) as branch:
            await branch.apply(new("small = 1"))
            assert isinstance(await branch.promote(), Promoted)
        grown = await notebook.apply(new("import time\nmuch = np.ones(40_000_000)\ntime.sleep(6)", "grown"))
        assert grown.is_ok, grown


@pytest.mark.slow
async def test_cells_variables_and_files_go_back_and_forth_together(project: Path, opened: Opener) -> None:
    async with opened(STATE) as notebook:
        await notebook.run("all")
        seen: list[str] = []
        for turn in (1, 2, 3):
            seen.append(await state_of(notebook))
            assert isinstance(await notebook.checkpoints.take(f"turn {turn}"), Checkpoint)
            done = await notebook.apply(
                new(f"numbers[{turn}] = 100 * {turn}\nPath('turn{turn}.txt').touch(); random.random()", f"turn{turn}")
            )
            assert done.is_ok
        for turn in (3, 2, 1):
            checkpoint = await notebook.checkpoints.undo()
            assert checkpoint is not None
            assert checkpoint.label == f"turn {turn}"
            assert notebook.document.find(CellId(f"turn{turn}")) is None
        assert await notebook.checkpoints.undo() is None
        for turn in (1, 2, 3):
            assert await notebook.checkpoints.redo() is not None
            assert notebook.document.find(CellId(f"turn{turn}")) is not None
        assert sorted(change.path for change in await notebook.changed_files()) == [
            "kept.txt", "turn1.txt", "turn2.txt", "turn3.txt",
        ]  # fmt: skip
        assert await notebook.checkpoints.travel("turn 1") is not None
        assert await state_of(notebook) == seen[0]


async def test_the_end_of_a_kernel_that_was_left_by_going_back_is_told(opened: Opener) -> None:
    async with opened("x = 1") as notebook:
        await notebook.run("all")
        left = notebook.live.kernel
        assert left is not None
        assert isinstance(await notebook.checkpoints.take("before"), Checkpoint)
        assert await notebook.checkpoints.undo() is not None
        assert notebook.live.kernel is not left
        await left.kill("nobody needs it")
        # Whoever closes the notebook would wait for this, in vain.
        with anyio.fail_after(60):
            assert (await left.control.wait_kernel()).signal == 9
        assert [variable.text for variable in await notebook.look(["x"])] == ["1"]


async def test_without_a_checkpoint_the_notebook_is_what_it_was_by_replay(project: Path, opened: Opener) -> None:
    async with opened(STATE) as notebook:
        await notebook.run("all")
        document, outcomes = notebook.document, dict(notebook.outcomes)
        await notebook.apply(new("numbers[0] = 9\nPath('more.txt').touch()"))
        assert (await notebook.checkpoints.rewind(document, outcomes)).is_ok
        look = await notebook.apply(new("print(numbers[0], sorted(os.listdir('.')))", "look"))
        assert console(look) == f"0 {['kept.txt', 'lines.txt', notebook.path.name]}\n"


async def test_a_kernel_with_threads_is_not_forked_and_it_is_said_why(project: Path, opened: Opener) -> None:
    code = "import threading\nstop = threading.Event()\nthread = threading.Thread(target=stop.wait, name='waiter')"
    code += "\nthread.start()"
    async with opened(code) as notebook:
        await notebook.run("all")
        taken = await notebook.checkpoints.take("turn")
        assert isinstance(taken, NoFork)
        assert "waiter" in taken.reasons[0]


async def test_a_branch_that_uses_too_much_memory_ends_alone(project: Path, opened: Opener) -> None:
    async with opened(STATE) as notebook:
        await notebook.run("all")
        async with notebook.branch(BranchLimits(memory_mb=64)) as branch:
            tried = await branch.apply(new("import time\nmuch = np.ones(50_000_000)\ntime.sleep(60)"))
        assert tried.kernel_end is not None
        assert tried.kernel_end.limit == "memory"
        assert (await notebook.apply(new("fine = 1"))).is_ok


@pytest.mark.slow
async def test_a_branch_does_not_outlive_its_time(project: Path, opened: Opener) -> None:
    async with opened(STATE) as notebook:
        await notebook.run("all")
        async with notebook.branch(BranchLimits(live_seconds=0.5)) as branch:
            tried = await branch.apply(new("import time\ntime.sleep(60)"))
        assert tried.kernel_end is not None
        assert tried.kernel_end.limit == "time"
        assert (await notebook.apply(new("fine = 1"))).is_ok
