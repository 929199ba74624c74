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
# What any script can do at most in the editor's origin. Each attempt is `refused` in its own way, or it got something.
ATTEMPTS = """async ({ page, question, others }) => {
    const found = {};
    const attempt = async (name, act) => {
        try { found[name] = String(await act()); } catch (error) { found[name] = error.name; }
    };
    const within = (act) => new Promise((resolve, reject) => {
        act(resolve, reject);
        setTimeout(() => resolve("never"), 5000);
    });
    const yes = JSON.stringify({ answer: "yes", reach: "always", fingerprint: "", feedback: "" });
    const answer = `${page}/api/v1/questions/${encodeURIComponent(question)}/answer`;
    for (const name of others) {
        const other = window[name];
        await attempt(`${name}: title`, () => other.document.title);
        await attempt(`${name}: press`, () => {
            for (const button of other.document.querySelectorAll("button")) button.click();
            return "pressed";
        });
        await attempt(`${name}: key`, () => {
            other.document.dispatchEvent(new KeyboardEvent("keydown", { key: "y", bubbles: true }));
            return "typed";
        });
        await attempt(`${name}: session`, () => other.sessionStorage.getItem("cellwright.token"));
        await attempt(`${name}: local`, () => other.localStorage.length);
        await attempt(`${name}: fetch`, () => other.fetch("/api/v1/session"));
        await attempt(`${name}: address`, () => other.location.href);
    }
    await attempt("opener", () => window.opener);
    await attempt("own storage", () => sessionStorage.getItem("cellwright.token"));
    await attempt("own cookies", () => document.cookie);
    await attempt("read", async () => (await fetch(page + "/api/v1/session")).status);
    await attempt("read with cookies", async () =>
        (await fetch(page + "/api/v1/session", { credentials: "include" })).status);
    await attempt("answer", async () => (await fetch(answer, {
        method: "POST", mode: "no-cors", headers: { "Content-Type": "text/plain" }, body: yes,
    })).status);
    await attempt("request", () => within((resolve, reject) => {
        const request = new XMLHttpRequest();
        request.onload = () => resolve(request.status);
        request.onerror = () => reject(new TypeError());
        request.open("POST", answer);
        request.send(yes);
    }));
    await attempt("stream", () => within((resolve, reject) => {
        const stream = new EventSource(page + "/api/v1/events");
        stream.onopen = () => resolve("open");
        stream.onerror = () => { stream.close(); reject(new TypeError()); };
    }));
    await attempt("socket", () => within((resolve, reject) => {
        const socket = new WebSocket(page.replace("http", "ws") + "/api/v1/events");
        socket.onopen = () => resolve("open");
        socket.onerror = () => reject(new TypeError());
    }));
    await attempt("frame of the page", () => within((resolve) => {
        const frame = document.createElement("iframe");
        frame.onload = () => {
            try { resolve(frame.contentDocument === null ? "unreadable" : frame.contentDocument.title); }
            catch (error) { resolve(error.name); }
        };
        frame.src = page;
        document.body.append(frame);
    }));
    navigator.sendBeacon(answer, yes);
    for (const said of [
        { type: "approve", question }, { kind: "answer", id: question, answer: "yes", reach: "always" },
        { event: "questions", data: { waiting: 0 } }, { source: "cellwright", token: "give" }, "approve", yes,
    ]) {
        parent.postMessage(said, "*");
        top.postMessage(said, page);
    }
    if (window !== top) try { top.location.href = "about:blank#taken"; } catch { /* refused */ }
    return found;
}"""
BY_ITSELF = 10
"""So many attempts are told of,"""
ON_ANOTHER = 7
"""and so many for each window that they are about."""
REFUSED = {"SecurityError", "TypeError", "NotAllowedError", "null", "", "unreadable", "never"}
# A real widget, with a button: a press gives its script what browsers allow only to whom a person touched.
WIDGET = """
import anywidget

class Widget(anywidget.AnyWidget):
    _esm = {esm!r}

mo.ui.anywidget(Widget())
"""
ESM = """
const attempts = %(attempts)s;
const openPage = async (page) => {
    const popup = window.open(page);
    if (popup === null) return "null";
    for (let look = 0; look < 20; look += 1) {
        await new Promise((resolve) => setTimeout(resolve, 100));
        try { popup.sessionStorage.getItem("cellwright.token"); } catch (error) { return error.name; }
        if (popup.document.title !== "") return popup.document.title;
    }
    return "unreadable";
};
export default {
    async render({ el }) {
        window.widgetRan = location.origin;
        el.innerHTML = "<button>Spin the wheel</button><output data-widget></output>";
        const output = el.querySelector("output");
        el.querySelector("button").onclick = async () => {
            // The popup first: the press counts for a moment only.
            const popup = await openPage(window.known.page);
            output.textContent = JSON.stringify({ popup, ...(await attempts(window.known)) });
        };
        output.textContent = "ready";
    },
};
"""


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


def reached(found: dict[str, str]) -> dict[str, str]:
    """What an attempt got that it must not get."""
    return {name: got for name, got in found.items() if got not in REFUSED}


async def test_a_widgets_own_script_reaches_neither_the_page_nor_its_token_nor_an_approval(
    room: ControlRoom, chromium: Browser
) -> None:
    widget = WIDGET.format(esm=ESM % {"attempts": ATTEMPTS}).strip()
    room.provider.script(plan(task()), apply(create(widget, "widget")), ASKS)
    run = await room.start(notebook="widget.py")
    question = await open_question(room, run)
    async with room.person(chromium) as page:
        await see_run(page, run)
        frame = await editor_frame(page, room)
        told = editor(page).locator("output[data-widget]")
        # It is at work: in the editor's own origin, and nowhere else.
        await expect(told).to_have_text("ready")
        assert await frame.evaluate("window.widgetRan === location.origin")
        assert await page.evaluate("window.widgetRan === undefined")
        # It even knows what is asked, and a person has pressed its button.
        known = {"page": room.origin, "question": question["id"], "others": ["parent", "top"]}
        await frame.evaluate("known => { window.known = known }", known)
        await editor(page).get_by_role("button", name="Spin the wheel").click()
        await expect(told).to_contain_text("popup")
        found = json.loads(await told.inner_text())
        assert len(found) == BY_ITSELF + 2 * ON_ANOTHER + len(["popup"])
        assert reached(found) == {}
        assert page.url.startswith(room.origin)
        await expect(card(page)).to_be_visible()
        await is_alive(page)
    await nothing_was_answered(room, run, question)


async def test_the_same_attempts_succeed_from_the_pages_own_origin(room: ControlRoom, chromium: Browser) -> None:
    async with room.person(chromium) as page:
        known = {"page": room.origin, "question": "anything", "others": ["parent", "top"]}
        found = reached(await page.evaluate(ATTEMPTS, known))
    live = {f"{name}: {what}" for name in ("parent", "top") for what in ("title", "press", "key", "session", "fetch")}
    assert live | {"own storage", "read", "answer", "request"} <= set(found)
    assert found["top: session"].startswith("cw_")


async def nothing_was_answered(room: ControlRoom, run: str, question: dict[str, Any]) -> None:
    [still] = (await room.get(f"runs/{run}/questions"))["questions"]
    assert (still["id"], (await room.get("grants"))["grants"]) == (question["id"], [])


@pytest.mark.slow
async def test_frames_scripts_and_forms_of_a_cells_output_reach_no_further(
    room: ControlRoom, chromium: Browser
) -> None:
    # Its parent is the editor, with which it shares an origin: the page is one further.
    where = json.dumps({"page": room.origin, "question": "anything", "others": ["top"]})
    framed = (
        "<output data-framed></output><script>parent.framedRan = self.origin; "
        f"({ATTEMPTS})({where}).then((found) => "
        "{ document.querySelector('output').textContent = JSON.stringify(found) })</script>"
    )
    form = f"<form method=post action={room.origin}/api/v1/tokens><button>Win a prize</button></form>"
    html = (
        "<p data-html>all of it is here</p><script>window.scriptRan = 1</script>"
        '<img src="data:," onerror="window.imageRan = 1">'
        '<iframe data-inner srcdoc="<script>parent.innerRan = 1; top.pwned = 1</script>"></iframe>'
    )
    room.provider.script(
        plan(task()),
        apply(
            create(f"mo.iframe({framed!r})", "framed"),
            create(f"mo.Html({html!r})", "html"),
            create(f"mo.Html({form!r})", "form"),
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
        await expect(editor(page).locator("p[data-html]")).to_be_visible()
        # Until a person has run something, marimo shows none of this: not the frames, not the scripts.
        ran = "[window.framedRan === location.origin, window.innerRan, window.scriptRan, window.imageRan]"
        assert await frame.evaluate(ran) == [False, None, None, None]
        await expect(editor(page).locator("iframe")).to_have_count(0)
        await editor(page).locator(".cm-content").first.click()
        await page.keyboard.press("Control+Enter")
        # Then frames run in the editor's origin; a script or a handler that stands in `mo.Html` itself never does.
        told = editor(page).locator("iframe:not([data-inner])").content_frame.locator("output[data-framed]")
        await expect(told).to_contain_text("frame of the page")
        await frame.wait_for_function("window.innerRan === 1")
        assert await frame.evaluate(ran) == [True, 1, None, None]
        await expect(editor(page).locator("p[data-html] ~ script")).to_have_count(1)
        found = json.loads(await told.inner_text())
        assert (len(found), reached(found)) == (BY_ITSELF + ON_ANOTHER, {})
        assert await page.evaluate("[window.pwned, window.framedRan]") == [None, None]
        await expect(card(page)).to_be_visible()
        # Both policies block it; what is left of the frame is the browser's own page, until it is opened again.
        await editor(page).get_by_role("button", name="Win a prize").click()
        await expect(editor(page).get_by_role("button", name="Win a prize")).to_have_count(0)
        await page.get_by_role("button", name="Cells").click()
        await page.get_by_role("button", name="Editor").click()
        await expect(editor(page).get_by_role("button", name="Win a prize")).to_be_visible()
        assert page.url.startswith(room.origin)
        await is_alive(page)
    assert await token_names(room) == before
    await nothing_was_answered(room, run, question)


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
