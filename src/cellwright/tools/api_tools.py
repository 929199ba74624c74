"""The tools for APIs: each operation of an OpenAPI document that only reads, with typed arguments.

A document may have hundreds: a few are listed by a line, the others are found by their words (`use`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Annotated, Any, Final, Literal, Protocol

from pydantic import BaseModel, ConfigDict, Field, create_model

from cellwright.analyst.sections.text import counted, percent
from cellwright.data.api_calls import MOST_PAGES, ApiAnswer
from cellwright.data.api_operations import ApiDocument, ApiOperation, ApiParameter, BadArguments, Schema, request_of
from cellwright.data.api_tables import AnswerTable, answer_table
from cellwright.errors import UserError
from cellwright.profiles.profile import one_line
from cellwright.tools.tool import CallContext, Done, Tool, ToolResult

LISTED: Final = 12
"""Operations of one API that have a line in every prompt."""
_FEW_ROWS: Final = 10
_SHOWN_ROWS: Final = 5
_SHOWN_COLUMNS: Final = 40
_ROW_COLUMNS: Final = 20
_VALUE_ROWS: Final = 1_000
"""For programs."""
_LONGEST_LINE: Final = 300
_LONGEST_VALUE: Final = 60
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
        return told_answer(await access.call(connection, target, pages=pages))

    shape = operation.arguments
    shape["properties"] = shape["properties"] | {_PAGES: _PAGES_SCHEMA}
    return Tool(
        name=f"{connection}_{operation.name}",
        description=f"{operation.words or operation.name}. {operation.method} {operation.path} of {connection}.",
        parameters=shape,
        run=run,
        validate=arguments.model_validate,
        comes_with="query",
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


def told_answer(answer: ApiAnswer) -> Done:
    """What a model reads of it: the table that its rows are, or its text."""
    if not answer.rows:
        text = answer.text[:_SHOWN_TEXT] or "It answered with nothing."
        return Done(text=text, value=text, is_untrusted=True)
    table = answer_table(answer.rows, most_rows=_VALUE_ROWS)
    return Done(
        text="\n".join([_head(answer, table), *_column_lines(table), *_row_lines(table)])[:_SHOWN_TEXT],
        value={"rows": list(table.first), "row_count": table.rows, "has_more": answer.has_more},
        is_untrusted=True,
    )


def _head(answer: ApiAnswer, table: AnswerTable) -> str:
    columns = len(table.columns) + table.more_columns
    again = answer.requests - answer.pages
    parts = [
        f"{counted(table.rows, 'row')} and {counted(columns, 'column')} from {counted(answer.pages, 'page')} "
        f"with {counted(answer.requests, 'request')}",
        f"{counted(again, 'of them', 'of them')} once more, as the service asked to wait" if again else "",
        one_line(answer.stopped, 400) if answer.stopped else "the service has more pages" if answer.has_more else "",
    ]
    return "; ".join(filter(None, parts))


def _column_lines(table: AnswerTable) -> Iterator[str]:
    for column in table.columns[:_SHOWN_COLUMNS]:
        missing = f", {percent(column.missing, table.rows)} missing" if column.missing else ""
        says = f", {column.says}" if column.says else ""
        yield one_line(f"- {column.name}: {column.kind}{missing}{says}", _LONGEST_LINE)
    more = max(0, len(table.columns) - _SHOWN_COLUMNS) + table.more_columns
    if more:
        yield f"- and {counted(more, 'more column')}"


def _row_lines(table: AnswerTable) -> Iterator[str]:
    """All rows where they are few, else the first of them."""
    shown = table.first if table.rows <= _FEW_ROWS else table.first[:_SHOWN_ROWS]
    names = [column.name for column in table.columns[:_ROW_COLUMNS]]
    yield f"The first {len(shown)} rows:" if table.rows > len(shown) else "Rows:"
    yield one_line(" | ".join(names), _LONGEST_LINE)
    for row in shown:
        values = ["" if row.get(name) is None else one_line(str(row[name]), _LONGEST_VALUE) for name in names]
        yield " | ".join(values)
