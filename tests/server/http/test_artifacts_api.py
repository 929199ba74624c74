"""The files of a run over HTTP: what it made and nothing else, to keep or, in a sandbox, to look at."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from dataclasses import replace
from pathlib import Path
from typing import Any

import anyio
import httpx
import pytest

from cellwright.journal.names import stream_of
from cellwright.runs.deliver.delivery import Delivery
from cellwright.runs.events import GoalSet, RunDelivered
from tests.conftest import notebook_source
from tests.server.daemon_testbed import a_goal
from tests.server.http.a_served_folder import API, SECONDS, Served, serve, tiny_runs

RUN = "r"


@pytest.fixture(scope="module")
async def served(tmp_path_factory: pytest.TempPathFactory, template: Path) -> AsyncGenerator[Served]:
    """A run that has told what it delivered. That a whole one does is shown in `test_runs_api.py`."""
    folder = tmp_path_factory.mktemp("works")
    async with tiny_runs(folder, template) as tiny, serve(folder / "folder", *tiny) as opened:
        places = [opened.folder / "sums.py", opened.folder / "sums.report.html", folder / "home/4711.json"]
        notebook, report, proof = places
        notebook.write_text(notebook_source("total = 42"))
        report.write_text("<p>It is 42.</p>")
        proof.write_text('{"proof": {"notebook": "sums.py"}}')
        live, goal = opened.testbed.live, replace(a_goal(), notebook=str(notebook), project=str(opened.folder))
        await live.start(goal, run=RUN)
        delivery = Delivery(
            status="done", goal=goal.words, notebook=goal.notebook, report=str(report), proof=str(proof)
        )
        await live.records.log.append(stream_of(RUN), GoalSet(goal=goal), RunDelivered(delivery=delivery))
        with anyio.fail_after(SECONDS):
            # The row of the engine: there is no event to wait for.
            while (await live.records.status(RUN)).is_going:  # noqa: ASYNC110
                await anyio.sleep(0.01)
        yield opened


async def read(served: Served, name: str, run: str = RUN, **more: Any) -> httpx.Response:
    return await served.client.get(f"{API}/runs/{run}/artifacts/{name}", **more)


async def test_a_run_has_its_notebook_its_report_and_its_proof(served: Served) -> None:
    found = (await served.get(f"/runs/{RUN}/artifacts"))["artifacts"]
    assert [(each["name"], each["kind"]) for each in found] == [
        ("sums.py", "notebook"),
        ("sums.report.html", "report"),
        ("sums.proof.json", "proof"),
    ]
    for each in found:
        answer = await read(served, each["name"])
        assert len(answer.content) == each["bytes"]
        assert answer.headers["content-disposition"] == f"attachment; filename*=UTF-8''{each['name']}"
        assert answer.headers["x-content-type-options"] == "nosniff"
    assert (await read(served, "sums.py")).text == (served.folder / "sums.py").read_text()
    assert (await read(served, "sums.proof.json")).json()["proof"]["notebook"] == "sums.py"


async def test_a_report_to_look_at_may_run_nothing_and_reach_nobody(served: Served) -> None:
    answer = await read(served, "sums.report.html", params={"inline": "1"})
    assert "It is 42." in answer.text
    assert answer.headers["content-disposition"] == "inline"
    assert answer.headers["content-security-policy"] == (
        "sandbox; default-src 'none'; style-src 'unsafe-inline'; img-src data:"
    )
    notebook = await read(served, "sums.py", params={"inline": "1"})
    assert notebook.headers["content-disposition"].startswith("attachment")


@pytest.mark.parametrize("name", ["other.csv", "..%2Fhouse%2Fkeys", "%2Fetc%2Fpasswd", "x" * 300])
async def test_no_other_file_is_given(served: Served, name: str) -> None:
    (served.folder / "other.csv").write_text("a\n")
    assert (await read(served, name)).status_code in {404, 422}


async def test_a_link_in_the_place_of_a_file_is_not_followed(served: Served, tmp_path: Path) -> None:
    report = served.folder / "sums.report.html"
    kept = report.read_bytes()
    (tmp_path / "secret").write_text("do not read")
    report.unlink()
    report.symlink_to(tmp_path / "secret")
    try:
        assert (await read(served, "sums.report.html")).status_code == 404
        names = [each["name"] for each in (await served.get(f"/runs/{RUN}/artifacts"))["artifacts"]]
        assert names == ["sums.py", "sums.proof.json"]
    finally:
        report.unlink()
        report.write_bytes(kept)


async def test_of_a_run_that_is_not_there_nothing_is_given(served: Served) -> None:
    await served.get("/runs/nobody/artifacts", status=404)
    assert (await read(served, "sums.py", "nobody")).status_code == 404
