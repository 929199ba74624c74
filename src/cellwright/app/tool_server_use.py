"""Tool servers in one run's workspace: those its goal names, and what of them agents see as context."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import ClassVar, Final

from cellwright.agents.prompt.context_providers import ContextView, Onlooker
from cellwright.agents.prompt.prompt import PromptPart, Rank
from cellwright.agents.role import Sight
from cellwright.app.tool_registry import server_host
from cellwright.errors import CellwrightError
from cellwright.kernel.pool import KernelPool
from cellwright.policy.display_text import shown_block
from cellwright.sandbox.spec import Tier
from cellwright.settings import Settings
from cellwright.tools.mcp.tool_servers import ToolServers

_ANYBODY: Final = Onlooker()
_LONGEST: Final = 20_000
"""Characters of one resource."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerUse:
    """Which servers some work may use."""

    names: tuple[str, ...] = ()
    context: tuple[str, ...] = ()
    """What agents see of servers, `SERVER:address` each."""
    asks: bool = True
    """Whether the person may be asked what servers ask."""


@asynccontextmanager
async def open_tool_servers(
    use: ServerUse,
    settings: Settings,
    project: Path,
    *,
    pool: KernelPool,
    tier: Tier,
    is_offline: bool,
    on_progress: Callable[[str], None] | None,
) -> AsyncGenerator[ToolServers | None]:
    """The servers that were named, none started yet; None where none was."""
    read = tuple(word.partition(":")[0] for word in use.context)
    names = tuple(dict.fromkeys([*use.names, *read]))
    if not names:
        yield None
        return
    opening = server_host(
        settings, project, pool=pool, tier=tier, is_offline=is_offline, on_progress=on_progress
    )  # fmt: skip
    async with opening as host, ToolServers.open(host, names, callable_names=use.names, asks=use.asks) as servers:
        yield servers


@dataclass(slots=True, eq=False)
class ServerContext:
    """What servers let one read, as the goal names it: read once, its beginning if it is long."""

    shows: ClassVar[Sight] = "data"
    servers: ToolServers | None
    wanted: Sequence[str]
    _text: str = field(default="", init=False)

    async def view(self, tokens: int, onlooker: Onlooker = _ANYBODY) -> ContextView:
        """Always the same: it stands before the history, fenced as data."""
        if not self._text:
            self._text = "\n\n".join([await self._read(word) for word in self.wanted])
        part = PromptPart(name="context", text=self._text, rank=Rank.ASSIGNMENT, least_tokens=150)
        return ContextView(parts=(part,))

    async def _read(self, word: str) -> str:
        server, _, address = word.partition(":")
        head = f"{address}, from the server {server}:"
        if self.servers is None:
            return f"{head} not here."
        try:
            text = shown_block(await self.servers.read(server, address))
        except CellwrightError as problem:
            return f"{head} it could not be read. {problem.message}"
        cut = f"\n(The first {_LONGEST:,} of {len(text):,} characters.)" if len(text) > _LONGEST else ""
        return f"{head}\n{text[:_LONGEST]}{cut}"
