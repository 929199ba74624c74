"""The files of a run over HTTP: what it made and nothing else, to keep or, in a sandbox, to look at."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.models.houses import Warm
from tests.runs.factory import apply, create, finish, plan, task
from tests.server.web.a_factory_door import Works, open_works
from tests.server.web.a_served_folder import API


@pytest.fixture(scope="module")
async def works(
    tmp_path_factory: pytest.TempPathFactory, warm_gateway: Warm, cache: Path
) -> AsyncGenerator[tuple[Works, str]]:
    """One run that has delivered."""
    async with open_works(tmp_path_factory.mktemp("works"), warm_gateway, cache) as opened:
        opened.factory.script(plan(task()), apply(create("total = 42", "total")), finish("42"), finish("It is 42."))
        run = await opened.start()
        assert (await opened.factory.delivery(run)).status == "done"
        yield opened, run


async def read(works: Works, run: str, name: str, **more: Any) -> httpx.Response:
    return await works.served.client.get(f"{API}/runs/{run}/artifacts/{name}", **more)


async def test_a_run_has_its_notebook_its_report_and_its_proof(works: tuple[Works, str]) -> None:
    opened, run = works
    found = (await opened.served.get(f"/runs/{run}/artifacts"))["artifacts"]
    assert [(each["name"], each["kind"]) for each in found] == [
        ("sums.py", "notebook"),
        ("sums.report.html", "report"),
        ("sums.proof.json", "proof"),
    ]
    for each in found:
        answer = await read(opened, run, each["name"])
        assert len(answer.content) == each["bytes"]
        assert answer.headers["content-disposition"] == f"attachment; filename*=UTF-8''{each['name']}"
        assert answer.headers["x-content-type-options"] == "nosniff"
    assert (await read(opened, run, "sums.py")).text == opened.factory.notebook()
    assert (await read(opened, run, "sums.proof.json")).json()["proof"]["notebook"] == "sums.py"


async def test_a_report_to_look_at_may_run_nothing_and_reach_nobody(works: tuple[Works, str]) -> None:
    opened, run = works
    answer = await read(opened, run, "sums.report.html", params={"inline": "1"})
    assert "It is 42." in answer.text
    assert answer.headers["content-disposition"] == "inline"
    assert answer.headers["content-security-policy"] == (
        "sandbox; default-src 'none'; style-src 'unsafe-inline'; img-src data:"
    )
    notebook = await read(opened, run, "sums.py", params={"inline": "1"})
    assert notebook.headers["content-disposition"].startswith("attachment")


@pytest.mark.parametrize("name", ["other.csv", "..%2Fhouse%2Fkeys", "%2Fetc%2Fpasswd", "x" * 300])
async def test_no_other_file_is_given(works: tuple[Works, str], name: str) -> None:
    opened, run = works
    (opened.factory.project / "other.csv").write_text("a\n")
    assert (await read(opened, run, name)).status_code in {404, 422}


async def test_a_link_in_the_place_of_a_file_is_not_followed(works: tuple[Works, str], tmp_path: Path) -> None:
    opened, run = works
    report = opened.factory.project / "sums.report.html"
    kept = report.read_bytes()
    (tmp_path / "secret").write_text("do not read")
    report.unlink()
    report.symlink_to(tmp_path / "secret")
    try:
        assert (await read(opened, run, "sums.report.html")).status_code == 404
        names = [each["name"] for each in (await opened.served.get(f"/runs/{run}/artifacts"))["artifacts"]]
        assert names == ["sums.py", "sums.proof.json"]
    finally:
        report.unlink()
        report.write_bytes(kept)


async def test_of_a_run_that_is_not_there_nothing_is_given(works: tuple[Works, str]) -> None:
    opened, _ = works
    await opened.served.get("/runs/nobody/artifacts", status=404)
    assert (await read(opened, "nobody", "sums.py")).status_code == 404
