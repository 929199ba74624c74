"""Which source a kind of connection has, and which package its driver is in. A driver loads when it is used."""

from __future__ import annotations

from typing import cast

from cellwright.data.connections import SOURCE_TRAITS, SourceKind
from cellwright.data.worker.source import Source, SourceFailed, SourceLogin


def open_source(kind: SourceKind, login: SourceLogin) -> Source:
    """A session. Raises `SourceFailed`. Blocking."""
    try:
        return cast("Source", _open(kind, login))
    except ImportError as problem:
        # What lacks something of ours is broken, not without its driver.
        if (problem.name or "").startswith("cellwright"):
            raise
        raise SourceFailed(
            "driver",
            f"The driver for {kind} is not installed here.",
            hint=f"pip install 'cellwright[{SOURCE_TRAITS[kind].extra}]'",
        ) from None


def _open(kind: SourceKind, login: SourceLogin) -> object:
    match kind:
        case "postgres" | "redshift":
            from cellwright.data.worker.postgres import PostgresSource

            return PostgresSource(login, kind)
        case "mysql":
            from cellwright.data.worker.mysql import MysqlSource

            return MysqlSource(login)
        case _:
            raise SourceFailed("other", f"No worker opens a {kind} connection.")
