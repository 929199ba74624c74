"""What a prompt says of an API: where it leads, what is allowed, how a cell asks it. Pure."""

from __future__ import annotations

from typing import Final

from cellwright.data.api_operations import ApiDocument, ApiOperation, BadApiDocument
from cellwright.data.connection_options import (
    API_METHODS,
    read_methods,
    read_paths,
)
from cellwright.data.connections import DataConnection
from cellwright.data.exchanges.api_rules import stand_in_header

_MOST_OPERATIONS: Final = 12
_MOST_CHARACTERS: Final = 80
"""Of what an operation is for."""


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
            told = [_operation_words(each) for each in document.reading[:_MOST_OPERATIONS]]
            lines.append(f"It can be asked: {'; '.join(told)}{' …' if len(document.reading) > len(told) else ''}")
            lines.append("What lists something may give one page: look for `Link` in the headers, or for a next one.")
        case BadApiDocument(why=why):
            lines.append(f"Its document cannot be used. {why}")
        case _:
            pass
    return "\n".join(lines)


def _operation_words(operation: ApiOperation) -> str:
    """On one line; what it is for is a stranger's text, and quoted."""
    asked = "&".join(f"{each.sent_as}=" for each in operation.parameters if each.place == "query")
    words = " ".join(operation.words.replace('"', "'").split())[:_MOST_CHARACTERS]
    return f"{operation.method} {operation.path}{'?' if asked else ''}{asked}" + (f' "{words}"' if words else "")
