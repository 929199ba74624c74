"""What a prompt says of an API: where it leads, what is allowed, how a cell asks it. Pure."""

from __future__ import annotations

from typing import Final

from cellwright.data.api_operations import ApiDocument, BadApiDocument
from cellwright.data.connection_options import (
    API_METHODS,
    read_methods,
    read_paths,
)
from cellwright.data.connections import DataConnection
from cellwright.data.exchanges.api_rules import stand_in_header

_MOST_OPERATIONS: Final = 12


def api_brief(connection: DataConnection, document: ApiDocument | BadApiDocument | None) -> str:
    """A few lines."""
    options, name = connection.options, connection.name
    header, value = stand_in_header(name, options)
    allowed = ", ".join(read_methods(options, API_METHODS))
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
