"""Alternatives of a plan that are left to a person: the run waits for them, and goes by what they say."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from cellwright.policy.masking.masker import Masker
from cellwright.runs.plan.brief import work_text
from cellwright.runs.plan.plan import Alternative, Task, parse_plan, plan_json
from cellwright.runs.views import branches
from cellwright.runs.views.branch_views import branch_view_json
from cellwright.runs.views.branches import read_branch_views
from cellwright.runs.views.progress import progress_line
from cellwright.runs.views.questions import run_inbox
from cellwright.runs.views.run_view import RunView
from cellwright.testing import CallTool
from cellwright.tools.notebook.trial_records import BRANCH_CHOICE, TrialRecord
from tests.conftest import notebook_source
from tests.models.testbed import ModelTestbed
from tests.runs.factory import ADA, Kernels, create, finish, open_factory, plan, task

NUMBERS = notebook_source("import marimo as mo", "numbers = [1, 2, 9]")
ASKS = CallTool(
    "try_alternatives",
    {
        "candidates": [
            {"name": "mean", "edits": [create("average = sum(numbers) / len(numbers)\naverage", "average")]},
            {"name": "median", "edits": [create("average = sorted(numbers)[1]\naverage", "average")]},
        ],
        "checks": ["average < 3"],
        "keep": "ask",
    },
)
PLANNED = plan(task("average", alternatives=[{"name": "mean"}, {"name": "median"}], person_decides=True))


@pytest.mark.slow
async def test_a_run_waits_for_the_person_and_builds_on_what_they_accept(
    testbed: ModelTestbed, project: Path, kernels: Kernels
) -> None:
    (project / "sums.py").write_text(NUMBERS)
    async with open_factory(testbed, project, kernels) as factory:
        factory.script(PLANNED, CallTool("run", {"cells": "all"}), ASKS, finish("The mean is 4."))
        run = await factory.start()
        await factory.asked(BRANCH_CHOICE)
        assert "average =" not in factory.notebook()
        view = await factory.view()
        assert view.plan is not None
        assert view.plan.tasks[0].person_decides
        assert 'keep="ask"' in factory.prompts()[1]
        await branches.accept(run_inbox(factory.runs.records, Masker.of(salt=b"s" * 16)), run, "mean", ADA)
        delivery = await factory.delivery()
        assert (delivery.why, delivery.status) == ("", "done")
        assert "average = sum(numbers) / len(numbers)" in factory.notebook()
        assert "The person (ada) accepted mean." in factory.prompts()[3]
        [compared] = delivery.comparisons
        assert [(way.name, way.is_kept) for way in compared.ways] == [("median", False), ("mean", True)]
        lanes = [branch_view_json(lane) for lane in (await read_branch_views(factory.runs.records, run)).values()]
        assert [(lane["purpose"], lane["state"], lane["agent"]) for lane in lanes] == [
            ("median", "dropped", "r/agent:2"),
            ("mean", "accepted", "r/agent:2"),
        ]


@pytest.mark.slow
async def test_a_run_where_nobody_is_asked_keeps_the_best(
    testbed: ModelTestbed, project: Path, kernels: Kernels
) -> None:
    (project / "sums.py").write_text(NUMBERS)
    async with open_factory(testbed, project, kernels) as factory:
        factory.script(PLANNED, CallTool("run", {"cells": "all"}), ASKS, finish("The median is 2."))
        delivery = await factory.deliver(factory.goal(approve="never"))
        assert (delivery.why, delivery.status) == ("", "done")
        assert "average = sorted(numbers)[1]" in factory.notebook()


def test_a_plan_says_who_decides_and_older_plans_leave_it_to_the_checks() -> None:
    ways = (Alternative(name="mean"), Alternative(name="median"))
    asked = Task(id="a", title="A", alternatives=ways, person_decides=True)
    assert 'keep="ask"' in work_text("goal", asked)
    older = {"title": "p", "tasks": [{"id": "a", "title": "A", "alternatives": [{"name": "x"}, {"name": "y"}]}]}
    [task_of_older] = parse_plan(older).tasks
    assert not task_of_older.person_decides
    assert 'keep="ask"' not in work_text("goal", task_of_older)
    told = json.loads(json.dumps(plan_json(parse_plan(older))))
    assert told["tasks"][0]["person_decides"] is False


def test_whoever_watches_reads_that_a_branch_waits_and_who_decided() -> None:
    waits = TrialRecord(branch="r/c0.1", purpose="mean", status="passed", waits=True)
    assert progress_line(RunView(run="r"), waits) == "branch mean: passed, waits for a person"
    kept = replace(waits, waits=False, is_kept=True, decision="accepted", decided_by="ada")
    assert progress_line(RunView(run="r"), kept) == "branch mean: passed, kept (accepted by ada)"
