"""A worker for tests that takes jobs from queues; each job leaves a line when it begins and one when it ends."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import anyio

from cellwright.journal.flow import Flow, Workflow
from cellwright.journal.journal import Journal
from tests.journal.sixty import KEY, leave

_WORK_SECONDS = 0.01


def workflows(folder: Path) -> list[Workflow]:
    async def job(flow: Flow, argument: Any) -> int:
        async def work() -> int:
            leave(folder / "jobs.txt", f"begin {argument}")
            await anyio.sleep(_WORK_SECONDS)
            leave(folder / "jobs.txt", f"end {argument}")
            return os.getpid()

        return await flow.step("job", work)

    return [Workflow(name="job", body=job)]


async def main(where: str, folder: str) -> None:
    async with Journal.open(where, version="1", workflows=workflows(Path(folder)), chain_key=KEY):
        leave(Path(folder) / "up.txt", str(os.getpid()))
        await anyio.sleep_forever()


def start(arguments: Sequence[str]) -> None:
    """What the warm process calls in a fork."""
    anyio.run(lambda: main(*arguments))
