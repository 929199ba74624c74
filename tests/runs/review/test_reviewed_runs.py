"""Once it runs, a notebook is looked over: what is shown to be wrong is mended, or told before all else."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import anyio
import anyio.to_thread
import pytest

from cellwright.journal.crash import CrashPoint
from cellwright.models.client.gateway_client import Models
from cellwright.testing import CallTool, Tokens
from tests.agents.forked import Forker
from tests.conftest import notebook_source
from tests.models.testbed import ModelTestbed
from tests.runs.factory import Factory, Kernels, apply, at_once, create, finish, of, open_factory, plan, task

# The last row of each region is its total.
SALES = "region,month,amount\nnorth,July,120\nnorth,August,90\nnorth,total,210\nsouth,July,80\nsouth,total,80\n"
PLAIN = "region,month,amount\nnorth,July,120\nnorth,August,90\nsouth,July,80\n"
"""Nothing in it that code would find."""
READ = 'import csv\n\nwith open("sales.csv") as _file:\n    rows = list(csv.DictReader(_file))'
WRONG = 'total = sum(int(row["amount"]) for row in rows)\ntotal'
RIGHT = 'total = sum(int(row["amount"]) for row in rows if row["month"] != "total")\ntotal'
SHOWS = """\
import csv
with open("sales.csv") as file:
    right = sum(int(row["amount"]) for row in csv.DictReader(file) if row["month"] != "total")
assert total == right, f"{total} instead of {right}"
"""
FINDING = {"claim": "The total is 580", "found": "Rows of totals are summed as well: it is 290.", "shows": SHOWS}
REVIEWER = of("You look over a marimo notebook")
FIXER = of("You mend a reactive marimo notebook")


def review(*findings: dict[str, str], **more: Any) -> CallTool:
    return CallTool("finish", {"reading": "The sum of all amounts.", "findings": list(findings), **more})


BUILT = (
    plan(task("read"), task("sum", after=["read"])),
    at_once(apply(create(READ, "read")), finish(summary="Five rows of sales are read.")),
    at_once(
        apply(create(WRONG, "total"), create("def test_total():\n    assert total > 0", "check")),
        finish("The amounts sum to {total}."),
    ),
)
MEND = at_once(apply({"op": "edit", "cell": "total", "base_version": 1, "code": RIGHT}), finish(summary="Mended."))


def _prepare(project: Path, effort: str = "normal", sales: str = SALES) -> dict[str, Any]:
    """What the goal says more."""
    (project / "sums.py").write_text(notebook_source("import marimo as mo"))
    (project / "sales.csv").write_text(sales)
    return {"effort": effort, "data": (str(project / "sales.csv"),), "approve": "never"}


async def _deliver(factory: Factory, effort: str = "normal", *, sales: str = SALES) -> Any:
    return await factory.deliver(factory.goal(**_prepare(factory.project, effort, sales)))


async def test_what_a_review_shows_is_mended_and_the_right_figure_is_delivered(
    testbed: ModelTestbed, project: Path, kernels: Kernels
) -> None:
    async with open_factory(testbed, project, kernels) as factory:
        factory.script(*BUILT)
        testbed.provider.when(REVIEWER, review(FINDING))
        testbed.provider.when(FIXER, MEND)
        delivery = await _deliver(factory)
        assert (delivery.why, delivery.status) == ("", "done")
        assert delivery.answer == "The amounts sum to 290."
        # Code finds it too, before anybody is asked.
        assert [(each.standing, each.finding.by, each.finding.claim) for each in delivery.reviewed] == [
            ("mended", "code", "The answer says: The amounts sum to 580."),
            ("mended", "reviewer", "The total is 580"),
        ]
        assert [(check.name, check.has_passed) for check in delivery.checks] == [
            ("finding 1", True),
            ("finding 2", True),
            ("test_total", True),
        ]
        view = await factory.view()
        assert [each.judged.standing for each in view.findings.values()] == ["mended", "mended"]
        [asked] = [each for each in factory.prompts() if "You look over a marimo notebook" in each]
        # It sees the goal, the answer, the notebook and the data, and nothing of how it was made.
        assert all(text in asked for text in ("Sum the numbers.", "The amounts sum to 580.", WRONG[:30], "sales.csv"))
        assert "Do read" not in asked
        assert "Five rows of sales are read." not in asked


@pytest.mark.slow
async def test_a_fixer_that_does_nothing_leaves_it_partial_with_the_finding_before_all_else(
    testbed: ModelTestbed, project: Path, kernels: Kernels
) -> None:
    async with open_factory(testbed, project, kernels) as factory:
        factory.script(*BUILT)
        testbed.provider.when(REVIEWER, review(FINDING))
        testbed.provider.when(FIXER, finish(summary="It is fine."), finish(summary="It is fine."), for_ever=True)
        delivery = await _deliver(factory)
        assert delivery.status == "partial"
        # What code found comes first, then the reviewer's.
        assert delivery.problems[0].startswith("The answer says: The amounts sum to 580.")
        assert delivery.problems[1].startswith("The total is 580. Rows of totals are summed as well: it is 290.")
        assert "580 instead of 290" in delivery.problems[1]
        assert delivery.proof == ""
        # Asked again, it would say the same again.
        assert sum("You mend a reactive marimo notebook" in each for each in factory.prompts()) == 1
        assert "Nothing was changed to mend what the review showed: It is fine." in delivery.caveats
        report = await anyio.Path(delivery.report).read_text()
        assert report.index("580 instead of 290") < report.index('id="headline"')


async def test_a_computation_that_answers_another_question_than_the_goals_is_set_aside_by_the_reviewer_and_told(
    testbed: ModelTestbed, project: Path, kernels: Kernels
) -> None:
    async with open_factory(testbed, project, kernels) as factory:
        cells = (
            create(READ, "read"),
            create(WRONG, "total"),
            create("def test_total():\n    assert total > 0", "check"),
        )
        factory.script(
            replace(at_once(apply(*cells), finish("The amounts sum to {total}.")), tokens=Tokens(input_tokens=9_000))
        )
        why = "It names a region, and the goal is about all of them."
        testbed.provider.when(REVIEWER, review(mistaken=[{"number": 1, "why": why}]))
        goal = factory.goal(words="Which region has the highest amount?", **_prepare(project, sales=PLAIN))
        delivery = await factory.deliver(goal)
        assert (delivery.why, delivery.status) == ("", "done")
        [judged] = delivery.reviewed
        assert (judged.standing, judged.finding.by, judged.finding.kind) == ("not shown", "code", "second-opinion")
        assert f"{judged.finding.found} A reviewer: {why}" in delivery.caveats
        assert delivery.second_opinion == f"Not computed twice: {why}"
        [asked] = [each for each in factory.prompts() if "You look over a marimo notebook" in each]
        assert judged.finding.found in asked, asked[asked.find("what code found") :][:400]
        assert not any("You mend a reactive marimo notebook" in each for each in factory.prompts())


async def test_a_reviewer_that_is_asked_once_sees_every_cell_with_its_code(
    testbed: ModelTestbed, project: Path, kernels: Kernels
) -> None:
    async with open_factory(testbed, project, kernels) as factory:
        long = [create(f"step{at} = {at}\n# {'~' * 900}", f"step{at}") for at in range(9)]
        cells = (create(READ, "read"), *long, create(WRONG, "total"))
        check = create("def test_total():\n    assert total > 0  # as the sum of all is", "check")
        factory.script(
            replace(at_once(apply(*cells, check), finish("They sum to {total}.")), tokens=Tokens(input_tokens=12_000))
        )
        testbed.provider.when(REVIEWER, review(mistaken=[{"number": 1, "why": "It names a region."}]))
        goal = factory.goal(words="Which region has the highest amount?", **_prepare(project, sales=PLAIN))
        delivery = await factory.deliver(goal)
        assert (delivery.why, delivery.status) == ("", "done")
        [asked] = [each for each in factory.prompts() if "You look over a marimo notebook" in each]
        assert all(f"step{at} = {at}\\n# ~~~" in asked for at in range(9))
        assert "as the sum of all is" in asked


@pytest.mark.slow
async def test_a_finding_that_does_not_fail_changes_no_cell_and_stands_among_the_caveats(
    testbed: ModelTestbed, project: Path, kernels: Kernels
) -> None:
    async with open_factory(testbed, project, kernels) as factory:
        factory.script(*BUILT)
        doubt = {"claim": "Rows are lost", "found": "Some are.", "shows": "assert len(rows) == 3"}
        broken = {"claim": "It is slow", "found": "Very.", "shows": "assert no_such_name"}
        testbed.provider.when(REVIEWER, review(doubt, broken, remarks=["Amounts have no currency."]))
        delivery = await _deliver(factory, sales=PLAIN)
        assert (delivery.why, delivery.status) == ("", "done")
        assert [each.standing for each in delivery.reviewed] == ["not shown", "not shown"]
        assert "A reviewer says, but nothing shows: Rows are lost. Some are." in delivery.caveats
        assert "Amounts have no currency." in delivery.caveats
        assert [check.name for check in delivery.checks] == ["test_total"]
        assert WRONG.partition("\n")[0] in factory.notebook()


@pytest.mark.slow
async def test_code_that_is_to_show_something_changes_nothing_in_the_notebook(
    testbed: ModelTestbed, project: Path, kernels: Kernels
) -> None:
    async with open_factory(testbed, project, kernels) as factory:
        factory.script(*BUILT)
        clears = {
            "claim": "A",
            "found": "B",
            "shows": 'rows.clear()\nopen("sales.csv", "w").close()\nassert rows == []',
        }
        testbed.provider.when(REVIEWER, review(clears, {**FINDING, "shows": "assert len(rows) == 3"}))
        delivery = await _deliver(factory, sales=PLAIN)
        assert [each.standing for each in delivery.reviewed] == ["not shown", "not shown"]
        assert (project / "sales.csv").read_text() == PLAIN


@pytest.mark.slow
@pytest.mark.parametrize("is_right", [True, False])
async def test_a_figure_that_a_reviewer_works_out_another_way_is_told_as_computed_twice_or_is_a_finding(
    testbed: ModelTestbed, project: Path, kernels: Kernels, is_right: bool
) -> None:
    async with open_factory(testbed, project, kernels) as factory:
        factory.script(*BUILT)
        testbed.provider.when(
            REVIEWER, review(second=SHOWS.replace(' if row["month"] != "total"', "") if is_right else SHOWS)
        )
        testbed.provider.when(FIXER, finish(summary="No."), for_ever=True)
        delivery = await _deliver(factory, sales=PLAIN if is_right else SALES)
        assert delivery.status == ("done" if is_right else "partial")
        assert ("Computed twice, independently" in delivery.second_opinion) is is_right


@pytest.mark.slow
async def test_at_quick_no_reviewer_is_asked_and_a_small_run_is_looked_over_with_one_request(
    testbed: ModelTestbed, project: Path, kernels: Kernels
) -> None:
    async with open_factory(testbed, project, kernels) as factory:
        factory.script(*BUILT)
        delivery = await _deliver(factory, "quick", sales=PLAIN)
        assert (delivery.why, delivery.status) == ("", "done")
        assert len(factory.prompts()) == 3


# ── kill -9 ──

POINTS = [
    *((CrashPoint.STEP_WORKED, visit) for visit in range(2, 40, 3)),
    *((CrashPoint.STEP_COMMITTED, visit) for visit in range(3, 60, 7)),
    *((CrashPoint.EFFECT_HAPPENED, visit) for visit in (1, 2, 3)),
    *((point, visit) for point in (CrashPoint.CHILD_STARTING, CrashPoint.CHILD_ENDED) for visit in (1, 2, 3, 4)),
    (CrashPoint.RUN_ENDING, 1),
]


@pytest.fixture(scope="module")
def killed(forker: Forker) -> Forker:
    return forker.of("tests.runs.killed_run")


@pytest.mark.slow
@pytest.mark.sampled(7, often=7)
@pytest.mark.parametrize(("point", "visit"), POINTS)
async def test_a_reviewed_run_killed_at_any_point_delivers_the_same_and_pays_once(
    testbed: ModelTestbed, project: Path, cache: Path, killed: Forker, gateway: Models, point: CrashPoint, visit: int
) -> None:
    goal = json.dumps(_prepare(project))
    testbed.provider.script(*BUILT)
    testbed.provider.when(REVIEWER, review(FINDING))
    testbed.provider.when(FIXER, MEND)
    arguments = (str(testbed.home), str(cache), str(project))
    first = await anyio.to_thread.run_sync(killed.run, *arguments, point, str(visit), "null", goal)
    second = await anyio.to_thread.run_sync(killed.run, *arguments, "-", "1", "null", goal)
    assert (first, second) == (-9, 0)
    told = json.loads((testbed.home / "delivery.json").read_text())
    assert (told["why"], told["status"], told["answer"]) == ("", "done", "The amounts sum to 290.")
    assert [(each["standing"], each["finding"]["by"]) for each in told["reviewed"]] == [
        ("mended", "code"),
        ("mended", "reviewer"),
    ]
    text = (project / "sums.py").read_text()
    assert [text.count(part) for part in ('row["month"] != "total")', "def test_total", "rows = list(")] == [1, 1, 1]
    assert len(testbed.provider.charged) == len(BUILT) + 2
