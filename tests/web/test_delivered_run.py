"""A delivered run in the control room: its report is read first, and a report that means harm does nothing."""

from __future__ import annotations

from urllib.parse import unquote

import anyio
import pytest
from playwright.async_api import Browser, Page, Response, expect

from cellwright.testing import Fault
from tests.runs.factory import apply, create, finish, plan, task
from tests.web.a_control_room import ControlRoom, editor, report, see_run, show

pytestmark = pytest.mark.slow
"""All in a real browser, which `make test-all` sees to."""

CREATED = apply(create("total = 40 + 2\ntotal", "total"))
ANSWER = finish("It is **42**.")
LOST = "Links of a report open only in the downloaded file."


async def delivered(room: ControlRoom, notebook: str) -> str:
    """A run that is over, with a report beside its notebook."""
    room.provider.script(plan(task(), title="The sum"), CREATED, ANSWER)
    run = await room.start(notebook=notebook)
    seen = await room.until(run, lambda seen: seen["standing"] == "done")
    assert seen["status"] == "done", seen["delivery"]
    return run


async def tabs(page: Page, label: str) -> list[str]:
    return await page.get_by_role("tablist", name=label).get_by_role("tab").all_inner_texts()


async def test_a_delivered_run_opens_with_its_report_then_its_notebook_and_its_changes(
    room: ControlRoom, chromium: Browser
) -> None:
    run = await delivered(room, "read.py")
    async with room.person(chromium) as page:
        await see_run(page, run)
        await expect(report(page).get_by_text("It is 42.").first).to_be_visible()
        await expect(page.get_by_role("tab", name="Result")).to_have_attribute("aria-selected", "true")
        assert [each.split("\n")[0] for each in await tabs(page, "What it made")] == ["Report", "Notebook", "Changes"]
        await show(page, "Changes")
        await expect(page.get_by_role("region", name="created total")).to_be_visible()
        await show(page, "Notebook")
        await expect(page.get_by_role("region", name="Cells").get_by_text("total = 40 + 2")).to_be_visible()
        await expect(page.locator("iframe")).to_have_count(0)
        await page.get_by_role("button", name="Open live").click()
        await expect(editor(page).locator(".cm-content").filter(has_text="total = 40 + 2")).to_be_visible()
        await page.keyboard.press("Escape")
        await show(page, "Report")
        await expect(report(page).get_by_text("It is 42.").first).to_be_visible()


async def test_a_run_that_is_delivered_before_ones_eyes_gains_a_report_and_nothing_else_moves(
    room: ControlRoom, chromium: Browser
) -> None:
    room.provider.script(plan(task()), CREATED, Fault("slow-first-byte", answer=ANSWER))
    run = await room.start(notebook="watched.py")
    async with room.person(chromium) as page:
        await see_run(page, run)
        await expect(editor(page).locator(".cm-content").filter(has_text="total = 40 + 2")).to_be_visible()
        await room.until_silent()
        await expect(page.get_by_role("tablist", name="What it made")).to_have_count(0)
        room.provider.release()
        await expect(report(page).get_by_text("It is 42.").first).to_be_visible()
        await expect(page.get_by_role("log").get_by_text("total = 40 + 2")).to_be_visible()
        names = [each.split("\n")[0] for each in await tabs(page, "Views of this run")]
        assert names == ["Activity", "Plan", "Changes", "Result"]


async def test_on_a_phone_the_report_is_what_one_sees_first(room: ControlRoom, chromium: Browser) -> None:
    run = await delivered(room, "phone.py")
    async with room.person(chromium, width=390, height=844) as page:
        await see_run(page, run)
        await expect(report(page).get_by_text("It is 42.").first).to_be_visible()
        await expect(page.get_by_role("tab", name="Report")).to_have_attribute("aria-selected", "true")
        assert await page.evaluate("document.documentElement.scrollWidth") <= 390
        await show(page, "Plan")
        await expect(page.get_by_role("tab", name="Plan")).to_be_in_viewport(ratio=0.9)


async def test_a_run_whose_report_was_taken_away_shows_its_notebook(room: ControlRoom, chromium: Browser) -> None:
    run = await delivered(room, "bare.py")
    (room.folder / "bare.report.html").unlink()
    async with room.person(chromium) as page:
        await see_run(page, run)
        await expect(page.get_by_role("region", name="Cells").get_by_text("total = 40 + 2")).to_be_visible()
        await expect(page.get_by_role("tab", name="Report")).to_have_count(0)


DRAWN = """\
import matplotlib.pyplot as plt
_figure, _axes = plt.subplots(figsize=(4, 3))
_axes.bar(["a", "b"], [1, 2])
_axes.set(title="Two bars", xlabel="name", ylabel="count")
_figure"""


async def pictured(room: ControlRoom, notebook: str) -> str:
    """A run that is over, whose report has a picture and a check."""
    checked = create("def test_total():\n    assert total == 42", "check_total")
    made = apply(create("total = 40 + 2", "total"), create(DRAWN, "report_picture"), checked)
    room.provider.script(made, finish("It is {total}. That is the sum."))
    run = await room.start(notebook=notebook)
    seen = await room.until(run, lambda seen: seen["standing"] == "done")
    assert seen["status"] == "done", seen["delivery"]
    return run


async def test_the_picture_of_a_report_is_copied_as_an_image(room: ControlRoom, chromium: Browser) -> None:
    run = await pictured(room, "pictured.py")
    async with room.person(chromium) as page:
        await page.context.grant_permissions(["clipboard-read", "clipboard-write"])
        await see_run(page, run)
        await expect(report(page).get_by_role("heading", name="It is 42.")).to_be_visible()
        await page.get_by_role("button", name="Copy picture").click()
        await expect(page.get_by_text("The picture is on the clipboard.")).to_be_visible()
        size = await page.evaluate(
            """async () => {
                const [item] = await navigator.clipboard.read();
                const image = await createImageBitmap(await item.getType("image/png"));
                return [image.width, image.height];
            }"""
        )
        assert size[0] > size[1] > 300
        # A link within the report moves it, and nothing else.
        await report(page).get_by_role("link", name="How it was checked").click()
        await expect(report(page).get_by_role("heading", name="Checks")).to_be_in_viewport()
        await expect(page.get_by_text(LOST)).to_have_count(0)


async def test_where_the_clipboard_refuses_it_the_picture_is_handed_over_as_a_file(
    room: ControlRoom, chromium: Browser
) -> None:
    run = await pictured(room, "refused.py")
    async with room.person(chromium) as page:
        await page.evaluate("() => { navigator.clipboard.write = () => Promise.reject(new Error('no')) }")
        await see_run(page, run)
        async with page.expect_download() as coming:
            await page.get_by_role("button", name="Copy picture").click()
        file = await coming.value
        assert file.suggested_filename == "refused.png"
        assert (await anyio.Path(await file.path()).read_bytes()).startswith(b"\x89PNG")


async def test_a_short_notebook_leads_on_to_the_long_one_and_stays_as_it_is(
    room: ControlRoom, chromium: Browser
) -> None:
    lines = [f"2025-0{month}-{day:02},{amount}" for month, amount in ((5, 40), (6, 20)) for day in range(1, 21)]
    (room.folder / "takings.csv").write_text("day,amount\n" + "\n".join(lines) + "\n")
    asked = "How much amount was there in May 2025?"
    run = await room.start(notebook="short.py", goal=asked, models=["analyst"], data=["takings.csv"])
    await room.until_delivered(run)
    short = (room.folder / "short.py").read_bytes()
    async with room.person(chromium) as page:
        await see_run(page, run)
        await page.get_by_role("button", name="Every column and every test").click()
        await page.wait_for_url(lambda url: "/runs/" in url and not url.endswith(run))
        longer = page.url.rsplit("/", 1)[1]
        # What a long one has more of is planned at once; that it is made is shown where goals are given in a terminal.
        seen = await room.until(unquote(longer), lambda seen: seen["plan"] is not None)
        assert seen["goal"]["depth"] == "full"
        assert seen["goal"]["notebook"] != "short.py"
        assert len(seen["plan"]["tasks"]) > 1
        assert (room.folder / "short.py").read_bytes() == short


HOSTILE = """<!doctype html><html><head>
<meta http-equiv="refresh" content="0;url=/steal-refresh">
<base href="/steal-base/" target="_top">
<link rel="stylesheet" href="/steal-style.css"><link rel="icon" href="/steal-icon">
<style>@import url(/steal-import.css); body { background: url(/steal-background.png) }
  @font-face { font-family: x; src: url(/steal-font) } h1 { font-family: x }</style>
<script>top.pwned = 1; document.title = "pwned"; fetch("/steal-fetch")</script>
</head><body onload="top.pwned = 1; document.title = 'pwned'">
<h1>Quarterly figures</h1>
<img src="/steal-image.png" onerror="top.pwned = 1; document.title = 'pwned'">
<iframe src="/steal-frame"></iframe><object data="/steal-object"></object><embed src="/steal-embed">
<video src="/steal-video" autoplay></video><svg onload="top.pwned = 1"></svg>
<p><a href="#/settings" target="_top">Leave</a></p>
<p><a href="/steal-popup" target="_blank">Open</a></p>
<p><a href="javascript:document.title='pwned';top.pwned=1" target="_self">Press</a></p>
<form action="/api/v1/tokens" method="post" target="_top"><input name="name" value="mine"><button>Send</button></form>
<p><a href="/steal-link" target="_self">Follow</a></p>
</body></html>"""


async def test_a_report_full_of_hostile_markup_runs_loads_sends_and_moves_nothing(
    room: ControlRoom, chromium: Browser
) -> None:
    run = await delivered(room, "hostile.py")
    (room.folder / "hostile.report.html").write_text(HOSTILE)
    answered: list[str] = []

    def note(response: Response) -> None:
        if "steal" in response.url or response.request.method == "POST":
            answered.append(response.url)

    async with room.person(chromium) as page:
        page.on("response", note)
        await see_run(page, run)
        shown = report(page)
        await expect(shown.get_by_role("heading", name="Quarterly figures")).to_be_visible()
        address = page.url
        # What one does by accident, and what is done to one. Each is over when the next one is answered.
        for name in ("Leave", "Open", "Press"):
            await shown.get_by_role("link", name=name).click()
        await shown.get_by_role("button", name="Send").click()
        await expect(shown.get_by_role("heading", name="Quarterly figures")).to_be_visible()
        assert (page.url, len(page.context.pages), answered) == (address, 1, [])
        assert await page.evaluate("window.pwned === undefined && !document.title.includes('pwned')")
        await shown.get_by_role("link", name="Follow").click()
        await expect(page.get_by_text(LOST)).to_be_visible()
        await expect(shown.get_by_role("heading", name="Quarterly figures")).to_be_visible()
        assert (page.url, len(page.context.pages)) == (address, 1)
        await show(page, "Notebook")
        await expect(page.get_by_role("region", name="Cells")).to_be_visible()
    assert "mine" not in {token["name"] for token in (await room.get("tokens"))["tokens"]}
