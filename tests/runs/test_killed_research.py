"""kill -9 anywhere in a research, on a machine without a network: it delivers the same, and reads and pays once."""

from __future__ import annotations

import json
from pathlib import Path

import anyio.to_thread
import pytest

from cellwright.journal.crash import CrashPoint
from cellwright.models.client.gateway_client import Models
from tests.agents.forked import Forker
from tests.models.testbed import ModelTestbed
from tests.runs import research_script as script
from tests.walled_network import cut_off

POINTS = [
    (CrashPoint.STEP_WORKED, 25),
    (CrashPoint.RUN_BEGUN, 1),
    (CrashPoint.STEP_WORKED, 4),
    (CrashPoint.STEP_COMMITTED, 6),
    (CrashPoint.CHILD_STARTING, 2),
    (CrashPoint.STEP_COMMITTING, 18),
    (CrashPoint.CHILD_ENDED, 3),
    (CrashPoint.STEP_WORKED, 40),
    (CrashPoint.CHILD_ENDED, 6),
    (CrashPoint.STEP_COMMITTED, 30),
    (CrashPoint.RUN_ENDING, 1),
]
REQUESTS = 8
"""A planner, two readers of whom one looks into a letter first, an outliner, two writers, an editor."""


@pytest.fixture(scope="module")
def killed(forker: Forker) -> Forker:
    return forker.of("tests.runs.killed_run")


def kept_texts(testbed: ModelTestbed) -> dict[Path, int]:
    """What was read of documents, each with the file it was written to."""
    return {path: path.stat().st_ino for path in (testbed.home / "documents").glob("*/*.json")}


@pytest.mark.sampled(len(POINTS), often=2)
@pytest.mark.parametrize(("point", "visit"), POINTS)
async def test_a_research_killed_anywhere_reads_and_pays_once(
    testbed: ModelTestbed,
    project: Path,
    cache: Path,
    killed: Forker,
    gateway: Models,
    tmp_path: Path,
    point: CrashPoint,
    visit: int,
) -> None:
    script.script_research(testbed.provider)
    documents = script.write_documents(tmp_path / "documents")
    goal = {
        "words": script.QUESTION,
        "notebook": str(project / "norwell.py"),
        "wants": "research",
        "sources": [str(documents)],
        "approve": "never",
    }
    more = (json.dumps(cut_off()), json.dumps(goal))
    arguments = (str(testbed.home), str(cache), str(project))
    first = await anyio.to_thread.run_sync(killed.run, *arguments, point, str(visit), *more)
    read = kept_texts(testbed)
    second = await anyio.to_thread.run_sync(killed.run, *arguments, "-", "1", *more)
    assert (first, second) == (-9, 0)
    told = json.loads((testbed.home / "delivery.json").read_text())
    assert (told["why"], told["status"]) == ("", "done")
    text = (project / "norwell.py").read_text()
    assert [text.count(f"def {name}(") for name in ("research_title", "research_section_2", "research_check")] == [
        1,
        1,
        1,
    ]
    assert len(testbed.provider.charged) == REQUESTS
    assert read.items() <= kept_texts(testbed).items()
