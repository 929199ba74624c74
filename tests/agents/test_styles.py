"""Action styles: what the role says counts, then what its model can do; and answers are read alike in all of them."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic_ai.messages import ModelResponse, TextPart, ToolCallPart

from cellwright.agents.role import StyleName
from cellwright.agents.styles import (
    ModelReply,
    Style,
    choose_style,
    offered_tools,
    parse_reply,
    program_tools,
)
from cellwright.models import Ability
from cellwright.tools.tool import Toolset, tool
from tests.agents.driver import a_role, finish


@tool()
async def look() -> str:
    """Look."""
    return "seen"


@tool()
async def run_program(code: str) -> str:
    """Run a program over the tools."""
    return code


TOOLS = Toolset([look, run_program, finish])


@pytest.mark.parametrize(
    ("said", "abilities", "has_programs", "style"),
    [
        ("auto", ("tools", "reasoning"), True, "code"),
        ("auto", ("tools", "reasoning"), False, "tools"),
        ("auto", ("tools",), True, "tools"),
        ("auto", ("schema",), True, "one-call"),
        ("auto", (), True, "one-call"),
        ("tools", (), True, "tools"),
        ("one-call", ("tools", "reasoning"), True, "one-call"),
        ("code", (), True, "code"),
        ("code", (), False, "tools"),
    ],
)
def test_the_style_follows_from_role_and_model(
    said: StyleName, abilities: tuple[Ability, ...], has_programs: bool, style: Style
) -> None:
    assert choose_style(abilities, a_role(style=said), has_programs=has_programs) == style


def test_in_code_mode_only_programs_and_the_end_are_called() -> None:
    assert offered_tools(TOOLS, "code").names == ("run_program", "finish")
    assert program_tools(TOOLS).names == ("look",)
    assert offered_tools(TOOLS, "tools").names == ("look", "finish")


def test_answers_are_read_into_calls_with_ids_of_our_own() -> None:
    call = ToolCallPart(tool_name="look", args="{}", tool_call_id="same")
    reading = parse_reply(ModelResponse(parts=[TextPart("Two looks."), call, call]), step=3, style="tools", tools=TOOLS)
    assert [each.id for each in reading.calls] == ["s3c1", "s3c2"]
    assert (reading.said, reading.note) == ("Two looks.", "")


def test_words_nothing_and_half_an_answer_are_told_apart() -> None:
    def read(text: str, **more: Any) -> ModelReply:
        response = ModelResponse(parts=[TextPart(text)] if text else [], **more)
        return parse_reply(response, step=1, style="tools", tools=TOOLS)

    assert read("It is so.") == ModelReply(said="It is so.")
    assert "was empty" in read("").note
    cut = read("It is", finish_reason="length")
    assert not cut.calls and "cut off" in cut.note


@tool()
async def apply(edits: list[dict[str, str]]) -> str:
    """Change cells."""
    return str(edits)


def test_code_that_is_written_down_instead_of_called_becomes_cells_or_a_program() -> None:
    said = "First:\n```python\nx = 1\n```\nThen, as a note:\n```\nno code\n```\n```py\nx + 1\n```"
    answer = ModelResponse(parts=[TextPart(said)])
    cells = parse_reply(answer, step=2, style="one-call", tools=Toolset([look, apply, finish]))
    [call] = cells.calls
    made = {"edits": [{"op": "create", "code": "x = 1"}, {"op": "create", "code": "x + 1"}]}
    assert (call.id, call.name, call.arguments) == ("s2c1", "apply", made)
    [call] = parse_reply(answer, step=2, style="code", tools=Toolset([run_program, finish])).calls
    assert (call.name, call.arguments) == ("run_program", {"code": "x = 1\n\nx + 1"})
    # Whoever can neither change cells nor run programs has only said something.
    assert parse_reply(answer, step=2, style="tools", tools=Toolset([look, finish])) == ModelReply(said=said)
    cut = ModelResponse(parts=[TextPart(said)], finish_reason="length")
    assert parse_reply(cut, step=2, style="tools", tools=Toolset([apply, finish])).calls == ()
