"""Runs begin in one place of the daemon: goals of the same words at the same moment, through different doors."""

from __future__ import annotations

import anyio
import pytest
from mcp import Client

from cellwright.runs.views.run_view import first_goal
from tests.server.a_daemon import TELL
from tests.server.acp.an_editor import an_editor
from tests.server.daemon_testbed import SECONDS, DaemonTestbed
from tests.server.mcp.test_mcp_over_stdio import a_client, start_daemon, started


@pytest.fixture
def up(testbed: DaemonTestbed) -> DaemonTestbed:
    start_daemon(testbed)
    return testbed


async def test_the_same_words_at_the_same_moment_through_two_doors_get_a_notebook_each(up: DaemonTestbed) -> None:
    folder, runs = up.folder / "project", list[str]()
    async with (
        a_client(up.home, folder, "legacy") as one,
        a_client(up.home, folder, "2026-07-28") as other,
        an_editor(up.home, folder, "--model", "near:one") as editor,
    ):
        runs.append(await editor.new(folder))

        async def start(client: Client) -> None:
            runs.append(await started(client, TELL))

        with anyio.fail_after(SECONDS):
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(editor.say, runs[0], TELL)
                tasks.start_soon(start, one)
                tasks.start_soon(start, other)
    for run in runs:
        await up.until(run, "done")
    async with up.records() as records:
        goals = [await first_goal(records, run) for run in runs]
    assert len({goal.notebook for goal in goals if goal is not None}) == 3
