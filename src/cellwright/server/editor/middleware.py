"""Middleware before marimo's server: host, origin, pass, address and size are right, or the request goes no further.

Frames to a browser are checked last: marimo offers there what this server does not have.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from http.cookies import CookieError, SimpleCookie
from typing import Any, Final
from urllib.parse import urlencode

from starlette.datastructures import Headers, MutableHeaders, QueryParams
from starlette.responses import PlainTextResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from cellwright.server.editor import allowed_routes
from cellwright.server.editor.passes import EditorPass, EditorPasses
from cellwright.server.http.addresses import Addresses

_READY: Final = '{"op": "kernel-ready"'
_BANNER: Final = '{"op": "banner"'


def outgoing(text: str) -> str | None:
    """The frame as the browser should get it; None: not at all."""
    if text.startswith(_READY):
        return _without_terminal(text)
    if text.startswith(_BANNER) and '"Reconnected"' in text:
        # Everybody joins a session that was there before; that is no news, and a restart is no answer to it.
        return None
    return text


def _without_terminal(text: str) -> str:
    frame: Any = json.loads(text)
    capabilities = frame.get("data", {}).get("capabilities")
    if isinstance(capabilities, dict):
        frame["data"]["capabilities"] = dict.fromkeys(capabilities, False)
    return json.dumps(frame)


logger = logging.getLogger(__name__)

MAX_BODY_BYTES: Final = 24 << 20
MAX_FRAME_BYTES: Final = 1 << 16
"""A browser has nothing to say over the websocket; it sends requests."""
_PAGE_HEADER: Final = "marimo-session-id"
_PASSED_ON: Final = ("theme", "show-chrome", "view-as")
_REFUSED_HERE: Final = "Open this notebook from Cellwright's own page: the address in use has expired."


class EditorRefusal(Exception):
    """A request that goes no further."""

    def __init__(self, status: int, why: str) -> None:
        super().__init__(why)
        self.status = status
        self.why = why


@dataclass(frozen=True, kw_only=True)
class EditorMiddleware:
    """marimo's app and our own routes behind all checks."""

    marimo: ASGIApp
    ours: ASGIApp
    passes: EditorPasses
    addresses: Addresses
    page_origins: Sequence[str]
    notebook_of: Callable[[str], str | None]
    """The key of the notebook a page is connected to; None: of none."""

    @cached_property
    def _headers(self) -> Mapping[str, str]:
        return _security_headers(self.addresses, self.page_origins)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """One request or websocket."""
        if scope["type"] == "http":
            await self._http(scope, receive, _with_headers(send, self._headers))
        elif scope["type"] == "websocket":
            await self._websocket(scope, receive, send)

    async def _http(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            if scope["path"] == allowed_routes.OPEN and scope["method"] == "GET":
                self._check_host(scope)
                await self._open(scope)(scope, receive, send)
                return
            app = self._app_for(scope)
        except EditorRefusal as refusal:
            await PlainTextResponse(refusal.why, status_code=refusal.status)(scope, receive, send)
            return
        await app(_without_credentials(scope), _capped(receive), send)

    def _app_for(self, scope: Scope) -> ASGIApp:
        headers = self._check_host(scope)
        held = self._check_pass(headers)
        who = allowed_routes.access(scope["method"], scope["path"])
        if who is None:
            raise EditorRefusal(404, "There is no such address here.")
        if scope["method"] not in {"GET", "HEAD"}:
            self._check_origin(headers)
        if int(headers.get("content-length") or 0) > MAX_BODY_BYTES:
            raise EditorRefusal(413, "That is too much at once.")
        self._check_notebook(scope, headers, held)
        return self.marimo if who == "marimo" else self.ours

    def _check_notebook(self, scope: Scope, headers: Headers, held: EditorPass) -> None:
        path = scope["path"]
        if path == "/" and self._key(scope) not in held.notebooks:
            raise EditorRefusal(404, _REFUSED_HERE)
        page = headers.get(_PAGE_HEADER, "")
        is_connected = bool(page) and self.notebook_of(page) is not None
        # A page that is not connected yet may ask what is the same for all; one that is speaks for its notebook.
        if path in allowed_routes.NEEDS_PAGE or (path in allowed_routes.FOR_PANELS and is_connected):
            if not page or self.notebook_of(page) not in held.notebooks:
                raise EditorRefusal(403, "This page is connected to no notebook of yours.")
            if not self.passes.may_speak_as(held, page):
                raise EditorRefusal(403, "Somebody else speaks as this page.")
        others = [value for name, value in QueryParams(scope["query_string"]).multi_items() if name == "file"]
        if any(value not in held.notebooks for value in others):
            raise EditorRefusal(404, _REFUSED_HERE)

    async def _websocket(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            self._check_websocket(scope)
        except EditorRefusal as refusal:
            logger.info("a websocket was refused: %s", refusal.why)
            # Before it is accepted, this is an answer 403.
            await send({"type": "websocket.close", "code": 1008})
            return
        await self.marimo(_without_credentials(scope), _limit_frames(receive), _filter_frames(send))

    def _check_websocket(self, scope: Scope) -> None:
        headers = self._check_host(scope)
        held = self._check_pass(headers)
        self._check_origin(headers)
        if scope["path"] != allowed_routes.WEBSOCKET:
            raise EditorRefusal(404, "There is no such address here.")
        key, page = self._key(scope), QueryParams(scope["query_string"]).get("session_id", "")
        if key not in held.notebooks or not 0 < len(page) <= 100:
            raise EditorRefusal(403, _REFUSED_HERE)
        if self.notebook_of(page) not in {None, key} or not self.passes.may_speak_as(held, page):
            raise EditorRefusal(403, "Somebody else speaks as this page.")

    def _open(self, scope: Scope) -> Response:
        """A code becomes a cookie, and the browser goes where no code is in the address."""
        query = QueryParams(scope["query_string"])
        redeemed = self.passes.redeem(query.get("code", ""), self._cookie_of(Headers(scope=scope)))
        if redeemed is None:
            raise EditorRefusal(403, _REFUSED_HERE)
        cookie, key = redeemed
        wanted = {name: query[name] for name in _PASSED_ON if name in query}
        answer = RedirectResponse(f"/?{urlencode({'file': key} | wanted)}", status_code=303)
        answer.set_cookie(
            cookie_name(self.addresses),
            cookie,
            path="/",
            httponly=True,
            samesite="strict",
            secure=self.addresses.origin.startswith("https:"),
        )
        return answer

    # ── checks ──

    def _check_host(self, scope: Scope) -> Headers:
        headers = Headers(scope=scope)
        if not self.addresses.is_ours(headers.get("host", ""), scope.get("server")):
            raise EditorRefusal(421, "This is not the server you asked for.")
        return headers

    def _check_origin(self, headers: Headers) -> None:
        if not self.addresses.is_own_origin(headers.get("origin", ""), headers.get("host", "")):
            raise EditorRefusal(403, "This request comes from another page.")

    def _check_pass(self, headers: Headers) -> EditorPass:
        held = self.passes.find(self._cookie_of(headers))
        if held is None:
            raise EditorRefusal(401, _REFUSED_HERE)
        return held

    def _cookie_of(self, headers: Headers) -> str | None:
        try:
            found = SimpleCookie(headers.get("cookie", "")).get(cookie_name(self.addresses))
        except CookieError:
            return None
        return found.value if found is not None else None

    def _key(self, scope: Scope) -> str:
        return QueryParams(scope["query_string"]).get("file", "")


def cookie_name(addresses: Addresses) -> str:
    """Cookies know no ports: the name keeps two editors of one host apart."""
    return f"cellwright_editor_{addresses.origin.rpartition(':')[2].strip('/')}"


def _security_headers(addresses: Addresses, page_origins: Sequence[str]) -> Mapping[str, str]:
    # Browsers take no IPv6 address in a policy; there 'self' has to do.
    named = _nameable(addresses.hosts)
    sockets = " ".join(sorted(f"{scheme}://{host}" for host in named for scheme in ("ws", "wss")))
    policy = [
        "default-src 'self' data: blob: 'unsafe-inline' 'unsafe-eval'",
        # What a notebook shows may run scripts; from here it reaches nobody else.
        f"connect-src 'self' data: blob: {sockets}",
        "frame-src 'self' data: blob:",
        "object-src 'none'",
        "base-uri 'self'",
        "form-action 'self'",
        f"frame-ancestors {' '.join(_nameable(page_origins)) or chr(39) + 'none' + chr(39)}",
    ]
    return {
        "content-security-policy": "; ".join(policy),
        "referrer-policy": "no-referrer",
        "x-content-type-options": "nosniff",
        # Page and editor are one site: without this they share a process, and a busy widget would freeze the page.
        "origin-agent-cluster": "?1",
        "cross-origin-resource-policy": "same-origin",
        "permissions-policy": "camera=(), microphone=(), geolocation=(), usb=(), serial=(), hid=()",
    }


def _nameable(places: Iterable[str]) -> list[str]:
    return [place for place in places if "[" not in place]


def _with_headers(send: Send, extra: Mapping[str, str]) -> Send:
    async def with_headers(message: Message) -> None:
        if message["type"] == "http.response.start":
            headers = MutableHeaders(scope=message)
            headers.update(extra)
            headers.setdefault("cache-control", "no-store")
        await send(message)

    return with_headers


_CREDENTIALS: Final[Collection[bytes]] = (b"cookie", b"authorization", b"proxy-authorization")


def _without_credentials(scope: Scope) -> Scope:
    """marimo hands a request's headers on to the kernel: ours must not be among them."""
    return dict(scope) | {"headers": [pair for pair in scope["headers"] if pair[0].lower() not in _CREDENTIALS]}


def _capped(receive: Receive) -> Receive:
    left = MAX_BODY_BYTES

    async def capped() -> Message:
        nonlocal left
        message = await receive()
        if message["type"] == "http.request":
            left -= len(message.get("body", b""))
            if left < 0:
                return {"type": "http.disconnect"}
        return message

    return capped


def _limit_frames(receive: Receive) -> Receive:
    async def small() -> Message:
        message = await receive()
        if len(message.get("text") or message.get("bytes") or "") > MAX_FRAME_BYTES:
            return {"type": "websocket.disconnect", "code": 1009}
        return message

    return small


def _filter_frames(send: Send) -> Send:
    async def only_fit(message: Message) -> None:
        if message["type"] == "websocket.send" and message.get("text"):
            text = outgoing(message["text"])
            if text is None:
                return
            message = dict(message) | {"text": text}
        await send(message)

    return only_fit
