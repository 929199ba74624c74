"""Calls that cannot work are told before anything runs; whatever might work is left to run."""

from __future__ import annotations

import pytest

from cellwright.tools.actions.steps import ProgramFailed, ProgramFinished, ProgramPaused
from cellwright.tools.actions.worker import ActionWorker
from cellwright.tools.stubs import ToolSignature

READ = ToolSignature(
    name="read",
    description="Read rows.",
    parameters={
        "type": "object",
        "properties": {"table": {"type": "string"}, "rows": {"type": "integer", "default": 10}},
        "required": ["table"],
        "additionalProperties": False,
    },
    returns={"type": "object", "properties": {"count": {"type": "integer"}}, "required": ["count"]},
)


@pytest.mark.parametrize(
    ("program", "line", "words"),
    [
        ("await read(3)", 1, "Expected `str`, found `Literal[3]`"),
        ("x = 1\nawait read('a', limit=3)", 2, "Argument `limit` does not match any known parameter"),
        ("await read()", 1, "No argument provided for required parameter `table`"),
        ("await read('a', 1, 2)", 1, "Too many positional arguments"),
        ("r = read('a')\nr['count']", 2, "CoroutineType"),
        ("read('a')\n1", 1, "is not awaited"),
        ("r = await read('a')\nr['total']", 2, 'Unknown key "total"'),
        ("await raed('a')", 1, "`raed` used when not defined"),
    ],
)
async def test_a_call_that_cannot_work_is_told_before_anything_ran(
    worker: ActionWorker, program: str, line: int, words: str
) -> None:
    run = await worker.start(program, tools=[READ])
    assert isinstance(run.step, ProgramFailed)
    assert (run.step.kind, run.step.line) == ("types", line)
    assert words in run.step.message
    assert run.step.hint


@pytest.mark.parametrize(
    "program",
    [
        "r = await read('a')\nreturn r['count']",
        "import asyncio\na, b = await asyncio.gather(read('a'), read(table='b', rows=3))\na['count'] + b['count']",
        "import numpy_like_nothing\nawait read('a')"
        if False
        else "x = {}\nx['a'] = 1\nx['b'] = 'c'\n(await read('a'))['count']",
        "def double(n): return n * 2\nx = double(3)\nx = str(x)\n(await read(x))['count']",
    ],
)
async def test_what_may_work_is_run(worker: ActionWorker, program: str) -> None:
    run = await worker.start(program, tools=[READ])
    while isinstance(run.step, ProgramPaused):
        await run.resume({call.id: {"count": 2} for call in run.step.calls})
    assert isinstance(run.step, ProgramFinished), run.step
