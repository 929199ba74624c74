"""What a run tried in branches, over HTTP."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from pathlib import Path

import pytest
from dirty_equals import IsInt
from inline_snapshot import snapshot

from cellwright.journal import stream_of
from cellwright.tools.branch_trials import BranchTried, TriedCell, TriedCheck, TriedVariable, branch_told
from tests.server.a_daemon import ASK
from tests.server.daemon_house import a_goal
from tests.server.web.a_served_folder import Served, serve, tiny_runs

TRIED = BranchTried(
    branch="call-7.1",
    agent="r/agent:2",
    purpose="median",
    group="call-7",
    way="carried",
    reasons=("a thread of the notebook runs",),
    status="passed",
    cells=(TriedCell(cell="a1", name="clean", status="ok"),),
    checks=(TriedCheck(check="total > 0", has_passed=True),),
    variables=(TriedVariable(name="sales", type="list", before="12 items", after="11 items"),),
    files=("out.csv",),
    ms=41.5,
    is_kept=True,
)


@pytest.fixture
async def served(tmp_path: Path) -> AsyncGenerator[Served]:
    async with tiny_runs(tmp_path) as tiny, serve(tmp_path / "folder", *tiny) as opened:
        await opened.house.live.start(a_goal(ASK), run="r")
        yield opened


async def tell(served: Served, *tried: BranchTried) -> None:
    for each in tried:
        await served.house.live.records.log.append(stream_of("r"), branch_told(each))


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
                    "at_ms": IsInt(),
                }
            ]
        }
    )


async def test_branches_told_while_somebody_looks_are_added_and_those_told_again_replaced(served: Served) -> None:
    await tell(served, TRIED)
    assert len((await served.get("/runs/r/branches"))["branches"]) == 1
    await tell(served, BranchTried(branch="call-8", status="lost"), BranchTried(branch="call-7.1", status="failed"))
    found = (await served.get("/runs/r/branches"))["branches"]
    assert [(lane["branch"], lane["status"]) for lane in found] == [("call-7.1", "failed"), ("call-8", "lost")]


async def test_a_reader_may_look_and_a_stranger_may_not(served: Served) -> None:
    assert await served.get("/runs/r/branches", headers=served.bearing("read")) == {"branches": []}
    stranger = await served.get("/runs/r/branches", headers={"authorization": "Bearer nobody"}, status=401)
    unknown = await served.get("/runs/other/branches", status=404)
    assert stranger.keys() == unknown.keys() == {"error"}
