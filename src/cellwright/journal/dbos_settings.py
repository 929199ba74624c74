"""How DBOS is set up: its configuration, how its rows are written, its connections to SQLite, what it need not log;
and DBOS from outside, for a door that runs no workflows. One of its doorkeepers.
"""

from __future__ import annotations

import logging
from abc import ABC, abstractmethod
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import asynccontextmanager
from functools import partial
from typing import Any, Final

import anyio.to_thread
import dbos
import sqlalchemy
from sqlalchemy.event import listen
from sqlalchemy.exc import SQLAlchemyError

from cellwright.errors import Unavailable
from cellwright.journal.blobs import Blobs
from cellwright.journal.crash import CrashPoint
from cellwright.journal.database import (
    IDLE_TRANSACTION_TIMEOUT_SECONDS,
    Database,
    JournalLocation,
    Synchronous,
    tune_sqlite,
)
from cellwright.journal.log import EventLog
from cellwright.journal.values import dump, error_json, load, parse_error

APPLICATION: Final = "cellwright"
POLL_INTERVAL_SECONDS: Final = 0.2
_EXPECTED: Final = (
    "Exception encountered in asynchronous workflow",
    "Asyncio task cancelled for workflow or step",
    "Workflow ",
)
_BLOB_CHARACTERS: Final = 64_000
"""Above this, a value is kept once, under its hash, and the row only refers to it."""


# ── what its rows hold ──


class JsonSerializer(dbos.Serializer):
    """JSON for everything; large values as blobs, errors in their envelope."""

    def __init__(self, log: EventLog) -> None:
        self._blobs = Blobs(log.database)
        self._log = log

    def serialize(self, data: Any) -> str:
        """The text that is kept."""
        text = dump({"error": error_json(data, self._log.mask)} if isinstance(data, BaseException) else {"value": data})
        if len(text) <= _BLOB_CHARACTERS:
            return text
        kept = dump({"blob": self._blobs.put(text), "characters": len(text)})
        self._log.at(CrashPoint.BLOB_WRITTEN)
        return kept

    def deserialize(self, serialized_data: str) -> Any:
        """The value or error of what was kept."""
        kept = load(serialized_data)
        if "blob" in kept:
            kept = load(self._blobs.get(kept["blob"]))
        return parse_error(kept["error"]) if "error" in kept else kept["value"]

    def name(self) -> str:
        """How rows written by this are marked."""
        return "cellwright_json"


# ── its configuration ──


def engine_config(database: Database, serializer: JsonSerializer, version: str, worker: str) -> dbos.DBOSConfig:
    """The configuration for the journal in this database."""
    place = database.place
    config: dbos.DBOSConfig = {
        "name": APPLICATION,
        "system_database_url": place.url,
        "serializer": serializer,
        "application_version": version,
        "executor_id": worker,
        "sys_db_idle_transaction_timeout_sec": IDLE_TRANSACTION_TIMEOUT_SECONDS,
        "log_level": "WARNING",
    }
    if place.dialect == "sqlite":
        config["system_database_engine"] = sqlite_engine(place, database.synchronous)
    return config


def sqlite_engine(place: JournalLocation, synchronous: Synchronous) -> sqlalchemy.Engine:
    """The engine's connections to the file."""
    # Two: threads wait in line for a connection, but SQLite lets them write in no order, and some for half a minute.
    engine = sqlalchemy.create_engine(place.url, pool_size=2, max_overflow=0, pool_timeout=60)

    def connected(connection: Any, _: Any) -> None:
        connection.isolation_level = "IMMEDIATE"
        tune_sqlite(connection, synchronous)

    listen(engine, "connect", connected)
    return engine


class _Expected(logging.Filter):
    """Runs that fail or are stopped are outcomes, and told as such: not the operator's concern."""

    def filter(self, record: logging.LogRecord) -> bool:
        return not record.getMessage().startswith(_EXPECTED)


EXPECTED_OUTCOMES: Final = _Expected()


# ── the engine from outside ──


class WorkflowControl(ABC):
    """Stops and forks workflows, through DBOS's system database."""

    @property
    @abstractmethod
    def _system(self) -> Any:
        """That database."""

    async def cancel(self, workflow_ids: Sequence[str]) -> None:
        """Let these take no further step; their worker notices within a second and stops the steps they are in."""
        await anyio.to_thread.run_sync(self._system.cancel_workflows, list(workflow_ids))

    async def fork(self, old: str, new: str, from_step: int, children: Mapping[str, str], version: str) -> None:
        """Put a copy of the old one's steps below `from_step` in the queue, for workers of this version.

        It may take these children for its own.
        """
        fork = partial(self._system.fork_workflow, application_version=version, replacement_children=dict(children))
        await anyio.to_thread.run_sync(fork, [old], [new], [from_step])


class RemoteEngine(WorkflowControl):
    """Steers workflows that some worker runs, or will run."""

    def __init__(self, client: dbos.DBOSClient) -> None:
        self._client = client

    @property
    def _system(self) -> Any:
        return self._client._sys_db

    @classmethod
    @asynccontextmanager
    async def open(cls, place: JournalLocation) -> AsyncGenerator[RemoteEngine]:
        """Over connections of its own. The engine's tables must be there: some worker has made them."""
        engine = sqlite_engine(place, "normal") if place.dialect == "sqlite" else None

        def connect() -> dbos.DBOSClient:
            return dbos.DBOSClient(
                system_database_url=place.url,
                system_database_engine=engine,
                application_name=APPLICATION,
                retry_connection_errors=False,
            )

        try:
            client = await anyio.to_thread.run_sync(connect)
        except SQLAlchemyError as error:
            raise Unavailable(f"Cannot reach the journal's runs: {error}.", hint="Check its database.") from error
        try:
            yield cls(client)
        finally:
            client.destroy()
            if engine is not None:
                engine.dispose()
