"""Files behind connections as people name them: `NAME:path`, `s3://bucket/key`, `sftp://host/path`, … Pure."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Final
from urllib.parse import unquote, urlsplit

from cellwright.data.connection_options import read_buckets
from cellwright.data.connections import DataConnection
from cellwright.data.file_paths import plain_path
from cellwright.data.source_kinds import STORE_KINDS
from cellwright.errors import UserError
from cellwright.remedies import remedy

_WORD: Final = re.compile(r"([a-z][a-z0-9_]{0,39}):(?!//)(.*)", re.DOTALL)
_ADDRESS: Final = re.compile(r"(cellwright|s3|sftp|https?)://", re.IGNORECASE)


@dataclass(frozen=True, slots=True, kw_only=True)
class RemotePath:
    """A file or folder behind a connection."""

    connection: str
    path: str
    """Plain; empty: all that the connection has."""

    @property
    def words(self) -> str:
        """As `read_remote_path` reads it."""
        return f"{self.connection}:{self.path}"

    @property
    def address(self) -> str:
        """As libraries in a notebook read it."""
        return f"cellwright://{self.connection}/{self.path}"


def read_remote_path(word: str, connections: Mapping[str, DataConnection]) -> RemotePath | None:
    """What is meant, if it is behind a connection; None: it can only be a path of this machine. Raises `UserError`.

    For a word that is no file here: `NAME:path` of a connection that nobody named is a mistake.
    """
    if (address := _ADDRESS.match(word)) is not None:
        return _by_address(word, address[1].lower(), connections)
    found = _WORD.fullmatch(word)
    if found is None:
        return None
    if found[1] not in connections:
        known = sorted(name for name, each in connections.items() if each.kind in STORE_KINDS)
        there = f"Those with files: {', '.join(known)}." if known else "None has files."
        raise UserError(
            f"There is no file {word[:200]!r}, and no connection {found[1]!r}. {there}",
            hint=remedy("add_connection", name=found[1]),
        )
    connection = connections[found[1]]
    if connection.kind not in STORE_KINDS:
        raise UserError(
            f"{found[1]!r} is of the kind {connection.kind}: it has no files.",
            hint="Name it as a connection of the work, not as data.",
        )
    return RemotePath(connection=found[1], path=plain_path(found[2]))


def _by_address(word: str, scheme: str, connections: Mapping[str, DataConnection]) -> RemotePath:
    fitting = dict[str, str]()
    for name, connection in connections.items():
        inside = _inside(word, scheme, connection)
        if inside is not None:
            fitting[name] = inside
    if len(fitting) == 1:
        ((name, path),) = fitting.items()
        return RemotePath(connection=name, path=plain_path(path))
    shown = repr(word[:200]) if "@" not in word else "The address"
    if fitting:
        names = " and ".join(sorted(fitting))
        raise UserError(f"{shown} is behind more than one connection: {names}.", hint="Write NAME:path.")
    raise UserError(f"{shown} is behind no connection.", hint=remedy("add_connection", name="NAME"))


def _inside(word: str, scheme: str, connection: DataConnection) -> str | None:
    """The path below the connection's own place; None: it leads elsewhere."""
    options = connection.options
    try:
        parts = urlsplit(word)
        port = parts.port
    except ValueError:
        return None
    match scheme, connection.kind:
        case "cellwright", kind if kind in STORE_KINDS and parts.netloc == connection.name:
            return unquote(parts.path)
        case "s3", "s3":
            key = parts.path.strip("/")
            is_allowed = any(
                each.bucket == parts.netloc and f"{key}/".startswith(each.prefix)
                for each in read_buckets(options["buckets"])
            )
            return f"{parts.netloc}/{key}" if is_allowed else None
        case "sftp", "sftp":
            if parts.hostname != options["host"].lower() or str(port or 22) != options.get("port", "22"):
                return None
            return _below(unquote(parts.path), options.get("path") or "/")
        case "http" | "https", "http" | "webdav":
            url = options["url"].rstrip("/") + "/"
            return unquote(word[len(url) :]) if word.startswith(url) else None
        case _:
            return None


def _below(path: str, folder: str) -> str | None:
    wanted = PurePosixPath(path)
    return wanted.relative_to(folder).as_posix().strip(".") if wanted.is_relative_to(folder) else None
