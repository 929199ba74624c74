"""What a bench run leaves when it is stopped, or when one of its scenarios cannot be measured."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from bench.__main__ import measure_each
from bench.failure import BenchFailed
from bench.rows import Finding, Samples, compare, faster
from bench.stage import Stage
from cellwright.kernel.pool import KernelPool
from cellwright.settings import Settings


@pytest.fixture
def stage(pool: KernelPool, tmp_path: Path) -> Stage:
    return Stage(pool=pool, settings=Settings.read(), python=tmp_path / "python", folder=tmp_path, is_quick=True)


async def _quick(_: Stage) -> list[Finding]:
    ours, peer = Samples((1.0,)), Samples((5.0,))
    return [compare("a quick thing", ours=ours, peer=peer, peer_name="theirs", unit="ms", bar=faster(2))]


async def _unmeasurable(_: Stage) -> list[Finding]:
    raise BenchFailed("the peer did not answer")


async def _stopped(_: Stage) -> list[Finding]:
    raise KeyboardInterrupt


async def test_what_was_measured_is_kept_when_the_next_is_stopped(stage: Stage, tmp_path: Path) -> None:
    results = tmp_path / "results" / "latest.json"
    with pytest.raises(KeyboardInterrupt):
        await measure_each({"quick": _quick, "stopped": _stopped}, stage, results)
    [row] = json.loads(results.read_text())
    assert row["name"] == "a quick thing"


async def test_one_that_cannot_be_measured_is_told_and_the_others_are_measured(
    stage: Stage, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    scenarios = {"broken": _unmeasurable, "quick": _quick}
    findings, is_complete = await measure_each(scenarios, stage, tmp_path / "latest.json")
    assert (len(findings), is_complete) == (1, False)
    assert "the peer did not answer" in capsys.readouterr().err
