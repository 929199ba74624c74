"""ipykernel through jupyter_client, timed here, in the calling process.

A fresh kernel is asked to execute at once, without `wait_for_ready`, which would add its own pauses of 0.2 s; and
its reply counts as the result, without waiting for the idle status that follows it.
"""

from __future__ import annotations

import asyncio
import time
from typing import Any

from bench.peers.conversation import Answer, converse


class IpythonKernel:
    """Kernels started one after another, and one that stays open."""

    def __init__(self) -> None:
        from jupyter_client.manager import AsyncKernelManager

        self._new_manager: Any = AsyncKernelManager
        self._manager: Any = None
        self._client: Any = None

    async def fresh(self, code: str) -> Answer:
        """Start a kernel and execute; milliseconds until the reply."""
        began = time.perf_counter()
        manager, client = await self._start()
        reply = await client.execute(code, reply=True, timeout=60)
        ms = (time.perf_counter() - began) * 1e3
        _expect_ok(reply)
        await _end(manager, client)
        return {"ms": ms}

    async def open(self) -> Answer:
        """A kernel that stays."""
        self._manager, self._client = await self._start()
        await self._client.wait_for_ready(timeout=60)
        return {}

    async def run(self, code: str) -> Answer:
        """Execute in the open kernel; milliseconds until reply and idle."""
        began = time.perf_counter()
        message_id = self._client.execute(code)
        reply = await self._client.get_shell_msg(timeout=60)
        while True:
            said = await self._client.get_iopub_msg(timeout=60)
            is_ours = said["parent_header"].get("msg_id") == message_id
            if is_ours and said["content"].get("execution_state") == "idle":
                break
        ms = (time.perf_counter() - began) * 1e3
        _expect_ok(reply)
        return {"ms": ms}

    async def close(self) -> Answer:
        """End the kernel that stayed."""
        if self._manager is not None:
            await _end(self._manager, self._client)
            self._manager = None
        return {}

    async def _start(self) -> tuple[Any, Any]:
        manager = self._new_manager(kernel_name="python3")
        await manager.start_kernel()
        client = manager.client()
        client.start_channels()
        return manager, client


def _expect_ok(reply: Any) -> None:
    if reply["content"]["status"] != "ok":
        raise RuntimeError(str(reply["content"]))


async def _end(manager: Any, client: Any) -> None:
    client.stop_channels()
    await manager.shutdown_kernel(now=True)


async def main() -> None:
    """Answer the bench, then leave no kernel behind."""
    kernel = IpythonKernel()
    await converse({"fresh": kernel.fresh, "open": kernel.open, "run": kernel.run, "close": kernel.close})
    await kernel.close()


if __name__ == "__main__":
    asyncio.run(main())
