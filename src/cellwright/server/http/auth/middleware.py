"""Middleware: what every request passes before a route sees it, and every response on its way out. Plain ASGI.

Host and Origin, token, rate and size. No response sets a cookie, and none is read: a page of another origin has
nothing to ride on.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from typing import Final

import anyio
from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from cellwright.errors import CellwrightError, RefusedByPolicy, UserError
from cellwright.remedies import remedy
from cellwright.server.http.addresses import API, MCP, Addresses
from cellwright.server.http.auth.dependencies import CALLER
from cellwright.server.http.auth.tokens import ActiveRequests, ApiCaller, TokenStore
from cellwright.server.http.errors import NotAdmitted, RequestTimedOut, TooLarge, TooMany
from cellwright.server.http.problems import Mask, error_response, unknown_error_response

_MAX_KEYS: Final = 10_000


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestRate:
    """How much at once, and how fast it comes back."""

    at_once: float
    per_second: float


class RateLimiter:
    """One bucket per key, e.g. per token."""

    def __init__(self, rate: RequestRate, clock: Callable[[], float] = time.monotonic) -> None:
        self._rate = rate
        self._clock = clock
        self._buckets = dict[str, tuple[float, float]]()
        """How much was left, and when."""

    def take(self, key: str) -> float:
        """0 if one more may be had now, and it is taken; else after how many seconds."""
        now = self._clock()
        left = self._left(key, now)
        if left < 1:
            return (1 - left) / self._rate.per_second
        if key not in self._buckets and len(self._buckets) >= _MAX_KEYS:
            # Those that are full again; if that is not half of them, the oldest: a flood must not cost a look at each.
            kept = [
                (each, found) for each, found in self._buckets.items() if self._left(each, now) < self._rate.at_once
            ]
            self._buckets = dict(kept[-_MAX_KEYS // 2 :])
        self._buckets[key] = (left - 1, now)
        return 0

    def __len__(self) -> int:
        return len(self._buckets)

    def _left(self, key: str, now: float) -> float:
        left, then = self._buckets.get(key, (self._rate.at_once, now))
        return min(self._rate.at_once, left + (now - then) * self._rate.per_second)


API_VERSION: Final = "1"
FILES: Final = f"{API}/files/"
_OPEN: Final = frozenset({f"{API}/health", f"{API}/openapi.json"})
"""Of the API, what anybody may ask as often as the page's files."""
_SAFE: Final = frozenset({"GET", "HEAD"})
_EVERY_RESPONSE: Final = {
    "x-content-type-options": "nosniff",
    # Page and editor are one site: without this they share a process, and a busy widget would freeze the page.
    "origin-agent-cluster": "?1",
    "x-frame-options": "DENY",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "permissions-policy": "camera=(), geolocation=(), microphone=(), payment=(), usb=()",
}
_API_CSP: Final = "default-src 'none'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'"


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestLimits:
    """How much of what is taken."""

    body_bytes: int = 1 << 20
    file_bytes: int = 512 << 20
    """The body of `PUT /files`."""
    patience_seconds: float = 30
    """How long a body may take before its first byte; each byte that comes earns more time."""
    slowest_bytes_per_second: int = 16 << 10
    token: RequestRate = field(default_factory=lambda: RequestRate(at_once=1_000, per_second=200))
    """Requests with a token that counts, per token."""
    address: RequestRate = field(default_factory=lambda: RequestRate(at_once=500, per_second=100))
    """Requests for the page's files, per address."""
    stranger: RequestRate = field(default_factory=lambda: RequestRate(at_once=300, per_second=2))
    """Requests to the API without a token that counts, per address; beginning a session is one."""


class ResponseMiddleware:
    """Outermost: headers on every answer, and whatever the middleware within refuses, or fails at, as an answer."""

    def __init__(self, app: ASGIApp, mask: Mask, editor_origin: str = "") -> None:
        self._app = app
        self._mask = mask
        self._page_csp = page_csp(editor_origin)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """One request. Only HTTP goes further: a websocket is closed, and our servers tell of nothing else."""
        if scope["type"] != "http":
            if scope["type"] == "websocket":
                await send({"type": "websocket.close", "code": 1008})
            return
        own, has_begun = self._headers_for(scope["path"]), False

        async def send_with_headers(message: Message) -> None:
            nonlocal has_begun
            if message["type"] == "http.response.start":
                has_begun = True
                headers = MutableHeaders(scope=message)
                for name, value in own.items():
                    headers.setdefault(name, value)
                del headers["set-cookie"]
            await send(message)

        try:
            await self._app(scope, receive, send_with_headers)
        except CellwrightError as error:
            if has_begun:
                raise
            await error_response(error, self._mask)(scope, receive, send_with_headers)
        except Exception as error:
            if has_begun:
                raise
            await unknown_error_response(error)(scope, receive, send_with_headers)

    def _headers_for(self, path: str) -> Mapping[str, str]:
        if _is_api(path):
            own = {"content-security-policy": _API_CSP, "cache-control": "no-store", "cellwright-api": API_VERSION}
            return _EVERY_RESPONSE | own
        return _EVERY_RESPONSE | {"content-security-policy": self._page_csp, "cache-control": "no-cache"}


class OriginMiddleware:
    """Where a request came from and where it thinks it goes: no rebound name, no other page."""

    def __init__(self, app: ASGIApp, addresses: Addresses) -> None:
        self._app = app
        self._addresses = addresses

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """One request. Raises `RefusedByPolicy`."""
        headers = Headers(scope=scope)
        host = _single_header(headers, "host")
        if not self._addresses.is_ours(host, scope.get("server")):
            raise RefusedByPolicy("This address is not served here.", hint=f"The page is at {self._addresses.origin}.")
        self._check_origin(scope, headers, host)
        await self._app(scope, receive, send)

    def _check_origin(self, scope: Scope, headers: Headers, host: str) -> None:
        origin = _single_header(headers, "origin") if "origin" in headers else None
        if origin is not None and not self._addresses.is_own_origin(origin, host):
            raise RefusedByPolicy("A page of another origin asked.", hint="Only our own page may.")
        site = headers.get("sec-fetch-site", "none")
        is_visit = headers.get("sec-fetch-mode") == "navigate" and headers.get("sec-fetch-dest") == "document"
        # The editor is same-site and of another origin: what runs in it is not us.
        if site not in {"none", "same-origin"} and (_is_api(scope["path"]) or not is_visit):
            raise RefusedByPolicy("A page of another origin asked.", hint="Only our own page may.")
        if origin is None and scope["method"] not in _SAFE and "authorization" not in headers:
            raise NotAdmitted(
                "A change needs a token, or to come from our own page.",
                hint=remedy("get_admitted"),
            )


class TokenMiddleware:
    """Whose token a request bears, and how often they ask."""

    def __init__(self, app: ASGIApp, tokens: TokenStore, presence: ActiveRequests, limits: RequestLimits) -> None:
        self._app = app
        self._tokens = tokens
        self._presence = presence
        self._by_token = RateLimiter(limits.token)
        self._by_address = RateLimiter(limits.address)
        self._by_stranger = RateLimiter(limits.stranger)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """One request. Raises `TooMany`."""
        caller = self._caller(Headers(scope=scope))
        if wait_seconds := self._wait_seconds(scope, caller):
            raise TooMany(wait_seconds)
        scope[CALLER] = caller
        if caller is None:
            await self._app(scope, receive, send)
        else:
            await self._visit(caller, scope, receive, send)

    def _caller(self, headers: Headers) -> ApiCaller | None:
        kind, _, secret = _single_header(headers, "authorization").partition(" ")
        return self._tokens.admit(secret.strip()) if kind.lower() == "bearer" else None

    def _wait_seconds(self, scope: Scope, caller: ApiCaller | None) -> float:
        if caller is not None:
            return self._by_token.take(caller.token)
        client = scope.get("client")
        address = client[0] if client else ""
        is_stranger = _is_api(scope["path"]) and scope["path"] not in _OPEN
        return (self._by_stranger if is_stranger else self._by_address).take(address)

    async def _visit(self, caller: ApiCaller, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer, until whoever asked is not to be answered any more. Raises `NotAdmitted` if nothing was said yet."""
        has_begun = is_whole = False

        async def send_seen(message: Message) -> None:
            nonlocal has_begun, is_whole
            if message["type"] == "http.response.start":
                has_begun = True
                if Headers(raw=message["headers"]).get("content-type", "").startswith("text/event-stream"):
                    self._presence.is_stream(visit)
            elif not message.get("more_body", False):
                is_whole = True
            await send(message)

        with self._presence.visiting(caller.token) as visit:
            await self._app(scope, receive, send_seen)
        if visit.scope.cancelled_caught and not has_begun:
            raise NotAdmitted("The token does not count any more.")
        if visit.scope.cancelled_caught and not is_whole:
            await send({"type": "http.response.body", "body": b"", "more_body": False})


class BodyLimitMiddleware:
    """How large a request is and how slowly it may come; all but those at `endless`, whose bodies go on."""

    def __init__(self, app: ASGIApp, limits: RequestLimits, endless: Collection[str] = ()) -> None:
        self._app = app
        self._limits = limits
        self._endless = endless

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """One request. Raises `TooLarge`; reading its body raises that or `RequestTimedOut`."""
        if scope["path"] in self._endless:
            return await self._app(scope, receive, send)
        is_file = scope["method"] == "PUT" and scope["path"].startswith(FILES)
        most = self._limits.file_bytes if is_file else self._limits.body_bytes
        length = _single_header(Headers(scope=scope), "content-length")
        if length.isdecimal() and int(length) > most:
            raise _too_large(most)
        began, size, is_whole = anyio.current_time(), 0, False

        async def receive_counted() -> Message:
            nonlocal size, is_whole
            if is_whole:
                # Now it is whether they are still there that is waited for.
                return await receive()
            earned = size / self._limits.slowest_bytes_per_second
            with anyio.move_on_at(began + self._limits.patience_seconds + earned):
                message = await receive()
                size += len(message.get("body", b""))
                is_whole = not message.get("more_body", False)
                if size > most:
                    raise _too_large(most)
                return message
            raise RequestTimedOut("The request took too long to arrive.", hint="Send it again.")

        await self._app(scope, receive_counted, send)


def page_csp(editor_origin: str) -> str:
    """What the page may load and who may frame it."""
    frames = editor_origin or "'none'"
    return (
        "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; "
        f"font-src 'self'; connect-src 'self'; frame-src {frames}; frame-ancestors 'none'; "
        "base-uri 'none'; form-action 'none'"
    )


def _is_api(path: str) -> bool:
    return path in {"/api", MCP} or path.startswith("/api/")


def _single_header(headers: Headers, name: str) -> str:
    """The header; empty if there is none. Raises `UserError` if it is said twice: who reads which?"""
    found = headers.getlist(name)
    if len(found) > 1:
        raise UserError(f"The header {name!r} is there {len(found)} times.", hint="Send it once.")
    return found[0] if found else ""


def _too_large(most: int) -> TooLarge:
    return TooLarge(f"The request has more than {most:,} bytes.", hint="Upload files with PUT /api/v1/files/NAME.")
