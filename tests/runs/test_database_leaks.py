"""After a run with a database its passwords are where they are kept, in broker and workers, and nowhere else."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Generator
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import anyio.to_thread
import psutil
import pytest

from cellwright.background import running_pid
from cellwright.data.broker_client import BrokerClient
from cellwright.data.broker_process import BrokerLaunch, broker_at
from cellwright.policy.approvals import Yes
from cellwright.testing import CallTool, Fault
from tests.data.process_memory import memory_with
from tests.data.shop import READER_PASSWORD, WRITER_PASSWORD, Shop, name_connection, new_shop, shop_server
from tests.models.testbed import ModelTestbed
from tests.runs.factory import Kernels, apply, at_once, create, finish, open_factory

SECRETS = (READER_PASSWORD.encode(), WRITER_PASSWORD.encode())
IN_CELL = "canary-of-the-cell-66173"
COUNT = f"select count(*), '{IN_CELL}' x from public.orders"
CELLS = (
    create('import cellwright\n\nshop = cellwright.connection("shop")', "shop"),
    create(
        f"total = shop.sql(\"select count(*), '{IN_CELL}' x from public.orders\").column(0)[0].as_py()\ntotal", "total"
    ),
    create(
        'shown = [repr(shop), str(vars(shop) if hasattr(shop, "__dict__") else shop), str(shop.schema())[:500]]', "s"
    ),
    create("def test_total():\n    assert total == 3000", "check_total"),
)
ANSWERS = (
    CallTool("query", {"connection": "shop", "sql": "select count(*) from public.orders"}),
    CallTool("query", {"connection": "shop", "sql": "select coutry from public.customers"}),
    CallTool("query", {"connection": "shop", "sql": "select pg_read_file('/etc/passwd')"}),
    CallTool("write", {"connection": "shop", "sql": "update public.orders set amount = 1 where id = 1"}),
    apply(*CELLS),
)


@pytest.fixture(scope="module")
def shop() -> Generator[Shop]:
    with shop_server() as server, new_shop(server) as shop:
        yield shop


@pytest.fixture
async def client(shop: Shop, testbed: ModelTestbed) -> AsyncGenerator[BrokerClient]:
    name_connection(testbed.home, shop.connection(writer="writer"))
    client = BrokerClient(launch=BrokerLaunch(home=testbed.home))
    yield client
    await client.stop()


@pytest.mark.slow
async def test_no_password_leaves_the_broker_in_a_whole_run(
    testbed: ModelTestbed, project: Path, kernels: Kernels, client: BrokerClient, tmp_path: Path
) -> None:
    async with open_factory(testbed, project, kernels) as factory:
        last = at_once(finish("There are {total}."))
        factory.script(*ANSWERS, Fault("slow-first-byte", answer=last))
        await factory.start(replace(factory.goal("Count the orders."), connections=("shop",)))
        await factory.answer(Yes(reach="once"))
        await testbed.provider.until(lambda provider: provider.silent == 1, timeout_seconds=120)
        # Everything runs now: the agent, its kernel, the gateway, the broker and a worker for each of its users.
        await anyio.to_thread.run_sync(expect_no_process_shows_it, client)
        await anyio.to_thread.run_sync(expect_no_kernel_holds_it)
        testbed.provider.release()
        delivery = await factory.delivery()
        assert (delivery.why, delivery.status, delivery.answer) == ("", "done", "There are 3000.")
        told = factory.prompts()
    assert any(IN_CELL in text for text in told)
    assert not any(secret.decode() in text for text in told for secret in SECRETS)
    await anyio.to_thread.run_sync(expect_no_file_has_it, tmp_path)


def expect_no_process_shows_it(client: BrokerClient) -> None:
    broker = running_pid(broker_at(client.launch.home))
    assert broker is not None
    known = [psutil.Process(broker), *psutil.Process(broker).children(), *psutil.Process().children(recursive=True)]
    assert sum("cellwright.data.worker" in process.cmdline() for process in known) == 2
    for process in known:
        for name in ("environ", "cmdline"):
            with suppress(ProcessLookupError, FileNotFoundError):
                text = Path(f"/proc/{process.pid}/{name}").read_bytes()
                assert not any(secret in text for secret in SECRETS), (process, name)


def expect_no_kernel_holds_it() -> None:
    zygotes = [each for each in psutil.Process().children() if "zygote_main" in " ".join(each.cmdline())]
    kernels = [each for zygote in zygotes for cage in zygote.children() for each in cage.children(recursive=True)]
    held = {process.pid: b"".join(memory_with(process.pid, (IN_CELL.encode(), *SECRETS))) for process in kernels}
    # What the cell has can be found in this way, so what cannot be found is not there.
    assert any(IN_CELL.encode() in found for found in held.values())
    for process in (*kernels, *zygotes):
        assert not any(memory_with(process.pid, SECRETS)), process


def expect_no_file_has_it(folder: Path) -> None:
    """The state directory, the project with what was delivered, and all else of this test."""
    seen = 0
    for file in folder.rglob("*"):
        if file.is_file() and not file.is_symlink():
            text, seen = file.read_bytes(), seen + 1
            is_kept = file.name == "keys.json"
            assert any(secret in text for secret in SECRETS) == is_kept, file
            assert not is_kept or file.stat().st_mode & 0o077 == 0
    assert seen > 5
