"""Keeping what a notebook left: two hundred thousand files, against `cp -a` and `sync` of the same files."""

from __future__ import annotations

import subprocess
import time
from pathlib import Path

import anyio.to_thread

from bench.failure import BenchFailed
from bench.rows import Finding, Samples, compare, no_more_than
from bench.stage import Stage
from cellwright.app import open_notebook
from cellwright.sandbox.spec import Limits

_FILES = 200_000
_QUICK_FILES = 20_000
_SPARE = 1_000
_LEAVES = """
import os
os.mkdir("many")
for _number in range({files}):
    with open(f"many/{{_number}}", "w") as _file:
        _file.write("x" * 200)
"""


async def measure(stage: Stage) -> list[Finding]:
    """Ours: from leaving the block of an open notebook to its end, files in their places and on the disk, kernel gone.

    Peer: `cp -a` of the same files within that file system, and `sync`.
    """
    files = _QUICK_FILES if stage.is_quick else _FILES
    notebook = stage.project("kept-files", _LEAVES.format(files=files))
    ours: list[float] = []
    peer: list[float] = []
    for number in range(stage.rounds(3, quick=1)):
        ours.append(await _keep(stage, notebook, files))
        left = notebook.parent / "many"
        peer.append(await anyio.to_thread.run_sync(_copy, left, notebook.parent / "copy"))
        # Not deleted: soon after that, ext4 was seen to make new files three times slower, and ours would come next.
        for folder in (left, notebook.parent / "copy"):
            folder.rename(stage.folder / f"{folder.name}-{number}")
    name = f"keeping {files:,} files a notebook left"
    sides = Samples(tuple(ours)), Samples(tuple(peer))
    return [compare(name, ours=sides[0], peer=sides[1], peer_name="cp -a and sync", unit="s", bar=no_more_than(2))]


async def _keep(stage: Stage, notebook: Path, files: int) -> float:
    limits = Limits(inodes=files + _SPARE, kept_files=files + _SPARE, keep_seconds=600)
    async with open_notebook(notebook, pool=stage.pool, limits=limits) as opened:
        if not (await opened.run("all")).is_ok:
            raise BenchFailed("the notebook that leaves many files failed")
        # What was written before is on the disk: neither side waits for the other's files.
        await anyio.to_thread.run_sync(subprocess.check_call, ["sync"])
        began = time.perf_counter()
    seconds = time.perf_counter() - began
    if len(opened.kept[-1].kept) != files + 1:
        raise BenchFailed(f"not all files were kept: {opened.kept[-1].held_back}")
    return seconds


def _copy(source: Path, target: Path) -> float:
    subprocess.check_call(["sync"])
    began = time.perf_counter()
    subprocess.check_call(["cp", "-a", str(source), str(target)])
    subprocess.check_call(["sync"])
    return time.perf_counter() - began
