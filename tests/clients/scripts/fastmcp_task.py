"""In an environment of its own: FastMCP's client, with its extension for tasks, has a goal as a task to its end."""

from __future__ import annotations

import asyncio
import os
import sys
from typing import Any

from fastmcp import Client
from fastmcp.client.transports import StdioTransport
from fastmcp_tasks import call_tool_task


async def answer(message: str, response_type: Any, params: Any, context: Any) -> dict[str, str]:
    """The person at this client."""
    sys.stdout.write(f"asked: {message}\n")
    return {"answer": "yes"}


async def main(goal: str) -> None:
    """Begin it, answer what it asks, say what came of it."""
    transport = StdioTransport(command="cellwright", args=["mcp"], env=dict(os.environ))
    async with Client(transport, elicitation_handler=answer) as client:
        task = await call_tool_task(client, "start_run", {"goal": goal, "models": ["near:one"]})
        sys.stdout.write(f"task: {task.task_id}\n")
        sys.stdout.write((await task.result()).content[0].text)


asyncio.run(main(sys.argv[1]))
