"""The Python client's shapes and calls."""

from __future__ import annotations

import json
import textwrap
from typing import Any

from clients.generator.operations import Operation, Parameter, Schema, names_below, operations_of

_SIMPLE = {"string": "str", "integer": "int", "number": "float", "boolean": "bool", "null": "None"}
_TOLD = '"""{}\n\nMade from the API\'s document by `make types`; not edited by hand.\n"""\n'
_FUTURE = "\nfrom __future__ import annotations\n\n"


def python_shapes(document: dict[str, Any]) -> str:
    """The module of bodies, sent and received."""
    schemas: dict[str, Schema] = document["components"]["schemas"]
    sent = names_below(document, [each.body for each in operations_of(document)])
    head = _TOLD.format("What is sent and answered, as values.") + _FUTURE
    head += "from typing import Any, Literal\n\nfrom pydantic import ConfigDict\n\n"
    head += "from cellwright_client.shape import Shape\n"
    return head + "".join(_shape(name, schema, name in sent) for name, schema in sorted(schemas.items()))


def python_calls(document: dict[str, Any]) -> str:
    """The module with a function for each operation."""
    operations = operations_of(document)
    head = _TOLD.format("What can be asked: each function gives a call, which a `Client` sends.") + _FUTURE
    head += "from typing import Literal\n\nfrom cellwright_client import shapes\n"
    head += "from cellwright_client.call import Call, File, Stream, path_of\n"
    return head + "".join(_call(each) for each in operations)


def _shape(name: str, schema: Schema, is_sent: bool) -> str:
    needed = schema.get("required", [])
    fields = sorted(schema.get("properties", {}).items(), key=lambda each: each[0] not in needed)
    lines = [f'"""{textwrap.fill(schema.get("description", name), 110, subsequent_indent="    ")}"""', ""]
    if schema.get("additionalProperties") is True:
        lines += ['model_config = ConfigDict(extra="allow", frozen=True, defer_build=True)', ""]
    lines += [_field(field, inside, field in needed, is_sent) for field, inside in fields]
    return f"\n\nclass {_class(name)}(Shape):\n" + "".join(f"    {line}".rstrip() + "\n" for line in lines)


def _field(name: str, schema: Schema, is_needed: bool, is_sent: bool) -> str:
    kind = _type(schema, is_sent)
    if is_needed:
        return f"{name}: {kind}"
    default = schema.get("default")
    # What is not said is not sent either: the server has the default.
    kind = kind if default is not None or "None" in kind.split(" | ") else f"{kind} | None"
    return f"{name}: {kind} = {default!r}"


def _type(schema: Schema, is_sent: bool, prefix: str = "") -> str:
    match schema:
        case {"$ref": str(name)}:
            return f"{prefix}{_class(name.rpartition('/')[2])}"
        case {"const": value}:
            return f"Literal[{json.dumps(value)}]"
        case {"enum": list(values)}:
            words = f"Literal[{', '.join(json.dumps(each) for each in values)}]"
            # A newer server may answer with a word of which this client does not know.
            return words if is_sent else f"{words} | str"
        case {"anyOf": list(options)} | {"oneOf": list(options)}:
            return " | ".join(dict.fromkeys(_type(each, is_sent, prefix) for each in options))
        case {"prefixItems": list(parts)}:
            return f"tuple[{', '.join(_type(each, is_sent, prefix) for each in parts)}]"
        case {"type": "array", "items": dict(items)}:
            return f"list[{_type(items, is_sent, prefix)}]"
        case {"type": "object", "additionalProperties": dict(values)}:
            return f"dict[str, {_type(values, is_sent, prefix)}]"
        case {"type": "object"}:
            return "dict[str, Any]"
        case {"type": str(kind)} if kind in _SIMPLE:
            return _SIMPLE[kind]
        case _ if not schema.keys() - {"title", "description", "default"}:
            return "Any"
        case _:
            raise ValueError(f"No type for {schema}.")


def _class(name: str) -> str:
    return name.replace("-", "")


def _call(operation: Operation) -> str:
    takes = [f"{each.name}: {_type(each.schema, True)}" for each in operation.in_path]
    if operation.body is not None:
        kind = _type(operation.body, True, "shapes.") if operation.body else "bytes"
        takes.append(f"body: {kind}" if operation.is_body_needed else f"body: {kind} | None = None")
    if operation.in_query:
        takes += ["*", *(_query_parameter(each) for each in operation.in_query)]
    shape = _type(operation.shape, False, "shapes.") if operation.answer == "json" else ""
    result = {"json": f"Call[{shape}]", "stream": "Stream", "file": "File"}[operation.answer]
    path = ", ".join([json.dumps(operation.path), *(each.name for each in operation.in_path)])
    gives = [f"method={json.dumps(operation.method)}", f"path=path_of({path})"]
    if operation.in_query:
        gives.append(f"query={{{', '.join(f'{json.dumps(each.name)}: {each.name}' for each in operation.in_query)}}}")
    if operation.body is not None:
        gives.append("body=body")
    if shape:
        gives.append(f"shape={shape}")
    return (
        f"\n\ndef {operation.name}({', '.join(takes)}) -> {result}:\n"
        f'    """{textwrap.fill(operation.summary, 110, subsequent_indent="    ")}."""\n'
        f"    return {result.partition('[')[0]}({', '.join(gives)})\n"
    )


def _query_parameter(parameter: Parameter) -> str:
    kind = _type(parameter.schema, True)
    return f"{parameter.name}: {kind}" if parameter.is_needed else f"{parameter.name}: {kind} | None = None"
