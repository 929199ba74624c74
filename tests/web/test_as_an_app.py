"""A delivered notebook in stock `marimo run`: a dashboard, whose widgets change what it says."""

from __future__ import annotations

import shutil
import socket
import sys
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

import anyio
import pytest
from playwright.async_api import Browser, expect

from eval.examples import EXAMPLES

pytestmark = pytest.mark.slow
"""In a real browser, which `make test-all` sees to."""

SECONDS = 60


@asynccontextmanager
async def app(notebook: Path) -> AsyncGenerator[str]:
    """Its address, while marimo itself serves it."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    command = [sys.executable, "-m", "marimo", "run", str(notebook), "--headless", "--no-token", "--port", str(port)]
    log = anyio.Path(notebook.parent / "marimo.log")
    async with await log.open("wb") as told:
        process = await anyio.open_process(command, stdout=told.wrapped, stderr=told.wrapped)
    try:
        with anyio.fail_after(SECONDS):
            while f":{port}" not in await log.read_text():  # noqa: ASYNC110 (another process works)
                await anyio.sleep(0.1)
        yield f"http://127.0.0.1:{port}/"
    finally:
        process.terminate()
        await process.wait()


async def test_marimo_run_gives_a_dashboard_whose_switches_change_the_answer(chromium: Browser, tmp_path: Path) -> None:
    for part in ("shop", "data"):
        shutil.copytree(EXAMPLES / part, tmp_path / part)
    async with app(tmp_path / "shop" / "shop.py") as address:
        page = await chromium.new_page(viewport={"width": 1280, "height": 800})
        page.set_default_timeout(SECONDS * 1000)
        await page.goto(address)
        headline = page.get_by_role("heading", name="Revenue fell 28.8% in Q3 2025")
        await expect(headline).to_be_in_viewport(timeout=SECONDS * 1000)
        switch = page.get_by_role("switch").nth(1)
        await expect(switch).to_be_in_viewport()
        beside, answer = await switch.bounding_box(), await headline.bounding_box()
        assert beside and answer and beside["x"] + beside["width"] < answer["x"]
        await expect(page.get_by_text("South × Garden").first).to_be_in_viewport()
        assert await page.evaluate("document.documentElement.scrollWidth") <= 1280
        left = page.get_by_text("left as they are: 24 duplicate rows, 9 values far off")
        await expect(left).to_be_visible()
        await switch.click()
        await expect(left).to_have_count(0)
        await expect(page.get_by_text("left as they are: 24 duplicate rows, 70 labels")).to_be_visible()
        await page.close()
