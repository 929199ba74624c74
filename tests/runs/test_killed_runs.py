"""kill -9 anywhere in a run: it delivers the same notebook, applies each edit once, and pays each call once."""

from __future__ import annotations

import json
import os
import signal
from contextlib import suppress
from pathlib import Path
from typing import Any

import anyio.to_thread
import psutil
import pytest

from cellwright.journal.crash import CrashPoint
from cellwright.models.client.gateway_client import Models
from cellwright.testing import Fault
from tests.agents.forked import Forker
from tests.conftest import notebook_source
from tests.models.testbed import ModelTestbed
from tests.runs.factory import Kernels, apply, at_once, create, finish, open_factory, plan, task
from tests.runs.verify.verifying import source
from tests.walled_network import PASSWORD, cut_off

ANSWERS = (
    plan(task(checks=[{"test": "test_total", "says": "The total is 45."}])),
    apply(create("total = sum(range(10))\ntotal", "total")),
    apply(create("def test_total():\n    assert total == 45", "check_total")),
    at_once(apply(create('mo.md(f"It is {total}.")', "answer")), finish("They sum to 45.")),
)
POINTS = [
    (CrashPoint.EFFECT_HAPPENED, 1),
    (CrashPoint.RUN_BEGUN, 1),
    (CrashPoint.STEP_CHECKED, 9),
    (CrashPoint.STEP_WORKED, 12),
    (CrashPoint.STEP_COMMITTING, 15),
    (CrashPoint.STEP_COMMITTED, 30),
    (CrashPoint.EFFECT_INTENDED, 2),
    (CrashPoint.CHILD_STARTING, 2),
    (CrashPoint.CHILD_ENDED, 2),
    (CrashPoint.RUN_ENDING, 1),
    (CrashPoint.RUN_TOLD, 3),
]


@pytest.fixture(scope="module")
def killed(forker: Forker) -> Forker:
    return forker.of("tests.runs.killed_run")


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    folder.mkdir()
    (folder / "sums.py").write_text(notebook_source("import marimo as mo"))
    return folder


def delivered(testbed: ModelTestbed) -> dict[str, Any]:
    return json.loads((testbed.home / "delivery.json").read_text())


def expect_all_done_once(testbed: ModelTestbed, project: Path) -> None:
    told = delivered(testbed)
    assert (told["why"], told["status"], told["answer"]) == ("", "done", "They sum to 45.")
    text = (project / "sums.py").read_text()
    assert [text.count(part) for part in ("total = sum(range(10))", "def test_total", "It is {total}")] == [1, 1, 1]
    assert len(testbed.provider.charged) == len(ANSWERS)


@pytest.mark.sampled(len(POINTS), often=2)
@pytest.mark.parametrize(("point", "visit"), POINTS)
async def test_a_run_killed_at_any_point_delivers_the_same_and_does_everything_once(
    testbed: ModelTestbed, project: Path, cache: Path, killed: Forker, gateway: Models, point: CrashPoint, visit: int
) -> None:
    testbed.provider.script(*ANSWERS)
    arguments = (str(testbed.home), str(cache), str(project))
    first = await anyio.to_thread.run_sync(killed.run, *arguments, point, str(visit))
    second = await anyio.to_thread.run_sync(killed.run, *arguments, "-", "1")
    assert (first, second) == (-9, 0)
    expect_all_done_once(testbed, project)


@pytest.mark.slow
async def test_a_run_taken_up_by_another_process_connects_as_the_command_that_started_it(
    testbed: ModelTestbed, project: Path, cache: Path, killed: Forker, gateway: Models
) -> None:
    (project / "sums.py").write_text(source("import marimo as mo", requires=("no-such-tool==1.0",)))
    arguments = (str(testbed.home), str(cache), str(project))
    started = (*arguments, CrashPoint.RUN_BEGUN, "1", json.dumps(cut_off()))
    assert await anyio.to_thread.run_sync(killed.run, *started) == -9
    assert await anyio.to_thread.run_sync(killed.run, *arguments, "-", "1") == 0
    # An index that answers would have said that there is no such package.
    assert "The package index cannot be reached" in delivered(testbed)["why"]
    assert PASSWORD not in (testbed.home / "delivery.json").read_text()


@pytest.mark.slow
async def test_a_run_killed_again_and_again_gets_a_little_further_each_time(
    testbed: ModelTestbed, project: Path, cache: Path, killed: Forker, gateway: Models
) -> None:
    testbed.provider.script(*ANSWERS)
    arguments = (str(testbed.home), str(cache), str(project))
    codes = [-9]
    while codes[-1] == -9 and len(codes) < 20:
        codes.append(await anyio.to_thread.run_sync(killed.run, *arguments, CrashPoint.STEP_WORKED, "9"))
    assert codes[-1] == 0
    assert len(codes) > 3
    expect_all_done_once(testbed, project)


@pytest.mark.slow
@pytest.mark.parametrize("held", [Fault("slow-first-byte", answer=ANSWERS[1]), Fault("stall", answer=ANSWERS[1])])
async def test_a_run_killed_in_the_middle_of_a_thought_pays_for_it_once(
    testbed: ModelTestbed, project: Path, cache: Path, killed: Forker, gateway: Models, held: Fault
) -> None:
    """Before its first word, and between two pieces of an answer that people have begun to read."""
    testbed.provider.script(ANSWERS[0], held, *ANSWERS[2:])
    arguments = (str(testbed.home), str(cache), str(project))
    pid = await anyio.to_thread.run_sync(killed.start, *arguments, "-", "1")
    await testbed.provider.until(lambda provider: provider.silent == 1, timeout_seconds=60)
    await anyio.to_thread.run_sync(killed.kill, pid)
    testbed.provider.release()
    assert await anyio.to_thread.run_sync(killed.run, *arguments, "-", "1") == 0
    expect_all_done_once(testbed, project)


@pytest.mark.slow
@pytest.mark.parametrize("whom", ["kernel", "zygote"])
async def test_a_kernel_or_zygote_that_is_killed_is_replaced_and_the_run_goes_on(
    testbed: ModelTestbed, project: Path, kernels: Kernels, whom: str
) -> None:
    async with open_factory(testbed, project, kernels) as factory:
        factory.script(*ANSWERS[:2], Fault("slow-first-byte", answer=ANSWERS[2]), *ANSWERS[3:])
        await factory.start()
        await testbed.provider.until(lambda provider: provider.silent == 1, timeout_seconds=60)
        await anyio.to_thread.run_sync(_kill, whom)
        testbed.provider.release()
        delivery = await factory.delivery()
        assert (delivery.why, delivery.status, delivery.answer) == ("", "done", "They sum to 45.")
        assert factory.notebook().count("total = sum(range(10))") == 1
        assert len(testbed.provider.charged) == len(ANSWERS)


def _kill(whom: str) -> None:
    """The zygote that has kernels, or these; one that other tests keep warm has none now."""
    zygotes = [each for each in psutil.Process().children() if "zygote_main" in " ".join(each.cmdline())]
    kernels = {
        zygote: inside
        for zygote in zygotes
        if (inside := [each for cage in zygote.children() for each in cage.children(recursive=True)])
    }
    assert kernels
    for zygote, inside in kernels.items():
        for process in [zygote] if whom == "zygote" else inside:
            # One may be gone already, with another that was killed before it.
            with suppress(ProcessLookupError):
                os.kill(process.pid, signal.SIGKILL)


@pytest.mark.slow
async def test_a_gateway_that_dies_in_flight_asks_before_it_pays_again(
    testbed: ModelTestbed, project: Path, kernels: Kernels
) -> None:
    async with open_factory(testbed, project, kernels) as factory:
        factory.script(ANSWERS[0], Fault("slow-first-byte", answer=ANSWERS[1]), *ANSWERS[1:])
        await factory.start()
        await testbed.provider.until(lambda provider: provider.silent == 1, timeout_seconds=60)
        await anyio.to_thread.run_sync(testbed.kill_gateway)
        question = await factory.asked("model-answer-lost")
        assert "It may have been paid" in question.question.text
        testbed.provider.release()
        await factory.runs.records.questions.answer(question.id, question.question.choices[0], by="ada")
        delivery = await factory.delivery()
        assert (delivery.why, delivery.status, delivery.answer) == ("", "done", "They sum to 45.")
        assert len(testbed.provider.requests) == len(ANSWERS) + 1
