"""Kernels of Jupyter in the cage: one observation whatever the language, and every end a value."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Any

import anyio
import pytest

from cellwright.kernel.jupyter_kernelspecs import Kernelspec, find_kernelspecs
from cellwright.kernel.jupyter_session import JupyterSession
from cellwright.kernel.observation import CellFault, CellOutput, Observation
from cellwright.kernel.session.open_notebook import OpenNotebook
from cellwright.sandbox.spec import Limits

Opener = Callable[..., AbstractAsyncContextManager[OpenNotebook]]


@pytest.fixture(scope="module")
def specs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Kernelspec]:
    """What is installed here, and one in another language, as a person's own."""
    home = tmp_path_factory.mktemp("home")
    folder = home / ".local" / "share" / "jupyter" / "kernels" / "sums"
    folder.mkdir(parents=True)
    shutil.copy(Path(__file__).with_name("sums_kernel.py"), folder)
    argv = ["python", "-m", "sums_kernel", "-f", "{connection_file}"]
    spec = {"argv": argv, "display_name": "Sums", "language": "sums", "env": {"PYTHONPATH": str(folder)}}
    (folder / "kernel.json").write_text(json.dumps(spec))
    for part in (home, *folder.relative_to(home).parents, folder):
        (home / part).chmod(0o755)
    return find_kernelspecs(home)


def session(notebook: OpenNotebook, spec: Kernelspec) -> AbstractAsyncContextManager[JupyterSession]:
    return JupyterSession.open(notebook.provisioner, notebook.document, spec)


def told(seen: Observation) -> Any:
    [cell] = seen.cells
    return cell.status, cell.console, cell.output and cell.output.text, cell.error and cell.error.type


async def test_kernels_of_two_languages_give_the_same_observation(opened: Opener, specs: dict[str, Kernelspec]) -> None:
    async with opened() as notebook:
        cells = {"python3": ["a = 1 + 2\nprint('hi')\na", "b"], "sums": ["a = 1 + 2\nsay hi\na", "b"]}
        for name, (good, bad) in cells.items():
            async with session(notebook, specs[name]) as kernel:
                assert told(await kernel.run(good)) == ("ok", "hi\n", "3", None)
                failed = await kernel.run(bad)
                assert told(failed)[:3] == ("failed", "", None) and not failed.is_ok
                assert failed.cells[0].error is not None and "\x1b" not in failed.cells[0].error.traceback
                held = await kernel.run("a")
                assert held.cells[0].output == CellOutput(mimetype="text/plain", text="3")
                variables = [(each.name, each.type, each.text) for each in held.cells[0].variables]
                assert variables == ([("a", "int", "3")] if name == "python3" else [])


@pytest.mark.slow
async def test_r_gives_the_same_observation_and_a_deadline_keeps_what_it_holds(
    opened: Opener, specs: dict[str, Kernelspec]
) -> None:
    async with opened() as notebook, session(notebook, specs["ir"]) as kernel:
        assert told(await kernel.run("a <- 1 + 2\ncat('hi\\n')\na")) == ("ok", "hi\n", "[1] 3", None)
        failed = await kernel.run("b")
        assert told(failed) == ("failed", "", None, "ERROR") and not failed.is_ok
        assert failed.cells[0].error is not None and "object 'b' not found" in failed.cells[0].error.message
        stopped = await kernel.run("while (TRUE) {}", seconds=2)
        assert stopped.cells[0].status == "interrupted"
        held = await kernel.run("a")
        assert [(each.name, each.type, each.text) for each in held.cells[0].variables] == [("a", "numeric", " num 3")]
        drawn = (await kernel.run("plot(1:3)")).cells[0].output
        assert drawn is not None and drawn.mimetype == "image/png"


@pytest.mark.slow
async def test_a_deadline_an_interruption_and_every_end_are_values(
    opened: Opener, specs: dict[str, Kernelspec]
) -> None:
    async with opened(limits=Limits(memory_mb=600)) as notebook:
        async with session(notebook, specs["python3"]) as kernel:
            await kernel.run("kept = 1")
            late = await kernel.run("while True: pass", seconds=1)
            assert late.cells[0].status == "interrupted" and late.kernel_end is None
            assert told(await kernel.run("kept"))[2] == "1"
            with anyio.move_on_after(2) as gave_up:
                await kernel.run("while True: pass")
            assert gave_up.cancelled_caught
            assert told(await kernel.run("kept"))[2] == "1"
            ended = await kernel.run("import os; os._exit(7)")
            assert ended.kernel_end is not None and ended.kernel_end.reason == "it exited with code 7"
            assert (await kernel.run("1")).kernel_end == ended.kernel_end
        async with session(notebook, specs["python3"]) as kernel:
            ended = await kernel.run("x = bytearray(4_000_000_000); x[::4096] = b'1' * len(x[::4096])")
            assert not ended.is_ok


@pytest.mark.slow
async def test_what_a_hostile_kernel_says_is_bounded(opened: Opener, specs: dict[str, Kernelspec]) -> None:
    flood = "print('x' * 30_000_000)\nfrom IPython.display import HTML, display\n"
    flood += "for _ in range(300): display(HTML('y' * 1_000_000))\nraise RuntimeError('z' * 1_000_000)"
    forged = """\
import os
for at in range(3, 40):
    try:
        os.write(at, b'{"status": "ok"}\\n' * 10)
    except OSError:
        pass"""
    async with opened() as notebook, session(notebook, specs["python3"]) as kernel:
        seen = await kernel.run(flood)
        [cell] = seen.cells
        assert len(cell.console) <= 40_000 and cell.output is not None and len(cell.output.data) <= 400_000
        assert isinstance(cell.error, CellFault) and len(cell.error.message) <= 40_000
        # It has no line to the host: what it writes to every descriptor it has reaches nobody.
        await kernel.run(forged)
        after = await kernel.run("1 + 1")
        assert after.kernel_end is not None or told(after)[2] == "2"


@pytest.mark.slow
async def test_nothing_but_the_cage_reaches_a_kernels_sockets(opened: Opener, specs: dict[str, Kernelspec]) -> None:
    async with opened() as notebook, session(notebook, specs["python3"]) as kernel:
        listing = (
            "import glob, json\nprint(json.dumps([open(f).read() for f in glob.glob('/tmp/jupyter-*/kernel.json')]))"
        )
        seen = await kernel.run(listing)
        [file] = json.loads(seen.cells[0].console)
        connection = json.loads(file)
        assert connection["transport"] == "ipc"
        # The files of its sockets are in the cage's own /tmp, which no other process has.
        assert not Path(connection["ip"]).parent.exists()
        other = (await kernel.run("import os; [os.getuid(), os.listdir('/proc')].__len__()")).is_ok
        assert other
        ports = await kernel.run("print(open('/proc/net/tcp').read().count('\\n') - 1)")
        assert ports.cells[0].console.strip() in {"0", ""} or ports.cells[0].status == "failed"
