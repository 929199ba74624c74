"""Programs whose worker is really killed under them: they go on, each call is made once, and there is an end to it."""

from __future__ import annotations

import base64
import os
import re
import signal
import sqlite3
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import anyio
import psutil
import pytest

from cellwright.agents.programs import programs
from cellwright.journal.crash import CrashPoint
from cellwright.kernel.pool import KernelPool
from cellwright.models.client.gateway_client import Models
from cellwright.sandbox.host.tiers import probe
from cellwright.tools.actions.steps import ProgramLimits
from cellwright.tools.actions.worker import ActionWorker
from cellwright.tools.tool import Tool, tool
from tests.agents.driver import DONE, AgentDriver, finish, open_driver
from tests.agents.forked import Forker
from tests.agents.test_killed import gateway, report, run
from tests.agents.test_programs import CODE, KILLED, program
from tests.models.testbed import ModelTestbed
from tests.sampling import some

__all__ = ["gateway"]

PATIENT = ProgramLimits(seconds=60)
SPIN = "number = 0\nfor turn in range({turns}):\n    number = turn\n"


@pytest.fixture
async def worker(pool: KernelPool) -> AsyncGenerator[ActionWorker]:
    """One of its own for each test: others must not lose theirs."""
    async with ActionWorker.open(pool.zygote, tier=probe().tier) as opened:
        yield opened


async def kill(worker: ActionWorker) -> None:
    """End the cage from outside; nothing of it is left afterwards."""
    assert worker.pid is not None
    handle = os.pidfd_open(worker.pid)
    signal.pidfd_send_signal(handle, signal.SIGKILL)
    await anyio.wait_readable(handle)
    os.close(handle)


async def kill_running(worker: ActionWorker, times: int) -> None:
    """Kill so many workers, each while its interpreter is at a program."""
    killed = set[int]()
    with anyio.fail_after(120):
        while len(killed) < times:
            pid = worker.pid
            if pid is not None and pid not in killed and _computes(pid):
                await kill(worker)
                killed.add(pid)
            await anyio.sleep(0.01)


def _computes(pid: int) -> bool:
    """Whether an interpreter in this cage has computed for a while: being ready takes next to nothing."""
    try:
        inside = [each for each in psutil.Process(pid).children(recursive=True) if each.name() == "monty"]
        return any(each.cpu_times().user > 0.2 for each in inside)
    except psutil.NoSuchProcess:
        return False


def adding(meanwhile: Callable[[str], Awaitable[None]] | None = None) -> tuple[list[str], Tool]:
    done: list[str] = []

    @tool(changes=True)
    async def add(name: str) -> int:
        """Change something."""
        done.append(name)
        if meanwhile is not None:
            await meanwhile(name)
        return len(done)

    return done, add


ADDING = "a = await add('a')\nb = await add('b')\nc = await add('c')\n[a, b, c]"


@pytest.mark.parametrize("names", some(["abc", "a", "b", "c"], 1))
async def test_a_worker_lost_while_its_program_waits_is_replaced_and_no_call_is_made_again(
    testbed: ModelTestbed, where: Path, worker: ActionWorker, names: str
) -> None:
    async def lose(name: str) -> None:
        if name in names:
            await kill(worker)

    done, add = adding(lose)
    testbed.provider.script(program(ADDING), DONE)
    async with open_driver(testbed, where, tools=[add, finish], roles=[CODE], studio=_with(worker)) as driver:
        came = await driver.work()
        assert (came.outcome, came.failed_turns, done) == ("finished", 0, ["a", "b", "c"])
        assert "value: [1, 2, 3]" in driver.sent_text(2)


@pytest.mark.slow
@pytest.mark.parametrize("before", ["", "await add('a')\n"])
async def test_a_worker_lost_while_its_program_computes_is_replaced(
    testbed: ModelTestbed, where: Path, worker: ActionWorker, before: str
) -> None:
    done, add = adding()
    testbed.provider.script(program(f"{before}{SPIN.format(turns=20_000_000)}await add('z')\nnumber"), DONE)
    async with open_driver(testbed, where, tools=[add, finish], roles=[CODE], studio=_with(worker)) as driver:
        await _work_and_kill(driver, worker, 1)
        assert (await driver.report()).failed_turns == 0
        assert done == (["a", "z"] if before else ["z"])
        assert "value: 19999999" in driver.sent_text(2)


@pytest.mark.slow
@pytest.mark.parametrize("before", ["", "await add('a')\n"])
async def test_a_program_whose_workers_are_all_lost_is_an_error_that_says_what_was_done(
    testbed: ModelTestbed, where: Path, worker: ActionWorker, before: str
) -> None:
    done, add = adding()
    testbed.provider.script(program(f"{before}while True:\n    pass"), program("await add('b')"), DONE)
    async with open_driver(testbed, where, tools=[add, finish], roles=[CODE], studio=_with(worker)) as driver:
        await _work_and_kill(driver, worker, 3)
        came = await driver.report()
        assert (came.outcome, came.failed_turns) == ("finished", 1)
        assert done == (["a", "b"] if before else ["b"])
        told = driver.sent_text(2)
        assert "Error (unavailable): The program did not come to its end: 3 workers were lost under it" in told
        assert "ended by signal 9" in told
        assert ("Called before that, and not undone: add." if before else "Nothing had been called.") in told
        # The next one gets a new worker.
        assert f"value: {len(done)}" in driver.sent_text(3)


async def _work_and_kill(driver: AgentDriver, worker: ActionWorker, times: int) -> None:
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(kill_running, worker, times)
        await driver.start()
    await driver.report()


def _with(worker: ActionWorker) -> dict[str, Any]:
    return {"program": programs(worker, limits=PATIENT)}


# ── a state that another interpreter wrote ──


def rewrite(where: Path, step: str, change: Callable[[str], str]) -> None:
    """Change the last result of such a step, behind the journal's back."""
    with closing(sqlite3.connect(where)) as database, database:
        found = database.execute(
            "SELECT rowid, output FROM operation_outputs WHERE function_name LIKE ? ORDER BY function_id", (step,)
        ).fetchall()
        row, output = found[-1]
        changed = change(output)
        assert changed != output
        database.execute("UPDATE operation_outputs SET output = ? WHERE rowid = ?", (changed, row))
    database.close()


def age(where: Path) -> None:
    """Where a program last stood was written by an older interpreter."""

    def older(output: str) -> str:
        [state] = re.findall(r'"state\\?": ?\\?"([A-Za-z0-9+/=]+)', output)
        aged = re.sub(rb'"monty":"[^"]+"', b'"monty":"0.0.1"', base64.b64decode(state), count=1)
        return output.replace(state, base64.b64encode(aged).decode())

    rewrite(where, "program s1c1 %", older)


@pytest.mark.slow
@pytest.mark.parametrize("visit", [1, 3, 4])
async def test_a_program_whose_state_nobody_can_read_is_replayed_and_no_call_is_made_again(
    testbed: ModelTestbed, where: Path, forker: Forker, gateway: Models, visit: int
) -> None:
    testbed.provider.script(program(KILLED), DONE)
    assert await run(forker, testbed, where, CrashPoint.EFFECT_HAPPENED, visit, "programs") == -9
    age(where)
    assert await run(forker, testbed, where, "-", 1, "programs") == 0
    assert (where.parent / "world.txt").read_text().split() == [f"r/s1c1.{number}" for number in (0, 1, 2, 5)]
    assert "[4, 3, 4]" in str(testbed.provider.requests[1].body["messages"])
    assert (report(where.parent)["outcome"], report(where.parent)["failed_turns"]) == ("finished", 0)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("code", "is_changed"),
    [
        ("import time\nawait add(str(time.time()))\nawait add()", False),
        ("seen = await read()\nif not seen:\n    await add()\n    await add()\n'done'", True),
        ("if not await read():\n    await add()\nelse:\n    await read()\nawait add()", True),
    ],
    ids=["with other arguments", "for less", "for another tool"],
)
async def test_a_replay_that_asks_for_something_else_stops_and_says_what_was_done(
    testbed: ModelTestbed, where: Path, forker: Forker, gateway: Models, code: str, is_changed: bool
) -> None:
    testbed.provider.script(program(code), DONE)
    assert await run(forker, testbed, where, CrashPoint.EFFECT_HAPPENED, 2, "programs") == -9
    age(where)
    if is_changed:
        # As if the program's own doing were another in a newer interpreter.
        rewrite(where, "tool read", lambda output: re.sub(r'("value":\s?)\[\]', r"\1[1]", output))
    assert await run(forker, testbed, where, "-", 1, "programs") == 0
    assert len((where.parent / "world.txt").read_text().split()) == 2
    told = str(testbed.provider.requests[1].body["messages"])
    assert "(state)" in told
    assert "Called before that, and not undone: " in told
    assert report(where.parent)["outcome"] == "finished"
