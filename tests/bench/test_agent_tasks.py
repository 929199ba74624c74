"""The ten tasks of the bench: scripted fairly, done by real agents, and refused when they do not end as they should."""

from __future__ import annotations

import ast
from collections.abc import AsyncGenerator, Mapping
from dataclasses import replace
from itertools import chain, pairwise
from textwrap import indent
from typing import Any

import pytest

from bench.agent_driver import STYLES, AgentDriver
from bench.agent_tasks import TASKS, Task
from bench.failure import BenchFailed
from cellwright.kernel.pool import KernelPool


@pytest.fixture(scope="module")
async def driver(pool: KernelPool) -> AsyncGenerator[AgentDriver]:
    async with AgentDriver.open(pool) as opened:
        yield opened


def test_there_are_ten_tasks_and_all_are_checked_at_their_end() -> None:
    assert len(TASKS) == 10
    assert all(task.rests_on or task.cells_after or task.files_after for task in TASKS.values())


@pytest.mark.parametrize("task", TASKS.values(), ids=TASKS)
def test_both_scripts_give_the_same_answer_and_nothing_is_called_twice_in_a_row(task: Task) -> None:
    assert task.programs[-1][-1] == task.calls[-1][-1]
    assert task.calls[-1][-1].name == "finish"
    calls = list(chain.from_iterable(task.calls))
    assert all(before != after for before, after in pairwise(calls))
    assert {call.name for call in chain.from_iterable(task.programs)} == {"run_program", "finish"}


@pytest.mark.parametrize("task", TASKS.values(), ids=TASKS)
def test_a_first_program_takes_nothing_out_of_results_whose_shape_the_model_was_not_told(task: Task) -> None:
    given = task.programs[0][0].arguments
    assert isinstance(given, Mapping)
    # As a function's body: programs await at their top.
    tree = ast.parse("async def program():\n" + indent(str(given["code"]), " "))
    taken = [node for node in ast.walk(tree) if isinstance(node, ast.Subscript | ast.Attribute)]
    assert {ast.unparse(node) for node in taken} <= {"asyncio.gather"}


@pytest.mark.slow
async def test_every_style_comes_to_the_same_end_and_one_call_at_a_time_costs_most(driver: AgentDriver) -> None:
    name = "choose a method"
    came = {style: await driver.do(name, TASKS[name], style) for style in STYLES}
    assert {style: each.turns for style, each in came.items()} == {"code": 2, "one-call": 5, "tools": 2}
    assert max(came["code"].tokens, came["tools"].tokens) < came["one-call"].tokens


@pytest.mark.slow
@pytest.mark.parametrize(
    ("wrong", "told"),
    [
        ({"rests_on": ("a figure nobody saw",)}, "had not read"),
        ({"values_after": {"total": "16"}}, "total is 15"),
        ({"cells_after": {}}, "cell prices: 'unit_price = "),
    ],
    ids=["unread", "value", "cells"],
)
async def test_a_task_that_ends_differently_is_no_result(driver: AgentDriver, wrong: dict[str, Any], told: str) -> None:
    task = replace(TASKS["rename a variable"], **wrong)
    with pytest.raises(BenchFailed, match=told):
        await driver.do(f"rename {next(iter(wrong))}", task, "tools")
