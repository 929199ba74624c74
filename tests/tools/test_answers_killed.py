"""A door that is killed while it answers: the lasting yes and the answer it follows from are both there, or neither."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import anyio.to_thread
import pytest

from cellwright.journal.crash import CrashPoint
from cellwright.journal.events import QuestionAnswered
from cellwright.journal.records import Records
from cellwright.policy.approvals import Yes
from cellwright.runs.events import EVENT_TYPES
from cellwright.tools.approval.inbox import Inbox
from tests.agents.forked import Forker
from tests.tools.guard_driver import ADA, KEY, MASKER, RATES, open_guard_driver


async def standing(where: Path) -> tuple[int, int, int]:
    """How many questions wait, answers were told, and lasting yeses hold."""
    async with Records.open(where, chain_key=KEY, types=EVENT_TYPES) as records:
        editor = Inbox(records, masker=MASKER)
        told = [recorded.event async for recorded in records.log.read_all("run:r")]
        answers = sum(isinstance(event, QuestionAnswered) for event in told)
        return len(await editor.pending()), answers, len(await editor.grants(datetime.now(UTC)))


@pytest.mark.sampled(2)
@pytest.mark.parametrize(
    ("point", "left"), [(CrashPoint.ANSWER_COMMITTING, (1, 0, 0)), (CrashPoint.ANSWER_COMMITTED, (0, 1, 1))]
)
async def test_an_answer_and_the_grant_it_gives_are_both_kept_or_neither(
    where: Path, forker: Forker, point: CrashPoint, left: tuple[int, int, int]
) -> None:
    async with open_guard_driver(where) as driver:
        await driver.act("r", RATES, RATES)
        await driver.asked()
    answering = forker.of("tests.tools.answering_process")
    assert await anyio.to_thread.run_sync(answering.run, str(where), point) == -9
    assert await standing(where) == left
    async with open_guard_driver(where) as driver:
        if point is CrashPoint.ANSWER_COMMITTING:
            asked = (await driver.asked()).question
            await driver.inbox.answer(asked.id, Yes(reach="always"), ADA, asked.fingerprint)
        assert await driver.outcomes("r") == ["done", "done"]
    assert await standing(where) == (0, 1, 1)
