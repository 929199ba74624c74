"""Words and code appear in a real browser as they are made; stop stops them, coming back shows no gap and no double."""

from __future__ import annotations

import re

import pytest
from playwright.async_api import Browser, Locator, Page, expect

from cellwright.testing import CallTool, Fault
from tests.runs.factory import create, finish, plan, task
from tests.web.a_control_room import ControlRoom, see_run, show

pytestmark = pytest.mark.slow
"""All in a real browser, which `make test-all` sees to."""

WORDS = "I add forty and two, as was asked, and then I look whether the sum is right, in one cell and not in several."
CODE = "\n".join(f"step_{number} = {number}" for number in range(20)) + "\ntotal = 40 + 2\ntotal"
ANSWER = CallTool("apply", {"edits": [create(CODE, "total")]}, text=WORDS, chunks=40)
WORDS_HELD = Fault("stall", answer=ANSWER, after_chunks=18)
CODE_HELD = Fault("stall", answer=ANSWER, after_chunks=len(WORDS.split()) + 30)


CUT = """
const send = window.fetch, open = [];
window.fetch = (input, init) => {
  const cut = new AbortController();
  open.push(cut);
  return send(input, { ...init, signal: AbortSignal.any([cut.signal, ...(init?.signal ? [init.signal] : [])]) });
};
window.cutConnections = () => open.splice(0).forEach((cut) => cut.abort(new TypeError("network error")));
"""
"""Breaks every connection of the page, in the middle of a stream too."""


def draft(page: Page) -> Locator:
    return page.get_by_role("log").locator("[data-draft]")


async def test_words_appear_while_they_are_made_and_stay_once(room: ControlRoom, chromium: Browser) -> None:
    room.provider.script(plan(task()), WORDS_HELD, finish("It is 42."))
    run = await room.start(notebook="words.py")
    async with room.person(chromium) as page:
        await see_run(page, run)
        await room.until_silent()
        await expect(draft(page)).to_contain_text("I add forty and two, as was asked")
        await expect(draft(page)).not_to_contain_text("in several")
        room.provider.release()
        await expect(page.get_by_role("log").get_by_text(WORDS)).to_have_count(1)
        await room.until_delivered(run)
        await expect(draft(page)).to_have_count(0)
        await expect(page.get_by_role("log").get_by_text(WORDS)).to_have_count(1)


async def test_code_appears_as_it_is_written_and_coming_back_shows_no_gap_and_no_double(
    room: ControlRoom, chromium: Browser
) -> None:
    room.provider.script(plan(task()), CODE_HELD, finish("It is 42."))
    run = await room.start(notebook="code.py")
    async with room.person(chromium) as page:
        await see_run(page, run)
        await room.until_silent()
        # All that the model has sent so far, to its last half line: what the page shows a moment earlier is less.
        await expect(draft(page)).to_contain_text(re.compile(r"step_13 = 13\s*step_1\s*$"))
        before = await draft(page).inner_text()
        assert before.count("step_12 = 12") == 1
        await page.add_init_script(CUT)
        await page.reload()
        await expect(draft(page)).to_have_text(before, use_inner_text=True)
        async with page.expect_request(f"**/runs/{run}/events") as again:
            await page.evaluate("cutConnections()")
        assert int((await (await again.value).all_headers())["last-event-id"]) > 1
        async with page.expect_response(f"**/runs/{run}/events"):
            await page.evaluate("cutConnections()")
        await expect(draft(page)).to_have_text(before, use_inner_text=True)
        room.provider.release()
        await expect(draft(page)).to_have_count(0)
        await expect(page.get_by_role("log").get_by_text(WORDS)).to_have_count(1)
        await expect(page.get_by_role("log").get_by_text("step_0 = 0")).to_have_count(1)
        await room.until_delivered(run)
        await show(page, "Result")
        await expect(page.get_by_text("It is 42.")).to_be_visible()


async def test_stop_stops_what_is_being_written(room: ControlRoom, chromium: Browser) -> None:
    room.provider.script(plan(task()), CODE_HELD)
    run = await room.start(notebook="stopped.py")
    async with room.person(chromium) as page:
        await see_run(page, run)
        await room.until_silent()
        await expect(draft(page)).to_contain_text("step_12 = 12")
        await page.keyboard.press("s")
        await expect(draft(page)).to_have_count(0)
        ended = await room.until_delivered(run)
        await expect(draft(page)).to_have_count(0)
    assert ended["delivery"]["status"] != "done"
    assert not room.provider.charged[-1].is_finished
