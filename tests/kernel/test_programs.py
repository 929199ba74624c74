"""Programs in a notebook's cage, as the kernel runs them."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractAsyncContextManager

import anyio
import anyio.lowlevel
import pytest

from cellwright.errors import KernelLost
from cellwright.kernel.process.side_calls import ProgramEnd
from cellwright.kernel.session.open_notebook import OpenNotebook

Opener = Callable[..., AbstractAsyncContextManager[OpenNotebook]]


async def test_a_program_runs_beside_the_variables_and_leaves_them_alone(opened: Opener) -> None:
    async with opened("x = 1") as notebook:
        await notebook.run("all")
        ended = await notebook.side_calls.run_program(["bash", "-c", "echo $PWD; exit 2"], folder=".")
        assert ended == ProgramEnd(exit_code=2, output="/project\n")
        assert [preview.text for preview in await notebook.look(["x"])] == ["1"]


async def test_a_program_waits_for_the_cell_that_runs(opened: Opener) -> None:
    async with opened("import time\ntime.sleep(0.3)\nopen('late.txt', 'w').write('cell')") as notebook:

        async def run() -> None:
            await notebook.run("all")

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(run)
            with anyio.fail_after(120):
                while notebook.current is None:
                    await anyio.lowlevel.checkpoint()
            assert (await notebook.side_calls.run_program(["cat", "late.txt"])).output == "cell"


async def test_long_output_keeps_both_ends_and_counts_the_rest(opened: Opener) -> None:
    async with opened("x = 1") as notebook:
        ended = await notebook.side_calls.run_program(
            ["bash", "-c", "echo begin; seq 100000; echo end"], output_bytes=1_000
        )
        assert ended.output.startswith("begin\n")
        assert ended.output.endswith("end\n")
        assert ended.left_out > 500_000


async def test_a_program_that_takes_the_kernel_down_is_a_lost_kernel_and_the_next_call_works(opened: Opener) -> None:
    async with opened("import os\nkernel = os.getpid()") as notebook:
        await notebook.run("all")
        [preview] = await notebook.look(["kernel"])
        with pytest.raises(KernelLost):
            await notebook.side_calls.run_program(["bash", "-c", f"kill -9 {preview.text}; sleep 30"])
        assert (await notebook.side_calls.run_program(["echo", "again"])).output == "again\n"
