"""Runs that use branches: alternatives of a plan are compared, a failed task is gone back from, undo says which way."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import anyio
import pytest

from cellwright.errors import UserError
from cellwright.runs.deliver.report.markdown import report_markdown
from cellwright.runs.plan.plan import Alternative, Plan, Task, checked
from cellwright.runs.views.branches import branches_of
from cellwright.runs.views.progress import progress_line
from cellwright.runs.views.run_view import RunView
from cellwright.testing import CallTool
from cellwright.tools.notebook.trial_records import TrialCheck, TrialRecord
from tests.conftest import notebook_source
from tests.models.testbed import ModelTestbed
from tests.runs.factory import Kernels, apply, at_once, create, finish, open_factory, plan, task

NUMBERS = notebook_source("import marimo as mo", "numbers = [1, 2, 9]")


def alternatives(*ways: tuple[str, str], **more: Any) -> CallTool:
    candidates = [{"name": name, "edits": [create(code, "average")]} for name, code in ways]
    return CallTool("try_alternatives", {"candidates": candidates, **more})


@pytest.mark.slow
async def test_alternatives_of_a_plan_are_built_in_branches_and_compared_in_one_table(
    testbed: ModelTestbed, project: Path, kernels: Kernels
) -> None:
    (project / "sums.py").write_text(NUMBERS)
    named = [{"name": "mean"}, {"name": "median", "todo": "Take the middle one."}, {"name": "mode"}]
    async with open_factory(testbed, project, kernels) as factory:
        factory.script(
            plan(task("average", alternatives=named)),
            CallTool("run", {"cells": "all"}),
            alternatives(
                ("mean", "average = sum(numbers) / len(numbers)\naverage"),
                ("median", "average = sorted(numbers)[1]\naverage"),
                checks=["average < 3"],
            ),
            finish("The median is 2."),
            finish("The median is 2."),
        )
        delivery = await factory.deliver()
        assert (delivery.why, delivery.status) == ("", "done")
        text = factory.notebook()
        assert "sorted(numbers)[1]" in text
        assert "sum(numbers)" not in text
        asked = factory.prompts()[1]
        assert "Compare these in one call of `try_alternatives`" in asked
        assert "median: Take the middle one." in asked
        [compared] = delivery.comparisons
        assert [(way.name, way.status, way.checks, way.is_kept) for way in compared.ways] == [
            ("median", "passed", "1/1", True),
            ("mean", "failed", "0/1", False),
            ("mode", "not tried", "", False),
        ]
        words = report_markdown(delivery)
        assert "## Compared for Do average" in words
        assert "- median (kept): passed, checks 1/1, average = 2" in words
        page = await anyio.Path(delivery.report).read_text()
        assert "<h2>Compared for Do average</h2>" in page
        tried = await branches_of(factory.runs.records.log.read_all, "r")
        assert [(each.purpose, each.agent, each.is_kept) for each in tried] == [
            ("median", "r/agent:2", True),
            ("mean", "r/agent:2", False),
        ]


@pytest.mark.slow
async def test_a_failed_task_leaves_the_notebook_as_it_was_before_it(
    testbed: ModelTestbed, project: Path, kernels: Kernels
) -> None:
    (project / "sums.py").write_text(NUMBERS)
    spoils = "numbers.append(100)\nimport pathlib as _pathlib\n_pathlib.Path('spoilt.txt').write_text('x')"
    wrong = [apply(create(f"_{number} = numbers + 'a'", f"wrong{number}")) for number in range(5)]
    async with open_factory(testbed, project, kernels) as factory:
        factory.script(
            plan(task("first"), task("second"), task("third")),
            at_once(apply(create("total = sum(numbers)\ntotal", "total")), finish("12")),
            apply(create(spoils, "spoils")),
            *wrong,
        )
        delivery = await factory.deliver(factory.goal(approve="never"))
        second = next(each for each in delivery.tasks if each.id == "second")
        assert second.status == "failed"
        assert "the notebook is again what it was before this task. By checkpoint" in second.note
        text = factory.notebook()
        assert "total = sum(numbers)" in text
        assert "numbers.append" not in text
        assert "wrong0" not in text
        assert not (project / "spoilt.txt").exists()


def test_a_branch_is_one_line_for_whoever_watches() -> None:
    checks = (TrialCheck(check="a > 0", has_passed=True), TrialCheck(check="a < 9", has_passed=False))
    tried = TrialRecord(branch="r/agent:1/s1c1.1", purpose="mean\x1b[31m", status="failed", checks=checks)
    assert progress_line(RunView(run="r"), tried) == "branch mean\\u001b[31m: failed, checks 1/2, dropped"


def test_a_task_has_no_alternatives_or_two_to_five_under_different_names() -> None:
    def a_plan(*names: str) -> Plan:
        ways = tuple(Alternative(name=name) for name in names)
        return Plan(title="p", tasks=(Task(id="a", title="A", alternatives=ways),))

    assert checked(a_plan()) == a_plan()
    assert checked(a_plan("x", "y")) == a_plan("x", "y")
    for wrong in (("x",), ("x", "x"), ("x", " "), tuple("abcdef")):
        with pytest.raises(UserError):
            checked(a_plan(*wrong))
