"""The web server: its socket, the server behind it, the editor beside it, and their orderly end."""

from __future__ import annotations

import logging
import secrets
import socket
from collections.abc import AsyncGenerator
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Final

import anyio
import anyio.to_thread
from fastapi import FastAPI

from cellwright.app.live_notebooks import LiveNotebooks
from cellwright.errors import Unavailable, UserError
from cellwright.policy.masking.masker import Masker
from cellwright.server.daemon.launch import package_version
from cellwright.server.editor import Editor, open_editor
from cellwright.server.executor import RunExecutor
from cellwright.server.http.addresses import Addresses, WebOptions, check_web_options, tls_files
from cellwright.server.http.application import web_application
from cellwright.server.http.auth.tokens import ActiveRequests, TokenStore
from cellwright.server.http.page_remedies import EDITOR_ORIGIN, page_problem
from cellwright.server.http.resources import ApiResources
from cellwright.server.http.uvicorn_server import (
    HEADER_TIMEOUT_SECONDS,
    HeaderTimeoutProtocol,
    listen_at,
    server_config,
    serving,
)
from cellwright.server.mcp.door import open_mcp_door
from cellwright.server.run_starts import RunStarts
from cellwright.settings import Settings

logger = logging.getLogger(__name__)

_MAX_CONNECTIONS: Final = 2_000
_SHUTDOWN_TIMEOUT_SECONDS: Final = 5
_POLL_INTERVAL_SECONDS: Final = 1.0
"""So long after a token was revoked its streams end; new requests are refused at once."""
_POLLS_PER_WRITE: Final = 60


@dataclass(frozen=True, slots=True, kw_only=True)
class WebServer:
    """A web server that is open."""

    addresses: Addresses
    folder: Path
    tokens: TokenStore
    presence: ActiveRequests

    def url(self) -> str:
        """An address that lets a browser in, once, within ten minutes."""
        return self.addresses.url(self.tokens.starts.make())


@asynccontextmanager
async def open_web_server(
    live: RunExecutor,
    settings: Settings,
    options: WebOptions,
    opened: LiveNotebooks,
    begins: RunStarts | None = None,
) -> AsyncGenerator[WebServer]:
    """Listen, until the block ends; then whoever is being answered still is, for seconds.

    Raises `UserError` for options that cannot be granted: a port that is taken, a folder that is none, TLS files.
    """
    check_web_options(options)
    folder, tls = Path(options.folder), await anyio.to_thread.run_sync(tls_files, options)
    if not await anyio.to_thread.run_sync(folder.is_dir):
        raise UserError(f"{options.folder!r} is not a folder.", hint="Name one that is there.")
    tokens, presence = TokenStore(settings.ready_home()), ActiveRequests()
    async with AsyncExitStack() as stack:
        listener = stack.enter_context(await anyio.to_thread.run_sync(listen_at, options.host, options.port))
        port = listener.getsockname()[1]
        addresses = Addresses.of(options, port)
        editor, problem = await _open_editor(stack, options, addresses, port, tls)
        if editor is not None:
            opened.count_viewers = editor.people
        addresses = replace(addresses, editor_origin=editor.origin if editor is not None else "")
        resources = ApiResources(
            live=live,
            settings=settings,
            masker=Masker.of(salt=secrets.token_bytes(16)),
            folder=folder,
            editor=editor,
            editor_problem=problem,
            opened=opened,
            begins=begins,
        )
        mcp = await stack.enter_async_context(open_mcp_door(resources, addresses.origin, package_version()))
        app = web_application(resources, tokens, addresses, presence=presence, mcp=mcp)
        await stack.enter_async_context(_expire_tokens(tokens, presence, editor))
        await stack.enter_async_context(
            serve_http(app, listener, presence, tls=tls, is_proxied=bool(options.public_origin))
        )
        logger.info("the web server is open at %s", addresses.origin)
        yield WebServer(addresses=addresses, folder=folder, tokens=tokens, presence=presence)
    logger.info("the web server is closed")


async def _open_editor(
    stack: AsyncExitStack, options: WebOptions, addresses: Addresses, port: int, tls: tuple[str, str] | None
) -> tuple[Editor | None, str]:
    """marimo's editor; or why there is none, which stops nothing else.

    Its port is the same after a restart, so that pages that are open may still frame it.
    """
    if options.public_origin and not options.editor_origin:
        return None, EDITOR_ORIGIN
    opening = partial(
        open_editor, options.host, page_origins=addresses.origins, public_origin=options.editor_origin, tls=tls
    )
    try:
        if options.editor_port is not None:
            return await stack.enter_async_context(opening(options.editor_port)), ""
        try:
            return await stack.enter_async_context(opening(port + 1)), ""
        except UserError:
            return await stack.enter_async_context(opening(0)), ""
    except Unavailable as problem:
        logger.error("%s %s", problem.message, problem.hint)
        return None, page_problem(problem)


def serve_http(
    app: FastAPI,
    listener: socket.socket,
    presence: ActiveRequests,
    *,
    tls: tuple[str, str] | None = None,
    is_proxied: bool = False,
    head_seconds: float = HEADER_TIMEOUT_SECONDS,
) -> AbstractAsyncContextManager[None]:
    """Answer whoever connects and says within `head_seconds` what they want, until the block ends."""
    config = server_config(
        app,
        tls,
        http=type("WebProtocol", (HeaderTimeoutProtocol,), {"head_seconds": head_seconds}),
        ws="none",
        # Only a proxy on this machine is believed about who asks; it counts for nothing but rates.
        proxy_headers=is_proxied,
        forwarded_allow_ips="127.0.0.1",
        limit_concurrency=_MAX_CONNECTIONS,
        timeout_graceful_shutdown=_SHUTDOWN_TIMEOUT_SECONDS,
    )
    return serving(config, listener, on_end=presence.end_streams)


@asynccontextmanager
async def _expire_tokens(tokens: TokenStore, presence: ActiveRequests, editor: Editor | None) -> AsyncGenerator[None]:
    """End what bears a token that was revoked or is over; now and then put down when tokens were used."""

    async def look() -> None:
        looks, people = 0, set[str]()
        while True:
            await anyio.sleep(_POLL_INTERVAL_SECONDS)
            presence.end_unless(tokens.stands)
            before, people = people, {token.person for token in tokens.all()}
            if editor is not None:
                for person in before - people:
                    editor.withdraw(person)
            looks += 1
            if looks % _POLLS_PER_WRITE == 0:
                await anyio.to_thread.run_sync(_write_token_use, tokens)

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(look)
        try:
            yield
        finally:
            tasks.cancel_scope.cancel()
            with anyio.CancelScope(shield=True):
                await anyio.to_thread.run_sync(_write_token_use, tokens)


def _write_token_use(tokens: TokenStore) -> None:
    try:
        tokens.write_use()
    except (UserError, OSError) as problem:
        logger.warning("when tokens were used is not put down: %s", problem)
