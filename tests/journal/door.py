"""A door in a process of its own, for tests: answers the one open question, and dies where told."""

from __future__ import annotations

from collections.abc import Sequence

import anyio

from cellwright.journal.crash import CrashPoint, crash_at
from cellwright.journal.events import Fact
from cellwright.journal.records import Records
from tests.journal.sixty import KEY

GRANTS = "grants"


async def main(where: str, point: str) -> None:
    async with Records.open(where, chain_key=KEY, at_crash_point=crash_at(CrashPoint(point))) as records:
        [question] = await records.questions.pending()
        follows = Fact(topic="granted", subject=question.id)
        await records.questions.answer(question.id, "yes", by="ada", also=[(GRANTS, follows)])


def start(arguments: Sequence[str]) -> None:
    """What the warm process calls in a fork."""
    anyio.run(lambda: main(*arguments))
