"""Tasks given to workers, each in a folder of its own, a few at a time."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path

import anyio
import anyio.to_thread

from eval.results import Result, result_of
from eval.task import Task
from eval.worker import Worker


async def evaluate(
    tasks: Sequence[Task], workers: Sequence[Worker], *, at_once: int, told: Callable[[Result], None]
) -> list[Result]:
    """Every task by every worker, in this order; `told` hears of each as it is done."""
    results: dict[tuple[int, int], Result] = {}
    room = anyio.CapacityLimiter(at_once)

    async def one(place: tuple[int, int], task: Task, worker: Worker) -> None:
        async with room:
            results[place] = await work_on(task, worker)
            told(results[place])

    async with anyio.create_task_group() as group:
        for first, worker in enumerate(workers):
            for second, task in enumerate(tasks):
                group.start_soon(one, (first, second), task, worker)
    return [results[place] for place in sorted(results)]


async def work_on(task: Task, worker: Worker) -> Result:
    """One task by one worker, from fresh data."""
    with tempfile.TemporaryDirectory(prefix=f"eval-{task.id}-") as temporary:
        folder = Path(temporary) / "project"
        folder.mkdir()
        await anyio.to_thread.run_sync(task.make, folder)
        return result_of(task, worker.name, await worker.work(task, folder))
