"""`/connections`: databases, files and APIs by name, and what was sent to them; secrets go in and never come out."""

from __future__ import annotations

import json
import os
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, replace
from decimal import Decimal
from typing import Annotated, Final

import anyio.to_thread
from fastapi import Path, Query

from cellwright.data.broker_client import BrokerClient
from cellwright.data.catalogue import Catalogue, CatalogueTable
from cellwright.data.connections import (
    DataConnection,
    connections_at,
    find_connection,
    remove_connection,
    store_connection,
)
from cellwright.data.estimates import LET_MORE_PASS, costly_words
from cellwright.data.messages import Asker, CostlyQuery, ListStatements, ReadSchema, RunQuery, SentStatement
from cellwright.data.source_kinds import FILE_KINDS, SOURCE_KINDS, SOURCE_TRAITS, UNTRIED_KINDS, SourceKind, ways_of
from cellwright.data.statements import first_rows
from cellwright.data.table_choice import choose_tables
from cellwright.errors import CellwrightError, UserError
from cellwright.policy.money import Money, parse_money
from cellwright.secrets import forget_secret, keep_secret, kept_secrets
from cellwright.server.http.auth.dependencies import Admin, Reader, Steerer
from cellwright.server.http.errors import ResourceNotFound
from cellwright.server.http.page_remedies import page_hint, page_problem
from cellwright.server.http.resources import ApiResources, ApiRouter, Resources
from cellwright.server.http.schemas.connections import (
    ColumnShape,
    ConnectionShape,
    ConnectionsShape,
    ForeignKeyShape,
    ForgottenShape,
    KindShape,
    NewConnection,
    RowsShape,
    SchemaShape,
    StatementShape,
    StatementsShape,
    TableShape,
    TriedShape,
)

router = ApiRouter(tags=["connections"])
ConnectionName = Annotated[str, Path(min_length=1, max_length=40)]
_LONGEST_SECRET: Final = 10_000
_SHOWN_TABLES: Final = 200
_BY_WORDS: Final = 40
_COUNTED: Final = 1_000


@router.get("/connections")
async def list_connections(
    _: Reader,
    resources: Resources,
    is_counted: Annotated[bool, Query(description="Also say what was sent lately.")] = True,
) -> ConnectionsShape:
    """Databases, file servers and APIs by name, and the kinds there are."""
    home = resources.settings.home
    known, kept = await anyio.to_thread.run_sync(lambda: (connections_at(home), kept_secrets(home)))
    sent: Sequence[SentStatement] = ()
    problem = ""
    if known and is_counted:
        try:
            sent = await broker_of(resources).statements(ListStatements(most=_COUNTED))
        except CellwrightError as error:
            problem = page_problem(error)
    by_name = defaultdict[str, list[SentStatement]](list)
    for line in sent:
        by_name[line.connection].append(line)
    return ConnectionsShape(
        connections=[_shape(each, kept, by_name[each.name]) for each in known.values()],
        kinds=[_kind(kind) for kind in SOURCE_KINDS],
        problem=problem,
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
        if not body.writer:
            forget_secret(home, connection.writer_secret_name)

    await anyio.to_thread.run_sync(store)
    await broker_of(resources).secrets_changed(name)
    return await _tried(resources, name)


@router.post("/connections/{name}/try")
async def try_connection(_: Steerer, resources: Resources, name: ConnectionName) -> TriedShape:
    """Open a connection anew, and say what is wrong if it cannot be."""
    await find_named(resources, name)
    return await _tried(resources, name)


@router.delete("/connections/{name}")
async def forget_connection(_: Admin, resources: Resources, name: ConnectionName) -> ForgottenShape:
    """Take a connection and its secrets away; the record of what was sent stays."""
    connection, home = await find_named(resources, name), resources.settings.home

    def forget() -> list[str]:
        removed = [*forget_secret(home, connection.secret_name), *forget_secret(home, connection.writer_secret_name)]
        remove_connection(home, name)
        return [str(place) for place in removed]

    removed = await anyio.to_thread.run_sync(forget)
    await broker_of(resources).secrets_changed(name)
    return ForgottenShape(name=name, removed_from=removed)


@router.get("/connections/{name}/schema")
async def connection_schema(
    _: Reader,
    resources: Resources,
    name: ConnectionName,
    search: Annotated[str, Query(max_length=500, description="Parts of names, or words that tables are about.")] = "",
    table: Annotated[str, Query(max_length=600, description="Only this one.")] = "",
    is_fresh: Annotated[bool, Query(description="Read it from the server again.")] = False,
) -> SchemaShape:
    """Tables with columns and keys."""
    await find_named(resources, name)
    asked = ReadSchema(connection=name, tables=(table,) if table else None, fresh=is_fresh)
    found = await broker_of(resources).schema(asked)
    return await anyio.to_thread.run_sync(_schema, found, search)


@router.get("/connections/{name}/rows")
async def connection_rows(
    caller: Steerer,
    resources: Resources,
    name: ConnectionName,
    table: Annotated[str, Query(min_length=1, max_length=600)],
) -> RowsShape:
    """The first rows of a table; masked columns stay masked."""
    connection, client = await find_named(resources, name), broker_of(resources)
    found = (await client.schema(ReadSchema(connection=name, tables=(table,)))).tables
    if not found:
        raise ResourceNotFound(f"{name!r} has no table {table[:80]!r}.", hint="Look at its tables.")
    statement = first_rows(found[0].schema, found[0].name, 20, connection.dialect)
    asker = Asker(person=caller.person)
    result = await client.query(RunQuery(connection=name, statement=statement, rows=20, form="json", asker=asker))
    if isinstance(result, CostlyQuery):
        raise UserError(costly_words(result), hint=LET_MORE_PASS)
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
    """What was sent through connections and what was refused, the latest first."""
    found = await broker_of(resources).statements(ListStatements(connection=connection, run=run, most=most))
    return StatementsShape(statements=[StatementShape.model_validate(asdict(line)) for line in found])


# ── how it is told ──


def broker_of(resources: ApiResources) -> BrokerClient:
    """The way to connections, which starts the broker if need be."""
    return BrokerClient(launch=resources.settings.broker_launch())


async def find_named(resources: ApiResources, name: str) -> DataConnection:
    """The connection. Raises `ResourceNotFound`."""
    try:
        return await anyio.to_thread.run_sync(find_connection, resources.settings.home, name)
    except UserError as problem:
        raise ResourceNotFound(problem.message, hint=problem.advice) from problem


async def _tried(resources: ApiResources, name: str) -> TriedShape:
    try:
        tried = await broker_of(resources).try_connection(name)
    except CellwrightError as problem:
        return TriedShape(is_open=False, notices=[], problem=problem.message, hint=page_hint(problem.advice))
    return TriedShape(
        is_open=True, server=tried.server, tables=tried.tables, seconds=tried.seconds, notices=list(tried.notices)
    )


def _shape(connection: DataConnection, kept: Mapping[str, str], sent: list[SentStatement]) -> ConnectionShape:
    return ConnectionShape(
        name=connection.name,
        kind=connection.kind,
        ways=list(ways_of(connection.kind)),
        leads_to=connection.place,
        options=dict(connection.options),
        secret_in="command" if connection.secret_command else kept.get(connection.secret_name, ""),
        writer=connection.writer,
        writer_secret_in=kept.get(connection.writer_secret_name, ""),
        masked=list(connection.masked),
        projects=list(connection.projects),
        is_untried=connection.kind in UNTRIED_KINDS,
        statements=len(sent),
        rows_read=sum(line.rows or 0 for line in sent if line.access == "read"),
        bytes_read=sum(line.bytes or 0 for line in sent),
        price=_sum(line.price for line in sent),
        last_at=sent[0].at if sent else "",
    )


def _kind(kind: SourceKind) -> KindShape:
    traits = SOURCE_TRAITS[kind]
    return KindShape(
        kind=kind,
        ways=list(ways_of(kind)),
        needed=list(traits.needed),
        known=list(traits.known),
        port=traits.port,
        is_file=kind in FILE_KINDS,
        is_untried=kind in UNTRIED_KINDS,
    )


def _sum(prices: Iterable[str]) -> str:
    """Amounts of several currencies are told side by side."""
    totals = defaultdict[str, Decimal](Decimal)
    for money in (parse_money(price) for price in prices if price):
        if money is not None:
            totals[money.currency] += money.amount
    return " + ".join(str(Money(amount=amount, currency=currency)) for currency, amount in sorted(totals.items()))


def _schema(found: Catalogue, search: str) -> SchemaShape:
    fitting = _fitting(found, search) if search.strip() else found.tables
    return SchemaShape(
        server=found.server,
        read_at=found.read_at,
        total=len(found.tables),
        fitting=len(fitting),
        tables=[_table(each) for each in fitting[:_SHOWN_TABLES]],
    )


def _fitting(found: Catalogue, search: str) -> Sequence[CatalogueTable]:
    """Whose name has all parts, then whose columns have; else those that the words are about."""
    parts = search.casefold().split()
    named = [table for table in found.tables if _has(table.qualified, parts)]
    names = {table.qualified for table in named}
    others = [table for table in found.tables if table.qualified not in names]
    by_column = [
        table for table in others if _has(" ".join((table.qualified, *(each.name for each in table.columns))), parts)
    ]
    return [*named, *by_column] or choose_tables(found, search, most=_BY_WORDS).tables


def _has(text: str, parts: Sequence[str]) -> bool:
    folded = text.casefold()
    return all(part in folded for part in parts)


def _table(table: CatalogueTable) -> TableShape:
    return TableShape(
        qualified=table.qualified,
        kind=table.kind,
        columns=[ColumnShape.model_validate(asdict(column)) for column in table.columns],
        foreign_keys=[ForeignKeyShape.model_validate(asdict(key)) for key in table.foreign_keys],
        rows=table.rows,
        comment=table.comment,
    )
