"""A notebook that means harm, shown in the control room: it approves nothing, reads no token, and freezes nothing."""

from __future__ import annotations

import json
from typing import Any

import anyio
import pytest
from playwright.async_api import Browser, Frame, Page, expect

from cellwright.testing import CallTool, Fault
from tests.runs.factory import apply, create, finish, plan, task
from tests.web.a_control_room import SECONDS, ControlRoom, card, editor, go, see_run, show

pytestmark = pytest.mark.slow
"""All in a real browser, which `make test-all` sees to."""

ASKS = CallTool("read_web_page", {"url": "http://data.example.org/"})
"""A question is open while the notebook does its worst."""
MARKUP = (
    '<img src=x onerror="window.pwned=1"><script>window.pwned=1</script><iframe srcdoc="<script>top.pwned=1</script>">'
    "</iframe><form action=/api/v1/questions/x/answer>"
    "<button autofocus onfocus='window.pwned=1'>Confirm</button></form>"
    "\n\n[press me](javascript:window.pwned=1) ![x](http://127.0.0.1:9/steal?token) **bold**"
)
# What any widget can do at most: it runs in the editor's own origin.
ATTACK = """async ({ page, question }) => {
    const found = {};
    const attempt = async (name, act) => {
        try { found[name] = String(await act()); } catch (error) { found[name] = error.name; }
    };
    await attempt("document", () => parent.document.title);
    await attempt("button", () => { parent.document.querySelector("button").click(); return "clicked"; });
    await attempt("storage", () => parent.sessionStorage.getItem("cellwright.token"));
    await attempt("own storage", () => sessionStorage.getItem("cellwright.token"));
    await attempt("cookies", () => document.cookie);
    await attempt("read", async () => (await fetch(page + "/api/v1/session")).status);
    const answer = `${page}/api/v1/questions/${encodeURIComponent(question)}/answer`;
    await attempt("answer", async () => (await fetch(answer, {
        method: "POST", mode: "no-cors", headers: { "Content-Type": "text/plain" },
        body: JSON.stringify({ answer: "yes", reach: "always", fingerprint: "", feedback: "" }),
    })).status);
    await attempt("frame of the page", () => new Promise((resolve) => {
        const frame = document.createElement("iframe");
        frame.onload = () => {
            try { resolve(frame.contentDocument === null ? "unreadable" : frame.contentDocument.title); }
            catch (error) { resolve(error.name); }
        };
        frame.src = page;
        document.body.append(frame);
        setTimeout(() => resolve("never loaded"), 5000);
    }));
    await attempt("leave", () => { top.location.href = "about:blank#taken"; return "tried"; });
    await attempt("opener", () => { parent.postMessage({ type: "approve", question }, "*"); return "sent"; });
    return found;
}"""
REFUSED = {"SecurityError", "TypeError", "NotAllowedError", "null", "", "unreadable", "never loaded"}


async def open_question(room: ControlRoom, run: str) -> dict[str, Any]:
    await room.until(run, lambda seen: seen["status"] == "waiting")
    [question] = (await room.get(f"runs/{run}/questions"))["questions"]
    return question


async def editor_frame(page: Page, room: ControlRoom) -> Frame:
    await expect(editor(page).locator(".cm-content").first).to_be_visible()
    return next(
        frame
        for frame in page.frames
        if frame.parent_frame == page.main_frame and not frame.url.startswith(room.origin)
    )


async def token_names(room: ControlRoom) -> set[str]:
    return {token["name"] for token in (await room.get("tokens"))["tokens"]}


async def is_alive(page: Page) -> None:
    """It answers a person: another tab is shown, nothing of the notebook's ran in it."""
    for tab in ("Changes", "Activity"):
        await show(page, tab)
        await expect(page.get_by_role("tab", name=tab)).to_have_attribute("aria-selected", "true")
    assert await page.evaluate("window.pwned === undefined")


async def test_what_runs_in_the_editor_reaches_neither_the_page_nor_its_token_nor_an_approval(
    room: ControlRoom, chromium: Browser
) -> None:
    room.provider.script(plan(task()), apply(create("total = 1", "total")), ASKS)
    run = await room.start(notebook="widget.py")
    question = await open_question(room, run)
    async with room.person(chromium) as page:
        await see_run(page, run)
        frame = await editor_frame(page, room)
        found = await frame.evaluate(ATTACK, {"page": room.origin, "question": question["id"]})
        assert {name: got for name, got in found.items() if got not in REFUSED | {"tried", "sent"}} == {}
        assert page.url.startswith(room.origin)
        await expect(card(page)).to_be_visible()
        await is_alive(page)
    [still] = (await room.get(f"runs/{run}/questions"))["questions"]
    assert (still["id"], (await room.get("grants"))["grants"]) == (question["id"], [])


@pytest.mark.slow
async def test_a_frame_and_a_form_that_a_cell_makes_reach_no_further(room: ControlRoom, chromium: Browser) -> None:
    script = (
        "<script>let got = []; try { got.push(top.document.title) } catch (e) { got.push(e.name) };"
        " try { top.location = 'about:blank#taken'; got.push('tried') } catch (e) { got.push(e.name) };"
        " document.body.append('says ' + got.join(' '))</script>"
    )
    form = f"<form method=post action={room.origin}/api/v1/tokens><button>Win a prize</button></form>"
    room.provider.script(
        plan(task()),
        apply(
            create(f"mo.iframe({script!r})", "framed"),
            create(f"mo.Html({form!r})", "form"),
            create(f"mo.Html({MARKUP!r})", "markup"),
        ),
        ASKS,
    )
    run = await room.start(notebook="forms.py")
    question = await open_question(room, run)
    async with room.person(chromium) as page:
        await see_run(page, run)
        before = await token_names(room)
        frame = await editor_frame(page, room)
        await expect(editor(page).get_by_role("button", name="Win a prize")).to_be_visible()
        for inner in (frame, *frame.child_frames):
            assert "says Cellwright" not in await inner.locator("body").inner_text()
        # Both policies block it; what is left of the frame is the browser's own page, until it is opened again.
        await editor(page).get_by_role("button", name="Win a prize").click()
        await expect(editor(page).get_by_role("button", name="Win a prize")).to_have_count(0)
        await page.get_by_role("button", name="Cells").click()
        await page.get_by_role("button", name="Editor").click()
        await expect(editor(page).get_by_role("button", name="Win a prize")).to_be_visible()
        assert page.url.startswith(room.origin)
        await is_alive(page)
    assert await token_names(room) == before
    [still] = (await room.get(f"runs/{run}/questions"))["questions"]
    assert still["id"] == question["id"]


@pytest.mark.slow
async def test_a_cell_cannot_call_the_api_from_the_kernel(room: ControlRoom) -> None:
    code = f"""
import socket
try:
    with socket.create_connection(("127.0.0.1", {room.origin.rpartition(":")[2]}), 5):
        reached = "connected"
except OSError as problem:
    reached = f"refused: {{type(problem).__name__}}"
reached
"""
    room.provider.script(plan(task()), apply(create(code.strip(), "reach")), ASKS)
    run = await room.start(notebook="reach.py")
    await open_question(room, run)
    cells = (await room.get(f"notebooks/{run}"))["cells"]
    [output] = [cell["output"]["text"] for cell in cells if cell["name"] == "reach"]
    assert "refused" in output


@pytest.mark.slow
async def test_huge_output_leaves_the_page_alive(room: ControlRoom, chromium: Browser) -> None:
    room.provider.script(
        plan(task()),
        apply(
            create("for _ in range(200):\n    print('x' * 100_000)", "printed"),
            create("mo.Html('<b>y</b>' * 1_000_000)", "shown"),
            create("['z' * 1_000] * 20_000", "listed"),
        ),
        ASKS,
    )
    run = await room.start(notebook="huge.py")
    await open_question(room, run)
    async with room.person(chromium) as page:
        await see_run(page, run)
        await editor_frame(page, room)
        await is_alive(page)
        await page.get_by_role("button", name="Cells").click()
        await expect(page.get_by_role("region", name="Cells").get_by_text("printed")).to_be_visible()
        await is_alive(page)


@pytest.mark.slow
async def test_a_models_markup_is_text_wherever_it_is_shown(room: ControlRoom, chromium: Browser) -> None:
    room.provider.script(
        plan(task("sum", title=MARKUP), title=MARKUP),
        CallTool("look", {}, text=MARKUP),
        Fault("slow-first-byte", answer=apply(create(f"markup = {json.dumps(MARKUP)}", "markup"))),
        finish(MARKUP, summary=MARKUP),
        finish(MARKUP, summary=MARKUP),
    )
    asked: list[str] = []
    run = await room.start(notebook="markup.py", goal=f"Sum it. {MARKUP}")
    async with room.person(chromium) as page:
        page.on("request", lambda request: asked.append(request.url))
        await see_run(page, run)
        await room.until_silent()
        room.provider.release()
        with anyio.fail_after(SECONDS):
            await room.until(run, lambda seen: seen["standing"] not in {"running", "waiting", "queued"})
        for tab in ("Activity", "Plan", "Changes", "Result"):
            await show(page, tab)
            await harmless(page)
        await go(page, f"/runs/{run}/detail")
        await expect(page.get_by_role("heading", level=1)).to_be_visible()
        await harmless(page)
        await go(page, "/runs")
        await expect(page.get_by_text("Sum it.").first).to_be_visible()
        await harmless(page)
    assert [url for url in asked if ":9/" in url] == []


async def harmless(page: Page) -> None:
    """Nothing the model wrote is an element that acts."""
    assert await page.evaluate("window.pwned === undefined")
    main = page.get_by_role("main")
    await expect(
        main.locator("script, form[action], img[src^='http'], [onerror], a[href^='javascript']")
    ).to_have_count(0)
    await expect(main.locator("iframe:not([title='marimo editor']):not([sandbox])")).to_have_count(0)
