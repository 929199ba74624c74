"""A lane goes on for itself from the live state, is saved elsewhere, and outlives its own kernel."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from pathlib import Path

from cellwright.ids import CellId
from cellwright.kernel.branches.factory import open_parallel_session
from cellwright.kernel.observation import Observation
from cellwright.kernel.session.open_notebook import OpenNotebook
from cellwright.notebook import CreateCell, NotebookFile, SaveConflict, new, read, save

Opener = Callable[..., AbstractAsyncContextManager[OpenNotebook]]

STATE = "from pathlib import Path\nruns = Path('runs.txt')\nruns.write_text('x')\nnumbers = [1, 2, 3]"
THREAD = "import threading\nstop = threading.Event()\nthread = threading.Thread(target=stop.wait)\nthread.start()"


def lane_file(notebook: OpenNotebook, folder: Path) -> NotebookFile:
    saved = save(new(folder / "lane.py"), notebook.document)
    assert not isinstance(saved, SaveConflict)
    return saved


def cell(code: str, name: str) -> list[CreateCell]:
    return [CreateCell(id=CellId(name), code=code)]


def values(observation: Observation) -> dict[str, str]:
    return {variable.name: variable.text for outcome in observation.cells for variable in outcome.variables}


async def test_a_parallel_branch_has_the_state_and_what_it_does_is_not_in_the_notebook(
    opened: Opener, tmp_path: Path
) -> None:
    async with opened(STATE) as notebook:
        await notebook.run("all")
        async with open_parallel_session(notebook, notebook.branches.forks, lane_file(notebook, tmp_path)) as lane:
            done = await lane.apply(cell("numbers.append(4)\nruns.write_text('xy')\ntotal = sum(numbers)", "aaaa"))
            assert values(done) == {"total": "10"}
            assert lane.path == notebook.path
            assert await lane.save() is None
        assert "total = sum(numbers)" in (tmp_path / "lane.py").read_text()
        assert "total" not in notebook.path.read_text()
        told = await notebook.apply(cell("seen = (numbers, runs.read_text())", "bbbb"))
        assert values(told) == {"seen": "([1, 2, 3], 'x')"}


async def test_a_parallel_branch_whose_kernel_is_lost_runs_again_what_had_run(opened: Opener, tmp_path: Path) -> None:
    async with opened(STATE) as notebook:
        await notebook.run("all")
        async with open_parallel_session(notebook, notebook.branches.forks, lane_file(notebook, tmp_path)) as lane:
            await lane.apply(cell("total = sum(numbers)", "aaaa"))
            lost = await lane.apply(cell("import os as _os\n_os._exit(3)", "bbbb"))
            assert lost.kernel_end is not None
            after = await lane.apply(cell("more = total + 1", "cccc"))
            assert values(after).get("more") == "7", after
        assert values(await notebook.apply(cell("left = len(numbers)", "dddd"))) == {"left": "3"}


async def test_a_parallel_branch_of_a_notebook_that_cannot_be_forked_runs_again_what_had_run(
    opened: Opener, tmp_path: Path
) -> None:
    async with opened(STATE, THREAD) as notebook:
        await notebook.run("all")
        async with open_parallel_session(notebook, notebook.branches.forks, lane_file(notebook, tmp_path)) as lane:
            done = await lane.apply(cell("total = sum(numbers)", "aaaa"))
            assert values(done)["total"] == "6"
        assert read(tmp_path / "lane.py").document.cells
