"""A host that is killed while a closed notebook's files go into the project."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from pathlib import Path

import psutil
import pytest

from cellwright.kernel.session.open_notebook import OpenNotebook
from tests.conftest import notebook_source

Opener = Callable[..., AbstractAsyncContextManager[OpenNotebook]]

PATIENCE_SECONDS = 240

KEEPING_HOST = """
import os, signal, sys, threading
from itertools import count
from pathlib import Path

import anyio

from cellwright.app import open_notebook
from cellwright.settings import Settings

NAME, NUMBER = sys.argv[3], int(sys.argv[4])
calls = count(1)

def profile(frame, event, called):
    if event == "c_call" and called.__name__ == NAME:
        caller = frame.f_globals["__name__"]
        if caller == "cellwright.sandbox.host.project_writer" and next(calls) == NUMBER:
            os.kill(os.getpid(), signal.SIGKILL)

async def main():
    path, home = Path(sys.argv[1]), Path(sys.argv[2])
    async with open_notebook(path, settings=Settings(home=home, cache=home)) as notebook:
        assert (await notebook.run("all")).is_ok
        print("closing", flush=True)

threading.setprofile(profile)
sys.setprofile(profile)
anyio.run(main)
"""

WRITES = """
import os, pathlib
for _number in range(6):
    pathlib.Path(f"made-{_number}.txt").write_text("new" * 300_000)
    pathlib.Path(f"kept-{_number}.txt").write_text("new" * 300_000)
os.rename("a name.txt", "z another.txt")
"""

MOMENTS = [
    pytest.param("sendfile", 3, id="before everything is copied", marks=pytest.mark.slow),
    pytest.param("rename", 1, id="before anything has its place", marks=pytest.mark.slow),
    pytest.param("rename", 9, id="half way"),
    pytest.param("rename", 13, id="before the last has its place", marks=pytest.mark.slow),
    pytest.param("unlink", 1, id="before anything is gone", marks=pytest.mark.slow),
]


def killed_before(call: str, number: int, path: Path, home: Path) -> None:
    """Run the notebook in a host of its own, which is killed before the so-manyth such call of keeping its files."""
    command = [sys.executable, "-c", KEEPING_HOST, str(path), str(home), call, str(number)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as host:
        assert host.stdout is not None
        assert host.stdout.readline() == "closing\n"
        family = psutil.Process(host.pid).children(recursive=True)
        assert host.wait(PATIENCE_SECONDS) == -9
    assert psutil.wait_procs(family, timeout=PATIENCE_SECONDS)[1] == []


@pytest.mark.slow
@pytest.mark.parametrize(("call", "number"), MOMENTS)
async def test_each_file_is_the_old_or_the_new_one_and_the_next_kernel_clears_what_is_left(
    opened: Opener, tmp_path: Path, call: str, number: int
) -> None:
    project = tmp_path / "project"
    project.mkdir()
    path = project / "notebook.py"
    path.write_text(notebook_source(WRITES))
    for old in (*(f"kept-{kept}.txt" for kept in range(6)), "a name.txt"):
        (project / old).write_text("old")
    killed_before(call, number, path, tmp_path / "home")
    path.write_text(notebook_source("x = 1"))
    async with opened(path=path) as notebook:
        assert (await notebook.run("all")).is_ok
    seen = {entry.name: entry.read_text() for entry in project.iterdir() if entry != path}
    for name, content in seen.items():
        assert content in ("old", "new" * 300_000), name
        assert name.startswith(("made-", "kept-")) or content == "old"
    assert {f"kept-{kept}.txt" for kept in range(6)} <= seen.keys()
    assert {"a name.txt", "z another.txt"} & seen.keys()
    assert seen.keys() <= {"a name.txt", "z another.txt"} | {
        f"{kind}-{made}.txt" for kind in ("made", "kept") for made in range(6)
    }
