"""What a prompt says of a connection that is no database: where it leads, and how a cell reaches it. Pure."""

from __future__ import annotations

from cellwright.data.api_operations import ApiDocument, BadApiDocument
from cellwright.data.connection_options import (
    BASIC_FORM,
    DEFAULT_FORM,
    DEFAULT_HEADER,
    read_buckets,
    read_methods,
    read_paths,
)
from cellwright.data.connections import DataConnection
from cellwright.data.source_kinds import SQL_KINDS, ways_of

_MOST_OPERATIONS = 12


def connection_brief(connection: DataConnection, document: ApiDocument | BadApiDocument | None = None) -> str:
    """A few lines; empty for a database, whose tables say more."""
    if connection.kind in SQL_KINDS:
        return ""
    if connection.kind == "api":
        return _of_api(connection, document)
    return _of_files(connection)


def _of_api(connection: DataConnection, document: ApiDocument | BadApiDocument | None) -> str:
    options, name = connection.options, connection.name
    form = options.get("form", DEFAULT_FORM)
    stand_in = f"cellwright-secret:{name}"
    value = f"Basic {stand_in}" if form == BASIC_FORM else form.replace("{secret}", stand_in)
    header = options.get("header", DEFAULT_HEADER)
    allowed = ", ".join(read_methods(options, ("GET", "HEAD", "OPTIONS", "POST", "PUT", "PATCH", "DELETE")))
    below = f" below {', '.join(paths)}" if (paths := read_paths(options)) else ""
    address = options["url"].rstrip("/")
    lines = [
        f"{name}: an API at {address} ({allowed}{below}). In a cell:",
        f'`requests.get("{address}/…", headers={{"{header}": "{value}"}}, timeout=60)`: write exactly this stand-in; '
        "the secret is put in on the way.",
    ]
    match document:
        case ApiDocument(operations=operations) if operations:
            told = [f"{each.method} {each.path}" for each in document.reading[:_MOST_OPERATIONS]]
            lines.append(f"It can be asked: {'; '.join(told)}{' …' if len(document.reading) > len(told) else ''}")
        case BadApiDocument(why=why):
            lines.append(f"Its document cannot be used. {why}")
        case _:
            pass
    return "\n".join(lines)


def _of_files(connection: DataConnection) -> str:
    name, options = connection.name, connection.options
    lines = [f"{name}: files at {connection.place}, read only unless said otherwise. In a cell:"]
    if "exchange" in ways_of(connection.kind):
        first = read_buckets(options["buckets"])[0]
        lines.append(
            f'`polars.scan_parquet("s3://{first.bucket}/{first.prefix}…")`, pandas, pyarrow and boto3 reach it as they '
            f"are; the access key id is {name}. Or:"
        )
    lines.append(
        "`import cellwright_cells as cellwright` and "
        f'`files = cellwright.files("{name}")`: an fsspec file system (`files.ls("")`, `files.open(path)`).'
    )
    return "\n".join(lines)
