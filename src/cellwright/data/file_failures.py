"""What went wrong at a bucket or file server, for whoever asked: who can act, and what to do. Pure."""

from __future__ import annotations

from cellwright.data.connections import DataConnection
from cellwright.data.file_paths import FileChanged, NoSuchFile
from cellwright.data.source_kinds import SOURCE_TRAITS
from cellwright.errors import CellwrightError, RefusedByPolicy, Unavailable, UserError
from cellwright.remedies import remedy


def file_failure(failure: str, why: str, hint: str, connection: DataConnection) -> CellwrightError:
    """The error for what a worker says."""
    name, place = connection.name, connection.place
    match failure:
        case "login":
            return UserError(
                f"{place} does not accept the key or secret of {name!r}: {why}",
                hint=hint or remedy("set_connection_secret", name=name),
            )
        case "host_key":
            return UserError(why, hint=hint)
        case "host":
            return Unavailable(f"{place} cannot be reached: {why}", hint=hint or "Is the address right, is it running?")
        case "tls":
            return UserError(f"{place} and we cannot agree on TLS: {why}", hint=hint or "`tls_ca` names its authority.")
        case "driver":
            return UserError(why, hint=remedy("install_driver", extra=SOURCE_TRAITS[connection.kind].extra))
        case "missing":
            return NoSuchFile(f"{name}: {why}", hint=hint)
        case "statement" | "size":
            return UserError(f"{name}: {why}", hint=hint or "List the folder to see what is there.")
        case "denied":
            return RefusedByPolicy(f"{name}: {why}", hint=hint or "Whoever runs the server can allow it.")
        case "changed":
            return FileChanged(f"{name}: {why}", hint=hint)
        case "time":
            return Unavailable(why, hint=hint or "Ask for less, or let the connection take longer.")
        case _:
            return Unavailable(f"{name}: {why}", hint=hint or "Try again.")
