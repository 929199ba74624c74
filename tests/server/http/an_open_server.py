"""The web application in this process, under a real server on loopback, over a real journal."""

from __future__ import annotations

import secrets
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import httpx
from fastapi import FastAPI

from cellwright.policy.masking.masker import Masker
from cellwright.server.daemon.web_server import serve_http
from cellwright.server.http.addresses import Addresses, WebOptions
from cellwright.server.http.application import web_application
from cellwright.server.http.auth.middleware import RequestLimits
from cellwright.server.http.auth.tokens import ActiveRequests, Scope, TokenStore
from cellwright.server.http.resources import ApiResources
from cellwright.server.http.uvicorn_server import listen_at
from cellwright.server.mcp.door import open_mcp_door
from tests.server.http.a_served_folder import RunsTestbed, plain_client, tiny_runs

SECONDS = 240
EDITOR = "http://127.0.0.1:8999"


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenServer:
    """An open web server, and browsers and programs at it."""

    client: httpx.AsyncClient
    """Somebody without a token."""
    tokens: TokenStore
    addresses: Addresses
    presence: ActiveRequests

    @property
    def port(self) -> int:
        """Where it listens."""
        port = self.client.base_url.port
        assert port is not None
        return port

    def bearing(self, scope: Scope = "admin", *, seconds: float | None = 600) -> dict[str, str]:
        """Headers with a fresh token."""
        created = self.tokens.create(name="test", person="ada", scope=scope, seconds=seconds)
        return {"authorization": f"Bearer {created.secret}"}

    def forget(self) -> None:
        """As at first: nobody has a token."""
        for token in self.tokens.all():
            self.tokens.revoke(token.id)


@asynccontextmanager
async def open_server(
    folder: Path,
    template: Path,
    *,
    limits: RequestLimits | None = None,
    head_seconds: float = SECONDS,
    with_routes: Callable[[FastAPI], None] = lambda app: None,
) -> AsyncGenerator[OpenServer]:
    """A server to a testbed where nothing runs yet; `template` is a journal with its tables."""
    async with (
        tiny_runs(folder, template) as testbed,
        server_of(testbed, limits=limits, head_seconds=head_seconds, with_routes=with_routes) as server,
    ):
        yield server


@asynccontextmanager
async def server_of(
    testbed: RunsTestbed,
    *,
    limits: RequestLimits | None = None,
    head_seconds: float = SECONDS,
    with_routes: Callable[[FastAPI], None] = lambda app: None,
) -> AsyncGenerator[OpenServer]:
    """A server to this testbed; it may have others."""
    settings, live = testbed
    folder, presence, tokens = settings.home.parent, ActiveRequests(), TokenStore(settings.home)
    served = ApiResources(live=live, settings=settings, masker=Masker.of(salt=secrets.token_bytes(16)), folder=folder)
    with listen_at("127.0.0.1", 0) as listener:
        port = listener.getsockname()[1]
        addresses = Addresses.of(WebOptions(folder=str(folder)), port, editor_origin=EDITOR)
        async with open_mcp_door(served, addresses.origin, "1.0") as mcp:
            app = web_application(served, tokens, addresses, presence=presence, limits=limits, mcp=mcp)
            with_routes(app)
            async with (
                serve_http(app, listener, presence, head_seconds=head_seconds),
                plain_client(addresses.origin) as client,
            ):
                yield OpenServer(client=client, tokens=tokens, addresses=addresses, presence=presence)
