"""The control room for everybody: by keyboard alone, on a phone, and without a barrier that axe finds."""

from __future__ import annotations

import pytest
from playwright.async_api import Browser, Page, expect

from cellwright.testing import Fault
from tests.runs.factory import apply, create, finish, plan, task
from tests.web.a_control_room import WORDS, ControlRoom, agree, card, editor, go, see_run, show, violations

pytestmark = pytest.mark.slow
"""All in a real browser, which `make test-all` sees to."""

CREATED = apply(create("total = 40 + 2\ntotal", "total"))
HELD = Fault("slow-first-byte", answer=finish("It is 42."))
PLACES = (
    *("/", "/runs", "/connections", "/connections/-add", "/dashboards", "/welcome", "/settings/models"),
    *("/settings/roles", "/settings/rules", "/settings/approvals", "/settings/tokens", "/settings/look"),
    *("/settings/machine", "/nowhere"),
)
TABS = ("Activity", "Plan", "Changes", "Result")


async def settled(page: Page) -> None:
    """Until nothing says that it is being read."""
    await expect(page.get_by_role("main").locator("h1, h2, a").first).to_be_visible()
    await expect(page.get_by_role("main").locator("[class*=spinner]")).to_have_count(0)


async def asking_run(room: ControlRoom) -> str:
    """A run with changes that then waits for an answer."""
    room.provider.script(plan(task(), hosts=["data.example.org"]))
    run = await room.start()
    await room.until(run, lambda seen: seen["status"] == "waiting")
    return run


async def delivered_run(room: ControlRoom) -> str:
    room.provider.script(plan(task(), title="The sum"), CREATED, finish("It is **42**."))
    run = await room.start()
    await room.until(run, lambda seen: seen["standing"] == "done")
    return run


@pytest.mark.parametrize("theme", ["light", pytest.param("dark", marks=pytest.mark.slow)])
async def test_axe_finds_nothing_on_any_page(room: ControlRoom, chromium: Browser, theme: str) -> None:
    done, asks = await delivered_run(room), await asking_run(room)
    found: dict[str, list[str]] = {}
    async with room.person(chromium, theme=theme) as page:
        for place in (*PLACES, f"/runs/{done}/detail"):
            await go(page, place)
            await settled(page)
            found[place] = await violations(page)
        await page.keyboard.press("?")
        await expect(page.get_by_role("dialog", name="Keys")).to_be_visible()
        found["keys"] = await violations(page)
        await page.keyboard.press("Escape")
        for run in (done, asks):
            await see_run(page, run)
            for tab in TABS:
                await show(page, tab)
                await settled(page)
                found[f"{run} {tab}"] = await violations(page)
        await expect(card(page)).to_be_visible()
        found["card"] = await violations(page)
    assert {place: wrong for place, wrong in found.items() if wrong} == {}


@pytest.mark.slow
async def test_a_run_is_begun_answered_and_read_by_keyboard_alone(room: ControlRoom, chromium: Browser) -> None:
    room.provider.script(plan(task(), hosts=["data.example.org"]))
    async with room.person(chromium) as page:
        await expect(page.get_by_label("Goal")).to_be_focused()
        await page.keyboard.type(WORDS)
        await page.keyboard.press("Control+Enter")
        await expect(card(page)).to_be_visible()
        await page.keyboard.press("n")
        await expect(card(page).get_by_label("What the agent should know")).to_be_focused()
        await page.keyboard.type("Not from there.")
        await page.keyboard.press("Enter")
        await expect(card(page)).to_have_count(0)
        await page.keyboard.press("4")
        await expect(page.get_by_role("tabpanel").get_by_text("Not from there.")).to_be_visible()
        await page.keyboard.press("?")
        await expect(page.get_by_role("dialog", name="Keys")).to_be_visible()
        await page.keyboard.press("Escape")
        await expect(page.get_by_role("dialog")).to_have_count(0)
        await page.keyboard.press("g")
        await page.keyboard.press("r")
        row = page.get_by_role("main").get_by_role("link", name=WORDS).first
        await expect(row).to_be_visible()
        for _ in range(40):
            if await row.evaluate("node => node === document.activeElement"):
                break
            await page.keyboard.press("Tab")
        await expect(row).to_be_focused()
        await page.keyboard.press("Enter")
        await expect(page.get_by_role("heading", name=WORDS)).to_be_visible()


@pytest.mark.slow
async def test_on_a_phone_nothing_runs_off_the_page_and_everything_can_be_done(
    room: ControlRoom, chromium: Browser
) -> None:
    room.provider.script(plan(task(), hosts=["data.example.org"]), CREATED, HELD)
    run = await room.start()
    wide: dict[str, int] = {}
    async with room.person(chromium, width=390, height=844) as page:
        for place in (*PLACES, f"/runs/{run}/detail"):
            await go(page, place)
            await settled(page)
            wide[place] = await page.evaluate("document.documentElement.scrollWidth")
        await see_run(page, run)
        await agree(page)
        await show(page, "Notebook")
        await expect(editor(page).locator(".cm-content").filter(has_text="total = 40 + 2")).to_be_visible()
        room.provider.release()
        for tab in (*TABS, "Notebook"):
            await show(page, tab)
            await settled(page)
            wide[tab] = await page.evaluate("document.documentElement.scrollWidth")
        await show(page, "Result")
        await expect(page.get_by_text("It is 42.")).to_be_visible()
    assert {place: width for place, width in wide.items() if width > 390} == {}
