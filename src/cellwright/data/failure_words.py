"""What went wrong at a database, for whoever asked: who can act, the server's own message, and what is near. Pure."""

from __future__ import annotations

import difflib
import re
from typing import Final

from cellwright.data.catalogue import Catalogue
from cellwright.data.connections import DataConnection
from cellwright.data.source_kinds import SOURCE_TRAITS, WEB_KINDS
from cellwright.data.statements import SqlStatement
from cellwright.errors import CellwrightError, Unavailable, UserError
from cellwright.remedies import Hint, remedy

_MISSING = re.compile(
    r"""(?:column|relation|table|field|identifier|view)\s*:?\s+["'`]?(?:\w+\.)*(?P<name>\w+)["'`]?""", re.IGNORECASE
)
_LINE = re.compile(r"\(line (\d+), ")
_QUOTED = re.compile(r"""["'`](?:[\w]+\.)*(\w+)["'`]""")

_WEB_TLS: Final = "`tls_ca` of the connection names its authority."
_DATABASE_TLS: Final = "`tls` of the connection is off, prefer, require or verify; `tls_ca` names its authority."
_CHANGE_IT: Final = "The database says this of the statement: change it, and ask again."


def failure_error(
    failure: str,
    why: str,
    hint: str,
    connection: DataConnection,
    statement: SqlStatement | None,
    catalogue: Catalogue | None,
) -> CellwrightError:
    """The error for what a worker says."""
    name = connection.name
    match failure:
        case "login":
            return UserError(
                f"{connection.place} does not accept the user or the secret of {name!r}: {why}",
                hint=remedy("set_connection_secret", name=name),
            )
        case "host":
            return Unavailable(
                f"{connection.place} cannot be reached: {why}", hint=hint or "Is host and port right, is it running?"
            )
        case "tls":
            return UserError(
                f"{connection.place} and we cannot agree on TLS: {why}",
                hint=hint or (_WEB_TLS if connection.kind in WEB_KINDS else _DATABASE_TLS),
            )
        case "driver":
            return UserError(why, hint=remedy("install_driver", extra=SOURCE_TRAITS[connection.kind].extra))
        case "statement":
            return UserError(_placed(why, statement), hint=hint_after_failure(why, hint, statement, catalogue))
        case "time":
            return Unavailable(why, hint=hint or "Ask for less, or let the connection take longer.")
        case _:
            return Unavailable(why, hint=hint or "Try again.")


def writer_error(failure: str, why: str, hint: str, connection: DataConnection) -> CellwrightError:
    """The error for what a worker says that would not open as the connection's writer."""
    problem = failure_error(failure, why, hint, connection, None, None)
    again = remedy("set_writer_secret", name=connection.name, writer=connection.writer)
    advice = again if failure == "login" else problem.advice
    return type(problem)(f"As its writer {connection.writer!r}: {problem.message}", hint=advice)


def hint_after_failure(why: str, hint: str, statement: SqlStatement | None, catalogue: Catalogue | None) -> Hint:
    """What the catalogue knows about a name that the server does not."""
    if statement is None or catalogue is None:
        return hint or _CHANGE_IT
    tables = [table for name in statement.tables if (table := catalogue.table(name)) is not None]
    columns = [column.name for table in tables for column in table.columns]
    missing = _missing(why)
    known = {name.casefold(): name for name in columns}
    known |= {table.name.casefold(): table.qualified for table in catalogue.tables}
    elsewhere = [
        table.qualified for table in catalogue.tables if missing and table.name.casefold() == missing.casefold()
    ]
    near = elsewhere[:3] or [
        known[match]
        for match in difflib.get_close_matches(missing.casefold(), list(known), n=3, cutoff=0.6)
        if missing and match != missing.casefold()
    ]
    parts = [hint] if hint else []
    if near:
        parts.append(f"Did you mean {' or '.join(near)}?")
    elif missing and tables:
        parts += [
            f"{table.qualified} has {', '.join(column.name for column in table.columns[:40])}." for table in tables[:3]
        ]
    unknown = [name for name in statement.tables if catalogue.table(name) is None]
    if unknown and not near:
        parts.append(f"There is no table {unknown[0]}.")
    return " ".join(parts) or _CHANGE_IT


def _placed(why: str, statement: SqlStatement | None) -> str:
    """With lines counted as whoever wrote the statement counts them."""
    skipped = statement.skipped_lines if statement is not None else 0
    return _LINE.sub(lambda found: f"(line {int(found[1]) + skipped}, ", why)


def _missing(why: str) -> str:
    found = _MISSING.search(why)
    if found is not None:
        return found["name"]
    quoted = _QUOTED.search(why)
    return quoted.group(1) if quoted is not None else ""
