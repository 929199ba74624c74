"""Searching the web with a tool of a tool server: what it answers is read for addresses, and is data."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import Any, Final

from cellwright.policy.actions import CallServerTool
from cellwright.tools.evidence.web_search import WebHit, hits_in
from cellwright.tools.mcp.tool_servers import ToolServers
from cellwright.tools.tool import ToolError

_ADDRESS: Final = re.compile(r"https?://[^\s<>\"'`)\]]+")
_MOST_LETTERS: Final = 200_000


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerSearch:
    """A tool that takes `query`, of a server whose tools a person has allowed."""

    servers: ToolServers
    server: str
    tool: str

    def action(self, query: str, /) -> CallServerTool:
        """A call like any other of this server; one that nobody has looked at may change something."""
        allowed = self.servers.allowed.get(self.server, {}).get(self.tool)
        may_change = allowed is None or allowed.tool.may_change
        return CallServerTool.of(self.server, self.tool, {"query": query}, may_change=may_change)

    async def find(self, query: str, k: int) -> tuple[WebHit, ...] | ToolError:
        """Pages, best first."""
        answer = await self.servers.call(self.server, self.tool, {"query": query})
        if answer.is_error or answer.asks:
            said = answer.text[:500] or "it asks something of the person"
            return ToolError(kind="failed", message=f"The search tool did not search: {said}", is_untrusted=True)
        found = tuple(hits_in(answer.value)) or tuple(hits_in(_json(answer.text)))
        return (found or _in_text(answer.text))[:k]


def _json(text: str) -> Any:
    try:
        return json.loads(text[:_MOST_LETTERS])
    except (ValueError, RecursionError):
        return None


def _in_text(text: str) -> tuple[WebHit, ...]:
    """The addresses of an answer in words, each with the line it stands in."""
    found = dict[str, WebHit]()
    for line in text[:_MOST_LETTERS].splitlines():
        for match in _ADDRESS.finditer(line):
            address = match[0].rstrip(".,;:")
            found.setdefault(address, WebHit(address=address, title=" ".join(line.split())[:200]))
    return tuple(found.values())
