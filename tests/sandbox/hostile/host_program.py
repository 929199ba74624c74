"""A host like any other: it holds a secret in its environment, opens a pool, and runs cells as it is told.

Run as a script, as whatever user the test chose, with a directory for caches as the argument. It reads one JSON order
a line from stdin and answers each with one line. Being a process of its own, it can fall, grow or be killed, and the
test sees it.
"""

from __future__ import annotations

import json
import sys
from contextlib import AbstractAsyncContextManager, AsyncExitStack
from pathlib import Path
from typing import Any

import anyio
import anyio.to_thread

from cellwright.app import Files, open_notebook
from cellwright.errors import CellwrightError
from cellwright.kernel.observation import ConsoleText, Observation
from cellwright.kernel.pool import KernelPool
from cellwright.kernel.session.open_notebook import OpenNotebook
from cellwright.notebook.edits import CreateCell
from cellwright.sandbox.spec import Limits
from cellwright.settings import Settings

KEPT_CHARACTERS = 16 << 10
INTERRUPT_SECONDS = 30


class Host:
    """Carries out orders."""

    def __init__(self, pool: KernelPool, cache: Path, stack: AsyncExitStack) -> None:
        self._pool = pool
        self._settings = Settings(home=cache / "home", cache=cache)
        self._stack = stack
        self._neighbour: OpenNotebook | None = None

    async def obey(self, order: dict[str, Any]) -> dict[str, Any]:
        match order["do"]:
            case "attack":
                return await self._run_attack(order)
            case "neighbour":
                return await self._take_in_neighbour(order)
            case "neighbour leaves":
                await self._stack.aclose()
                return {"status": "gone"}
            case "ask neighbour":
                return await self._ask_neighbour(order["source"])
            case other:
                raise ValueError(other)

    async def _take_in_neighbour(self, order: dict[str, Any]) -> dict[str, Any]:
        self._neighbour = notebook = await self._stack.enter_async_context(self._open(order))
        assert notebook.live.kernel is not None
        return await self._ask_neighbour(order["source"]) | {"init": notebook.live.kernel.pid}

    def _open(self, order: dict[str, Any]) -> AbstractAsyncContextManager[OpenNotebook]:
        project = Path(order["project"])
        return open_notebook(
            project / "notebook.py",
            pool=self._pool,
            tier=order["tier"],
            limits=Limits(**order["limits"]),
            files=Files(mode="keep", project=project),
            settings=self._settings,
        )

    async def _run_attack(self, order: dict[str, Any]) -> dict[str, Any]:
        async with self._open(order) as notebook:
            seen = await self._watch(notebook, order)
        kept = [path for report in notebook.kept for path in report.kept]
        return seen | {
            "kept": len(kept),
            "refused": [refused for report in notebook.kept for refused in report.refused],
        }

    async def _watch(self, notebook: OpenNotebook, order: dict[str, Any]) -> dict[str, Any]:
        end, total, last = "", 0, None
        call = notebook.apply([CreateCell(code=order["source"])])
        with anyio.move_on_after(order["patience"]) as patience:
            async for event in call:
                if isinstance(event, ConsoleText):
                    total += len(event.text.encode())
                    end = (end + event.text)[-KEPT_CHARACTERS:]
                    if order["interrupt"] and '"ready"' in end:
                        with anyio.fail_after(INTERRUPT_SECONDS):
                            await notebook.interrupt()
                elif isinstance(event, Observation):
                    last = event
        return {"console": end, "console_bytes": total, **_ending(last, is_over=not patience.cancelled_caught)}

    async def _ask_neighbour(self, source: str) -> dict[str, Any]:
        assert self._neighbour is not None
        observation = await self._neighbour.apply([CreateCell(code=source)])
        assert observation.kernel_end is None, observation
        return {"console": observation.cells[-1].console, "status": observation.cells[-1].status}


def _ending(last: Observation | None, *, is_over: bool) -> dict[str, Any]:
    if last is None or not is_over:
        return {"ended": "outlived", "why": "the call did not come to its end"}
    problem = last.problem or next((f"{cell.error}" for cell in last.cells if cell.error), "")
    if last.kernel_end is None:
        return {"ended": "finished", "why": problem, "cells": len(last.cells)}
    return {"ended": "died", "why": last.kernel_end.reason, "limit": last.kernel_end.limit, "cells": len(last.cells)}


async def main(cache: Path) -> None:
    async with KernelPool.open(cache / "zygote") as pool, AsyncExitStack() as stack:
        await pool.zygote()
        host = Host(pool, cache, stack)
        answer({"ready": True})
        while line := await anyio.to_thread.run_sync(sys.stdin.readline):
            try:
                answer(await host.obey(json.loads(line)))
            except (CellwrightError, AssertionError, TimeoutError) as error:
                answer({"failed": f"{type(error).__name__}: {error}"})


def answer(words: dict[str, Any]) -> None:
    sys.stdout.write(json.dumps(words) + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    anyio.run(main, Path(sys.argv[1]))
