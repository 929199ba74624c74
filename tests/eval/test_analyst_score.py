"""The analyst, which asks no model, on the tasks it can serve: all of them but those that say why not."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import pytest

from eval.cellwright_worker import ANALYST, open_cellwright
from eval.evaluation import evaluate
from eval.results import Result, table
from eval.task import Task, read_tasks

TASKS: Final = [task for task in read_tasks() if task.is_for_analyst]
FIRST: Final = {"difference_across_files", "why_it_fell"}
"""A few of different kinds; all the others are as many whole runs, which `make eval` makes too."""


async def results_of(tasks: Sequence[Task]) -> list[Result]:
    async with open_cellwright(ANALYST, home=None, seconds=400) as worker:
        return await evaluate(tasks, [worker], at_once=2, told=lambda _: None)


def passed(results: Sequence[Result]) -> set[str]:
    return {one.task for one in results if one.has_passed}


def expected(tasks: Sequence[Task]) -> set[str]:
    return {task.id for task in tasks if not task.analyst_misses}


@pytest.mark.slow
async def test_the_analyst_passes_tasks_of_different_kinds() -> None:
    tasks = [task for task in TASKS if task.id in FIRST]
    results = await results_of(tasks)
    assert passed(results) == expected(tasks), table(results)


@pytest.mark.slow
@pytest.mark.rare
async def test_the_analyst_passes_all_tasks_it_can_serve() -> None:
    tasks = [task for task in TASKS if task.id not in FIRST]
    results = await results_of(tasks)
    assert passed(results) == expected(tasks), table(results)


def test_few_tasks_are_missed_and_each_says_why() -> None:
    missed = [task.id for task in TASKS if task.analyst_misses]
    assert len(missed) <= len(TASKS) // 6, missed
    assert {task.id for task in TASKS} > FIRST
