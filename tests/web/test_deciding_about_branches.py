"""A person accepts or drops branches in the control room, and the notebook follows."""

from __future__ import annotations

import re

import pytest
from playwright.async_api import Browser, Locator, Page, expect

from cellwright.testing import CallTool, Fault
from tests.runs.factory import create, finish, plan, task
from tests.web.a_control_room import ControlRoom, editor, see_run, show, violations

pytestmark = pytest.mark.slow
"""All in a real browser, which `make test-all` sees to."""

MEAN, MEDIAN = "average = sum([1, 2, 9]) / 3\naverage", "average = sorted([1, 2, 9])[1]\naverage"
ASKS = CallTool(
    "try_alternatives",
    {
        "candidates": [
            {"name": "mean", "edits": [create(MEAN, "average")]},
            {"name": "median", "edits": [create(MEDIAN, "average")]},
            {"name": "broken", "edits": [create("average = nothing", "average")]},
        ],
        "keep": "ask",
    },
)
PLANNED = plan(task("average", alternatives=[{"name": "mean"}, {"name": "median"}], person_decides=True))


def branch_card(page: Page, name: str) -> Locator:
    return page.get_by_role("region", name=f"Branch {name} (")


async def waiting(room: ControlRoom, notebook: str) -> str:
    """A run two of whose branches wait."""
    room.provider.script(PLANNED, ASKS, Fault("slow-first-byte", answer=finish("It is 2.")))
    run = await room.start(notebook=notebook)
    await room.until(run, lambda seen: bool(seen["questions"]))
    return run


async def test_a_branch_is_accepted_from_its_card_and_its_cell_is_in_the_notebook(
    room: ControlRoom, chromium: Browser
) -> None:
    run = await waiting(room, "accepted.py")
    async with room.person(chromium) as page:
        await see_run(page, run)
        await show(page, "Branches")
        await expect(branch_card(page, "median")).to_contain_text("waits for you")
        await expect(branch_card(page, "broken")).to_contain_text("not kept")
        await expect(branch_card(page, "broken").get_by_role("button")).to_have_count(0)
        await expect(page.get_by_role("region", name="Which branch is kept?")).to_be_visible()
        assert await violations(page) == []
        accept = branch_card(page, "median").get_by_role("button", name=re.compile(r"^Accept median \("))
        await accept.focus()
        await page.keyboard.press("Enter")
        await expect(branch_card(page, "median")).to_contain_text(re.compile("✓ accepted by .+"))
        await expect(branch_card(page, "mean")).to_contain_text("dropped by ")
        await expect(page.get_by_role("region", name="Which branch is kept?")).to_have_count(0)
        await room.until_silent()
        await expect(editor(page).locator(".cm-content").filter(has_text="average = sorted")).to_be_visible()
        assert "average = sorted([1, 2, 9])[1]" in (room.folder / "accepted.py").read_text()
        room.provider.release()
    await room.until_delivered(run)


async def test_branches_are_dropped_one_after_the_other_on_a_phone(room: ControlRoom, chromium: Browser) -> None:
    run = await waiting(room, "dropped.py")
    async with room.person(chromium, width=390, height=844, theme="dark") as page:
        await see_run(page, run)
        await show(page, "Branches")
        await branch_card(page, "mean").get_by_role("button", name="Drop").click()
        await expect(branch_card(page, "mean")).to_contain_text("dropped by ")
        await expect(branch_card(page, "median")).to_contain_text("waits for you")
        assert await page.evaluate("document.documentElement.scrollWidth") <= 390
        assert await violations(page) == []
        await branch_card(page, "median").get_by_role("button", name="Drop").click()
        await expect(branch_card(page, "median")).to_contain_text("dropped by ")
        await room.until_silent()
        assert "average" not in (room.folder / "dropped.py").read_text()
        room.provider.release()
