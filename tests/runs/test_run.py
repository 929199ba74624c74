"""A goal becomes a notebook: planned, agreed, built, checked and delivered."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import anyio
import pytest

from tests.conftest import notebook_source
from tests.models.testbed import ModelTestbed
from tests.runs.factory import Kernels, apply, at_once, create, finish, open_factory, plan, task

SALES = "region,month,amount\nnorth,2025-07,120\nsouth,2025-07,80\nnorth,2025-08,90\nsouth,2025-08,70\neast,2025-08,5\n"
REGIONS = "region,manager\nnorth,Ada\nsouth,Bob\n"


@pytest.mark.slow
async def test_a_goal_becomes_a_notebook_that_is_proven(testbed: ModelTestbed, project: Path, kernels: Kernels) -> None:
    (project / "sales.csv").write_text(SALES)
    (project / "regions.csv").write_text(REGIONS)
    joined = """\
joined = sales.merge(regions, on="region", how="left")
monthly = joined.groupby("month", as_index=False)["amount"].sum()
monthly"""
    plot = """\
_figure, _axes = plt.subplots()
_axes.bar(monthly["month"], monthly["amount"])
_axes.set(title="Revenue per month", xlabel="month", ylabel="EUR")
_figure"""
    async with open_factory(testbed, project, kernels) as factory:
        factory.script(
            plan(
                task("load"),
                task("join", after=["load"], checks=[{"test": "test_total", "says": "The months sum to 365 EUR."}]),
                title="Why revenue fell",
                assumptions=["Amounts are in EUR."],
            ),
            apply(
                create("import pandas as pd\nimport matplotlib.pyplot as plt", "packages"),
                create("sales = pd.read_csv(sales_csv)\nregions = pd.read_csv(regions_csv)\nsales", "tables"),
            ),
            finish("5 rows"),
            apply(
                create(joined, "joined"),
                create(plot, "plot"),
                create("def test_total():\n    assert monthly['amount'].sum() == 365", "check_total"),
            ),
            apply(
                create('mo.md(f"# Why revenue fell\\n\\nIt sums to {monthly.amount.sum()} EUR.")', "answer", at="start")
            ),
            finish("Revenue fell from 200 EUR in July to 165 EUR in August 2025."),
        )
        goal = factory.goal(
            "Why did revenue fall?",
            notebook="revenue.py",
            data=(str(project / "sales.csv"), str(project / "regions.csv")),
        )
        delivery = await factory.deliver(goal)
        assert (delivery.why, delivery.status) == ("", "done")
        assert delivery.answer == "Revenue fell from 200 EUR in July to 165 EUR in August 2025."
        assert [(check.name, check.has_passed, check.says) for check in delivery.checks] == [
            ("test_total", True, "The months sum to 365 EUR.")
        ]
        assert delivery.assumptions == ("Amounts are in EUR.",)
        assert await anyio.Path(delivery.proof).is_file()
        report = await anyio.Path(delivery.report).read_text()
        assert "165 EUR in August" in report
        assert "data:image/png;base64," in report
        text = factory.notebook("revenue.py")
        assert '"matplotlib==' in text
        assert '"pandas==' in text
        assert str(project) not in text
        assert delivery.microdollars > 0
        assert delivery.seconds > 0
        view = await factory.view()
        assert view.stage == "over"
        assert view.plan is not None
        assert [each.status for each in view.plan.tasks] == ["done", "done"]


@pytest.mark.slow
async def test_whoever_reads_the_goal_first_sees_the_data_before_its_first_thought(
    testbed: ModelTestbed, project: Path, kernels: Kernels
) -> None:
    (project / "sums.py").write_text(notebook_source("import marimo as mo"))
    (project / "sales.csv").write_text(SALES)
    # In a project such a file may be a cache as well: that it was named says that it is data.
    with closing(sqlite3.connect(project / "kiosk.db")) as database:
        database.execute("CREATE TABLE products (product_id INTEGER PRIMARY KEY, shelf_mark TEXT)")
        database.execute("INSERT INTO products VALUES (1, 'A7')")
        database.commit()
    async with open_factory(testbed, project, kernels) as factory:
        factory.script(finish("1"))
        await factory.deliver(factory.goal(data=(str(project / "sales.csv"), str(project / "kiosk.db"))))
        assert "shelf_mark" in factory.prompts()[0]
        assert "sales.csv" in factory.prompts()[0]
        assert all(column in factory.prompts()[0] for column in ("region", "month", "amount"))
        assert "Sum the numbers." in factory.prompts()[0]


@pytest.mark.slow
async def test_an_existing_notebook_grows_and_what_a_person_wrote_stays_as_it_was(
    testbed: ModelTestbed, project: Path, kernels: Kernels
) -> None:
    mine = notebook_source("import marimo as mo", "# mine, as I like it\nnumbers   =  [1,2,3]")
    (project / "sums.py").write_text(mine)
    async with open_factory(testbed, project, kernels) as factory:
        factory.script(
            at_once(apply(create("total = sum(numbers)\ntotal", "total")), finish("The numbers sum to {total}.")),
        )
        delivery = await factory.deliver()
        assert (delivery.why, delivery.status) == ("", "done")
        text = factory.notebook()
        assert "# mine, as I like it\n    numbers   =  [1,2,3]" in text
        assert "total = sum(numbers)" in text
        assert "# /// script" not in text
        assert "numbers   =  [1,2,3]" in factory.prompts()[0]


@pytest.mark.slow
async def test_what_the_check_finds_is_repaired_and_checked_again(
    testbed: ModelTestbed, project: Path, kernels: Kernels
) -> None:
    (project / "sums.py").write_text(notebook_source("import marimo as mo"))
    checks = [{"test": "test_total", "says": "The total is 6."}]
    async with open_factory(testbed, project, kernels) as factory:
        factory.script(
            plan(task(checks=checks)),
            at_once(
                apply(
                    create("total = 7\ntotal", "total"),
                    create("def test_total():\n    assert total == 6", "check_total"),
                ),
                finish("7"),
            ),
            # It was told that the test failed, and insists.
            finish("7"),
            apply({"op": "edit", "cell": "total", "base_version": 1, "code": "total = 6\ntotal"}),
            finish("6"),
        )
        delivery = await factory.deliver()
        assert (delivery.why, delivery.status) == ("", "done")
        assert [check.has_passed for check in delivery.checks] == [True]
        assert delivery.answer == "6"
        mending = factory.prompts()[3]
        assert "Repair what the check found" in mending
        assert "check test_total" in mending


@pytest.mark.slow
async def test_a_check_that_notices_nothing_goes_back_and_is_written_anew(
    testbed: ModelTestbed, project: Path, kernels: Kernels
) -> None:
    checks = [{"test": "test_total", "says": "The total is right."}]
    async with open_factory(testbed, project, kernels) as factory:
        hollow = create("def test_total():\n    assert total > 0", "check_total")
        sound = "def test_total():\n    assert total == sum([2, 4])"
        factory.script(
            plan(task(checks=checks)),
            at_once(apply(create("total = 6\ntotal", "total"), hollow), finish("It is {total}.")),
            apply({"op": "edit", "cell": "check_total", "base_version": 1, "code": sound}),
            finish(""),
        )
        delivery = await factory.deliver()
        assert (delivery.why, delivery.status) == ("", "done")
        assert [(check.has_passed, check.is_hollow) for check in delivery.checks] == [(True, False)]
        assert "The test 'test_total' notices no change of `total`" in factory.prompts()[2]


@pytest.mark.slow
async def test_what_nobody_can_repair_is_delivered_and_said(
    testbed: ModelTestbed, project: Path, kernels: Kernels
) -> None:
    (project / "sums.py").write_text(notebook_source("import marimo as mo"))
    async with open_factory(testbed, project, kernels) as factory:
        factory.script(
            plan(task(checks=[{"test": "test_total", "says": "The total is right."}])),
            at_once(apply(create("import random\nrandom.random()", "chance")), finish("It is about 0.4.")),
            finish("I cannot."),
            finish("I still cannot."),
        )
        delivery = await factory.deliver()
        assert delivery.status == "partial"
        assert any("differs between two runs" in problem for problem in delivery.problems)
        assert any("No test 'test_total'" in problem for problem in delivery.problems)
        assert delivery.proof == ""
        assert delivery.answer == "I still cannot."
        assert "random.random()" in factory.notebook()


async def test_a_notebook_that_is_none_fails_the_run_with_the_reason(
    testbed: ModelTestbed, project: Path, kernels: Kernels
) -> None:
    (project / "sums.py").write_text("print('no notebook')\n")
    async with open_factory(testbed, project, kernels) as factory:
        delivery = await factory.deliver()
        assert delivery.status == "failed"
        assert "marimo" in delivery.why
        assert factory.notebook() == "print('no notebook')\n"
        assert (await factory.view()).delivery == delivery
