"""The TypeScript client's calls; its shapes are openapi-typescript's."""

from __future__ import annotations

import json
import re
from typing import Any

from clients.generator.operations import Operation, Schema, operations_of

_HEAD = """/** What can be asked: each function gives a call, which a client sends. Made from the API's document by `make types`. */

import { type Call, type File, type Stream, call, file, stream } from "./call.ts";
import type { components } from "./schema.ts";

type Schemas = components["schemas"];
"""
_SIMPLE = {"string": "string", "integer": "number", "number": "number", "boolean": "boolean", "null": "null"}


def typescript_calls(document: dict[str, Any]) -> str:
    """The module with a function for each operation."""
    return _HEAD + "".join(_call(each) for each in operations_of(document))


def _call(operation: Operation) -> str:
    takes = [f"{each.name}: {_type(each.schema)}" for each in operation.in_path]
    gives = [json.dumps(operation.method), _path(operation)]
    if operation.body is not None:
        kind = _type(operation.body) if operation.body else "Blob"
        takes.append(f"body{'' if operation.is_body_needed else '?'}: {kind}")
    if operation.in_query:
        parts = "; ".join(f"{each.name}{'' if each.is_needed else '?'}: {_type(each.schema)}" for each in operation.in_query)
        is_needed = any(each.is_needed for each in operation.in_query)
        takes.append(f"query: {{ {parts} }}{'' if is_needed else ' = {}'}")
    if operation.in_query or operation.body is not None:
        given = [name for name, is_there in (("body", operation.body is not None), ("query", operation.in_query)) if is_there]
        gives.append(f"{{ {', '.join(given)} }}")
    shape = {"json": f"Call<{_type(operation.shape)}>" if operation.shape else "", "stream": "Stream", "file": "File"}
    maker = {"json": "call", "stream": "stream", "file": "file"}[operation.answer]
    return (
        f"\n/** {operation.summary}. */\n"
        f"export function {_camel(operation.name)}({', '.join(takes)}): {shape[operation.answer]} {{\n"
        f"  return {maker}({', '.join(gives)});\n}}\n"
    )


def _path(operation: Operation) -> str:
    if not operation.in_path:
        return json.dumps(operation.path)
    filled = re.sub(r"{(\w+)}", lambda found: f"${{encodeURIComponent({found[1]})}}", operation.path)
    return f"`{filled}`"


def _type(schema: Schema) -> str:
    match schema:
        case {"$ref": str(name)}:
            return f"Schemas[{json.dumps(name.rpartition('/')[2])}]"
        case {"enum": list(values)}:
            return " | ".join(json.dumps(each) for each in values)
        case {"anyOf": list(options)} | {"oneOf": list(options)}:
            return " | ".join(_type(each) for each in options)
        case {"type": str(kind)} if kind in _SIMPLE:
            return _SIMPLE[kind]
        case _:
            raise ValueError(f"No type for {schema}.")



def _camel(name: str) -> str:
    return re.sub(r"_(\w)", lambda found: found[1].upper(), name)
