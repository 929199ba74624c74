"""Shapes of `/connections` and `/statements`."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field, SecretStr, StringConstraints

from cellwright.data.source_kinds import SourceKind, SourceWay
from cellwright.server.http.schemas.model import RequestModel, ResponseModel

Text = Annotated[str, StringConstraints(max_length=4_096)]


class KindShape(ResponseModel):
    """A kind of connection, and what one of it takes."""

    kind: SourceKind
    ways: list[SourceWay]
    """How it is spoken with: SQL, HTTP requests of cells, files."""
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
    ways: list[SourceWay]
    """As its kind has them."""
    leads_to: str
    options: dict[str, str]
    secret_in: str
    """keyring, file, command, or empty: none is kept."""
    writer: str
    writer_secret_in: str
    """As `secret_in`."""
    masked: list[str]
    projects: list[str]
    is_untried: bool
    statements: int
    """Of the latest thousand that anybody sent."""
    rows_read: int
    bytes_read: int
    price: str
    """What they cost, where the source charges and it is known; else empty."""
    last_at: str


class ConnectionsShape(ResponseModel):
    """Every connection, and every kind there could be one of."""

    connections: list[ConnectionShape]
    kinds: list[KindShape]
    problem: str
    """Why nobody can say now what was sent; else empty."""


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
    tables: int | None = None
    """None: it is no database, or cannot be opened."""
    seconds: float = 0.0
    notices: list[str]
    """What is open and yet not as it was meant."""
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
    """So many tables there are."""
    fitting: int
    """So many of them fit what is searched; the first are told."""
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
    """SQL; of an HTTP request method and path; of files `LIST`, `STAT` or `READ` and the path."""
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
    notebook: str
    status: int | None
    """Of the server's answer to an HTTP request; 0: there was none."""
    sent_bytes: int | None


class StatementsShape(ResponseModel):
    """What was sent, the latest first."""

    statements: list[StatementShape]


class ForgottenShape(ResponseModel):
    """What was taken away."""

    name: str
    removed_from: list[str]
