"""`cellwright runs`: what a model read in each step, and a word to an agent at work, from any door."""

from __future__ import annotations

import json
from pathlib import Path

import anyio.to_thread
import pytest

from cellwright.agents.steering import SteeringInput, read_steering
from cellwright.journal.records import Records
from cellwright.runs.events import EVENT_TYPES
from cellwright.testing import CallTool
from tests.agents.driver import DONE, KEY, open_driver
from tests.agents.test_loop import counting
from tests.cli.in_process import Said, run_here
from tests.models.testbed import ModelTestbed


@pytest.fixture
async def worked(testbed: ModelTestbed, where: Path) -> Path:
    """A journal in which an agent has worked."""
    _, tools = counting()
    testbed.provider.script(CallTool("read", {"name": "x"}), DONE)
    async with open_driver(testbed, where, tools=tools) as driver:
        await driver.work()
    where.with_suffix(".key").write_bytes(KEY)
    return where


async def cellwright(journal: Path, *words: str, code: int = 0) -> Said:
    def run() -> Said:
        return run_here(journal.parent, *words, "--database", str(journal), code=code)

    return await anyio.to_thread.run_sync(run)


async def test_what_a_model_read_in_a_step_is_shown_part_by_part(worked: Path) -> None:
    listed = await cellwright(worked, "runs", "context", "r")
    assert [line.split(":")[0] for line in listed.stdout.splitlines()] == ["r 1", "r 2"]
    steps = json.loads((await cellwright(worked, "runs", "context", "r", "--json")).stdout)["steps"]
    assert [step["step"] for step in steps] == [1, 2]
    text = (await cellwright(worked, "runs", "context", "r", "2")).stdout
    assert "── role (system, 0-" in text
    assert "── step 1 result read s1c1 (result," in text
    assert "x is 7" in text
    view = json.loads((await cellwright(worked, "runs", "context", "r", "2", "--json")).stdout)
    assert view["tokens"] == steps[1]["tokens"]
    assert sum(len(span["text"]) for span in view["spans"]) == view["characters"]


@pytest.mark.slow
async def test_a_run_or_step_that_is_not_there_is_told(worked: Path) -> None:
    assert "has no step 9" in (await cellwright(worked, "runs", "context", "r", "9", code=2)).stderr
    assert "No run 'q'" in (await cellwright(worked, "runs", "context", "q", code=2)).stderr
    assert "No run 'q'" in (await cellwright(worked, "runs", "say", "q", "Hello.", code=2)).stderr


@pytest.mark.slow
async def test_a_word_and_a_stop_reach_the_agent_from_another_process(worked: Path) -> None:
    assert "before its next step" in (await cellwright(worked, "runs", "say", "r", "Only 2024.")).stderr
    assert json.loads((await cellwright(worked, "runs", "say", "r", "In euros.", "--json")).stdout)["said"]
    await cellwright(worked, "runs", "stop", "r", "--reason", "Enough.")
    async with Records.open(worked, chain_key=KEY, types=EVENT_TYPES) as records:
        orders = await read_steering(records.log.read_all, "r", SteeringInput())
        assert [heard.text for heard in orders.heard] == ["Only 2024.", "In euros."]
        assert orders.stop.endswith("stopped it: Enough.")
        later = await read_steering(records.log.read_all, "r/agent:1", orders)
        assert later.heard == ()
