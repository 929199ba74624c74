"""What a newcomer waits for: the two commands of the README in a clean clone, nothing cached. Takes many minutes."""

from __future__ import annotations

import os
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import anyio
import psutil

from bench.failure import BenchFailed
from bench.rows import Finding, Samples, compare, no_more_than
from bench.stage import Stage

_ROOT: Final = Path(__file__).resolve().parents[2]
_MINUTES: Final = 5
_INSTALLED_GB: Final = 1.5
_WORKER_MB: Final = 600
_LOOK_SECONDS: Final = 0.5
_MOST_SECONDS: Final = 3600


@dataclass(slots=True, kw_only=True)
class _Newcomer:
    """A clean clone with caches and state of its own."""

    clone: Path
    largest_mb: float = 0.0
    """The most memory that one worker of pytest held."""

    async def make(self, verb: str) -> float:
        """How many minutes it took."""
        beside, began, code = self.clone.parent, time.monotonic(), 0
        environment = os.environ | {"UV_CACHE_DIR": str(beside / "cache"), "CELLWRIGHT_HOME": str(beside / "state")}
        with (beside / f"{verb}.log").open("w+") as said, anyio.fail_after(_MOST_SECONDS):
            command = ["make", verb]
            async with (
                await anyio.open_process(command, cwd=self.clone, env=environment, stdout=said, stderr=said) as process,
                anyio.create_task_group() as looks,
            ):
                looks.start_soon(self._look_at_workers, process.pid)
                code = await process.wait()
                looks.cancel_scope.cancel()
            if code:
                said.seek(0)
                raise BenchFailed(f"`make {verb}` ended with {code}: {said.read()[-2000:]}")
        return (time.monotonic() - began) / 60

    async def _look_at_workers(self, make: int) -> None:
        while True:
            self.largest_mb = max(self.largest_mb, _largest_worker(make))
            await anyio.sleep(_LOOK_SECONDS)


async def measure(stage: Stage) -> list[Finding]:
    """Set-up and first run, what that takes on the disk, set-up for tests, the tests, and a worker's memory."""
    clone = stage.folder / "newcomer" / "clone"
    clone.parent.mkdir()
    await anyio.run_process(["git", "clone", "--quiet", str(_ROOT), str(clone)])
    newcomer = _Newcomer(clone=clone)
    first_minutes = await newcomer.make("run")
    again_minutes = await newcomer.make("run")
    size = await anyio.run_process(["du", "-s", "--block-size=1", str(clone / ".venv")])
    await newcomer.make("setup")
    test_minutes = await newcomer.make("test")
    return [
        _told("set-up and first `make run`", first_minutes, _MINUTES, "min"),
        _told("`make run` again", again_minutes, _MINUTES, "min"),
        _told("what `make run` installs", int(size.stdout.split()[0]) / 1e9, _INSTALLED_GB, "GB"),
        _told("`make test` after set-up", test_minutes, _MINUTES, "min"),
        _told("memory of its largest worker", newcomer.largest_mb, _WORKER_MB, "MB"),
    ]


def _told(name: str, ours: float, allowed: float, unit: str) -> Finding:
    """Once: nobody waits for it ten times."""
    allowance = f"{allowed:g} {unit}"
    return compare(
        name, ours=Samples((ours,)), peer=Samples((allowed,)), peer_name=allowance, unit=unit, bar=no_more_than(1)
    )


def _largest_worker(make: int) -> float:
    """Resident MB of the largest process that is pytest or one of its workers, without what tests started."""
    most = 0.0
    for process in _descendants(make):
        try:
            words = process.cmdline()
            # pytest's workers are told what to do on their standard input.
            if any("pytest" in word for word in words[:3]) or "exec(eval(sys.stdin.readline()))" in " ".join(words):
                most = max(most, process.memory_info().rss / 1e6)
        except psutil.Error:
            continue
    return most


def _descendants(pid: int) -> list[psutil.Process]:
    try:
        return psutil.Process(pid).children(recursive=True)
    except psutil.Error:
        return []
