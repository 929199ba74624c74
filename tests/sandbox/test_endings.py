"""Nothing survives a cage: no process, mount, control group, descriptor or temporary file."""

from __future__ import annotations

import os
import select
import signal
import tempfile
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import anyio
import anyio.to_thread
import psutil
import pytest

from cellwright.sandbox.spec import FilesMode
from tests.cgroups import groups
from tests.sampling import some
from tests.sandbox.conftest import Cage, CageStarter

DAEMON = """
import os, time, signal
def daemon():
    if os.fork() == 0:
        os.setsid()
        for number in (1, 2, 15): signal.signal(number, signal.SIG_IGN)
        if os.fork() == 0:
            while True: time.sleep(1000)
        os._exit(0)
    os.wait()
daemon(); daemon()
"""


def family_of(cage: Cage) -> list[psutil.Process]:
    """The cage's first process and all below it: whoever loses its parent in there becomes a child of the first."""
    first = psutil.Process(cage.pid)
    return [first, *first.children(recursive=True)]


def living(family: Sequence[psutil.Process]) -> set[int]:
    return {each.pid for each in family if each.is_running() and each.status() != psutil.STATUS_ZOMBIE}


def own_descriptors() -> int:
    return len(list(Path("/proc/self/fd").iterdir()))


async def gone(cage: Cage) -> None:
    """Until the cage's first process has ended, which is after all others of its namespace."""
    poll = select.poll()
    poll.register(cage.pidfd, select.POLLIN)
    assert await anyio.to_thread.run_sync(poll.poll, 20_000)


async def test_the_kill_handle_takes_daemons_too(starter: CageStarter) -> None:
    async with starter.zygote.cage(starter.spec, DAEMON) as cage:
        await cage.output()
        family = family_of(cage)
        assert len(living(family)) >= 3
        cage.kill()
        await gone(cage)
        assert living(family) == set()
        assert await starter.zygote.ended(cage) == -9


async def test_a_killed_cage_is_told_as_killed(starter: CageStarter) -> None:
    async with starter.zygote.cage(starter.spec, "kernel.send(b'.')\nkernel.recv(1)") as cage:
        with anyio.fail_after(120):
            await cage.control.wait_started()
            cage.kill()
            assert (await cage.control.wait_kernel()).signal == 9


async def test_daemons_end_with_their_kernel(starter: CageStarter) -> None:
    async with starter.zygote.cage(starter.spec, DAEMON + "os._exit(0)") as cage:
        with anyio.fail_after(120):
            await cage.control.wait_kernel()
        assert living(family_of(cage)) == {cage.pid}


async def test_nothing_survives_a_killed_zygote(starter: CageStarter) -> None:
    cage = await starter.zygote.start(starter.spec, DAEMON + "kernel.send(b'x' * 9)")
    await anyio.to_thread.run_sync(cage.kernel.recv, 9)
    family = family_of(cage)
    starter.zygote.process.kill()
    await gone(cage)
    assert living(family) == set()
    cage.close()


@pytest.mark.slow
async def test_a_host_that_goes_away_ends_the_cage(starter: CageStarter) -> None:
    cage = await starter.zygote.start(starter.spec, DAEMON)
    await anyio.to_thread.run_sync(cage.kernel.recv, 9)
    family = family_of(cage)
    assert living(family) != set()
    cage.control.close()
    await gone(cage)
    await starter.zygote.ended(cage)
    assert living(family) == set()
    cage.close()


def traces(zygote: int) -> dict[str, object]:
    return {
        "children": Path(f"/proc/{zygote}/task/{zygote}/children").read_text(),
        "mounts": len(Path(f"/proc/{zygote}/mountinfo").read_text().splitlines()),
        "descriptors": len(list(Path(f"/proc/{zygote}/fd").iterdir())),
        "groups": len(groups(f"cellwright-{zygote}-*")),
        "temporary": len(list(Path(tempfile.gettempdir()).glob(f"cellwright-cage-{zygote}-*"))),
    }


@pytest.mark.slow
@pytest.mark.sampled(4)
@pytest.mark.parametrize("files", some(["keep", "direct"], 1))
async def test_fifty_cages_in_a_row_leave_nothing_behind(starter: CageStarter, files: FilesMode) -> None:
    spec = replace(starter.spec, files=files)
    zygote = starter.zygote.process.pid
    async with starter.zygote.cage(spec, "print('warm')") as cage:
        await cage.output()
    before = traces(zygote)
    own = own_descriptors()
    for number in range(50):
        async with starter.zygote.cage(replace(spec, name=f"row-{number}"), DAEMON if number % 10 == 0 else "") as cage:
            await cage.output()
            if number % 3 == 0:
                cage.kill()
    assert traces(zygote) == before
    assert own_descriptors() == own
    assert list(starter.project.iterdir()) == []


async def test_cages_run_side_by_side_without_seeing_each_other(starter: CageStarter) -> None:
    show = (
        "import os\nopen('/tmp/x', 'x')\nopen('x', 'x')\nprint(sorted(n for n in os.listdir('/proc') if n.isdigit()))"
    )
    async with (
        starter.zygote.cage(replace(starter.spec, name="one"), show) as one,
        starter.zygote.cage(replace(starter.spec, name="two"), show) as two,
    ):
        assert (await one.output(), await two.output()) == ("['1', '2']\n", "['1', '2']\n")
        os.kill(one.pid, signal.SIGKILL)
        await gone(one)
        await two.control.interrupt()
