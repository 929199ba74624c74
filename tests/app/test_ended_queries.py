"""A query of a cell is gone from the server once nobody waits for it, whoever ends: cell, time, kernel, broker."""

from __future__ import annotations

import os
import signal
from collections.abc import Generator
from contextlib import suppress
from pathlib import Path

import anyio
import anyio.to_thread
import psutil
import pytest

from cellwright.app.notebook_connections import open_notebook_connections
from cellwright.app.notebooks import open_notebook
from cellwright.background import running_pid
from cellwright.data.broker_client import BrokerClient
from cellwright.data.broker_process import broker_at
from cellwright.kernel.pool import KernelPool
from cellwright.kernel.session.open_notebook import OpenNotebook
from cellwright.notebook.edits import CreateCell
from cellwright.sandbox.spec import Limits
from tests.conftest import notebook_source
from tests.data.shop import Shop, broker_client, name_connection, new_shop, rows_of, shop_server

pytestmark = pytest.mark.slow
ENDLESS = "select count(*) from generate_series(1, 100000000000) a"
CELL = f'import cellwright\n\nfound = cellwright.connection("shop").sql("{ENDLESS}")'
RUNNING = (
    "select count(*) from pg_stat_activity where usename = 'reader' and state = 'active'"
    " and query like 'COPY%generate_series(1, 100000000000)%'"
)
"""The statement itself: what a worker asks before it (what it would cost, which functions) is short and ends anyway."""
SAYS = {
    "interrupt": "",
    "wall": "",
    "kernel": "",
    "broker": "The data broker ended before it answered.",
    "worker": "The process that speaks with the database ended.",
}
"""What the cell is told where there is still one."""


@pytest.fixture(scope="module")
def shop() -> Generator[Shop]:
    with shop_server() as server, new_shop(server) as shop:
        yield shop


@pytest.fixture
def client(shop: Shop, tmp_path: Path) -> Generator[BrokerClient]:
    with broker_client(tmp_path / "home") as client:
        name_connection(client.launch.home, shop.connection(ask_above_rows=10**15, ask_above_megabytes=10**12))
        yield client


@pytest.mark.parametrize("who", SAYS)
async def test_a_query_is_gone_from_the_server_when_what_waits_for_it_ends(
    who: str, client: BrokerClient, shop: Shop, tmp_path: Path, pool: KernelPool
) -> None:
    notebook = tmp_path / "notebook.py"
    notebook.write_text(notebook_source("pass"))
    assert await rows_of(client, "select 1") == [[1]]
    limits = Limits(wall_seconds=6) if who == "wall" else Limits()
    told, over = list[str](), anyio.Event()
    async with (
        open_notebook_connections(client, notebook=notebook, project=tmp_path) as connections,
        open_notebook(notebook, pool=pool, connections=connections, limits=limits) as opened,
    ):

        async def run() -> None:
            ran = await opened.apply([CreateCell(code=CELL)])
            told.append(str([cell.error for cell in ran.cells]))
            over.set()

        with anyio.fail_after(60):
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(run)
                await anyio.to_thread.run_sync(shop.wait_until, RUNNING, 1)
                await end(who, opened, client)
                if who == "wall":
                    await over.wait()
                # It would run for hours: that it is gone, somebody ended it.
                with anyio.fail_after(2):
                    await anyio.to_thread.run_sync(shop.wait_until, RUNNING, 0, abandon_on_cancel=True)
        assert SAYS[who] in told[0]
    # Whatever ended, the next who asks is answered.
    assert await rows_of(client, "select 2") == [[2]]


async def end(who: str, notebook: OpenNotebook, client: BrokerClient) -> None:
    broker = running_pid(broker_at(client.launch.home))
    assert broker is not None
    match who:
        case "interrupt":
            await notebook.interrupt()
        case "kernel":
            for process in kernels():
                with suppress(ProcessLookupError):
                    os.kill(process.pid, signal.SIGKILL)
        case "broker":
            os.kill(broker, signal.SIGKILL)
        case "worker":
            for worker in psutil.Process(broker).children():
                worker.kill()
        case _:
            pass


def kernels() -> list[psutil.Process]:
    """All processes in cages of this process's zygotes."""
    zygotes = [each for each in psutil.Process().children() if "zygote_main" in " ".join(each.cmdline())]
    return [each for zygote in zygotes for cage in zygote.children() for each in cage.children(recursive=True)]
