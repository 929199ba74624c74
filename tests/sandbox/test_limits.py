"""Every limit, really hit."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import anyio
import pytest

from cellwright.sandbox.control_frames import KernelExit
from cellwright.sandbox.spec import Limits
from tests.sandbox.conftest import USERS, CageStarter, CageStarterFor


async def run(starter: CageStarter, program: str, **limits: Any) -> str:
    return await starter.run(program, limits=replace(Limits(), **limits))


async def end(starter: CageStarter, program: str, **limits: Any) -> tuple[KernelExit, object]:
    spec = replace(starter.spec, limits=replace(Limits(), **limits))
    async with starter.zygote.cage(spec, program) as cage:
        with anyio.fail_after(120):
            kernel_end = await cage.control.wait_kernel()
        cage.control.close()
        return kernel_end, await starter.zygote.ended(cage)


EAT = "held = []\nwhile True: held.append(bytearray(1 << 20))"


@pytest.mark.parametrize("user", [user for user in USERS if user == "root"])
async def test_memory_of_all_processes_together_ends_the_kernel(starter_for: CageStarterFor, user: str) -> None:
    starter = starter_for("root")
    program = f"import os\nos.fork()\nos.fork()\n{EAT}"
    for attempt in (EAT, program):
        kernel_end, ended = await end(starter, attempt, memory_mb=200)
        if kernel_end.signal is None:
            continue
        assert kernel_end == KernelExit(exit_code=None, signal=9, limit="memory")
        assert ended == 128 + 9


@pytest.mark.parametrize("user", [user for user in USERS if user == "root"])
async def test_memory_in_unnamed_files_counts(starter_for: CageStarterFor, user: str) -> None:
    program = "import os\nfd = os.memfd_create('x')\nwhile True: os.write(fd, bytes(1 << 20))"
    kernel_end, _ = await end(starter_for("root"), program, memory_mb=100)
    assert kernel_end.limit == "memory"


async def test_memory_without_control_groups_is_limited_per_process(starter_for: CageStarterFor) -> None:
    starter = starter_for("plain")
    program = f"try:\n    exec({EAT!r})\nexcept MemoryError:\n    print('no more')"
    assert await run(starter, program, memory_mb=200) == "no more\n"
    assert await run(
        starter, "import os\ntry: os.memfd_create('x')\nexcept OSError as error: print(error.strerror)"
    ) == ("Function not implemented\n")


async def test_addresses_without_control_groups_are_a_multiple_of_memory_unless_the_spec_says_more(
    starter_for: CageStarterFor,
) -> None:
    starter = starter_for("plain")
    program = "from resource import *\nprint([getrlimit(kind)[1] >> 20 for kind in (RLIMIT_AS, RLIMIT_DATA)])"
    limits = Limits(memory_mb=200)
    assert await starter.run(program, limits=limits) == f"[{4 * 200 + 8192}, 200]\n"
    assert await starter.run(program, limits=limits, address_space_mb=80_000) == "[80000, 200]\n"


async def test_processes(starter: CageStarter) -> None:
    program = """
import os, time
born = 0
try:
    while born < 500:
        if os.fork() == 0: time.sleep(1000)
        born += 1
except BlockingIOError:
    print(born)
"""
    assert 10 <= int(await run(starter, program, processes=20)) <= 20


async def test_open_files(starter: CageStarter) -> None:
    program = """
held = []
try:
    while True: held.append(open('/dev/null'))
except OSError as error:
    print(len(held), error.strerror)
"""
    count, _, reason = (await run(starter, program, open_files=50)).strip().partition(" ")
    assert (int(count) <= 50, reason) == (True, "Too many open files")


FILL = """
written = 0
try:
    for number in range(10):
        with open(f'{place}/fill{number}', 'wb', buffering=0) as file:
            for _ in range(20): written += file.write(bytes(1 << 20))
except OSError as error:
    print(written >> 20, error.strerror)
"""


@pytest.mark.parametrize(("place", "limit"), [("/project", "disk_mb"), ("/tmp", "tmp_mb"), ("/dev/shm", "tmp_mb")])
async def test_disk_and_scratch_space(starter: CageStarter, place: str, limit: str) -> None:
    megabytes, _, reason = (await run(starter, FILL.replace("{place}", place), **{limit: 30})).strip().partition(" ")
    assert (25 <= int(megabytes) <= 30, reason) == (True, "No space left on device")


async def test_the_project_on_the_host_does_not_grow(starter: CageStarter) -> None:
    await run(starter, FILL.replace("{place}", "/project"), disk_mb=30)
    assert list(starter.project.iterdir()) == []


async def test_inodes(starter: CageStarter) -> None:
    program = """
made = 0
try:
    while made < 5000:
        open(f'f{made}', 'w').close()
        made += 1
except OSError as error:
    print(made, error.strerror)
"""
    made, _, reason = (await run(starter, program, inodes=300)).strip().partition(" ")
    assert (250 <= int(made) <= 320, reason) == (True, "No space left on device")


@pytest.mark.slow
@pytest.mark.sampled(5)
@pytest.mark.parametrize(
    "program",
    [
        "while True: pass",
        "import os\nos.fork()\nos.fork()\nwhile True: pass",
        "import signal\nsignal.signal(24, signal.SIG_IGN)\nwhile True: pass",
    ],
)
async def test_cpu_time_of_all_processes_together(starter: CageStarter, program: str) -> None:
    kernel_end, _ = await end(starter, program, cpu_seconds=0.5)
    assert (kernel_end.signal, kernel_end.limit) == (9, "cpu")
