"""An interface for tests: `JOURNAL CRASH-POINT` answers and dies.

It says yes for always to what waits.
"""

from __future__ import annotations

from collections.abc import Sequence

import anyio

from cellwright.journal.crash import CrashPoint, crash_at
from cellwright.journal.records import Records
from cellwright.policy.approvals import Yes
from cellwright.runs.events import EVENT_TYPES
from cellwright.tools.approval.inbox import Inbox
from tests.tools.guard_driver import ADA, KEY, MASKER


async def main(where: str, point: str) -> None:
    async with Records.open(
        where, chain_key=KEY, at_crash_point=crash_at(CrashPoint(point)), types=EVENT_TYPES
    ) as records:
        inbox = Inbox(records, masker=MASKER)
        [waiting] = await inbox.pending()
        await inbox.answer(waiting.question.id, Yes(reach="always"), ADA, waiting.question.fingerprint)


def start(arguments: Sequence[str]) -> None:
    """What the warm process calls in a fork."""
    where, point = arguments
    anyio.run(main, where, point)
