"""The tools for connections: rows of a query, what a database has, a few rows of a table, a change that is agreed.

A connection that a person named for the work may be read; any other is asked about. A change is rehearsed first: the
person sees its exact text, how many rows it would change, and says yes to that once.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Collection, Sequence
from dataclasses import replace
from typing import Annotated, Any, Final, Protocol

from pydantic import Field

from cellwright.data.catalogue import Catalogue
from cellwright.data.catalogue_text import catalogue_text
from cellwright.data.dialects import Dialect
from cellwright.data.estimates import costly_words
from cellwright.data.messages import (
    CostlyQuery,
    MakeWrite,
    QueryResult,
    ReadSchema,
    RehearsedWrite,
    RehearseWrite,
    RunQuery,
    WriteOutcome,
)
from cellwright.data.statements import first_rows
from cellwright.errors import UserError
from cellwright.journal.effects import EffectFinding, EffectNotFound
from cellwright.policy.actions import Action, QueryConnection
from cellwright.profiles.profile import one_line
from cellwright.tools.tool import CallContext, Done, Tool, ToolResult, tool

_SCHEMA_TOKENS: Final = 1_600
_MOST_ROWS: Final = 200
_LONGEST_VALUE: Final = 120

Connection = Annotated[str, Field(description="The connection's name.", max_length=40)]
Sql = Annotated[str, Field(description="One statement, tables with their schema.", min_length=1, max_length=100_000)]
Rows = Annotated[int, Field(ge=1, le=_MOST_ROWS)]


class SqlAccess(Protocol):
    """What these tools ask. Methods raise the errors of `cellwright.errors`."""

    @property
    def named(self) -> Collection[str]:
        """Connections that may be read without a question."""
        ...

    async def query(self, asked: RunQuery) -> QueryResult:
        """Rows; the descriptor is the caller's to close."""
        ...

    async def foresee(self, asked: RunQuery) -> CostlyQuery | None:
        """What a query would take, if a person has to agree to it first."""
        ...

    async def schema(self, asked: ReadSchema) -> Catalogue:
        """What a connection shows."""
        ...

    async def dialect(self, connection: str) -> Dialect:
        """What its statements are written in."""
        ...

    async def rehearse(self, asked: RehearseWrite) -> RehearsedWrite:
        """What a write would change."""
        ...

    async def write(self, asked: MakeWrite) -> WriteOutcome:
        """Make a change that was agreed to."""
        ...


def sql_tools(access: SqlAccess) -> list[Tool]:
    """The tools of these connections; none where no connection was named."""
    if not access.named:
        return []
    return [_query_tool(access), _sample_tool(access), _schema_tool(access), _write_tool(access)]


def _query_tool(access: SqlAccess) -> Tool:
    async def action(arguments: Any) -> Action | None:
        asked = _asked(arguments.connection, arguments.sql, arguments.rows)
        return await _costly(access, asked) or _reading(access)(arguments)

    @tool(action=action, needs="query-connection", seconds=None)
    async def query(connection: Connection, sql: Sql, context: CallContext, rows: Rows = 50) -> ToolResult:
        """Rows of a query, to look at. What the answer rests on is a cell of the notebook, not this."""
        return await _rows(access, _asked(connection, sql, rows), context)

    return query


def _sample_tool(access: SqlAccess) -> Tool:
    async def asked_of(connection: str, table: str, rows: int) -> RunQuery:
        catalogue = await access.schema(ReadSchema(connection=connection, tables=(table,)))
        if not catalogue.tables:
            raise UserError(f"There is no table {table!r}.", hint="`schema` shows those there are.")
        found = catalogue.tables[0]
        return _asked(connection, first_rows(found.schema, found.name, rows, await access.dialect(connection)), rows)

    async def action(arguments: Any) -> Action | None:
        if arguments.connection not in access.named:
            return _reading(access)(arguments)
        return await _costly(access, await asked_of(arguments.connection, arguments.table, arguments.rows))

    @tool(action=action, needs="query-connection", seconds=None)
    async def sample(
        connection: Connection,
        table: Annotated[str, Field(min_length=1, max_length=300)],
        context: CallContext,
        rows: Rows = 10,
    ) -> ToolResult:
        """A few rows of a table."""
        return await _rows(access, await asked_of(connection, table, rows), context)

    return sample


def _schema_tool(access: SqlAccess) -> Tool:
    @tool(action=_reading(access), needs="query-connection", seconds=None)
    async def schema(
        connection: Connection,
        tables: Annotated[list[str], Field(max_length=20, description="These, whole.")] = [],  # noqa: B006 - a schema's default
        search: Annotated[str, Field(max_length=500, description="Or those that fit these words.")] = "",
    ) -> ToolResult:
        """Tables of a database with columns, types, keys and joins."""
        asked = ReadSchema(connection=connection, tables=tuple(tables) or None)
        found = await access.schema(asked)
        if tables and not found.tables:
            raise UserError(f"There is no table {tables[0]!r}.", hint="Search by words instead.")
        words = search or " ".join(tables)
        text = catalogue_text(found, words, connection=connection, most_tokens=_SCHEMA_TOKENS)
        return Done(text=text, value=text, is_untrusted=True)

    return schema


def _write_tool(access: SqlAccess) -> Tool:
    async def action(arguments: Any) -> Action:
        rehearsed = await access.rehearse(RehearseWrite(connection=arguments.connection, statement=arguments.sql))
        return QueryConnection(
            connection=arguments.connection,
            access="write",
            statement=rehearsed.statement,
            touches=rehearsal_words(rehearsed),
        )

    @tool(action=action, needs="query-connection", changes=True, find=_known_by_its_key, seconds=None)
    async def write(connection: Connection, sql: Sql, context: CallContext) -> ToolResult:
        """Change data in a database. A person sees the text and how many rows it changes, and is asked each time."""
        made = await access.write(MakeWrite(id=context.key, connection=connection, statement=sql))
        if made.outcome == "unknown":
            text = "It was sent, and nobody knows whether it was done: look at the rows. It is not sent again."
            return Done(text=text, value={"outcome": "unknown"})
        rows = "" if made.rows is None else f" {made.rows:,} rows changed."
        return Done(text=f"Done.{rows}", value={"outcome": "done", "rows": made.rows})

    return write


async def _known_by_its_key(_: Any, __: CallContext) -> EffectFinding:
    """The broker never sends a key twice, and says what came of it: to ask again is to look."""
    return EffectNotFound()


def rehearsal_words(rehearsed: RehearsedWrite) -> str:
    """What a rehearsal showed, for the person who is asked."""
    tables = ", ".join(rehearsed.tables) or "the database"
    if rehearsed.rows is None:
        return f"Changes {tables}. It cannot be tried and undone here, so nobody knows how many rows."
    return f"Changes {rehearsed.rows:,} rows of {tables}: tried, counted and undone just now."


def _reading(access: SqlAccess) -> Any:
    def action(arguments: Any) -> Action | None:
        if arguments.connection in access.named:
            return None
        statement = getattr(arguments, "sql", "")
        return QueryConnection(connection=arguments.connection, access="read", statement=statement)

    return action


def _asked(connection: str, statement: str, rows: int) -> RunQuery:
    return RunQuery(connection=connection, statement=statement, rows=rows, form="json")


async def _costly(access: SqlAccess, asked: RunQuery) -> Action | None:
    expected = await access.foresee(asked)
    if expected is None:
        return None
    touches = costly_words(expected)
    return QueryConnection(connection=asked.connection, access="read", statement=asked.statement, touches=touches)


async def _rows(access: SqlAccess, asked: RunQuery, context: CallContext) -> ToolResult:
    if any(isinstance(each, QueryConnection) and each.is_costly for each in context.permitted):
        # A person agreed to this statement and to what it was expected to take: tables grow meanwhile.
        asked = replace(asked, agreed_rows=sys.maxsize, agreed_bytes=sys.maxsize)
    found = await access.query(asked)
    with os.fdopen(found.descriptor, "rb") as result:
        # What is kept was read before: whoever shares the memory shares the place in it.
        text = os.pread(result.fileno(), os.fstat(result.fileno()).st_size, 0)
    rows: list[list[Any]] = [json.loads(line) for line in text.splitlines()]
    names = [name for name, _ in found.columns]
    cut = f" (the first {len(rows)})" if found.cut else ""
    text = f"{len(rows)} rows{cut}\n{rows_text(found.columns, rows)}"
    return Done(text=text, value={"columns": names, "rows": rows, "is_cut": bool(found.cut)}, is_untrusted=True)


def rows_text(columns: Sequence[tuple[str, str]], rows: Sequence[Sequence[Any]]) -> str:
    """Rows as a table of text: each line short, nothing that breaks it."""
    head = " | ".join(f"{one_line(name, _LONGEST_VALUE)} ({kind})" for name, kind in columns)
    lines = [" | ".join("" if value is None else one_line(str(value), _LONGEST_VALUE) for value in row) for row in rows]
    return "\n".join([head, *lines])
