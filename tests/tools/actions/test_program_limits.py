"""Each limit ends a program as a value that names it, and the next program runs."""

from __future__ import annotations

import pytest

from cellwright.tools.actions.steps import ProgramFailed, ProgramFinished, ProgramLimits

from .conftest import Studio

TIGHT = ProgramLimits(
    seconds=0.3,
    sleep_seconds=0.2,
    memory_mb=8,
    output_bytes=10_000,
    tool_calls=5,
    argument_bytes=1_000,
    value_bytes=2_000,
    state_bytes=200_000,
    program_bytes=5_000,
)

OVER = {
    "seconds": "while True:\n    pass",
    "seconds over several turns": "for i in range(5):\n    n = 0\n    while n < 1500000: n += 1\n    await look('a')",
    "seconds, all exceptions caught": "while True:\n    try:\n        while True: pass\n    except BaseException: pass",
    "seconds in one built-in": "sum(range(10**11))",
    "sleep_seconds": "import time\ntime.sleep(3600)",
    "sleep_seconds, gathered": "import asyncio\nawait asyncio.gather(*[asyncio.sleep(0.1) for _ in range(9)])",
    "memory": "x = []\nwhile True: x.append('a' * 1000 + str(len(x)))",
    "memory at once": "'a' * 10**11",
    "memory, caught": "x = []\ntry:\n    while True: x.append('a' * 99)\nexcept BaseException:\n    pass",
    "memory by a number": "9 ** 9 ** 9",
    "output_bytes": "while True: print('a' * 100)",
    "output_bytes at once": "print('a' * 20000)",
    "tool_calls": "for i in range(6): await look('a')",
    "tool_calls at once": "import asyncio\nawait asyncio.gather(*[look('a') for _ in range(6)])",
    "tool_calls, never awaited": "while True: look('a')",
    "argument_bytes": "await look('a' * 1000)",
    "argument_bytes, as UTF-8": "await look('\\u20ac' * 400)",
    "value_bytes": "'a' * 3000",
    "state_bytes": "x = 'a' * 300000\nawait look('a')",
    "program_bytes": "'" + "a" * 5000 + "'",
    "recursion": "def f(n):\n    return f(n + 1)\nf(0)",
    "lookups": "while True:\n    try:\n        nothing\n    except NameError: pass",
}


@pytest.mark.sampled(2)
@pytest.mark.parametrize("name", OVER)
async def test_a_program_over_a_limit_is_told_which(studio: Studio, name: str) -> None:
    limits = ProgramLimits(seconds=20) if name == "lookups" else TIGHT
    step = await studio.run(OVER[name], limits=limits)
    assert isinstance(step, ProgramFailed), step
    assert (step.kind, step.limit) == ("limit", name.replace(",", " ").split()[0])
    assert step.hint
    assert await studio.run("1 + 1") == ProgramFinished(value=2, output="")


async def test_output_until_the_limit_is_kept(studio: Studio) -> None:
    step = await studio.run("print('first')\nwhile True: pass", limits=TIGHT)
    assert isinstance(step, ProgramFailed)
    assert step.output == "first\n"


async def test_waiting_for_a_tool_costs_no_time(studio: Studio) -> None:
    step = await studio.run("for i in range(5): await look('a')\n'done'", limits=TIGHT)
    assert step == ProgramFinished(value="done", output="")
