"""Asking an API or an object store from the host: one exchange for each request, through the connection's worker.

The worker has the secret. What comes back is a stranger's: bounded, and read as JSON or text only.
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

from cellwright.data.api_answers import Row, next_target, rows_of
from cellwright.data.broker_client import BrokerClient
from cellwright.data.connections import DataConnection
from cellwright.data.exchanges.api_rules import stand_in_header
from cellwright.data.exchanges.retries import asked_seconds
from cellwright.data.messages import Asker, OpenExchange
from cellwright.errors import Unavailable, UserError

MOST_PAGES: Final = 100
_MOST_ROWS: Final = 100_000
_MOST_BYTES: Final = 16 << 20
"""Of one page."""
_MOST_IN_ALL: Final = 64 << 20
_SECONDS: Final = 120.0
_OK: Final = range(200, 300)
_SHOWN: Final = 500
_REFUSED: Final = 403
_UNSURE: Final = frozenset({502, 504})
"""What the worker answers itself where a server's answer did not come."""
_LONGEST_INTEGER: Final = 40
"""Digits; longer ones stay text: Python reads none of thousands, and nobody computes with them."""
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
class SendRequest:
    """A request that changes something, as a person agreed to it."""

    connection: DataConnection
    method: str
    target: str
    body: bytes = b""
    content_type: str = "application/json"
    asker: Asker = field(default_factory=Asker)


@dataclass(frozen=True, slots=True, kw_only=True)
class ApiAnswer:
    """What it answered, all pages together."""

    rows: tuple[Row, ...] = ()
    text: str = ""
    """Of an answer that is no JSON."""
    pages: int = 1
    requests: int = 1
    """More than pages where the service asked to wait, and was asked again."""
    has_more: bool = False
    stopped: str = ""
    """Why not all pages that were wanted are here; empty: they are."""
    bytes: int = 0
    sha256: str = ""
    at: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class SentOutcome:
    """What came of a request that changes something."""

    outcome: str
    """done; unknown: it was sent, and no answer came."""
    status: int
    answer: ApiAnswer


@dataclass(frozen=True, slots=True, kw_only=True)
class _Page:
    status: int
    reason: str
    content: bytes
    links: str
    sent: int
    """How often it was asked for."""
    wait: float | None
    """How long the service asks to wait."""


async def call_api(client: BrokerClient, asked: CallApi) -> ApiAnswer:
    """Ask, page after page. Raises `UserError` for what the service or the connection refuses, `Unavailable`.

    A page that cannot be had ends it, and what came before is given.
    """
    reading = _PageReading(asked=asked, at=datetime.now(UTC).isoformat(timespec="milliseconds"))
    while reading.target is not None and not reading.stopped and reading.pages < min(asked.pages, MOST_PAGES):
        try:
            page = await _page(client, asked, reading.target)
        except (UserError, Unavailable) as problem:
            if not reading.pages:
                raise
            reading.stopped = f"page {reading.pages + 1} did not come: {problem.message}"
            break
        if not reading.take(page):
            break
    return reading.answer()


@dataclass(slots=True, kw_only=True)
class _PageReading:
    """What was read so far."""

    asked: CallApi
    at: str
    rows: list[Row] = field(default_factory=list[Row])
    text: str = ""
    pages: int = 0
    requests: int = 0
    bytes: int = 0
    stopped: str = ""
    target: str | None = field(init=False)
    digest: Any = field(default_factory=hashlib.sha256)

    def __post_init__(self) -> None:
        self.target = self.asked.target

    def take(self, page: _Page) -> bool:
        """One more; whether there may be another."""
        self.pages, self.requests, self.bytes = (
            self.pages + 1,
            self.requests + page.sent,
            self.bytes + len(page.content),
        )
        self.digest.update(page.content)
        value = _json(page.content)
        if value is None:
            self.text, self.target = page.content.decode("utf-8", "replace"), None
            return False
        self.rows += rows_of(value[0])
        origin = _origin(self.asked.connection.options["url"])
        self.target = next_target(f"{origin}{self.target}", page.links, value[0])
        if self.target is not None and (len(self.rows) > _MOST_ROWS or self.bytes > _MOST_IN_ALL):
            self.stopped = f"more than {_MOST_ROWS:,} rows or {_MOST_IN_ALL >> 20} MB are not read at once"
        return True

    def answer(self) -> ApiAnswer:
        """All of it."""
        return ApiAnswer(
            rows=tuple(self.rows) if not self.text else (),
            text=self.text,
            pages=self.pages,
            requests=self.requests,
            has_more=self.target is not None,
            stopped=self.stopped,
            bytes=self.bytes,
            sha256=self.digest.hexdigest(),
            at=self.at,
        )


async def send_request(client: BrokerClient, asked: SendRequest) -> SentOutcome:
    """Send it once. Raises `UserError` for what the service or the connection refuses, `Unavailable`."""
    at = datetime.now(UTC).isoformat(timespec="milliseconds")
    page = await _exchanged(client, asked)
    if page.status in _UNSURE:
        return SentOutcome(outcome="unknown", status=page.status, answer=ApiAnswer(text=_said(page), at=at))
    _check(page, asked)
    value = _json(page.content) if page.content else None
    answer = ApiAnswer(
        rows=tuple(rows_of(value[0])) if value is not None else (),
        text="" if value is not None else page.content.decode("utf-8", "replace"),
        bytes=len(page.content),
        sha256=hashlib.sha256(page.content).hexdigest(),
        at=at,
    )
    return SentOutcome(outcome="done", status=page.status, answer=answer)


async def fetch_text(client: BrokerClient, asked: CallApi) -> str:
    """One answer as it is: an OpenAPI document."""
    return (await _page(client, asked, asked.target)).content.decode("utf-8", "replace")


async def _page(client: BrokerClient, asked: CallApi, target: str) -> _Page:
    reading = SendRequest(connection=asked.connection, method="GET", target=target, asker=asked.asker)
    page = await _exchanged(client, reading)
    _check(page, reading)
    return page


async def _exchanged(client: BrokerClient, asked: SendRequest) -> _Page:
    line = await client.exchange(OpenExchange(connection=asked.connection.name, asker=asked.asker))
    try:
        with anyio.fail_after(_SECONDS):
            return await anyio.to_thread.run_sync(_ask, line, asked, abandon_on_cancel=True)
    except TimeoutError:
        raise Unavailable(f"No answer came within {_SECONDS:g} s.", hint="Ask for less.") from None


def _check(page: _Page, asked: SendRequest) -> None:
    """Raises `UserError` for an answer that is none."""
    if page.status in _OK:
        return
    said, name, target = _said(page), asked.connection.name, asked.target[:200]
    if page.status == _REFUSED and said.startswith(page.reason):
        # The worker's own words: nothing left this machine.
        raise UserError(f"{name!r} was not asked for {target}. {said}.", hint=_WHY_REFUSED)
    wait = f"It asks to be left alone for {page.wait:,.0f} seconds." if page.wait is not None else ""
    raise UserError(f"{name!r} answered {page.status} {page.reason[:100]} to {target}: {said}", hint=wait)


def _said(page: _Page) -> str:
    return " ".join(page.content[:_SHOWN].decode("utf-8", "replace").split())


def _ask(line: socket.socket, asked: SendRequest) -> _Page:
    """One request over this line, which is closed then. Blocking."""
    line.settimeout(_SECONDS)
    asking = http.client.HTTPConnection("connection")
    asking.sock = line
    headers = {"Accept": "application/json", "Connection": "close"}
    if asked.connection.kind == "api":
        name, value = stand_in_header(asked.connection.name, asked.connection.options)
        headers[name] = value
    if asked.method != "GET":
        headers |= {"Content-Type": asked.content_type, "Content-Length": str(len(asked.body))}
    try:
        asking.request(asked.method, asked.target, body=asked.body or None, headers=headers)
        with asking.getresponse() as answer:
            content = answer.read(_MOST_BYTES + 1)
    except (OSError, http.client.HTTPException) as error:
        raise Unavailable(f"The API did not answer: {type(error).__name__}.", hint="Try again.") from None
    finally:
        asking.close()
    if len(content) > _MOST_BYTES:
        raise UserError(f"One answer is larger than {_MOST_BYTES >> 20} MB.", hint="Ask for less, or for pages.")
    sent = answer.headers.get("X-Cellwright-Sent", "1")
    return _Page(
        status=answer.status,
        reason=answer.reason,
        content=content,
        links=", ".join(answer.headers.get_all("Link", [])),
        sent=int(sent) if sent.isdecimal() else 1,
        wait=asked_seconds(answer.status, answer.headers.get, datetime.now(UTC)),
    )


def _json(content: bytes) -> tuple[Any] | None:
    """The value, in a tuple; None: it is no JSON, or nested deeper than anybody reads."""
    try:
        return (json.loads(content, parse_int=_integer),)
    except (ValueError, RecursionError):
        return None


def _integer(digits: str) -> int | str:
    return int(digits) if len(digits) <= _LONGEST_INTEGER else digits


def _origin(url: str) -> str:
    scheme, _, rest = url.partition("://")
    return f"{scheme}://{rest.partition('/')[0]}"
