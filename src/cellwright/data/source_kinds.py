"""Kinds of connections: in which ways each is spoken with, and which options it has.

There are three ways. `sql`: statements, through a worker or, for a file, in a cage. `exchange`: HTTP requests that the
broker's worker completes. `files`: names, sizes and ranges of bytes.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final, Literal, get_args

from cellwright.data.dialects import Dialect

SourceKind = Literal[
    "postgres", "redshift", "mysql", "clickhouse", "snowflake", "bigquery", "databricks", "trino", "sqlite", "duckdb",
    "s3", "api", "http", "webdav", "sftp", "smb", "gcs", "azure",
]  # fmt: skip
SOURCE_KINDS: Final[tuple[SourceKind, ...]] = get_args(SourceKind)
SourceWay = Literal["sql", "exchange", "files"]
WEB_KINDS: Final = frozenset[SourceKind]({"s3", "api"})
"""What takes exchanges: a cell's own HTTP requests."""
STORE_KINDS: Final = frozenset[SourceKind]({"s3", "http", "webdav", "sftp", "smb", "gcs", "azure"})
"""What has files that can be listed and read."""
SQL_KINDS: Final = frozenset[SourceKind](SOURCE_KINDS) - WEB_KINDS - STORE_KINDS
FILE_KINDS: Final = frozenset[SourceKind]({"sqlite", "duckdb"})
"""A database in a file, opened in a cage only: it has no secret, and its format is a stranger's."""
URL_KINDS: Final = frozenset[SourceKind]({"api", "http", "webdav"})
"""What is found by its `url`."""
UNTRIED_KINDS: Final = frozenset[SourceKind](
    {"snowflake", "bigquery", "databricks", "trino", "redshift", "gcs", "azure"}
)
"""Written against their documentation, and never tried against the service."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceTraits:
    """What holds for every connection of one kind."""

    dialect: Dialect | None = None
    """None: it takes no SQL."""
    needed: tuple[str, ...]
    """Options that must be given."""
    known: tuple[str, ...] = ()
    """Options that may be given."""
    port: int | None = None
    extra: str = ""
    """What `pip install cellwright[…]` adds its driver; empty: it is always there."""


_TLS: Final = ("tls", "tls_ca")
SOURCE_TRAITS: Final[Mapping[SourceKind, SourceTraits]] = MappingProxyType(
    {
        "postgres": SourceTraits(
            dialect="postgres", needed=("host", "database", "user"), known=("port", "schema", *_TLS), port=5432,
            extra="postgres",
        ),
        "redshift": SourceTraits(
            dialect="redshift", needed=("host", "database", "user"), known=("port", "schema", *_TLS), port=5439,
            extra="postgres",
        ),
        "mysql": SourceTraits(
            dialect="mysql", needed=("host", "database", "user"), known=("port", *_TLS), port=3306, extra="mysql"
        ),
        "clickhouse": SourceTraits(
            dialect="clickhouse", needed=("host", "user"), known=("port", "database", *_TLS), port=8123,
            extra="clickhouse",
        ),
        "snowflake": SourceTraits(
            dialect="snowflake", needed=("account", "user", "database"), known=("schema", "warehouse", "role"),
            extra="snowflake",
        ),
        "bigquery": SourceTraits(
            dialect="bigquery", needed=("project",), known=("dataset", "location"), extra="bigquery"
        ),
        "databricks": SourceTraits(
            dialect="databricks", needed=("host", "http_path"), known=("catalog", "schema"), extra="databricks"
        ),
        "trino": SourceTraits(
            dialect="trino", needed=("host", "user", "catalog"), known=("port", "schema", *_TLS), port=8080,
            extra="trino",
        ),
        "sqlite": SourceTraits(dialect="sqlite", needed=("path",)),
        "duckdb": SourceTraits(dialect="duckdb", needed=("path",)),
        "s3": SourceTraits(
            needed=("buckets", "access_key_id"), known=("endpoint", "region", "methods", *_TLS), extra="objects"
        ),
        "api": SourceTraits(needed=("url",), known=("header", "form", "methods", "paths", "openapi", *_TLS)),
        "http": SourceTraits(needed=("url",), known=("user", *_TLS)),
        "webdav": SourceTraits(needed=("url",), known=("user", *_TLS)),
        "sftp": SourceTraits(needed=("host", "user"), known=("port", "path", "host_key"), port=22, extra="sftp"),
        "smb": SourceTraits(needed=("host", "share", "user"), known=("port", "path", "domain"), port=445, extra="smb"),
        "gcs": SourceTraits(needed=("bucket",), known=("prefix",), extra="objects"),
        "azure": SourceTraits(needed=("account", "container"), known=("prefix", "endpoint", *_TLS), extra="objects"),
    }
)  # fmt: skip
_SPOKEN_VOWEL: Final = frozenset[SourceKind]({"s3", "api", "http", "sftp", "smb", "azure"})
TLS_MODES: Final = ("off", "prefer", "require", "verify")
"""`verify`: the certificate is checked, too, against the system's authorities or those of `tls_ca`."""


def a_connection(kind: SourceKind) -> str:
    """A connection of this kind, as a sentence begins with it."""
    return f"{'An' if kind in _SPOKEN_VOWEL else 'A'} {kind} connection"


def ways_of(kind: SourceKind) -> tuple[SourceWay, ...]:
    """How connections of this kind are spoken with; an S3 one in two ways."""
    known: dict[SourceWay, frozenset[SourceKind]] = {"sql": SQL_KINDS, "exchange": WEB_KINDS, "files": STORE_KINDS}
    return tuple(way for way, kinds in known.items() if kind in kinds)
