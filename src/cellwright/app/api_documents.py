"""The OpenAPI documents of the APIs that were named for the work: a file of a person's, or asked of the API."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import anyio.to_thread

from cellwright.data.api_calls import CallApi, fetch_text
from cellwright.data.api_operations import MOST_CHARACTERS, ApiDocument, BadApiDocument, read_api_document
from cellwright.data.broker_client import BrokerClient
from cellwright.data.connection_options import read_address
from cellwright.data.connections import DataConnection
from cellwright.data.messages import Asker
from cellwright.errors import CellwrightError

_FILE = "file:"


async def load_api_documents(
    client: BrokerClient, connections: Sequence[DataConnection], asker: Asker
) -> dict[str, ApiDocument | BadApiDocument]:
    """By connection; those that have none are left out, and one that cannot be had says why."""
    found = dict[str, ApiDocument | BadApiDocument]()
    for connection in connections:
        if connection.kind == "api" and connection.options.get("openapi"):
            found[connection.name] = await _load(client, connection, asker)
    return found


async def _load(client: BrokerClient, connection: DataConnection, asker: Asker) -> ApiDocument | BadApiDocument:
    where = connection.options["openapi"]
    try:
        if where.startswith(_FILE):
            text = await anyio.to_thread.run_sync(_read, Path(where.removeprefix(_FILE)))
        else:
            text = await fetch_text(client, CallApi(connection=connection, target=where, asker=asker))
    except CellwrightError as error:
        return BadApiDocument(why=f"It cannot be had: {error.message}")
    except OSError as error:
        return BadApiDocument(why=f"It cannot be read: {error.strerror}.")
    document = await anyio.to_thread.run_sync(read_api_document, text)
    return _below(document, connection) if isinstance(document, ApiDocument) else document


def _read(path: Path) -> str:
    with path.open(encoding="utf-8", errors="replace") as file:
        return file.read(MOST_CHARACTERS + 1)


def _below(document: ApiDocument, connection: DataConnection) -> ApiDocument:
    """Paths as the connection reaches them: below its own address."""
    base = read_address(connection.options["url"], tls=connection.options.get("tls", "")).base
    operations = [
        each if each.path.startswith(f"{base}/") else replace(each, path=f"{base}{each.path}")
        for each in document.operations
    ]
    return replace(document, operations=tuple(operations))
