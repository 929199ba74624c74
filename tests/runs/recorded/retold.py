"""A run's conversation, kept in a file and told again: found by what was asked for, not by how it was worded.

A recording answers equal requests, and no two runs ask in equal words: fences have a new name for every agent, cells
get new ids, a cell's milliseconds differ, and prompts get better. So what is written down is who asked, at which of its
steps, and after which calls. Ids of cells in answers are kept as the how-manieth cell that was shown.
"""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

from pydantic_ai.messages import (
    ModelMessage,
    ModelMessagesTypeAdapter,
    ModelRequest,
    ModelResponse,
    ToolCallPart,
    UserPromptPart,
)

from cellwright.agents.agent_context import ModelAccess
from cellwright.errors import Defect
from cellwright.models.calls import ModelAnswer, ModelCall, OnUpdate, Outcome, Request, Update
from cellwright.models.config.names import CallId
from cellwright.models.reports import ModelsReport
from cellwright.policy.masking.masker import Masker
from tests.models.recording import ModelBackend, Recording, Replay

_MASKER: Final = Masker.of(salt=b"r" * 16)
_SHOWN: Final = re.compile(r"^\[(?:\d+\] (\w{4})\b|[^\]\n]*\((\w{4})\) v\d+\]|(\w{4}) v\d+\])", re.MULTILINE)
"""A cell as prompts show it: `[2] Hbol 'packages'`, `[packages (Hbol) v1]`, `[Hbol v1]`."""
_THEN: Final = datetime(2025, 1, 1, tzinfo=UTC)
_KEPT: Final = re.compile(r"cell‹(\d+)›")


def mask(text: str) -> str:
    return _MASKER.mask(text).text


class CellNames:
    """Cells by the order in which prompts first showed them: the same whenever the same is done."""

    def __init__(self) -> None:
        self._ids: list[str] = []

    def learn(self, messages: Sequence[ModelMessage]) -> None:
        """Whatever cells these show."""
        for text in _texts(ModelMessagesTypeAdapter.dump_python(list(messages), mode="json")):
            for found in _SHOWN.finditer(text):
                id = next(group for group in found.groups() if group)
                self._ids += [] if id in self._ids else [id]

    def kept(self, text: str) -> str:
        """As a file keeps it."""
        for number, id in enumerate(self._ids, start=1):
            text = re.sub(rf"\b{id}\b", f"cell‹{number}›", text)
        return text

    def here(self, text: str) -> str:
        """As it is called in this run."""
        return _KEPT.sub(lambda found: self._ids[int(found[1]) - 1], text)


def gist(call: ModelCall, names: CellNames) -> Request:
    """What a call is found by: who asks, at which step, after which calls."""
    said = [message for message in call.request.messages if isinstance(message, ModelResponse)]
    calls = [part for part in said[-1].parts if isinstance(part, ToolCallPart)] if said else []
    lines = [f"{call.payer.role} {call.payer.step}"]
    lines += [f"after {part.tool_name} {names.kept(part.args_as_json_str())}" for part in calls]
    return Request(messages=[ModelRequest(parts=[UserPromptPart("\n".join(lines))])])


class Retold:
    """Models as agents ask them. Which there are, says the gateway; what they answer, a recording of it or a replay."""

    def __init__(self, gateway: ModelAccess, talk: ModelBackend, names: CellNames) -> None:
        self._gateway = gateway
        self._talk = talk
        self._names = names

    async def cancel(self, call: CallId) -> bool:
        return await self._gateway.cancel(call)

    async def listed(self) -> ModelsReport:
        return await self._gateway.listed()

    async def ask(self, call: ModelCall, on_update: OnUpdate | None = None) -> Outcome:
        self._names.learn(call.request.messages)
        if isinstance(self._talk, Recorder):
            self._talk.about_to_ask(call)
        outcome = await self._talk.ask(replace(call, request=gist(call, self._names)))
        return _changed(outcome, self._names.here)


def replayed(gateway: ModelAccess, path: Path) -> tuple[Retold, Replay]:
    """Answers of the file; and how many of them nobody asked for."""
    replay = Replay(path, mask=mask)
    return Retold(gateway, replay, CellNames()), replay


def recorded(gateway: ModelAccess, path: Path) -> Retold:
    """Answers of real or scripted models, written to the file."""
    names = CellNames()
    return Retold(gateway, Recorder(gateway, path, names), names)


class Recorder:
    """Writes down gists, and asks what was really asked."""

    def __init__(self, gateway: ModelAccess, path: Path, names: CellNames) -> None:
        self._gateway = gateway
        self._names = names
        self._whole: dict[CallId, ModelCall] = {}
        self._recording = Recording(_Behind(self._really_ask), path, mask=mask)

    def about_to_ask(self, call: ModelCall) -> None:
        self._whole[call.id] = call

    async def ask(self, call: ModelCall) -> Outcome:
        return await self._recording.ask(call)

    def stream(self, call: ModelCall) -> AbstractAsyncContextManager[AsyncIterator[Update | Outcome]]:
        return self._recording.stream(call)

    async def _really_ask(self, call: ModelCall) -> Outcome:
        outcome = await self._gateway.ask(self._whole.pop(call.id))
        if not isinstance(outcome, ModelAnswer):
            return outcome
        return _changed(replace(outcome, response=_plain(outcome.response), milliseconds=0), self._names.kept)


class _Behind:
    """What a recording listens to."""

    def __init__(self, ask: Callable[[ModelCall], Any]) -> None:
        self._ask = ask

    async def ask(self, call: ModelCall) -> Outcome:
        return await self._ask(call)

    def stream(self, call: ModelCall) -> AbstractAsyncContextManager[AsyncIterator[Update | Outcome]]:
        raise Defect(f"Agents do not stream: {call.id}.")


def _plain(said: ModelResponse) -> ModelResponse:
    """Without addresses, times and ids of the provider: a recording made again changes little."""
    parts = [
        replace(part, tool_call_id=f"call-{number}") if isinstance(part, ToolCallPart) else part
        for number, part in enumerate(said.parts, start=1)
    ]
    return ModelResponse(parts=parts, usage=said.usage, model_name=said.model_name, timestamp=_THEN)


def _changed(outcome: Outcome, change: Callable[[str], str]) -> Outcome:
    """With every text of its answer changed so."""
    if not isinstance(outcome, ModelAnswer):
        return outcome
    [plain] = ModelMessagesTypeAdapter.dump_python([outcome.response], mode="json")
    [response] = ModelMessagesTypeAdapter.validate_python([{**plain, "parts": _walked(plain["parts"], change)}])
    assert isinstance(response, ModelResponse)
    return replace(outcome, response=response)


def _walked(value: Any, change: Callable[[str], str]) -> Any:
    match value:
        case str():
            return change(value)
        case dict():
            return {key: _walked(inner, change) for key, inner in value.items()}
        case list():
            return [_walked(inner, change) for inner in value]
        case _:
            return value


def _texts(value: Any) -> list[str]:
    found: list[str] = []

    def keep(text: str) -> str:
        found.append(text)
        return text

    _walked(value, keep)
    return found
