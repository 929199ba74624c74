"""Running cells ask the host: typed, bounded, interruptible, with descriptors, from branches too, and nobody else."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from contextlib import AbstractAsyncContextManager
from pathlib import Path

import anyio
import pytest

from cellwright.errors import RefusedByPolicy
from cellwright.kernel.pool import KernelPool
from cellwright.kernel.process.host_calls import HostService, ServiceAnswer
from cellwright.kernel.process.provisioner import KernelOptions
from cellwright.kernel.session.open_notebook import OpenNotebook
from cellwright.notebook.edits import CreateCell
from cellwright.sandbox.host.tiers import probe

Opener = Callable[..., AbstractAsyncContextManager[OpenNotebook]]

ASK = "from cellwright_guest.host_calls import HostCallFailed, ask_host"
TOLD = "told = ask_host('echo', b'hello').body.decode()"
READ = """
import os
_reply = ask_host("file", b"")
with os.fdopen(_reply.descriptors[0], "rb") as _file:
    content = _file.read().decode()
"""


class Services:
    """Some to ask, and what became of the calls."""

    def __init__(self) -> None:
        self.asked: list[bytes] = []
        self.begun = anyio.Event()
        self.cancelled = anyio.Event()

    async def echo(self, body: bytes) -> ServiceAnswer:
        self.asked.append(body)
        return ServiceAnswer(body=b"you said " + body)

    async def file(self, body: bytes) -> ServiceAnswer:
        made = os.memfd_create("answer", os.MFD_CLOEXEC)
        os.write(made, b"a large result")
        os.lseek(made, 0, os.SEEK_SET)
        return ServiceAnswer(descriptors=(made,))

    async def wait(self, body: bytes) -> ServiceAnswer:
        self.begun.set()
        try:
            await anyio.sleep_forever()
        finally:
            self.cancelled.set()
        return ServiceAnswer()

    async def refuse(self, body: bytes) -> ServiceAnswer:
        raise RefusedByPolicy("That table is nobody's to read.", hint="Ask its owner.")

    async def fail(self, body: bytes) -> ServiceAnswer:
        raise ValueError("postgresql://ana:hunter2@db/x")

    @property
    def by_name(self) -> Mapping[str, HostService]:
        return {
            "echo": self.echo,
            "file": self.file,
            "wait": self.wait,
            "refuse": self.refuse,
            "fail": self.fail,
        }


@pytest.fixture
def services() -> Services:
    return Services()


@pytest.fixture
def open_in(pool: KernelPool, write_notebook: Callable[..., Path]) -> Opener:
    def open_cells(
        *cells: str, host_services: Mapping[str, HostService] | None = None
    ) -> AbstractAsyncContextManager[OpenNotebook]:
        path = write_notebook(*cells)
        options = KernelOptions(project=path.parent, tier=probe().tier, host_services=host_services or {})
        return pool.open_notebook(path, options)

    return open_cells


async def test_a_cell_asks_and_goes_on_with_the_answer(open_in: Opener, services: Services) -> None:
    async with open_in(ASK, TOLD, READ, host_services=services.by_name) as notebook:
        ran = await notebook.run("all")
        assert ran.is_ok, ran
        values = await notebook.values(["told", "content"])
        assert (values["told"].json, values["content"].json) == ("you said hello", "a large result")
        before = _descriptors()
        again = await notebook.run("all")
        assert again.is_ok
        assert services.asked == [b"hello", b"hello"]
        assert _descriptors() == before


@pytest.mark.slow
@pytest.mark.parametrize(
    ("code", "says"),
    [
        ("ask_host('refuse', b'')", "That table is nobody's to read. Ask its owner."),
        ("ask_host('fail', b'')", "it failed itself"),
        ("ask_host('nothing', b'')", "no service 'nothing'"),
        ("ask_host('echo', b'x' * 2_000_000)", "Too much to ask at once"),
    ],
)
async def test_what_is_not_done_is_an_error_in_the_cell_and_the_kernel_goes_on(
    open_in: Opener, services: Services, code: str, says: str
) -> None:
    async with open_in(ASK, code, TOLD, host_services=services.by_name) as notebook:
        ran = await notebook.run("all")
        failed = [cell for cell in ran.cells if cell.error is not None]
        assert len(failed) == 1
        assert failed[0].error is not None
        assert failed[0].error.type.endswith("HostCallFailed")
        assert says in failed[0].error.message
        assert "hunter2" not in str(ran)
        assert (await notebook.values(["told"]))["told"].json == "you said hello"


THREADS = """
from concurrent.futures import ThreadPoolExecutor
with ThreadPoolExecutor(8) as _pool:
    _asked = [_pool.submit(ask_host, "echo", str(number).encode()) for number in range(40)]
    own = ask_host("echo", b"own").body.decode()
    several = [each.result().body.decode() for each in _asked]
    _files = [_pool.submit(ask_host, "file", b"") for _ in range(8)]
    read = [os.fdopen(each.result().descriptors[0], "rb").read().decode() for each in _files]
"""


async def test_threads_of_a_running_cell_ask_too_and_each_gets_its_own_answer(
    open_in: Opener, services: Services
) -> None:
    async with open_in(ASK, "import os", THREADS, host_services=services.by_name) as notebook:
        ran = await notebook.run("all")
        assert ran.is_ok, ran
        values = await notebook.values(["several", "own", "read"])
        assert values["several"].json == [f"you said {number}" for number in range(40)]
        assert (values["own"].json, values["read"].json) == ("you said own", ["a large result"] * 8)
        async with notebook.branch() as branch:
            again = await branch.notebook.apply([CreateCell(code=TOLD.replace("told", "again"))])
            assert again.is_ok, again


LATE = """
import threading
from cellwright_guest import host_calls
told_late = []
go_on = threading.Event()

def _ask():
    for service in ("wait", "echo"):
        try:
            told_late.append(ask_host(service, b"late").body.decode())
        except HostCallFailed as problem:
            told_late.append(str(problem))
            go_on.set()

thread = threading.Thread(target=_ask)
thread.start()
while not host_calls._calls[0]._turn.locked():
    pass
"""


async def test_a_thread_that_outlives_its_cell_holds_nobody_up(open_in: Opener, services: Services) -> None:
    async with open_in(ASK, LATE, host_services=services.by_name) as notebook:
        ran = await notebook.run("all")
        assert ran.is_ok, ran
        with anyio.fail_after(30):
            await services.cancelled.wait()
        after = await notebook.apply([CreateCell(code="thread.join()\ntold = ask_host('echo', b'hello')")])
        assert after.is_ok, after
        late = (await notebook.values(["told_late"]))["told_late"].json
        assert late[0] == "The cell ended before the host answered its thread."
        assert len(late) == 2


async def test_a_notebook_without_services_is_told_so(open_in: Opener) -> None:
    async with open_in(ASK, TOLD) as notebook:
        ran = await notebook.run("all")
        assert "no service 'echo'" in str(ran.cells[1].error)


async def test_an_interrupt_reaches_who_answers_and_the_next_call_is_answered(
    open_in: Opener, services: Services
) -> None:
    async with open_in(ASK, "ask_host('wait', b'')", host_services=services.by_name) as notebook:
        call = notebook.run("all")
        call.start()
        with anyio.fail_after(30):
            await services.begun.wait()
            await call.interrupt()
            await services.cancelled.wait()
        ran = await call
        assert (ran.cells[-1].status, ran.kernel_end) == ("interrupted", None)
        after = await notebook.apply([CreateCell(code=TOLD)])
        assert after.is_ok, after


@pytest.mark.slow
async def test_a_deadline_ends_a_call_too(open_in: Opener, services: Services) -> None:
    async with open_in(ASK, "ask_host('wait', b'')", host_services=services.by_name) as notebook:
        ran = await notebook.run("all", cell_seconds=1)
        assert ran.cells[-1].error is not None
        assert ran.cells[-1].error.type == "DeadlineReached"
        with anyio.fail_after(10):
            await services.cancelled.wait()


@pytest.mark.slow
async def test_a_kernel_that_dies_while_it_waits_leaves_no_call_behind(open_in: Opener, services: Services) -> None:
    die = "import os, threading, time\nthreading.Timer(0.5, lambda: os._exit(3)).start()\nask_host('wait', b'')"
    async with open_in(ASK, die, host_services=services.by_name) as notebook:
        ran = await notebook.run("all")
        assert ran.kernel_end is not None
        with anyio.fail_after(10):
            await services.cancelled.wait()


async def test_branches_ask_on_their_own_and_their_parent_goes_on(open_in: Opener, services: Services) -> None:
    async with open_in(ASK, TOLD, host_services=services.by_name) as notebook:
        await notebook.run("all")
        async with notebook.branch() as branch:
            tried = await branch.notebook.apply([CreateCell(code="other = ask_host('echo', b'branch').body.decode()")])
            assert tried.is_ok, tried
            assert (await notebook.run("all")).is_ok
        assert services.asked == [b"hello", b"branch", b"hello"]


async def test_a_kernel_that_forges_calls_is_ended_and_the_host_goes_on(open_in: Opener, services: Services) -> None:
    forge = (
        "from cellwright_guest import host_calls, host_wire\n"
        "for _number in range(100, 140):\n"
        "    host_calls._calls[0]._host.send(host_wire.HostCall(call=_number, service='wait', body=b''))\n"
    )
    async with open_in(ASK, forge + "import time\ntime.sleep(20)", host_services=services.by_name) as notebook:
        ran = await notebook.run("all")
        assert ran.kernel_end is not None
        assert "more calls to the host" in ran.kernel_end.reason
        with anyio.fail_after(10):
            await services.cancelled.wait()


def _descriptors() -> int:
    return len(os.listdir("/proc/self/fd"))  # noqa: PTH208
