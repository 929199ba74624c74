"""The operations of an API's document, as far as FastAPI writes such documents."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal

Schema = dict[str, Any]
Answer = Literal["json", "stream", "file"]
JSON = "application/json"


@dataclass(frozen=True, slots=True, kw_only=True)
class Parameter:
    """A part of the path, the query or the headers."""

    name: str
    schema: Schema
    is_needed: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Operation:
    """One thing that can be asked."""

    name: str
    summary: str
    method: str
    path: str
    """Below the prefix of the version, with its parameters in braces."""
    in_path: tuple[Parameter, ...]
    in_query: tuple[Parameter, ...]
    body: Schema | None
    """None: it takes none. Without keys: bytes."""
    is_body_needed: bool
    answer: Answer
    shape: Schema
    """Of an answer that is JSON."""


def operations_of(document: dict[str, Any]) -> list[Operation]:
    """All of them, by name. Raises `ValueError` for a document that is written otherwise."""
    prefix = f"/api/v{document['info']['version']}"
    found = [
        _operation(path.removeprefix(prefix), method, said)
        for path, methods in document["paths"].items()
        for method, said in methods.items()
    ]
    return sorted(found, key=lambda each: each.name)


def _operation(path: str, method: str, said: dict[str, Any]) -> Operation:
    answers = next(said["responses"][status]["content"] for status in ("200", "201") if status in said["responses"])
    kind: Answer = "json" if list(answers) == [JSON] else "stream" if "text/event-stream" in answers else "file"
    taken = said.get("requestBody", {})
    body = next((_body(media, each["schema"]) for media, each in taken.get("content", {}).items()), None)
    return Operation(
        name=said["operationId"],
        summary=said["summary"],
        method=method.upper(),
        path=path,
        in_path=tuple(_parameters(said, "path")),
        in_query=tuple(_parameters(said, "query")),
        body=body,
        is_body_needed=taken.get("required", False),
        answer=kind,
        shape=answers[JSON]["schema"] if kind == "json" else {},
    )


def _parameters(said: dict[str, Any], place: str) -> Iterator[Parameter]:
    for each in said.get("parameters", []):
        if each["in"] == place:
            yield Parameter(name=each["name"], schema=each["schema"], is_needed=each.get("required", False))


def _body(media: str, schema: Schema) -> Schema:
    return without_null(schema) if media == JSON else {}


def without_null(schema: Schema) -> Schema:
    """The schema of what is there, if something is."""
    options = [each for each in schema.get("anyOf", []) if each != {"type": "null"}]
    return options[0] if len(options) == 1 else schema


def names_below(document: dict[str, Any], schema: object) -> set[str]:
    """The shapes a schema leads to."""
    shapes: dict[str, Any] = document["components"]["schemas"]
    found, left = set[str](), list[Any]([schema])
    while left:
        match left.pop():
            case {"$ref": str(name)}:
                if (short := name.rpartition("/")[2]) not in found:
                    found.add(short)
                    left.append(shapes[short])
            case dict() as inside:
                left.extend(inside.values())
            case list() as inside:
                left.extend(inside)
            case _:
                pass
    return found
