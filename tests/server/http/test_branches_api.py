"""What a run tried in branches, over HTTP."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Any

import anyio
import pytest
from dirty_equals import IsInt
from inline_snapshot import snapshot

from cellwright.journal.journal import Journal
from cellwright.journal.names import stream_of
from cellwright.runs.events import EVENT_TYPES
from cellwright.settings import Settings
from cellwright.tools.notebook.trial_records import TrialCell, TrialCheck, TrialRecord, TrialVariable
from tests.runs.waiting_branches import WAITS, decided, waits
from tests.server.a_daemon import ASK, TinyRuns
from tests.server.daemon_testbed import a_goal
from tests.server.http.a_served_folder import Served, serve, tiny_runs

TRIED = TrialRecord(
    branch="call-7.1",
    agent="r/agent:2",
    purpose="median",
    group="call-7",
    way="carried",
    reasons=("a thread of the notebook runs",),
    status="passed",
    cells=(TrialCell(cell="a1", name="clean", status="ok"),),
    checks=(TrialCheck(check="total > 0", has_passed=True),),
    variables=(TrialVariable(name="sales", type="list", before="12 items", after="11 items"),),
    files=("out.csv",),
    ms=41.5,
    is_kept=True,
)


@pytest.fixture
async def served(tmp_path: Path, template: Path) -> AsyncGenerator[Served]:
    async with tiny_runs(tmp_path, template) as tiny, serve(tmp_path / "folder", *tiny) as opened:
        await opened.testbed.live.start(a_goal(ASK), run="r")
        yield opened


async def tell(served: Served, *tried: TrialRecord) -> None:
    for each in tried:
        await served.testbed.live.records.log.append(stream_of("r"), each)


async def test_a_branch_is_listed_with_its_outcome_and_what_differs(served: Served) -> None:
    assert await served.get("/runs/r/branches") == {"branches": []}
    await tell(served, TRIED)
    assert await served.get("/runs/r/branches") == snapshot(
        {
            "branches": [
                {
                    "branch": "call-7.1",
                    "agent": "r/agent:2",
                    "purpose": "median",
                    "group": "call-7",
                    "way": "carried",
                    "reasons": ["a thread of the notebook runs"],
                    "status": "passed",
                    "cells": [{"cell": "a1", "name": "clean", "status": "ok", "error": ""}],
                    "checks": [{"check": "total > 0", "has_passed": True, "detail": ""}],
                    "variables": [{"name": "sales", "type": "list", "before": "12 items", "after": "11 items"}],
                    "files": ["out.csv"],
                    "ms": 41.5,
                    "is_kept": True,
                    "note": "",
                    "state": "kept",
                    "decided_by": "",
                    "at_ms": IsInt(),
                }
            ]
        }
    )


async def test_branches_told_while_somebody_looks_are_added_and_those_told_again_replaced(served: Served) -> None:
    await tell(served, TRIED)
    assert len((await served.get("/runs/r/branches"))["branches"]) == 1
    await tell(served, TrialRecord(branch="call-8", status="lost"), TrialRecord(branch="call-7.1", status="failed"))
    found = (await served.get("/runs/r/branches"))["branches"]
    assert [(branch["branch"], branch["status"]) for branch in found] == [("call-7.1", "failed"), ("call-8", "lost")]


async def test_a_reader_may_look_and_a_stranger_may_not(served: Served) -> None:
    assert await served.get("/runs/r/branches", headers=served.bearing("read")) == {"branches": []}
    stranger = await served.get("/runs/r/branches", headers={"authorization": "Bearer nobody"}, status=401)
    unknown = await served.get("/runs/other/branches", status=404)
    assert stranger.keys() == unknown.keys() == {"error"}


# ── a person decides ──

Choosing = tuple[Served, Journal]


@pytest.fixture
async def choosing(tmp_path: Path) -> AsyncGenerator[Choosing]:
    """A run `r` of whose branches two wait."""
    settings = Settings(home=tmp_path / "home", cache=tmp_path / "cache")
    where = settings.ready_home() / "journal.db"
    async with (
        Journal.open(where, version="1", workflows=[WAITS], types=EVENT_TYPES) as journal,
        serve(tmp_path / "folder", settings, TinyRuns(journal, tmp_path)) as opened,
    ):
        await waits(journal, "r")
        yield opened, journal


async def states(served: Served) -> list[tuple[str, str, str]]:
    found = (await served.get("/runs/r/branches"))["branches"]
    return [(branch["purpose"], branch["state"], branch["decided_by"]) for branch in found]


async def decide(served: Served, branch: str, word: str, *, status: int = 200, **more: Any) -> Any:
    return await served.post(f"/runs/r/branches/{branch.replace('/', '%2F')}/{word}", {}, status=status, **more)


@pytest.mark.slow
async def test_a_branch_that_waits_is_accepted_once_and_the_views_say_by_whom(choosing: Choosing) -> None:
    served, journal = choosing
    assert await states(served) == [("median", "waits", ""), ("mean", "waits", ""), ("broken", "not-kept", "")]
    said = await decide(served, "r/c0.1", "accept")
    assert said == {
        "run": "r",
        "decision": "accepted",
        "branches": ["r/c0.1"],
        "by": "ada",
        "is_settled": True,
        "says": "mean is accepted; the run makes it in the notebook.",
    }
    assert await decided(journal, "r") == {"accepted": "r/c0.1", "by": "ada", "dropped": {}}
    assert await states(served) == [
        ("median", "dropped", "ada"),
        ("mean", "accepted", "ada"),
        ("broken", "not-kept", ""),
    ]
    late = await decide(served, "r/c0.2", "accept", status=409)
    assert late["error"]["message"] == "median was dropped by ada already."


@pytest.mark.slow
async def test_dropping_the_last_that_waits_lets_the_run_go_on_also_when_two_do_it_at_once(choosing: Choosing) -> None:
    served, journal = choosing
    async with anyio.create_task_group() as people:
        for branch in ("r/c0.1", "r/c0.2"):
            people.start_soon(decide, served, branch, "drop")
    assert await decided(journal, "r") == {"accepted": "", "by": "ada", "dropped": {"r/c0.1": "ada", "r/c0.2": "ada"}}
    assert {state for _, state, _ in await states(served)} == {"dropped", "not-kept"}


@pytest.mark.slow
async def test_only_whoever_may_answer_decides_and_only_about_what_waits(choosing: Choosing) -> None:
    served, journal = choosing
    for scope in ("read", "steer"):
        for word in ("accept", "drop"):
            await decide(served, "r/c0.2", word, status=403, headers=served.bearing(scope))
    unknown = await decide(served, "r/c0.9", "accept", status=404)
    assert unknown["error"]["hint"] == "These wait: median, mean."
    failed = await decide(served, "r/c0.3", "drop", status=409)
    assert failed["error"]["message"] == "broken does not wait: it is not kept."
    await served.post("/runs/other/branches/r%2Fc0.2/accept", {}, status=404)
    await decide(served, "r/c0.2", "accept", headers=served.bearing("approve"))
    assert (await decided(journal, "r"))["accepted"] == "r/c0.2"
