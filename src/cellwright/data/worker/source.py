"""What every source of data can do for its worker, whatever its driver. One contract suite runs for all of them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Literal, Protocol

from cellwright.data.catalogue import Catalogue

if TYPE_CHECKING:
    import pyarrow as pa

FailureKind = Literal[
    "login", "host", "tls", "driver", "statement", "time", "cancelled", "gone", "other",
    "missing", "denied", "changed", "size", "host_key",
]  # fmt: skip
"""The last five are those of files: nothing there, not for this user, other bytes than before, too much at once, and a
server that is not the one that a person named."""


class SourceFailed(Exception):
    """The server or its driver did not do it. `why` is its own message in one line, without secrets."""

    def __init__(self, kind: FailureKind, why: str, *, hint: str = "") -> None:
        super().__init__(why)
        self.kind: FailureKind = kind
        self.why = why
        self.hint = hint


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceLogin:
    """Where to, and as whom: all that a source is opened with."""

    options: Mapping[str, str]
    user: str
    secret: str = field(default="", repr=False)
    access: Literal["read", "write"] = "read"
    seconds: float = 300.0
    """What the server itself is told to stop a statement after."""
    network: Mapping[str, str] = field(default_factory=lambda: MappingProxyType(dict[str, str]()))
    """Proxies and certificates in force, where it is for us to use them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CostEstimate:
    """What the server expects of a query; None: it does not say."""

    rows: int | None = None
    """Read for it, or given by it, whichever is more."""
    bytes: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchStream:
    """A result as it comes: batches of one schema, of the driver's own types. `TidyColumns` makes them people's."""

    schema: pa.Schema
    batches: Iterator[pa.RecordBatch]
    """Raises `SourceFailed`."""


class Source(Protocol):
    """An open session, read-only unless it was opened to write. Methods raise `SourceFailed` and nothing else."""

    server: str
    """What it says it is: "PostgreSQL 18.4"."""

    def stream(self, statement: str, parameters: Sequence[Any], seconds: float) -> AbstractContextManager[BatchStream]:
        """The result of one query. Left early, the statement ends on the server, too; the session goes on."""
        ...

    def cancel(self) -> None:
        """From another thread: the statement that runs now ends on the server, too. Nothing if none runs."""
        ...

    def catalogue(self) -> Catalogue:
        """Everything it shows, by a few statements in all, however many tables there are."""
        ...

    def estimate(self, statement: str, parameters: Sequence[Any] = ()) -> CostEstimate:
        """What a query would take, without running it."""
        ...

    def doing_more(self, functions: Sequence[str]) -> tuple[str, ...]:
        """Those of these functions of which the server does not say that they only compute."""
        ...

    def close(self) -> None:
        """End the session."""
        ...


class WritingSource(Source, Protocol):
    """A session that may write."""

    def rehearse(self, statement: str, seconds: float) -> int | None:
        """How many rows it would change, found by doing and undoing it; None: this source cannot undo it."""
        ...

    def write(self, statement: str, seconds: float) -> int | None:
        """Do it, once, and commit; the number of rows, if the server says."""
        ...
