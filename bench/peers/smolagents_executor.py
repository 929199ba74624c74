"""smolagents' local executor, timed here: a fresh one for each program, as an agent of theirs has for each run."""

from __future__ import annotations

import asyncio
import time

from bench.peers.conversation import Answer, converse


def look(cell: str) -> int:
    """The tool, which answers at once."""
    return 5


async def run(code: str) -> Answer:
    """Execute one program with one tool; milliseconds until its value."""
    from smolagents.local_python_executor import LocalPythonExecutor

    began = time.perf_counter()
    executor = LocalPythonExecutor(additional_authorized_imports=[])
    executor.send_tools({"look": look})
    value = executor(code).output
    return {"ms": (time.perf_counter() - began) * 1e3, "value": value}


if __name__ == "__main__":
    asyncio.run(converse({"run": run}))
