"""A worker for tests that kill: one assignment whose agent calls the odd server. `HOME WHERE NOTEBOOK CRASH-POINT`."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import anyio

from cellwright.app.tool_server_use import ServerUse
from cellwright.journal.crash import CrashPoint, carry_on, crash_at
from tests.agents.driver import an_assignment
from tests.app.agents_at_work import open_agents_at_work
from tests.models.testbed import ModelTestbed, Warm


async def main(home: str, where: str, notebook: str, point: str) -> None:
    at = carry_on if point == "-" else crash_at(CrashPoint(point), 1)
    # The provider and the gateway live elsewhere, and outlive this process.
    elsewhere: Any = None
    testbed = ModelTestbed(home=Path(home), provider=elsewhere, warm=Warm(socket="/nowhere"))
    servers = ServerUse(names=("odd",))
    async with open_agents_at_work(testbed, Path(where), Path(notebook), servers=servers, at_crash_point=at) as driver:
        await driver.work(an_assignment())


def start(arguments: Sequence[str]) -> None:
    """What the warm process calls in a fork."""
    anyio.run(lambda: main(*arguments))
