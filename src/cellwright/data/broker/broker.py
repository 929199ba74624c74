"""What a broker does for whoever asks: find the connection, and hand what is asked to those who speak with its kind."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

import anyio.to_thread

from cellwright.data.broker.audit import StatementAudit
from cellwright.data.broker.crash import AtBrokerCrash, carry_on
from cellwright.data.broker.file_words import FileWords
from cellwright.data.broker.recording import uncut
from cellwright.data.broker.sql_words import FileSource, SqlWords
from cellwright.data.broker.web_workers import WebWorkers
from cellwright.data.broker.worker_pool import WorkerPool
from cellwright.data.broker.worker_process import WorkerFailed
from cellwright.data.catalogue import Catalogue
from cellwright.data.connections import DataConnection, find_connection, require_way
from cellwright.data.failure_words import failure_error
from cellwright.data.masked_columns import idle_masks
from cellwright.data.messages import (
    CostlyQuery,
    FileEntry,
    FileList,
    FilePart,
    ListFiles,
    ListStatements,
    MakeWrite,
    OpenExchange,
    QueryResult,
    ReadFile,
    ReadSchema,
    RehearsedWrite,
    RehearseWrite,
    RunQuery,
    SentStatement,
    StatFile,
    TriedConnection,
    TryConnection,
    WriteOutcome,
)
from cellwright.data.source_kinds import WEB_KINDS, SourceWay, ways_of
from cellwright.errors import RefusedByPolicy


@dataclass(slots=True, kw_only=True)
class Broker:
    """All that is asked of one state directory's connections. Raises `UserError`, `RefusedByPolicy`, `Unavailable`."""

    home: Path
    workers: WorkerPool
    web: WebWorkers
    files: FileSource
    audit: StatementAudit
    at_crash: AtBrokerCrash = carry_on
    _sql: SqlWords = field(init=False)
    _files_of_connections: FileWords = field(init=False)

    def __post_init__(self) -> None:
        self._sql = SqlWords(workers=self.workers, files=self.files, audit=self.audit, at_crash=self.at_crash)
        self._files_of_connections = FileWords(workers=self.workers, audit=self.audit)

    async def query(self, asked: RunQuery) -> QueryResult | CostlyQuery:
        """The rows of a statement that only reads."""
        return await self._sql.query(asked, await self._connection(asked.connection, "sql", asked.asker.project))

    async def foresee(self, asked: RunQuery) -> CostlyQuery | None:
        """What a query would take, if a person has to agree to it first; it is not sent. Raises as `query` does."""
        return await self._sql.foresee(asked, await self._connection(asked.connection, "sql", asked.asker.project))

    async def schema(self, asked: ReadSchema) -> tuple[DataConnection, Catalogue]:
        """What the connection shows."""
        connection = await self._connection(asked.connection, "sql")
        return connection, await self._sql.schema(asked, connection)

    async def rehearse(self, asked: RehearseWrite) -> RehearsedWrite:
        """What a write would change, by doing and undoing it."""
        return await self._sql.rehearse(asked, await self._connection(asked.connection, "sql", asked.asker.project))

    async def write(self, asked: MakeWrite) -> WriteOutcome:
        """Make a change, once: never sent again under the same id."""
        if (before := await self._sql.made_before(asked)) is not None:
            return before
        return await self._sql.write(asked, await self._connection(asked.connection, "sql", asked.asker.project))

    async def exchange(self, asked: OpenExchange) -> int:
        """A line to the connection's worker, on which one HTTP exchange is spoken. Raises as `query` does."""
        connection = await self._connection(asked.connection, "exchange", asked.asker.project)
        try:
            return await self.web.exchange(connection, asked.asker)
        except WorkerFailed as failed:
            raise failure_error(failed.failure, failed.why, failed.hint, connection, None, None) from None

    async def file_words(self, asked: ListFiles | StatFile | ReadFile) -> FileList | FileEntry | FilePart:
        """What a connection's files are. Raises as `query` does."""
        connection = await self._connection(asked.connection, "files", asked.asker.project)
        return await self._files_of_connections.answer(asked, connection)

    async def statements(self, asked: ListStatements) -> list[SentStatement]:
        """What was sent, the latest first."""
        return await uncut(partial(self.audit.listed, asked))

    async def try_connection(self, asked: TryConnection) -> TriedConnection:
        """Open it anew, and look what is there."""
        began = time.monotonic()
        connection = await self._connection(asked.connection)
        tables, notices = None, ()
        if "files" in ways_of(connection.kind):
            server, entries = await self._files_of_connections.count_root(connection)
            shown = (
                f"{entries:,} files and folders at its top" if entries else "nothing at its top: is it the right place?"
            )
            server = f"{server}, {shown}"
        elif connection.kind in WEB_KINDS:
            server = await self._try_web(connection)
        else:
            require_way(connection, "sql")
            catalogue = await self._sql.try_connection(connection)
            server, tables = catalogue.server, len(catalogue.tables)
            notices = tuple(
                f"Nothing is masked by {mask!r}: there is no such column."
                for mask in idle_masks(catalogue, connection.masked)
            )
        seconds = round(time.monotonic() - began, 3)
        return TriedConnection(server=server, tables=tables, seconds=seconds, notices=notices)

    async def _try_web(self, connection: DataConnection) -> str:
        try:
            return await self.web.try_connection(connection)
        except WorkerFailed as failed:
            raise failure_error(failed.failure, failed.why, failed.hint, connection, None, None) from None

    async def _connection(self, name: str, way: SourceWay | None = None, project: str = "") -> DataConnection:
        connection = await anyio.to_thread.run_sync(find_connection, self.home, name)
        if way is not None:
            require_way(connection, way)
        if project and not connection.may_be_used_in(Path(project)):
            raise RefusedByPolicy(
                f"The connection {name!r} is not for notebooks of {project!r}.",
                hint="Its `projects` say whose it is; a person can add this one.",
            )
        return connection
