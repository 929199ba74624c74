"""A worker for tests: `JOURNAL FOLDER CRASH-POINT|-` makes one call.

What the call does is a line in `world.txt`; what became of it stands in `result.txt`.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import anyio

from cellwright.journal.crash import CrashPoint, carry_on, crash_at
from cellwright.journal.effects import EffectFinding, EffectFound, EffectNotFound
from cellwright.tools.tool import CallContext, Done, Tool, result_json, result_text, tool
from tests.tools.call_driver import open_driver
from tests.tools.guard_driver import SECRET


def posting(world: Path) -> Tool:
    """A tool whose effect is a line in a file."""

    async def find(_: Any, calling: CallContext) -> EffectFinding:
        line = f"posted {calling.key}"
        return (
            EffectFound(result=result_json(Done(text=f"{line} with {SECRET}")))
            if line in lines(world)
            else EffectNotFound()
        )

    @tool(changes=True, find=find)
    async def post(calling: CallContext) -> str:
        """Post a line."""
        with world.open("a") as file:
            file.write(f"posted {calling.key}\n")
        return f"posted {calling.key} with {SECRET}"

    return post


def lines(path: Path) -> list[str]:
    return path.read_text().splitlines() if path.exists() else []


async def main(where: str, folder: Path, crash: str) -> None:
    at = carry_on if crash == "-" else crash_at(CrashPoint(crash))
    async with open_driver(where, [posting(folder / "world.txt")], at_crash_point=at) as driver:
        result = await driver.call("post")
        await anyio.Path(folder / "result.txt").write_text(result_text(result))


def start(arguments: Sequence[str]) -> None:
    """What the warm process calls in a fork."""
    where, folder, crash = arguments
    anyio.run(main, where, Path(folder), crash)
