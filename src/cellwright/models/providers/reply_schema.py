"""Tools and answers as one JSON object, for models whose tool calls cannot be relied on.

The model is held to `{"reply": {"tool": …, "arguments": …}}` or `{"reply": {"answer": …}}`, and its history is told to
it in the same form. All of it is pure: a schema and messages out, a text in, parts back.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final, cast

from pydantic_ai.messages import (
    ModelMessage,
    ModelRequest,
    ModelRequestPart,
    ModelResponse,
    ModelResponsePart,
    TextPart,
    ThinkingPart,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)
from pydantic_ai.tools import ToolDefinition
from pydantic_core import from_json

from cellwright.models.providers.failures import BrokenAnswer

Schema = dict[str, Any]

TEXT: Final[Schema] = {"type": "string"}
"""An answer without a shape."""
LONGEST_STRING: Final = 2000
"""Limit of characters of a tool's argument. Small models repeat themselves for ever unless something stops them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """What the model may reply with."""

    tools: tuple[ToolDefinition, ...]
    answer: Schema | None
    """The shape of an answer; None: it must use a tool."""

    @property
    def is_free(self) -> bool:
        """An answer is any text."""
        return self.answer is TEXT

    @property
    def schema(self) -> Schema:
        """One object with one of the options in it."""
        definitions = Schema()
        choices = [_call(tool, definitions) for tool in self.tools]
        if self.answer is not None:
            choices.append(_closed(answer=_own(self.answer, "answer", definitions)))
        reply = choices[0] if len(choices) == 1 else {"anyOf": choices}
        schema = _closed(reply=reply)
        return {**schema, "$defs": definitions} if definitions else schema

    @property
    def instructions(self) -> str:
        """What the model is told about it."""
        lines = ["Reply with one JSON object and nothing else."]
        if self.answer is not None:
            lines.append('To answer: {"reply": {"answer": …}}')
        if self.tools:
            lines.append('To use a tool: {"reply": {"tool": NAME, "arguments": {…}}}. Tools:')
        for tool in self.tools:
            arguments = json.dumps(tool.parameters_json_schema.get("properties", {}), ensure_ascii=False)
            lines.append(f"- {tool.name}: {tool.description or ''} Arguments: {arguments}")
        return "\n".join(lines)


def options(tools: Sequence[ToolDefinition], answer: Schema | None, tool_choice: object) -> Options:
    """What is left of the tools and the answer under a `tool_choice`."""
    shape = TEXT if answer is None else answer
    match tool_choice:
        case "none":
            return Options(tools=(), answer=shape)
        case "required":
            return Options(tools=tuple(tools), answer=None)
        case list() | tuple():
            chosen = tuple(tool for tool in tools if tool.name in cast("Sequence[str]", tool_choice))
            return Options(tools=chosen, answer=None if chosen else shape)
        case _:
            return Options(tools=tuple(tools), answer=shape)


def rewrite_history(messages: Sequence[ModelMessage]) -> list[ModelMessage]:
    """The conversation so far in the form the model is held to: without tool calls and their results."""
    return [
        replace(message, parts=[_asked(part) for part in message.parts])
        if isinstance(message, ModelRequest)
        else replace(message, parts=[_replied(part) for part in message.parts if not isinstance(part, ThinkingPart)])
        for message in messages
    ]


def parts_of(response: ModelResponse, options: Options) -> list[ModelResponsePart]:
    """What the model's JSON says, as parts. Raises `BrokenAnswer`."""
    others = [part for part in response.parts if not isinstance(part, TextPart)]
    text = "".join(part.content for part in response.parts if isinstance(part, TextPart))
    reply = _reply(text, was_cut=response.finish_reason == "length")
    if "answer" in reply and options.answer is not None:
        answer = reply["answer"]
        is_text = options.is_free and isinstance(answer, str)
        return [*others, TextPart(answer if is_text else json.dumps(answer, ensure_ascii=False))]
    name, arguments = reply.get("tool"), reply.get("arguments")
    if name not in [tool.name for tool in options.tools] or not isinstance(arguments, dict):
        raise BrokenAnswer("the model was to use a tool or answer, and did neither")
    if _has_cut_string(arguments):
        raise BrokenAnswer(f"an argument is longer than {LONGEST_STRING} characters")
    return [*others, ToolCallPart(tool_name=str(name), args=json.dumps(arguments, ensure_ascii=False))]


@dataclass(slots=True)
class AnswerText:
    """The text inside `{"reply": {"answer": "…` while it is still being written."""

    _json: str = field(default="", init=False)
    _emitted: int = field(default=0, init=False)

    def feed(self, piece: str) -> str:
        """What has become readable with this piece."""
        self._json += piece
        try:
            match from_json(self._json, allow_partial="trailing-strings"):
                case {"reply": {"answer": str(answer)}}:
                    emitted, self._emitted = self._emitted, len(answer)
                    return answer[emitted:]
                case _:
                    return ""
        except ValueError:
            return ""


def _reply(text: str, *, was_cut: bool) -> Mapping[str, Any]:
    text = text.strip().removeprefix("```json").removeprefix("```").removesuffix("```")
    try:
        value: object = from_json(text, allow_partial="trailing-strings" if was_cut else False)
    except ValueError:
        raise BrokenAnswer("the answer should be JSON, but it does not parse") from None
    reply = cast("dict[str, Any]", value).get("reply", value) if isinstance(value, dict) else None
    if not isinstance(reply, dict):
        raise BrokenAnswer("the answer should be a JSON object")
    found = cast("dict[str, Any]", reply)
    if was_cut and not isinstance(found.get("answer"), str):
        raise BrokenAnswer("it was cut off by max_tokens")
    return found


def _asked(part: ModelRequestPart) -> ModelRequestPart:
    if isinstance(part, ToolReturnPart):
        text, files = part.model_response_str_and_user_content()
        result = f"Result of {part.tool_name}:\n{text}"
        return UserPromptPart(content=[result, *files] if files else result, timestamp=part.timestamp)
    return part


def _replied(part: ModelResponsePart) -> ModelResponsePart:
    match part:
        case ToolCallPart():
            reply = {"tool": part.tool_name, "arguments": part.args_as_dict()}
        case TextPart():
            reply = {"answer": part.content}
        case _:
            return part
    return TextPart(json.dumps({"reply": reply}, ensure_ascii=False))


def _call(tool: ToolDefinition, definitions: Schema) -> Schema:
    arguments = _own(tool.parameters_json_schema, tool.name, definitions)
    return _closed(tool={"type": "string", "enum": [tool.name]}, arguments=arguments)


def _closed(**properties: Any) -> Schema:
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


def _own(schema: Mapping[str, Any], owner: str, definitions: Schema) -> Schema:
    """A copy with bounded strings, its definitions moved to the common ones under names of their own."""

    def copied(value: Any) -> Any:
        if isinstance(value, list):
            return [copied(inner) for inner in cast("list[Any]", value)]
        if not isinstance(value, dict):
            return value
        found = {key: copied(inner) for key, inner in cast("Schema", value).items() if key != "$defs"}
        reference = found.get("$ref")
        if isinstance(reference, str) and reference.startswith("#/$defs/"):
            found["$ref"] = f"#/$defs/{owner}.{reference.removeprefix('#/$defs/')}"
        if found.get("type") == "string" and owner != "answer" and not found.keys() & _BOUNDED:
            found["maxLength"] = LONGEST_STRING
        return found

    for name, definition in schema.get("$defs", {}).items():
        definitions[f"{owner}.{name}"] = copied(definition)
    return copied(schema)


_BOUNDED: Final = frozenset({"maxLength", "enum", "const", "pattern", "format"})


def _has_cut_string(value: object) -> bool:
    """Whether a string is exactly as long as we let it become: it would have gone on."""
    match value:
        case str():
            return len(value) == LONGEST_STRING
        case dict():
            return any(_has_cut_string(inner) for inner in cast("Schema", value).values())
        case list():
            return any(_has_cut_string(inner) for inner in cast("list[object]", value))
        case _:
            return False
