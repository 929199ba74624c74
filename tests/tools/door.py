"""A door for tests: `python -m tests.tools.door JOURNAL CRASH-POINT` says yes for always to what waits, and dies."""

from __future__ import annotations

import sys

import anyio

from cellwright.journal import CrashPoint, Records, crash_at
from cellwright.policy.approvals import Yes
from cellwright.tools import Inbox
from tests.tools.office import ADA, KEY, MASKER


async def main(where: str, point: str) -> None:
    async with Records.open(where, chain_key=KEY, at_crash_point=crash_at(CrashPoint(point))) as records:
        desk = Inbox(records, masker=MASKER)
        [waiting] = await desk.pending()
        await desk.answer(waiting.question.id, Yes(reach="always"), ADA, waiting.question.fingerprint)


if __name__ == "__main__":
    _, where, point = sys.argv
    anyio.run(main, where, point)
