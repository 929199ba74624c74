"""kill -9 anywhere in a run of the analyst: it delivers the same notebook, and every cell is written once."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import anyio.to_thread
import pytest

from cellwright.journal.crash import CrashPoint
from cellwright.models.client.gateway_client import Models
from cellwright.notebook.files import read
from tests.agents.forked import Forker
from tests.conftest import notebook_source
from tests.models.testbed import ModelTestbed

POINTS = [
    (CrashPoint.STEP_WORKED, 12),
    pytest.param(CrashPoint.EFFECT_HAPPENED, 3, marks=pytest.mark.rare),
    pytest.param(CrashPoint.RUN_BEGUN, 1, marks=pytest.mark.rare),
    pytest.param(CrashPoint.STEP_COMMITTED, 40, marks=pytest.mark.rare),
    pytest.param(CrashPoint.EFFECT_INTENDED, 4, marks=pytest.mark.rare),
]
"""Two whole runs each; every kind of point is killed at in `test_killed_runs` and in the tests of the journal."""
ROWS = "".join(
    f"{number},{('North', 'South')[number % 2]},{(150, 90)[number % 2] + number * 37 % 41}\n" for number in range(80)
)


@pytest.fixture(scope="module")
def killed(forker: Forker) -> Forker:
    return forker.of("tests.runs.killed_analyst")


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    folder.mkdir()
    (folder / "first.py").write_text(notebook_source("import marimo as mo"))
    (folder / "sales.csv").write_text(f"order,region,revenue\n{ROWS}")
    return folder


def delivered(testbed: ModelTestbed) -> dict[str, Any]:
    return json.loads((testbed.home / "delivery.json").read_text())


@pytest.mark.slow
@pytest.mark.parametrize(("point", "visit"), POINTS)
async def test_the_analyst_killed_at_any_point_delivers_the_same_and_writes_every_cell_once(
    testbed: ModelTestbed, project: Path, cache: Path, killed: Forker, gateway: Models, point: CrashPoint, visit: int
) -> None:
    arguments = (str(testbed.home), str(cache), str(project))
    first = await anyio.to_thread.run_sync(killed.run, *arguments, point, str(visit))
    second = await anyio.to_thread.run_sync(killed.run, *arguments, "-", "1")
    assert (first, second) == (-9, 0)
    told = delivered(testbed)
    assert (told["why"], told["status"]) == ("", "done")
    assert "North" in told["answer"]
    codes = Counter(cell.code for cell in read(project / "first.py").document.cells)
    assert [code for code, times in codes.items() if times > 1] == []
    assert testbed.provider.requests == ()
