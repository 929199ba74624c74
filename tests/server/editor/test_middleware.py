from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from typing import Any
from urllib.parse import urlsplit

import pytest
from websockets.asyncio.client import connect
from websockets.exceptions import InvalidStatus
from websockets.typing import Origin

from cellwright.kernel.session.open_notebook import OpenNotebook
from cellwright.server.editor import Editor
from cellwright.server.editor.passes import EditorPasses
from tests.server.editor.visitor import Visitor, Visits

Opener = Callable[..., AbstractAsyncContextManager[OpenNotebook]]


@pytest.mark.slow
async def test_a_code_lets_one_browser_in_once_and_becomes_a_cookie_that_scripts_cannot_read(
    opened: Opener, editor: Editor, visit: Visits
) -> None:
    async with opened("x = 1") as notebook:
        address = await editor.address(notebook, person="ana")
        first = await visit().client.get(address)
        assert first.status_code == 303
        cookie = first.headers["set-cookie"].lower()
        assert "httponly" in cookie
        assert "samesite=strict" in cookie
        assert "code=" not in first.headers["location"]
        assert (await visit().client.get(address)).status_code == 403


async def test_nobody_gets_anything_without_a_pass(opened: Opener, editor: Editor, visit: Visits) -> None:
    async with opened("x = 1") as notebook:
        known = visit()
        await known.enter(notebook)
        stranger = visit("s_stranger")
        assert (await stranger.client.get(f"{editor.origin}/?file={known.key}")).status_code == 401
        assert (await stranger.post("/api/kernel/run", {"cellIds": [], "codes": []})).status_code == 401
        assert (await stranger.client.get(f"{editor.origin}/health")).status_code == 401
        stranger.key = known.key
        with pytest.raises(InvalidStatus):
            async with stranger.connected():
                pass


async def test_a_page_of_another_origin_can_neither_post_nor_connect(
    opened: Opener, editor: Editor, visit: Visits
) -> None:
    async with opened("x = 1") as notebook:
        visitor = visit()
        await visitor.enter(notebook)
        async with visitor.connected() as frames:
            await frames.until("kernel-ready")
            refused = await visitor.post("/api/kernel/interrupt", Origin="http://127.0.0.1:8300")
            assert refused.status_code == 403
            assert (await visitor.post("/api/kernel/interrupt")).status_code == 200
        cookies = "; ".join(f"{name}={value}" for name, value in visitor.client.cookies.items())
        address = f"ws://{urlsplit(editor.origin).netloc}/ws?file={visitor.key}&session_id=s_other"
        for origin in (Origin("http://127.0.0.1:8300"), None):
            with pytest.raises(InvalidStatus):
                async with connect(
                    address,
                    origin=origin,
                    additional_headers={"Cookie": cookies},
                    proxy=None,
                ):
                    pass


async def test_a_name_that_leads_here_by_rebinding_is_refused(editor: Editor, visit: Visits) -> None:
    port = urlsplit(editor.origin).port
    answer = await visit().client.get(f"{editor.origin}/health", headers={"Host": f"evil.example:{port}"})
    assert answer.status_code == 421


async def test_only_the_page_may_frame_the_editor_and_a_notebook_reaches_nobody_through_a_browser(
    opened: Opener, visit: Visits
) -> None:
    async with opened("x = 1") as notebook:
        visitor = visit()
        await visitor.enter(notebook)
        answer = await visitor.client.get(f"{visitor.editor.origin}/", params={"file": visitor.key})
    policy = answer.headers["content-security-policy"]
    assert "frame-ancestors http://127.0.0.1:8300" in policy
    assert "connect-src 'self'" in policy
    assert "https:" not in policy
    assert answer.headers["referrer-policy"] == "no-referrer"


async def test_a_pass_for_one_notebook_opens_no_other(opened: Opener, editor: Editor, visit: Visits) -> None:
    async with opened("x = 1") as one, opened("x = 2") as other:
        ana, ben = visit("s_ana"), visit("s_ben")
        await ana.enter(one)
        await ben.enter(other, person="ben")
        assert (await ana.client.get(f"{editor.origin}/?file={ben.key}")).status_code == 404
        async with ben.connected() as frames:
            await frames.until("kernel-ready")
            stolen = await ana.post("/api/kernel/interrupt", **{"Marimo-Session-Id": "s_ben"})
            assert stolen.status_code == 403
        ana.key = ben.key
        with pytest.raises(InvalidStatus):
            async with ana.connected():
                pass


async def test_nobody_speaks_as_somebody_elses_page_even_in_the_same_notebook(opened: Opener, visit: Visits) -> None:
    async with opened("x = 1") as notebook:
        ana, ben = visit("s_ana"), visit("s_ben")
        await ana.enter(notebook)
        await ben.enter(notebook, person="ben")
        async with ana.connected() as frames, ben.connected():
            await frames.until("kernel-ready")
            refused = await ben.post("/api/document/transaction", {"changes": []}, **{"Marimo-Session-Id": "s_ana"})
            assert refused.status_code == 403


async def test_who_is_withdrawn_is_out_at_the_next_request(opened: Opener, editor: Editor, visit: Visits) -> None:
    async with opened("x = 1") as notebook:
        visitor = visit()
        await visitor.enter(notebook)
        editor.withdraw("ana")
        assert (await visitor.client.get(f"{editor.origin}/?file={visitor.key}")).status_code == 401


@pytest.mark.slow
async def test_a_body_that_is_too_large_is_refused_before_it_is_read(opened: Opener, visit: Visits) -> None:
    async with opened("x = 1") as notebook:
        visitor = visit()
        await visitor.enter(notebook)
        async with visitor.connected() as frames:
            await frames.until("kernel-ready")
            answer = await visitor.post("/api/document/transaction", {"changes": ["x" * (25 << 20)]})
    assert answer.status_code == 413


async def test_neither_marimos_token_nor_a_setting_of_the_persons_is_in_the_page(
    opened: Opener, visit: Visits, tmp_path: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = tmp_path / "config" / "marimo" / "marimo.toml"
    settings.parent.mkdir(parents=True)
    settings.write_text('[ai.open_ai]\napi_key = "sk-their-own"\n[display]\ncode_editor_font_size = 33\n')
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.setenv("HOME", str(tmp_path / "config"))
    async with opened("x = 1") as notebook:
        visitor = visit()
        first = await visitor.enter(notebook)
    assert "access_token" not in first.headers["location"] + visitor.html
    assert "sk-their-own" not in visitor.html
    assert '"code_editor_font_size": 33' not in visitor.html
    assert '"allow_provider_config": false' in visitor.html
    assert '"enabled": true' not in visitor.html
    assert str(tmp_path) not in visitor.html


async def test_files_that_a_notebook_names_as_its_style_are_not_read_from_the_host(
    opened: Opener, visit: Visits, tmp_path: Any
) -> None:
    secret = tmp_path / "secret.css"
    secret.write_text("a-secret-of-the-host {}")
    path = tmp_path / "project" / "notebook.py"
    path.parent.mkdir()
    path.write_text(
        f'import marimo\n\napp = marimo.App(css_file="{secret}", html_head_file="{secret}")\n'
        '\n\n@app.cell\ndef _():\n    x = 1\n    return\n\n\nif __name__ == "__main__":\n    app.run()\n'
    )
    async with opened(path=path) as notebook:
        visitor = visit()
        await visitor.enter(notebook)
    assert "a-secret-of-the-host" not in visitor.html


def test_a_code_and_a_pass_end_by_themselves() -> None:
    now = 0.0
    passes = EditorPasses(clock=lambda: now)
    code, late = passes.issue("one", person="ana"), passes.issue("one", person="ana")
    redeemed = passes.redeem(code, None)
    assert redeemed is not None
    now = 130.0
    assert passes.redeem(late, None) is None
    assert passes.find(redeemed[0]) is not None
    now += 13 * 3600
    assert passes.find(redeemed[0]) is None


async def test_the_credential_does_not_reach_marimo_nor_its_kernel(opened: Opener, visit: Visits) -> None:
    async with opened("import marimo as mo\nb = mo.ui.slider(0, 9)", "b.value\nseen = str(mo.app_meta().request)") as (
        notebook
    ):
        await notebook.run("all")
        visitor = visit()
        await visitor.enter(notebook)
        async with visitor.connected() as frames:
            await frames.until("kernel-ready")
            cell = notebook.document.cells[0]
            body = {"objectIds": [f"{cell.id}-0"], "values": [7]}
            assert (await visitor.post("/api/kernel/set_ui_element_value", body)).status_code == 200
            await frames.until("completed-run")
        (value,) = await notebook.look(["seen"])
    assert all(held not in value.text for held in visitor.client.cookies.values())


@pytest.mark.slow
async def test_panels_are_answered_for_the_notebook_and_tell_nothing_of_the_host(
    opened: Opener, editor: Editor, visit: Visits
) -> None:
    async with opened("x = 1") as notebook, opened("x = 2") as another:
        visitor, other = visit("s_first"), visit("s_other")
        await visitor.enter(notebook)
        await other.enter(another, person="ben")

        async def ask(path: str, who: Visitor = visitor) -> Any:
            answer = await who.client.get(editor.origin + path, headers=visitor.headers)
            return answer.json() if answer.status_code == 200 else answer.status_code

        # Before it is connected a page asks, too: there is nothing to tell yet.
        assert (await visitor.post("/api/packages/sandbox")).json()["filename"] is None
        assert await ask("/api/packages/list") == {"packages": []}
        assert (await ask("/api/usage"))["memory"]["total"] is None
        async with visitor.connected() as frames:
            await frames.until("kernel-ready")
            packages = {one["name"]: one["version"] for one in (await ask("/api/packages/list"))["packages"]}
            assert packages == await notebook.live.distributions()
            memory = (await ask("/api/usage"))["memory"]
            assert memory["total"] == notebook.provisioner.options.limits.memory_mb << 20
            assert 0 < memory["used"] < memory["total"]
            assert (await ask("/api/files/roots"), await ask("/api/lsp/health")) == (
                {"roots": []},
                {"status": "healthy", "servers": []},
            )
            assert (await visitor.post("/api/secrets/keys")).json() == {"keys": []}
            added = (await visitor.post("/api/packages/add", {"package": "requests"})).json()
            assert (added["success"], "header" in added["error"]) == (False, True)
            # Whoever has no pass for this notebook learns nothing by its page's name.
            assert await ask("/api/packages/list", other) == 403
