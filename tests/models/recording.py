"""Whole conversations with models, written to a file a test can use, and answered from it.

A file holds one JSON line a call: the request, its hash, and how it ended. Before it is written secrets are masked and
headers and times left out; the hash is that of the request as it was asked.
"""

from __future__ import annotations

import difflib
import json
import os
from collections import deque
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final, Protocol, Self

from anyio import to_thread
from pydantic import TypeAdapter
from pydantic_ai.messages import ModelMessagesTypeAdapter, PartEndEvent, PartStartEvent
from pydantic_core import to_jsonable_python

from cellwright.errors import ModelUnavailable, UserError
from cellwright.models.calls import (
    AnswerUnknown,
    BudgetReached,
    Cancelled,
    ModelAnswer,
    ModelCall,
    Outcome,
    Piece,
    Request,
    Started,
    Update,
)

FORMAT: Final = "cellwright-recording-1"
_LEFT_OUT: Final = "[left out]"
_DIFFERENCES_SHOWN: Final = 24
_LETTERS_COMPARED: Final = 500
_STAMPS: Final = ("timestamp", "run_id", "conversation_id")
_OUTCOMES: Final[dict[str, TypeAdapter[Any]]] = {
    "answered": TypeAdapter(ModelAnswer),
    "budget-reached": TypeAdapter(BudgetReached),
    "answer-unknown": TypeAdapter(AnswerUnknown),
    "cancelled": TypeAdapter(Cancelled),
}
_KINDS: Final[dict[type[Any], str]] = {
    ModelAnswer: "answered",
    BudgetReached: "budget-reached",
    AnswerUnknown: "answer-unknown",
    Cancelled: "cancelled",
}

Mask = Callable[[str], str]
Ending = Outcome | ModelUnavailable


class ModelBackend(Protocol):
    """Whoever answers calls: the gateway's client, a recording of it, a replay."""

    async def ask(self, call: ModelCall) -> Outcome:
        """How the call ends. Raises `ModelUnavailable`."""
        ...

    def stream(self, call: ModelCall) -> AbstractAsyncContextManager[AsyncIterator[Update | Outcome]]:
        """What is told while the call goes on, its outcome last."""
        ...


class Recording:
    """Passes calls on and writes down how they ended. The file is begun anew, readable by its owner alone."""

    def __init__(self, models: ModelBackend, path: Path, *, mask: Mask) -> None:
        self._models = models
        self._mask = mask
        handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_APPEND | os.O_CLOEXEC, 0o600)
        self._file = os.fdopen(handle, "w", encoding="utf-8")

    def close(self) -> None:
        """End the recording."""
        self._file.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    async def ask(self, call: ModelCall) -> Outcome:
        """How the call ends; written down before it is told. Raises `ModelUnavailable`."""
        try:
            outcome = await self._models.ask(call)
        except ModelUnavailable as error:
            await self._write(call, error)
            raise
        await self._write(call, outcome)
        return outcome

    @asynccontextmanager
    async def stream(self, call: ModelCall) -> AsyncGenerator[AsyncIterator[Update | Outcome]]:
        """What is told while the call goes on, its outcome last and written down before it is told."""
        async with self._models.stream(call) as updates:
            yield self._followed(call, updates)

    async def _followed(
        self, call: ModelCall, updates: AsyncIterator[Update | Outcome]
    ) -> AsyncGenerator[Update | Outcome]:
        try:
            async for update in updates:
                if isinstance(update, Outcome):
                    await self._write(call, update)
                yield update
        except ModelUnavailable as error:
            await self._write(call, error)
            raise

    async def _write(self, call: ModelCall, ending: Ending) -> None:
        line = json.dumps(
            {
                "format": FORMAT,
                "request_hash": call.request.hash,
                "request": request_as_json(call.request, self._mask),
                **_masked(_ending_as_json(ending), self._mask),
            },
            ensure_ascii=True,
        )
        await to_thread.run_sync(self._append, line)

    def _append(self, line: str) -> None:
        self._file.write(f"{line}\n")
        self._file.flush()


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordedCall:
    """One call of a recording."""

    request_hash: str
    request: dict[str, Any]
    """As JSON, masked."""
    ending: Ending


class Replay:
    """Answers calls from a recording: equal requests get the recorded endings in their order, each once."""

    def __init__(self, path: Path, *, mask: Mask) -> None:
        self._path = path
        self._mask = mask
        self._recorded = read_recording(path)
        self._waiting = dict[str, deque[RecordedCall]]()
        for recorded in self._recorded:
            self._waiting.setdefault(recorded.request_hash, deque()).append(recorded)

    @property
    def unasked(self) -> int:
        """How many recorded calls nobody has asked for yet."""
        return sum(len(waiting) for waiting in self._waiting.values())

    async def ask(self, call: ModelCall) -> Outcome:
        """The recorded outcome. Raises `UserError`, with the nearest request, for a call that was not recorded."""
        return self._next(call.request)

    @asynccontextmanager
    async def stream(self, call: ModelCall) -> AsyncGenerator[AsyncIterator[Update | Outcome]]:
        """The recorded answer, part by part, then the outcome."""
        yield _told(self._next(call.request))

    def _next(self, request: Request) -> Outcome:
        asked = request.hash
        waiting = self._waiting.get(asked)
        if waiting is None:
            raise self._not_recorded(request)
        if not waiting:
            times = sum(recorded.request_hash == asked for recorded in self._recorded)
            raise UserError(
                f"{self._path.name} holds this request {times} times, and it was asked once more.",
                hint=f"Record the conversation again. The request's hash is {asked[:12]}.",
            )
        ending = waiting.popleft().ending
        if isinstance(ending, ModelUnavailable):
            raise ending
        return replace(ending, source="replay") if isinstance(ending, ModelAnswer) else ending

    def _not_recorded(self, request: Request) -> UserError:
        asked = _lines(request_as_json(request, self._mask))
        nearest = max(
            (_lines(recorded.request) for recorded in self._recorded),
            key=lambda lines: _likeness(lines, asked),
            default=None,
        )
        message = f"{self._path.name} does not hold this request (hash {request.hash[:12]})."
        if nearest is None:
            return UserError(message, hint="It holds no call at all: record the conversation again.")
        different = list(difflib.unified_diff(nearest, asked, "recorded", "asked", lineterm="", n=1))
        shown = different[:_DIFFERENCES_SHOWN] + (["…"] if len(different) > _DIFFERENCES_SHOWN else [])
        return UserError(message, hint="\n".join(["The nearest it holds differs:", *shown]))


def read_recording(path: Path) -> tuple[RecordedCall, ...]:
    """Every call of a recording, in order. Raises `UserError` with the line that cannot be read."""
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise UserError(f"The recording {path.name!r} cannot be read: {error}.", hint="Record it again.") from error
    return tuple(_recorded(line, f"{path.name}:{number}") for number, line in enumerate(lines, start=1))


def request_as_json(request: Request, mask: Mask) -> dict[str, Any]:
    """A request as a recording holds it: masked, without headers."""
    settings = {key: _LEFT_OUT if key.endswith("headers") else value for key, value in sorted(request.settings.items())}
    messages = ModelMessagesTypeAdapter.dump_python(list(request.messages), mode="json")
    plain = {
        "messages": [_without_stamps(message) for message in messages],
        "tools": [
            {"name": tool.name, "description": tool.description, "parameters": tool.parameters_json_schema}
            for tool in request.tools
        ],
        "output": None if request.output is None else {"name": request.output.name, "schema": request.output.schema},
        "settings": to_jsonable_python(settings, fallback=str),
    }
    return _masked(plain, mask)


async def _told(outcome: Outcome) -> AsyncGenerator[Update | Outcome]:
    if isinstance(outcome, ModelAnswer):
        yield Started(model=outcome.model, reason=outcome.reason)
        for index, part in enumerate(outcome.response.parts):
            yield Piece(event=PartStartEvent(index=index, part=part))
            yield Piece(event=PartEndEvent(index=index, part=part))
    yield outcome


def _ending_as_json(ending: Ending) -> dict[str, Any]:
    if isinstance(ending, ModelUnavailable):
        return {"kind": "model-unavailable", "ending": {"message": ending.message, "hint": ending.hint}}
    kind = _KINDS[type(ending)]
    return {"kind": kind, "ending": _OUTCOMES[kind].dump_python(ending, mode="json")}


def _recorded(line: str, where: str) -> RecordedCall:
    try:
        plain = json.loads(line)
        if plain["format"] != FORMAT:
            raise ValueError(f"its format is {plain['format']!r}")
        kind, ending = plain["kind"], plain["ending"]
        read = (
            ModelUnavailable(ending["message"], hint=ending["hint"])
            if kind == "model-unavailable"
            else _OUTCOMES[kind].validate_python(ending)
        )
        return RecordedCall(request_hash=plain["request_hash"], request=plain["request"], ending=read)
    except (ValueError, KeyError, TypeError) as error:
        raise UserError(f"{where} is not a recorded call: {error}.", hint="Record the conversation again.") from error


def _masked(value: Any, mask: Mask) -> Any:
    match value:
        case str():
            return mask(value)
        case dict():
            return {mask(key): _masked(inner, mask) for key, inner in value.items()}
        case list():
            return [_masked(inner, mask) for inner in value]
        case _:
            return value


def _likeness(left: list[str], right: list[str]) -> tuple[float, float]:
    """By whole lines first; then by the letters of those that differ, as far as that is cheap."""
    ours, theirs = [line for line in left if line not in right], [line for line in right if line not in left]
    letters = difflib.SequenceMatcher(None, "".join(ours)[:_LETTERS_COMPARED], "".join(theirs)[:_LETTERS_COMPARED])
    return difflib.SequenceMatcher(a=left, b=right, autojunk=False).ratio(), letters.ratio()


def _without_stamps(message: dict[str, Any]) -> dict[str, Any]:
    """A message without what is stamped on it anew each time, so that a recording made again changes little."""
    parts = [{key: value for key, value in part.items() if key not in _STAMPS} for part in message["parts"]]
    return {key: parts if key == "parts" else value for key, value in message.items() if key not in _STAMPS}


def _lines(request: dict[str, Any]) -> list[str]:
    return json.dumps(request, indent=1, sort_keys=True).splitlines()
