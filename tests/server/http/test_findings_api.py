"""Findings of a review over HTTP: told with their run, and shown: their code runs where it fails, changing nothing."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import pytest
from dirty_equals import IsFloat, IsStr
from inline_snapshot import snapshot

from cellwright.app import open_notebook
from cellwright.journal.names import stream_of
from cellwright.runs.events import FindingJudged, GoalSet, QuestionsRaised
from cellwright.runs.goal.goal import Goal
from cellwright.runs.review.findings import Finding, JudgedFinding, ReviewQuestion, Standing
from cellwright.server.http.auth.dependencies import status_of
from cellwright.server.http.errors import Conflict
from cellwright.server.http.routes.findings import FindingTrials
from cellwright.tools.notebook.editor import NotebookEditor
from tests.conftest import notebook_source
from tests.runs.review.test_reviewed_runs import READ, RIGHT, SALES, SHOWS, WRONG
from tests.server.a_daemon import ASK, TinyRuns
from tests.server.http.a_served_folder import SECONDS, RunsTestbed, Served, serve, tiny_runs


@pytest.fixture
async def tiny(tmp_path: Path, template: Path) -> AsyncGenerator[RunsTestbed]:
    async with tiny_runs(tmp_path, template) as found:
        yield found


@pytest.fixture
async def served(tmp_path: Path, tiny: RunsTestbed) -> AsyncGenerator[Served]:
    async with serve(tmp_path / "folder", *tiny) as opened:
        write(opened.folder, WRONG)
        yield opened


def write(folder: Path, computed: str) -> None:
    (folder / "sales.csv").write_text(SALES)
    (folder / "sums.py").write_text(notebook_source(READ, computed))


def judged(shows: str = SHOWS, standing: Standing = "shown", error: str = "") -> JudgedFinding:
    finding = Finding(claim="The total is 580", found="It is 290.", shows=shows)
    return JudgedFinding(finding=finding, standing=standing, error=error)


async def tell(served: Served, run: str, *findings: JudgedFinding, words: str = "Sum.") -> None:
    """A tiny run that has told of these."""
    goal = Goal(words=words, notebook=str(served.folder / "sums.py"), project=str(served.folder), person="ada")
    log = served.testbed.records.log
    await log.append(stream_of(run), GoalSet(goal=goal))
    await served.testbed.live.start(goal, run=run)
    told = [FindingJudged(number=number, judged=each) for number, each in enumerate(findings, 1)]
    await log.append(stream_of(run), *told)


async def over(served: Served, run: str) -> None:
    """Until the run has ended."""
    records = served.testbed.records
    with anyio.fail_after(SECONDS):
        while (await records.status(run)).is_going:
            grown = records.log.growth.next()
            if (await records.status(run)).is_going:
                await grown.wait()


@asynccontextmanager
async def live(served: Served, run: str) -> AsyncGenerator[NotebookEditor]:
    """While this block lasts, the run has its notebook open, and all its cells have run."""
    runs = served.testbed.live
    assert isinstance(runs, TinyRuns)
    async with open_notebook(served.folder / "sums.py", pool=runs.pool, settings=served.testbed.settings) as notebook:
        await notebook.run("all")
        editor = await NotebookEditor.open(notebook, served.folder.parent / "timeline.json")
        runs.editors[run] = editor
        yield editor
        del runs.editors[run]


async def show(served: Served, run: str, number: int = 1, status: int = 200) -> Any:
    return await served.post(f"/runs/{run}/findings/{number}/show", status=status)


def files(folder: Path) -> dict[str, bytes]:
    return {str(path): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


async def test_a_run_tells_its_findings_as_they_were_told_last_and_what_its_data_raises(served: Served) -> None:
    await tell(served, "told", judged(error="AssertionError: 580"), judged("assert True", "not shown"))
    raised = ReviewQuestion(kind="total-rows", says="Rows of sales.csv are totals.")
    await served.testbed.records.log.append(
        stream_of("told"),
        FindingJudged(number=1, judged=judged(standing="mended"), task="review-1-1"),
        QuestionsRaised(questions=(raised,)),
    )
    seen = await served.get("/runs/told")
    assert {name: seen[name] for name in ("findings", "data_questions")} == snapshot(
        {
            "findings": [
                {
                    "number": 1,
                    "claim": "The total is 580",
                    "found": "It is 290.",
                    "shows": IsStr(),
                    "by": "reviewer",
                    "kind": "",
                    "standing": "mended",
                    "error": "",
                    "task": "review-1-1",
                },
                {
                    "number": 2,
                    "claim": "The total is 580",
                    "found": "It is 290.",
                    "shows": "assert True",
                    "by": "reviewer",
                    "kind": "",
                    "standing": "not shown",
                    "error": "",
                    "task": "",
                },
            ],
            "data_questions": [{"kind": "total-rows", "says": "Rows of sales.csv are totals.", "settled": ""}],
        }
    )


@pytest.mark.slow
async def test_of_a_run_that_is_over_a_finding_fails_again_from_scratch_until_it_is_mended(served: Served) -> None:
    clears = f"{SHOWS}\n" + 'open("sales.csv", "w").close()'
    await tell(served, "done", judged(clears), judged("assert no_such_name", "not shown"))
    await over(served, "done")
    before = files(served.folder)
    assert await show(served, "done") == snapshot(
        {"standing": "shown", "error": "AssertionError: 580 instead of 290", "seconds": IsFloat(gt=0)}
    )
    assert await show(served, "done", 2) == snapshot(
        {"standing": "not shown", "error": "NameError: name 'no_such_name' is not defined", "seconds": IsFloat(gt=0)}
    )
    write(served.folder, RIGHT)
    assert await show(served, "done") == snapshot({"standing": "mended", "error": "", "seconds": IsFloat(gt=0)})
    write(served.folder, WRONG)
    assert files(served.folder) == before
    (served.folder / "sums.py").unlink()
    refused = (await show(served, "done", status=409))["error"]
    assert refused["kind"] == "conflict"
    assert refused["hint"]


@pytest.mark.slow
async def test_while_a_run_has_its_notebook_open_a_finding_is_shown_in_a_branch_of_it(served: Served) -> None:
    clears = 'rows.clear()\nopen("sales.csv", "w").close()\nassert total == 290, f"it is {total}"'
    await tell(served, "open", judged(clears), words=ASK)
    async with live(served, "open") as editor:
        before, document = files(served.folder), editor.notebook.document
        said = [await show(served, "open") for _ in range(2)]
        assert [(each["standing"], each["error"]) for each in said] == [("shown", "AssertionError: it is 580")] * 2
        assert editor.notebook.document is document
        [rows] = (await editor.notebook.values(["rows"])).values()
        assert "August" in str(rows)
        assert files(served.folder) == before


@pytest.mark.slow
async def test_a_finding_is_not_shown_twice_at_once_nor_without_an_open_notebook_nor_to_a_mere_reader(
    served: Served,
) -> None:
    await tell(served, "going", judged(), words=ASK)
    refused = (await show(served, "going", status=409))["error"]
    assert (refused["kind"], "notebook" in refused["message"], bool(refused["hint"])) == ("conflict", True, True)
    assert (await show(served, "going", 7, status=404))["error"]["kind"] == "not_found"
    assert (await show(served, "nobody", status=404))["error"]["kind"] == "not_found"
    path = "/runs/going/findings/1/show"
    assert (await served.post(path, status=403, headers=served.bearing("read")))["error"]["kind"] == "refused"
    answers: list[Any] = []

    async def ask(held: anyio.Event) -> None:
        answers.append((await served.client.post(f"/api/v1{path}", headers=served.bearing("steer"))).json())
        held.set()

    async with live(served, "going") as editor, anyio.create_task_group() as tasks:
        one_is_answered = anyio.Event()
        async with editor.slot():
            # An agent is at the notebook: whoever came first waits for it.
            tasks.start_soon(ask, one_is_answered)
            tasks.start_soon(ask, one_is_answered)
            await one_is_answered.wait()
    assert [answers[0]["error"]["kind"], answers[1]["standing"]] == ["conflict", "shown"]


@pytest.mark.slow
async def test_code_that_does_not_come_to_its_end_is_stopped(served: Served) -> None:
    await tell(served, "endless", judged("while True:\n    pass"), words=ASK)
    async with live(served, "endless") as editor:
        trials = FindingTrials(served.testbed, timeout_seconds=2)
        with anyio.fail_after(SECONDS), pytest.raises(Conflict, match="took longer than 2 s"):
            await trials.show(await status_of(served.testbed, "endless"), judged("while True:\n    pass"))
        assert (await editor.notebook.run("all")).is_ok
