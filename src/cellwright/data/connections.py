"""Connections a person named once: `connections.toml` of the state directory, without any secret in it.

It says what a connection leads to, under which name its secret is kept, and what it may be used for. A project never
says any of this: its notebooks only name connections.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Annotated, Final

import tomlkit
import tomlkit.items
from pydantic import Field

from cellwright.data.connection_options import check_options, read_buckets
from cellwright.data.dialects import Dialect
from cellwright.data.source_kinds import (
    FILE_KINDS,
    SOURCE_TRAITS,
    SQL_KINDS,
    TLS_MODES,
    URL_KINDS,
    SourceKind,
    SourceWay,
    a_connection,
    ways_of,
)
from cellwright.errors import UserError
from cellwright.notebook.atomic_write import write_atomically
from cellwright.policy.money import Money, parse_money
from cellwright.policy.toml_text import StrictTable, TomlText, read_toml
from cellwright.remedies import remedy
from cellwright.secrets import forget_secret

_NAME: Final = re.compile(r"[a-z][a-z0-9_]{0,39}")
_FILE: Final = "connections.toml"
_SEE: Final = "docs/data.md"
_INSIDE: Final = ("database", "catalog", "dataset", "container", "share", "path", "prefix")
_NOT_SPOKEN: Final[Mapping[SourceWay, str]] = MappingProxyType(
    {
        "sql": "it takes no SQL and has no tables",
        "exchange": "no HTTP requests are sent to it",
        "files": "it has no files that are listed or read",
    }
)


@dataclass(frozen=True, slots=True, kw_only=True)
class QueryLimits:
    """How much one result may be; what is beyond is cut, and said to be."""

    rows: int = 5_000_000
    megabytes: int = 1024
    seconds: float = 300.0

    def within(self, most: QueryLimits) -> QueryLimits:
        """These, as far as the others let them."""
        return QueryLimits(
            rows=min(self.rows, most.rows),
            megabytes=min(self.megabytes, most.megabytes),
            seconds=min(self.seconds, most.seconds),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class DataConnection:
    """One connection, as a person named it."""

    name: str
    kind: SourceKind
    options: Mapping[str, str] = field(default_factory=lambda: MappingProxyType(dict[str, str]()))
    """Where it leads and as whom: `SourceTraits` says which there are."""
    secret_command: tuple[str, ...] = ()
    """Prints the secret; empty: it is handed over or kept under `secret_name`."""
    writer: str = ""
    """The user that writes are made as, with a secret of its own; empty: nothing is ever written."""
    limits: QueryLimits = field(default_factory=QueryLimits)
    ask_above_rows: int = 20_000_000
    """A query that the server expects to read more for is asked about first."""
    ask_above_megabytes: int = 100_000
    """The same in bytes: all that some warehouses say, and what they charge for."""
    price_per_terabyte: Money | None = None
    """What the warehouse charges for what is read."""
    masked: tuple[str, ...] = ()
    """Columns whose values nobody sees: `table.column` or `schema.table.column`, `*` for any name."""
    functions: tuple[str, ...] = ()
    """Functions of the server's own that a query may call although the server does not say that they only compute."""
    projects: tuple[str, ...] = ()
    """Folders whose notebooks may use it; empty: all."""

    @property
    def dialect(self) -> Dialect:
        """What its statements are written in. Raises `UserError` for what takes no SQL."""
        dialect = SOURCE_TRAITS[self.kind].dialect
        if dialect is None:
            raise _wrong_way(self, "sql")
        return dialect

    @property
    def secret_name(self) -> str:
        """Under which its secret is kept."""
        return f"data:{self.name}"

    @property
    def writer_secret_name(self) -> str:
        """Under which the writer's secret is kept."""
        return f"data:{self.name}:writer"

    @property
    def place(self) -> str:
        """Where it leads, in a few words for people."""
        options = self.options
        if self.kind in FILE_KINDS:
            return options["path"]
        if self.kind in URL_KINDS:
            return options["url"]
        if self.kind == "s3":
            buckets = ", ".join(f"{each.bucket}/{each.prefix}".rstrip("/") for each in read_buckets(options["buckets"]))
            return f"{buckets} at {options['endpoint']}" if "endpoint" in options else f"s3://{buckets}"
        host = options.get("host") or options.get("account") or options.get("project") or options.get("bucket") or ""
        port = f":{options['port']}" if "port" in options else ""
        inside = next((options[name] for name in _INSIDE if options.get(name)), "")
        return f"{host}{port}/{inside.lstrip('/')}".rstrip("/")

    def may_be_used_in(self, project: Path) -> bool:
        """Whether notebooks of this folder may use it."""
        return not self.projects or any(project.is_relative_to(folder) for folder in self.projects)


def find_connection(home: Path, name: str) -> DataConnection:
    """The connection of this name. Raises `UserError`. Blocking."""
    known = connections_at(home)
    if name not in known:
        hint = remedy("add_connection", name=name if is_name(name) else "NAME")
        names = f"There is {', '.join(sorted(known))}." if known else "There is none yet."
        raise UserError(f"No connection is called {name[:80]!r}. {names}", hint=hint)
    return known[name]


def require_way(connection: DataConnection, way: SourceWay) -> None:
    """Raises `UserError` if this connection is not spoken with in this way; it says in which it is."""
    if way not in ways_of(connection.kind):
        raise _wrong_way(connection, way)


def _wrong_way(connection: DataConnection, way: SourceWay) -> UserError:
    name, kind = connection.name, connection.kind
    instead: dict[SourceWay, str] = {
        "sql": f"Ask it with SQL: cellwright.connection({name!r}).sql(…).",
        "exchange": f"Send requests to {connection.place}, with cellwright-secret:{name} where the secret belongs.",
        "files": f"Read its files: cellwright.files({name!r}).",
    }
    return UserError(f"{name!r} is of the kind {kind}: {_NOT_SPOKEN[way]}.", hint=instead[ways_of(kind)[-1]])


def is_name(text: str) -> bool:
    """Whether a connection can be called so."""
    return _NAME.fullmatch(text) is not None


def connections_at(home: Path) -> dict[str, DataConnection]:
    """What the `connections.toml` of this state directory says, by name. Raises `UserError`. Blocking."""
    file = home / _FILE
    try:
        return read_connections(file.read_text("utf-8"), str(file))
    except FileNotFoundError:
        return {}
    except (OSError, UnicodeDecodeError) as error:
        raise UserError(f"Cannot read {str(file)!r}: {error}.", hint="It must be a TOML file you may read.") from error


def store_connection(home: Path, connection: DataConnection) -> None:
    """Write it into `connections.toml`, in place of one of its name; the person's own text stays as it is. Blocking.

    Secrets that were kept for one of another kind go: the next server must not be sent them.
    """
    check_connection(connection)
    file = home / _FILE
    before = connections_at(home).get(connection.name)
    document = tomlkit.parse(file.read_text("utf-8")) if file.exists() else tomlkit.document()
    tables = document.setdefault("connections", tomlkit.table(is_super_table=True))
    tables[connection.name] = _table_of(connection)
    text = tomlkit.dumps(document)
    read_connections(text, str(file))
    home.mkdir(parents=True, exist_ok=True, mode=0o700)
    if before is not None and before.kind != connection.kind:
        for name in (connection.secret_name, connection.writer_secret_name):
            forget_secret(home, name)
    write_atomically(file, text.encode())


def remove_connection(home: Path, name: str) -> bool:
    """Take it out of `connections.toml`; whether it was there. Blocking."""
    file = home / _FILE
    if name not in connections_at(home):
        return False
    document = tomlkit.parse(file.read_text("utf-8"))
    del document["connections"][name]
    write_atomically(file, tomlkit.dumps(document).encode())
    return True


def check_connection(connection: DataConnection) -> None:
    """Raises `UserError` for what cannot be one: a name, an option, a file that is not there."""
    if not is_name(connection.name):
        raise UserError(
            f"{connection.name[:80]!r} cannot name a connection.",
            hint="Small letters, digits and underscores, a letter first: code calls it so.",
        )
    traits = SOURCE_TRAITS[connection.kind]
    known = (*traits.needed, *traits.known)
    for option in connection.options:
        if option not in known:
            raise UserError(
                f"{a_connection(connection.kind)} has no {option[:80]!r}.", hint=f"It has: {', '.join(known)}."
            )
    if missing := [option for option in traits.needed if not connection.options.get(option)]:
        raise UserError(
            f"{a_connection(connection.kind)} needs {' and '.join(missing)}.",
            hint=remedy("give_options", options=" ".join(missing), known=", ".join(known)),
        )
    _check_values(connection)


def _check_values(connection: DataConnection) -> None:
    options = connection.options
    if any(len(value) > 4096 or not value.isprintable() for value in options.values()):
        raise UserError("An option is a text of at most 4,096 characters in one line.", hint="Look at what you gave.")
    if (port := options.get("port")) is not None and not (port.isdecimal() and 0 < int(port) < 65536):
        raise UserError(f"{port!r} is no port.", hint="A number from 1 to 65535.")
    if (tls := options.get("tls")) is not None and tls not in TLS_MODES:
        raise UserError(f"{tls!r} is no way to use TLS.", hint=f"One of: {', '.join(TLS_MODES)}.")
    if connection.kind in FILE_KINDS and not Path(options["path"]).is_absolute():
        raise UserError("The path of a file must be a whole one.", hint="It starts with a slash.")
    if connection.kind in FILE_KINDS and (connection.writer or connection.secret_command):
        raise UserError("A file has no user and no secret.", hint="It is read only, in a cage.")
    check_options(connection.kind, options)
    if connection.kind not in SQL_KINDS and (connection.writer or connection.masked or connection.functions):
        raise UserError(
            f"{a_connection(connection.kind)} has no writer, no masked columns and no functions.",
            hint="Those are for databases; what may be changed is said by `methods` where there are any.",
        )
    for column in connection.masked:
        if column.count(".") not in {1, 2} or not all(column.split(".")):
            raise UserError(f"{column!r} names no column.", hint="Write table.column or schema.table.column.")


# ── the file ──


class _LimitsTable(StrictTable):
    rows: Annotated[int, Field(ge=1)] = QueryLimits().rows
    megabytes: Annotated[int, Field(ge=1)] = QueryLimits().megabytes
    seconds: Annotated[float, Field(gt=0, strict=False)] = QueryLimits().seconds


_Words = Annotated[tuple[str, ...], Field(strict=False)]


class _ConnectionTable(StrictTable):
    kind: SourceKind
    options: dict[str, str] = Field(default_factory=dict[str, str])
    secret_command: _Words = ()
    writer: str = ""
    limits: _LimitsTable = _LimitsTable()
    ask_above_rows: Annotated[int, Field(ge=1)] = 20_000_000
    ask_above_megabytes: Annotated[int, Field(ge=1)] = 100_000
    price_per_terabyte: str | None = None
    masked: _Words = ()
    functions: _Words = ()
    projects: _Words = ()


class _ConnectionsFile(StrictTable):
    connections: dict[str, _ConnectionTable] = Field(default_factory=dict[str, _ConnectionTable])


def read_connections(text: str, origin: str) -> dict[str, DataConnection]:
    """What a `connections.toml` says. Raises `UserError` for its first mistake; no value of an option is shown."""
    toml = read_toml(text, origin, see=_SEE)
    tables = toml.into(_ConnectionsFile).connections
    return {name: _connection_of(toml, name, table) for name, table in tables.items()}


def _connection_of(toml: TomlText, name: str, table: _ConnectionTable) -> DataConnection:
    price = None if table.price_per_terabyte is None else parse_money(table.price_per_terabyte)
    if table.price_per_terabyte is not None and price is None:
        toml.refuse(("connections", name, "price_per_terabyte"), "that is no price.", 'Write "6.25 USD".')
    connection = DataConnection(
        name=name,
        kind=table.kind,
        options=MappingProxyType(dict(table.options)),
        secret_command=table.secret_command,
        writer=table.writer,
        limits=QueryLimits(**table.limits.model_dump()),
        ask_above_rows=table.ask_above_rows,
        ask_above_megabytes=table.ask_above_megabytes,
        price_per_terabyte=price,
        masked=table.masked,
        functions=table.functions,
        projects=table.projects,
    )
    try:
        check_connection(connection)
    except UserError as problem:
        toml.refuse(("connections", name), problem.message, problem.advice, at_key=True)
    return connection


def _table_of(connection: DataConnection) -> tomlkit.items.Table:
    """What differs from what holds anyway."""
    plain = DataConnection(name=connection.name, kind=connection.kind)
    table = tomlkit.table()
    table.add("kind", connection.kind)
    for key in ("secret_command", "writer", "ask_above_rows", "ask_above_megabytes", "masked", "functions", "projects"):
        if (value := getattr(connection, key)) != getattr(plain, key):
            table.add(key, list(value) if isinstance(value, tuple) else value)
    if connection.price_per_terabyte is not None:
        table.add("price_per_terabyte", str(connection.price_per_terabyte))
    table.add("options", _inner(connection.options.items()))
    limits = connection.limits
    if limits != plain.limits:
        table.add("limits", _inner((key, getattr(limits, key)) for key in ("rows", "megabytes", "seconds")))
    return table


def _inner(items: Iterable[tuple[str, object]]) -> tomlkit.items.Table:
    table = tomlkit.table()
    for key, value in items:
        table.add(key, value)
    return table
