"""Plans: what can be carried out, what comes next, and what a person may change."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from cellwright.errors import UserError
from cellwright.journal.events import encode
from cellwright.runs.events import EVENT_TYPES, PlanChanged
from cellwright.runs.plan.brief import STORY_TASK, whole_goal
from cellwright.runs.plan.plan import (
    AddTask,
    ChangeTask,
    Check,
    DropTask,
    Plan,
    RetryTask,
    Task,
    TaskStatus,
    checked,
    edited,
    parse_edit,
    parse_plan,
    plan_json,
)

LOAD = Task(id="load", title="Load the data", checks=(Check(test="test_rows", says="There are rows."),))
JOIN = Task(id="join", title="Join", after=("load",))
PLOT = Task(id="plot", title="Plot", after=("load",))
PLAN = Plan(title="Sales", tasks=(LOAD, JOIN, PLOT))


def as_of(**statuses: TaskStatus) -> Plan:
    return replace(PLAN, tasks=tuple(replace(task, status=statuses.get(task.id, task.status)) for task in PLAN.tasks))


def test_the_next_task_is_the_first_whose_needs_are_met() -> None:
    following = PLAN.next_task()
    assert following is not None
    assert following.id == "load"
    assert (after := as_of(load="done").next_task()) is not None
    assert after.id == "join"


def test_a_task_that_was_cut_off_is_taken_up_again() -> None:
    task = as_of(load="done", join="running").next_task()
    assert task is not None
    assert task.id == "join"


def test_what_needs_a_failed_task_is_blocked_and_the_rest_goes_on() -> None:
    plan = replace(as_of(load="done", join="failed"), tasks=(*as_of(load="done", join="failed").tasks,))
    chart = Task(id="chart", title="Chart", after=("join",))
    plan = plan.with_task(chart)
    assert (following := plan.next_task()) is not None
    assert following.id == "plot"
    done = plan.with_task(replace(PLOT, status="done"))
    assert done.next_task() is None
    assert [task.id for task in done.tasks if task.status == "planned"] == ["chart"]


def test_a_dropped_task_is_not_waited_for_and_its_checks_do_not_count() -> None:
    plan = edited(PLAN, DropTask(task="load"))
    assert (following := plan.next_task()) is not None
    assert following.id == "join"
    assert plan.checks() == ()


def test_a_person_adds_a_task_and_its_status_is_planned_whatever_was_said() -> None:
    plan = edited(PLAN, AddTask(task=Task(id="table", title="Table", after=("join",), status="done")))
    found = plan.find("table")
    assert found is not None
    assert found.status == "planned"


def test_what_is_over_cannot_be_changed_but_can_be_done_again() -> None:
    plan = as_of(load="done")
    with pytest.raises(UserError, match="done already"):
        edited(plan, ChangeTask(task="load", title="Other"))
    again = edited(plan, RetryTask(task="load")).find("load")
    assert again is not None
    assert again.status == "planned"


@pytest.mark.parametrize(
    ("plan", "words"),
    [
        (Plan(title="x"), "1 to 20 tasks"),
        (Plan(title="x", tasks=(Task(id="A b", title="x"),)), "no id"),
        (Plan(title="x", tasks=(Task(id="a", title="x", after=("b",)),)), "not there"),
        (Plan(title="x", tasks=(LOAD, LOAD)), "same id"),
        (Plan(title="x", tasks=(LOAD, replace(LOAD, id="two"))), "same test"),
        (
            Plan(title="x", tasks=(Task(id="a", title="x", checks=(Check(test="rows", says="x"),)),)),
            "no name for a test",
        ),
        (
            Plan(title="x", tasks=(Task(id="a", title="x", after=("b",)), Task(id="b", title="x", after=("a",)))),
            "wait for each other",
        ),
    ],
)
def test_a_plan_that_cannot_be_carried_out_is_refused_with_the_reason(plan: Plan, words: str) -> None:
    with pytest.raises(UserError, match=words):
        checked(plan)


@pytest.mark.parametrize(
    "edit", [AddTask(task=JOIN), ChangeTask(task="join", todo="left"), DropTask(task="a"), RetryTask(task="b")]
)
def test_changes_survive_being_written_down(edit: Any) -> None:
    told = PlanChanged(edit=edit, by="ann")
    assert EVENT_TYPES.decode("plan-changed", encode(told).decode()) == told


def test_a_plan_survives_being_written_down() -> None:
    assert parse_plan(plan_json(PLAN)) == PLAN


@pytest.mark.parametrize("edit", [DropTask(task="nope"), RetryTask(task="nope"), ChangeTask(task="nope")])
def test_changes_of_unknown_tasks_name_the_known_ones(edit: Any) -> None:
    with pytest.raises(UserError, match="No task 'nope'") as caught:
        edited(PLAN, edit)
    assert "load, join, plot" in caught.value.hint


def test_nonsense_is_no_change_of_a_plan() -> None:
    with pytest.raises(UserError, match="No change of a plan"):
        parse_edit({"op": "explode"})


@pytest.mark.parametrize(
    ("words", "is_wanted"),
    [
        ("Sum the numbers and write a report.", True),
        ("I need a short, one-page report", True),
        ("Report on churn", True),
        ("Make slides of it", True),
        ("Which state had the most reports in 2019?", False),
        ("Make a chart of identity theft reports by month", False),
        ("How many articles are in stock?", False),
    ],
)
def test_a_writer_comes_for_a_report_that_is_wanted_not_for_reports_that_are_counted(
    words: str, is_wanted: bool
) -> None:
    assert (STORY_TASK in [task.id for task in whole_goal(words).tasks]) == is_wanted
