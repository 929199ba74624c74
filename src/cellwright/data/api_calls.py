"""Asking an API from the host: one exchange for each page, through the connection's worker, which has the secret.

What comes back is a stranger's: bounded, and read as JSON or text only.
"""

from __future__ import annotations

import hashlib
import http.client
import json
import socket
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Final

import anyio.to_thread

from cellwright.data.api_answers import next_target, rows_of
from cellwright.data.broker_client import BrokerClient
from cellwright.data.connections import DataConnection
from cellwright.data.exchanges.api_rules import stand_in_header
from cellwright.data.messages import Asker, OpenExchange
from cellwright.errors import Unavailable, UserError

MOST_PAGES: Final = 100
_MOST_BYTES: Final = 16 << 20
"""Of one page."""
_SECONDS: Final = 120.0
_OK: Final = range(200, 300)
_SHOWN: Final = 500
_REFUSED: Final = 403
_WHY_REFUSED: Final = "The connection says which methods and paths are allowed."


@dataclass(frozen=True, slots=True, kw_only=True)
class CallApi:
    """What an API is asked."""

    connection: DataConnection
    target: str
    """Path and query."""
    pages: int = 1
    """At most so many, following what the service says is next."""
    asker: Asker = field(default_factory=Asker)


@dataclass(frozen=True, slots=True, kw_only=True)
class ApiAnswer:
    """What it answered, all pages together."""

    rows: tuple[dict[str, Any], ...] = ()
    text: str = ""
    """Of an answer that is no JSON."""
    pages: int = 1
    has_more: bool = False
    bytes: int = 0
    sha256: str = ""
    at: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Page:
    status: int
    reason: str
    content: bytes
    content_type: str
    links: str


async def call_api(client: BrokerClient, asked: CallApi) -> ApiAnswer:
    """Ask, page after page. Raises `UserError` for what the service or the connection refuses, `Unavailable`."""
    at = datetime.now(UTC).isoformat(timespec="milliseconds")
    target: str | None = asked.target
    origin = _origin(asked.connection.options["url"])
    rows, size, digest, count = list[dict[str, Any]](), 0, hashlib.sha256(), 0
    while target is not None and count < min(asked.pages, MOST_PAGES):
        page = await _page(client, asked, target)
        count, size = count + 1, size + len(page.content)
        digest.update(page.content)
        value = _json(page)
        if value is None:
            text = page.content.decode("utf-8", "replace")
            return ApiAnswer(text=text, pages=count, bytes=size, sha256=digest.hexdigest(), at=at)
        rows += rows_of(value[0])
        target = next_target(f"{origin}{target}", page.links, value[0])
    return ApiAnswer(
        rows=tuple(rows), pages=count, has_more=target is not None, bytes=size, sha256=digest.hexdigest(), at=at
    )


async def fetch_text(client: BrokerClient, asked: CallApi) -> str:
    """One answer as it is: an OpenAPI document."""
    return (await _page(client, asked, asked.target)).content.decode("utf-8", "replace")


async def _page(client: BrokerClient, asked: CallApi, target: str) -> _Page:
    line = await client.exchange(OpenExchange(connection=asked.connection.name, asker=asked.asker))
    with anyio.fail_after(_SECONDS):
        page = await anyio.to_thread.run_sync(_ask, line, asked.connection, target, abandon_on_cancel=True)
    if page.status in _OK:
        return page
    said = " ".join(page.content[:_SHOWN].decode("utf-8", "replace").split())
    if page.status == _REFUSED and said.startswith(page.reason):
        # The worker's own words: nothing left this machine.
        raise UserError(f"{asked.connection.name!r} was not asked for {target[:200]}. {said}.", hint=_WHY_REFUSED)
    raise UserError(f"{asked.connection.name!r} answered {page.status} {page.reason[:100]} to {target[:200]}: {said}")


def _ask(line: socket.socket, connection: DataConnection, target: str) -> _Page:
    """One request over this line, which is closed then. Blocking."""
    line.settimeout(_SECONDS)
    asking = http.client.HTTPConnection("connection")
    asking.sock = line
    try:
        header, value = stand_in_header(connection.name, connection.options)
        asking.request("GET", target, headers={"Accept": "application/json", header: value, "Connection": "close"})
        answer = asking.getresponse()
        content = answer.read(_MOST_BYTES + 1)
        links = ", ".join(answer.headers.get_all("Link", []))
        kind = answer.headers.get("Content-Type", "")
    except (OSError, http.client.HTTPException) as error:
        raise Unavailable(f"The API did not answer: {type(error).__name__}.", hint="Try again.") from None
    finally:
        asking.close()
    if len(content) > _MOST_BYTES:
        raise UserError(f"One answer is larger than {_MOST_BYTES >> 20} MB.", hint="Ask for less, or for pages.")
    return _Page(status=answer.status, reason=answer.reason, content=content, content_type=kind, links=links)


def _json(page: _Page) -> tuple[Any] | None:
    """The value, in a tuple; None: it is no JSON."""
    try:
        return (json.loads(page.content),)
    except (ValueError, RecursionError):
        return None


def _origin(url: str) -> str:
    scheme, _, rest = url.partition("://")
    return f"{scheme}://{rest.partition('/')[0]}"
