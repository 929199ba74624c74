"""Sessions over HTTP, kept by the SDK; each belongs to the token that opened it."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Final

from mcp.server.auth.middleware.bearer_auth import AuthenticatedUser
from mcp.server.auth.provider import AccessToken
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager

from cellwright.server.http.auth.tokens import ApiCaller
from cellwright.server.mcp.protocol import McpHost, mcp_server

_MOST_SESSIONS: Final = 1_000


@asynccontextmanager
async def open_sessions(host: McpHost) -> AsyncGenerator[StreamableHTTPSessionManager]:
    """Both eras at one address, until the block ends."""
    sessions = StreamableHTTPSessionManager(mcp_server(host), max_sessions=_MOST_SESSIONS)
    async with sessions.run():
        yield sessions


def as_user(caller: ApiCaller) -> AuthenticatedUser:
    """The caller as the SDK knows one; by the id of the token, never by the token."""
    return AuthenticatedUser(AccessToken(token="", client_id=caller.token, scopes=[caller.scope]))
