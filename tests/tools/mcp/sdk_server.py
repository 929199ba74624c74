"""A server made with the MCP package itself: over standard input and output, or with an argument at that port."""

from __future__ import annotations

import sys
from typing import Annotated

from mcp.server.mcpserver import Elicit, MCPServer, Resolve
from pydantic import BaseModel

server = MCPServer("sdk")


class Amount(BaseModel):
    """What the person says."""

    grams: int


async def amount() -> Elicit[Amount]:
    """Ask for it."""
    return Elicit("How heavy is it?", Amount)


@server.tool()
def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


@server.tool()
async def weigh(bird: str, said: Annotated[Amount, Resolve(amount)]) -> str:
    """Weigh a bird."""
    return f"{bird} {said.grams} g"


if __name__ == "__main__":
    if len(sys.argv) > 1:
        server.run("streamable-http", port=int(sys.argv[1]))
    else:
        server.run("stdio")
