"""`python -m cellwright.server.data_broker`: reads from standard input what to be, says `ready`, and is the broker.

Started by clients only. Nothing of a secret is in its arguments or its environment, and no other process of the same
person can look into its memory. Databases that are files are read in cages, which it starts when one is asked for.
"""

from __future__ import annotations

import json
import logging
import os
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import anyio
import anyio.to_thread
import uvloop
from anyio.abc import TaskGroup, TaskStatus

from cellwright.background import listen, say_ready, sole
from cellwright.closed_process import close_to_others
from cellwright.data.broker.audit import StatementAudit
from cellwright.data.broker.broker import Broker
from cellwright.data.broker.crash import AtBrokerCrash, carry_on
from cellwright.data.broker.secret_finder import SecretFinder
from cellwright.data.broker.server import BrokerServer
from cellwright.data.broker.web_workers import WebWorkers
from cellwright.data.broker.worker_pool import WorkerPool
from cellwright.data.broker_process import broker_at
from cellwright.data.catalogue import Catalogue
from cellwright.data.connections import QueryLimits
from cellwright.data.messages import QueryResult, ResultForm
from cellwright.idle import IdleTimer
from cellwright.settings import Settings

if TYPE_CHECKING:
    from cellwright.kernel.file_queries import FileQueries

_CAGES_AT_ONCE: Final = 2
"""Each may take gigabytes."""


def main(at_crash: AtBrokerCrash = carry_on) -> None:
    """Leave the process that started us, close ourselves to others, and be the broker."""
    if os.fork():
        os._exit(0)
    close_to_others()
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(name)s: %(message)s")
    given = json.load(sys.stdin)
    home = Path(given["home"])
    process = broker_at(home)
    with sole(process) as is_sole:
        if not is_sole:
            sys.exit("another data broker has this state directory")
        listener = listen(process)
        try:
            anyio.run(_run, home, given, listener, at_crash, backend_options={"loop_factory": uvloop.new_event_loop})
        finally:
            # While the directory is still ours: after that it may be another broker's socket.
            process.file("sock").unlink(missing_ok=True)
            listener.close()


class CagedFiles:
    """Databases that are files, each question in a cage of its own; what starts cages is started for the first."""

    def __init__(self, cache: Path | None, tasks: TaskGroup) -> None:
        self._cache = cache
        self._tasks = tasks
        self._starting = anyio.Lock()
        self._slots = anyio.Semaphore(_CAGES_AT_ONCE)
        self._queries: FileQueries | None = None

    async def query(
        self, kind: str, path: Path, statement: str, parameters: Sequence[Any], limits: QueryLimits, form: ResultForm
    ) -> QueryResult:
        """Rows."""
        queries = await self._started()
        async with self._slots:
            return QueryResult(**asdict(await queries.query(kind, path, statement, parameters, limits, form)))

    async def catalogue(self, kind: str, path: Path) -> Catalogue:
        """What it shows."""
        queries = await self._started()
        async with self._slots:
            return await queries.catalogue(kind, path)

    async def _started(self) -> FileQueries:
        async with self._starting:
            if self._queries is None:
                self._queries = await self._tasks.start(self._keep)
            return self._queries

    async def _keep(self, *, task_status: TaskStatus[FileQueries]) -> None:
        # Most brokers never read a file: none of them waits for what runs notebooks to load.
        from cellwright.app.notebooks import contained
        from cellwright.kernel.file_queries import FileQueries
        from cellwright.kernel.pool import KernelPool
        from cellwright.sandbox.host.tiers import probe

        tier = contained(None, await anyio.to_thread.run_sync(probe), allow_uncontained=False)
        with tempfile.TemporaryDirectory() as own:
            async with KernelPool.open((self._cache or Path(own)) / "zygote") as pool:
                task_status.started(FileQueries(pool=pool, tier=tier))
                await anyio.sleep_forever()


async def _run(home: Path, given: dict[str, Any], listener: Any, at_crash: AtBrokerCrash) -> None:
    settings = Settings.read()
    environment, idle = settings.environment, IdleTimer(float(given["idle_seconds"]))
    secrets = SecretFinder(home, given["secrets"], environment)
    audit = StatementAudit(home)
    async with anyio.create_task_group() as tasks:
        files = CagedFiles(Path(given["cache"]) if given["cache"] else None, tasks)
        server = BrokerServer(
            broker=Broker(
                home=home,
                workers=WorkerPool(
                    find_secret=secrets.find, environment=environment, network=settings.connection.variables
                ),
                web=WebWorkers(
                    find_secret=secrets.find,
                    environment=environment,
                    network=settings.connection.variables,
                    audit=audit,
                    idle=idle,
                ),
                files=files,
                audit=audit,
                at_crash=at_crash,
            ),
            secrets=secrets,
            idle=idle,
            stopping=anyio.Event(),
            uid=os.getuid(),
        )
        say_ready()
        await server.serve(listener)
        tasks.cancel_scope.cancel()
    audit.close()


if __name__ == "__main__":
    main()
