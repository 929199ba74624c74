from __future__ import annotations

import re
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from typing import Any
from urllib.parse import urlsplit

import marimo._server.main
import pytest
from inline_snapshot import snapshot
from marimo._server.api.router import build_routes
from websockets.asyncio.client import connect
from websockets.exceptions import InvalidStatus
from websockets.typing import Origin

from cellwright.errors import Unavailable
from cellwright.kernel.session.open_notebook import OpenNotebook
from cellwright.server.editor import Editor, allowed_routes, open_editor
from cellwright.server.editor.marimo_app import addresses_of, marimo_app
from cellwright.server.editor.sessions import Sessions
from tests.server.editor.visitor import Visits

Opener = Callable[..., AbstractAsyncContextManager[OpenNotebook]]


@pytest.fixture(scope="module")
def marimos() -> list[tuple[str, str]]:
    """Everything marimo's server answers, as method and path."""
    return sorted(set(addresses_of(marimo_app(Sessions()).routes)))


def is_open(method: str, path: str) -> bool:
    return path == allowed_routes.WEBSOCKET if method == "WS" else allowed_routes.access(method, path) is not None


def test_every_route_of_marimos_is_on_the_list_or_refused(marimos: list[tuple[str, str]]) -> None:
    found = [(method, path) for method, path in marimos if is_open(method, path)]
    assert found == snapshot(
        [
            ("GET", "/"),
            ("GET", "/api/documentation/snippets"),
            ("GET", "/api/files/roots"),
            ("GET", "/api/kernel/status"),
            ("GET", "/api/lsp/health"),
            ("GET", "/api/packages/list"),
            ("GET", "/api/packages/tree"),
            ("GET", "/api/usage"),
            ("GET", "/health"),
            ("GET", "/public-files-sw.js"),
            ("POST", "/api/datasources/discover"),
            ("POST", "/api/datasources/preview_column"),
            ("POST", "/api/datasources/preview_datasource_connection"),
            ("POST", "/api/datasources/preview_sql_schema_list"),
            ("POST", "/api/datasources/preview_sql_table"),
            ("POST", "/api/datasources/preview_sql_table_list"),
            ("POST", "/api/document/transaction"),
            ("POST", "/api/files/list_files"),
            ("POST", "/api/kernel/code_autocomplete"),
            ("POST", "/api/kernel/delete"),
            ("POST", "/api/kernel/focus_cell"),
            ("POST", "/api/kernel/function_call"),
            ("POST", "/api/kernel/instantiate"),
            ("POST", "/api/kernel/interrupt"),
            ("POST", "/api/kernel/read_code"),
            ("POST", "/api/kernel/restart_session"),
            ("POST", "/api/kernel/run"),
            ("POST", "/api/kernel/save"),
            ("POST", "/api/kernel/set_cell_config"),
            ("POST", "/api/kernel/set_model_value"),
            ("POST", "/api/kernel/set_ui_element_value"),
            ("POST", "/api/kernel/takeover"),
            ("POST", "/api/packages/add"),
            ("POST", "/api/packages/remove"),
            ("POST", "/api/packages/sandbox"),
            ("POST", "/api/secrets/keys"),
            ("POST", "/api/sql/validate"),
            ("WS", "/ws"),
        ]
    )
    assert len(marimos) == snapshot(107)


@pytest.mark.slow
async def test_what_is_not_on_the_list_is_not_there_even_for_an_editor(
    opened: Opener, editor: Editor, visit: Visits, marimos: list[tuple[str, str]]
) -> None:
    async with opened("x = 1") as notebook:
        visitor = visit()
        await visitor.enter(notebook)
        async with visitor.connected() as frames:
            await frames.until("kernel-ready")
            answers: dict[tuple[str, str], int] = {}
            for method, path in marimos:
                if method not in {"WS", "*"} and not is_open(method, path):
                    plain = re.sub(r"\{[^}]*\}", "etc/passwd", path)
                    answer = await visitor.client.request(
                        method, editor.origin + plain, json={}, headers=visitor.headers
                    )
                    answers[method, path] = answer.status_code
            assert {asked: status for asked, status in answers.items() if status != 404} == {}
            assert len(answers) == snapshot(66)
        cookies = "; ".join(f"{name}={value}" for name, value in visitor.client.cookies.items())
        for path in ("/terminal/ws", "/ws_sync", "/lsp/pylsp"):
            with pytest.raises(InvalidStatus):
                async with connect(
                    f"ws://{urlsplit(editor.origin).netloc}{path}?file={visitor.key}&session_id=s_first",
                    origin=Origin(editor.origin),
                    additional_headers={"Cookie": cookies},
                    proxy=None,
                ):
                    pass


@pytest.mark.parametrize("path", ["/assets/../index.html", "/assets/%2e%2e/index.html", "/assets/", "//", "/ws/"])
def test_no_odd_spelling_of_a_path_is_on_the_list(path: str) -> None:
    assert allowed_routes.access("GET", path) is None


async def test_a_marimo_whose_editor_is_another_one_is_said_to_be_unavailable_with_why(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delattr(marimo._server.main, "create_starlette_app")
    with pytest.raises(Unavailable, match="create_starlette_app"):
        async with open_editor():
            pass


async def test_a_marimo_that_lacks_a_route_we_use_is_said_to_be_unavailable_with_which(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    whole = build_routes

    def without_websocket(base_url: str = "") -> list[Any]:
        return [route for route in whole(base_url=base_url) if ("WS", "/ws") not in addresses_of([route])]

    monkeypatch.setattr(marimo._server.main, "build_routes", without_websocket)
    with pytest.raises(Unavailable, match=r"has no .*/ws"):
        async with open_editor():
            pass
