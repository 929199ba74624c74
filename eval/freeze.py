"""`python -m eval.freeze [FOLDER] --why TEXT [--by TEXT] [--tasks ID …]`: turns what a model answered into recordings.

FOLDER is that of a relay: `NNNN.req.json`, a request as it was sent, and `NNNN.ans.json`, its answer. Without one the
recordings keep their answers and only their figures are frozen anew. Each is replayed once; what does not pass is not
kept. Exit 0 when all were kept, 1 when some were not, 2 when what was typed makes no sense.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

import anyio

from cellwright.testing.wire.reply import text_of
from eval.evaluation import evaluate
from eval.recording import TaskRecording, read_recordings, recorded_answer, write_recording
from eval.replay_worker import open_replay
from eval.results import Result, problems
from eval.task import Task, read_tasks
from eval.traffic import Traffic, sizes_of, traffic_of

_GOAL: Final = "Your goal:\n"


def main(words: Sequence[str] | None = None) -> int:
    """Freeze what was asked for."""
    arguments = _arguments(words)
    try:
        recordings = _recordings(arguments)
    except (ValueError, OSError) as problem:
        sys.stderr.write(f"error: {problem}\n")
        return 2
    try:
        kept = anyio.run(_freeze, recordings, arguments.why, arguments.seconds)
    except KeyboardInterrupt:
        sys.stderr.write("Stopped.\n")
        return 130
    return 0 if kept == len(recordings) else 1


def read_relay(folder: Path, tasks: Sequence[Task], *, by: str, why: str) -> list[TaskRecording]:
    """Of each of these tasks the last run that was answered to its end. `ValueError` if there is none at all."""
    series: dict[str, list[list[str]]] = {}
    for path in sorted(folder.glob("*.req.json")):
        request = json.loads(path.read_text(encoding="utf-8"))
        task = next((task.id for task in tasks if _is_about(request, task.goal)), None)
        if task is not None:
            of_task = series.setdefault(task, [])
            if not of_task or _is_first(request):
                of_task.append([])
            of_task[-1].append(path.name.removesuffix(".req.json"))
    found = ((task, [ids for ids in of_task if _are_answered(folder, ids)]) for task, of_task in series.items())
    recordings = [_recording(folder, task, whole[-1], by=by, why=why) for task, whole in found if whole]
    if not recordings:
        raise ValueError(f"No answered run of a task in {folder}.")
    return recordings


def _recording(folder: Path, task: str, ids: Sequence[str], *, by: str, why: str) -> TaskRecording:
    answers = [json.loads((folder / f"{id}.ans.json").read_text(encoding="utf-8")) for id in ids]
    bodies = [json.loads((folder / f"{id}.req.json").read_text(encoding="utf-8")) for id in ids]
    live = traffic_of(sizes_of(bodies))
    return TaskRecording(
        task=task,
        answered_by=by,
        why=why,
        is_right=False,
        live=live,
        frozen=live,
        answers=tuple(map(recorded_answer, answers)),
    )


def _is_about(request: Mapping[str, Any], goal: str) -> bool:
    said = [text_of(message.get("content")) for message in request["messages"] if message["role"] == "user"]
    return any(f"{_GOAL}{goal}\n" in f"{text}\n" for text in said)


def _is_first(request: Mapping[str, Any]) -> bool:
    return all(message["role"] != "assistant" for message in request["messages"])


def _are_answered(folder: Path, ids: Sequence[str]) -> bool:
    return all((folder / f"{id}.ans.json").is_file() for id in ids)


def _recordings(arguments: argparse.Namespace) -> list[TaskRecording]:
    tasks = read_tasks(arguments.tasks)
    if arguments.folder is None:
        return read_recordings(arguments.tasks)
    return read_relay(arguments.folder, tasks, by=arguments.by, why=arguments.why)


async def _freeze(recordings: Sequence[TaskRecording], why: str, seconds: float) -> int:
    """Replay them, keep what passes; how many that were."""
    tasks = read_tasks([recording.task for recording in recordings])
    async with open_replay(recordings, seconds=seconds) as worker:
        results = await evaluate(tasks, [worker], at_once=1, told=_tell)
    good = [(recording, result) for recording, result in zip(recordings, results, strict=True) if result.has_passed]
    for recording, result in good:
        write_recording(replace(recording, why=why, is_right=True, frozen=_took(result)))
    return len(good)


def _took(result: Result) -> Traffic:
    return Traffic(requests=result.requests or 0, characters=result.characters or 0)


def _tell(result: Result) -> None:
    outcome = "frozen" if result.has_passed else f"not kept ({problems(result)}) {result.why}"
    sys.stderr.write(f"{result.task}: {outcome}, requests {result.requests}, characters {result.characters:,}\n")
    sys.stderr.flush()


def _arguments(words: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m eval.freeze", description="Freeze recordings of answered tasks.")
    parser.add_argument("folder", nargs="?", type=Path, help="of a relay; without it only the figures are made anew")
    parser.add_argument("--why", required=True, help="kept in the recording, for who reads the change")
    parser.add_argument("--by", default="", help="who answered, and when")
    parser.add_argument("--tasks", nargs="*", default=[], metavar="ID", help="only these")
    parser.add_argument("--seconds", type=float, default=900, help="how long one task may take")
    arguments = parser.parse_args(words)
    if arguments.folder is not None and not arguments.by:
        parser.error("say with --by who answered, and when")
    return arguments


if __name__ == "__main__":
    sys.exit(main())
