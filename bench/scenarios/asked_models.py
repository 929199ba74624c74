"""What asking a model takes: the tasks that were drawn and driven, replayed once, against what a question may take."""

from __future__ import annotations

from collections.abc import Callable
from statistics import mean
from typing import Final

from bench.failure import BenchFailed
from bench.rows import Finding, Samples, compare, no_more_than
from bench.stage import Stage
from eval.draw import draw
from eval.evaluation import evaluate
from eval.recording import read_recordings
from eval.replay_worker import open_replay
from eval.results import Result
from eval.task import read_tasks

_SEED: Final = 18
"""With which the tasks were drawn that somebody answered (docs/evaluation.md)."""


async def measure(stage: Stage) -> list[Finding]:
    """Means by task. The answers are those of a mind; what they are answers to is made anew."""
    recordings = read_recordings([task.id for half in draw(read_tasks(), _SEED) for task in half])
    async with open_replay(recordings, seconds=600) as worker:
        tasks = read_tasks([recording.task for recording in recordings])
        results = await evaluate(tasks, [worker], at_once=1, told=lambda _: None)
    if wrong := [result.task for result in results if not result.has_passed]:
        raise BenchFailed(f"replayed, these are not right any more: {', '.join(wrong)}")
    folders = [result for result in results if result.kind == "folders"]
    files = [result for result in results if result.kind != "folders"]
    return [
        *_rows("a question about one file", files, requests=1.5, characters=14_000),
        *_rows("a question about a folder", folders, requests=3, characters=60_000),
    ]


def _rows(what: str, results: list[Result], *, requests: float, characters: float) -> list[Finding]:
    def row(unit: str, of: Callable[[Result], int | None], most: float) -> Finding:
        ours = Samples((mean(of(result) or 0 for result in results),))
        name = f"{what}: {unit} to the model, {len(results)} recorded tasks"
        peer_name = f"{most:,g} a task"
        return compare(name, ours=ours, peer=Samples((most,)), peer_name=peer_name, unit=unit, bar=no_more_than(1))

    return [
        row("requests", lambda result: result.requests, requests),
        row("characters", lambda result: result.characters, characters),
    ]
