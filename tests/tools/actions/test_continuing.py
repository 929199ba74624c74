"""A program outlives its worker: killed anywhere, it goes on from where it last paused."""

from __future__ import annotations

import os
import re
import signal

import anyio
import psutil
import pydantic_monty

from cellwright.kernel.pool import KernelPool
from cellwright.sandbox.spec import Tier
from cellwright.tools.actions.inside.state import ProgramProgress, pack
from cellwright.tools.actions.steps import ProgramFailed, ProgramFinished, ProgramLimits, ProgramLost, ProgramStep
from cellwright.tools.actions.worker import ActionWorker

from .conftest import LOOK, TOOLS, Studio, arguments, paused

PROGRAM = """
import asyncio
print('begun')
seen = []
for name in ['a', 'b']:
    seen.append(await look(name))
both = await asyncio.gather(look('c'), look('d'))
print('done')
seen + both
"""


async def kill(worker: ActionWorker) -> None:
    """End the cage from outside; nothing of it is left afterwards."""
    assert worker.pid is not None
    handle = os.pidfd_open(worker.pid)
    signal.pidfd_send_signal(handle, signal.SIGKILL)
    await anyio.wait_readable(handle)
    os.close(handle)


async def test_a_program_killed_at_any_pause_goes_on_and_no_answered_call_is_asked_again(
    pool: KernelPool, tier: Tier
) -> None:
    async with ActionWorker.open(pool.zygote, tier=tier) as worker:
        run = await worker.start(PROGRAM, tools=TOOLS)
        asked: list[str] = []
        while run.step != ProgramFinished(value=["A", "B", "C", "D"], output="begun\ndone\n"):
            state = paused(run.step).state
            await kill(worker)
            run = await worker.load(state, tools=TOOLS)
            call = paused(run.step).calls[0]
            asked.append(str(call.arguments["cell"]))
            await run.resume({call.id: asked[-1].upper()})
        assert sorted(asked) == ["a", "b", "c", "d"]


async def test_a_worker_killed_under_a_program_is_a_value_with_its_last_state(pool: KernelPool, tier: Tier) -> None:
    async with ActionWorker.open(pool.zygote, tier=tier) as worker:
        run = await worker.start("x = await look('a')\nwhile True:\n    x += 1", tools=TOOLS)
        state = paused(run.step).state
        steps: list[ProgramStep] = []

        async def resume() -> None:
            steps.append(await run.resume({0: 1}))

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(resume)
            await anyio.wait_all_tasks_blocked()
            await kill(worker)
        assert steps == [ProgramLost(reason="it was ended by signal 9", state=state)]
        assert await Studio(worker).run("1 + 1") == ProgramFinished(value=2, output="")


async def test_a_program_killed_before_its_first_pause_has_no_state(pool: KernelPool, tier: Tier) -> None:
    async with ActionWorker.open(pool.zygote, tier=tier) as worker:
        steps: list[ProgramStep] = []

        async def start() -> None:
            run = await worker.start("while True:\n    pass", tools=TOOLS)
            steps.append(run.step)

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(start)
            await anyio.wait_all_tasks_blocked()
            await kill(worker)
        assert steps == [ProgramLost(reason="it was ended by signal 9", state=None)]


async def test_an_interpreter_that_crashes_is_a_value_and_the_worker_stays(pool: KernelPool, tier: Tier) -> None:
    async with ActionWorker.open(pool.zygote, tier=tier) as worker:
        run = await worker.start("await look('a')", tools=TOOLS)
        state = paused(run.step).state
        pid = worker.pid
        assert pid is not None
        interpreters = [child for child in psutil.Process(pid).children(recursive=True) if child.name() == "monty"]
        for interpreter in interpreters:
            interpreter.kill()
        step = await run.resume({0: 1})
        assert interpreters
        assert isinstance(step, ProgramFailed)
        assert (step.kind, step.type) == ("crash", "InterpreterLost")
        again = await worker.load(state, tools=TOOLS)
        assert await again.resume({0: 1}) == ProgramFinished(value=1, output="")
        assert worker.pid == pid


async def test_a_program_can_be_dropped_whose_interpreter_has_crashed(pool: KernelPool, tier: Tier) -> None:
    async with ActionWorker.open(pool.zygote, tier=tier) as worker:
        run = await worker.start("await look('a')", tools=TOOLS)
        pid = worker.pid
        assert pid is not None
        for child in psutil.Process(pid).children(recursive=True):
            if child.name() == "monty":
                child.kill()
        await run.drop()
        assert await Studio(worker).run("1 + 1") == ProgramFinished(value=2, output="")
        assert worker.pid == pid


async def test_a_cancelled_program_is_ended_and_the_next_one_runs(pool: KernelPool, tier: Tier) -> None:
    async with ActionWorker.open(pool.zygote, tier=tier) as worker:
        studio = Studio(worker)
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(studio.run, "while True:\n    pass")
            await anyio.wait_all_tasks_blocked()
            tasks.cancel_scope.cancel()
        assert worker.pid is None
        assert await studio.run("1 + 1") == ProgramFinished(value=2, output="")


async def test_programs_side_by_side_are_lost_together_and_others_go_on(pool: KernelPool, tier: Tier) -> None:
    async with ActionWorker.open(pool.zygote, tier=tier) as worker:
        runs = [await worker.start(f"{n} + await look('a')", tools=TOOLS) for n in range(3)]
        states = [paused(run.step).state for run in runs]
        await kill(worker)
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(Studio(worker).run, "1 + 1")
            for run in runs:
                tasks.start_soon(run.resume, {0: 1})
        assert [run.step.state for run in runs if isinstance(run.step, ProgramLost)] == states
        ends = [await (await worker.load(state, tools=TOOLS)).resume({0: 1}) for state in states]
        assert ends == [ProgramFinished(value=n + 1, output="") for n in range(3)]


async def test_programs_side_by_side_take_turns(worker: ActionWorker) -> None:
    ends: list[ProgramStep] = []

    async def run(number: int) -> None:
        studio = Studio(worker)
        ends.append(await studio.run(f"for i in range(3): await look('a')\n{number}"))

    async with anyio.create_task_group() as tasks:
        for number in range(5):
            tasks.start_soon(run, number)
    assert sorted(str(end) for end in ends) == [str(ProgramFinished(value=n, output="")) for n in range(5)]


async def test_megabytes_of_live_values_go_on_elsewhere(worker: ActionWorker) -> None:
    run = await worker.start("x = 'a' * 5_000_000\nawait look('a')\nlen(x)", tools=TOOLS)
    state = paused(run.step).state
    assert len(state) > 5_000_000
    await run.drop()
    again = await worker.load(state, tools=TOOLS)
    assert await again.resume({0: None}) == ProgramFinished(value=5_000_000, output="")


async def test_a_state_goes_on_in_another_worker_with_what_it_had_used(
    worker: ActionWorker, pool: KernelPool, tier: Tier
) -> None:
    limits = ProgramLimits(tool_calls=3)
    program = "print('x')\nfor i in range(9):\n    await look(str(i))"
    run = await worker.start(program, tools=TOOLS, limits=limits)
    step = paused(await run.resume({0: None}))
    async with ActionWorker.open(pool.zygote, tier=tier) as other:
        again = await other.load(step.state, tools=TOOLS, limits=limits)
        assert arguments(paused(again.step).calls) == {1: {"cell": "1"}}
        assert arguments(paused(await again.resume({1: None})).calls) == {2: {"cell": "2"}}
        end = await again.resume({2: None})
    assert isinstance(end, ProgramFailed)
    assert (end.limit, end.output) == ("tool_calls", "x\n")


async def test_a_state_of_another_version_of_the_interpreter_is_refused(worker: ActionWorker) -> None:
    run = await worker.start("await look('a')", tools=TOOLS)
    state = paused(run.step).state
    older = re.sub(rb'"monty":"[^"]+"', b'"monty":"1.3.0"', state, count=1)
    again = await worker.load(older, tools=TOOLS)
    assert isinstance(again.step, ProgramFailed)
    assert again.step.kind == "state"
    assert "written by monty 1.3.0" in again.step.message
    assert "Start the program again" in again.step.hint


async def test_a_state_that_was_taken_at_the_call_itself_goes_on(worker: ActionWorker) -> None:
    with pydantic_monty.Monty(max_processes=1) as monty, monty.checkout() as session:
        at_the_call = session.feed_start("1 + await look('a')")
        assert isinstance(at_the_call, pydantic_monty.FunctionSnapshot)
        dump = at_the_call.dump()
    progress = ProgramProgress(calls=1, open={0: {"name": "look", "arguments": {"cell": "a"}}})
    run = await worker.load(pack(progress, "", dump, pydantic_monty.__version__), tools=TOOLS)
    assert arguments(paused(run.step).calls) == {0: {"cell": "a"}}
    assert await run.resume({0: 2}) == ProgramFinished(value=3, output="")


async def test_bytes_that_are_no_state_are_refused_and_harm_nothing(worker: ActionWorker) -> None:
    run = await worker.start("await look('a')", tools=TOOLS)
    state = paused(run.step).state
    broken = [b"", b"junk", state[:30], state[:-40], state + b"more", state[:400] + b"\xff" * 50 + state[450:]]
    for bytes_ in broken:
        again = await worker.load(bytes_, tools=TOOLS)
        assert isinstance(again.step, ProgramFailed), bytes_[:60]
        assert again.step.kind in {"state", "crash"}
    assert await run.resume({0: 1}) == ProgramFinished(value=1, output="")


async def test_a_state_asks_only_for_tools_it_is_loaded_with(pool: KernelPool, tier: Tier) -> None:
    async with ActionWorker.open(pool.zygote, tier=tier) as worker:
        run = await worker.start("await send()", tools=TOOLS)
        again = await worker.load(paused(run.step).state, tools=[LOOK])
        assert isinstance(again.step, ProgramLost)
        assert "no tool here" in again.step.reason
