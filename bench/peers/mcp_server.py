"""A server of the SDK's own over standard input and output, with one tool: what a Python server of MCP is today."""

from __future__ import annotations

from mcp.server.mcpserver import MCPServer

server = MCPServer("peer")


@server.tool()
def add(first: int, second: int) -> int:
    """The sum of two numbers."""
    return first + second


if __name__ == "__main__":
    server.run("stdio")
