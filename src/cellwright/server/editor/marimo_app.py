"""marimo's own server as an app with our sessions and settings, and the routes that are answered in its place.

Ours change the document, save it, or restart the kernel.
"""

from __future__ import annotations

from collections.abc import Iterator
from importlib.resources import files
from typing import Final, TypeVar

import msgspec
from marimo._server.models.models import NotebookDocumentTransactionRequest, SaveNotebookRequest
from marimo._types.ids import ConsumerId, SessionId
from starlette.applications import Starlette
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.routing import BaseRoute, Mount, Route, WebSocketRoute

from cellwright.errors import CellwrightError, Unavailable
from cellwright.ids import CellId
from cellwright.kernel.session.open_notebook import OpenNotebook
from cellwright.notebook.render import render
from cellwright.server.editor import allowed_routes
from cellwright.server.editor.allowed_routes import panel_routes, says
from cellwright.server.editor.middleware import EditorRefusal
from cellwright.server.editor.mirror import NotebookMirror
from cellwright.server.editor.sessions import EditorSession, Sessions, load_assets_route

_HEAD: Final = '<script src="/cellwright/typing.js"></script>'


def marimo_app(sessions: Sessions) -> Starlette:
    """The app, to be put behind our middleware: by itself it asks nobody who they are. Raises `Unavailable`."""
    load_assets_route()
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
        path
        for method, path in allowed_routes.routes() | {("WS", allowed_routes.WEBSOCKET)}
        if (method, path) not in there
    )
    if missing:
        raise Unavailable(
            f"This marimo's server has no {', '.join(missing)}.",
            hint="Install the marimo that Cellwright was made for. Everything but the editor works.",
        )


_SUCCESS: Final = {"success": True}
_READ_ONLY: Final = "Somebody else edits this notebook. Take over first."
Body = TypeVar("Body", bound=msgspec.Struct)


class _Typing(msgspec.Struct):
    cell: str


def editor_routes(sessions: Sessions) -> Starlette:
    """An app with these routes and no others."""
    ours = _Routes(sessions)
    script = files("cellwright.server.editor").joinpath("typing.js").read_text(encoding="utf-8")
    return Starlette(
        routes=[
            Route("/api/document/transaction", ours.change, methods=["POST"]),
            Route("/api/kernel/save", ours.save, methods=["POST"]),
            Route("/api/kernel/read_code", ours.read_code, methods=["POST"]),
            Route("/api/kernel/interrupt", ours.interrupt, methods=["POST"]),
            Route("/api/kernel/restart_session", ours.restart, methods=["POST"]),
            Route("/cellwright/typing", ours.typing, methods=["POST"]),
            Route("/cellwright/typing.js", says(PlainTextResponse(script, media_type="text/javascript"))),
            *panel_routes(ours.notebook),
        ],
        exception_handlers={
            EditorRefusal: _answer,
            ClientDisconnect: lambda request, problem: Response(status_code=400),
        },
    )


class _Routes:
    def __init__(self, sessions: Sessions) -> None:
        self._sessions = sessions

    async def change(self, request: Request) -> Response:
        """A person changed the notebook."""
        page, mirror = self._editor(request)
        body = await _body(request, NotebookDocumentTransactionRequest)
        mirror.changed(page, body.changes)
        return JSONResponse(_SUCCESS)

    async def save(self, request: Request) -> Response:
        """Save, our way. Which file is not the page's to say."""
        page, mirror = self._editor(request)
        body = await _body(request, SaveNotebookRequest)
        mirror.typed(page, [(CellId(cell), code) for cell, code in zip(body.cell_ids, body.codes, strict=True)])
        if body.persist:
            problem = await mirror.save()
            if problem:
                raise EditorRefusal(409, problem)
        return PlainTextResponse(render(mirror.notebook.document))

    async def read_code(self, request: Request) -> Response:
        """The notebook as it would be saved now."""
        _, mirror = self._page(request)
        return JSONResponse({"contents": render(mirror.notebook.document)})

    async def interrupt(self, request: Request) -> Response:
        """Stop what runs. marimo would let readers do it too."""
        _, mirror = self._editor(request)
        mirror.interrupt()
        return JSONResponse(_SUCCESS)

    async def restart(self, request: Request) -> Response:
        """A fresh kernel; the page then loads itself anew."""
        _, mirror = self._editor(request)
        try:
            await mirror.notebook.restart()
        except CellwrightError as problem:
            raise EditorRefusal(503, problem.message) from problem
        return JSONResponse(_SUCCESS)

    def notebook(self, request: Request) -> OpenNotebook | None:
        """The notebook the page is connected to."""
        session = self._sessions.get_session(SessionId(request.headers.get("Marimo-Session-Id", "")))
        shown = session.shown if isinstance(session, EditorSession) else None
        return shown.notebook if isinstance(shown, NotebookMirror) else None

    async def typing(self, request: Request) -> Response:
        """Somebody types, and it is not known yet what."""
        _, mirror = self._editor(request)
        mirror.is_typing((await _body(request, _Typing)).cell)
        return Response(status_code=204)

    def _page(self, request: Request) -> tuple[str, NotebookMirror]:
        page = request.headers.get("Marimo-Session-Id", "")
        session = self._sessions.get_session(SessionId(page))
        if not isinstance(session, EditorSession) or not isinstance(session.shown, NotebookMirror):
            raise EditorRefusal(403, "This page is connected to no notebook.")
        return page, session.shown

    def _editor(self, request: Request) -> tuple[str, NotebookMirror]:
        """Only who may edit; everybody else looks."""
        page, mirror = self._page(request)
        consumer = mirror.session.room.get_consumer(ConsumerId(page))
        if consumer is None or not mirror.session.room.get_capabilities(consumer).edit:
            raise EditorRefusal(403, _READ_ONLY)
        return page, mirror


async def _body(request: Request, kind: type[Body]) -> Body:
    try:
        return msgspec.json.decode(await request.body(), type=kind)
    except (msgspec.MsgspecError, AssertionError, RecursionError) as problem:
        raise EditorRefusal(400, f"Not understood: {str(problem)[:200]}") from problem


def _answer(request: Request, problem: Exception) -> Response:
    assert isinstance(problem, EditorRefusal)
    return JSONResponse({"detail": problem.why}, status_code=problem.status)
