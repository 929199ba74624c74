"""Chromium on the bench: how soon a page shows something, and how soon something of use."""

from __future__ import annotations

import json
import shutil
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Final

from playwright.async_api import Browser, Error, async_playwright

from bench.failure import BenchFailed

_NAMES: Final = ("chromium", "chromium-browser", "google-chrome")
_FLAGS: Final = (
    *("--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking"),
    *("--disable-component-update", "--disable-sync"),
)
_WAIT_MS: Final = 60_000
_LOOK: Final = """
(([place, text]) => {
  window.usefulAt = new Promise((tell) => {
    const look = () => {
      const found = [...document.querySelectorAll(place)].some(
        (each) => each.textContent.includes(text) && each.getBoundingClientRect().height > 0,
      );
      requestAnimationFrame(found ? () => tell(performance.now()) : look);
    };
    requestAnimationFrame(look);
  });
})(%s)
"""
"""In the page, from its beginning: after the frame in which the text stands."""
_TELL: Final = """async () => {
  const useful = await window.usefulAt;
  const [first] = performance.getEntriesByName("first-contentful-paint");
  return [first === undefined ? useful : first.startTime, useful];
}"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Useful:
    """What a person came for, on a page."""

    place: str
    """CSS selector."""
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Painted:
    """Milliseconds from when the page was asked for."""

    first_ms: float
    """The browser's own `first-contentful-paint`."""
    useful_ms: float


@asynccontextmanager
async def open_browser() -> AsyncGenerator[Browser]:
    """The machine's Chromium. `BenchFailed` if it has none."""
    chromium = next(filter(None, map(shutil.which, _NAMES)), None)
    if chromium is None:
        raise BenchFailed(f"no browser on this machine: none of {', '.join(_NAMES)}")
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(executable_path=chromium, headless=True, args=[*_FLAGS])
        try:
            yield browser
        finally:
            await browser.close()


async def paint(browser: Browser, address: str, useful: Useful) -> Painted:
    """Open an address as somebody who was never there: nothing is cached."""
    context = await browser.new_context()
    try:
        page = await context.new_page()
        page.set_default_timeout(_WAIT_MS)
        await page.add_init_script(_LOOK % json.dumps([useful.place, useful.text]))
        await page.goto(address, wait_until="commit")
        first, at = await page.evaluate(_TELL)
    except Error as error:
        raise BenchFailed(f"the page was not painted: {error.message}") from error
    finally:
        await context.close()
    return Painted(first_ms=first, useful_ms=at)
