"""Where a kernel cannot be forked a branch is another kernel with what its cells need; the outcome is the same."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractAsyncContextManager

import pytest

from cellwright.ids import CellId
from cellwright.kernel.branches.branch import CommitRefused, Committed
from cellwright.kernel.observation import Observation
from cellwright.kernel.session.open_notebook import OpenNotebook
from cellwright.notebook.edits import CreateCell, EditCell
from cellwright.sandbox.spec import Limits

Opener = Callable[..., AbstractAsyncContextManager[OpenNotebook]]

THREAD = "import threading\nstop = threading.Event()\nthread = threading.Thread(target=stop.wait)\nthread.start()"
IMPORTS = "import random\nfrom pathlib import Path\nimport numpy as np\nimport pandas as pd"
COUNTED = "runs = Path('runs.txt')\nruns.write_text(runs.read_text() + 'x' if runs.exists() else 'x')\n"
TABLE = "table = pd.DataFrame({'a': np.arange(5), 'b': list('vwxyz')})"
CLASS = "class Box:\n    def __init__(self, held):\n        self.held = held"
BOXED = "random.seed(3)\nbox = Box([1, 2])\nalso = box.held"


def values(observation: Observation) -> dict[str, str]:
    return {variable.name: variable.text for cell in observation.cells for variable in cell.variables}


def new(code: str, cell: str = "tried") -> list[CreateCell]:
    return [CreateCell(id=CellId(cell), code=code)]


@pytest.mark.slow
async def test_only_the_variables_that_are_referred_to_are_carried(opened: Opener) -> None:
    async with opened(THREAD, IMPORTS, COUNTED + TABLE, "other = np.ones(10)") as notebook:
        await notebook.run("all")
        await notebook.apply(new("table.loc[0, 'a'] = 100", "changed"))
        code = "total = int(table['a'].sum()), runs.read_text()"
        async with notebook.branch() as branch:
            tried = await branch.apply(new(code))
        assert tried.method is not None
        assert tried.method.kind == "carried"
        assert "thread" in tried.method.reasons[0].lower()
        assert [step.split()[0] for step in tried.method.steps] == ["carried", "ran"]
        assert "other" not in tried.method.steps[0]
        assert values(tried) == {"total": "(110, 'x')"}
        assert values(await notebook.apply(new(code))) == values(tried)


@pytest.mark.slow
async def test_objects_of_the_notebooks_own_classes_stay_what_they_are_and_share_what_they_shared(
    opened: Opener,
) -> None:
    async with opened(THREAD, IMPORTS, CLASS, BOXED) as notebook:
        await notebook.run("all")
        code = "also.append(3)\nsame = box.held is also, isinstance(box, Box), box.held, random.random()"
        async with notebook.branch() as branch:
            tried = await branch.apply(new(code))
        assert tried.is_ok, tried
        assert tried.method is not None and tried.method.kind == "carried"
        assert values(await notebook.apply(new(code)))["same"] == values(tried)["same"]


@pytest.mark.slow
async def test_what_cannot_be_carried_is_made_again_by_its_cells(opened: Opener) -> None:
    async with opened(THREAD, IMPORTS, COUNTED + "lines = (line for line in 'abc')\nfirst = next(lines)") as notebook:
        await notebook.run("all")
        async with notebook.branch() as branch:
            tried = await branch.apply(new("second = next(lines)"))
        assert tried.method is not None and tried.method.kind == "replayed", tried.method
        assert values(tried) == {"second": "'b'"}


async def test_files_are_as_the_parent_left_them_and_only_its_own_changes_are_the_branchs(opened: Opener) -> None:
    async with opened(
        THREAD, IMPORTS, "Path('a.txt').write_text('a'); Path('b.txt').write_text('b'); done = 1"
    ) as notebook:
        await notebook.run("all")
        async with notebook.branch() as branch:
            code = "seen = Path('a.txt').read_text()\nPath('b.txt').write_text('B'); Path('c.txt').touch()"
            tried = await branch.apply(new(code))
            assert values(tried) == {"seen": "'a'"}
            assert {(change.path, change.kind) for change in await branch.changed_files()} == {
                ("b.txt", "modified"), ("c.txt", "created"),
            }  # fmt: skip
        look = await notebook.apply(new("now = Path('b.txt').read_text(), Path('c.txt').exists()", "look"))
        assert values(look) == {"now": "('b', False)"}


async def test_a_branch_that_is_no_fork_can_be_committed_and_not_promoted(opened: Opener) -> None:
    async with opened(THREAD, IMPORTS, TABLE) as notebook:
        await notebook.run("all")
        async with notebook.branch() as branch:
            await branch.apply(new("rows = len(table)"))
            promoted = await branch.promote()
            assert isinstance(promoted, CommitRefused)
            assert isinstance(await branch.commit(), Committed)
        assert [variable.text for variable in await notebook.look(["rows"])] == ["5"]


@pytest.mark.slow
async def test_what_is_carried_is_never_the_end_of_a_parent_with_little_memory_left(opened: Opener) -> None:
    async with opened(THREAD, IMPORTS, "big = np.ones(40_000_000)", limits=Limits(memory_mb=640)) as notebook:
        await notebook.run("all")
        kernel = notebook.live.kernel
        async with notebook.branch() as branch:
            tried = await branch.apply(new("total = float(big.sum())"))
        assert values(tried) == {"total": "40000000.0"}
        assert tried.method is not None and tried.method.kind == "replayed", tried.method
        assert notebook.live.kernel is kernel
        assert (await notebook.apply(new("still = len(big)"))).is_ok


async def test_an_edited_cell_and_what_depends_on_it_run_in_the_branch(opened: Opener) -> None:
    async with opened(
        THREAD, IMPORTS, "base = 2", COUNTED + "wide = np.arange(1_000)", "result = base * len(wide)"
    ) as notebook:
        await notebook.run("all")
        cell = next(cell for cell in notebook.document.cells if cell.code == "base = 2")
        async with notebook.branch() as branch:
            tried = await branch.apply([EditCell(cell=cell.id, base_version=cell.version, code="base = 3")])
            assert values(tried) == {"base": "3", "result": "3000"}
            further = await branch.apply(new("more = result + len(wide), runs.read_text()", "further"))
        assert values(further) == {"more": "(4000, 'x')"}
        assert [variable.text for variable in await notebook.look(["result"])] == ["2000"]


async def test_a_fork_that_dies_is_made_good_by_a_kernel_that_is_none(opened: Opener) -> None:
    """A process that was exec'd by nobody's fork of a notebook has init as its parent; a fork has its kernel."""
    async with opened("import os, signal\nnumber = 1") as notebook:
        await notebook.run("all")
        async with notebook.branch() as branch:
            assert branch.method.kind == "fork"
            code = "if os.getppid() != 1: os.kill(os.getpid(), signal.SIGSEGV)\nmore = number + 1"
            tried = await branch.apply(new(code))
        assert tried.method is not None
        assert tried.method.kind == "carried"
        assert "fork" in tried.method.reasons[0]
        assert values(tried) == {"more": "2"}


@pytest.mark.slow
async def test_a_fork_that_hangs_is_told_from_a_slow_one_and_the_next_branch_is_none(opened: Opener) -> None:
    async with opened("import os, threading, time\nnumber = 1") as notebook:
        await notebook.run("all")
        async with notebook.branch() as branch:
            slow = await branch.apply(new("time.sleep(12)\nslow = 1", "slow"), seconds=60)
            assert (slow.method and slow.method.kind, values(slow)) == ("fork", {"slow": "1"})
            code = "lock = threading.Lock()\nlock.acquire()\nif os.getppid() != 1: lock.acquire()\nmore = number + 1"
            tried = await branch.apply(new(code), seconds=90)
        assert values(tried)["more"] == "2"
        assert tried.method is not None
        assert tried.method.kind != "fork"
        assert "hung" in tried.method.reasons[0]
        async with notebook.branch() as again:
            assert (again.method.kind, again.method.reasons) == ("replayed", tried.method.reasons)
