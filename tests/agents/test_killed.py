"""kill -9 between and inside the steps of an agent: it goes on, nothing is paid twice, no effect happens twice."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator, Callable
from pathlib import Path
from typing import Any

import anyio.to_thread
import pytest

from cellwright.journal.crash import CrashPoint
from cellwright.models.client.gateway_client import Models
from cellwright.testing import CallTool, CallTools, Fault, Say
from tests.agents.driver import DONE
from tests.agents.forked import Forker
from tests.models.testbed import ModelTestbed

ANSWERS = (
    CallTool("read", {}),
    CallTools((CallTool("add", {}), CallTool("read", {}), CallTool("add", {}))),
    CallTool("write_artifact", {"name": "notes", "text": "two lines were added"}),
    DONE,
)


@pytest.fixture
async def gateway(testbed: ModelTestbed) -> AsyncGenerator[Models]:
    async with Models.open(testbed.home, launch=testbed.launch()) as models:
        yield models


async def run(
    forker: Forker, testbed: ModelTestbed, where: Path, crash: str, visit: int | str, tools: str = "files"
) -> int:
    folder = where.parent
    return await anyio.to_thread.run_sync(
        forker.run, str(testbed.home), str(where), str(folder), crash, str(visit), tools
    )


def report(folder: Path) -> dict[str, Any]:
    return json.loads((folder / "report.json").read_text())


@pytest.mark.slow
@pytest.mark.parametrize(
    ("point", "visit"),
    [
        pytest.param(CrashPoint.STEP_CHECKED, 4, marks=pytest.mark.slow),
        (CrashPoint.STEP_WORKED, 3),
        pytest.param(CrashPoint.STEP_COMMITTING, 5, marks=pytest.mark.slow),
        pytest.param(CrashPoint.STEP_COMMITTED, 9, marks=pytest.mark.slow),
        pytest.param(CrashPoint.EFFECT_INTENDED, 1, marks=pytest.mark.slow),
        (CrashPoint.EFFECT_INTENDED, 2),
        (CrashPoint.EFFECT_HAPPENED, 1),
        pytest.param(CrashPoint.EFFECT_HAPPENED, 2, marks=pytest.mark.slow),
    ],
)
async def test_an_agent_killed_again_and_again_does_and_pays_everything_once(
    testbed: ModelTestbed, where: Path, forker: Forker, gateway: Models, point: CrashPoint, visit: int
) -> None:
    testbed.provider.script(*ANSWERS)
    # Inside a step it is killed until it comes to its end: each time it gets a little further.
    again = point if point in {CrashPoint.STEP_CHECKED, CrashPoint.STEP_WORKED, CrashPoint.STEP_COMMITTING} else "-"
    codes = [await run(forker, testbed, where, point, visit)]
    while codes[-1] == -9 and len(codes) < 50:
        codes.append(await run(forker, testbed, where, again, visit))
    assert (codes[0], codes[-1]) == (-9, 0)
    assert len(testbed.provider.requests) == len(ANSWERS)
    assert len(testbed.provider.charged) == len(ANSWERS)
    assert (where.parent / "world.txt").read_text().split() == ["r/s2c1", "r/s2c3"]
    told = report(where.parent)
    assert (told["outcome"], told["answer"], told["turns"], told["artifacts"]) == ("finished", "42", 4, ["notes"])


@pytest.mark.slow
async def test_an_agent_killed_in_the_middle_of_a_thought_hears_the_rest_of_it_and_pays_once(
    testbed: ModelTestbed, where: Path, forker: Forker, gateway: Models
) -> None:
    testbed.provider.script(CallTool("read", {}), Fault("slow-first-byte", answer=DONE))
    pid = await anyio.to_thread.run_sync(
        forker.start, str(testbed.home), str(where), str(where.parent), "-", "1", "files"
    )
    await testbed.provider.until(lambda provider: provider.silent == 1)
    await anyio.to_thread.run_sync(forker.kill, pid)
    testbed.provider.release()
    assert await run(forker, testbed, where, "-", 1) == 0
    assert len(testbed.provider.charged) == 2
    assert report(where.parent)["outcome"] == "finished"


@pytest.mark.slow
async def test_cells_applied_by_a_killed_agent_are_in_the_notebook_once(
    testbed: ModelTestbed, where: Path, forker: Forker, gateway: Models, write_notebook: Callable[..., Path]
) -> None:
    path = write_notebook("x = 1")
    edit = {"op": "create", "code": "y = x + 41\ny", "name": "answer"}
    testbed.provider.script(CallTool("apply", {"edits": [edit]}), Say("The answer is in y."), DONE)
    codes = [await run(forker, testbed, where, CrashPoint.EFFECT_HAPPENED, 1, str(path))]
    codes.append(await run(forker, testbed, where, CrashPoint.STEP_COMMITTED, 1, str(path)))
    codes.append(await run(forker, testbed, where, "-", 1, str(path)))
    assert codes == [-9, -9, 0]
    assert path.read_text().count("y = x + 41") == 1
    assert len(testbed.provider.charged) == 3
    assert "42" in str(testbed.provider.requests[1].body["messages"])
    assert report(where.parent)["outcome"] == "finished"
