"""`python -m eval [--model NAME] [--tasks ID …] [--peer smolagents] [--json]`: give the tasks, judge, print the table.

Exit 0 when every task passed, 1 when some did not, 2 when what was typed makes no sense, 130 after Ctrl-C.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Final

import anyio

from bench.failure import BenchFailed
from bench.peer_packages import peers_python
from eval.cellwright_worker import ANALYST, CellwrightWorker, open_cellwright
from eval.evaluation import evaluate
from eval.results import Result, table
from eval.smolagents_worker import SmolagentsWorker
from eval.task import Task, read_tasks
from eval.worker import Worker

_RESULTS: Final = Path(__file__).parent / "results" / "latest.json"


def main(words: Sequence[str] | None = None) -> int:
    """Evaluate what was asked for."""
    arguments = _arguments(words)
    try:
        tasks = chosen(arguments.tasks, arguments.model)
    except ValueError as problem:
        _note(f"error: {problem}")
        return 2
    try:
        results = anyio.run(_evaluate, tasks, arguments)
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
    return 0 if all(result.has_passed for result in results) else 1


def chosen(names: Sequence[str], model: str) -> list[Task]:
    """The tasks named; none named: all, or those the analyst can serve if it is the one."""
    tasks = read_tasks(names)
    return tasks if names or model != ANALYST else [task for task in tasks if task.is_for_analyst]


async def _evaluate(tasks: Sequence[Task], arguments: argparse.Namespace) -> list[Result]:
    async with AsyncExitStack() as stack:
        ours = await stack.enter_async_context(
            open_cellwright(arguments.model, home=arguments.home, seconds=arguments.seconds)
        )
        workers: list[Worker] = [ours]
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
    parser.add_argument("--model", default=ANALYST, help="PROVIDER:MODEL; default: the analyst, which asks no model")
    parser.add_argument("--tasks", nargs="*", default=[], metavar="ID", help="only these")
    parser.add_argument("--peer", choices=["smolagents"], help="the same tasks by a peer with the same model")
    parser.add_argument("--base-url", help="where the peer asks; default: our gateway's endpoint")
    parser.add_argument("--peer-model", help="what the model is called there; default: as for us")
    parser.add_argument("--home", type=Path, help="another state directory, with the models to use")
    parser.add_argument("--at-once", type=int, default=2, metavar="N", help="tasks at work at a time")
    parser.add_argument("--seconds", type=float, default=900, help="how long one task may take")
    parser.add_argument("--json", action="store_true", help="JSON instead of a table")
    arguments = parser.parse_args(words)
    if arguments.peer and arguments.model == ANALYST:
        parser.error("a peer needs a model: name one with --model")
    return arguments


def _tell(result: Result) -> None:
    outcome = "passed" if result.has_passed else f"failed ({'; '.join(result.failed) or result.status})"
    _note(f"{result.task}, {result.worker}: {outcome}, {result.seconds:.0f} s")


def _note(text: str) -> None:
    sys.stderr.write(f"{text}\n")
    sys.stderr.flush()


if __name__ == "__main__":
    sys.exit(main())
