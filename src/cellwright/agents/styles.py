"""How an agent acts: calls of tools, one call at a time, or a program over the same tools; and reading its answers.

Models without dependable tool calls are made to look like callers by the gateway; they get one call per answer.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection
from dataclasses import dataclass
from typing import Any, Final, Literal

from pydantic_ai.messages import ModelResponse, TextPart, ToolCallPart

from cellwright.agents.catalogue import PROGRAM, USE, others
from cellwright.agents.role import Role
from cellwright.journal.values import Json
from cellwright.models import Ability
from cellwright.tools.notebook_tools import TRY
from cellwright.tools.tool import ToolCall, Toolset

Style = Literal["tools", "one-call", "code"]

FINISH: Final = "finish"
READINGS: Final = "compare_readings"
_ALWAYS_CALLED: Final = frozenset({PROGRAM, FINISH, READINGS, USE, "plan", "ask_person"})
"""What is called, not programmed, in code mode: it waits for a person, ends the work or tells how to go on."""
_CODE: Final = re.compile(r"```(?:python|py)[^\S\n]*\n(.*?)```", flags=re.DOTALL)
_CUT_OFF: Final = "Your answer was cut off at the longest there may be. Say less, or do it in several steps."


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelReply:
    """What an answer of a model means: calls to be made; else only words, or with a note nothing that can be done."""

    said: str
    calls: tuple[ToolCall, ...] = ()
    note: str = ""
    """One line for the model: calls that were left out, or why nothing can be done."""


def choose_style(abilities: Collection[Ability], role: Role, *, has_programs: bool) -> Style:
    """How this role acts with a model of these abilities.

    What the role says counts, unless there is nothing to run programs with. A model without dependable calls gets one
    at a time; the others write programs where they can, which takes fewer turns.
    """
    match role.style:
        case "tools" | "one-call":
            return role.style
        case "code":
            return "code" if has_programs else "tools"
        case "auto":
            if "tools" not in abilities:
                return "one-call"
            return "code" if has_programs and "reasoning" in abilities else "tools"


def offered_tools(toolset: Toolset, style: Style) -> Toolset:
    """The tools a model may call in this style; in code mode the others are there for its programs."""
    if style == "code":
        return toolset.only(_ALWAYS_CALLED)
    # Who may change cells tries code by changing them.
    tried = {TRY} if "apply" in toolset else set[str]()
    return toolset.without({PROGRAM, *tried, *others(toolset).names})


def program_tools(toolset: Toolset) -> Toolset:
    """The tools programs may call."""
    return toolset.without(_ALWAYS_CALLED | {TRY})


def listed_tools(toolset: Toolset, style: Style) -> Toolset:
    """Those that are told by a line each."""
    return others(toolset).without(_ALWAYS_CALLED if style == "code" else ())


def parse_reply(response: ModelResponse, *, step: int, style: Style, tools: Toolset) -> ModelReply:
    """What the model wants. Calls are named by step and place: a provider's own ids may repeat or be missing.

    Whether a call can be made is for whoever makes it to say: a wrong one is answered like any other.
    """
    said = reply_text(response)
    wanted = [part for part in response.parts if isinstance(part, ToolCallPart)]
    if not wanted:
        if response.finish_reason != "length" and (call := _written_call(said, step, tools)) is not None:
            return ModelReply(said=said, calls=(call,))
        if said and response.finish_reason != "length":
            return ModelReply(said=said)
        empty = f"Your answer was empty. Call one of: {', '.join(tools.names)}."
        return ModelReply(said=said, note=_CUT_OFF if said else empty)
    calls: list[ToolCall] = []
    for place, part in enumerate(wanted, 1):
        arguments: Any = part.args if isinstance(part.args, (str, dict)) else {}
        calls.append(ToolCall(id=f"s{step}c{place}", name=part.tool_name, arguments=arguments))
    finish = next((place for place, call in enumerate(calls, 1) if call.name == FINISH), len(calls))
    kept = calls[: 1 if style == "one-call" else finish]
    note = _CUT_OFF if response.finish_reason == "length" else ""
    if len(kept) < len(calls):
        left = ", ".join(call.name for call in calls[len(kept) :])
        why = "one call at a time" if style == "one-call" else "nothing comes after finish"
        note = f"Not done ({why}): {left}."
    return ModelReply(said=said, calls=tuple(kept), note=note)


def _written_call(said: str, step: int, tools: Toolset) -> ToolCall | None:
    """Code that a model wrote down instead of calling: a program where it writes those, else cells."""
    blocks = [block.strip("\n") for block in _CODE.findall(said) if block.strip()]
    if not blocks or FINISH not in tools:
        return None
    if PROGRAM in tools:
        return ToolCall(id=f"s{step}c1", name=PROGRAM, arguments={"code": "\n\n".join(blocks)})
    if "apply" in tools:
        edits: Json = [{"op": "create", "code": block} for block in blocks]
        return ToolCall(id=f"s{step}c1", name="apply", arguments={"edits": edits})
    return None


def reply_text(response: ModelResponse) -> str:
    """The words of an answer."""
    return "\n".join(part.content for part in response.parts if isinstance(part, TextPart)).strip()


def arguments_text(call: ToolCall) -> str:
    """A call's arguments as JSON text."""
    return call.arguments if isinstance(call.arguments, str) else json.dumps(call.arguments, ensure_ascii=False)
