"""`cellwright mcp` as a real process before a real daemon, by the SDK's own client in both eras."""

from __future__ import annotations

import sys
from collections.abc import Generator
from contextlib import closing
from pathlib import Path
from typing import Any

import anyio
import pytest
from mcp import Client, StdioServerParameters

from cellwright.server.daemon.connection import find_or_start_daemon
from cellwright.server.daemon.launch import package_version
from tests.cli.in_process import run_here
from tests.conftest import notebook_source
from tests.server.a_daemon import ASK
from tests.server.daemon_testbed import SECONDS, DaemonTestbed, eventually
from tests.server.mcp.test_mcp_over_http import ERAS, Answering, text_of

PROGRAM = str(Path(sys.executable).parent / "cellwright")


def a_client(home: Path, folder: Path, era: str, person: Answering | None = None) -> Client:
    """A client that was started in this folder."""
    folder.mkdir(exist_ok=True)
    server = StdioServerParameters(command=PROGRAM, args=["mcp"], cwd=folder, env={"CELLWRIGHT_HOME": str(home)})
    return Client(server, mode=era, elicitation_callback=person, read_timeout_seconds=SECONDS)


def start_daemon(testbed: DaemonTestbed) -> None:
    """One of this very version, with tiny runs: only that is spoken with."""
    with closing(find_or_start_daemon(testbed.settings, testbed.launch(package_version()), lambda _: None)):
        pass


@pytest.fixture
def up(testbed: DaemonTestbed) -> Generator[DaemonTestbed]:
    start_daemon(testbed)
    yield testbed


def observed(result: Any) -> Any:
    assert not result.is_error, text_of(result)
    return result.meta["cellwright/observation"]


async def started(client: Client, words: str) -> str:
    return observed(await client.call_tool("start_run", {"goal": words, "models": ["near:one"]}))["run"]


@ERAS
async def test_a_run_is_started_in_the_clients_folder_and_its_question_answered_by_its_person(
    up: DaemonTestbed, era: str
) -> None:
    person = Answering(action="accept", content={"answer": "yes"})
    async with a_client(up.home, up.folder / "project", era, person) as client:
        assert len((await client.list_tools()).tools) == 10
        run = await started(client, ASK)
        told = observed(await client.call_tool("follow_run", {"run": run}))
    assert told["is_over"]
    assert [each.message for each in person.seen] == ["Go on?"]
    async with up.records() as records:
        status = await records.status(run)
    assert status.standing == "done"


@pytest.mark.slow
async def test_a_run_goes_on_under_its_name_when_the_daemon_is_killed(up: DaemonTestbed) -> None:
    up.hold()
    with pytest.raises(BaseExceptionGroup):
        async with a_client(up.home, up.folder / "project", "2026-07-28") as client:
            run = await started(client, "why?")
            await anyio.to_thread.run_sync(eventually, lambda: up.is_begun(run, "second"))
            await anyio.to_thread.run_sync(up.kill)
            await client.call_tool("follow_run", {"run": run})
    up.let_go()
    await anyio.to_thread.run_sync(start_daemon, up)
    async with a_client(up.home, up.folder / "project", "legacy") as client:
        while not observed(await client.call_tool("follow_run", {"run": run}))["is_over"]:
            pass
    assert up.worked(run)[-1] == "third"


@pytest.mark.slow
async def test_two_clients_with_notebooks_of_one_name_do_not_mix(up: DaemonTestbed) -> None:
    folders = [up.folder / "ours", up.folder / "theirs"]
    for number, folder in enumerate(folders):
        folder.mkdir()
        (folder / "sums.py").write_text(notebook_source("import marimo as mo", f"x = {number}", "x + 40"))
    async with (
        a_client(up.home, folders[0], "legacy") as ours,
        a_client(up.home, folders[1], "2026-07-28") as theirs,
    ):
        for _ in range(2):
            for number, client in enumerate((ours, theirs)):
                ran = await client.call_tool("run_cells", {"notebook": "sums.py", "cells": "all"})
                assert {each["status"] for each in observed(ran)["cells"]} == {"ok"}
                seen = await client.call_tool("look", {"notebook": "sums.py"})
                assert f"-> {40 + number}" in text_of(seen)
                assert f"-> {41 - number}" not in text_of(seen)
                listed = observed(await client.call_tool("list_notebooks", {}))["notebooks"]
                assert [(each["path"], each["is_live"]) for each in listed] == [("sums.py", True)]
                made = {"notebook": "sums.py", "edits": [{"op": "create", "code": f"{number} + x", "name": "more"}]}
                assert f"-> {2 * number}" in text_of(await client.call_tool("apply", made))
                undone = await client.call_tool("undo", {"notebook": "sums.py"})
                assert len(observed(undone)["changes"]) == 1
        other = observed(await theirs.call_tool("list_notebooks", {}))["notebooks"][0]["id"]
        refused = await ours.call_tool("look", {"notebook": other})
        assert refused.is_error


@pytest.mark.slow
async def test_the_first_client_starts_a_daemon_and_a_goal_is_reached_without_a_key(tmp_path: Path) -> None:
    home, folder = tmp_path / "home", tmp_path / "project"
    folder.mkdir()
    (folder / "sales.csv").write_text("month,revenue\n1,10\n2,20\n3,5\n")
    goal = {"goal": "Which month has the highest revenue?", "data": ["sales.csv"], "models": ["analyst"]}
    try:
        async with a_client(home, folder, "auto") as client:
            run, after, lines = observed(await client.call_tool("start_run", goal))["run"], 0, list[str]()

            async def hear(progress: float, total: float | None, message: str | None) -> None:
                lines.append(message or "")

            while True:
                result = await client.call_tool("follow_run", {"run": run, "after": after}, progress_callback=hear)
                if (told := observed(result))["is_over"]:
                    break
                after = told["last"]
            assert "2 has the most revenue" in text_of(result)
            assert "building" in lines
            report = await client.read_resource(f"cellwright://runs/{run}/report")
            assert "2 has the most revenue" in report.contents[0].text  # pyrefly: ignore
            notebook = await client.read_resource(f"cellwright://runs/{run}/notebook")
            assert "marimo.App" in notebook.contents[0].text  # pyrefly: ignore
    finally:
        await anyio.to_thread.run_sync(lambda: run_here(home, "serve", "stop", code=None))
