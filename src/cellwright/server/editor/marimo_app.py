"""marimo's own server, as an app: its routes and its frontend, with our sessions and our settings behind them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from starlette.applications import Starlette
from starlette.routing import BaseRoute, Mount, Route, WebSocketRoute

from cellwright.errors import Unavailable
from cellwright.server.editor import allowed, configuration
from cellwright.server.editor.sessions import Sessions

_HEAD: Final = '<script src="/cellwright/typing.js"></script>'


def marimo_app(sessions: Sessions) -> Starlette:
    """The app, to be put behind the gate: by itself it asks nobody who they are. Raises `Unavailable`."""
    configuration.load_assets_route()
    from marimo._server.config import StarletteServerStateInit
    from marimo._server.main import create_starlette_app

    app = create_starlette_app(base_url="", host="127.0.0.1", enable_auth=False, skew_protection=True)
    state = StarletteServerStateInit(
        port=0,
        host="127.0.0.1",
        base_url="",
        asset_url=None,
        headless=True,
        quiet=True,
        session_manager=sessions,
        config_manager=sessions.settings,
        remote_url=None,
        mcp_server_enabled=False,
        skew_protection=True,
        enable_auth=False,
    )
    state.apply(app.state)
    app.state.html_head = _HEAD
    _check(app)
    return app


def addresses_of(routes: list[BaseRoute], prefix: str = "") -> Iterator[tuple[str, str]]:
    """Method and path of everything an app answers; `WS` for websockets, `*` for what is mounted whole."""
    for route in routes:
        if isinstance(route, WebSocketRoute):
            yield "WS", prefix + route.path
        elif isinstance(route, Mount):
            below = list(addresses_of(route.routes, prefix + route.path)) if route.routes else []
            yield from below or [("*", prefix + route.path)]
        elif isinstance(route, Route):
            for method in sorted((route.methods or {"GET"}) - {"HEAD"}):
                yield method, prefix + route.path


def _check(app: Starlette) -> None:
    there = set(addresses_of(app.routes))
    missing = sorted(
        path for method, path in allowed.routes() | {("WS", allowed.WEBSOCKET)} if (method, path) not in there
    )
    if missing:
        raise Unavailable(
            f"This marimo's server has no {', '.join(missing)}.",
            hint="Install the marimo that Cellwright was made for. Everything but the editor works.",
        )
