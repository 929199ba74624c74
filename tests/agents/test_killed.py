"""kill -9 between and inside the steps of an agent: it goes on, nothing is paid twice, no effect happens twice."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator, Callable
from pathlib import Path
from typing import Any

import anyio.to_thread
import pytest

from cellwright.journal import CrashPoint
from cellwright.models.client.gateway_client import Models
from cellwright.testing import CallTool, CallTools, Fault, Say
from tests.agents.forked import Forker
from tests.agents.workshop import DONE
from tests.models.houses import House

ANSWERS = (
    CallTool("read", {}),
    CallTools((CallTool("add", {}), CallTool("read", {}), CallTool("add", {}))),
    CallTool("write_artifact", {"name": "notes", "text": "two lines were added"}),
    DONE,
)


@pytest.fixture
async def gateway(house: House) -> AsyncGenerator[Models]:
    async with Models.open(house.home, launch=house.launch()) as models:
        yield models


async def run(forker: Forker, house: House, where: Path, crash: str, visit: int | str, tools: str = "files") -> int:
    folder = where.parent
    return await anyio.to_thread.run_sync(
        forker.run, str(house.home), str(where), str(folder), crash, str(visit), tools
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
    house: House, where: Path, forker: Forker, gateway: Models, point: CrashPoint, visit: int
) -> None:
    house.provider.script(*ANSWERS)
    # Inside a step it is killed until it comes to its end: each time it gets a little further.
    again = point if point in {CrashPoint.STEP_CHECKED, CrashPoint.STEP_WORKED, CrashPoint.STEP_COMMITTING} else "-"
    codes = [await run(forker, house, where, point, visit)]
    while codes[-1] == -9 and len(codes) < 50:
        codes.append(await run(forker, house, where, again, visit))
    assert (codes[0], codes[-1]) == (-9, 0)
    assert len(house.provider.requests) == len(ANSWERS)
    assert len(house.provider.charged) == len(ANSWERS)
    assert (where.parent / "world.txt").read_text().split() == ["r/s2c1", "r/s2c3"]
    told = report(where.parent)
    assert (told["outcome"], told["answer"], told["turns"], told["artifacts"]) == ("finished", "42", 4, ["notes"])


async def test_an_agent_killed_in_the_middle_of_a_thought_hears_the_rest_of_it_and_pays_once(
    house: House, where: Path, forker: Forker, gateway: Models
) -> None:
    house.provider.script(CallTool("read", {}), Fault("slow-first-byte", answer=DONE))
    pid = await anyio.to_thread.run_sync(
        forker.start, str(house.home), str(where), str(where.parent), "-", "1", "files"
    )
    await house.provider.until(lambda provider: provider.silent == 1)
    await anyio.to_thread.run_sync(forker.kill, pid)
    house.provider.release()
    assert await run(forker, house, where, "-", 1) == 0
    assert len(house.provider.charged) == 2
    assert report(where.parent)["outcome"] == "finished"


@pytest.mark.slow
async def test_cells_applied_by_a_killed_agent_are_in_the_notebook_once(
    house: House, where: Path, forker: Forker, gateway: Models, write_notebook: Callable[..., Path]
) -> None:
    path = write_notebook("x = 1")
    edit = {"op": "create", "code": "y = x + 41\ny", "name": "answer"}
    house.provider.script(CallTool("apply", {"edits": [edit]}), Say("The answer is in y."), DONE)
    codes = [await run(forker, house, where, CrashPoint.EFFECT_HAPPENED, 1, str(path))]
    codes.append(await run(forker, house, where, CrashPoint.STEP_COMMITTED, 1, str(path)))
    codes.append(await run(forker, house, where, "-", 1, str(path)))
    assert codes == [-9, -9, 0]
    assert path.read_text().count("y = x + 41") == 1
    assert len(house.provider.charged) == 3
    assert "42" in str(house.provider.requests[1].body["messages"])
    assert report(where.parent)["outcome"] == "finished"
