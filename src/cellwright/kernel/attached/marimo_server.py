"""A stock marimo server, over its HTTP interface: what it is, which notebooks are open, and one execution at a time."""

from __future__ import annotations

import hashlib
import ipaddress
import json
import re
import secrets
from collections.abc import AsyncGenerator, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass, field
from typing import Any, Final
from urllib.parse import quote, urlsplit

import httpx2
import msgspec
import websockets
import websockets.asyncio.client

from cellwright.errors import CellwrightError, Unavailable, UserError

TRIED_VERSIONS: Final = frozenset({"0.25.2"})
"""What runs in the kernel uses a private interface of marimo: only versions it was tried with are touched."""
_SECONDS: Final = 15
_MOST_ANSWER: Final = 1_000_000
_MOST_MESSAGE: Final = 64_000_000
_MOST_PRINTED: Final = 4_000_000
_INSTANCE: Final = re.compile(rb'<marimo-server-token data-token="([^"]{1,200})"')
_TOKEN_HINT: Final = "Put its token into a file, and name that file."


class SessionClosed(Unavailable):
    """The session of an attached notebook is gone."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Session:
    """A notebook that is open on a server."""

    id: str
    """The same for as long as it lives, whichever page shows it."""
    path: str
    """The notebook's file on the server's machine; empty: it was never saved."""


class _SessionWire(msgspec.Struct):
    session_id: str
    path: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerAddress:
    """Where a server is, and the token that opens it."""

    url: str
    """Without a path's last slash, and never with a token."""
    token: str = field(default="", repr=False)

    @classmethod
    def parse(cls, text: str, token: str = "") -> ServerAddress:
        """Read what somebody gave. Raises `UserError`; also for a token within the address, which others can read."""
        try:
            parts = urlsplit(text if "://" in text else f"http://{text}")
            port = parts.port
        except ValueError:
            raise UserError(f"{text[:200]!r} is no address.", hint="For example http://127.0.0.1:2718.") from None
        if parts.scheme not in {"http", "https"} or not parts.hostname:
            raise UserError(f"{text[:200]!r} is no address.", hint="For example http://127.0.0.1:2718.")
        if "access_token" in parts.query or parts.username or parts.password:
            raise UserError("The address carries a token, which other programs can read there.", hint=_TOKEN_HINT)
        host = f"[{parts.hostname}]" if ":" in parts.hostname else parts.hostname
        at = f"{host}:{port}" if port else host
        return cls(url=f"{parts.scheme}://{at}{parts.path.rstrip('/')}", token=token)

    def authorization(self) -> dict[str, str]:
        """The header that opens it. marimo itself tells its token to the notebook's code, so nothing hides it there."""
        return {"Authorization": f"Bearer {self.token}"} if self.token else {}

    @property
    def is_here(self) -> bool:
        """True where nothing leaves this machine."""
        host = urlsplit(self.url).hostname or ""
        try:
            return ipaddress.ip_address(host).is_loopback
        except ValueError:
            return host == "localhost"


class MarimoServer:
    """One server. Made by `MarimoServer.open`, which has seen that it answers and is a version that was tried."""

    def __init__(self, address: ServerAddress, http: httpx2.AsyncClient) -> None:
        self.address = address
        self._http = http
        self._instance = ""

    @classmethod
    @asynccontextmanager
    async def open(cls, address: ServerAddress) -> AsyncGenerator[MarimoServer]:
        """Raises `UserError` for a wrong token or another marimo, `Unavailable` where nothing answers."""
        if address.token and not address.is_here and not address.url.startswith("https:"):
            raise UserError(
                f"{address.url} would be sent its token unencrypted.", hint="Reach it by https, or by an SSH tunnel."
            )
        # No proxy, no redirect: the token goes to this address and nowhere else.
        async with httpx2.AsyncClient(
            base_url=address.url, timeout=_SECONDS, trust_env=False, follow_redirects=False
        ) as http:
            server = cls(address, http)
            version = await server.version()
            if version not in TRIED_VERSIONS:
                tried = ", ".join(sorted(TRIED_VERSIONS))
                raise UserError(
                    f"{address.url} runs marimo {version}, with which attaching was not tried (tried: {tried}).",
                    hint="Start the notebook with one of those, or open its file in the cage.",
                )
            server._instance = await server._instance_now()
            yield server

    async def version(self) -> str:
        """What it says it is. Raises as `open` does."""
        text = (await self._get("/api/version")).decode("utf-8", "replace").strip()
        if not 1 <= len(text) <= 40 or not text[0].isdigit() or not text.replace(".", "").isalnum():
            raise UserError(f"What answers at {self.address.url} is no marimo server.", hint="Give marimo's address.")
        return text

    async def _instance_now(self) -> str:
        """What its pages call this start of the server; empty where it calls itself nothing."""
        said = _INSTANCE.search(await self._get("/"))
        return "" if said is None else hashlib.sha256(said.group(1)).hexdigest()

    async def why_closed(self) -> SessionClosed:
        """Why a session is gone: it was closed, or its server was started anew, or is gone too."""
        try:
            is_same = await self._instance_now() == self._instance
        except UserError:
            # A token of before: each start makes its own.
            is_same = False
        except Unavailable:
            return SessionClosed(
                f"The marimo server at {self.address.url} went away while its notebook was attached.",
                hint="Start it again with `marimo edit`; what was saved is in the notebook's file.",
            )
        if is_same:
            return SessionClosed(
                "The notebook's session was closed there; its marimo server still runs.",
                hint="Attach again: the notebook is opened from its file, and no cell has run.",
            )
        return SessionClosed(
            f"The marimo server at {self.address.url} was restarted: what the notebook had computed is gone.",
            hint="Attach again; if it has a token, a restart made a new one.",
        )

    async def sessions(self) -> tuple[Session, ...]:
        """The notebooks that are open."""
        body = await self._get("/api/sessions")
        try:
            found = msgspec.json.decode(body, type=dict[str, _SessionWire])
        except msgspec.MsgspecError:
            raise UserError(f"What answers at {self.address.url} is no marimo server.") from None
        return tuple(Session(id=each.session_id[:200], path=(each.path or "")[:4096]) for each in found.values())

    async def pages(self) -> int:
        """How many people may be typing: marimo counts pages that can edit, and onlookers such as we not."""
        try:
            said = msgspec.json.decode(await self._get("/api/status/connections"), type=dict[str, int])
        except msgspec.MsgspecError:
            return 1
        return max(0, said.get("active", 1))

    async def begin_session(self, file: str) -> Session:
        """Open a notebook as a page would, and leave: its kernel goes on. No cell runs."""
        before = {session.id for session in await self.sessions()}
        async with self._connect(file, is_onlooker=False) as socket:
            await socket.recv()
        new = [session for session in await self.sessions() if session.id not in before]
        if not new:
            what = f"the notebook {file!r}" if file else "a notebook by itself"
            raise UserError(f"The marimo server did not open {what}.", hint="Name its file.")
        return new[-1]

    @asynccontextmanager
    async def look_on(self, session: Session, file: str) -> AsyncGenerator[websockets.asyncio.client.ClientConnection]:
        """What the session tells its pages, as one that only looks on."""
        async with self._connect(session.path or file, is_onlooker=True) as socket:
            yield socket

    async def execute(self, session: Session, code: str, *, seconds: float | None = None) -> str:
        """Run a program in the session's kernel; what was printed meanwhile, by whomever, cut.

        Whoever leaves early interrupts whatever runs there, marimo sees to that.
        """
        printed: list[str] = []
        headers = {"Marimo-Stable-Session-Id": session.id, **self.address.authorization()}
        timeout = httpx2.Timeout(_SECONDS, read=seconds)
        try:
            body = {"code": code}
            async with self._http.stream(
                "POST", "/api/kernel/execute", json=body, headers=headers, timeout=timeout
            ) as answer:
                if answer.status_code == 404:
                    raise await self.why_closed()
                self._check(answer.status_code)
                room = _MOST_PRINTED
                async for line in answer.aiter_lines():
                    # What is over is read and forgotten: to stop reading would interrupt the notebook.
                    if line.startswith("data:") and (room := room - len(line)) > 0:
                        printed.append(_printed(line[5:]))
        except httpx2.HTTPError as error:
            raise self._lost() from error
        return "".join(printed)

    def _connect(
        self, file: str, *, is_onlooker: bool
    ) -> AbstractAsyncContextManager[websockets.asyncio.client.ClientConnection]:
        return _socket(self, file, is_onlooker=is_onlooker)

    async def _get(self, path: str) -> bytes:
        try:
            async with self._http.stream("GET", path, headers=self.address.authorization()) as answer:
                self._check(answer.status_code)
                body = b""
                async for part in answer.aiter_bytes():
                    body += part
                    if len(body) > _MOST_ANSWER:
                        raise UserError(f"What answers at {self.address.url} is no marimo server.")
                return body
        except httpx2.HTTPError as error:
            raise self._lost() from error

    def _check(self, status: int) -> None:
        if status == 200:
            return
        if status in {401, 403, 303, 307}:
            if self.address.token:
                raise UserError(
                    f"The marimo server at {self.address.url} does not take this token.",
                    hint="The token stands in the address that `marimo edit` printed; a restart makes a new one.",
                )
            raise UserError(f"The marimo server at {self.address.url} wants its token.", hint=_TOKEN_HINT)
        raise UserError(
            f"What answers at {self.address.url} is no marimo server that can be attached to (HTTP {status}).",
            hint="Start the notebook with `marimo edit`, not `marimo run`, and give that address.",
        )

    def _lost(self) -> CellwrightError:
        return Unavailable(
            f"No marimo server answers at {self.address.url}.",
            hint="Start one with `marimo edit NOTEBOOK.py`, or look at its address again.",
        )


def _printed(data: str) -> str:
    try:
        said = json.loads(data)
    except (ValueError, RecursionError):
        return ""
    text: Any = said.get("data") if isinstance(said, Mapping) else None
    return text if isinstance(text, str) else ""


@asynccontextmanager
async def _socket(
    server: MarimoServer, file: str, *, is_onlooker: bool
) -> AsyncGenerator[websockets.asyncio.client.ClientConnection]:
    address = server.address
    query = f"session_id=s_{secrets.token_hex(3)}" + (f"&file={quote(file, safe='')}" if file else "")
    query += "&kiosk=true" if is_onlooker else ""
    headers = address.authorization()
    try:
        async with websockets.asyncio.client.connect(
            f"ws{address.url.removeprefix('http')}/ws?{query}",
            additional_headers=headers,
            proxy=None,
            max_size=_MOST_MESSAGE,
            open_timeout=_SECONDS,
            close_timeout=2,
            compression=None,
        ) as socket:
            yield socket
    except websockets.exceptions.ConnectionClosed as error:
        raise await server.why_closed() from error
    except (OSError, websockets.exceptions.WebSocketException) as error:
        raise Unavailable(
            f"The marimo server at {address.url} lets nobody look on.",
            hint="Is a proxy between that takes no websockets?",
        ) from error
