"""The control room for people in real browsers: a served daemon of its own, a model on loopback, Chromium."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import AsyncGenerator, Callable, Generator
from contextlib import asynccontextmanager, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlsplit

import anyio
import httpx
import pytest
from playwright.async_api import Browser, FrameLocator, Locator, Page, async_playwright, expect

from cellwright.models.client.gateway_process import running_pid
from cellwright.models.config.keys import key_variables
from cellwright.server import connect
from cellwright.server.http.auth.tokens import TokenStore
from cellwright.settings import Settings
from cellwright.testing import ProviderServer
from tests.conftest import notebook_source

CELLWRIGHT = Path(sys.executable).with_name("cellwright")
CHROMIUM = Path("/usr/bin/chromium")
AXE = Path(__file__).parents[2] / "web/node_modules/axe-core/axe.min.js"
SECONDS = 120
LONG_SECONDS = 300
MILLISECONDS = 60_000
WORDS = "Sum the numbers."
_FLAGS = [
    *("--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking"),
    *("--disable-component-update", "--disable-sync", "--disable-dev-shm-usage"),
]
_MODELS = """
[tiers]
smart = ["near:one"]
fast = ["near:one"]
code = ["near:one"]
[endpoints.near]
kind = "openai-chat"
base_url = "{chat}"
key = "none"
local = false
[models."near:one"]
input_price_per_million = "1 USD"
output_price_per_million = "2 USD"
"""

expect.set_options(timeout=MILLISECONDS)


@dataclass(slots=True, kw_only=True)
class ControlRoom:
    """A folder that is served by a process of its own, and its model."""

    home: Path
    folder: Path
    provider: ProviderServer
    command: tuple[str, ...] = (str(CELLWRIGHT),)
    process: subprocess.Popen[str] | None = None
    origin: str = ""
    _unused_url: str = ""
    _secret: str = ""

    @property
    def environment(self) -> dict[str, str]:
        held = key_variables(os.environ)
        kept = {name: value for name, value in os.environ.items() if name not in held}
        return kept | {"CELLWRIGHT_HOME": str(self.home), "NO_COLOR": "1"}

    # ── the process ──

    def serve(self) -> None:
        """`cellwright serve`, at the place where it was before."""
        port = ["--port", str(urlsplit(self.origin).port)] if self.origin else ["--port", "0"]
        command = [*self.command, "serve", str(self.folder), "--no-browser", "--json", *port]
        with self._log.open("a") as log:
            self.process = subprocess.Popen(
                command, env=self.environment, cwd=self.folder, stdout=subprocess.PIPE, stderr=log, text=True
            )
        assert self.process.stdout is not None
        told = self.process.stdout.readline()
        assert told, self.log()
        opened = json.loads(told)
        self._unused_url = opened["url"]
        self.origin = self._unused_url.partition("/#")[0]

    def serve_again(self) -> None:
        """Unless it still runs: a test that killed it may have failed."""
        if self.process is None or self.process.poll() is not None:
            self.serve()

    def kill(self) -> None:
        """With -9, and gone when this returns."""
        assert self.process is not None
        self._end(self.process, signal.SIGKILL)

    def close(self) -> None:
        if self.process is not None and self.process.poll() is None:
            self._end(self.process, signal.SIGTERM)
        if (pid := running_pid(self.home)) is not None:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)

    def _end(self, process: subprocess.Popen[str], how: signal.Signals) -> None:
        process.send_signal(how)
        process.wait(SECONDS)
        assert process.stdout is not None
        process.stdout.close()

    async def url(self) -> str:
        """An address that lets one browser in."""
        if self._unused_url:
            url, self._unused_url = self._unused_url, ""
            return url
        settings = Settings(home=self.home, cache=self.home / "cache")
        async with connect(settings, start=False) as daemon:
            return (await daemon.web()).url

    # ── beside the browser ──

    @asynccontextmanager
    async def api(self) -> AsyncGenerator[httpx.AsyncClient]:
        """A program with an administrator's token."""
        if not self._secret:
            self._secret = (
                TokenStore(self.home).create(name="a program", person="ada", scope="admin", seconds=3600).secret
            )
        headers = {"authorization": f"Bearer {self._secret}"}
        async with httpx.AsyncClient(
            base_url=f"{self.origin}/api/v1/", headers=headers, timeout=SECONDS, trust_env=False
        ) as client:
            yield client

    async def get(self, path: str) -> Any:
        async with self.api() as client:
            answer = await client.get(path)
            answer.raise_for_status()
            return answer.json()

    async def post(self, path: str, body: object) -> Any:
        async with self.api() as client:
            answer = await client.post(path, json=body)
            assert answer.is_success, answer.text
            return answer.json()

    async def start(self, *, notebook: str | None = None, **more: Any) -> str:
        """A run of the scripted model, begun elsewhere than in the page."""
        asked = {"goal": WORDS, "models": ["near:one"], "notebook": notebook, **more}
        return (await self.post("runs", asked))["run"]

    async def until_silent(self) -> None:
        """Until the model lets an agent wait."""
        await self.provider.until(lambda server: server.silent >= 1, timeout_seconds=SECONDS)

    async def until(self, run: str, holds: Callable[[dict[str, Any]], bool]) -> dict[str, Any]:
        """The run, once this holds of it."""
        seen: dict[str, Any] = {}
        with anyio.move_on_after(LONG_SECONDS):
            async with self.api() as client:
                while not (seen and holds(seen)):
                    await anyio.sleep(0.1)
                    seen = (await client.get(f"runs/{run}")).json()
                return seen
        pytest.fail(f"It stays {seen.get('standing')}, {seen.get('status')}: {seen.get('questions')}")

    async def until_delivered(self, run: str) -> dict[str, Any]:
        """The run, once it has handed over: building and checking from scratch take longer than a page's news."""
        return await self.until(run, lambda seen: seen["standing"] == "done")

    async def settle(self) -> None:
        """Nothing is at work and nothing is scripted any more."""
        if self.process is None or self.process.poll() is not None:
            return
        self.provider.forget()
        async with self.api() as client:
            for line in (await client.get("runs")).json()["runs"]:
                if line["standing"] in {"running", "waiting", "queued"}:
                    await client.post(f"runs/{line['run']}/cancel", json={})
        self.provider.release()

    @property
    def _log(self) -> Path:
        return self.home / "served.log"

    def log(self) -> str:
        """What it told its operator."""
        return self._log.read_text()

    # ── people ──

    @asynccontextmanager
    async def person(
        self, browser: Browser, *, at: str = "/", width: int = 1280, height: int = 800, theme: str = "light"
    ) -> AsyncGenerator[Page]:
        """Somebody with a browser nobody else uses, let in, at this place of the page."""
        scheme = "dark" if theme == "dark" else "light"
        # What moves all the time is drawn by the processor here, and takes it from what the test is about.
        context = await browser.new_context(
            viewport={"width": width, "height": height}, color_scheme=scheme, reduced_motion="reduce"
        )
        page = await context.new_page()
        page.set_default_timeout(MILLISECONDS)
        try:
            await page.goto(await self.url())
            await expect(page.get_by_role("navigation", name="Pages")).to_be_visible()
            await go(page, at)
            yield page
        finally:
            await context.close()


@contextmanager
def open_control_room(
    folder: Path, *, models: str = "", command: tuple[str, ...] = (str(CELLWRIGHT),)
) -> Generator[ControlRoom]:
    """A served folder with `sums.py` in it, a notebook of one cell; until the block ends.

    `models` is added to the models there are, `{chat}` in it being the provider.
    """
    home, project = folder / "home", folder / "project"
    home.mkdir(mode=0o700)
    project.mkdir()
    (project / "sums.py").write_text(notebook_source("import marimo as mo"))
    with ProviderServer.running() as provider:
        (home / "models.toml").write_text((_MODELS + models).format(chat=provider.base_url("openai-chat")))
        room = ControlRoom(home=home, folder=project, provider=provider, command=command)
        try:
            room.serve()
            yield room
        finally:
            room.close()


def _need(path: Path, how: str) -> None:
    if not path.exists():
        pytest.fail(f"There is no {path}, without which the control room cannot be shown. To have it: {how}")


@asynccontextmanager
async def open_chromium() -> AsyncGenerator[Browser]:
    """The machine's Chromium."""
    _need(CHROMIUM, "apt-get install chromium")
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(executable_path=CHROMIUM, headless=True, args=_FLAGS)
        try:
            yield browser
        finally:
            await browser.close()


# ── what people do ──


async def go(page: Page, place: str) -> None:
    """To another place of the page, such as `/runs`."""
    await page.evaluate("place => { location.hash = '#' + place }", place)


async def see_run(page: Page, run: str) -> None:
    await go(page, f"/runs/{quote(run, safe='')}")
    await expect(page.get_by_role("tablist", name="Views of this run")).to_be_visible()


async def see_detail(page: Page, run: str) -> None:
    """Everything about a run, as the list of runs leads to."""
    await go(page, f"/runs/{quote(run, safe='')}/detail")
    await expect(page.get_by_role("tablist", name="About this run")).to_be_visible()


async def show(page: Page, tab: str) -> None:
    await page.get_by_role("tab", name=tab).click()


def card(page: Page) -> Locator:
    """What is asked of the person: to agree to a plan, or to one action."""
    return page.get_by_role("region", name=re.compile("Agree to the plan|May it do this"))


async def agree(page: Page) -> None:
    """Say yes to the plan that is asked about."""
    await card(page).get_by_role("button", name="Yes, agree").click()
    await card(page).get_by_role("button", name="Confirm").click()
    await expect(card(page)).to_have_count(0)


async def answer(page: Page, choice: str, *, words: str | None = None) -> None:
    """Answer the one question that is shown with one of its buttons, and with words where it takes some."""
    asked = page.get_by_role("region").filter(has=page.get_by_role("button", name="Make it small"))
    await asked.get_by_role("button", name=choice).click()
    if words is not None:
        await asked.get_by_role("textbox").fill(words)
    await asked.get_by_role("button", name="Confirm").click()
    await expect(asked).to_have_count(0)


async def drop_files(page: Page, onto: Locator, *files: Path) -> None:
    """Drag files from the desktop onto this and let go."""
    box = await onto.bounding_box()
    assert box is not None
    devtools = await page.context.new_cdp_session(page)
    dragged = {"items": [], "files": [str(file) for file in files], "dragOperationsMask": 1}
    place = {"x": box["x"] + box["width"] / 2, "y": box["y"] + box["height"] / 2, "data": dragged}
    for kind in ("dragEnter", "dragOver", "drop"):
        await devtools.send("Input.dispatchDragEvent", {"type": kind, **place})
    await devtools.detach()


def editor(page: Page) -> FrameLocator:
    """marimo's editor, in its frame."""
    return page.frame_locator('iframe[title="marimo editor"]')


def report(page: Page) -> FrameLocator:
    """The report of a delivered run, in its frame."""
    return page.frame_locator('iframe[title^="Report "]')


def run_of(page: Page) -> str:
    """The run that is shown."""
    return page.url.partition("#/runs/")[2].partition("/")[0]


async def violations(page: Page) -> list[str]:
    """What axe finds, in words; the editor is marimo's own and not looked into."""
    _need(AXE, "make page")
    await page.evaluate(await anyio.Path(AXE).read_text())
    found = await page.evaluate(
        """async () => (await axe.run(document, { iframes: false })).violations.map(
            each => `${each.id}: ${each.help}: ${each.nodes.map(node => node.html.slice(0, 160)).join(" | ")}`)"""
    )
    return list(found)
