"""Trying what a model can do: one trivial tool call, and one trivial answer of a given shape."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager
from datetime import UTC, datetime
from typing import Any, Final, Protocol, cast

from pydantic_ai.messages import ModelRequest, ModelResponse, ModelResponseStreamEvent, ToolCallPart
from pydantic_ai.tools import ToolDefinition

from cellwright.models.calls import Failing, OutputSchema, Request
from cellwright.models.catalogue import Probed
from cellwright.models.failing import failure_of

__all__ = ["AskAs", "Probed", "probe"]

_NUMBER: Final = 42
_SHAPE: Final[dict[str, Any]] = {
    "type": "object",
    "properties": {"number": {"type": "integer"}},
    "required": ["number"],
    "additionalProperties": False,
}
_TOOL: Final = ToolDefinition(name="note_number", description="Notes a number.", parameters_json_schema=_SHAPE)
_SETTINGS: Final[dict[str, Any]] = {"max_tokens": 512, "temperature": 0}
_TELLING: Final[frozenset[Failing]] = frozenset({"rejected", "broken-answer", "not-found"})
"""Failures that say something about the model rather than about its endpoint."""

CALL: Final = Request(
    messages=[ModelRequest.user_text_prompt(f"Call the tool note_number with the number {_NUMBER}.")],
    tools=[_TOOL],
    settings=_SETTINGS,
)
SHAPE: Final = Request(
    messages=[ModelRequest.user_text_prompt(f'Answer with the JSON {{"number": {_NUMBER}}} and nothing else.')],
    output=OutputSchema(name="number", schema=_SHAPE),
    settings=_SETTINGS,
)


class AskAs(Protocol):
    """Asks one model as if it could do this: `Providers.ask_as`, bound to a model and its key."""

    def __call__(
        self, request: Request, *, tools: bool, schema: bool
    ) -> AbstractAsyncContextManager[AsyncIterator[ModelResponseStreamEvent | ModelResponse]]:
        """The answer."""
        ...


async def probe(ask: AskAs, now: Callable[[], datetime] = lambda: datetime.now(UTC)) -> Probed:
    """What the model did. Raises whatever kept it from doing anything at all: that says nothing about it."""
    return Probed(tools=await _calls(ask), schema=await _keeps_to(ask), at=now().isoformat(timespec="seconds"))


async def _calls(ask: AskAs) -> bool:
    response = await _answer(ask, CALL, tools=True, schema=False)
    calls = [part for part in response.parts if isinstance(part, ToolCallPart)] if response else []
    return len(calls) == 1 and calls[0].tool_name == _TOOL.name and _is_right(calls[0].args)


async def _keeps_to(ask: AskAs) -> bool:
    response = await _answer(ask, SHAPE, tools=False, schema=True)
    return response is not None and _is_right(response.text)


async def _answer(ask: AskAs, request: Request, *, tools: bool, schema: bool) -> ModelResponse | None:
    response: ModelResponse | None = None
    try:
        async with ask(request, tools=tools, schema=schema) as told:
            async for event in told:
                if isinstance(event, ModelResponse):
                    response = event
    except Exception as error:
        if failure_of(error)[0] not in _TELLING:
            raise
        return None
    return response


def _is_right(told: object) -> bool:
    """Whether it is the number; models also write it as 42.0 or as text, which the shape forbids."""
    try:
        value: object = json.loads(told) if isinstance(told, str) else told
    except ValueError:
        return False
    number = cast("dict[str, object]", value).get("number") if isinstance(value, dict) else None
    return number == _NUMBER and isinstance(number, int)
