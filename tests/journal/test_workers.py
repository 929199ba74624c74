"""Several workers on one Postgres: what one leaves undone another does, and a late one changes nothing."""

from __future__ import annotations

import json
import os
import signal
from collections import Counter
from collections.abc import Generator
from pathlib import Path

import anyio
import pytest

from cellwright.journal.crash import CrashPoint
from cellwright.journal.events import RunRecovered, StepFinished
from cellwright.journal.journal import Journal
from cellwright.journal.names import stream_of
from cellwright.journal.records import Records
from tests.journal import queue_worker
from tests.journal.processes import Warm, eventually
from tests.journal.sixty import KEY, lines
from tests.journal.worker import RUN
from tests.sampling import some


@pytest.fixture
def two_workers(warm: Warm, fresh_postgres: str, tmp_path: Path, request: pytest.FixtureRequest) -> Generator[int]:
    """The pid of A, which is in the third step of the chain; B is idle."""
    (tmp_path / "hold").touch()
    idle = warm.start("worker", fresh_postgres, str(tmp_path), "B", "idle")
    eventually(lambda: "B" in lines(tmp_path / "up.txt"))
    pid = warm.start("worker", fresh_postgres, str(tmp_path), "A", getattr(request, "param", "run"))
    eventually(lambda: "A step-3" in lines(tmp_path / "work.txt") or lines(tmp_path / "frozen.txt"))
    yield pid
    warm.kill(idle)


async def told(where: str) -> tuple[Counter[str], list[RunRecovered]]:
    """How often each step was told as finished, and the recoveries."""
    async with Records.open(where, chain_key=KEY) as records:
        events = [recorded.event async for recorded in records.log.read_all(stream_of(RUN))]
    finished = Counter(event.name for event in events if isinstance(event, StepFinished))
    return finished, [event for event in events if isinstance(event, RunRecovered)]


@pytest.mark.slow
async def test_a_killed_workers_run_goes_on_at_another_within_seconds(
    warm: Warm, fresh_postgres: str, tmp_path: Path, two_workers: int
) -> None:
    warm.kill(two_workers)
    eventually(lambda: "B step-3" in lines(tmp_path / "work.txt"), seconds=20)
    async with Records.open(fresh_postgres, chain_key=KEY) as records:
        eventually(lambda: "B step-6" in lines(tmp_path / "work.txt"))
        assert (await records.status(RUN)).worker != ""
    assert [line for line in lines(tmp_path / "work.txt") if line.startswith("A")] == [f"A step-{n}" for n in (1, 2, 3)]
    assert [line for line in lines(tmp_path / "work.txt") if line.startswith("B")] == [
        f"B step-{n}" for n in (3, 4, 5, 6)
    ]


@pytest.mark.slow
@pytest.mark.parametrize(
    "two_workers", some([CrashPoint.STEP_COMMITTING, "run", CrashPoint.EFFECT_INTENDED], 1), indirect=True
)
async def test_a_thawed_zombie_cannot_commit(
    warm: Warm, fresh_postgres: str, tmp_path: Path, two_workers: int, request: pytest.FixtureRequest
) -> None:
    """Frozen in a step's work, in its commit, or before an effect: what it still tries to do is refused."""
    if "run" in request.node.name:
        os.kill(two_workers, signal.SIGSTOP)
    else:
        eventually(lambda: lines(tmp_path / "frozen.txt"))
    (tmp_path / "hold").unlink()
    eventually(lambda: "B step-6" in lines(tmp_path / "work.txt"))
    os.kill(two_workers, signal.SIGCONT)
    assert warm.wait(two_workers) == 0
    assert json.loads((tmp_path / "A.json").read_text()) == ["A", "A", "B", "B", "B", "B"]
    finished, recoveries = await told(fresh_postgres)
    assert finished == {f"step-{number}": 1 for number in range(1, 7)}
    assert len(recoveries) == 1
    if CrashPoint.EFFECT_INTENDED in request.node.name:
        assert "A step-3" not in lines(tmp_path / "work.txt")


async def test_workers_share_a_queue_without_passing_its_limit(warm: Warm, fresh_postgres: str, tmp_path: Path) -> None:
    jobs = [f"job-{number}" for number in range(12)]
    workers = [warm.start("queue_worker", fresh_postgres, str(tmp_path)) for _ in range(2)]
    eventually(lambda: len(lines(tmp_path / "up.txt")) == len(workers))
    with anyio.fail_after(120):
        async with Journal.open(
            fresh_postgres, version="1", workflows=queue_worker.workflows(tmp_path), chain_key=KEY
        ) as journal:
            await journal.queue("one at a time", concurrency=1)
            runs = [await journal.run("job", job, queue="one at a time") for job in jobs]
            done_by = {await journal.result(run) for run in runs}
    told = lines(tmp_path / "jobs.txt")
    assert sorted(told) == sorted(f"{word} {job}" for job in jobs for word in ("begin", "end"))
    for begin, end in zip(told[::2], told[1::2], strict=True):
        assert (begin.split()[0], end.split()) == ("begin", ["end", begin.split()[1]]), "two jobs at once"
    assert done_by <= {*workers, os.getpid()}
    for pid in workers:
        warm.kill(pid)
