"""What a run did to its notebook, over HTTP: seen cell by cell, accepted, taken back at work and afterwards, undone."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Any

import anyio
import pytest
from dirty_equals import IsInt, IsStr
from inline_snapshot import snapshot

from cellwright.app.live_notebooks import notebook_id
from cellwright.notebook.files import read
from cellwright.testing import CallTool, Fault
from tests.models.testbed import ModelTestbed, Warm
from tests.runs.factory import apply, create, finish
from tests.server.a_daemon import ASK
from tests.server.daemon_testbed import a_goal
from tests.server.http.a_served_folder import serve, tiny_runs
from tests.server.http.served_runs import Works, a_project, open_works, reopened

WORK = (
    apply(create("total = 40 + 2", "total")),
    apply(create("double = total * 2", "double")),
)


@pytest.fixture
async def works(tmp_path: Path, warm_gateway: Warm, cache: Path) -> AsyncGenerator[Works]:
    async with open_works(tmp_path, warm_gateway, cache) as opened:
        yield opened


def codes(works: Works) -> list[str]:
    return [cell.code for cell in read(works.factory.project / "sums.py").document.cells]


async def changes(works: Works, run: str) -> list[dict[str, Any]]:
    return (await works.served.get(f"/runs/{run}/changes"))["changes"]


async def cell_of(works: Works, run: str, number: int) -> str:
    [change] = [each for each in await changes(works, run) if each["number"] == number]
    return change["cells"][0]["cell"]


async def review(works: Works, run: str, number: int, verdict: str, comment: str = "", status: int = 200) -> Any:
    cell = await cell_of(works, run, number)
    said = {"verdict": verdict, "comment": comment}
    return await works.served.post(f"/runs/{run}/changes/{number}/cells/{cell}", said, status=status)


async def at_work(works: Works, *answers: Any) -> str:
    """A run that has made two changes and waits for its model."""
    works.factory.script(*WORK, Fault("slow-first-byte", answer=answers[0] if answers else finish("84")), *answers[1:])
    run = await works.start()
    await works.until_silent()
    return run


async def delivered(works: Works) -> str:
    works.factory.script(*WORK, finish("It is 84."))
    run = await works.start()
    assert (await works.factory.delivery(run)).status == "done"
    return run


@pytest.mark.slow
async def test_changes_are_shown_cell_by_cell_while_the_run_is_at_work(works: Works) -> None:
    run = await at_work(works, finish("84"))
    assert await changes(works, run) == snapshot(
        [
            {
                "number": 1,
                "call": IsStr(),
                "agent": IsStr(regex=r"\w+/agent:1"),
                "is_undone": False,
                "at_ms": IsInt(),
                "cells": [
                    {
                        "cell": IsStr(),
                        "name": "total",
                        "kind": "created",
                        "before": None,
                        "after": "total = 40 + 2",
                        "review": "open",
                        "comment": "",
                    }
                ],
            },
            {
                "number": 2,
                "call": IsStr(),
                "agent": IsStr(regex=r"\w+/agent:1"),
                "is_undone": False,
                "at_ms": IsInt(),
                "cells": [
                    {
                        "cell": IsStr(),
                        "name": "double",
                        "kind": "created",
                        "before": None,
                        "after": "double = total * 2",
                        "review": "open",
                        "comment": "",
                    }
                ],
            },
        ]
    )
    works.factory.testbed.provider.release()
    await works.factory.delivery(run)


@pytest.mark.slow
async def test_a_change_taken_back_at_work_is_out_of_the_notebook_and_the_agent_is_told(works: Works) -> None:
    run = await at_work(works, CallTool("look", {}), finish("It is 42."))
    said = await review(works, run, 2, "reject", "Nobody asked for the double.")
    assert (said["review"], said["comment"], said["name"]) == ("rejected", "Nobody asked for the double.", "double")
    assert codes(works) == ["import marimo as mo", "total = 40 + 2"]
    assert [each["cells"][0]["review"] for each in await changes(works, run)] == ["open", "rejected"]
    works.factory.testbed.provider.release()
    assert (await works.factory.delivery(run)).status == "done"
    told = works.factory.prompts()
    assert any("I took back your change of the cell" in prompt for prompt in told)
    assert any("Nobody asked for the double." in prompt for prompt in told)
    assert "double" not in works.factory.notebook()


@pytest.mark.slow
async def test_a_cell_that_somebody_changed_since_is_not_taken_back(works: Works) -> None:
    run = await at_work(works, finish("84"))
    path = works.factory.project / "sums.py"
    path.write_text(path.read_text().replace("total * 2", "total * 3"))
    refused = await review(works, run, 2, "reject", status=409)
    assert refused["error"]["message"] == "double: somebody changed it since."
    assert "double = total * 3" in codes(works)
    assert [each["cells"][0]["review"] for each in await changes(works, run)] == ["open", "open"]
    works.factory.testbed.provider.release()
    await works.factory.delivery(run)


@pytest.mark.slow
async def test_everything_a_run_at_work_did_is_undone_and_it_goes_on(works: Works) -> None:
    run = await at_work(works, apply(create("total = 1", "total")), finish("It is 1."))
    undone = await works.served.post(f"/runs/{run}/undo", {})
    assert (undone["turns"], undone["cells"], undone["why"]) == ([2, 1], ["removed double", "removed total"], "")
    assert codes(works) == ["import marimo as mo"]
    assert [each["is_undone"] for each in await changes(works, run)] == [True, True]
    works.factory.testbed.provider.release()
    assert (await works.factory.delivery(run)).status == "done"
    assert "total = 1" in codes(works)
    assert any("I undid changes of yours" in prompt for prompt in works.factory.prompts())
    assert [each["is_undone"] for each in await changes(works, run)][:3] == [True, True, False]


@pytest.mark.slow
async def test_what_people_said_survives_a_restart_and_changes_are_taken_back_in_the_file(
    tmp_path: Path, warm_gateway: Warm, cache: Path
) -> None:
    project = a_project(tmp_path)
    with ModelTestbed.open(tmp_path / "testbed", warm_gateway) as testbed:
        async with reopened(testbed, project, cache) as works:
            run = await delivered(works)
            await review(works, run, 1, "accept", "Good.")
        async with reopened(testbed, project, cache) as again:
            before = await changes(again, run)
            assert [before[0]["cells"][0][name] for name in ("review", "comment")] == ["accepted", "Good."]
            await review(again, run, 2, "reject")
            assert "double = total * 2" not in codes(again)
            assert "total = 40 + 2" in codes(again)
            await review(again, run, 2, "reject")
            refused = await review(again, run, 2, "accept", status=409)
            assert refused["error"]["message"] == "This change was taken back."


@pytest.mark.slow
async def test_one_step_of_an_ended_run_is_undone_and_a_second_time_nothing_is_left(works: Works) -> None:
    run = await delivered(works)
    assert (await works.served.post(f"/runs/{run}/undo", {"step": 2}))["turns"] == [2]
    again = await works.served.post(f"/runs/{run}/undo", {"step": 2})
    assert (again["turns"], again["why"]) == ([], "Change 2 was undone already.")
    await works.served.post(f"/runs/{run}/undo", {"step": 99}, status=404)
    await works.served.post(f"/runs/{run}/undo", {"step": 0}, status=422)


@pytest.mark.slow
async def test_a_person_who_has_the_notebook_open_sees_what_was_taken_back(works: Works) -> None:
    run = await delivered(works)
    path = works.factory.project / "sums.py"
    assert await works.served.post("/notebooks", {"path": "sums.py"}) == {"id": notebook_id(path)}
    notebook = works.served.opened.find(notebook_id(path))
    assert notebook is not None
    await notebook.run()
    await review(works, run, 2, "reject")
    assert [cell.code for cell in notebook.document.cells if cell.code.startswith("double")] == []
    with anyio.fail_after(120):
        await notebook.run("stale")
    assert await notebook.save() is None
    assert "double = total * 2" not in codes(works)


async def test_of_a_run_that_is_not_there_nothing_is_changed(tmp_path: Path, template: Path) -> None:
    async with tiny_runs(tmp_path, template) as tiny, serve(tmp_path / "folder", *tiny) as served:
        said = [
            await served.get("/runs/nobody/changes", status=404),
            await served.post("/runs/nobody/changes/1/cells/x", {"verdict": "reject"}, status=404),
            await served.post("/runs/nobody/undo", {}, status=404),
        ]
    assert [each["error"]["kind"] for each in said] == ["not_found"] * 3
    assert all("nobody" in each["error"]["message"] for each in said)


async def test_a_run_that_has_not_opened_its_notebook_has_nothing_to_take_back(tmp_path: Path, template: Path) -> None:
    async with tiny_runs(tmp_path, template) as tiny, serve(tmp_path / "folder", *tiny) as served:
        await served.testbed.live.start(a_goal(ASK), run="early")
        assert await served.get("/runs/early/changes") == {"changes": [], "can_redo": False}
        await served.post("/runs/early/changes/1/cells/x", {"verdict": "reject"}, status=404)
        assert (await served.post("/runs/early/undo", {}, status=409))["error"]["kind"] == "conflict"
