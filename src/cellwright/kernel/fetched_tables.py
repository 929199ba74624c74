"""Rows of a database as a file for a cage. What a driver made is a stranger's bytes: copied here, and never parsed."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Protocol

import anyio.to_thread

from cellwright.data.catalogue import Catalogue, CatalogueTable
from cellwright.data.connections import QueryLimits
from cellwright.data.dialects import Dialect
from cellwright.data.files import DataFile
from cellwright.data.messages import QueryResult, ReadSchema, RunQuery
from cellwright.data.table_statements import all_rows, counted_rows, quote_mark, sampled_rows
from cellwright.errors import CellwrightError, UserError
from cellwright.kernel.profiler import ProfileLimits
from cellwright.profiles.profile import LONGEST_NAME, LONGEST_QUERY, ReadOptions

_MEGABYTES: Final = 512
_FOLDER: Final = "connection-rows"
_NOT_PLAIN: Final = re.compile(r"[^\w-]")
_LONGEST_STEM: Final = 80
_BLOCKS: Final = "whole blocks of the table, chosen by chance"


class TableSource(Protocol):
    """Where rows come from. Methods raise the errors of `cellwright.errors`."""

    async def query(self, asked: RunQuery) -> QueryResult:
        """Rows; the descriptor is the caller's to close."""
        ...

    async def schema(self, asked: ReadSchema) -> Catalogue:
        """What a connection shows."""
        ...

    async def dialect(self, connection: str) -> Dialect:
        """What its statements are written in."""
        ...

    async def limits(self, connection: str) -> QueryLimits:
        """How much one result of it may be."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class FetchedTable:
    """Rows of a table or of a query, as a file."""

    file: DataFile
    reading: ReadOptions
    """How a notebook gets all of them."""
    rows: int
    """In the whole table."""
    is_counted: bool
    sampling: str = ""
    """How those that are here were chosen; empty: all of them."""
    table: CatalogueTable | None = None
    """None: it is a query."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TableFetch:
    """Fetches rows of one connection into a folder."""

    source: TableSource
    connection: str
    folder: Path
    limits: ProfileLimits
    is_counted: bool = False
    """Count a table that is sampled, where the database does not find that too much."""

    async def table(self, table: CatalogueTable, number: int) -> FetchedTable:
        """Its rows, or a sample of them; masked columns are left out. Raises what the database says."""
        dialect = await self.source.dialect(self.connection)
        columns = [column.name for column in table.columns if not column.is_masked]
        if not columns:
            raise UserError("It has no column whose values may be seen.", hint="They are masked.")
        whole, file = all_rows(table, columns, dialect), self._file(table.name, number)
        if len(whole) > LONGEST_QUERY:
            raise UserError("It has too many columns to be asked for by name.", hint="Ask for some of them.")
        found, is_sample = await self._sample(table, columns, dialect, file), True
        if found is None:
            found, is_sample = await self._fetch(whole, file), False
        is_all = not is_sample and not found.cut
        counted = found.rows if is_all else await self._count(table, dialect)
        return FetchedTable(
            file=file,
            reading=ReadOptions(
                path=self.connection,
                format="connection",
                part=table.qualified[:LONGEST_NAME],
                query=whole,
                quote=quote_mark(dialect),
            ),
            # What the server believes may be old: there are more than those that came.
            rows=counted if counted is not None else max(table.rows or 0, found.rows + 1),
            is_counted=counted is not None,
            sampling="" if is_all else _BLOCKS if is_sample else "the first ones",
            table=table,
        )

    async def query(self, statement: str) -> FetchedTable:
        """The rows of a query; of a long result the first ones."""
        file = self._file("query", 0)
        found = await self._fetch(statement, file)
        reading = ReadOptions(path=self.connection, format="connection", query=statement)
        is_cut = bool(found.cut)
        return FetchedTable(
            file=file,
            reading=reading,
            rows=found.rows + is_cut,
            is_counted=not is_cut,
            sampling="the first ones" if is_cut else "",
        )

    async def _sample(
        self, table: CatalogueTable, columns: Sequence[str], dialect: Dialect, file: DataFile
    ) -> QueryResult | None:
        statement = sampled_rows(table, columns, self.limits.most_rows, dialect)
        found = await self._fetch(statement, file) if statement is not None else None
        return found if found is not None and found.rows else None

    async def _fetch(self, statement: str, file: DataFile) -> QueryResult:
        asked = RunQuery(
            connection=self.connection,
            statement=statement,
            rows=self.limits.most_rows,
            megabytes=_MEGABYTES,
            seconds=self.limits.seconds,
        )
        found = await self.source.query(asked)
        await anyio.to_thread.run_sync(_copy, found.descriptor, file.source)
        return found

    async def _count(self, table: CatalogueTable, dialect: Dialect) -> int | None:
        if not self.is_counted:
            return None
        statement = counted_rows(table, dialect)
        asked = RunQuery(connection=self.connection, statement=statement, seconds=self.limits.seconds, form="json")
        with suppress(CellwrightError, ValueError):
            found = await self.source.query(asked)
            with os.fdopen(found.descriptor, "rb") as lines:
                return int(lines.read(100).strip(b"[] \n"))
        return None

    def _file(self, name: str, number: int) -> DataFile:
        """Each in a folder of its own: files of one folder and like names would be read as one table."""
        stem = _NOT_PLAIN.sub("_", name)[:_LONGEST_STEM] or "table"
        target = f"{_FOLDER}/{self.connection}/{number}/{stem}.arrow"
        return DataFile(name=stem, source=self.folder / target, place=target, target=target, is_outside=True)


def _copy(descriptor: int, target: Path) -> None:
    """From sealed memory into a file that only we may read. Blocking."""
    target.parent.mkdir(parents=True, exist_ok=True)
    with os.fdopen(descriptor, "rb") as source, target.open("wb") as file:
        source.seek(0)
        shutil.copyfileobj(source, file, 1 << 20)
