"""`python -m eval [--model NAME] [--tasks ID …] [--peer smolagents] [--json]`: give the tasks, judge, print the table.

Without a model: the analyst, then the recordings. Exit 0 when every task passed and no recorded path has grown, 1 when
some did not, 2 when what was typed makes no sense, 130 after Ctrl-C.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Final, get_args

import anyio

from bench.failure import BenchFailed
from bench.peer_packages import peers_python
from cellwright.runs.goal.goal import Effort
from eval.cellwright_worker import ANALYST, CellwrightWorker, open_cellwright
from eval.evaluation import evaluate
from eval.recording import read_recordings, recorded_tasks
from eval.replay_worker import REPLAY, open_replay
from eval.results import Result, problems, table
from eval.smolagents_worker import SmolagentsWorker
from eval.task import Task, read_tasks
from eval.worker import Worker

_RESULTS: Final = Path(__file__).parent / "results" / "latest.json"


def main(words: Sequence[str] | None = None) -> int:
    """Evaluate what was asked for."""
    arguments = _arguments(words)
    try:
        work = assigned(arguments.tasks, arguments.model)
    except ValueError as problem:
        _note(f"error: {problem}")
        return 2
    try:
        results = anyio.run(_evaluate_all, work, arguments)
    except BenchFailed as problem:
        _note(f"error: {problem}")
        return 1
    except KeyboardInterrupt:
        _note("Stopped.")
        return 130
    told = json.dumps([result.as_json() for result in results], indent=1, ensure_ascii=False)
    _RESULTS.parent.mkdir(exist_ok=True)
    _RESULTS.write_text(f"{told}\n", encoding="utf-8")
    sys.stdout.write((told if arguments.json else table(results)) + "\n")
    return 0 if all(result.is_good for result in results) else 1


def assigned(names: Sequence[str], model: str | None) -> list[tuple[str, list[Task]]]:
    """Who works on which tasks; no model named: the analyst, then the recordings there are."""
    if model is not None:
        return [(model, chosen(names, model))]
    recorded = [name for name in names if name in recorded_tasks()]
    first = (ANALYST, chosen(names, ANALYST))
    return [first, (REPLAY, chosen(recorded, REPLAY))] if recorded or not names else [first]


def chosen(names: Sequence[str], model: str) -> list[Task]:
    """The tasks named; none named: all, or those the analyst can serve, or those recorded, if that is who works."""
    tasks = read_tasks(names)
    if model == ANALYST and not names:
        return [task for task in tasks if task.is_for_analyst]
    if model != REPLAY:
        return tasks
    recorded = {recording.task for recording in read_recordings(names)}
    return [task for task in tasks if task.id in recorded]


async def _evaluate_all(work: Sequence[tuple[str, Sequence[Task]]], arguments: argparse.Namespace) -> list[Result]:
    results: list[Result] = []
    for model, tasks in work:
        results += await _evaluate(model, tasks, arguments)
    return results


async def _evaluate(model: str, tasks: Sequence[Task], arguments: argparse.Namespace) -> list[Result]:
    async with AsyncExitStack() as stack:
        workers: list[Worker] = []
        if model == REPLAY:
            recordings = read_recordings([task.id for task in tasks])
            replay = open_replay(recordings, seconds=arguments.seconds, effort=arguments.effort)
            workers.append(await stack.enter_async_context(replay))
        else:
            opened = open_cellwright(model, home=arguments.home, seconds=arguments.seconds, effort=arguments.effort)
            ours = await stack.enter_async_context(opened)
            workers.append(ours)
            if arguments.peer:
                workers.append(await _peer(ours, arguments))
        return await evaluate(tasks, workers, at_once=arguments.at_once, told=_tell)


async def _peer(ours: CellwrightWorker, arguments: argparse.Namespace) -> Worker:
    base_url, token = (arguments.base_url, "none") if arguments.base_url else await ours.endpoint()
    return SmolagentsWorker(
        arguments.peer_model or arguments.model,
        python=await peers_python(),
        base_url=base_url,
        token=token,
        seconds=arguments.seconds,
    )


def _arguments(words: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m eval", description="How well goals are served.")
    parser.add_argument("--model", help="PROVIDER:MODEL, analyst or replay; default: the last two, which need no key")
    parser.add_argument("--tasks", nargs="*", default=[], metavar="ID", help="only these")
    parser.add_argument("--effort", choices=get_args(Effort), default="normal", help="of every run")
    parser.add_argument("--peer", choices=["smolagents"], help="the same tasks by a peer with the same model")
    parser.add_argument("--base-url", help="where the peer asks; default: our gateway's endpoint")
    parser.add_argument("--peer-model", help="what the model is called there; default: as for us")
    parser.add_argument("--home", type=Path, help="another state directory, with the models to use")
    parser.add_argument("--at-once", type=int, default=2, metavar="N", help="tasks at work at a time")
    parser.add_argument("--seconds", type=float, default=900, help="how long one task may take")
    parser.add_argument("--json", action="store_true", help="JSON instead of a table")
    arguments = parser.parse_args(words)
    if arguments.peer and arguments.model in {None, ANALYST, REPLAY}:
        parser.error("a peer needs a model: name one with --model")
    if arguments.home and arguments.model == REPLAY:
        parser.error("a replay has a state directory of its own: leave --home out")
    return arguments


def _tell(result: Result) -> None:
    outcome = "passed" if result.has_passed else "failed"
    found = "" if result.is_good else f" ({problems(result)})"
    _note(f"{result.task}, {result.worker}: {outcome}{found}, {result.seconds:.0f} s")
    if result.why and not result.has_passed:
        _note(f"  {result.why}")


def _note(text: str) -> None:
    sys.stderr.write(f"{text}\n")
    sys.stderr.flush()


if __name__ == "__main__":
    sys.exit(main())
