"""At `thorough`, acceptance tests come before anybody builds: builders cannot change them, but may dispute them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import anyio.to_thread
import pytest

from cellwright.journal.crash import CrashPoint
from cellwright.models.client.gateway_client import Models
from cellwright.runs.deliver.delivery import Delivery
from cellwright.runs.events import CheckDisputed
from cellwright.runs.review.acceptance import AcceptanceTest, SpecVariable, parse_spec, spec_problems
from cellwright.runs.review.dispute import DISPUTED
from cellwright.testing import CallTool
from tests.agents.forked import Forker
from tests.conftest import notebook_source
from tests.models.testbed import ModelTestbed
from tests.runs.factory import Factory, Kernels, apply, at_once, create, finish, of, open_factory, plan, task

SALES = "region,month,amount\nnorth,July,120\nnorth,August,90\nsouth,July,80\n"
READ = 'import csv\n\nwith open("sales.csv") as _file:\n    rows = list(csv.DictReader(_file))'
TOTAL = 'total = sum(int(row["amount"]) for row in rows)\ntotal'
RIGHT = "def test_total():\n    assert total == 120 + 90 + 80, total"
WRONG = "def test_total():\n    assert total == 210, total"
COUNT = "def test_rows():\n    assert row_count == 3, row_count"
TESTER = of("You write the acceptance tests of a marimo notebook")
DECIDER = of("You decide a dispute about an acceptance test")
REVIEWER = of("You look over a marimo notebook")
FIXER = of("You mend a reactive marimo notebook")
REVIEW = CallTool("finish", {"reading": "The sum of all amounts."})
BUILT = at_once(apply(create(READ, "read"), create(TOTAL, "total")), finish("The amounts sum to {total}."))


def spec(*codes: str) -> CallTool:
    """What a tester hands in: `total`, and the number of rows where a test reads it."""
    variables = [{"name": "total", "holds": "The sum of all amounts, an int."}]
    variables += [{"name": "row_count", "holds": "How many sales there are."}] if COUNT in codes else []
    says = {RIGHT: "All amounts are summed.", WRONG: "The north is summed.", COUNT: "No row is lost."}
    given = [{"test": code[4 : code.index("(")], "says": says[code], "code": code} for code in codes]
    return CallTool("finish", {"reading": "All regions count.", "variables": variables, "tests": given})


def dispute(instead: str = RIGHT) -> CallTool:
    why = "The goal asks for all regions, not for the north."
    return CallTool(
        "use", {"name": "dispute_check", "arguments": {"test": "test_total", "why": why, "instead": instead}}
    )


def decision(decided: str) -> CallTool:
    return CallTool("finish", {"decided": decided, "why": "The goal names no region."})


def _prepare(project: Path) -> None:
    (project / "sums.py").write_text(notebook_source("import marimo as mo"))
    (project / "sales.csv").write_text(SALES)


def _goal(project: Path, **more: Any) -> dict[str, Any]:
    return {"effort": "thorough", "data": (str(project / "sales.csv"),)} | more


async def _deliver(factory: Factory, **more: Any) -> Delivery:
    _prepare(factory.project)
    return await factory.deliver(factory.goal(**_goal(factory.project, **{"approve": "never", **more})))


@pytest.mark.slow
async def test_tests_are_written_first_from_goal_and_data_and_builders_cannot_change_them(
    testbed: ModelTestbed, project: Path, kernels: Kernels
) -> None:
    async with open_factory(testbed, project, kernels) as factory:
        testbed.provider.when(TESTER, spec(RIGHT))
        testbed.provider.when(REVIEWER, REVIEW)
        easier = {"cell": "accept_total", "base_version": 1, "code": "def test_total():\n    assert total"}
        factory.script(
            at_once(
                CallTool("use", {"name": "undo", "arguments": {}}),
                apply({"op": "edit", **easier}),
                apply({"op": "rename", "cell": "accept_total", "base_version": 1, "name": "other"}),
                apply({"op": "configure", "cell": "accept_total", "base_version": 1, "config": {"disabled": True}}),
                apply({"op": "delete", "cell": "accept_total", "base_version": 1}),
            ),
            BUILT,
        )
        delivery = await _deliver(factory)
        assert (delivery.why, delivery.status, delivery.answer) == ("", "done", "The amounts sum to 290.")
        assert [(each.name, each.says, each.has_passed) for each in delivery.checks] == [
            ("test_total", "All amounts are summed.", True)
        ]
        assert "The acceptance tests read the goal so: All regions count." in delivery.assumptions
        first, second, *later = factory.prompts()
        assert "You write the acceptance tests" in first
        assert all(text in first for text in ("Sum the numbers.", "sales.csv"))
        assert "import marimo as mo" not in first
        assert all(
            text in second for text in ("test_total", "All amounts are summed.", "The sum of all amounts, an int.")
        )
        assert later[0].count("test_total is the tester's: only a person may change") == 5
        assert "call dispute_check" in later[0]
        text = factory.notebook()
        assert text.count(RIGHT.splitlines()[1].strip()) == 1
        # Behind what they test, however early they were written.
        assert text.index("def total(") < text.index("def test_total(")


@pytest.mark.slow
async def test_a_test_that_waits_for_a_later_task_holds_nobody_up_and_one_that_fails_goes_to_the_fixer(
    testbed: ModelTestbed, project: Path, kernels: Kernels
) -> None:
    async with open_factory(testbed, project, kernels) as factory:
        testbed.provider.when(TESTER, spec(RIGHT, COUNT))
        testbed.provider.when(REVIEWER, REVIEW)
        # Moving it to the end made a version of its own.
        wrong = {"op": "edit", "cell": "accept_total", "base_version": 2, "code": "def test_total():\n    assert True"}
        mended = {"op": "edit", "cell": "total", "base_version": 1, "code": TOTAL}
        testbed.provider.when(FIXER, apply(wrong), at_once(apply(mended), finish(summary="Mended.")))
        late = TOTAL.replace("int(", "2 * int(")
        factory.script(
            plan(task("read", checks=[{"test": "test_rows", "says": "Three rows."}]), task("sum", after=["read"])),
            at_once(apply(create(READ, "read"), create("row_count = len(rows)", "count")), finish(summary="Read.")),
            at_once(apply(create(late, "total")), finish("The amounts sum to {total}.")),
            finish("The amounts sum to {total}."),
        )
        delivery = await _deliver(factory)
        assert (delivery.why, delivery.status, delivery.answer) == ("", "done", "The amounts sum to 290.")
        assert [(each.name, each.says, each.has_passed) for each in delivery.checks] == [
            ("test_total", "All amounts are summed.", True),
            ("test_rows", "No row is lost.", True),
        ]
        asked = factory.prompts()
        # What is written already is not asked for again.
        assert not any("write a test in the notebook" in each for each in asked)
        # The first builder finished although no total was there; the second was told that its own is off.
        assert len(asked) == 1 + 1 + 1 + 2 + 2 + 1
        assert any("580" in each and "test_total failed" in each for each in asked)
        assert any("test_total is the tester's" in each and "You mend" in each for each in asked)


@pytest.mark.slow
@pytest.mark.parametrize("decided", ["replace", "drop", "keep"])
async def test_a_person_decides_what_becomes_of_a_disputed_test(
    testbed: ModelTestbed, project: Path, kernels: Kernels, decided: str
) -> None:
    async with open_factory(testbed, project, kernels) as factory:
        testbed.provider.when(TESTER, spec(WRONG))
        testbed.provider.when(REVIEWER, REVIEW, for_ever=True)
        testbed.provider.when(FIXER, finish(summary="It is right as it is."), for_ever=True)
        own = create("def test_sum():\n    assert total == 290", "check")
        factory.script(dispute(), at_once(apply(own), BUILT.calls[0], BUILT.calls[1]), BUILT.calls[1])
        _prepare(project)
        await factory.start(factory.goal(**_goal(project)))
        asked = await factory.asked(DISPUTED)
        shown = asked.question.text
        assert all(text in shown for text in ("The goal asks for all regions", "total == 210", "120 + 90 + 80"))
        assert asked.question.choices == ("keep", "drop", "replace")
        await factory.runs.records.questions.answer(asked.id, decided, by="ada")
        delivery = await factory.delivery()
        done = {"keep": "kept", "drop": "dropped", "replace": "replaced"}[decided]
        told = f"was disputed (The goal asks for all regions, not for the north) and {done} by ada."
        assert f"The acceptance test test_total {told}" in delivery.caveats
        [event] = (await factory.view()).disputes
        assert (event.test, event.decided, event.by, event.instead) == ("test_total", decided, "ada", RIGHT)
        passed = {check.name: check.has_passed for check in delivery.checks}
        assert passed.get("test_total") == {"keep": False, "drop": None, "replace": True}[decided]
        assert delivery.status == ("partial" if decided == "keep" else "done")
        assert ("total == 210" in factory.notebook()) is (decided == "keep")


@pytest.mark.slow
@pytest.mark.parametrize("decided", ["replace", "keep"])
async def test_unattended_a_reviewer_decides_with_one_small_request(
    testbed: ModelTestbed, project: Path, kernels: Kernels, decided: str
) -> None:
    async with open_factory(testbed, project, kernels) as factory:
        testbed.provider.when(TESTER, spec(WRONG))
        testbed.provider.when(DECIDER, decision(decided))
        testbed.provider.when(REVIEWER, REVIEW, for_ever=True)
        testbed.provider.when(FIXER, finish(summary="It is right as it is."), for_ever=True)
        # Twice in vain: what is decided is decided.
        factory.script(apply(create(READ, "read")), dispute(), dispute(), BUILT.calls[1], BUILT.calls[1])
        factory.script(at_once(apply(create(TOTAL, "total")), BUILT.calls[1]), BUILT.calls[1])
        delivery = await _deliver(factory)
        [asked] = [each for each in factory.prompts() if "You decide a dispute" in each]
        assert all(text in asked for text in ("Sum the numbers.", "sales.csv", "total == 210", "120 + 90 + 80"))
        assert "csv.DictReader" not in asked
        [event] = (await factory.view()).disputes
        assert event == CheckDisputed(
            test="test_total",
            why="The goal asks for all regions, not for the north.",
            instead=RIGHT,
            decided=event.decided,
            by="reviewer",
            words="The goal names no region.",
            tokens=event.tokens,
            microdollars=event.microdollars,
        )
        assert event.tokens > 0
        assert delivery.tokens == (await factory.view()).tokens
        assert any("That is decided: acceptance test test_total disputed" in each for each in factory.prompts())
        assert delivery.status == ("partial" if decided == "keep" else "done")


@pytest.mark.slow
async def test_a_run_whose_tester_hands_in_nothing_goes_on_and_says_so(
    testbed: ModelTestbed, project: Path, kernels: Kernels
) -> None:
    async with open_factory(testbed, project, kernels) as factory:
        hollow = {"test": "test_total", "says": "x", "code": "def test_total():\n    pass"}
        nothing = CallTool("finish", {"reading": "", "variables": [{"name": "total", "holds": "x"}], "tests": [hollow]})
        testbed.provider.when(TESTER, nothing, for_ever=True)
        testbed.provider.when(REVIEWER, REVIEW)
        own = create("def test_sum():\n    assert total == 290", "check")
        factory.script(at_once(apply(own), *BUILT.calls))
        delivery = await _deliver(factory)
        assert delivery.status == "done"
        assert any(each.startswith("No acceptance tests were written first:") for each in delivery.caveats)
        assert "test_total asserts nothing." in str(factory.prompts())


@pytest.mark.slow
async def test_a_builder_in_a_branch_of_its_own_disputes_a_test_and_what_was_decided_is_joined(
    testbed: ModelTestbed, project: Path, kernels: Kernels
) -> None:
    async with open_factory(testbed, project, kernels) as factory:
        summed = finish("The amounts sum to {total}.")
        count = apply(create("row_count = len(rows)\nrow_count", "count"))
        easier = {"op": "edit", "cell": "accept_rows", "base_version": 1, "code": "def test_rows():\n    assert 1"}
        testbed.provider.when(TESTER, spec(WRONG, COUNT))
        testbed.provider.when(DECIDER, decision("replace"))
        testbed.provider.when(REVIEWER, REVIEW, for_ever=True)
        testbed.provider.when(of("You write the words of a marimo notebook"), summed)
        testbed.provider.when(of("Your task: Do sum"), dispute(), at_once(apply(create(TOTAL, "total")), summed))
        testbed.provider.when(of("Your task: Do count"), apply(easier), at_once(count, finish(summary="Counted.")))
        factory.script(
            plan(task("read"), task("sum", after=["read"]), task("count", after=["read"])),
            at_once(apply(create(READ, "read")), finish(summary="Read.")),
        )
        delivery = await _deliver(factory)
        assert (delivery.why, delivery.status, delivery.answer) == ("", "done", "The amounts sum to 290.")
        assert [(each.name, each.has_passed) for each in delivery.checks] == [("test_total", True), ("test_rows", True)]
        assert len((await factory.view()).branches) == 2
        assert sum("test_rows is the tester's" in each for each in factory.prompts()) == 1
        text = factory.notebook()
        assert [text.count(part) for part in ("total == 120 + 90 + 80", "total == 210", "row_count == 3")] == [1, 0, 1]


# ── kill -9 ──

ASKED = (CrashPoint.QUESTION_OPENED, 1)
POINTS = [
    ("die", CrashPoint.QUESTION_CLOSED, 99),
    ("replace", *ASKED),
    ("replace", CrashPoint.QUESTION_CLOSED, 1),
    ("replace", CrashPoint.STEP_WORKED, 8),
    ("replace", CrashPoint.STEP_WORKED, 13),
    ("replace", CrashPoint.STEP_WORKED, 14),
    ("replace", CrashPoint.STEP_COMMITTED, 16),
    ("replace", CrashPoint.STEP_COMMITTED, 20),
    ("replace", CrashPoint.EFFECT_HAPPENED, 1),
    ("", CrashPoint.CHILD_STARTING, 3),
    ("", CrashPoint.CHILD_ENDED, 2),
    ("", CrashPoint.CHILD_ENDED, 3),
]
"""What the person says (nothing: a reviewer decides), and where it dies."""


@pytest.fixture(scope="module")
def killed(forker: Forker) -> Forker:
    return forker.of("tests.runs.killed_run")


@pytest.mark.slow
@pytest.mark.sampled(4, often=4)
@pytest.mark.parametrize(("answer", "point", "visit"), POINTS)
async def test_a_run_killed_around_a_dispute_asks_once_and_delivers_the_same(
    testbed: ModelTestbed,
    project: Path,
    cache: Path,
    killed: Forker,
    gateway: Models,
    answer: str,
    point: CrashPoint,
    visit: int,
) -> None:
    _prepare(project)
    testbed.provider.when(TESTER, spec(WRONG))
    testbed.provider.when(DECIDER, decision("replace"))
    testbed.provider.when(REVIEWER, REVIEW)
    testbed.provider.script(dispute(), BUILT)
    goal = json.dumps(_goal(project, approve="ask" if answer else "never"))
    arguments = (str(testbed.home), str(cache), str(project))
    first = await anyio.to_thread.run_sync(killed.run, *arguments, point, str(visit), "null", goal, answer)
    again = "replace" if answer == "die" else answer
    second = await anyio.to_thread.run_sync(killed.run, *arguments, "-", "1", "null", goal, again)
    assert (first, second) == (-9, 0)
    told = json.loads((testbed.home / "delivery.json").read_text())
    assert (told["why"], told["status"], told["answer"]) == ("", "done", "The amounts sum to 290.")
    assert [(check["name"], check["has_passed"]) for check in told["checks"]] == [("test_total", True)]
    assert sum("was disputed" in each and "replaced by" in each for each in told["caveats"]) == 1
    text = (project / "sums.py").read_text()
    assert [text.count(part) for part in ("total == 120 + 90 + 80", "total == 210", "total = sum(")] == [1, 0, 1]
    assert len(testbed.provider.charged) == (4 if answer else 5)


# ── what a tester hands in ──


@pytest.mark.parametrize(
    ("code", "problem"),
    [
        (RIGHT, ""),
        ("def test_total(:", "no Python"),
        ("def test_other():\n    assert total", "nothing beside it"),
        (f"import csv\n{RIGHT}", "nothing beside it"),
        ("def test_total(total):\n    assert total", "takes parameters"),
        ("def test_total():\n    total", "asserts nothing"),
        ("def test_total():\n    assert rows", "reads none of the variables"),
    ],
)
def test_a_test_that_could_not_fail_or_stand_alone_is_not_taken(code: str, problem: str) -> None:
    reads = ("total",) if "total" in code.partition(":")[2] else ()
    given = AcceptanceTest(test="test_total", says="x", code=code, reads=reads)
    found = spec_problems([SpecVariable(name="total", holds="x")], [given], ())
    assert (problem in " ".join(found)) if problem else found == []


def test_names_that_are_taken_twice_or_local_are_not_taken() -> None:
    test = AcceptanceTest(test="test_total", says="x", code=RIGHT, reads=("total",))
    found = spec_problems([SpecVariable(name="_total", holds="x")], [test, test], {"test_total"})
    assert len(found) == 4
    assert parse_spec(None).tests == parse_spec({"tests": [1]}).tests == ()
