"""A run for tests of doors: it tells of three branches, two of which wait for a person, and says what was decided."""

from __future__ import annotations

from typing import Any, Final

import anyio

from cellwright.journal.flow import Flow, Workflow
from cellwright.journal.journal import Journal
from cellwright.tools.notebook.trial_records import TrialRecord, TrialVariable, ask_which


def three(run: str) -> list[TrialRecord]:
    """As `try_alternatives` tells them."""
    group = f"{run}/c0"
    value = TrialVariable(name="average", type="int", after="2")
    return [
        TrialRecord(
            branch=f"{group}.2", purpose="median", group=group, status="passed", variables=(value,), waits=True
        ),
        TrialRecord(branch=f"{group}.1", purpose="mean", group=group, status="failed", waits=True),
        TrialRecord(branch=f"{group}.3", purpose="broken", group=group, status="failed"),
    ]


async def _body(flow: Flow, _: Any) -> dict[str, Any]:
    tried = three(flow.id)
    await flow.tell(*tried)
    decision = await ask_which(flow, tried)
    return {"accepted": decision.accepted, "by": decision.by, "dropped": dict(decision.dropped)}


WAITS: Final = Workflow(name="run", body=_body)


async def waits(journal: Journal, run: str) -> None:
    """Begin such a run, and come back when it asks."""
    await journal.run("run", None, run=run)
    with anyio.fail_after(120):
        news = journal.log.growth.next()
        while not await journal.records.questions.pending(run):
            await news.wait()
            news = journal.log.growth.next()


async def decided(journal: Journal, run: str) -> dict[str, Any]:
    """What it was told."""
    with anyio.fail_after(120):
        return await journal.result(run)
