"""Redo over HTTP: what was undone comes back, at work with its variables, afterwards in the file; and it says how."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Any

import pytest

from cellwright.notebook.files import read
from cellwright.testing import CallTool, Fault
from tests.models.testbed import ModelTestbed, Warm
from tests.runs.factory import apply, create, finish
from tests.server.a_daemon import ASK
from tests.server.daemon_testbed import a_goal
from tests.server.http.a_served_folder import serve, tiny_runs
from tests.server.http.served_runs import Works, a_project, open_works, reopened

WORK = (
    apply(create("items = [1]", "items_cell")),
    apply(create("items.append(2)", "more")),
)
NOTHING = "There is nothing to redo: nothing was undone, or something else was done since."


@pytest.fixture
async def works(tmp_path: Path, warm_gateway: Warm, cache: Path) -> AsyncGenerator[Works]:
    async with open_works(tmp_path, warm_gateway, cache) as opened:
        yield opened


def codes(works: Works) -> list[str]:
    return [cell.code for cell in read(works.factory.project / "sums.py").document.cells]


async def items(works: Works, run: str) -> object:
    return (await works.factory.runs.editors[run].notebook.values(["items"]))["items"].json


async def can_redo(works: Works, run: str) -> bool:
    return (await works.served.get(f"/runs/{run}/changes"))["can_redo"]


async def redo(works: Works, run: str, status: int = 200) -> Any:
    return await works.served.post(f"/runs/{run}/redo", {}, status=status)


@pytest.mark.slow
async def test_of_a_run_at_work_variables_come_back_by_checkpoint_and_its_agents_are_told(works: Works) -> None:
    held = Fault("slow-first-byte", answer=CallTool("look", {}))
    works.factory.script(*WORK, held, finish("It is [1, 2]."))
    run = await works.start()
    await works.until_silent()
    assert await redo(works, run) == {"run": run, "cells": [], "by": None, "why": NOTHING}
    assert not await can_redo(works, run)
    for step, left in ((2, [1]), (1, None)):
        undone = await works.served.post(f"/runs/{run}/undo", {"step": step})
        assert (undone["turns"], undone["by"]) == ([step], "checkpoint")
        assert left is None or await items(works, run) == left
    assert await can_redo(works, run)
    assert await redo(works, run) == {"run": run, "cells": ["added items_cell"], "by": "checkpoint", "why": ""}
    assert await items(works, run) == [1]
    assert await redo(works, run) == {"run": run, "cells": ["added more"], "by": "checkpoint", "why": ""}
    assert await items(works, run) == [1, 2]
    assert codes(works) == ["import marimo as mo", "items = [1]", "items.append(2)"]
    assert not await can_redo(works, run)
    works.factory.testbed.provider.release()
    assert (await works.factory.delivery(run)).status == "done"
    assert any("I took back the last undo" in prompt for prompt in works.factory.prompts())


@pytest.mark.slow
async def test_of_an_ended_run_cells_come_back_in_the_file_after_a_restart_but_not_over_a_persons(
    tmp_path: Path, warm_gateway: Warm, cache: Path
) -> None:
    project = a_project(tmp_path)
    path = project / "sums.py"
    with ModelTestbed.open(tmp_path / "testbed", warm_gateway) as testbed:
        async with reopened(testbed, project, cache) as works:
            works.factory.script(*WORK, finish("It is [1, 2]."))
            run = await works.start()
            assert (await works.factory.delivery(run)).status == "done"
            whole = codes(works)
            undone = await works.served.post(f"/runs/{run}/undo", {})
            assert (undone["by"], codes(works)) == ("file", ["import marimo as mo"])
        async with reopened(testbed, project, cache) as again:
            assert await can_redo(again, run)
            mine = path.read_text()
            path.write_text(mine.replace("import marimo as mo", "import marimo as mo, math"))
            refused = await redo(again, run, status=409)
            assert refused["error"]["message"].startswith("Somebody changed the notebook since the undo")
            assert "Take that change back first" in refused["error"]["hint"]
            assert "import marimo as mo, math" in path.read_text()
            path.write_text(mine)
            redone = await redo(again, run)
            assert (redone["by"], codes(again)) == ("file", whole)
            assert (await redo(again, run))["why"] == NOTHING


async def test_of_a_run_that_is_not_there_or_has_no_notebook_nothing_is_redone(tmp_path: Path, template: Path) -> None:
    async with tiny_runs(tmp_path, template) as tiny, serve(tmp_path / "folder", *tiny) as served:
        assert (await served.post("/runs/nobody/redo", {}, status=404))["error"]["kind"] == "not_found"
        await served.testbed.live.start(a_goal(ASK), run="early")
        assert (await served.post("/runs/early/redo", {}, status=409))["error"]["kind"] == "conflict"
