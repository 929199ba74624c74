"""kill -9 anywhere in a research, on a machine without a network: it delivers the same, and reads and pays once."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import anyio
import anyio.to_thread
import pytest

from cellwright.journal.crash import CrashPoint
from cellwright.models.client.gateway_client import Models
from tests.agents.forked import Forker
from tests.models.testbed import ModelTestbed
from tests.runs import research_script as script
from tests.walled_network import cut_off

POINTS = [
    (CrashPoint.STEP_WORKED, 4),
    (CrashPoint.RUN_BEGUN, 1),
    (CrashPoint.STEP_WORKED, 25),
    (CrashPoint.STEP_COMMITTED, 6),
    (CrashPoint.CHILD_STARTING, 2),
    (CrashPoint.STEP_COMMITTING, 18),
    (CrashPoint.CHILD_ENDED, 3),
    (CrashPoint.STEP_WORKED, 40),
    (CrashPoint.CHILD_ENDED, 6),
    (CrashPoint.STEP_COMMITTED, 30),
    (CrashPoint.RUN_ENDING, 1),
]
FORTY = [(CrashPoint.STEP_WORKED, 5), (CrashPoint.STEP_COMMITTED, 30)]
"""Once all of them are read and nobody wrote that down, and among the readers."""
REQUESTS = 8
"""A planner, two readers of whom one looks into a letter first, an outliner, two writers, an editor."""


@pytest.fixture(scope="module")
def killed(forker: Forker) -> Forker:
    return forker.of("tests.runs.killed_run")


def kept_texts(testbed: ModelTestbed) -> dict[Path, int]:
    """What was read of documents, each with the file it was written to."""
    return {path: path.stat().st_ino for path in (testbed.home / "documents").glob("*/*.json")}


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Where a research is done, killed and gone on with."""

    testbed: ModelTestbed
    project: Path
    cache: Path
    killed: Forker

    async def kill_and_go_on(self, documents: Path, point: CrashPoint, visit: int) -> dict[Path, int]:
        """The texts that the first process kept; the second one delivers."""
        script.script_research(self.testbed.provider)
        goal = {
            "words": script.QUESTION,
            "notebook": str(self.project / "norwell.py"),
            "wants": "research",
            "sources": [str(documents)],
            "approve": "never",
        }
        more = (json.dumps(cut_off()), json.dumps(goal))
        arguments = (str(self.testbed.home), str(self.cache), str(self.project))
        first = await anyio.to_thread.run_sync(self.killed.run, *arguments, point, str(visit), *more)
        read = kept_texts(self.testbed)
        second = await anyio.to_thread.run_sync(self.killed.run, *arguments, "-", "1", *more)
        assert (first, second) == (-9, 0)
        assert (self.told["why"], self.told["status"]) == ("", "done")
        return read

    @property
    def told(self) -> Any:
        """What was delivered."""
        return json.loads((self.testbed.home / "delivery.json").read_text())


@pytest.fixture
def place(testbed: ModelTestbed, project: Path, cache: Path, killed: Forker, gateway: Models) -> Place:
    return Place(testbed=testbed, project=project, cache=cache, killed=killed)


@pytest.mark.sampled(len(POINTS), often=2)
@pytest.mark.parametrize(("point", "visit"), POINTS)
async def test_a_research_killed_anywhere_reads_and_pays_once(
    place: Place, tmp_path: Path, point: CrashPoint, visit: int
) -> None:
    read = await place.kill_and_go_on(script.write_documents(tmp_path / "documents"), point, visit)
    text = (place.project / "norwell.py").read_text()
    assert [text.count(f"def {name}(") for name in ("research_title", "research_section_2", "research_check")] == [
        1,
        1,
        1,
    ]
    assert len(place.testbed.provider.charged) == REQUESTS
    assert read.items() <= kept_texts(place.testbed).items()
    # And it is what a research is: cited, with what contradicts itself side by side, and nothing of an order.
    assert "41.2 million euros [1] or 57.9 million euros [2]" in place.told["answer"]
    written = await anyio.Path(place.told["text"]).read_text()
    for words in ("Where the sources contradict each other", script.REVENUE, script.WRONG):
        assert words in written
    page = (await anyio.Path(place.told["report"]).read_text()).partition('<details class="notebook">')[0]
    assert ("sources disagree" in page, page.count('id="evidence-1"')) == (True, 1)
    assert "bankrupt" not in written + text


@pytest.mark.slow
@pytest.mark.parametrize(("point", "visit"), FORTY)
async def test_a_research_of_forty_documents_that_is_killed_reads_none_of_them_twice_and_pays_once(
    place: Place, tmp_path: Path, point: CrashPoint, visit: int
) -> None:
    read = await place.kill_and_go_on(script.write_documents(tmp_path / "documents", 37), point, visit)
    assert len(read) == 40
    assert kept_texts(place.testbed) == read
    assert len(place.testbed.provider.charged) == REQUESTS
