"""What a program can do: compute, call tools one by one or together, catch their failures, hand back a value."""

from __future__ import annotations

from typing import Any

import anyio
import anyio.lowlevel
import pytest
from hypothesis import given
from hypothesis import strategies as st
from inline_snapshot import snapshot

from cellwright.errors import Defect
from cellwright.tools.actions.steps import (
    CallFailure,
    ProgramCall,
    ProgramFailed,
    ProgramFinished,
    ProgramLost,
    ProgramPaused,
)
from cellwright.tools.actions.worker import ActionWorker

from .conftest import TOOLS, Studio, arguments, paused

TEXTS = st.text(st.characters(codec="utf-8"))
JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**63 - 1)
    | st.floats(allow_nan=False, allow_infinity=False)
    | TEXTS,
    lambda inner: st.lists(inner) | st.dictionaries(TEXTS, inner),
    max_leaves=40,
)


async def test_the_last_expression_is_the_value_and_prints_are_the_output(studio: Studio) -> None:
    step = await studio.run("print('one')\ntotal = sum(range(10))\nprint('two')\n{'total': total}")
    assert step == ProgramFinished(value={"total": 45}, output="one\ntwo\n")


async def test_a_call_has_its_arguments_by_name_however_it_was_written(studio: Studio) -> None:
    await studio.run("await look('a', 2)\nawait look(depth=3, cell='b')\nawait send(anything=[1])")
    assert studio.calls == snapshot(
        [
            ProgramCall(id=0, name="look", arguments={"cell": "a", "depth": 2}),
            ProgramCall(id=1, name="look", arguments={"depth": 3, "cell": "b"}),
            ProgramCall(id=2, name="send", arguments={"anything": [1]}),
        ]
    )


async def test_gathered_calls_are_asked_together(worker: ActionWorker) -> None:
    program = "import asyncio\nawait asyncio.gather(look('a'), look('b'), look('c'))"
    run = await worker.start(program, tools=TOOLS)
    step = paused(run.step)
    assert sorted(str(call.arguments["cell"]) for call in step.calls) == ["a", "b", "c"]
    assert await run.resume({call.id: call.arguments["cell"] for call in step.calls}) == ProgramFinished(
        value=["a", "b", "c"], output=""
    )


async def test_calls_can_be_answered_one_at_a_time_and_keep_their_ids(worker: ActionWorker) -> None:
    program = """
import asyncio
async def twice(cell):
    first = await look(cell)
    return await look(first)
await asyncio.gather(twice('a'), twice('b'))
"""
    run = await worker.start(program, tools=TOOLS)
    first, second = paused(run.step).calls
    step = paused(await run.resume({second.id: "later"}))
    assert first in step.calls
    (new,) = (call for call in step.calls if call.id != first.id)
    assert new.arguments == {"cell": "later"}
    step = paused(await run.resume({first.id: "x", new.id: "y"}))
    (last,) = step.calls
    assert isinstance(await run.resume({last.id: "z"}), ProgramFinished)


async def test_a_tools_failure_can_be_caught(studio: Studio) -> None:
    program = "try:\n    await look('a')\nexcept ValueError as error:\n    caught = str(error)\ncaught"
    step = await studio.run(program, lambda _: CallFailure(type="ValueError", message="no such cell"))
    assert step == ProgramFinished(value="no such cell", output="")


async def test_a_tools_failure_that_is_not_caught_ends_the_program_at_its_line(studio: Studio) -> None:
    step = await studio.run("x = 1\nawait look('a')", lambda _: CallFailure(type="Refused", message="not allowed"))
    assert step == ProgramFailed(kind="error", type="RuntimeError", message="Refused: not allowed", line=2)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        ("look()", "look() is missing required arguments: 'cell'"),
        ("look('a', 1, 2)", "look() takes 2 arguments but 3 were given"),
        ("look('a', cell='b')", "look() got multiple values for argument 'cell'"),
        ("look('a', colour=1)", "look() got an unexpected keyword argument 'colour'; it takes cell, depth"),
        ("look({(1, 2): 3})", "argument 'cell' cannot be given to a tool: a tuple cannot be a key of a JSON object"),
        ("look(float('nan'))", "argument 'cell' cannot be given to a tool: nan is no JSON number"),
        ("look(b'raw')", "argument 'cell' cannot be given to a tool: a bytes is no JSON value"),
        ("look(2**100)", "argument 'cell' cannot be given to a tool: it has more than 64 bits"),
    ],
)
async def test_a_call_that_does_not_fit_is_a_type_error_in_the_program(studio: Studio, call: str, message: str) -> None:
    step = await studio.run(f"try:\n    await {call}\nexcept TypeError as error:\n    told = str(error)\ntold")
    assert step == ProgramFinished(value=message, output="")
    assert studio.calls == []


@pytest.mark.parametrize("program", ["look('a')\n1", "x = [look('a'), look('b')]\nlen(x)"])
async def test_a_call_nobody_awaited_did_not_happen_and_is_told(studio: Studio, program: str) -> None:
    step = await studio.run(program)
    assert isinstance(step, ProgramFailed)
    assert (step.type, step.message) == ("NeverAwaited", "look() was called but never awaited, so it did not happen")
    assert "await" in step.hint
    assert studio.calls == []


async def test_using_a_call_as_its_answer_says_to_await_it(studio: Studio) -> None:
    step = await studio.run("r = look('a')\nr['n']")
    assert isinstance(step, ProgramFailed)
    assert (step.line, "await" in step.hint) == (2, True)


@pytest.mark.parametrize(
    ("expression", "value"),
    [
        ("(1, {2}, None, True, 1.5)", [1, [2], None, True, 1.5]),
        ("{1: 'a', None: 'b'}", {"1": "a", "None": "b"}),
        ("datetime.date(2026, 1, 2)", "2026-01-02"),
        ("datetime.datetime(2026, 1, 2, 3, 4)", "2026-01-02T03:04:00"),
        ("decimal.Decimal('1.50')", "1.50"),
        ("Point(3)", {"x": 3}),
        ("2**70", "1180591620717411303424"),
        ("float('inf')", "inf"),
        ("b'x'", "b'x'"),
        ("ValueError('no')", "ValueError: no"),
        ("[x for x in range(3)]", [0, 1, 2]),
        ("'\\x00\\ud800'", "\x00\ufffd"),
    ],
)
async def test_every_value_comes_back_as_json(studio: Studio, expression: str, value: Any) -> None:
    head = "import datetime, decimal\nfrom dataclasses import dataclass\n@dataclass\nclass Point:\n    x: int\n"
    assert await studio.run(head + expression) == ProgramFinished(value=value, output="")


async def test_a_value_nested_without_end_is_cut(studio: Studio) -> None:
    step = await studio.run("x = []\nfor i in range(100000):\n    x = [x]\nx")
    assert isinstance(step, ProgramFinished)
    assert "nested more than 32 deep" in str(step.value)


async def test_every_program_has_an_interpreter_of_its_own(studio: Studio) -> None:
    await studio.run("secret = 5")
    step = await studio.run("secret")
    assert isinstance(step, ProgramFailed)
    assert step.type == "NameError"


async def test_a_tool_can_be_passed_around_and_an_unknown_one_is_a_name_error(studio: Studio) -> None:
    step = await studio.run("tools = {'l': look}\nawait tools['l']('a')")
    assert step == ProgramFinished(value={"tool": "look", "cell": "a"}, output="")
    step = await studio.run("await launch('a')")
    assert isinstance(step, ProgramFailed)
    assert (step.type, step.message) == ("NameError", "name 'launch' is not defined")


async def test_more_programs_can_wait_than_interpreters(worker: ActionWorker) -> None:
    runs = [await worker.start(f"x = {n}\nx + await look('a')", tools=TOOLS, is_checked=False) for n in range(20)]
    assert all(isinstance(run.step, ProgramPaused) for run in runs)
    ends = [await run.resume({0: 100}) for run in runs]
    assert ends == [ProgramFinished(value=100 + n, output="") for n in range(20)]


async def test_a_dropped_program_can_be_loaded_again(worker: ActionWorker) -> None:
    run = await worker.start("await look('a')", tools=TOOLS)
    state = paused(run.step).state
    await run.drop()
    assert run.step == ProgramLost(reason="it was dropped", state=state)
    again = await worker.load(state, tools=TOOLS)
    assert arguments(paused(again.step).calls) == {0: {"cell": "a"}}


async def test_only_open_calls_of_a_paused_program_can_be_answered(worker: ActionWorker) -> None:
    run = await worker.start("await look('a')", tools=TOOLS)
    for wrong in ({}, {7: 1}):
        with pytest.raises(Defect, match="waits for the calls"):
            await run.resume(wrong)
    await run.resume({0: 1})
    with pytest.raises(Defect, match="Only a paused program"):
        await run.resume({0: 1})


async def test_a_result_too_large_for_a_program_is_raised_in_it(studio: Studio) -> None:
    program = "try:\n    await look('a')\nexcept ValueError as error:\n    told = str(error)\ntold"
    step = await studio.run(program, lambda _: "x" * (17 << 20))
    assert isinstance(step, ProgramFinished)
    assert str(step.value).startswith("the result has 17,825,794 bytes")


@pytest.mark.parametrize("odd", ["half a \ud800 character", {"a": "\udcff"}])
async def test_a_result_that_is_no_json_is_raised_in_the_program(studio: Studio, odd: Any) -> None:
    program = "try:\n    await look('a')\nexcept ValueError as error:\n    told = str(error)\ntold"
    step = await studio.run(program, lambda _: odd)
    assert isinstance(step, ProgramFinished)
    assert str(step.value).startswith("the result is no JSON")


async def test_a_failures_odd_characters_are_replaced(studio: Studio) -> None:
    step = await studio.run("await look('a')", lambda _: CallFailure(message="no \udcff"))
    assert step == ProgramFailed(kind="error", type="RuntimeError", message="no ?", line=1)


async def test_others_get_their_turn_while_one_program_follows_the_other(worker: ActionWorker) -> None:
    turns = programs = 0

    async def others() -> None:
        nonlocal turns
        while True:
            await anyio.lowlevel.checkpoint()
            turns += 1

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(others)
        await anyio.lowlevel.checkpoint()
        before = turns
        while turns < before + 3 and programs < 5_000:
            await worker.start("1", tools=(), is_checked=False)
            programs += 1
        tasks.cancel_scope.cancel()
    assert programs < 5_000


async def test_a_call_made_while_another_is_open_is_asked_together_with_it(worker: ActionWorker) -> None:
    run = await worker.start(
        "import asyncio\nfirst = look('a')\nsecond = await look('b')\n[await first, second]", tools=TOOLS
    )
    answered: dict[int, Any] = {}
    while isinstance(run.step, ProgramPaused):
        calls = {call.id: call.arguments["cell"] for call in run.step.calls}
        answered |= calls
        await run.resume(calls)
    assert run.step == ProgramFinished(value=["a", "b"], output="")
    assert answered == {0: "a", 1: "b"}


@pytest.mark.slow
@given(value=JSON)
async def test_an_answer_arrives_in_the_program_as_it_was_given(worker: ActionWorker, value: Any) -> None:
    step = await Studio(worker).run("answer = await look('a')\nanswer", lambda _: value)
    assert step == ProgramFinished(value=value, output="")


@pytest.mark.parametrize("type_", ["ConnectionError", "sqlalchemy.exc.DBAPIError", "", "__import__"])
async def test_a_failure_of_a_kind_programs_do_not_know_is_a_runtime_error(studio: Studio, type_: str) -> None:
    program = "try:\n    await look('a')\nexcept RuntimeError as error:\n    told = str(error)\ntold"
    step = await studio.run(program, lambda _: CallFailure(message="gone", type=type_))
    assert step == ProgramFinished(value=f"{type_}: gone", output="")
