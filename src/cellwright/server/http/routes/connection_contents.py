"""`/connections/{name}/files` and `…/operations`: what is in a connection that is no database."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any, Final

import anyio.to_thread
from fastapi import Query

from cellwright.app.api_documents import load_api_documents
from cellwright.data.api_operations import ApiDocument, ApiOperation, BadApiDocument
from cellwright.data.broker_client import BrokerClient
from cellwright.data.connections import require_way
from cellwright.data.exchanges.api_rules import ApiRules, stand_in_header
from cellwright.data.file_paths import plain_path
from cellwright.data.messages import Asker, FileEntry, FileList, ListFiles, StatFile
from cellwright.errors import CellwrightError, UserError
from cellwright.profiles.data_search import natural
from cellwright.server.http.auth.dependencies import Reader
from cellwright.server.http.resources import ApiRouter, Resources
from cellwright.server.http.routes.connections import ConnectionName, broker_of, find_named
from cellwright.server.http.schemas.connection_contents import (
    ApiShape,
    OperationParameterShape,
    OperationShape,
    StoredEntry,
    StoredListing,
)

router = ApiRouter(tags=["connections"])
_SHOWN_ENTRIES: Final = 1_000
_SHOWN_OPERATIONS: Final = 500
_SHOWN_LEFT_OUT: Final = 50


@router.get("/connections/{name}/files")
async def connection_files(
    caller: Reader,
    resources: Resources,
    name: ConnectionName,
    path: Annotated[
        str, Query(max_length=4_096, description="A folder, or a file; empty: where the connection begins.")
    ] = "",
    search: Annotated[str, Query(max_length=500, description="Parts of names.")] = "",
) -> StoredListing:
    """Files and folders of a bucket or file server, one level of them."""
    require_way(await find_named(resources, name), "files")
    plain = plain_path(path)
    entry, listed = await _look(broker_of(resources), name, plain, Asker(person=caller.person))
    if entry is not None:
        return StoredListing(path=plain, is_folder=False, entries=[_entry(entry)], total=1, fitting=1, is_cut=False)
    return await anyio.to_thread.run_sync(_listing, plain, listed, search)


@router.get("/connections/{name}/operations")
async def connection_operations(caller: Reader, resources: Resources, name: ConnectionName) -> ApiShape:
    """What an API connection allows, and what its OpenAPI document lists."""
    connection = await find_named(resources, name)
    if connection.kind != "api":
        raise UserError(f"{name!r} is of the kind {connection.kind}: it is no API.", hint="Look at what it has.")
    asker = Asker(person=caller.person)
    document = (await load_api_documents(broker_of(resources), [connection], asker)).get(name)
    rules = ApiRules.of(name, connection.options, "")
    known = document if isinstance(document, ApiDocument) else ApiDocument()
    header, stand_in = stand_in_header(name, connection.options)
    return ApiShape(
        origin=f"{rules.address.scheme}://{rules.address.authority}",
        base=rules.address.base,
        methods=list(rules.methods),
        paths=[f"{rules.address.base}{path}" for path in rules.paths],
        header=header,
        stand_in=stand_in,
        document=connection.options.get("openapi", ""),
        title=known.title,
        problem=document.why if isinstance(document, BadApiDocument) else "",
        operations=[_operation(each, rules) for each in known.operations[:_SHOWN_OPERATIONS]],
        total=len(known.operations),
        left_out=list(known.left_out[:_SHOWN_LEFT_OUT]),
    )


async def _look(client: BrokerClient, name: str, path: str, asker: Asker) -> tuple[FileEntry | None, FileList]:
    """The file at this path, or what is in the folder there."""
    problem: CellwrightError | None = None
    listed = FileList(entries=())
    try:
        listed = await client.files(ListFiles(connection=name, path=path, asker=asker))
    except CellwrightError as error:
        problem = error
    if listed.entries or not path:
        if problem is not None:
            raise problem
        return None, listed
    # Of what is no folder some servers list nothing, and others refuse to: then it is asked for by itself.
    found = await client.stat(StatFile(connection=name, path=path, asker=asker))
    if problem is not None and found.is_folder:
        raise problem
    return (None if found.is_folder else found), listed


def _listing(path: str, listed: FileList, search: str) -> StoredListing:
    parts = search.casefold().split()
    fitting = [each for each in listed.entries if all(part in _name(each).casefold() for part in parts)]
    fitting.sort(key=lambda each: (not each.is_folder, natural(_name(each))))
    return StoredListing(
        path=path,
        is_folder=True,
        entries=[_entry(each) for each in fitting[:_SHOWN_ENTRIES]],
        total=len(listed.entries),
        fitting=len(fitting),
        is_cut=listed.is_cut,
    )


def _name(entry: FileEntry) -> str:
    return entry.path.rpartition("/")[2]


def _entry(entry: FileEntry) -> StoredEntry:
    return StoredEntry(
        name=_name(entry),
        path=entry.path,
        is_folder=entry.is_folder,
        bytes=None if entry.is_folder else entry.size,
        modified=entry.modified,
    )


def _operation(operation: ApiOperation, rules: ApiRules) -> OperationShape:
    return OperationShape(
        name=operation.name,
        method=operation.method,
        path=operation.path,
        words=operation.words,
        parameters=[
            OperationParameterShape(
                name=each.sent_as,
                place=each.place,
                type=_type(each.schema),
                is_required=each.is_required,
                words=str(each.schema.get("description", "")),
            )
            for each in operation.parameters
        ],
        refused=rules.why_not(operation.method, operation.path),
    )


def _type(schema: dict[str, Any]) -> str:
    """In a word or two; of a few values, those."""
    values: Sequence[Any] = schema.get("enum", ())
    if 0 < len(values) <= 6:
        return " | ".join(str(value)[:40] for value in values)
    kind = str(schema.get("type", "string"))
    return f"list of {_type(schema['items'])}" if kind == "array" and "items" in schema else kind
