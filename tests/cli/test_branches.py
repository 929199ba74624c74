"""`cellwright runs branches`: what a run tried, as its own stream tells it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import anyio.to_thread
import pytest
from dirty_equals import IsInt
from inline_snapshot import snapshot

from cellwright.journal.events import Event, Fact
from cellwright.journal.journal import Journal
from cellwright.journal.names import stream_of
from cellwright.tools.notebook.trial_records import TrialCell, TrialCheck, TrialRecord, TrialVariable
from tests.cli.in_process import Said, run_here
from tests.cli.told_runs import has_ended, open_told, started

FAILED = TrialRecord(
    branch="call-1",
    agent="r/agent:2",
    purpose="mend clean",
    way="replayed",
    reasons=("a thread of the notebook runs",),
    status="failed",
    cells=(TrialCell(cell="a1", name="clean", status="failed", error="KeyError: 'price'\nmore"),),
    checks=(TrialCheck(check="len(sales) > 0", has_passed=False, detail="NameError"),),
    ms=1240.4,
)
KEPT = TrialRecord(
    branch="call-2",
    agent="r/agent:2",
    purpose="mend clean",
    way="fork",
    status="passed",
    cells=(TrialCell(cell="a1", name="clean", status="ok"), TrialCell(cell="b2", name="", status="ok")),
    variables=(
        TrialVariable(
            name="sales",
            type="pandas.DataFrame",
            before="1,000 rows × 3 columns\nprice: nulls 12",
            after="988 rows × 3 columns\nprice: nulls 0",
        ),
        TrialVariable(name="prices", type="list", after="988 items"),
    ),
    files=("out/clean.csv",),
    ms=41.2,
    is_kept=True,
)


async def cellwright(home: Path, *words: str, code: int = 0) -> Said:
    def run() -> Said:
        return run_here(home, *words, "--database", str(home / "journal.db"), code=code)

    return await anyio.to_thread.run_sync(run)


async def as_json(home: Path, *words: str) -> Any:
    return json.loads((await cellwright(home, *words, "--json")).stdout)


async def tried(journal: Journal, run: str, *events: Event) -> None:
    await started(journal, run)
    await has_ended(journal, run)
    await journal.log.append(stream_of(run), *events)


async def test_every_branch_is_told_with_its_outcome_and_what_differs(tmp_path: Path) -> None:
    async with open_told(tmp_path) as journal:
        await tried(journal, "sales", FAILED, KEPT)
        found = await as_json(tmp_path, "runs", "branches", "sales")
        assert found["run"] == "sales"
        assert [lane["branch"] for lane in found["branches"]] == ["call-1", "call-2"]
        assert found["branches"][1] == snapshot(
            {
                "branch": "call-2",
                "agent": "r/agent:2",
                "purpose": "mend clean",
                "group": "",
                "way": "fork",
                "reasons": [],
                "status": "passed",
                "cells": [
                    {"cell": "a1", "name": "clean", "status": "ok", "error": ""},
                    {"cell": "b2", "name": "", "status": "ok", "error": ""},
                ],
                "checks": [],
                "variables": [
                    {
                        "name": "sales",
                        "type": "pandas.DataFrame",
                        "before": "1,000 rows × 3 columns\nprice: nulls 12",
                        "after": "988 rows × 3 columns\nprice: nulls 0",
                    },
                    {"name": "prices", "type": "list", "before": "", "after": "988 items"},
                ],
                "files": ["out/clean.csv"],
                "ms": 41.2,
                "is_kept": True,
                "note": "",
                "state": "kept",
                "decided_by": "",
                "at_ms": IsInt(),
            }
        )


@pytest.mark.slow
async def test_a_person_reads_a_table_and_why_a_branch_was_no_fork(tmp_path: Path) -> None:
    async with open_told(tmp_path) as journal:
        await tried(journal, "sales", FAILED, KEPT)
        shown = (await cellwright(tmp_path, "runs", "branches", "sales")).stdout
    lines = [" ".join(line.split()) for line in shown.splitlines()]
    assert lines[0] == "branch purpose way status cells variables files ms kept"
    [failed] = [line for line in lines if line.startswith("call-1 mend replayed failed ✗ clean")]
    [kept] = [line for line in lines if line.startswith("call-2 mend fork passed ✓ clean sales,")]
    assert failed.endswith("1,240 no")
    assert kept.endswith("41 yes")
    assert "call-1: clean: KeyError: 'price'" in lines
    assert "call-1: no fork: a thread of the notebook runs" in lines
    assert "call-1: check failed: len(sales) > 0: NameError" in lines
    assert "call-2 sales 1,000 rows × 3 columns 988 rows × 3 columns" in lines
    assert "price: nulls 12 price: nulls 0" in lines
    assert "call-2 prices not there 988 items" in lines


@pytest.mark.slow
async def test_a_branch_told_again_after_a_crash_is_one_branch_as_the_last_word_says(tmp_path: Path) -> None:
    again = TrialRecord(branch="call-1", purpose="mend clean", way="fork", status="passed", is_kept=True)
    async with open_told(tmp_path) as journal:
        await tried(journal, "sales", FAILED, KEPT, again)
        [first, second] = (await as_json(tmp_path, "runs", "branches", "sales"))["branches"]
    assert (first["branch"], first["status"], first["is_kept"]) == ("call-1", "passed", True)
    assert second["branch"] == "call-2"


async def test_what_is_no_readable_branch_is_left_out(tmp_path: Path) -> None:
    broken = Fact(topic="branch-tried", subject="x", text="{")
    strange = Fact(topic="branch-tried", subject="x", text='{"branch": 3}')
    async with open_told(tmp_path) as journal:
        await tried(journal, "sales", broken, strange)
        assert (await as_json(tmp_path, "runs", "branches", "sales"))["branches"] == []
        assert "tried nothing in a branch" in (await cellwright(tmp_path, "runs", "branches", "sales")).stderr


async def test_control_characters_of_hostile_names_do_not_reach_the_terminal(tmp_path: Path) -> None:
    hostile = TrialRecord(
        branch="call-1",
        purpose="\x1b[2Jgone",
        way="fork",
        status="passed",
        variables=(TrialVariable(name="x", before="\x1b]0;t\x07", after="[red]no markup[/red]"),),
    )
    async with open_told(tmp_path) as journal:
        await tried(journal, "sales", hostile)
        shown = (await cellwright(tmp_path, "runs", "branches", "sales")).stdout
    assert "\x1b" not in shown
    assert "[red]no markup[/red]" in shown


async def test_a_run_nobody_knows_is_said(tmp_path: Path) -> None:
    async with open_told(tmp_path) as journal:
        await tried(journal, "sales")
        assert "other" in (await cellwright(tmp_path, "runs", "branches", "other", code=2)).stderr
