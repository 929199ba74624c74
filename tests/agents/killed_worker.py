"""A worker for tests that kill: does one assignment with tools that leave their traces in files, or in a notebook.

`HOME WHERE FOLDER CRASH-POINT VISIT TOOLS`: dies at the visit to that point (`-`: never), or where `VISIT` is the name
of a step, at the first visit once that is recorded; `TOOLS` is `files`, `programs` (the same in code mode) or the path
of a notebook. What came of the assignment stands in `report.json`, which hosts were let in `let.txt`.
"""

from __future__ import annotations

import json
import os
import sqlite3
from collections.abc import AsyncGenerator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Any

import anyio

from cellwright.agents.agent_context import PutIntoEffect
from cellwright.agents.programs import programs
from cellwright.app import open_notebook
from cellwright.journal.crash import AtCrashPoint, CrashPoint, carry_on, crash_at
from cellwright.journal.effects import EffectFinding, EffectFound, EffectNotFound
from cellwright.kernel.pool import KernelPool
from cellwright.kernel.session.open_notebook import OpenNotebook
from cellwright.policy.actions import Action
from cellwright.sandbox.host.tiers import probe
from cellwright.settings import Settings
from cellwright.tools.actions.worker import ActionWorker
from cellwright.tools.tool import CallContext, Tool, tool
from tests.agents.driver import a_role, an_assignment, finish, open_driver
from tests.models.testbed import ModelTestbed, Warm

RULES = '[[rule]]\naction = "use-network"\nthen = "allow"\nhosts = ["data.example"]\nreason = "Agreed."\n'


def file_tools(folder: Path) -> list[Tool]:
    """One reads, one adds a line to the world; each call leaves its key there, so that one can look for it."""
    world = folder / "world.txt"

    def lines() -> list[str]:
        return world.read_text().splitlines() if world.exists() else []

    async def find(_: Any, calling: CallContext) -> EffectFinding:
        return EffectFound() if calling.key in lines() else EffectNotFound()

    @tool()
    async def read() -> list[str]:
        """Read the world."""
        return lines()

    @tool(changes=True, find=find)
    async def add(calling: CallContext, note: str = "") -> str:
        """Change the world."""
        with world.open("a") as file:
            file.write(f"{calling.key}\n")
        return "added"

    return [read, add, finish]


async def main(home: str, where: str, folder: str, point: str, visit: str, tools: str) -> None:
    at = _crash(point, visit, where)
    # The provider and the gateway live elsewhere, and outlive this process.
    elsewhere: Any = None
    testbed = ModelTestbed(home=Path(home), provider=elsewhere, warm=Warm(socket="/nowhere"))
    async with _notebook(tools, Path(folder)) as notebook, _programs(tools, Path(folder)) as studio:
        here = file_tools(Path(folder)) if notebook is None else []
        await _work(testbed, where, Path(folder), here, notebook, at, studio)


def _crash(point: str, visit: str, where: str) -> AtCrashPoint:
    if point == "-":
        return carry_on
    if visit.isdigit():
        return crash_at(CrashPoint(point), int(visit))
    die = crash_at(CrashPoint(point))

    def at(reached: CrashPoint) -> None:
        if reached == point and visit in recorded_steps(where):
            die(reached)

    return at


def recorded_steps(where: str | Path) -> list[str]:
    """The names of the steps a journal holds, in their order."""
    database = sqlite3.connect(where)
    found = database.execute("SELECT function_name FROM operation_outputs ORDER BY function_id").fetchall()
    database.close()
    return [name for (name,) in found]


def _letting(folder: Path) -> PutIntoEffect:
    async def let(action: Action) -> None:
        with (folder / "let.txt").open("a") as file:
            file.write(f"{os.getpid()} {action.describe()}\n")

    return let


async def _work(
    testbed: ModelTestbed,
    where: str,
    folder: Path,
    tools: list[Tool],
    notebook: OpenNotebook | None,
    at: AtCrashPoint,
    studio: dict[str, Any],
) -> None:
    roles = [a_role(style="code" if "program" in studio else "tools")]
    async with open_driver(
        testbed, where, tools=tools, notebook=notebook, at_crash_point=at, roles=roles, studio=studio, rules=RULES
    ) as driver:
        report = await driver.work(an_assignment())
        await anyio.Path(folder / "report.json").write_text(json.dumps(asdict(report)))


@asynccontextmanager
async def _notebook(path: str, folder: Path) -> AsyncGenerator[OpenNotebook | None]:
    async with AsyncExitStack() as stack:
        if path in {"files", "programs"}:
            yield None
        else:
            settings = Settings(home=folder / "state", cache=folder / "cache")
            yield await stack.enter_async_context(open_notebook(path, settings=settings))


@asynccontextmanager
async def _programs(wanted: str, folder: Path) -> AsyncGenerator[dict[str, Any]]:
    async with AsyncExitStack() as stack:
        if wanted != "programs":
            yield {"put_into_effect": _letting(folder)}
            return
        pool = await stack.enter_async_context(KernelPool.open(folder / "zygote"))
        opening = ActionWorker.open(pool.zygote, tier=probe().tier)
        yield {"program": programs(await stack.enter_async_context(opening))}


def start(arguments: Sequence[str]) -> None:
    """What the warm process calls in a fork."""
    anyio.run(lambda: main(*arguments))
