"""kill -9 in the middle of an agent's work in a real studio: opened again elsewhere, it has done everything once."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import anyio
import anyio.to_thread
import pytest

from cellwright.journal.crash import CrashPoint
from cellwright.journal.records import Records
from cellwright.models.client.gateway_client import Models
from cellwright.policy.approvals import Yes
from cellwright.runs.events import EVENT_TYPES
from cellwright.testing import CallTool
from cellwright.tools.approval.inbox import Inbox, InboxItem
from tests.agents.driver import ADA, DONE, KEY, MASKER
from tests.agents.forked import Forker
from tests.models.testbed import ModelTestbed
from tests.sandbox.egress.world import HOST, World

FETCH = """
made = await apply([{{'op': 'create', 'name': 'birds', 'code': "birds = pd.read_csv('{url}')"}}])
made['ok']
"""
COMMIT = """
made = await apply([{'op': 'create', 'name': 'heavy', 'code': "heavy = int((birds['grams'] > 10).sum())\\nheavy"}])
diff = await git_diff(['notebook.py'])
kept = await git_commit('birds', 'Count heavy birds', diff['state'], ['notebook.py'])
[made['ok'], kept['branch']]
"""


async def asked(records: Records) -> InboxItem:
    """The one question that comes, as another process sees it."""
    desk = Inbox(records, masker=MASKER)
    with anyio.fail_after(120):
        while True:
            grown = records.log.growth.next()
            if pending := await desk.pending():
                return pending[0]
            await grown.wait()


async def say_yes(records: Records) -> str:
    """Answer it, at a door of its own."""
    question = (await asked(records)).question
    await Inbox(records, masker=MASKER).answer(question.id, Yes(reach="once"), ADA, question.fingerprint)
    return question.describe()


@pytest.fixture(scope="module")
def workers(forker: Forker) -> Forker:
    return forker.of("tests.app.killed_workspace")


@dataclass(frozen=True, slots=True, kw_only=True)
class Killing:
    """Processes at work on the assignment, one after the other."""

    workers: Forker
    testbed: ModelTestbed
    where: Path
    notebook: Path

    async def start(self, point: str = "-", visit: int = 1) -> int:
        words = [self.testbed.home, self.where, self.notebook, point, visit]
        return await anyio.to_thread.run_sync(self.workers.start, *map(str, words))

    async def wait(self, pid: int) -> int:
        return await anyio.to_thread.run_sync(self.workers.wait, pid)

    async def kill(self, pid: int) -> None:
        await anyio.to_thread.run_sync(self.workers.kill, pid)

    async def run(self, point: str = "-", visit: int = 1) -> int:
        """One process, and how it ended."""
        return await self.wait(await self.start(point, visit))


def report(where: Path) -> dict[str, Any]:
    return json.loads(where.with_name("report.json").read_text())


def git(folder: Path, *words: str) -> str:
    command = ["git", "-c", "user.name=Ada", "-c", "user.email=ada@example.org", *words]
    return subprocess.run(command, cwd=folder, check=True, capture_output=True, text=True).stdout


@pytest.mark.slow
async def test_a_workspace_opened_again_after_two_kills_has_done_everything_once(
    testbed: ModelTestbed, where: Path, project: Callable[..., Path], internet: World, workers: Forker
) -> None:
    path = project("import pandas as pd")
    killing = Killing(workers=workers, testbed=testbed, where=where, notebook=path)
    git(path.parent, "init", "-q", "-b", "main")
    git(path.parent, "add", ".")
    git(path.parent, "commit", "-q", "-m", "begin")
    (testbed.home / "rules.toml").write_text(
        '[[rule]]\naction = "git-commit"\nthen = "allow"\nbranches = ["cellwright/*"]\n'
    )
    testbed.provider.script(
        CallTool("run_program", {"code": FETCH.format(url=internet.url("/birds.csv"))}),
        CallTool("run_program", {"code": COMMIT}),
        DONE,
    )
    codes: list[int] = []
    async with (
        Models.open(testbed.home, launch=testbed.launch()),
        Records.open(where, chain_key=KEY, types=EVENT_TYPES) as records,
    ):
        # Leave was given, the cell has run again, and nobody has written that down.
        first = await killing.start(CrashPoint.EFFECT_HAPPENED, 2)
        assert f"Connect to {HOST}" in await say_yes(records)
        codes.append(await killing.wait(first))
        # The commit is in the repository, and the program that made it was not told.
        codes.append(await killing.run(CrashPoint.EFFECT_HAPPENED, 3))
        codes.append(await killing.run())
        assert await records.questions.pending() == []
    assert codes == [-9, -9, 0]
    told = report(where)
    assert (told["outcome"], told["turns"], told["answer"]) == ("finished", 3, "42")
    assert len(testbed.provider.charged) == 3
    read = str(testbed.provider.requests[2].body["messages"])
    assert '[true, "cellwright/birds"]' in read
    # With the leave that was given before the kills: none of them has failed.
    assert "The process was restarted; 3 cells were run again." in read
    text = path.read_text()
    assert (text.count("pd.read_csv"), text.count("heavy = int(")) == (1, 1)
    assert git(path.parent, "log", "--format=%s", "cellwright/birds").splitlines() == ["Count heavy birds", "begin"]


@pytest.mark.slow
async def test_a_person_may_answer_while_no_process_is_there_and_the_next_one_goes_on(
    testbed: ModelTestbed, where: Path, project: Callable[..., Path], internet: World, workers: Forker
) -> None:
    path = project("import pandas as pd")
    killing = Killing(workers=workers, testbed=testbed, where=where, notebook=path)
    fetch = FETCH.format(url=internet.url("/birds.csv"))
    testbed.provider.script(CallTool("run_program", {"code": fetch}), DONE)
    async with (
        Models.open(testbed.home, launch=testbed.launch()),
        Records.open(where, chain_key=KEY, types=EVENT_TYPES) as records,
    ):
        waiting = await killing.start()
        await asked(records)
        await killing.kill(waiting)
        assert internet.http.requests == []
        await say_yes(records)
        assert await killing.run() == 0
    assert (report(where)["outcome"], report(where)["turns"]) == ("finished", 2)
    assert len(testbed.provider.charged) == 2
    assert [asked[2] for asked in internet.http.requests] == ["/birds.csv"]
    assert path.read_text().count("pd.read_csv") == 1
