"""Whatever a branch does, its parent stays as it was; whatever ends, nothing of it is left, or half done."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import AsyncGenerator, Callable
from contextlib import AbstractAsyncContextManager, AsyncExitStack
from pathlib import Path
from typing import Any

import anyio
import psutil
import pytest

from cellwright.app import open_notebook
from cellwright.kernel.branches.branch import Branch
from cellwright.kernel.branches.branch_kernel import BranchKernel, BranchLimits
from cellwright.kernel.branches.checkpoints import Checkpoint
from cellwright.kernel.branches.notebook_session import NotebookSession
from cellwright.kernel.observation import ConsoleText, Observation
from cellwright.kernel.pool import KernelPool
from cellwright.kernel.session.open_notebook import OpenNotebook
from cellwright.notebook.edits import CreateCell
from cellwright.sandbox.host.tiers import probe
from cellwright.sandbox.spec import BRANCH_SLOTS
from cellwright.settings import Settings
from tests.conftest import notebook_source
from tests.kernel import branch_host_program
from tests.kernel.hostile_branches import ATTACKS, LOOK, PARENT, state_of, try_attack
from tests.sampling import some
from tests.sandbox.conftest import PLAIN_UID, command_as

Opener = Callable[..., AbstractAsyncContextManager[OpenNotebook]]

PATIENCE_SECONDS = 120
TIERS = [tier for tier in ("A", "B") if tier >= probe().tier]


# ── hostile code ──


@pytest.fixture(scope="module", params=TIERS)
async def parent(
    request: pytest.FixtureRequest, pool: KernelPool, tmp_path_factory: pytest.TempPathFactory
) -> AsyncGenerator[OpenNotebook]:
    """One notebook for all attacks: what one of them leaves behind, the next would find."""
    folder = tmp_path_factory.mktemp("hostile")
    path = folder / "project" / "notebook.py"
    path.parent.mkdir()
    path.write_text(notebook_source(*PARENT, LOOK))
    settings = Settings(home=folder / "home", cache=folder / "cache")
    async with open_notebook(path, pool=pool, tier=request.param, settings=settings) as notebook:
        assert (await notebook.run("all")).is_ok
        yield notebook


@pytest.mark.slow
@pytest.mark.sampled(2)
@pytest.mark.parametrize("name", ATTACKS)
async def test_hostile_code_in_a_branch_does_not_reach_its_parent(parent: OpenNotebook, name: str) -> None:
    with anyio.fail_after(PATIENCE_SECONDS):
        before, kernel = await state_of(parent), parent.live.kernel
        observation = await try_attack(parent, name)
        assert observation.method is not None
        assert observation.method.kind == "fork", observation.method
        assert [cell.console for cell in observation.cells] == ["came to the end\n"], observation
        assert await state_of(parent) == before
        assert parent.live.kernel is kernel


@pytest.mark.slow
def test_hostile_code_in_the_branch_of_a_plain_user_does_not_reach_its_parent(tmp_path_factory: Any) -> None:
    folder: Path = tmp_path_factory.mktemp("plain")
    path = folder / "project" / "notebook.py"
    for directory in (path.parent, folder / "cache"):
        directory.mkdir()
    path.write_text(notebook_source(*PARENT, LOOK))
    if os.geteuid() == 0:
        for place in (folder, *folder.rglob("*")):
            os.chown(place, PLAIN_UID, PLAIN_UID)
        for place in folder.parents:
            if place.stat().st_uid == 0 and place != Path("/"):
                place.chmod(place.stat().st_mode | 0o711)
    program = str(Path(branch_host_program.__file__))
    tier = max(probe().tier, "B")
    variables = ["/usr/bin/env", f"HOME={folder / 'cache'}", "PATH=/usr/bin:/bin"]
    command = command_as("plain", [*variables, sys.executable, program, str(path), str(folder / "cache"), tier])
    ended = subprocess.run(command, capture_output=True, timeout=PATIENCE_SECONDS * 2, check=False, text=True)
    assert ended.returncode == 0, ended.stderr[-3000:]
    found = json.loads(ended.stdout)
    assert found == {"ways": dict.fromkeys(ATTACKS, "fork"), "changed": [], "unfinished": [], "tier": tier}


# ── who ends, and what is left ──

FAMILY = """
import os, signal, time

def _daemon(*, leaves_root):
    if os.fork() == 0:
        os.setsid()
        for _number in (1, 2, 15):
            signal.signal(_number, signal.SIG_IGN)
        if os.fork() == 0:
            if leaves_root:
                os.makedirs("/tmp/deeper", exist_ok=True)
                os.chroot("/tmp/deeper")
            os.closerange(3, 1000)
            while True:
                time.sleep(1000)
        os._exit(0)
    os.wait()

_daemon(leaves_root=False)
_daemon(leaves_root=True)
if (_child := os.fork()) == 0:
    while True:
        time.sleep(1000)
print("has a family")
"""


def living_in(notebook: NotebookSession) -> set[int]:
    """Everything alive in its cage, as the host sees it, but the cage's init."""
    kernel = notebook.live.kernel
    assert kernel is not None
    found = psutil.Process(kernel.pid).children(recursive=True)
    return {process.pid for process in found if _is_alive(process)}


async def only_these_live_in(notebook: OpenNotebook, processes: set[int]) -> None:
    """Until nobody else does: one that was killed takes a moment to be gone."""
    while living_in(notebook) != processes:  # noqa: ASYNC110 (its processes end)
        await anyio.sleep(0.01)


def _is_alive(process: psutil.Process) -> bool:
    try:
        return process.status() not in {psutil.STATUS_ZOMBIE, psutil.STATUS_DEAD}
    except psutil.NoSuchProcess:
        return False


def pid_of(notebook: NotebookSession) -> int:
    """A kernel's own process as the host sees it."""
    kernel = notebook.live.kernel
    assert kernel is not None
    inside = kernel.pid_inside if isinstance(kernel, BranchKernel) else 2
    for process in psutil.Process(kernel.pid).children(recursive=True):
        status = Path(f"/proc/{process.pid}/status").read_text()
        [numbers] = [line.split()[1:] for line in status.splitlines() if line.startswith("NSpid")]
        if int(numbers[-1]) == inside:
            return process.pid
    raise AssertionError("it has no process")


async def until_printed(notebook: OpenNotebook, started: anyio.Event) -> None:
    """Until a cell of it prints something; `started` once we listen."""
    async with notebook.observe() as events:
        started.set()
        async for event in events:
            if isinstance(event, ConsoleText):
                return


async def while_it_runs(branch: Branch, code: str, then: Callable[[], Any]) -> Observation:
    """What a cell says during which something happened to its branch."""
    seen: list[Observation] = []
    async with anyio.create_task_group() as tasks:
        listening, printed = anyio.Event(), anyio.Event()

        async def listen() -> None:
            assert isinstance(branch.notebook, OpenNotebook)
            await until_printed(branch.notebook, listening)
            printed.set()

        async def run() -> None:
            seen.append(await branch.apply([CreateCell(code=code)]))

        tasks.start_soon(listen)
        await listening.wait()
        tasks.start_soon(run)
        await printed.wait()
        then()
    return seen[0]


# In a fork the parent is its parent; a fresh kernel's is the cage's init.
WAITS_IN_A_FORK = """
import os, time
print("it runs", flush=True)
while os.getppid() != 1:
    time.sleep(0.01)
answer = x + 1
"""


@pytest.mark.slow
@pytest.mark.parametrize("tier", TIERS)
async def test_the_whole_family_of_a_branch_ends_with_it(opened: Opener, tier: str) -> None:
    async with opened("x = 41", tier=tier) as notebook:
        await notebook.run("all")
        before = living_in(notebook)
        with anyio.fail_after(PATIENCE_SECONDS):
            async with notebook.branch() as branch:
                observation = await branch.apply([CreateCell(code=FAMILY)])
                assert [cell.console for cell in observation.cells] == ["has a family\n"], observation
                assert len(living_in(notebook) - before) >= 4
            await only_these_live_in(notebook, before)


async def test_the_family_of_a_branch_ends_when_the_branch_is_killed(opened: Opener) -> None:
    async with opened("x = 41") as notebook:
        await notebook.run("all")
        before = living_in(notebook)
        with anyio.fail_after(PATIENCE_SECONDS):
            async with notebook.branch() as branch:
                await branch.apply([CreateCell(code=FAMILY)])
                kernel = branch.notebook.live.kernel
                assert kernel is not None
                os.kill(pid_of(branch.notebook), signal.SIGKILL)
                await kernel.control.wait_branch(kernel.slot.number)
                await only_these_live_in(notebook, before)


@pytest.mark.slow
@pytest.mark.parametrize("tier", TIERS)
async def test_a_branch_that_is_killed_tries_again_in_a_fresh_kernel_and_the_parent_goes_on(
    opened: Opener, tier: str
) -> None:
    async with opened("x = 41", tier=tier) as notebook:
        await notebook.run("all")
        kernel = notebook.live.kernel
        with anyio.fail_after(PATIENCE_SECONDS):
            async with notebook.branch() as branch:
                pid = pid_of(branch.notebook)
                observation = await while_it_runs(branch, WAITS_IN_A_FORK, lambda: os.kill(pid, signal.SIGKILL))
                assert observation.method is not None
                assert observation.method.kind == "carried"
                assert "ended while it ran" in observation.method.reasons[0]
                assert {v.name: v.text for cell in observation.cells for v in cell.variables}["answer"] == "42"
        assert notebook.live.kernel is kernel
        assert {v.name: v.text for v in await notebook.look()} == {"x": "41"}


async def test_a_parent_that_is_killed_during_a_branch_comes_back_whole(opened: Opener, tmp_path: Path) -> None:
    async with opened("x = 41", "open('made.txt', 'w').write('whole')") as notebook:
        await notebook.run("all")
        with anyio.fail_after(PATIENCE_SECONDS):
            async with notebook.branch() as branch:
                parent_pid = pid_of(notebook)
                code = f"open('made.txt', 'w').write('half')\n{WAITS_IN_A_FORK}"
                observation = await while_it_runs(branch, code, lambda: os.kill(parent_pid, signal.SIGKILL))
                assert observation.method is not None
            again = await notebook.apply([CreateCell(code="y = x + 1")])
        assert again.is_ok, again
        assert {v.name: v.text for cell in again.cells for v in cell.variables} == {"x": "41", "y": "42"}
        project = notebook.path.parent
    assert (project / "made.txt").read_text() == "whole"


# ── limits ──


@pytest.mark.slow
async def test_there_are_so_many_places_and_the_next_branch_is_no_fork(opened: Opener) -> None:
    async with opened("x = 41") as notebook:
        await notebook.run("all")
        with anyio.fail_after(PATIENCE_SECONDS):
            async with AsyncExitStack() as stack:
                for _ in range(BRANCH_SLOTS):
                    branch = await stack.enter_async_context(notebook.branch())
                    assert branch.method.kind == "fork"
                async with notebook.branch() as one_more:
                    observation = await one_more.apply([CreateCell(code="y = x + 1")])
                    assert observation.is_ok
                    assert one_more.method.kind == "carried"
                    assert one_more.method.reasons == (f"All {BRANCH_SLOTS} places for branches are taken",)
            async with notebook.branch() as after:
                assert after.method.kind == "fork"


@pytest.mark.slow
@pytest.mark.sampled(6)
@pytest.mark.parametrize("tier", some(TIERS, 1))
@pytest.mark.parametrize(
    ("limits", "code", "limit"),
    [
        (BranchLimits(memory_mb=64), "taken = bytearray(b'x' * (300 << 20))\nimport time\ntime.sleep(1000)", "memory"),
        (
            BranchLimits(memory_mb=64),
            "import os, time\nos.fork()\nos.fork()\ntaken = b'x' * (40 << 20)\ntime.sleep(1000)",
            "memory",
        ),
        (BranchLimits(cpu_seconds=0.5), "while True:\n    pass", "cpu"),
        (BranchLimits(live_seconds=0.5), "import time\ntime.sleep(1000)", "time"),
    ],
    ids=["memory", "memory of all its processes", "cpu", "time"],
)
async def test_a_branch_over_its_limit_is_ended_and_its_parent_is_not(
    opened: Opener, limits: BranchLimits, code: str, limit: str, tier: str
) -> None:
    async with opened("x = bytearray(b'x' * (100 << 20))", tier=tier) as notebook:
        await notebook.run("all")
        kernel, before = notebook.live.kernel, living_in(notebook)
        with anyio.fail_after(PATIENCE_SECONDS):
            async with notebook.branch(limits) as branch:
                observation = await branch.apply([CreateCell(code=code)])
                assert observation.kernel_end is not None, observation
                assert observation.kernel_end.limit == limit
            await only_these_live_in(notebook, before)
        assert notebook.live.kernel is kernel
        assert (await notebook.apply([CreateCell(code="y = len(x)")])).is_ok


@pytest.mark.slow
async def test_what_a_parent_holds_is_not_counted_as_its_branchs(opened: Opener) -> None:
    async with opened("x = bytearray(b'x' * (300 << 20))") as notebook:
        await notebook.run("all")
        with anyio.fail_after(PATIENCE_SECONDS):
            async with notebook.branch(BranchLimits(memory_mb=64)) as branch:
                observation = await branch.apply([CreateCell(code="y = x[0] + x[-1]")])
                assert observation.is_ok
                assert branch.method.kind == "fork"


async def test_a_branch_of_a_branch_is_one_like_any_other(opened: Opener) -> None:
    async with opened("x = [1]", "open('kept.txt', 'w').write('parent')") as notebook:
        await notebook.run("all")
        before = living_in(notebook)
        with anyio.fail_after(PATIENCE_SECONDS):
            async with notebook.branch() as branch:
                await branch.apply([CreateCell(code="x.append(2)\nopen('kept.txt', 'w').write('branch')")])
                assert isinstance(branch.notebook, OpenNotebook)
                async with branch.notebook.branch() as deeper:
                    code = "x.append(3)\nprint(x, open('kept.txt').read())\nopen('kept.txt', 'w').write('deeper')"
                    seen = await deeper.apply([CreateCell(code=code)])
                    assert deeper.method.kind == "fork", deeper.method
                    assert seen.cells[-1].console == "[1, 2, 3] branch\n"
                seen = await branch.apply([CreateCell(code="print(x, open('kept.txt').read())")])
                assert seen.cells[-1].console == "[1, 2] branch\n"
        seen = await notebook.apply([CreateCell(code="print(x, open('kept.txt').read())")])
        assert seen.cells[-1].console == "[1] parent\n"
        with anyio.fail_after(PATIENCE_SECONDS):
            await only_these_live_in(notebook, before)


@pytest.mark.slow
async def test_what_was_gone_back_to_can_be_branched_and_hostile_code_there_stays_there(opened: Opener) -> None:
    async with opened(*PARENT, LOOK) as notebook:
        await notebook.run("all")
        before = await state_of(notebook)
        with anyio.fail_after(PATIENCE_SECONDS):
            assert isinstance(await notebook.checkpoints.take("turn"), Checkpoint)
            await notebook.apply([CreateCell(code="held[:] = b'gone'\nopen('kept.txt', 'w').write('gone')")])
            assert await notebook.checkpoints.undo() is not None
            assert await state_of(notebook) == before
            for name in ("out of the root", "signals to everybody", "what was open", "everything of its own"):
                observation = await try_attack(notebook, name)
                assert observation.method is not None
                assert observation.method.kind == "fork", observation.method
                assert await state_of(notebook) == before


# ── a host that is killed ──

COMMITTING_HOST = """
import sys, anyio
from pathlib import Path
from cellwright.app import open_notebook
from cellwright.kernel.observation import ConsoleText
from cellwright.notebook.edits import CreateCell
from cellwright.settings import Settings

CODE = sys.argv[3]

async def tell(notebook, listening):
    async with notebook.observe() as events:
        listening.set()
        async for event in events:
            if isinstance(event, ConsoleText):
                print(event.text.strip(), flush=True)

async def main():
    path, home = Path(sys.argv[1]), Path(sys.argv[2])
    async with open_notebook(path, settings=Settings(home=home, cache=home)) as notebook:
        await notebook.run("all")
        async with notebook.branch() as branch:
            tried = await branch.apply([CreateCell(code=CODE)])
            assert tried.is_ok and branch.method.kind == "fork", tried
            async with anyio.create_task_group() as tasks:
                listening = anyio.Event()
                tasks.start_soon(tell, notebook, listening)
                await listening.wait()
                committed = await branch.commit()
                await notebook.save()
                print(type(committed).__name__, flush=True)
                await anyio.sleep_forever()

anyio.run(main)
"""

# In the branch, a fork of the kernel, it goes through; in the parent it stands still in the middle.
HALF_WAY = """
import os, pathlib, time
for _number in range(30):
    pathlib.Path(f"made-{_number}.txt").write_text("new")
    pathlib.Path("kept.txt").write_text(f"new {_number}")
    if _number == 15 and os.getppid() == 1:
        print("half way", flush=True)
        while True:
            time.sleep(1)
"""
WHOLE = HALF_WAY.replace("while True:\n            time.sleep(1)", "pass")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("code", "moment", "is_saved"),
    [(HALF_WAY, "half way", False), (WHOLE, "Committed", True)],
    ids=["during", "after"],
)
def test_a_host_that_is_killed_while_it_commits_leaves_nothing_half_done(
    tmp_path: Path, code: str, moment: str, is_saved: bool
) -> None:
    path = tmp_path / "project" / "notebook.py"
    path.parent.mkdir()
    path.write_text(text := notebook_source("x = 41"))
    (path.parent / "kept.txt").write_text("old")
    command = [sys.executable, "-c", COMMITTING_HOST, str(path), str(tmp_path / "home"), code]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as host:
        assert host.stdout is not None
        heard = iter(host.stdout.readline, "")
        assert any(line.strip() == moment for line in heard)
        family = psutil.Process(host.pid).children(recursive=True)
        host.kill()
    assert psutil.wait_procs(family, timeout=PATIENCE_SECONDS)[1] == []
    assert sorted(entry.name for entry in path.parent.iterdir()) == ["kept.txt", "notebook.py"]
    assert (path.parent / "kept.txt").read_text() == "old"
    saved = path.read_text()
    assert (saved == text) is not is_saved
    assert ("made-{_number}.txt" in saved) is is_saved
    compile(saved, "notebook.py", "exec")
