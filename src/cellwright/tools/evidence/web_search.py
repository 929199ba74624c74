"""Searching the web for a research: one protocol, and the engines that answer it in JSON.

Requests go out like any other: to a host that rules or a person allow, or through a connection, whose key only the
broker has. What an engine answers is data.
"""

from __future__ import annotations

import json
import re
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass
from typing import Any, Final, Protocol
from urllib.parse import quote, urlsplit

from cellwright.data.api_calls import ApiAnswer, SentOutcome
from cellwright.errors import UserError
from cellwright.policy.actions import Action, UseNetwork
from cellwright.tools.tool import ToolError
from cellwright.tools.web_tools import EgressFetch

ENGINES: Final = (
    "searxng:https://HOST, brave:CONNECTION or tavily:CONNECTION (connections to their APIs), or mcp:SERVER/TOOL (a "
    "tool of an allowed tool server)"
)
BY_CONNECTION: Final = frozenset({"brave", "tavily"})
_SERVER_TOOL: Final = re.compile(r"[A-Za-z0-9_-]{1,64}/[\w./-]{1,128}", re.ASCII)
_DEEPEST: Final = 4
_MOST_SEEN: Final = 200
_LONG: Final = 500
AskConnection = Callable[[str, str], Awaitable[ApiAnswer]]
"""What an API answers to a GET: the connection's name, and path with query."""
PostToConnection = Callable[[str, str, str], Awaitable[SentOutcome]]
"""What it answers to a POST of JSON: the connection's name, path and body. Raises `UserError` if it takes none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WebHit:
    """A page that an engine found."""

    address: str
    title: str
    says: str = ""


class WebSearch(Protocol):
    """An engine."""

    def action(self, query: str, /) -> Action | None:
        """What must be allowed to ask it this; None: the person named its connection for the work."""
        ...

    async def find(self, query: str, k: int) -> tuple[WebHit, ...] | ToolError:
        """Pages, best first."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class SearxngSearch:
    """A SearXNG of one's own, with its JSON format switched on."""

    address: str
    fetch: EgressFetch

    def action(self, _: str) -> UseNetwork:
        """Its host."""
        place = urlsplit(self.address)
        port = place.port or (443 if place.scheme == "https" else 80)
        return UseNetwork(host=place.hostname or "", port=port, purpose="searching the web")

    async def find(self, query: str, k: int) -> tuple[WebHit, ...] | ToolError:
        """Pages, best first."""
        page = await self.fetch.get(f"{self.address.rstrip('/')}/search?q={quote(query)}&format=json")
        if isinstance(page, ToolError):
            return page
        try:
            answer = json.loads(page.content) if page.status < 400 else None
        except (ValueError, RecursionError):
            answer = None
        if answer is None:
            message = f"The search engine answers with status {page.status} and no JSON."
            return ToolError(kind="unavailable", message=message, hint="Its `formats` must have json.")
        return tuple(hits_in(answer))[:k]


@dataclass(frozen=True, slots=True, kw_only=True)
class BraveSearch:
    """Brave's API, through a connection."""

    connection: str
    ask: AskConnection

    def action(self, _: str) -> None:
        """A connection was named for the work."""

    async def find(self, query: str, k: int) -> tuple[WebHit, ...] | ToolError:
        """Pages, best first."""
        answer = await self.ask(self.connection, f"/res/v1/web/search?q={quote(query)}&count={k}")
        return tuple(hits_in(list(answer.rows)))[:k]


@dataclass(frozen=True, slots=True, kw_only=True)
class TavilySearch:
    """Tavily's API, through a connection that takes POST."""

    connection: str
    post: PostToConnection

    def action(self, _: str) -> None:
        """A connection was named for the work."""

    async def find(self, query: str, k: int) -> tuple[WebHit, ...] | ToolError:
        """Pages, best first."""
        sent = await self.post(self.connection, "/search", json.dumps({"query": query, "max_results": k}))
        if sent.outcome != "done":
            return ToolError(kind="unavailable", message=f"The search engine did not answer ({sent.status}).")
        return tuple(hits_in(list(sent.answer.rows)))[:k]


def read_search(typed: str) -> tuple[str, str]:
    """The engine and where it is, of `searxng:https://…`, `brave:NAME` and the like. Raises `UserError`."""
    engine, _, where = typed.partition(":")
    is_address = urlsplit(where).scheme in {"http", "https"} and bool(urlsplit(where).hostname)
    if (
        (engine == "searxng" and is_address)
        or (engine in BY_CONNECTION and where.isidentifier())
        or (engine == "mcp" and _SERVER_TOOL.fullmatch(where))
    ):
        return engine, where
    raise UserError(f"{typed[:200]!r} is no search engine.", hint=f"Write {ENGINES}.")


def hits_in(answer: Any) -> Iterator[WebHit]:
    """The pages an engine's answer names, wherever they are in it; each address once."""
    seen = set[str]()
    for found in _objects(answer, 0):
        address, title = found.get("url"), found.get("title")
        if not isinstance(address, str) or not isinstance(title, str) or address in seen:
            continue
        if not address.startswith(("http://", "https://")) or len(address) > 2_000 or len(seen) >= _MOST_SEEN:
            continue
        seen.add(address)
        told = next(
            (found[key] for key in ("content", "description", "snippet") if isinstance(found.get(key), str)), ""
        )
        yield WebHit(address=address, title=" ".join(title.split())[:200], says=" ".join(told.split())[:_LONG])


def _objects(value: Any, depth: int) -> Iterator[dict[str, Any]]:
    if depth > _DEEPEST:
        return
    if isinstance(value, dict):
        yield value
    inside = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    for each in list(inside)[:_MOST_SEEN]:
        yield from _objects(each, depth + 1)
