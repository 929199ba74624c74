"""A page that was away: reloaded mid-run, a server killed with -9 and started again, a second browser."""

from __future__ import annotations

import pytest
from playwright.async_api import Browser, expect

from cellwright.testing import Fault
from tests.runs.factory import apply, create, finish, plan, task
from tests.web.a_control_room import ControlRoom, agree, card, editor, see_run, show

pytestmark = pytest.mark.slow
"""All in a real browser, which `make test-all` sees to."""

CREATED = apply(create("total = 40 + 2\ntotal", "total"))
HELD = Fault("slow-first-byte", answer=finish("It is 42."))
OFFLINE = "Cellwright does not answer."


@pytest.mark.slow
async def test_a_page_that_is_reloaded_mid_run_shows_everything_again(room: ControlRoom, chromium: Browser) -> None:
    room.provider.script(plan(task()), CREATED, HELD)
    run = await room.start()
    async with room.person(chromium) as page:
        await see_run(page, run)
        await room.until_silent()
        await expect(page.get_by_role("log").get_by_text("total = 40 + 2")).to_be_visible()
        await page.reload()
        await expect(page.get_by_role("log").get_by_text("total = 40 + 2")).to_have_count(1)
        await expect(editor(page).locator(".cm-content").filter(has_text="total = 40 + 2")).to_be_visible()
        room.provider.release()
        await show(page, "Result")
        await expect(page.get_by_text("It is 42.")).to_be_visible()


@pytest.mark.slow
async def test_a_server_killed_mid_run_comes_back_and_the_page_catches_up(room: ControlRoom, chromium: Browser) -> None:
    room.provider.script(plan(task()), CREATED, HELD)
    run = await room.start()
    async with room.person(chromium) as page:
        await see_run(page, run)
        await room.until_silent()
        await expect(page.get_by_role("log").get_by_text("total = 40 + 2")).to_be_visible()
        room.kill()
        await expect(page.get_by_text(OFFLINE).first).to_be_visible()
        room.serve()
        await expect(page.get_by_text(OFFLINE)).to_have_count(0)
        room.provider.release()
        await show(page, "Result")
        await expect(page.get_by_text("It is 42.")).to_be_visible()
        await show(page, "Activity")
        await expect(page.get_by_role("log").get_by_text("total = 40 + 2")).to_have_count(1)
    assert (room.folder / "sum-the-numbers.py").exists()


@pytest.mark.slow
async def test_two_browsers_see_the_same_run_and_one_answer_counts_for_both(
    room: ControlRoom, chromium: Browser
) -> None:
    room.provider.script(plan(task(), hosts=["data.example.org"]), CREATED, HELD)
    run = await room.start(notebook="both.py")
    async with room.person(chromium) as ana, room.person(chromium) as ben:
        for page in (ana, ben):
            await see_run(page, run)
        for page in (ana, ben):
            await expect(card(page)).to_be_visible()
        await agree(ana)
        await expect(card(ben)).to_have_count(0)
        for page in (ana, ben):
            await expect(editor(page).locator(".cm-content").filter(has_text="total = 40 + 2")).to_be_visible()
        room.provider.release()
        for page in (ana, ben):
            await show(page, "Result")
            await expect(page.get_by_text("It is 42.")).to_be_visible()
