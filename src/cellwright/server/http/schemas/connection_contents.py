"""Shapes of `/connections/{name}/files` and `/connections/{name}/operations`."""

from __future__ import annotations

from cellwright.server.http.schemas.model import ResponseModel
from cellwright.server.http.schemas.table_profiles import TableProfileShape


class StoredEntry(ResponseModel):
    """A file or folder of a connection."""

    name: str
    path: str
    """Below the connection's own place."""
    is_folder: bool
    bytes: int | None
    """None: the server does not say it in a list."""
    modified: str
    """ISO; empty: the server does not say."""


class StoredListing(ResponseModel):
    """What is at a path of a connection."""

    path: str
    is_folder: bool
    entries: list[StoredEntry]
    """Of a folder the first that fit, folders before files; of a file itself."""
    total: int
    """So many there are in the folder."""
    fitting: int
    """So many of them fit what is searched."""
    is_cut: bool
    """There are more than the server was asked for."""


class FileProfileShape(ResponseModel):
    """What a file of a connection is."""

    path: str
    tables: list[TableProfileShape]
    """One; of a workbook or a database several."""
    notes: list[str]
    """What was left out, and how much was fetched."""


class OperationParameterShape(ResponseModel):
    """One argument of an operation."""

    name: str
    place: str
    """path or query."""
    type: str
    is_required: bool
    words: str


class OperationShape(ResponseModel):
    """One thing an API can be asked."""

    name: str
    method: str
    path: str
    """With names in braces."""
    words: str
    parameters: list[OperationParameterShape]
    refused: str
    """Why the connection does not allow it; empty: it does."""


class ApiShape(ResponseModel):
    """What an API connection allows, and what its OpenAPI document says."""

    origin: str
    """Where paths begin: `https://crm.example.org`."""
    base: str
    """The path that all others are below; empty: everything of the host."""
    methods: list[str]
    paths: list[str]
    """Prefixes that are allowed, with the base; empty: everything below it."""
    header: str
    stand_in: str
    """What a cell writes in that header."""
    document: str
    """Where the document is; empty: the connection names none."""
    title: str
    problem: str
    """Why the document cannot be used; else empty."""
    operations: list[OperationShape]
    total: int
    """So many the document has; the first are told."""
    left_out: list[str]
    """Operations that cannot be asked this way, each with why."""
