"""A tool is a typed function: schema, documentation and errors come from its signature."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated, Any, Literal

import pytest
from inline_snapshot import snapshot
from pydantic import BaseModel, Field

from cellwright.errors import Defect
from cellwright.tools.stubs import stubs
from cellwright.tools.tool import (
    CallContext,
    Done,
    Refusal,
    ToolError,
    ToolResult,
    Toolset,
    as_result,
    parse_result,
    result_json,
    result_text,
    tool,
)


class Bird(BaseModel):
    name: str
    grams: float = 0


@tool(changes=True)
async def note_birds(
    calling: CallContext,
    birds: list[Bird],
    where: Annotated[str, Field(description="A place.")] = "garden",
    kind: Literal["seen", "heard"] = "seen",
) -> ToolResult:
    """Note birds.

    Each is counted once.
    """
    return Done(text=f"{calling.call.id}: {len(birds)} birds {kind} in the {where}")


@tool()
async def count() -> int:
    """Count."""
    return 3


def test_the_schema_is_the_signature_without_what_the_model_is_not_asked_for() -> None:
    assert note_birds.parameters == snapshot(
        {
            "$defs": {
                "Bird": {
                    "properties": {"name": {"type": "string"}, "grams": {"default": 0, "type": "number"}},
                    "required": ["name"],
                    "type": "object",
                }
            },
            "additionalProperties": False,
            "properties": {
                "birds": {"items": {"$ref": "#/$defs/Bird"}, "type": "array"},
                "where": {"default": "garden", "description": "A place.", "type": "string"},
                "kind": {"default": "seen", "enum": ["seen", "heard"], "type": "string"},
            },
            "required": ["birds"],
            "type": "object",
        }
    )
    assert note_birds.changes
    assert note_birds.description == "Note birds.\n\nEach is counted once."


def test_stubs_are_derived_and_leave_out_what_no_program_can_call() -> None:
    dotted = replace(count, name="mcp.count")
    assert stubs(Toolset([note_birds, count, dotted]).signatures()) == snapshot('''\
from typing import Any, Literal, NotRequired, TypedDict

class Bird(TypedDict):
    name: str
    grams: NotRequired[float]

async def note_birds(birds: list[Bird], where: str = 'garden', kind: Literal['seen', 'heard'] = 'seen') -> Any:
    """Note birds.

    Each is counted once.
    where: A place.
    """
    ...

async def count() -> Any:
    """Count.
    """
    ...
''')


def test_a_provider_gets_the_schema_without_what_it_need_not_know() -> None:
    [definition] = Toolset([count]).definitions()
    assert (definition.name, definition.description) == ("count", "Count.")
    assert {**definition.parameters_json_schema, "additionalProperties": False} == count.parameters


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        ({"birds": [{"grams": 3}]}, "note_birds: birds.0.name: Field required."),
        ({"birds": [], "colour": "red"}, "note_birds: colour: Extra inputs are not permitted."),
        ({"birds": [], "kind": "eaten"}, "note_birds: kind: Input should be 'seen' or 'heard'."),
        ("{birds: []}", "note_birds: the arguments are no JSON"),
        ([1], "note_birds: the arguments are a list, not an object."),
    ],
)
def test_wrong_arguments_are_a_value_with_one_line_about_what_is_wrong(arguments: Any, complaint: str) -> None:
    error = note_birds.parse(arguments)
    assert isinstance(error, ToolError)
    assert error.kind == "bad-arguments"
    assert complaint in error.message
    assert "\n" not in error.message
    assert error.hint.startswith("It takes (birds: list[Bird]")


def test_arguments_may_come_as_the_text_a_model_wrote() -> None:
    parsed: Any = note_birds.parse('{"birds": [{"name": "wren"}]}')
    assert parsed.birds == [Bird(name="wren")]
    assert not isinstance(count.parse(""), ToolError)
    assert not isinstance(count.parse(None), ToolError)


def test_an_unknown_tool_is_an_error_that_names_the_nearest() -> None:
    assert Toolset([note_birds, count]).get("cuont") == ToolError(
        kind="unknown-tool", message="There is no tool 'cuont'.", hint="There is: count."
    )


def test_a_role_gets_only_its_tools() -> None:
    tools = Toolset([note_birds, count])
    assert tools.only(["count"]).names == ("count",)
    assert tools.only(["fly"]).names == ()
    assert tools.without(["count"]).names == ("note_birds",)
    with pytest.raises(Defect, match="same name"):
        Toolset([count, count])


@pytest.mark.parametrize(
    "result",
    [
        Done(text="x", value={"a": [1, None]}, image=b"\x89PNG\x00\xff", is_untrusted=True, ends=True),
        Done(text=""),
        Refusal(feedback="no"),
        ToolError(kind="too-big", message="m", hint="h"),
    ],
)
def test_a_result_is_the_same_after_the_journal_kept_it(result: ToolResult) -> None:
    assert parse_result(result_json(result)) == result
    assert isinstance(result_text(result), str)


def test_what_a_function_gives_back_becomes_a_result() -> None:
    assert as_result("text") == Done(text="text", value="text")
    assert as_result({"a": 1}) == Done(text='{\n "a": 1\n}', value={"a": 1})
    with pytest.raises(Defect, match="no JSON"):
        as_result(object())


def test_closures_make_tools_of_their_own() -> None:
    def make(word: str) -> object:
        @tool(name=f"say_{word}")
        async def say(times: int = 1) -> str:
            """Say it."""
            return word * times

        return say

    assert make("hello") != make("bye")
