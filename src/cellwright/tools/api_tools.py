"""The tools for APIs: each operation of an OpenAPI document that only reads, with typed arguments.

A document may have hundreds: a few are listed by a line, the others are found by their words (`use`).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Final, Literal, Protocol

from pydantic import BaseModel, ConfigDict, Field, create_model

from cellwright.data.api_answers import flat
from cellwright.data.api_calls import MOST_PAGES, ApiAnswer
from cellwright.data.api_operations import ApiDocument, ApiOperation, ApiParameter, BadArguments, Schema, request_of
from cellwright.errors import UserError
from cellwright.tools.sql_tools import rows_text
from cellwright.tools.tool import CallContext, Done, Tool, ToolResult

LISTED: Final = 12
"""Operations of one API that have a line in every prompt."""
_SHOWN_ROWS: Final = 50
_SHOWN_TEXT: Final = 8_000
_PAGES: Final = "pages"
_TYPES: Final[Mapping[str, Any]] = {"string": str, "integer": int, "number": float, "boolean": bool}

# Types that are made of a document's words, which no checker knows.
_LIST: Final[Any] = list
_LITERAL: Final[Any] = Literal
_ANNOTATED: Final[Any] = Annotated


class ApiAccess(Protocol):
    """What these tools ask. Methods raise the errors of `cellwright.errors`."""

    @property
    def documents(self) -> Mapping[str, ApiDocument]:
        """Of the APIs that were named for the work, by connection."""
        ...

    async def call(self, connection: str, target: str, *, pages: int) -> ApiAnswer:
        """Ask one; path and query."""
        ...


def api_tools(access: ApiAccess) -> list[Tool]:
    """A tool for each operation that only reads."""
    return [
        _operation_tool(access, connection, operation, is_listed=place < LISTED)
        for connection, document in access.documents.items()
        for place, operation in enumerate(document.reading)
    ]


def _operation_tool(access: ApiAccess, connection: str, operation: ApiOperation, *, is_listed: bool) -> Tool:
    arguments = _arguments_model(operation)

    async def run(parsed: BaseModel, _: CallContext) -> ToolResult:
        given = parsed.model_dump(exclude_none=True)
        pages = given.pop(_PAGES)
        target = request_of(operation, given)
        if isinstance(target, BadArguments):
            raise UserError(target.why)
        return _told(await access.call(connection, target, pages=pages))

    shape = operation.arguments
    shape["properties"] = shape["properties"] | {_PAGES: _PAGES_SCHEMA}
    return Tool(
        name=f"{connection}_{operation.name}",
        description=f"{operation.words or operation.name}. {operation.method} {operation.path} of {connection}.",
        parameters=shape,
        run=run,
        validate=arguments.model_validate,
        needs="query-connection",
        is_listed=is_listed,
        seconds=None,
    )


_PAGES_SCHEMA: Final[Schema] = {
    "type": "integer", "minimum": 1, "maximum": MOST_PAGES, "default": 1, "description": "How many at most.",
}  # fmt: skip


def _arguments_model(operation: ApiOperation) -> type[BaseModel]:
    fields: dict[str, Any] = {each.name: _field(each) for each in operation.parameters}
    fields[_PAGES] = (Annotated[int, Field(ge=1, le=MOST_PAGES)], 1)
    return create_model(f"{operation.name}_arguments", __config__=ConfigDict(extra="forbid"), **fields)


def _field(parameter: ApiParameter) -> tuple[Any, Any]:
    kind = _type(parameter.schema)
    return (kind, ...) if parameter.is_required else (kind | None, None)


def _type(schema: Schema) -> Any:
    match schema:
        case {"type": "array", "items": items}:
            return _LIST[_type(items)]
        case {"enum": [*values]} if values and all(isinstance(each, str | int) for each in values):
            return _LITERAL[tuple(values)]
        case {"type": ("integer" | "number") as kind}:
            return _ANNOTATED[_TYPES[kind], Field(ge=_number(schema, "minimum"), le=_number(schema, "maximum"))]
        case {"type": str(kind)}:
            return _TYPES.get(kind, str)
        case _:
            return str


def _number(schema: Schema, name: str) -> float | None:
    limit = schema.get(name)
    return limit if isinstance(limit, int | float) and not isinstance(limit, bool) else None


def _told(answer: ApiAnswer) -> ToolResult:
    if not answer.rows:
        text = answer.text[:_SHOWN_TEXT] or "It answered with nothing."
        return Done(text=text, value=text, is_untrusted=True)
    rows = [flat(row) for row in answer.rows]
    names = list(dict.fromkeys(name for row in rows for name in row))
    columns = [(name, _kind(next((row[name] for row in rows if row.get(name) is not None), None))) for name in names]
    shown = [[row.get(name) for name in names] for row in rows[:_SHOWN_ROWS]]
    more = f", the first {len(shown)} here" if len(rows) > len(shown) else ""
    further = "; the service has more pages" if answer.has_more else ""
    head = f"{len(rows):,} rows from {answer.pages} page{'s' if answer.pages > 1 else ''}{more}{further}"
    return Done(
        text=f"{head}\n{rows_text(columns, shown)}",
        value={"rows": rows, "has_more": answer.has_more},
        is_untrusted=True,
    )


def _kind(value: Any) -> str:
    return "nothing" if value is None else type(value).__name__
