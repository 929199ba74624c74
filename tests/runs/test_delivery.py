"""A check that could not be made is told once, as the cause; what follows from it is not told as if it were found."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from cellwright.app import Files
from cellwright.app.verification import check_outcome, verify_notebook
from cellwright.kernel.pool import KernelPool
from cellwright.network import NetworkSettings
from cellwright.runs.deliver.delivery import CheckOutcome, DeliveredCheck, with_plan_checks
from cellwright.runs.plan.plan import Check, Plan, Task
from cellwright.settings import Settings
from tests.cli.in_process import run_here
from tests.runs.verify.verifying import source
from tests.walled_network import PASSWORD, cut_off

PLAN = Plan(
    title="sums", tasks=(Task(id="t", title="Sum", checks=(Check(test="test_sum", says="The sum is right."),)),)
)


def a_notebook(tmp_path: Path, *requires: str) -> Path:
    path = tmp_path / "project" / "notebook.py"
    path.parent.mkdir()
    path.write_text(source("def test_sum():\n    assert 1 + 1 == 2", requires=requires))
    return path


async def test_a_cut_off_index_is_the_one_thing_a_check_tells(pool: KernelPool, tmp_path: Path) -> None:
    path = a_notebook(tmp_path, "no-such-tool==1.0")
    settings = Settings(home=tmp_path / "home", cache=tmp_path / "cache", connection=NetworkSettings.of(cut_off()))
    checked = check_outcome(
        *await verify_notebook(path, files=Files(project=path.parent), pool=pool, other=pool, settings=settings)
    )
    told = with_plan_checks(checked, PLAN)
    assert (told.ran, told.checks, told.proof) == ("unavailable", (), "")
    [problem] = told.problems
    assert problem.startswith("environment: The package index cannot be reached: ")
    assert "the doctor shows which are in force." in problem
    assert PASSWORD not in problem


def test_a_test_is_missing_only_from_a_notebook_that_was_looked_at() -> None:
    cause = CheckOutcome(problems=("line 3: this breaks it",), ran="not at all")
    assert with_plan_checks(cause, PLAN) == cause
    absent = with_plan_checks(CheckOutcome(problems=()), PLAN)
    assert absent.problems == ("No test 'test_sum' is in the notebook: The sum is right.",)
    there = DeliveredCheck(name="test_sum", says="test_sum", has_passed=True)
    assert with_plan_checks(CheckOutcome(problems=(), checks=(there,), note="how"), PLAN) == CheckOutcome(
        problems=(), checks=(DeliveredCheck(name="test_sum", says="The sum is right.", has_passed=True),), note="how"
    )


def test_a_plans_check_that_notices_nothing_counts_as_missing() -> None:
    hollow = DeliveredCheck(
        name="test_sum", says="test_sum", has_passed=True, detail="notices no change of `total`", is_hollow=True
    )
    other = replace(hollow, name="test_other", says="test_other")
    told = with_plan_checks(CheckOutcome(problems=(), checks=(hollow, other), proof="proof.json"), PLAN)
    [problem] = told.problems
    assert problem.startswith("The test 'test_sum' notices no change of `total`, so it does not show that The sum is")
    assert [check.has_passed for check in told.checks] == [False, True]
    assert told.proof == ""


@pytest.mark.slow
def test_verifying_by_hand_tells_the_same_one_cause_and_ends_with_1(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = a_notebook(tmp_path, "no-such-tool==1.0")
    for name, value in cut_off().items():
        monkeypatch.setenv(name, value)
    said = run_here(tmp_path / "home", "notebook", "verify", str(path), "--json", code=1)
    view = json.loads(said.stdout)
    assert [reason["kind"] for reason in view["reasons"]] == ["NoEnvironment"]
    assert view["reasons"][0]["hint"].startswith("Without an index this machine lacks no-such-tool==1.0. ")
    assert PASSWORD not in said.stdout + said.stderr
