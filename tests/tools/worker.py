"""A worker for tests: `python -m tests.tools.worker JOURNAL FOLDER CRASH-POINT|-` runs `act` with one action.

What the action does is a line in `world.txt`; what became of it stands in `result.json`.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

import anyio

from cellwright.journal.crash import CrashPoint, carry_on, crash_at
from cellwright.policy.actions import Action
from tests.tools.guard_driver import RATES, open_guard_driver


async def main(where: str, folder: Path, crash: str) -> None:
    def did(action: Action) -> None:
        with (folder / "world.txt").open("a") as world:
            world.write(f"{action.kind}\n")

    at = carry_on if crash == "-" else crash_at(CrashPoint(crash))
    async with open_guard_driver(where, did=did, chain_key=None, at_crash_point=at) as driver:
        await driver.act("rates", RATES)
        result = json.dumps(await driver.journal.result("rates"))
        await anyio.Path(folder / "result.json").write_text(result)


if __name__ == "__main__":
    _, where, folder, crash = sys.argv
    anyio.run(main, where, Path(folder), crash)
