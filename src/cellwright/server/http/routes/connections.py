"""`/connections`: databases by name, what they have, and what was sent to them; secrets go in and never come out."""

from __future__ import annotations

import json
import os
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import asdict, replace
from typing import Annotated, Any, Final, Literal

import anyio.to_thread
from fastapi import Path, Query
from pydantic import Field, SecretStr, StringConstraints

from cellwright.data.broker_client import BrokerClient
from cellwright.data.catalogue import Catalogue, CatalogueTable
from cellwright.data.connections import (
    FILE_KINDS,
    SOURCE_KINDS,
    SOURCE_TRAITS,
    UNTRIED_KINDS,
    DataConnection,
    SourceKind,
    connections_at,
    find_connection,
    remove_connection,
    store_connection,
)
from cellwright.data.messages import Asker, CostlyQuery, ListStatements, ReadSchema, RunQuery, SentStatement
from cellwright.data.statements import first_rows
from cellwright.data.table_choice import choose_tables
from cellwright.errors import CellwrightError, UserError
from cellwright.secrets import forget_secret, keep_secret, kept_secrets
from cellwright.server.http.auth.dependencies import Admin, Reader
from cellwright.server.http.errors import ResourceNotFound
from cellwright.server.http.page_remedies import page_hint
from cellwright.server.http.resources import ApiResources, ApiRouter, Resources
from cellwright.server.http.schemas.model import RequestModel, ResponseModel

router = ApiRouter(tags=["connections"])
ConnectionName = Annotated[str, Path(min_length=1, max_length=40)]
_LONGEST_SECRET: Final = 10_000
_SHOWN_TABLES: Final = 200
_COUNTED: Final = 1_000
Text = Annotated[str, StringConstraints(max_length=4_096)]


class KindShape(ResponseModel):
    """A kind of database, and what one of it takes."""

    kind: SourceKind
    needed: list[str]
    known: list[str]
    port: int | None
    is_file: bool
    """A file on the server's machine, read in a cage: no user, no secret."""
    is_untried: bool
    """Never tried against the service."""


class ConnectionShape(ResponseModel):
    """One connection; never its secret."""

    name: str
    kind: SourceKind
    leads_to: str
    options: dict[str, str]
    secret_in: str
    """keyring, file, command, or empty: none is kept."""
    writer: str
    masked: list[str]
    projects: list[str]
    is_untried: bool
    statements: int
    """Sent lately."""
    rows_read: int
    last_at: str


class ConnectionsShape(ResponseModel):
    """Every connection, and every kind there could be one of."""

    connections: list[ConnectionShape]
    kinds: list[KindShape]


class NewConnection(RequestModel):
    """What a connection leads to. Without a secret, what is kept stays."""

    kind: SourceKind
    options: dict[Annotated[str, StringConstraints(max_length=40)], Text] = Field(default_factory=dict[str, str])
    secret: SecretStr | None = None
    writer: Annotated[str, StringConstraints(max_length=200)] = ""
    writer_secret: SecretStr | None = None
    masked: tuple[Text, ...] = Field(default=(), max_length=1_000)
    projects: tuple[Text, ...] = Field(default=(), max_length=100)


class TriedShape(ResponseModel):
    """What opening a connection showed."""

    is_open: bool
    server: str = ""
    tables: int = 0
    seconds: float = 0.0
    problem: str = ""
    hint: str = ""


class ColumnShape(ResponseModel):
    """One column."""

    name: str
    type: str
    is_nullable: bool
    is_key: bool
    is_masked: bool
    comment: str
    samples: list[str]


class ForeignKeyShape(ResponseModel):
    """Columns that mean a row of another table."""

    columns: list[str]
    table: str
    target: list[str]


class TableShape(ResponseModel):
    """One table or view."""

    qualified: str
    kind: Literal["table", "view"]
    columns: list[ColumnShape]
    foreign_keys: list[ForeignKeyShape]
    rows: int | None
    comment: str


class SchemaShape(ResponseModel):
    """What a connection shows."""

    server: str
    read_at: str
    total: int
    """So many tables there are; the first, or those that fit, are told."""
    tables: list[TableShape]


class RowsShape(ResponseModel):
    """A few rows of a table."""

    columns: list[tuple[str, str]]
    rows: list[list[Any]]
    notices: list[str]


class StatementShape(ResponseModel):
    """One line of the audit."""

    id: int
    at: str
    connection: str
    access: Literal["read", "write"]
    statement: str
    tables: list[str]
    columns: list[str]
    rows: int | None
    bytes: int | None
    seconds: float
    outcome: str
    why: str
    price: str
    person: str
    run: str


class StatementsShape(ResponseModel):
    """What was sent, the latest first."""

    statements: list[StatementShape]


class ForgottenShape(ResponseModel):
    """What was taken away."""

    name: str
    removed_from: list[str]


@router.get("/connections")
async def list_connections(_: Reader, resources: Resources) -> ConnectionsShape:
    """Databases by name, and the kinds there are."""
    home = resources.settings.home
    known, kept = await anyio.to_thread.run_sync(lambda: (connections_at(home), kept_secrets(home)))
    sent: Sequence[SentStatement] = ()
    if known:
        sent = await _client(resources).statements(ListStatements(most=_COUNTED))
    by_name = defaultdict[str, list[SentStatement]](list)
    for line in sent:
        by_name[line.connection].append(line)
    return ConnectionsShape(
        connections=[_shape(each, kept.get(each.secret_name, ""), by_name[each.name]) for each in known.values()],
        kinds=[_kind(kind) for kind in SOURCE_KINDS],
    )


@router.put("/connections/{name}")
async def put_connection(_: Admin, resources: Resources, name: ConnectionName, body: NewConnection) -> TriedShape:
    """Add or change a connection, and try it at once; its secret is never shown."""
    home = resources.settings.ready_home()

    def store() -> None:
        known = connections_at(home).get(name)
        before = known if known is not None and known.kind == body.kind else DataConnection(name=name, kind=body.kind)
        connection = replace(
            before, options=dict(body.options), writer=body.writer, masked=body.masked, projects=body.projects
        )
        store_connection(home, connection)
        for secret, kept_as in (
            (body.secret, connection.secret_name),
            (body.writer_secret, connection.writer_secret_name),
        ):
            if secret is not None and (value := secret.get_secret_value()):
                if len(value) > _LONGEST_SECRET:
                    raise UserError("That is too long for a secret.", hint="Send the secret and nothing else.")
                keep_secret(home, kept_as, value)

    await anyio.to_thread.run_sync(store)
    await _client(resources).secrets_changed(name)
    return await _tried(resources, name)


@router.post("/connections/{name}/try")
async def try_connection(_: Reader, resources: Resources, name: ConnectionName) -> TriedShape:
    """Open a connection anew, and say what is wrong if it cannot be."""
    await _find(resources, name)
    return await _tried(resources, name)


@router.delete("/connections/{name}")
async def forget_connection(_: Admin, resources: Resources, name: ConnectionName) -> ForgottenShape:
    """Take a connection and its secrets away; the record of what was sent stays."""
    connection, home = await _find(resources, name), resources.settings.home

    def forget() -> list[str]:
        removed = [*forget_secret(home, connection.secret_name), *forget_secret(home, connection.writer_secret_name)]
        remove_connection(home, name)
        return [str(place) for place in removed]

    removed = await anyio.to_thread.run_sync(forget)
    await _client(resources).secrets_changed(name)
    return ForgottenShape(name=name, removed_from=removed)


@router.get("/connections/{name}/schema")
async def connection_schema(
    _: Reader,
    resources: Resources,
    name: ConnectionName,
    search: Annotated[str, Query(max_length=500, description="Words that tables are about.")] = "",
    is_fresh: Annotated[bool, Query(description="Read it from the server again.")] = False,
) -> SchemaShape:
    """Tables with columns and keys."""
    await _find(resources, name)
    found = await _client(resources).schema(ReadSchema(connection=name, fresh=is_fresh))
    return await anyio.to_thread.run_sync(_schema, found, search)


@router.get("/connections/{name}/rows")
async def connection_rows(
    caller: Reader,
    resources: Resources,
    name: ConnectionName,
    table: Annotated[str, Query(min_length=1, max_length=600)],
) -> RowsShape:
    """The first rows of a table; masked columns stay masked."""
    connection, client = await _find(resources, name), _client(resources)
    found = (await client.schema(ReadSchema(connection=name, tables=(table,)))).tables
    if not found:
        raise ResourceNotFound(f"{name!r} has no table {table[:80]!r}.", hint="Look at its tables.")
    statement = first_rows(found[0].schema, found[0].name, 20, connection.dialect)
    asker = Asker(person=caller.person)
    result = await client.query(RunQuery(connection=name, statement=statement, rows=20, form="json", asker=asker))
    if isinstance(result, CostlyQuery):
        raise UserError("The database expects to read very much for this.", hint="Ask for it in a notebook.")
    with os.fdopen(result.descriptor, "rb") as opened:
        rows = [json.loads(line) for line in opened]
    return RowsShape(columns=list(result.columns), rows=rows, notices=list(result.notices))


@router.get("/statements")
async def list_statements(
    _: Reader,
    resources: Resources,
    connection: Annotated[str, Query(max_length=40)] = "",
    run: Annotated[str, Query(max_length=200)] = "",
    most: Annotated[int, Query(ge=1, le=500)] = 50,
) -> StatementsShape:
    """What was sent to databases and what was refused, the latest first."""
    found = await _client(resources).statements(ListStatements(connection=connection, run=run, most=most))
    return StatementsShape(statements=[StatementShape.model_validate(asdict(line)) for line in found])


# ── how it is told ──


def _client(resources: ApiResources) -> BrokerClient:
    return BrokerClient(launch=resources.settings.broker_launch())


async def _find(resources: ApiResources, name: str) -> DataConnection:
    try:
        return await anyio.to_thread.run_sync(find_connection, resources.settings.home, name)
    except UserError as problem:
        raise ResourceNotFound(problem.message, hint=problem.advice) from problem


async def _tried(resources: ApiResources, name: str) -> TriedShape:
    try:
        tried = await _client(resources).try_connection(name)
    except CellwrightError as problem:
        return TriedShape(is_open=False, problem=problem.message, hint=page_hint(problem.advice))
    return TriedShape(is_open=True, server=tried.server, tables=tried.tables, seconds=tried.seconds)


def _shape(connection: DataConnection, kept: str, sent: list[SentStatement]) -> ConnectionShape:
    return ConnectionShape(
        name=connection.name,
        kind=connection.kind,
        leads_to=connection.place,
        options=dict(connection.options),
        secret_in="command" if connection.secret_command else kept,
        writer=connection.writer,
        masked=list(connection.masked),
        projects=list(connection.projects),
        is_untried=connection.kind in UNTRIED_KINDS,
        statements=len(sent),
        rows_read=sum(line.rows or 0 for line in sent if line.access == "read"),
        last_at=sent[0].at if sent else "",
    )


def _kind(kind: SourceKind) -> KindShape:
    traits = SOURCE_TRAITS[kind]
    return KindShape(
        kind=kind,
        needed=list(traits.needed),
        known=list(traits.known),
        port=traits.port,
        is_file=kind in FILE_KINDS,
        is_untried=kind in UNTRIED_KINDS,
    )


def _schema(found: Catalogue, search: str) -> SchemaShape:
    tables = choose_tables(found, search, most=40).tables if search.strip() else found.tables[:_SHOWN_TABLES]
    return SchemaShape(
        server=found.server, read_at=found.read_at, total=len(found.tables), tables=[_table(each) for each in tables]
    )


def _table(table: CatalogueTable) -> TableShape:
    return TableShape(
        qualified=table.qualified,
        kind=table.kind,
        columns=[ColumnShape.model_validate(asdict(column)) for column in table.columns],
        foreign_keys=[ForeignKeyShape.model_validate(asdict(key)) for key in table.foreign_keys],
        rows=table.rows,
        comment=table.comment,
    )
