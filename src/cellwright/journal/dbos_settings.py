"""How DBOS is set up: its configuration, its connections to SQLite, and what it need not log."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import Any, Final

import dbos
import sqlalchemy
from sqlalchemy.event import listen

from cellwright.journal.database import IDLE_TRANSACTION_TIMEOUT_SECONDS, JournalLocation, Synchronous, tune_sqlite
from cellwright.journal.serializer import JsonSerializer

APPLICATION: Final = "cellwright"
POLL_INTERVAL_SECONDS: Final = 0.2
_EXPECTED: Final = (
    "Exception encountered in asynchronous workflow",
    "Asyncio task cancelled for workflow or step",
    "Workflow ",
)


def engine_config(
    place: JournalLocation, synchronous: Synchronous, serializer: JsonSerializer, version: str, worker: str
) -> dbos.DBOSConfig:
    """The configuration for the journal at this place."""
    config: dbos.DBOSConfig = {
        "name": APPLICATION,
        "system_database_url": place.url,
        "serializer": serializer,
        "application_version": version,
        "executor_id": worker,
        # Nothing of ours goes through it, but closing waits for its poll.
        "notification_listener_polling_interval_sec": POLL_INTERVAL_SECONDS,
        "sys_db_idle_transaction_timeout_sec": IDLE_TRANSACTION_TIMEOUT_SECONDS,
        "log_level": "WARNING",
    }
    if place.dialect == "sqlite":
        config["system_database_engine"] = sqlite_engine(place, synchronous)
    return config


def fork_workflow(system: Any, old: str, new: str, from_step: int, children: Mapping[str, str], version: str) -> None:
    """Put a copy of the old one's steps in the queue, for workers of this version. Blocking."""
    system.fork_workflow([old], [new], [from_step], application_version=version, replacement_children=dict(children))


def sqlite_engine(place: JournalLocation, synchronous: Synchronous) -> sqlalchemy.Engine:
    """The engine's connections to the file."""
    engine = sqlalchemy.create_engine(place.url, pool_size=8, max_overflow=8, pool_timeout=60)

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
