"""The control room over https, in a real browser: the page, its stream of events, and the editor in its frame."""

from __future__ import annotations

from pathlib import Path

import pytest
from playwright.async_api import Page, expect

from cellwright.testing import Fault
from tests.runs.factory import apply, create, finish, plan, task
from tests.server.http.a_certificate import a_certificate
from tests.web.a_control_room import WORDS, ControlRoom, editor, show
from tests.web.a_tls_room import free_ports, served_with, somebody, speaking_tls

pytestmark = pytest.mark.slow
"""All in a real browser, which `make test-all` sees to."""

MILLISECONDS = 240_000
"""Each has a daemon, a gateway and a browser of its own to start."""


async def test_with_tls_in_the_daemon_page_events_and_editor_work(tmp_path: Path) -> None:
    certificate, key = a_certificate(tmp_path / "files")
    tls = ("--tls-cert", str(certificate), "--tls-key", str(key))
    with served_with(tmp_path, "--host", "0.0.0.0", *tls) as room:
        async with somebody(room) as page:
            await a_run_grows_in_the_editor(room, page)


async def test_behind_a_proxy_that_speaks_tls_page_events_and_editor_work(tmp_path: Path) -> None:
    files, (port, editor_port) = a_certificate(tmp_path / "files"), free_ports(2)
    async with speaking_tls(files, port) as origin, speaking_tls(files, editor_port) as editor_origin:
        ours = ("--behind-proxy", origin, "--editor-origin", editor_origin)
        with served_with(tmp_path, *ours, "--port", str(port), "--editor-port", str(editor_port)) as room:
            assert room.origin == origin
            async with somebody(room) as page:
                await a_run_grows_in_the_editor(room, page)


async def a_run_grows_in_the_editor(room: ControlRoom, page: Page) -> None:
    room.provider.script(
        plan(task(), title="The sum"),
        apply(create("total = 40 + 2\ntotal", "total")),
        Fault("slow-first-byte", answer=apply(create("double = total * 2\ndouble", "double"))),
        finish("It is 84."),
    )
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    page.on("websocket", lambda socket: asked.append(socket.url))
    assert await page.evaluate("window.isSecureContext")
    await page.get_by_label("Goal").fill(WORDS)
    await page.get_by_role("button", name="Start").click()
    cells = editor(page).locator(".cm-content")
    await expect(cells.filter(has_text="total = 40 + 2")).to_be_visible(timeout=MILLISECONDS)
    await expect(editor(page).get_by_text("42", exact=True)).to_be_visible()
    # From here on only the streams tell the page and the editor.
    loaded = [url for url in asked if url.endswith("/events")]
    room.provider.release()
    await expect(cells.filter(has_text="double = total * 2")).to_be_visible(timeout=MILLISECONDS)
    await show(page, "Result")
    await expect(page.get_by_text("It is 84.")).to_be_visible(timeout=MILLISECONDS)
    assert loaded
    assert [url for url in asked if not url.startswith(("https:", "wss:", "data:", "blob:"))] == []
    assert {url.partition(":")[0] for url in asked} >= {"https", "wss"}
    passes = [each for each in await page.context.cookies() if each.get("name", "").startswith("cellwright_editor")]
    assert [(each.get("secure"), each.get("httpOnly")) for each in passes] == [(True, True)]
