"""First steps over HTTP: the analyst on bundled data, and the tutorial notebook."""

from __future__ import annotations

import os
from collections.abc import AsyncGenerator
from pathlib import Path

import anyio
import pytest

from cellwright.app.datasets import DATASETS, TUTORIAL_TITLE, copy_dataset, dataset_named, write_tutorial
from cellwright.app.runs import RunOptions, Runs, open_runs
from cellwright.kernel.pool import KernelPool
from cellwright.models.client.gateway_process import GatewayLaunch
from cellwright.notebook.files import read
from cellwright.notebook.marimo_check import check
from cellwright.runs.views.run_view import first_goal
from cellwright.settings import Settings
from tests.house.places import ROOT
from tests.server.http.a_served_folder import SECONDS, Served, serve


@pytest.fixture(scope="module")
async def live(tmp_path_factory: pytest.TempPathFactory) -> AsyncGenerator[tuple[Settings, Runs]]:
    folder = tmp_path_factory.mktemp("live")
    settings = Settings(home=folder / "home", cache=folder / "cache", environment={"PATH": os.defpath})
    launch = GatewayLaunch(home=settings.home, environment=settings.environment, idle_seconds=1)
    async with open_runs(settings, options=RunOptions(launch=launch)) as runs:
        yield settings, runs


@pytest.fixture(scope="module")
async def door(
    tmp_path_factory: pytest.TempPathFactory, live: tuple[Settings, Runs], pool: KernelPool
) -> AsyncGenerator[Served]:
    async with serve(tmp_path_factory.mktemp("served") / "folder", *live, pool=pool) as opened:
        yield opened


@pytest.fixture
async def served(door: Served) -> AsyncGenerator[Served]:
    yield door
    await door.clear()


def test_the_bundled_data_is_that_of_the_examples(tmp_path: Path) -> None:
    for dataset in DATASETS:
        for copied in copy_dataset(dataset, tmp_path):
            assert copied.read_bytes() == (ROOT / "examples/data" / copied.name).read_bytes()


def test_bundled_files_are_never_put_over_a_persons_own(tmp_path: Path) -> None:
    penguins = dataset_named("penguins")
    (tmp_path / "data").mkdir()
    (tmp_path / "data/penguins.csv").write_text("mine")
    assert copy_dataset(penguins, tmp_path) == (tmp_path / "data/penguins-2.csv",)
    assert copy_dataset(penguins, tmp_path) == (tmp_path / "data/penguins-2.csv",)
    assert (tmp_path / "data/penguins.csv").read_text() == "mine"
    assert write_tutorial(tmp_path) == write_tutorial(tmp_path) == tmp_path / "tutorial.py"
    (tmp_path / "tutorial.py").write_text("worked in")
    assert write_tutorial(tmp_path) == tmp_path / "tutorial-2.py"


@pytest.mark.slow
async def test_a_newcomer_is_offered_data_and_the_analyst_begins_to_work_on_it(served: Served) -> None:
    offered = await served.get("/onboarding", headers=served.bearing("read"))
    assert offered["is_first"]
    assert [each["id"] for each in offered["datasets"]] == ["shop", "penguins"]
    assert offered["tutorial"] == TUTORIAL_TITLE

    run = (await served.post("/onboarding/penguins"))["run"]

    goal = None
    with anyio.fail_after(SECONDS):
        while run not in served.testbed.live.notebooks or goal is None:
            await anyio.sleep(0.01)
            goal = await first_goal(served.testbed.live.records, run)
    assert goal.words == dataset_named("penguins").question
    assert (goal.models, goal.person) == (("analyst",), "ada")
    assert goal.data == (str(served.folder / "data/penguins.csv"),)
    assert Path(goal.notebook).parent == served.folder
    kernels = await served.get("/kernels")
    assert [each["run"] for each in kernels["kernels"]] == [run]
    assert kernels["queue"] == {"waiting": 0, "at_work": 1}
    assert (await served.get(f"/notebooks/{run}"))["run"] == run
    await served.testbed.live.cancel(run)
    assert not (await served.get("/onboarding"))["is_first"]


@pytest.mark.slow
async def test_there_is_no_other_data_set(served: Served) -> None:
    for name in ("nothing", "penguins.csv", "tutorial.py"):
        answer = await served.post(f"/onboarding/{name}", status=404)
        assert answer["error"]["kind"] == "not_found"
    await served.post("/onboarding/penguins", status=403, headers=served.bearing("read"))
    assert [*served.folder.iterdir()] == []


@pytest.mark.slow
async def test_the_tutorial_is_written_opened_and_runs_without_a_mistake(served: Served) -> None:
    id = (await served.post("/onboarding/tutorial"))["id"]
    ran = await served.post(f"/notebooks/{id}/run", {"cells": "all", "wait_seconds": 30})
    assert {cell["status"] for cell in ran["cells"]} == {"ok"}
    document = read(served.folder / "tutorial.py").document
    assert await check(document) == []
    assert all(cell["name"] != "_" for cell in (await served.get(f"/notebooks/{id}"))["cells"])
