"""Private directories in /tmp: gone with their process, and when it was killed, gone with the next start."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import anyio
import anyio.lowlevel
import anyio.to_thread
import pytest

from cellwright.kernel.pool import KernelPool
from cellwright.sandbox import private_directory
from tests.sandbox.conftest import PLAIN_UID, SOURCE, WEAK_USERS, CageStarterFor

_HOLD = """
import sys
sys.path.insert(0, sys.argv[1])
from cellwright.sandbox.private_directory import private_directory
with private_directory("test") as directory:
    (directory / "deep").mkdir()
    (directory / "deep" / "file").write_text("left")
    (directory / "deep").chmod(0)
    print(directory, flush=True)
    sys.stdin.read()
"""
_HOLD_POOL = """
import glob, os, sys
import anyio
from cellwright.kernel.pool import KernelPool
async def main():
    async with KernelPool.open():
        print(*glob.glob(f"/tmp/cellwright-pool-{os.getpid()}-*"), flush=True)
        await anyio.to_thread.run_sync(sys.stdin.read)
anyio.run(main)
"""

Holder = tuple[subprocess.Popen[str], Path]


def hold(*command: str) -> Holder:
    """A process that has a private directory until its standard input ends."""
    process = subprocess.Popen(
        [sys.executable, *command],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env={"PATH": "/usr/bin:/bin"},
    )
    assert process.stdout is not None
    return process, Path(process.stdout.readline().strip())


def kill(process: subprocess.Popen[str]) -> None:
    process.kill()
    process.communicate()


@pytest.fixture
def dead_pid() -> int:
    process = subprocess.Popen(["/bin/true"])
    process.wait()
    return process.pid


@pytest.fixture
def left(dead_pid: int) -> Callable[[str], Path]:
    """A name such as a dead process would have given."""
    return lambda kind: Path(f"/tmp/cellwright-{kind}-{dead_pid}-{os.urandom(4).hex()}")


def test_a_directory_ends_with_its_block() -> None:
    process, directory = hold("-IS", "-c", _HOLD, SOURCE)
    assert directory.is_dir()
    process.communicate("")
    assert (process.returncode, directory.exists()) == (0, False)


def test_what_a_killed_process_left_goes_and_what_a_living_one_has_stays() -> None:
    killed, leftover = hold("-IS", "-c", _HOLD, SOURCE)
    living, kept = hold("-IS", "-c", _HOLD, SOURCE)
    try:
        kill(killed)
        assert leftover.is_dir()
        assert str(leftover) in private_directory.sweep()
        assert (leftover.exists(), kept.is_dir()) == (False, True)
    finally:
        living.communicate("")


@pytest.mark.slow
async def test_the_next_pool_removes_what_a_killed_one_left() -> None:
    killed, leftover = hold("-c", _HOLD_POOL)
    assert leftover.is_dir()
    kill(killed)
    with anyio.fail_after(60):
        async with KernelPool.open():
            pass
    assert not leftover.exists()


def test_a_directory_somebody_holds_stays_though_its_process_looks_dead_from_here(left: Callable[[str], Path]) -> None:
    """As from another process namespace that shares /tmp."""
    directory = left("pool")
    directory.mkdir()
    lock = private_directory.hold(str(directory))
    try:
        assert str(directory) not in private_directory.sweep()
        assert directory.is_dir()
    finally:
        os.close(lock)
    assert str(directory) in private_directory.sweep()


def test_links_are_neither_followed_nor_removed(left: Callable[[str], Path], tmp_path: Path) -> None:
    (tmp_path / "precious").write_text("stays")
    link, directory = left("pool"), left("cage")
    link.symlink_to(tmp_path)
    directory.mkdir()
    (directory / "link").symlink_to(tmp_path)
    try:
        swept = private_directory.sweep()
        assert (str(link) in swept, str(directory) in swept) == (False, True)
        assert link.is_symlink()
        assert (tmp_path / "precious").read_text() == "stays"
    finally:
        link.unlink()


@pytest.mark.parametrize("name", ["cellwright-{}", "cellwright-pool-{}", "cellwright-x1-{}-abc", "other-{}-abc"])
def test_other_names_are_not_touched(name: str, dead_pid: int) -> None:
    directory = Path("/tmp", name.format(dead_pid))
    directory.mkdir()
    try:
        private_directory.sweep()
        assert directory.is_dir()
    finally:
        directory.rmdir()


@pytest.mark.parametrize("uid", [PLAIN_UID] if os.geteuid() == 0 else [])
def test_what_belongs_to_another_user_stays(left: Callable[[str], Path], uid: int) -> None:
    directory = left("pool")
    directory.mkdir()
    os.chown(directory, uid, uid)
    try:
        private_directory.sweep()
        assert directory.is_dir()
    finally:
        directory.rmdir()


def copies_of(zygote: int) -> list[Path]:
    return list(Path("/tmp").glob(f"cellwright-cage-{zygote}-*"))


async def test_a_copy_of_a_project_goes_when_zygote_and_supervisor_were_killed_together(
    starter_for: CageStarterFor,
) -> None:
    starter = starter_for(WEAK_USERS[-1])
    starter.write("data.txt", "copied")
    cage = await starter.zygote.start(starter.spec, "kernel.send(b'.')\nimport signal\nsignal.pause()")
    await anyio.to_thread.run_sync(cage.kernel.recv, 1)
    zygote = starter.zygote.process
    [directory] = copies_of(zygote.pid)
    # Stopped first: otherwise the one cleans up after the other.
    zygote.send_signal(signal.SIGSTOP)
    cage.kill()
    zygote.kill()
    zygote.wait()
    assert (directory / "project" / "data.txt").exists()
    with anyio.fail_after(60):
        while str(directory) not in private_directory.sweep():
            # The kernel ends a moment after its supervisor.
            await anyio.lowlevel.checkpoint()
    assert not directory.exists()
    cage.close()
