"""What is left when something dies: nothing that runs, and nothing that matters is lost."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from pathlib import Path

import anyio
import anyio.lowlevel
import psutil
import pytest

from cellwright.kernel.branches.checkpoints import Checkpoint
from cellwright.kernel.observation import CellFinishedEvent
from cellwright.kernel.pool import KernelPool
from cellwright.kernel.process.zygote import Zygote
from cellwright.kernel.process.zygote_process import beginning_zygote
from cellwright.kernel.session.open_notebook import OpenNotebook
from cellwright.notebook.edits import CreateCell
from tests.cgroups import groups

Opener = Callable[..., AbstractAsyncContextManager[OpenNotebook]]


@pytest.mark.slow
async def test_a_killed_zygote_comes_back_and_open_notebooks_recover_by_replay(opened: Opener, tmp_path: Path) -> None:
    async with KernelPool.open(tmp_path / "zygote") as pool, opened("x = 41", own_pool=pool) as notebook:
        await notebook.run("all")
        zygote = await pool.zygote()
        kernel = notebook.live.kernel
        assert kernel is not None
        os.kill(zygote.process.pid, signal.SIGKILL)
        with anyio.fail_after(120):
            await zygote.is_gone.wait()
            observation = await notebook.apply([CreateCell(code="y = x + 1")])
        assert {variable.name: variable.text for cell in observation.cells for variable in cell.variables} == {
            "x": "41",
            "y": "42",
        }
        assert not _runs(kernel.pid)


def _runs(pid: int) -> bool:
    """Whether there is such a process; one that is dead and only waits for a far ancestor to notice does not count."""
    try:
        return psutil.Process(pid).status() not in {psutil.STATUS_ZOMBIE, psutil.STATUS_DEAD}
    except psutil.NoSuchProcess:
        return False


HOST = """
import sys, anyio
from cellwright.app import open_notebook
async def main():
    async with open_notebook(sys.argv[1]) as notebook:
        await notebook.run("all")
        print(notebook.live.kernel.pid, flush=True)
        await anyio.sleep_forever()
anyio.run(main)
"""


@pytest.mark.slow
def test_nothing_survives_a_host_that_is_killed(write_notebook: Callable[..., Path]) -> None:
    path = write_notebook("import subprocess\nchild = subprocess.Popen(['sleep', '1000'], start_new_session=True)")
    host = subprocess.Popen([sys.executable, "-c", HOST, str(path)], stdout=subprocess.PIPE, text=True)
    assert host.stdout is not None
    init = psutil.Process(int(host.stdout.readline()))
    family = [*psutil.Process(host.pid).children(recursive=True), init]
    assert "sleep" in {process.name() for process in family}
    host.kill()
    host.wait()
    host.stdout.close()
    gone, alive = psutil.wait_procs(family, timeout=300)
    assert not alive, alive
    assert gone


def _footprint() -> dict[str, object]:
    me = psutil.Process()
    return {
        "processes": len(me.children(recursive=True)),
        "descriptors": me.num_fds(),
        "mounts": Path("/proc/self/mountinfo").read_text().count("\n"),
        # Only this process's own: other sessions may run beside us.
        "groups": groups(f"cellwright*{os.getpid()}*"),
        "temporary files": sorted(path.name for path in Path("/tmp").glob(f"cellwright*{os.getpid()}*")),
    }


async def _open_use_close(opened: Opener, times: int) -> None:
    for number in range(times):
        async with opened(f"x = {number}\nopen('made.txt', 'w').write('x')") as notebook:
            assert (await notebook.run("all")).is_ok


@pytest.mark.slow
async def test_twenty_kernels_in_a_row_leave_nothing_behind(opened: Opener) -> None:
    await _open_use_close(opened, 2)
    before = _footprint()
    await _open_use_close(opened, 20)
    assert _footprint() == before


@pytest.mark.slow
@pytest.mark.parametrize("step", [100, pytest.param(40, marks=pytest.mark.rare)])
async def test_a_kernel_whose_closing_is_cancelled_natively_still_gives_everything_back(
    opened: Opener, step: int
) -> None:
    """The engine beneath runs cancels tasks past every shield, at any of the turns a closing takes."""
    await _open_use_close(opened, 1)
    before = _footprint()
    turns = 0
    while await _is_cancelled_after(turns, opened):
        with anyio.fail_after(120):
            while _footprint() != before:  # noqa: ASYNC110 (its processes end)
                await anyio.sleep(0.01)
        turns += step
    assert turns


async def _is_cancelled_after(turns: int, opened: Opener) -> bool:
    """False if the notebook was closed before that."""
    is_closing = asyncio.Event()

    async def use() -> None:
        async with opened("x = 1") as notebook:
            await notebook.run("all")
            for label in ("one", "two"):
                assert isinstance(await notebook.checkpoints.take(label), Checkpoint)
            is_closing.set()

    task = asyncio.create_task(use())  # noqa: TID251 (what is tested: a native cancellation)
    await is_closing.wait()
    for _ in range(turns):
        await asyncio.sleep(0)
    task.cancel()
    await asyncio.wait([task])
    return task.cancelled()


@pytest.mark.slow
@pytest.mark.rare
async def test_two_hundred_kernels_in_a_row_leave_nothing_behind(opened: Opener) -> None:
    await _open_use_close(opened, 2)
    before = _footprint()
    await _open_use_close(opened, 200)
    assert _footprint() == before


async def test_kernels_of_one_pool_run_side_by_side_and_see_nothing_of_each_other(
    opened: Opener, write_notebook: Callable[..., Path]
) -> None:
    code = "import pathlib\nmine = pathlib.Path('/tmp/mine')\nmine.write_text('{0}')\nseen = mine.read_text()"
    found: dict[str, str] = {}

    async def one(name: str) -> None:
        path = write_notebook(code.format(name), name=f"{name}/notebook.py")
        async with opened(path=path) as notebook:
            for cell in (await notebook.run("all")).cells:
                found[name] = next(variable.text for variable in cell.variables if variable.name == "seen")

    async with anyio.create_task_group() as tasks:
        for name in ("a", "b", "c"):
            tasks.start_soon(one, name)
    assert found == {"a": "'a'", "b": "'b'", "c": "'c'"}


async def test_the_zygote_holds_no_file_open_whose_number_could_be_a_kernels_socket(pool: KernelPool) -> None:
    zygote = await pool.zygote()
    await zygote.warm_up()
    await zygote.is_warm.wait()
    held = [file.path for file in psutil.Process(zygote.process.pid).open_files() if file.fd > 2]
    assert held == []


async def test_what_marimo_logs_reaches_the_console_and_not_the_host(opened: Opener) -> None:
    log = "import logging\nlogging.getLogger('marimo').warning('a word of warning')"
    async with opened(log) as notebook:
        observation = await notebook.run("all")
    assert observation.is_ok
    assert "a word of warning" in "".join(cell.console for cell in observation.cells)


@pytest.mark.slow
async def test_a_zygote_listens_before_it_has_imported_what_its_own_kernels_need(tmp_path: Path) -> None:
    async with Zygote.open(tmp_path) as zygote:
        assert "numpy" not in await anyio.Path(f"/proc/{zygote.process.pid}/maps").read_text()
        assert (await zygote.warm_up())["threads"] == 1
        assert "numpy" in await anyio.Path(f"/proc/{zygote.process.pid}/maps").read_text()


def test_a_zygote_that_was_begun_and_never_used_is_gone_with_its_command(tmp_path: Path) -> None:
    with beginning_zygote(tmp_path, is_warm=True) as begun:
        assert begun.process.poll() is None
    assert begun.process.returncode is not None


async def test_the_zygote_holds_nothing_of_its_starters_environment(pool: KernelPool) -> None:
    zygote = await pool.zygote()
    assert await anyio.Path(f"/proc/{zygote.process.pid}/environ").read_bytes() == b""
    assert (await zygote.warm_up())["threads"] == 1


async def test_every_speed_patch_applies_to_the_pinned_marimo(pool: KernelPool) -> None:
    facts = await (await pool.zygote()).warm_up()
    assert {patch["state"] for patch in facts["patches"]} == {"PatchApplied"}, json.dumps(facts)


@pytest.mark.slow
async def test_a_notebook_that_is_cancelled_while_a_cell_runs_ends(opened: Opener) -> None:
    # Several: which of the tasks that are cancelled together comes first is chance.
    for _ in range(8):
        with anyio.fail_after(60), anyio.CancelScope() as scope:
            async with opened("x = 1", "while True:\n    pass") as notebook:
                async for event in notebook.run("all"):
                    if isinstance(event, CellFinishedEvent):
                        scope.cancel()
        assert scope.cancelled_caught


async def test_a_notebook_that_is_cancelled_while_its_kernel_starts_ends(opened: Opener) -> None:
    with anyio.CancelScope() as scope:
        async with opened("x = 1") as notebook:
            assert notebook.live.kernel is not None
            scope.cancel()
            await anyio.lowlevel.checkpoint()
    assert scope.cancelled_caught
