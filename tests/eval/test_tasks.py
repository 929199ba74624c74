"""Every task can be solved, its trap is a trap, and its data is always the same."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import get_args

import pytest

from eval.checks import has_passed, judge
from eval.draw import draw
from eval.task import Kind, Task, read_tasks
from eval.worker import print_of

TASKS = read_tasks()
REMADE = {".duckdb", ".xlsx"}
"""Formats that write down when they were made."""


def test_there_are_enough_tasks_of_every_kind_and_enough_for_the_analyst() -> None:
    kinds = Counter(task.kind for task in TASKS)
    assert len(TASKS) >= 30
    assert set(kinds) == set(get_args(Kind))
    assert min(kinds.values()) >= 2
    assert sum(task.is_for_analyst for task in TASKS) >= 12


@pytest.mark.sampled(16)
@pytest.mark.parametrize("task", TASKS, ids=lambda task: task.id)
def test_the_reference_is_accepted_and_who_falls_for_the_trap_is_refused(task: Task, tmp_path: Path) -> None:
    task.make(tmp_path)
    right = judge(task.checks, task.right(tmp_path))
    assert [verdict.says for verdict in right if not verdict.has_held] == []
    assert not has_passed(judge(task.checks, task.wrong(tmp_path)))


@pytest.mark.sampled(6)
@pytest.mark.parametrize("task", TASKS, ids=lambda task: task.id)
def test_a_tasks_data_is_made_the_same_each_time_and_nothing_else_is_made(task: Task, tmp_path: Path) -> None:
    first, second = tmp_path / "first", tmp_path / "second"
    for folder in (first, second):
        folder.mkdir()
        task.make(folder)
    assert sorted(path.name for path in first.iterdir()) == sorted(task.data)
    assert task.right(first) == task.right(second)
    if not any(path.suffix in REMADE for path in first.rglob("*")):
        assert print_of(first, task.data) == print_of(second, task.data)


def test_a_task_that_is_not_there_is_named() -> None:
    with pytest.raises(ValueError, match="No task named 'nowhere'"):
        read_tasks(["nowhere"])


def test_a_change_of_the_data_shows(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("x\n1\n")
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder/b.csv").write_text("x\n1\n")
    names = ("a.csv", "folder")
    before = print_of(tmp_path, names)
    assert print_of(tmp_path, names) == before
    (tmp_path / "folder/b.csv").write_text("x\n2\n")
    assert print_of(tmp_path, names) != before


def test_the_tasks_for_somebody_who_answers_live_are_drawn_the_same_each_time() -> None:
    first, second = draw(TASKS, 18)
    assert draw(TASKS, 18) == (first, second)
    both = [*first, *second]
    assert len({task.id for task in both}) == 16
    assert {task.id for task in both} >= {"folder_of_10", "folder_of_130", "folder_of_1500"}
    assert [[task.kind == "folders" for task in half].count(True) for half in (first, second)] == [2, 2]
