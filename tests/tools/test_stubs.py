"""Tools as Python: the stubs a model reads and programs are checked against."""

from __future__ import annotations

import ast

import pytest
from hypothesis import given
from hypothesis import strategies as some
from inline_snapshot import snapshot

from cellwright.errors import UserError
from cellwright.tools.stubs import ToolSignature, short_schema, stubs

APPLY = ToolSignature(
    name="apply",
    description='Change cells and run them.\n\nOne call for all edits: "quotes" and \\ are kept.',
    parameters={
        "type": "object",
        "properties": {
            "note": {"anyOf": [{"type": "string"}, {"type": "null"}], "default": None, "description": "why"},
            "edits": {"type": "array", "items": {"$ref": "#/$defs/Edit"}, "description": "what to change"},
            "mode": {"enum": ["run", "keep"], "default": "run"},
        },
        "required": ["edits"],
        "additionalProperties": False,
        "$defs": {
            "Edit": {
                "type": "object",
                "properties": {
                    "cell": {"type": "string"},
                    "code": {"type": ["string", "null"]},
                    "then": {"$ref": "#/$defs/Edit"},
                },
                "required": ["cell"],
            }
        },
    },
    returns={
        "type": "object",
        "properties": {"cells": {"type": "object", "additionalProperties": {"type": "number"}}, "at-once": {}},
        "required": ["cells"],
    },
)


def test_a_tool_is_a_typed_function_with_its_words() -> None:
    assert stubs([APPLY, ToolSignature(name="finish")]) == snapshot('''\
from typing import Any, Literal, NotRequired, TypedDict

class Edit(TypedDict):
    cell: str
    code: NotRequired[str | None]
    then: NotRequired[Edit]

ApplyResult = TypedDict('ApplyResult', {'cells': 'dict[str, float]', 'at-once': 'NotRequired[Any]'})

async def apply(edits: list[Edit], note: str | None = None, mode: Literal['run', 'keep'] = 'run') -> ApplyResult:
    """Change cells and run them.

    One call for all edits: "quotes" and \\\\ are kept.
    note: why
    edits: what to change
    """
    ...

async def finish(**others: Any) -> Any:
    ...
''')


@pytest.mark.parametrize("name", ["2nd", "a b", "class", "print", "__import__", "ünicode", "x\ny", ""])
def test_a_tool_needs_a_name_python_has_not_taken(name: str) -> None:
    with pytest.raises(UserError):
        ToolSignature(name=name)


def test_a_parameter_needs_a_name_too() -> None:
    with pytest.raises(UserError, match="no name for a parameter"):
        ToolSignature(name="look", parameters={"properties": {"a-b": {}}})


json_values = some.recursive(
    some.none() | some.booleans() | some.integers() | some.text(max_size=8),
    lambda inner: some.lists(inner, max_size=3) | some.dictionaries(some.text(max_size=6), inner, max_size=3),
    max_leaves=12,
)
statements = ast.ImportFrom | ast.ClassDef | ast.Assign | ast.AsyncFunctionDef
keys = ["type", "properties", "items", "anyOf", "enum", "const", "$ref", "required", "additionalProperties", "default"]
words_of_schemas = json_values | some.sampled_from(["object", "array", "integer"])
schemas = some.dictionaries(some.sampled_from([*keys, "description"]), words_of_schemas)


@given(schemas, schemas, some.text(max_size=40))
def test_any_schema_and_any_words_give_valid_python(parameter: object, returns: dict[str, object], words: str) -> None:
    tool = ToolSignature(
        name="look",
        description=words,
        parameters={"type": "object", "properties": {"cell": parameter}, "required": ["cell"]},
        returns=returns,
    )
    tree = ast.parse(stubs([tool]))
    (function,) = [node for node in tree.body if isinstance(node, ast.AsyncFunctionDef)]
    assert function.name == "look"
    assert all(isinstance(node, statements) for node in tree.body)


def test_a_schema_in_a_request_has_no_bounds_and_refers_to_no_shape_that_is_used_once() -> None:
    once = {"type": "object", "properties": {"name": {"type": "string", "maxLength": 9}}, "additionalProperties": False}
    itself = {"type": "object", "properties": {"then": {"$ref": "#/$defs/Itself"}}}
    shape = {
        "type": "object",
        "properties": {
            "bird": {"$ref": "#/$defs/Bird", "description": "one"},
            "first": {"$ref": "#/$defs/Itself"},
            "default": {"anyOf": [{"type": "integer"}, {"type": "null"}], "default": None},
        },
        "additionalProperties": False,
        "$defs": {"Bird": once, "Itself": itself, "Alone": {"properties": {"more": {"$ref": "#/$defs/Alone"}}}},
    }
    assert short_schema(shape) == {
        "type": "object",
        "properties": {
            "bird": {"type": "object", "properties": {"name": {"type": "string"}}, "description": "one"},
            "first": {"$ref": "#/$defs/Itself"},
            "default": {"type": "integer"},
        },
        "$defs": {"Itself": itself},
    }
