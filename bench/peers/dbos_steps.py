"""DBOS as it comes: a step that does nothing, in its own process, on a file that is set as ours is.

WAL and synchronous=NORMAL, which is kinder than its default: what we compare is the step, not the disk.
"""

from __future__ import annotations

import asyncio
import time
from typing import Any

from bench.peers.conversation import Answer, converse


class DbosSteps:
    """One DBOS on one file; every run is a workflow of its own."""

    def __init__(self) -> None:
        import dbos
        from sqlalchemy import event
        from sqlalchemy.engine import Engine

        event.listen(Engine, "connect", _set_as_ours)
        self._dbos: Any = dbos.DBOS
        self._took: list[float] = []
        # Any: the peers have a version of their own.
        config: Any = {"name": "bench-peer", "system_database_url": "sqlite:///dbos.db", "run_admin_server": False}
        self._dbos(config=config)

        @self._dbos.workflow(name="steps")
        async def workflow(steps: int) -> int:
            return await self._body(steps)

        self._workflow = workflow
        self._dbos.launch()

    async def run(self, steps: int) -> Answer:
        """Milliseconds of each of this many steps."""
        self._took = []
        done = await (await self._dbos.start_workflow_async(self._workflow, steps)).get_result()
        if done != steps or len(self._took) != steps:
            raise RuntimeError(f"{done} of {steps} steps")
        return {"steps_ms": self._took}

    async def _body(self, steps: int) -> int:
        done = 0
        for _ in range(steps):
            began = time.perf_counter()
            done += await self._dbos.run_step_async({"name": "nothing"}, _one)
            self._took.append((time.perf_counter() - began) * 1e3)
        return done


def _set_as_ours(connection: Any, _: Any) -> None:
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("PRAGMA synchronous = NORMAL")


async def _one() -> int:
    return 1


async def main() -> None:
    """Answer the bench."""
    await converse({"run": DbosSteps().run})


if __name__ == "__main__":
    asyncio.run(main())
