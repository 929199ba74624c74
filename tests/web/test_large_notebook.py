"""A notebook of 2,000 cells in the control room: in marimo's editor and in our list, to the last cell."""

from __future__ import annotations

import anyio
import pytest
from playwright.async_api import Browser, Frame, Page, expect

from cellwright.testing import CallTool
from tests.conftest import notebook_source
from tests.runs.factory import plan, task
from tests.web.a_control_room import LONG_SECONDS, ControlRoom, see_run, show

pytestmark = pytest.mark.slow
"""All in a real browser, which `make test-all` sees to."""

CELLS = 2_000
MOST_SHOWN = 100
"""Of our own list, as elements: a screen or two."""
MILLISECONDS = 480_000
"""marimo itself makes some 90 elements for each cell."""
ASKS = CallTool("read_web_page", {"url": "http://data.example.org/"})


async def large_run(room: ControlRoom, cells: int = CELLS) -> str:
    """A run that waits for an answer with the large notebook open."""
    source = notebook_source(*(f"x_{number} = {number}" for number in range(cells)))
    (room.folder / "large.py").write_text(source)
    room.provider.script(plan(task()), ASKS)
    run = await room.start(notebook="large.py")
    await room.until(run, lambda seen: seen["status"] == "waiting")
    return run


async def answers_clicks(page: Page) -> None:
    for tab in ("Plan", "Changes", "Activity"):
        await show(page, tab)
        await expect(page.get_by_role("tab", name=tab)).to_have_attribute("aria-selected", "true")


async def until_first(room: ControlRoom, run: str, code: str) -> None:
    """Until our own document has this as its first cell."""
    with anyio.fail_after(LONG_SECONDS):
        # It is another process: there is no event to wait for.
        while (await room.get(f"notebooks/{run}"))["cells"][0]["code"] != code:  # noqa: ASYNC110
            await anyio.sleep(0.2)


# All of them take marimo's editor eight minutes.
@pytest.mark.parametrize("cells", [CELLS // 20, pytest.param(CELLS, marks=pytest.mark.rare)])
async def test_many_cells_open_in_the_editor_scroll_and_one_is_edited_while_the_page_answers(
    room: ControlRoom, chromium: Browser, cells: int
) -> None:
    run = await large_run(room, cells)
    async with room.person(chromium) as page:
        await see_run(page, run)
        frame = await editor_frame(page)
        async with anyio.create_task_group() as both:
            both.start_soon(until_there_are, frame, cells)
            # While the editor is being built, which takes marimo a while.
            await answers_clicks(page)
        # marimo makes them editable one after the other, from the first on.
        first = frame.locator("[data-cell-id]").first.locator(".cm-content")
        await first.click(timeout=MILLISECONDS)
        await page.keyboard.press("End")
        await page.keyboard.type("  # t")
        await until_first(room, run, "x_0 = 0  # t")
        last = frame.locator("[data-cell-id]").nth(cells - 1)
        await last.evaluate("cell => cell.scrollIntoView()", timeout=MILLISECONDS)
        await expect(last).to_be_in_viewport(timeout=MILLISECONDS)
        ids = [cell["id"] for cell in (await room.get(f"notebooks/{run}"))["cells"]]
        assert (len(ids), await last.get_attribute("data-cell-id", timeout=MILLISECONDS)) == (cells, ids[-1])
        await answers_clicks(page)


async def editor_frame(page: Page) -> Frame:
    element = await page.locator('iframe[title="marimo editor"]').element_handle()
    frame = await element.content_frame()
    assert frame is not None
    return frame


async def until_there_are(frame: Frame, cells: int) -> None:
    are_there = f"document.querySelectorAll('[data-cell-id]').length === {cells}"
    await frame.wait_for_function(are_there, polling=1_000, timeout=MILLISECONDS)


async def test_our_own_list_of_two_thousand_cells_keeps_a_screenful_of_elements(
    room: ControlRoom, chromium: Browser
) -> None:
    run = await large_run(room)
    async with room.person(chromium) as page:
        await see_run(page, run)
        await page.get_by_role("button", name="Cells").click()
        shown = page.get_by_role("region", name="Cells")
        await expect(shown.get_by_text("x_0 = 0", exact=True)).to_be_visible()
        assert 0 < await shown.locator("article").count() < MOST_SHOWN
        assert await shown.locator("*").count() < MOST_SHOWN * 30
        await shown.focus()
        await page.keyboard.press("End")
        await expect(shown.get_by_text(f"x_{CELLS - 1} = {CELLS - 1}", exact=True)).to_be_visible()
        await expect(shown.get_by_text("x_0 = 0", exact=True)).to_have_count(0)
        assert 0 < await shown.locator("article").count() < MOST_SHOWN
        await answers_clicks(page)
