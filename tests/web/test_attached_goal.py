"""A goal in the page for a notebook that is open in a marimo of the person's own."""

from __future__ import annotations

from pathlib import Path

import pytest
from playwright.async_api import Browser, expect

from tests.kernel.stock_marimo import stock_marimo, write_notebook
from tests.web.a_control_room import ControlRoom, run_of, violations

pytestmark = pytest.mark.slow
"""In a real browser, which `make test-all` sees to."""


async def test_a_goal_in_the_page_works_on_a_copy_of_the_notebook_that_is_open_elsewhere(
    room: ControlRoom, chromium: Browser, tmp_path: Path
) -> None:
    with stock_marimo(write_notebook(tmp_path / "sums.py", "x = 1", "y = x + 1\ny")) as stock:
        async with room.person(chromium) as page:
            await page.get_by_label("Goal").fill("Triple it")
            await page.get_by_text("More it may use").click()
            await page.get_by_label("Change a notebook that is open in marimo").fill(stock.url)
            await page.get_by_label("Notebook", exact=True).fill("copy.py")
            await page.get_by_label("Model").select_option("near:one")
            await page.get_by_text("Never ask").click()
            await page.get_by_role("button", name="Start").click()
            await expect(page.get_by_role("alert")).to_contain_text("somebody must be there to be asked")
            assert await violations(page) == []
            await page.get_by_text("Ask me").click()
            await page.get_by_role("button", name="Start").click()
            await expect(page.get_by_role("tablist", name="Views of this run")).to_be_visible()
            goal = (await room.get(f"runs/{run_of(page)}"))["goal"]
        assert goal["attach"] == stock.url
        assert "y = x + 1" in (room.folder / "copy.py").read_text()
