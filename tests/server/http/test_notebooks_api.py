"""Notebooks over HTTP: opened once whoever asks, run, looked at, followed, interrupted, saved and closed."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import anyio
import pytest

from cellwright.app import open_notebook
from cellwright.app.live_notebooks import LiveNotebookLimits, notebook_id
from cellwright.kernel.pool import KernelPool
from cellwright.kernel.session.open_notebook import OpenNotebook
from cellwright.notebook.edits import EditCell
from cellwright.policy.masking.masker import Secret
from tests.conftest import notebook_source
from tests.server.http.a_served_folder import API, SECONDS, RunsTestbed, Served, serve, tiny_runs

PASSWORD = "hunter2-hunter2-hunter2"


@pytest.fixture(scope="module")
async def live(tmp_path_factory: pytest.TempPathFactory, template: Path) -> AsyncGenerator[RunsTestbed]:
    async with tiny_runs(tmp_path_factory.mktemp("live"), template) as found:
        yield found


@pytest.fixture(scope="module")
async def door(tmp_path_factory: pytest.TempPathFactory, live: RunsTestbed, pool: KernelPool) -> AsyncGenerator[Served]:
    folder, secret = tmp_path_factory.mktemp("served") / "folder", Secret(name="password", value=PASSWORD)
    async with serve(folder, *live, pool=pool, known_secrets=(secret,)) as opened:
        yield opened


@pytest.fixture
async def served(door: Served) -> AsyncGenerator[Served]:
    yield door
    await door.clear()


def write(served: Served, *cells: str, name: str = "sums.py") -> Path:
    path = served.folder / name
    path.write_text(notebook_source(*cells))
    return path


async def eventually(holds: Callable[[], bool]) -> None:
    with anyio.fail_after(SECONDS):
        while not holds():  # noqa: ASYNC110 (another task, or the server, makes it so)
            await anyio.sleep(0.01)


@dataclass
class Followed:
    """What a reader of a notebook's stream was told."""

    told: list[tuple[str, dict[str, Any]]] = field(default_factory=list[tuple[str, dict[str, Any]]])

    async def until(self, event: str) -> dict[str, Any]:
        await eventually(lambda: any(name == event for name, _ in self.told))
        return next(data for name, data in self.told if name == event)


@asynccontextmanager
async def follow(served: Served, id: str) -> AsyncGenerator[Followed]:
    followed = Followed()

    async def read() -> None:
        async with served.client.stream("GET", f"{API}/notebooks/{id}/events") as stream:
            assert stream.status_code == 200
            name = ""
            async for line in stream.aiter_lines():
                if line.startswith("event: "):
                    name = line.removeprefix("event: ")
                elif line.startswith("data: "):
                    followed.told.append((name, json.loads(line.removeprefix("data: "))))

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(read)
        await followed.until("state")
        yield followed
        tasks.cancel_scope.cancel()


async def test_a_notebook_of_the_folder_is_opened_run_looked_at_and_closed(served: Served) -> None:
    path = write(served, "x = 20", "y = x + 22\ny")
    (served.folder / "plain.py").write_text("print('no notebook')\n")
    line = {"id": notebook_id(path), "path": "sums.py", "run": None, "is_live": False, "cells": 2, "kernel": None}
    assert await served.get("/notebooks") == {"notebooks": [line]}

    id = (await served.post("/notebooks", {"path": "sums.py"}))["id"]
    ran = await served.post(f"/notebooks/{id}/run", {"cells": "all", "wait_seconds": 30})

    assert (ran["is_running"], [cell["status"] for cell in ran["cells"]]) == (False, ["ok", "ok"])
    detail = await served.get(f"/notebooks/{id}")
    first, second = detail["cells"]
    assert (first["defines"], second["refers"], second["is_stale"]) == (["x"], ["x"], False)
    assert "42" in second["output"]["text"]
    variables = await served.get(f"/notebooks/{id}/variables")
    assert variables["is_fresh"]
    assert [(each["name"], each["text"]) for each in variables["variables"]] == [("x", "20"), ("y", "42")]
    [kernel] = (await served.get("/kernels"))["kernels"]
    assert (kernel["notebook"], kernel["notebook_id"], kernel["run"], kernel["state"]) == ("sums.py", id, None, "idle")
    assert kernel["memory_mb"] > 1
    assert kernel["cpu_seconds"] > 0
    [listed] = (await served.get("/notebooks"))["notebooks"]
    assert (listed["is_live"], listed["kernel"]["pid"]) == (True, kernel["pid"])

    await served.ask("DELETE", f"/notebooks/{id}")

    assert await served.get("/notebooks") == {"notebooks": [line]}
    assert (await served.get("/kernels"))["kernels"] == []
    closed = await served.get(f"/notebooks/{id}")
    assert [(cell["status"], cell["is_stale"]) for cell in closed["cells"]] == [("new", True)] * 2
    await served.get(f"/notebooks/{id}/variables", status=409)
    await served.ask("DELETE", f"/notebooks/{id}", status=404)


async def test_whoever_opens_a_notebook_at_the_same_time_gets_the_same_kernel(served: Served) -> None:
    write(served, "x = 1")
    ids = set[str]()

    async def open_it() -> None:
        ids.add((await served.post("/notebooks", {"path": "sums.py"}))["id"])

    async with anyio.create_task_group() as tasks:
        for _ in range(5):
            tasks.start_soon(open_it)

    assert len(ids) == 1
    assert len((await served.get("/kernels"))["kernels"]) == 1


@asynccontextmanager
async def in_a_run(served: Served, pool: KernelPool, path: Path, run: str) -> AsyncGenerator[OpenNotebook]:
    """As if this run had the notebook open."""
    held = served.testbed.live.notebooks
    assert isinstance(held, dict)
    async with open_notebook(path, pool=pool, settings=served.testbed.settings) as notebook:
        held[run] = notebook
        try:
            yield notebook
        finally:
            del held[run]


async def test_a_notebook_that_a_run_has_open_is_the_runs(served: Served, pool: KernelPool) -> None:
    path = write(served, "x = 1")
    async with in_a_run(served, pool, path, "run-1") as notebook:
        assert await served.post("/notebooks", {"path": "sums.py"}) == {"id": "run-1"}
        [listed] = (await served.get("/notebooks"))["notebooks"]
        assert notebook.live.kernel is not None
        assert (listed["id"], listed["run"], listed["kernel"]["pid"]) == ("run-1", "run-1", notebook.live.kernel.pid)
        assert (await served.get("/notebooks/run-1"))["run"] == "run-1"
        refused = await served.ask("DELETE", "/notebooks/run-1", status=409)
        assert "run-1" in refused["error"]["message"]
        assert not notebook.live.kernel.is_over


async def test_a_persons_notebook_gives_way_to_a_run(served: Served, pool: KernelPool) -> None:
    path = write(served, "x = 1")
    id = (await served.post("/notebooks", {"path": "sums.py"}))["id"]
    await served.opened.release(path)
    assert served.opened.find(id) is None
    await served.post("/notebooks", {"path": "sums.py"})
    async with in_a_run(served, pool, path, "run-2"):
        [listed] = (await served.get("/notebooks"))["notebooks"]
        assert listed["id"] == "run-2"
        assert served.opened.find(id) is None


@pytest.mark.slow
async def test_what_happens_is_told_as_it_happens_and_can_be_stopped(served: Served) -> None:
    write(served, "print('at work')\nimport time\ntime.sleep(3600)", "z = 1")
    id = (await served.post("/notebooks", {"path": "sums.py"}))["id"]
    async with follow(served, id) as followed:
        assert [cell["status"] for cell in followed.told[0][1]["cells"]] == ["new", "new"]
        begun = await served.post(f"/notebooks/{id}/run", {"cells": "all"})
        assert begun["is_running"]
        assert (await followed.until("console"))["text"] == "at work\n"
        detail = await served.get(f"/notebooks/{id}")
        assert detail["cells"][0]["status"] == "running"
        assert not (await served.get(f"/notebooks/{id}/variables"))["is_fresh"]
        assert [each["state"] for each in (await served.get("/kernels"))["kernels"]] == ["running"]
        assert await served.post(f"/notebooks/{id}/interrupt") == {"id": id, "note": "Stopped."}
        assert (await followed.until("ran"))["cells"][0]["status"] == "interrupted"
        await served.ask("DELETE", f"/notebooks/{id}")
        await followed.until("closed")


async def test_what_a_person_wrote_is_saved_when_the_notebook_is_closed(served: Served) -> None:
    path = write(served, "x = 1")
    id = (await served.post("/notebooks", {"path": "sums.py"}))["id"]
    notebook = served.opened.find(id)
    assert notebook is not None
    [cell] = notebook.document.cells
    await notebook.apply([EditCell(cell=cell.id, code="x = 'edited'", base_version=cell.version)])
    await served.ask("DELETE", f"/notebooks/{id}")
    assert "x = 'edited'" in path.read_text()


async def test_where_the_file_has_changed_meanwhile_both_texts_stay(served: Served) -> None:
    path = write(served, "x = 1")
    id = (await served.post("/notebooks", {"path": "sums.py"}))["id"]
    notebook = served.opened.find(id)
    assert notebook is not None
    [cell] = notebook.document.cells
    await notebook.apply([EditCell(cell=cell.id, code="x = 'mine'", base_version=cell.version)])
    write(served, "x = 'theirs'")
    await served.ask("DELETE", f"/notebooks/{id}")
    assert "x = 'theirs'" in path.read_text()
    assert "x = 'mine'" in (served.folder / "sums-unsaved-1.py").read_text()


@pytest.mark.slow
async def test_a_notebook_that_nobody_needs_is_closed_after_a_while(
    tmp_path: Path, live: RunsTestbed, pool: KernelPool
) -> None:
    brief = LiveNotebookLimits(idle_seconds=0.3, most=2)
    async with serve(tmp_path / "folder", *live, pool=pool, lasting=brief) as served:
        write(served, "import time\ntime.sleep(1)")
        id = (await served.post("/notebooks", {"path": "sums.py"}))["id"]
        async with follow(served, id) as followed:
            await served.post(f"/notebooks/{id}/run", {"cells": "all"})
            await followed.until("ran")
            assert served.opened.all().keys() == {id}
        await eventually(lambda: not served.opened.all())


@pytest.mark.slow
async def test_no_more_notebooks_than_agreed_are_open(tmp_path: Path, live: RunsTestbed, pool: KernelPool) -> None:
    async with serve(tmp_path / "folder", *live, pool=pool, lasting=LiveNotebookLimits(most=1)) as served:
        write(served, "x = 1", name="one.py")
        write(served, "x = 1", name="two.py")
        await served.post("/notebooks", {"path": "one.py"})
        refused = await served.post("/notebooks", {"path": "two.py"}, status=503)
        assert refused["error"]["hint"] == "Close one of them first."
        await served.post("/notebooks", {"path": "one.py"})


@pytest.mark.parametrize("path", ["../outside.py", "/etc/passwd", "link.py", "nothing.py", "plain.py", "a\0b", "data"])
async def test_only_notebooks_inside_the_folder_can_be_opened(served: Served, path: str) -> None:
    outside = served.folder.parent / "outside.py"
    outside.write_text(notebook_source("x = 1"))
    (served.folder / "link.py").symlink_to(outside)
    (served.folder / "plain.py").write_text("\0")
    (served.folder / "data").mkdir()
    answer = await served.client.post(f"{API}/notebooks", json={"path": path})
    assert answer.status_code in {400, 403, 404}, answer.text
    assert (await served.get("/kernels"))["kernels"] == []


async def test_secrets_are_masked_wherever_code_shows_them(served: Served) -> None:
    write(served, f"print('{PASSWORD}')\nsecret = '{PASSWORD}'\nsecret", f"raise ValueError('{PASSWORD}')")
    id = (await served.post("/notebooks", {"path": "sums.py"}))["id"]
    async with follow(served, id) as followed:
        ran = await served.post(f"/notebooks/{id}/run", {"cells": "all", "wait_seconds": 30})
        assert ran["cells"][1]["error"] == "ValueError: [masked password]"
        await followed.until("ran")
        told = json.dumps(followed.told)
    shown = [await served.get(f"/notebooks/{id}"), await served.get(f"/notebooks/{id}/variables"), told]
    assert "[masked password]" in json.dumps(shown)
    assert PASSWORD not in json.dumps(shown)


async def test_only_cells_that_are_there_are_run(served: Served) -> None:
    write(served, "x = 1", "y = x")
    id = (await served.post("/notebooks", {"path": "sums.py"}))["id"]
    cells = [cell["id"] for cell in (await served.get(f"/notebooks/{id}"))["cells"]]
    ran = await served.post(f"/notebooks/{id}/run", {"cells": cells[:1], "wait_seconds": 30})
    assert [cell["cell"] for cell in ran["cells"]] == cells
    await served.post(f"/notebooks/{id}/run", {"cells": ["nowhere"]}, status=404)
    await served.post(f"/notebooks/{id}/run", {"cells": "some"}, status=422)
    await served.post("/notebooks/nowhere/run", {"cells": "all"}, status=404)


@dataclass
class Editor:
    """An editor's door that tells whom it let in."""

    let_in: list[tuple[Path, str]] = field(default_factory=list[tuple[Path, str]])

    async def address(self, notebook: OpenNotebook, *, person: str) -> str:
        self.let_in.append((notebook.path, person))
        return "http://127.0.0.1:1/once"


async def test_the_editor_of_a_notebook_is_found_and_the_notebook_opened_for_it(
    tmp_path: Path, live: RunsTestbed, pool: KernelPool
) -> None:
    editor = Editor()
    async with serve(tmp_path / "folder", *live, pool=pool, editor=editor) as served:
        path = write(served, "x = 1")
        [line] = (await served.get("/notebooks"))["notebooks"]
        assert await served.post(f"/notebooks/{line['id']}/editor") == {"url": "http://127.0.0.1:1/once"}
        assert editor.let_in == [(path.resolve(), "ada")]
        assert served.opened.all().keys() == {line["id"]}
        await served.post("/notebooks/nowhere/editor", status=404)


async def test_where_the_editor_cannot_be_shown_it_says_why_and_all_else_works(served: Served) -> None:
    write(served, "x = 1")
    id = (await served.post("/notebooks", {"path": "sums.py"}))["id"]
    refused = await served.post(f"/notebooks/{id}/editor", status=503)
    assert "another marimo is installed" in refused["error"]["message"]
    await served.get(f"/notebooks/{id}")


async def test_who_may_only_read_changes_nothing(served: Served) -> None:
    write(served, "x = 1")
    id = (await served.post("/notebooks", {"path": "sums.py"}))["id"]
    reader = {"headers": served.bearing("read")}
    await served.get("/notebooks", **reader)
    await served.get(f"/notebooks/{id}", **reader)
    for path in ("", f"/{id}/run", f"/{id}/interrupt", f"/{id}/editor"):
        await served.post(f"/notebooks{path}", {"path": "sums.py"} if not path else {}, status=403, **reader)
    await served.ask("DELETE", f"/notebooks/{id}", status=403, **reader)
    notebook = served.opened.find(id)
    assert notebook is not None
    assert notebook.outcomes == {}
    assert list(served.opened.all()) == [id]
