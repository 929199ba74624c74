"""A session in the agents panel of a stock `marimo edit`, in Chromium. `python -m` this draws its picture."""

from __future__ import annotations

import re
import subprocess
import tempfile
from collections.abc import AsyncGenerator, Generator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Final

import anyio
import pytest
from playwright.async_api import Browser, Page, expect

from tests.house.places import ROOT
from tests.kernel.stock_marimo import StockMarimo, stock_marimo, write_notebook
from tests.runs.factory import apply, create, finish, plan, task
from tests.server.acp.an_editor import PROGRAM
from tests.web.a_control_room import WORDS, ControlRoom, open_chromium, open_control_room

pytestmark = pytest.mark.slow
PICTURE: Final = ROOT / "docs/images/clients/acp-marimo-panel.jpg"


@contextmanager
def a_panel(folder: Path) -> Generator[tuple[ControlRoom, StockMarimo]]:
    """A stock editor with its agents on, and `cellwright acp --marimo-panel` beside it, before a scripted model."""
    with open_control_room(folder) as room:
        (room.folder / "pyproject.toml").write_text("[tool.marimo.experimental]\nexternal_agents = true\n")
        notebook = write_notebook(room.folder / "birds.py", "wrens = [20, 22]")
        with stock_marimo(notebook) as stock:
            command = [PROGRAM, "acp", "--marimo-panel", "--model", "near:one", "--origin", stock.url]
            panel = subprocess.Popen(
                command, env=room.environment, cwd=room.folder, stderr=subprocess.PIPE, stdin=subprocess.DEVNULL
            )
            try:
                assert panel.stderr is not None
                assert b"choose OpenCode" in panel.stderr.readline()
                yield room, stock
            finally:
                panel.terminate()
                panel.communicate()


@asynccontextmanager
async def asked_in_the_panel(room: ControlRoom, stock: StockMarimo, browser: Browser) -> AsyncGenerator[Page]:
    """As a person does: the panel, its agents, a session with the slot of OpenCode, and a prompt."""
    room.provider.script(plan(task()), apply(create("total = 40 + 2\ntotal", "total")), finish("It is 42."))
    page = await browser.new_page(viewport={"width": 1200, "height": 800})
    await page.goto(stock.page())
    await expect(page.locator(".cm-content").first).to_be_visible()
    await page.locator("svg.lucide-bot").first.click()
    # To its sidebar a click without a pointer is the beginning of a drag.
    await page.keyboard.press("Escape")
    await page.get_by_role("tab", name="Agents").click()
    await page.get_by_role("button", name="New session").first.click()
    await page.get_by_role("menuitem", name="New OpenCode session").click()
    box = page.locator(".cm-content").filter(has_text="Ask anything")
    await expect(box).to_be_visible()
    await box.click()
    await page.keyboard.type(WORDS)
    await page.keyboard.press("Enter")
    try:
        yield page
    finally:
        await page.close()


async def test_a_prompt_in_marimos_own_panel_is_answered_there(tmp_path: Path) -> None:
    with a_panel(tmp_path) as (room, stock):
        async with open_chromium() as browser, asked_in_the_panel(room, stock, browser) as page:
            await expect(page.get_by_text(re.compile("It is 42"))).to_be_visible(timeout=300_000)
            await expect(page.get_by_text(WORDS).first).to_be_visible()
        [run] = (await room.get("runs"))["runs"]
        assert (run["goal"], run["status"]) == (WORDS, "done")


async def draw() -> None:
    """The picture of the page about it."""
    with tempfile.TemporaryDirectory() as folder, a_panel(Path(folder)) as (room, stock):
        async with open_chromium() as browser, asked_in_the_panel(room, stock, browser) as page:
            await expect(page.get_by_text(re.compile("It is 42"))).to_be_visible(timeout=300_000)
            panel = {"x": 0, "y": 0, "width": 391, "height": 800}
            await page.screenshot(path=PICTURE, type="jpeg", quality=70, clip=panel)


if __name__ == "__main__":
    anyio.run(draw)
