"""Runs on the bench: real ones, in a daemon of their own, and refused when they do not end as they should."""

from __future__ import annotations

import sys
from collections.abc import AsyncGenerator
from pathlib import Path

import pytest

from bench.failure import BenchFailed
from bench.run_testbed import ANSWER, WORK, RunTestbed
from bench.runs import first_event_ms
from bench.runs_at_once import Door, findings
from bench.scenarios import SCENARIOS
from bench.stage import Stage
from cellwright.kernel.pool import KernelPool
from cellwright.settings import Settings
from cellwright.testing import CallTool, Fault


@pytest.fixture(scope="module")
async def testbed(pool: KernelPool, tmp_path_factory: pytest.TempPathFactory) -> AsyncGenerator[RunTestbed]:
    folder = tmp_path_factory.mktemp("bench")
    async with RunTestbed.open(
        Stage(pool=pool, settings=Settings.read(), python=Path(sys.executable), folder=folder, is_quick=True)
    ) as opened:
        yield opened


def test_runs_are_among_the_scenarios() -> None:
    assert {"runs-first-event", "runs-overhead", "runs-at-once"} <= set(SCENARIOS)


@pytest.mark.slow
async def test_a_run_is_delivered_and_the_journal_tells_what_each_part_took(testbed: RunTestbed) -> None:
    testbed.provider.forget()
    testbed.plays()
    cpu = testbed.cpu_seconds()
    run = await testbed.daemon.start(testbed.goal())
    delivery = await testbed.delivery(run)
    assert (delivery.answer, [check.has_passed for check in delivery.checks]) == (ANSWER, [True])
    parts = await testbed.stage_seconds(run)
    assert list(parts) == ["queued", "agree", "build", "check", "deliver"]
    assert all(seconds >= 0 for seconds in parts.values())
    assert parts["check"] > 0
    assert testbed.cpu_seconds() > cpu


@pytest.mark.slow
async def test_a_run_that_ends_differently_is_no_result(testbed: RunTestbed) -> None:
    testbed.provider.forget()
    testbed.provider.always(CallTool("finish", {"summary": "Nothing done.", "answer": "44"}))
    run = await testbed.daemon.start(testbed.goal())
    with pytest.raises(BenchFailed, match="was not delivered as it should"):
        await testbed.delivery(run)


@pytest.mark.slow
async def test_the_command_tells_its_first_event_and_leaves_no_run_behind(testbed: RunTestbed) -> None:
    testbed.provider.forget()
    testbed.provider.always(Fault("slow-first-byte", answer=WORK))
    assert await first_event_ms(testbed) > 0
    assert (await testbed.daemon.status()).runs_at_work == 0


def test_clients_are_compared_with_quiet_ones_and_the_slowest_is_held_against_a_limit() -> None:
    busy = Door(lists=[10, 20, 3_000], starts=[5], answers=[6])
    quiet = Door(lists=[10], starts=[5], answers=[3])
    found = findings(50, busy, quiet, memory=40, seconds=100, alone=[4, 5, 6])
    rows = {(finding.row.name, finding.row.peer_name): finding.row for finding in found}
    crowd = rows["50 runs at once, all delivered", "one after another"]
    assert (crowd.ours, crowd.peer, crowd.holds) == (100, 250, True)
    listing = rows["list the runs while 50 work", "while none works"]
    assert (listing.ours, listing.ratio, listing.holds) == (20, 2, True)
    slowest = rows["list the runs while 50 work, slowest", "2 s, ours to keep"]
    assert (slowest.ours, slowest.ratio, slowest.holds) == (3_000, 1.5, False)
    assert len(found) == 8
