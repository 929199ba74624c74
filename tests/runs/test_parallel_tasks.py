"""Tasks of a plan that need nothing of each other are built at the same time in lanes, and joined by the graph."""

from __future__ import annotations

from pathlib import Path

import anyio
import pytest

from cellwright.journal.crash import CrashPoint
from cellwright.models.client.gateway_client import Models
from cellwright.runs.execute.parallel_tasks import AGAIN, CLASH, LEAVE_OUT, independent_tasks
from cellwright.runs.plan.plan import Plan, Task
from cellwright.runs.views.branches import branches_of
from cellwright.testing import Answer, CallTool, Fault, Received
from tests.agents.forked import Forker
from tests.conftest import notebook_source
from tests.models.testbed import ModelTestbed
from tests.runs.factory import Factory, Kernels, apply, at_once, create, finish, of, open_factory, plan, task
from tests.runs.test_killed_runs import delivered

NUMBERS = notebook_source("import marimo as mo", "numbers = [1, 2, 9]")
LOAD, LARGEST, AVERAGE = of("Your task: Do load"), of("Your task: Do largest"), of("Your task: Do average")
TELLING = of("Your task: Make it readable")


def first_asked(received: Received) -> bool:
    return "Your task" not in str(received.body)


PLANNED = plan(task("load"), task("largest", after=["load"]), task("average", after=["load"]))
RUN_ALL = CallTool("run", {"cells": "all"})
LOADED = at_once(RUN_ALL, apply(create("values = [n * 2 for n in numbers]", "load")), finish("Loaded."))
LARGEST_BUILT = at_once(apply(create("result = max(values)\nresult", "largest")), finish("It is 18."))
AVERAGE_BUILT = at_once(
    apply(
        create("result = sum(values) / len(values)", "average"),
        create('mo.md(f"On average {result:.1f}")', "average_told"),
    ),
    finish("It is 8."),
)

AVERAGE_AGAIN = at_once(apply(create("mean = sum(values) / len(values)", "average")), finish("It is 8."))
CLASHING = at_once(apply(create("result = sum(values)\nshown = eval('result')", "average")), finish("Not renamed."))


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    folder.mkdir()
    (folder / "sums.py").write_text(NUMBERS)
    return folder


def script(
    testbed: ModelTestbed,
    *,
    largest: Answer = LARGEST_BUILT,
    average: Answer = AVERAGE_BUILT,
    again: Answer = AVERAGE_AGAIN,
) -> None:
    testbed.provider.when(first_asked, PLANNED)
    testbed.provider.when(LOAD, LOADED)
    testbed.provider.when(LARGEST, largest)
    testbed.provider.when(AVERAGE, average, again)
    testbed.provider.when(TELLING, finish("Largest 18, on average 8."))


def asked_in_order(factory: Factory) -> list[str]:
    names = {"load": LOAD, "largest": LARGEST, "average": AVERAGE, "telling": TELLING}
    requests = factory.testbed.provider.requests
    return [name for each in requests for name, is_it in names.items() if is_it(each)]


@pytest.mark.slow
async def test_independent_tasks_are_built_at_the_same_time_and_a_name_of_both_is_the_firsts(
    testbed: ModelTestbed, project: Path, kernels: Kernels
) -> None:
    script(testbed)
    async with open_factory(testbed, project, kernels) as factory:
        delivery = await factory.deliver()
        assert (delivery.why, delivery.status) == ("", "done")
        text = factory.notebook()
        assert "result = max(values)" in text
        assert "result_average = sum(values) / len(values)" in text
        assert "On average {result_average:.1f}" in text
        assert text.index("max(values)") < text.index("sum(values)")
        average = next(each for each in delivery.tasks if each.id == "average")
        assert "result is called result_average here, because another part has result" in average.note
        tried = [each for each in await branches_of(factory.runs.records.log.read_all, "r") if each.group]
        assert [(each.purpose, each.way, each.status, each.is_kept) for each in tried] == [
            ("Do largest", "fork", "passed", True),
            ("Do average", "fork", "passed", True),
        ]
        shown = {variable.name: variable.after for each in tried for variable in each.variables}
        assert shown["result"] in {"18", "8.0"}
        beside = next(each for each in factory.prompts() if "Your task: Do largest" in each)
        assert "These parts are built by others at this moment" in beside
        assert "- Do average" in beside


@pytest.mark.slow
async def test_they_really_go_on_at_the_same_time(testbed: ModelTestbed, project: Path, kernels: Kernels) -> None:
    """Each has asked its model before the other has an answer."""
    largest, average = (Fault("slow-first-byte", answer=each) for each in (LARGEST_BUILT, AVERAGE_BUILT))
    script(testbed, largest=largest, average=average)
    async with open_factory(testbed, project, kernels) as factory:
        await factory.start()
        await testbed.provider.until(lambda provider: provider.silent == 2, timeout_seconds=120)
        testbed.provider.release()
        assert (await factory.delivery()).status == "done"


@pytest.mark.slow
async def test_what_cannot_be_joined_is_built_again_after_the_others_when_nobody_is_there(
    testbed: ModelTestbed, project: Path, kernels: Kernels
) -> None:
    script(testbed, average=CLASHING)
    async with open_factory(testbed, project, kernels) as factory:
        delivery = await factory.deliver(factory.goal(approve="never"))
        assert (delivery.why, delivery.status) == ("", "done")
        assert asked_in_order(factory).count("average") == 2
        text = factory.notebook()
        assert "eval" not in text
        assert "result = max(values)" in text
        assert "mean = sum(values)" in text
        tried = [each for each in await branches_of(factory.runs.records.log.read_all, "r") if each.group]
        assert [(each.purpose, each.is_kept) for each in tried] == [("Do largest", True), ("Do average", False)]
        assert "both define result" in tried[1].note


@pytest.mark.slow
@pytest.mark.parametrize(("said", "is_there"), [(AGAIN, True), (LEAVE_OUT, False)])
async def test_a_person_is_asked_what_becomes_of_a_part_that_cannot_be_joined(
    testbed: ModelTestbed, project: Path, kernels: Kernels, said: str, is_there: bool
) -> None:
    script(testbed, average=CLASHING)
    async with open_factory(testbed, project, kernels) as factory:
        await factory.start()
        question = await factory.asked(CLASH)
        assert "'Do average' was built beside others and cannot be joined" in question.question.text
        await factory.runs.records.questions.answer(question.id, said, by="ada")
        delivery = await factory.delivery()
        assert delivery.status == "done"
        assert ("mean = sum(values)" in factory.notebook()) is is_there
        states = {each.id: each.status for each in delivery.tasks}
        assert states["average"] == ("done" if is_there else "dropped")


@pytest.mark.slow
async def test_a_part_that_does_not_run_with_the_others_is_taken_back(
    testbed: ModelTestbed, project: Path, kernels: Kernels
) -> None:
    """In its lane the list has three values; the other part has changed that."""
    script(
        testbed,
        largest=at_once(apply(create("values.clear()\nresult = 0", "largest")), finish("Cleared.")),
        average=at_once(apply(create("mean = 1 / len(values)", "average")), finish("It is a third.")),
        again=at_once(apply(create("mean = 0", "average")), finish("There is none.")),
    )
    async with open_factory(testbed, project, kernels) as factory:
        delivery = await factory.deliver(factory.goal(approve="never"))
        text = factory.notebook()
        assert "mean = 1 / len(values)" not in text
        assert "mean = 0" in text
        tried = [each for each in await branches_of(factory.runs.records.log.read_all, "r") if each.group]
        assert "together with the others, these cells do not run: average" in tried[1].note
        assert delivery.tasks


@pytest.mark.slow
async def test_a_notebook_that_cannot_be_forked_is_built_one_after_another_and_says_why(
    testbed: ModelTestbed, project: Path, kernels: Kernels
) -> None:
    holding = "import threading, time\nvalues = [n * 2 for n in numbers]\n"
    holding += "worker = threading.Thread(target=time.sleep, args=(600,), daemon=True)\nworker.start()"
    testbed.provider.when(first_asked, PLANNED)
    testbed.provider.when(LOAD, at_once(RUN_ALL, apply(create(holding, "load")), finish("Loaded.")))
    testbed.provider.when(LARGEST, LARGEST_BUILT)
    testbed.provider.when(AVERAGE, at_once(apply(create("mean = sum(values)", "average")), finish("It is 24.")))
    testbed.provider.when(TELLING, finish("Done."))
    async with open_factory(testbed, project, kernels) as factory:
        await factory.start()
        seen = await factory.until(lambda view: "One after another" in str(view))
        assert "thread" in str(seen)
        await factory.delivery()
        assert "mean = sum(values)" in factory.notebook()


def test_a_plan_is_taken_at_its_word_only_if_it_says_what_needs_what() -> None:
    one, two = Task(id="one", title="One"), Task(id="two", title="Two")
    three = Task(id="three", title="Three", after=("one", "two"))
    assert independent_tasks(Plan(title="p", tasks=(one, two)), frozenset()) == ()
    assert independent_tasks(Plan(title="p", tasks=(one, two, three)), frozenset()) == (one, two)
    assert independent_tasks(Plan(title="p", tasks=(one, two, three)), frozenset({"two"})) == (one,)


# ── killed ──

POINTS = [
    (CrashPoint.CHILD_STARTING, 4),
    (CrashPoint.EFFECT_HAPPENED, 4),
    (CrashPoint.CHILD_ENDED, 4),
    (CrashPoint.STEP_WORKED, 36),
    (CrashPoint.STEP_COMMITTED, 34),
    (CrashPoint.STEP_COMMITTED, 46),
]
SAMPLE = {(CrashPoint.STEP_WORKED, 36)}


@pytest.fixture(scope="module")
def killed(forker: Forker) -> Forker:
    return forker.of("tests.runs.killed_run")


@pytest.mark.slow
@pytest.mark.sampled(len(POINTS), often=2)
@pytest.mark.parametrize(
    ("point", "visit"),
    [pytest.param(point, visit, marks=() if (point, visit) in SAMPLE else pytest.mark.slow) for point, visit in POINTS],
)
async def test_a_run_killed_while_parts_are_built_or_joined_has_each_of_them_once(
    testbed: ModelTestbed, project: Path, cache: Path, killed: Forker, gateway: Models, point: CrashPoint, visit: int
) -> None:
    script(testbed)
    arguments = (str(testbed.home), str(cache), str(project))
    first = await anyio.to_thread.run_sync(killed.run, *arguments, point, str(visit))
    second = await anyio.to_thread.run_sync(killed.run, *arguments, "-", "1")
    assert (first, second) == (-9, 0)
    told = delivered(testbed)
    assert (told["why"], told["status"]) == ("", "done")
    text = (project / "sums.py").read_text()
    parts = ("values = [n * 2", "result = max(values)", "result_average = sum(values)", "{result_average:.1f}")
    assert [text.count(part) for part in parts] == [1, 1, 1, 1]
    assert len(testbed.provider.charged) == 5
