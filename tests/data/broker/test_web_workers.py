"""Web workers of a broker: how long they stay."""

from __future__ import annotations

import os
from pathlib import Path

import anyio
import anyio.lowlevel
import psutil

from cellwright.data.broker.audit import StatementAudit
from cellwright.data.broker.web_workers import WebWorkers
from cellwright.data.connections import DataConnection
from cellwright.data.messages import Asker
from cellwright.idle import IdleTimer


async def test_a_worker_that_nobody_needs_ends_and_one_that_is_needed_stays(tmp_path: Path) -> None:
    idle, audit = IdleTimer(300), StatementAudit(tmp_path)
    web = WebWorkers(
        find_secret=lambda *_: "secret",
        environment=dict(os.environ),
        network={},
        audit=audit,
        idle=idle,
        idle_seconds=0.2,
    )
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(web.serve, started := anyio.Event())
        await started.wait()
        needed, needing = await started_worker(web, "needed")
        idle_one, line = await started_worker(web, "idle")
        assert idle.users == 2
        os.close(line)
        with anyio.fail_after(20):
            while idle_one.is_running():
                await anyio.lowlevel.checkpoint()
        assert needed.is_running()
        assert idle.users == 1
        os.close(needing)
        await web.close()
        tasks.cancel_scope.cancel()
    audit.close()


async def started_worker(web: WebWorkers, name: str) -> tuple[psutil.Process, int]:
    """The worker of a connection, and a line on which nothing is said."""
    before = {child.pid for child in psutil.Process().children()}
    line = await web.exchange(DataConnection(name=name, kind="api", options={"url": "http://127.0.0.1:1"}), Asker())
    [worker] = [child for child in psutil.Process().children() if child.pid not in before]
    return worker, line
