"""MCP servers that a client offers: used where a person here has named the very same, and never else.

What is used is the person's own entry, in its cage and with what they allowed of it; of the client's offer nothing is
started, and no variable or header of it is taken.
"""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from acp import schema

from cellwright.policy.display_text import shown
from cellwright.server.http.api_calls import ApiCalls

_MOST: Final = 20
_LONGEST: Final = 300


@dataclass(frozen=True, slots=True, kw_only=True)
class OfferedServers:
    """What becomes of them."""

    tools: tuple[str, ...] = ()
    """Those that runs of the session use, as the person here calls them."""
    notes: tuple[str, ...] = ()
    """What the person is told of each."""


async def look_at_offers(api: ApiCalls, offered: Sequence[Any]) -> OfferedServers:
    """Each beside those a person has named. Raises what the API raises."""
    if not offered:
        return OfferedServers()
    known = {each["place"]: each for each in (await api.get("/tool-servers"))["servers"]}
    tools, notes = list[str](), list[str]()
    for server in offered[:_MOST]:
        found = known.get(_place(server))
        is_allowed = found is not None and any(tool["standing"] == "allowed" for tool in found["tools"])
        tools += [found["name"]] if found is not None and is_allowed else []
        notes.append(_note(server, found, is_allowed=is_allowed))
    if len(offered) > _MOST:
        notes.append(f"{len(offered) - _MOST} more MCP servers that your editor offers are not used.")
    return OfferedServers(tools=tuple(tools), notes=tuple(notes))


def _note(server: Any, found: Any, *, is_allowed: bool) -> str:
    name = shown(server.name)[:100]
    if found is None:
        return (
            f"The MCP server {name!r} that your editor offers is not used: nobody here has named it and looked at its "
            f"tools.{_advice(server)}"
        )
    if not is_allowed:
        return (
            f"The MCP server {name!r} that your editor offers is not used: nothing of {found['name']!r} is allowed "
            f"yet. `cellwright tools allow {found['name']}` shows what it says."
        )
    return f"Runs may call {found['name']!r}, which your editor offers as {name!r}: in its cage, as it was allowed."


def _place(server: Any) -> str:
    """As `NamedServer.place` says it; empty: nothing a person could name here."""
    match server:
        case schema.McpServerStdio():
            return " ".join((server.command, *server.args))
        case schema.HttpMcpServer() | schema.SseMcpServer():
            return server.url
        case _:
            return ""


def _advice(server: Any) -> str:
    match server:
        case schema.McpServerStdio():
            words = f"-- {shlex.join((server.command, *server.args))}"
        case schema.HttpMcpServer():
            words = f"--url {shlex.quote(server.url)}"
        case _:
            return ""
    return f" `cellwright tools add NAME {shown(words)[:_LONGEST]}` in a terminal does, and asks you."
