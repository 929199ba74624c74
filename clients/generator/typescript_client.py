"""The TypeScript client's calls; its shapes are openapi-typescript's."""

from __future__ import annotations

import json
import re
from typing import Any

from clients.generator.operations import Operation, Parameter, Schema, operations_of

_HEAD = """/** What can be asked: each function gives a call, which a client sends. Made by `make types`. */

import { type Call, type File, type Stream, call, file, stream } from "./call.ts";
import type { components } from "./schema.ts";

type Schemas = components["schemas"];
/** What is left out is as the server has it by itself. */
type Sent<Shape, Needed extends keyof Shape> = Pick<Shape, Needed> & Partial<Omit<Shape, Needed>>;
"""
_SIMPLE = {"string": "string", "integer": "number", "number": "number", "boolean": "boolean", "null": "null"}


def typescript_calls(document: dict[str, Any]) -> str:
    """The module with a function for each operation."""
    schemas: dict[str, Schema] = document["components"]["schemas"]
    return _HEAD + "".join(_call(each, schemas) for each in operations_of(document))


def _call(operation: Operation, schemas: dict[str, Schema]) -> str:
    takes = [f"{each.name}: {_type(each.schema)}" for each in operation.in_path]
    gives = [json.dumps(operation.method), _path(operation)]
    if operation.body is not None:
        kind = _sent(operation.body, schemas) if operation.body else "Blob"
        takes.append(f"body: {kind}" if operation.is_body_needed else f"body: {kind} | undefined = undefined")
    if operation.in_query:
        parts = "; ".join(_query_parameter(each) for each in operation.in_query)
        is_needed = any(each.is_needed for each in operation.in_query)
        takes.append(f"query: {{ {parts} }}{'' if is_needed else ' = {}'}")
    if operation.in_query or operation.body is not None:
        given = [
            name for name, is_there in (("body", operation.body is not None), ("query", operation.in_query)) if is_there
        ]
        gives.append(f"{{ {', '.join(given)} }}")
    shape = {"json": f"Call<{_type(operation.shape)}>" if operation.shape else "", "stream": "Stream", "file": "File"}
    maker = {"json": "call", "stream": "stream", "file": "file"}[operation.answer]
    return (
        f"\n/** {operation.summary}. */\n"
        f"export function {_camel(operation.name)}({', '.join(takes)}): {shape[operation.answer]} {{\n"
        f"  return {maker}({', '.join(gives)});\n}}\n"
    )


def _query_parameter(parameter: Parameter) -> str:
    kind = _type(parameter.schema)
    return f"{parameter.name}: {kind}" if parameter.is_needed else f"{parameter.name}?: {kind} | undefined"


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


def _sent(schema: Schema, schemas: dict[str, Schema]) -> str:
    """The type of a body: fields with a default are there when it is answered, and need not be sent."""
    match schema:
        case {"anyOf": list(options)} | {"oneOf": list(options)}:
            return " | ".join(_sent(each, schemas) for each in options)
        case {"$ref": str(name)}:
            shape = schemas[name.rpartition("/")[2]]
            needed = shape.get("required", [])
            if set(needed) == set(shape.get("properties", {})):
                return _type(schema)
            return f"Sent<{_type(schema)}, {' | '.join(json.dumps(each) for each in needed) or 'never'}>"
        case _:
            return _type(schema)


def _camel(name: str) -> str:
    return re.sub(r"_(\w)", lambda found: found[1].upper(), name)
