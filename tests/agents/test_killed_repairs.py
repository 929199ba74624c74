"""kill -9 in the middle of a mend: between what was decided and what is done about it, and inside that."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from cellwright.journal.crash import CrashPoint
from cellwright.models.client.gateway_client import Models
from cellwright.testing import CallTool
from cellwright.tools.history.timeline import read_timeline
from tests.agents.driver import DONE
from tests.agents.forked import Forker
from tests.agents.killed_worker import recorded_steps
from tests.agents.test_killed import gateway, report, run
from tests.agents.test_notebook_work import apply, create
from tests.agents.test_repair_loop import NO_HOST
from tests.models.testbed import ModelTestbed

__all__ = ["gateway"]

ANYWHERE = [
    pytest.param(CrashPoint.STEP_WORKED, "tool apply", id="inside the call that failed, or right behind it"),
    pytest.param(CrashPoint.STEP_COMMITTED, "mend 1", id="between the decision and the call", marks=pytest.mark.slow),
    pytest.param(CrashPoint.EFFECT_INTENDED, "mend 1", id="inside the call, before its effect", marks=pytest.mark.slow),
    pytest.param(CrashPoint.EFFECT_HAPPENED, "mend 1", id="inside the call, behind its effect"),
]


def revisions(testbed: ModelTestbed) -> list[str]:
    """Which calls changed the notebook, as its history remembers it."""
    timeline = read_timeline(testbed.home / "desk.json")
    assert timeline is not None
    assert timeline.pending is None
    return [revision.key for revision in timeline.revisions]


POINTS = [
    pytest.param(CrashPoint.STEP_COMMITTED, marks=[pytest.mark.slow, pytest.mark.rare]),
    pytest.param(CrashPoint.EFFECT_INTENDED, marks=pytest.mark.slow),
    CrashPoint.EFFECT_HAPPENED,
]


@pytest.mark.slow
@pytest.mark.parametrize(("point", "behind"), ANYWHERE)
async def test_a_repair_that_is_killed_is_taken_up_again_and_done_once(
    testbed: ModelTestbed,
    where: Path,
    forker: Forker,
    gateway: Models,
    write_notebook: Callable[..., Path],
    point: CrashPoint,
    behind: str,
) -> None:
    path = write_notebook("import math")
    testbed.provider.script(apply(create("import math\nroot = math.sqrt(16)\nroot", name="root")), DONE)
    assert await run(forker, testbed, where, point, behind, str(path)) == -9
    assert recorded_steps(where).count("tool apply") == 1
    assert await run(forker, testbed, where, "-", 1, str(path)) == 0
    assert recorded_steps(where).count("tool apply") == 2
    assert recorded_steps(where).count("mend 1") == 1
    assert revisions(testbed) == ["r/s1c1", "r/s1m1"]
    text = path.read_text()
    assert (text.count("import math"), text.count("root = math.sqrt(16)")) == (1, 1)
    assert len(testbed.provider.charged) == 2
    told = str(testbed.provider.requests[1].body["messages"])
    assert "Done for you, because it was certain: s1m1." in told
    assert "root: float = 4.0, the output" in told
    assert report(where.parent)["outcome"] == "finished"


@pytest.mark.slow
@pytest.mark.parametrize("point", POINTS)
async def test_a_repair_killed_while_it_looks_closer_leaves_no_cell_behind(
    testbed: ModelTestbed,
    where: Path,
    forker: Forker,
    gateway: Models,
    write_notebook: Callable[..., Path],
    point: CrashPoint,
) -> None:
    data = (
        "class Table:\n    columns = ['Unit Price ']\nimport pandas as pd\ndf = pd.DataFrame({'Unit Price ': [1, 2]})"
    )
    path = write_notebook(data)
    total = apply(create("total = df['unit price'].sum()\ntotal", name="total"))
    edit = {"op": "edit", "cell": "total", "base_version": 1, "code": "total = df['Unit Price '].sum()\ntotal"}
    testbed.provider.script(CallTool("run", {"cells": "all"}), total, apply(edit), DONE)
    assert await run(forker, testbed, where, point, "mend 2", str(path)) == -9
    assert "_reading" not in path.read_text()
    assert await run(forker, testbed, where, "-", 1, str(path)) == 0
    assert "_reading" not in path.read_text()
    assert "df['Unit Price ']" in path.read_text().replace('"', "'")
    assert recorded_steps(where).count("tool try_code") == 1
    assert revisions(testbed) == ["r/s2c1", "r/s3c1"]
    assert len(testbed.provider.charged) == 4
    assert report(where.parent)["outcome"] == "finished"


@pytest.mark.parametrize("point", POINTS)
async def test_permission_that_was_given_counts_in_the_next_process_too(
    testbed: ModelTestbed,
    where: Path,
    forker: Forker,
    gateway: Models,
    write_notebook: Callable[..., Path],
    point: CrashPoint,
) -> None:
    path = write_notebook("x = 1")
    testbed.provider.script(apply(create(NO_HOST, name="fetch")), DONE)
    assert await run(forker, testbed, where, point, "judge use-network", str(path)) == -9
    assert await run(forker, testbed, where, "-", 1, str(path)) == 0
    let = [line.split(maxsplit=1) for line in (where.parent / "let.txt").read_text().splitlines()]
    assert len(let) == (1 if point is CrashPoint.STEP_COMMITTED else 2)
    assert len({pid for pid, _ in let}) == len(let)
    steps = recorded_steps(where)
    assert (steps.count("judge use-network"), steps.count("tool run")) == (1, 1)
    assert report(where.parent)["outcome"] == "finished"
