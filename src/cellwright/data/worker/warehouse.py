"""What all warehouses share: a driver that starts a statement, and a catalogue in an information schema.

Written by their documentation and never tried against the services. They have no session that only reads: the role of
the user, and what the broker judges, are what holds.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Final, Protocol

from cellwright.data.catalogue import (
    MAX_COLUMNS,
    MAX_COMMENT,
    MAX_NAME,
    Catalogue,
    CatalogueColumn,
    CatalogueTable,
    bounded,
)
from cellwright.data.worker.source import BatchStream, CostEstimate, FailureKind, SourceFailed

if TYPE_CHECKING:
    import pyarrow as pa

_WORDS: Final[tuple[tuple[str, FailureKind], ...]] = (
    ("certificate", "tls"), ("ssl", "tls"), ("password", "login"), ("authenticat", "login"), ("unauthorized", "login"),
    ("credential", "login"), ("access token", "login"), ("401", "login"), ("403", "login"), ("no such host", "host"),
    ("name or service", "host"), ("refused", "host"), ("resolve", "host"), ("max retries", "host"),
    ("cancel", "cancelled"), ("timeout", "time"), ("timed out", "time"), ("reset by peer", "gone"),
)  # fmt: skip


class WarehouseDriver(Protocol):
    """One driver's session. What it raises is one of `problems`."""

    problems: tuple[type[Exception], ...]

    def start(self, statement: str, seconds: float) -> tuple[pa.Schema, Iterator[pa.RecordBatch]]:
        """Run a statement; batches as they come."""
        ...

    def cancel(self) -> None:
        """From another thread: end what runs."""
        ...

    def finish(self) -> None:
        """The statement of before is over."""
        ...

    def close(self) -> None:
        """End the session."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class WarehouseDialect:
    """The statements that differ."""

    columns: str
    """Gives table_schema, table_name, column_name, data_type, is_nullable, comment, is_view in order."""
    functions: str = ""
    """Gives the names of functions that people defined, as `name`; empty: the service does not list them."""
    default_schema: str = ""
    plan: str = ""
    """What is put before a query to ask for its plan."""
    read_plan: Callable[[list[dict[str, Any]]], CostEstimate] = lambda _rows: CostEstimate()
    dry_run: Callable[[str], CostEstimate] | None = None
    """How a service without plans is asked."""


class Warehouse:
    """A source over such a driver."""

    def __init__(self, driver: WarehouseDriver, dialect: WarehouseDialect, server: str) -> None:
        self._driver, self._dialect, self.server = driver, dialect, server

    @contextmanager
    def stream(self, statement: str, parameters: Sequence[Any], seconds: float) -> Generator[BatchStream]:
        """See `Source`."""
        if parameters:
            raise SourceFailed(
                "statement", "Statements for this warehouse take no parameters here.", hint="Write the values into it."
            )
        with self._told():
            schema, batches = self._driver.start(statement, seconds)
        ended = False

        def told() -> Iterator[pa.RecordBatch]:
            nonlocal ended
            with self._told():
                yield from batches
                ended = True

        try:
            yield BatchStream(schema=schema, batches=told())
        finally:
            if not ended:
                self.cancel()
            with suppress(*self._driver.problems):
                self._driver.finish()

    def cancel(self) -> None:
        """See `Source`."""
        with suppress(*self._driver.problems):
            self._driver.cancel()

    def catalogue(self) -> Catalogue:
        """See `Source`. One statement for all; keys are not declared in warehouses as a rule."""
        tables = defaultdict[tuple[str, str, bool], list[CatalogueColumn]](list)
        for row in self._rows(f"{self._dialect.columns} LIMIT {MAX_COLUMNS}"):
            schema, table, name, kind, nullable, comment, is_view = row.values()
            tables[str(schema), str(table), bool(is_view)].append(
                CatalogueColumn(
                    name=str(name)[:MAX_NAME],
                    type=str(kind)[:MAX_NAME],
                    is_nullable=str(nullable).upper() in {"YES", "TRUE"},
                    comment=str(comment or "")[:MAX_COMMENT],
                )
            )
        kept, is_cut = bounded(
            CatalogueTable(schema=schema, name=name, kind="view" if is_view else "table", columns=tuple(columns))
            for (schema, name, is_view), columns in tables.items()
        )
        now = datetime.now(UTC).isoformat(timespec="seconds")
        default = self._dialect.default_schema
        return Catalogue(tables=kept, default_schema=default, server=self.server, is_cut=is_cut, read_at=now)

    def estimate(self, statement: str, parameters: Sequence[Any] = ()) -> CostEstimate:
        """See `Source`."""
        if self._dialect.dry_run is not None:
            return self._dialect.dry_run(statement)
        if not self._dialect.plan:
            return CostEstimate()
        return self._dialect.read_plan(self._rows(f"{self._dialect.plan} {statement}"))

    def doing_more(self, functions: Sequence[str]) -> tuple[str, ...]:
        """See `Source`."""
        if not self._dialect.functions:
            return ()
        found = {str(row["name"]).lower() for row in self._rows(self._dialect.functions)}
        return tuple(name for name in functions if name.lower() in found)

    def close(self) -> None:
        """See `Source`."""
        with suppress(*self._driver.problems):
            self._driver.close()

    def rehearse(self, statement: str, seconds: float) -> int | None:
        """See `WritingSource`: nothing is tried that might stay."""
        return None

    def write(self, statement: str, seconds: float) -> int | None:
        """See `WritingSource`."""
        with self.stream(statement, (), seconds) as stream:
            for _batch in stream.batches:
                pass
        return None

    def _rows(self, statement: str) -> list[dict[str, Any]]:
        with self.stream(statement, (), 120.0) as stream:
            rows = [row for batch in stream.batches for row in batch.to_pylist()]
        return [{key.lower(): value for key, value in row.items()} for row in rows]

    @contextmanager
    def _told(self) -> Generator[None]:
        try:
            yield
        except self._driver.problems as problem:
            raise warehouse_failure(problem) from None


def warehouse_failure(problem: Exception, *, opening: bool = False) -> SourceFailed:
    """What to tell of what a driver raised."""
    text = str(problem)
    otherwise: FailureKind = "other" if opening else "statement"
    kind = next((kind for word, kind in _WORDS if word in text.casefold()), otherwise)
    hint = "Look at what the connection says of where and as whom." if kind in {"login", "host", "tls"} else ""
    return SourceFailed(kind, text, hint=hint)
