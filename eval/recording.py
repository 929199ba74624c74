"""Recordings: what a model once answered to a task, and what asking it took when that was frozen.

`eval/recordings/` has one file per recorded task. Only `eval.freeze` writes them, for a person who says why.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final

from cellwright.testing import Answer, CallTool, CallTools, Say, Tokens
from eval.traffic import Traffic

_PLAIN: Final = Tokens()
RECORDINGS: Final = Path(__file__).parent / "recordings"


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordedCall:
    """A tool the model called."""

    name: str
    arguments: Mapping[str, Any] | str
    """As text only where the model wrote no JSON."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordedAnswer:
    """One message of the model."""

    content: str = ""
    tool_calls: tuple[RecordedCall, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskRecording:
    """The answers a model gave while it worked on one task."""

    task: str
    answered_by: str
    why: str
    """Why it was frozen as it is."""
    is_right: bool
    """Whether the run they lead to passed the task's checks when it was frozen."""
    live: Traffic
    """What the requests came to that the model really answered, whatever was changed since."""
    frozen: Traffic
    """What they came to when the answers were replayed, which is what later runs are held to."""
    answers: tuple[RecordedAnswer, ...]


def recorded_tasks(folder: Path = RECORDINGS) -> list[str]:
    """The tasks there is a recording of, in order of their names."""
    return sorted(path.stem for path in folder.glob("*.json"))


def read_recordings(names: Sequence[str] = ()) -> list[TaskRecording]:
    """All recordings in order of their tasks' names, or those of the tasks named. `ValueError` if one is missing."""
    known = recorded_tasks()
    missing = [name for name in names if name not in known]
    if missing:
        raise ValueError(f"No recording of {missing[0]!r}. Recorded: {', '.join(known)}.")
    return [read_recording(name) for name in names or known]


def read_recording(task: str, folder: Path = RECORDINGS) -> TaskRecording:
    """The recording of a task."""
    told = json.loads((folder / f"{task}.json").read_text(encoding="utf-8"))
    return TaskRecording(
        task=told["task"],
        answered_by=told["answered_by"],
        why=told["why"],
        is_right=told["is_right"],
        live=Traffic(**told["live"]),
        frozen=Traffic(**told["frozen"]),
        answers=tuple(recorded_answer(answer) for answer in told["answers"]),
    )


def write_recording(recording: TaskRecording, folder: Path = RECORDINGS) -> None:
    """Keep it as `read_recording` reads it."""
    text = json.dumps(asdict(recording), indent=1, ensure_ascii=False)
    (folder / f"{recording.task}.json").write_text(f"{text}\n", encoding="utf-8")


def recorded_answer(told: Mapping[str, Any]) -> RecordedAnswer:
    """An answer as a file holds it: `content`, and `tool_calls` with `name` and `arguments` each."""
    calls: Sequence[Mapping[str, Any]] = told.get("tool_calls") or ()
    return RecordedAnswer(
        content=told.get("content") or "",
        tool_calls=tuple(RecordedCall(name=call["name"], arguments=call["arguments"]) for call in calls),
    )


def scripted(answer: RecordedAnswer, tokens: Tokens = _PLAIN) -> Answer:
    """The same for a provider server, which charges these tokens."""
    if not answer.tool_calls:
        return Say(answer.content, tokens=tokens)
    calls = tuple(CallTool(call.name, call.arguments) for call in answer.tool_calls)
    return CallTools(calls, text=answer.content, tokens=tokens)
