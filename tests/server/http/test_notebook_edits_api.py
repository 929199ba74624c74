"""Cells edited over HTTP by a program: run, saved, never over what somebody typed, once per key, and taken back."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from functools import partial
from pathlib import Path
from typing import Any

import anyio
import pytest

from cellwright.kernel.pool import KernelPool
from tests.conftest import notebook_source
from tests.server.http.a_served_folder import Served, serve, tiny_runs

WAIT = {"wait_seconds": 30}


@pytest.fixture(scope="module")
async def served(tmp_path_factory: pytest.TempPathFactory, template: Path, pool: KernelPool) -> AsyncGenerator[Served]:
    folder = tmp_path_factory.mktemp("edits")
    async with tiny_runs(folder, template) as live, serve(folder / "folder", *live, pool=pool) as opened:
        yield opened


async def opened(served: Served, name: str, *cells: str) -> str:
    """The id of an open notebook with these cells."""
    (served.folder / name).write_text(notebook_source(*cells))
    return (await served.post("/notebooks", {"path": name}))["id"]


async def cells_of(served: Served, id: str) -> list[dict[str, Any]]:
    return (await served.get(f"/notebooks/{id}"))["cells"]


async def test_cells_are_made_and_changed_run_and_saved_and_taken_back(served: Served) -> None:
    id = await opened(served, "sums.py", "x = 20", "x + 1")
    await served.post(f"/notebooks/{id}/run", {"cells": "all", **WAIT})
    first = (await cells_of(served, id))[0]
    edits = [
        {"op": "edit", "cell": first["id"], "base_version": first["version"], "code": "x = 40"},
        {"op": "create", "code": "x + 2", "name": "answer"},
    ]
    edited = await served.post(f"/notebooks/{id}/edits", {"edits": edits, "key": "once", **WAIT})
    assert {each["status"] for each in edited["ran"]["cells"]} == {"ok"}
    shown = [each["output"]["text"] for each in await cells_of(served, id) if each["output"] is not None]
    assert shown == ["41", "42"]
    assert "x = 40" in (served.folder / "sums.py").read_text()
    again = await served.post(f"/notebooks/{id}/edits", {"edits": edits, "key": "once", **WAIT})
    assert again["changes"] == edited["changes"]
    assert len(await cells_of(served, id)) == 3
    undone = await served.post(f"/notebooks/{id}/undo", WAIT)
    assert len(undone["changes"]) == 2
    assert [each["code"] for each in await cells_of(served, id)] == ["x = 20", "x + 1"]
    assert "x = 40" not in (served.folder / "sums.py").read_text()
    nothing = await served.post(f"/notebooks/{id}/undo", WAIT, status=409)
    assert nothing["error"]["message"]


async def test_what_was_changed_meanwhile_is_not_overwritten(served: Served) -> None:
    id = await opened(served, "typed.py", "x = 1")
    cell = (await cells_of(served, id))[0]
    edit = {"op": "edit", "cell": cell["id"], "base_version": cell["version"], "code": "x = 'theirs'"}
    await served.post(f"/notebooks/{id}/edits", {"edits": [edit], **WAIT})
    late = await served.post(
        f"/notebooks/{id}/edits", {"edits": [{"op": "create", "code": "y = 1"}, edit], **WAIT}, status=409
    )
    assert "x = 'theirs'" in late["error"]["hint"]
    assert [each["code"] for each in await cells_of(served, id)] == ["x = 'theirs'"]


async def test_edits_that_make_no_sense_or_may_not_be_made_change_nothing(served: Served) -> None:
    id = await opened(served, "kept.py", "x = 1")
    wrong = {"edits": [{"op": "explode"}], **WAIT}
    assert "Edit 1" in (await served.post(f"/notebooks/{id}/edits", wrong, status=400))["error"]["message"]
    right = {"edits": [{"op": "create", "code": "y = 1"}], **WAIT}
    await served.post(f"/notebooks/{id}/edits", right, status=403, headers=served.bearing("read"))
    await served.post("/notebooks/file-0/edits", right, status=404)
    assert len(await cells_of(served, id)) == 1


async def test_a_notebook_that_is_closed_in_the_middle_of_an_edit_takes_no_other_with_it(served: Served) -> None:
    id = await opened(served, "closed.py", "x = 1")
    late: list[Any] = []

    async def edit(code: str, **more: Any) -> None:
        late.append(await served.post(f"/notebooks/{id}/edits", {"edits": [{"op": "create", "code": code}], **more}))

    await edit("while True:\n    pass")
    notebook = served.opened.find(id)
    assert notebook is not None
    async with anyio.create_task_group() as tasks:
        async with notebook.observe() as events:
            tasks.start_soon(partial(edit, "y = x", **WAIT))
            while notebook.current is None:
                await events.receive()
        assert (await served.client.delete(f"/api/v1/notebooks/{id}")).status_code == 200
    assert late[-1]["ran"]["problem"] == "The notebook was closed."
    assert "y = x" not in (served.folder / "closed.py").read_text()
    again = await opened(served, "closed.py", "x = 1")
    edited = await served.post(f"/notebooks/{again}/edits", {"edits": [{"op": "create", "code": "x + 1"}], **WAIT})
    assert [each["status"] for each in edited["ran"]["cells"]] == ["ok"] * len(edited["ran"]["cells"])
