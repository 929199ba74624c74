"""The engine from outside: what a door may ask of it without running workflows. One of the doorkeepers of DBOS."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import asynccontextmanager
from functools import partial
from typing import Any

import anyio.to_thread
import dbos
from sqlalchemy.exc import SQLAlchemyError

from cellwright.errors import Unavailable
from cellwright.journal.database import JournalLocation
from cellwright.journal.dbos_settings import APPLICATION, fork_workflow, sqlite_engine


class RemoteEngine:
    """Steers workflows that some worker runs, or will run."""

    def __init__(self, client: dbos.DBOSClient) -> None:
        self._system: Any = client._sys_db

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

    async def cancel(self, workflow_ids: Sequence[str]) -> None:
        """Let these take no further step; their worker notices within a second and stops the steps they are in."""
        await anyio.to_thread.run_sync(self._system.cancel_workflows, list(workflow_ids))

    async def fork(self, old: str, new: str, from_step: int, children: Mapping[str, str], version: str) -> None:
        """Put a copy of the old one's steps in the queue, for workers of this version."""
        await anyio.to_thread.run_sync(partial(fork_workflow, self._system, old, new, from_step, children, version))
