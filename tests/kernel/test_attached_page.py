"""A person in marimo's own page in Chromium, and an agent attached to the same notebook."""

from __future__ import annotations

import logging
import random
import time
from collections.abc import AsyncGenerator, Callable, Generator
from contextlib import asynccontextmanager
from dataclasses import dataclass

import anyio
import pytest
from playwright.async_api import Browser, Page, async_playwright, expect

from cellwright.kernel.attached.attached_notebook import AttachedNotebook, HostExecution
from cellwright.kernel.attached.typing_rules import Permission
from cellwright.notebook.edits import CreateCell, DeleteCell, EditCell
from tests.kernel.stock_marimo import StockMarimo, stock_marimo, write_notebook
from tests.kernel.test_attached_notebook import attached, codes

pytestmark = pytest.mark.slow
MILLISECONDS = 60_000
FLAGS = ["--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking", "--disable-sync"]


@pytest.fixture(scope="module")
async def chromium() -> AsyncGenerator[Browser]:
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(executable_path="/usr/bin/chromium", headless=True, args=FLAGS)
        yield browser
        await browser.close()


@pytest.fixture
def stock(tmp_path_factory: pytest.TempPathFactory) -> Generator[StockMarimo]:
    folder = tmp_path_factory.mktemp("page")
    with stock_marimo(write_notebook(folder / "sums.py", "x = 1", "y = x + 1\ny", "notes = []")) as server:
        yield server


@asynccontextmanager
async def a_person(browser: Browser, stock: StockMarimo) -> AsyncGenerator[Page]:
    context = await browser.new_context()
    page = await context.new_page()
    page.set_default_timeout(MILLISECONDS)
    try:
        await page.goto(stock.page())
        await expect(page.locator(".cm-content").first).to_be_visible(timeout=MILLISECONDS)
        await expect(page.get_by_text("Connecting")).to_have_count(0, timeout=MILLISECONDS)
        yield page
    finally:
        await context.close()


async def texts(page: Page) -> list[str]:
    """What the page shows in each cell, line by line."""
    return await page.evaluate(
        "[...document.querySelectorAll('.cm-content')].map(c => [...c.querySelectorAll('.cm-line')]"
        ".map(l => l.textContent).join('\\n'))"
    )


async def allowed_before(_: HostExecution) -> Permission:
    """A person allowed all turns, and types on: nobody's yes says that they are not typing now."""
    return "standing"


async def until_shown(page: Page, words: str) -> None:
    await expect(page.locator(".cm-content").filter(has_text=words).first).to_be_visible(timeout=MILLISECONDS)


async def test_cells_of_an_agent_appear_in_the_page_and_the_file(stock: StockMarimo, chromium: Browser) -> None:
    async with a_person(chromium, stock) as page, attached(stock) as agent:
        seen = await agent.apply([CreateCell(code="z = y * 21\nz")])
        assert seen.is_ok and seen.cells[-1].output is not None and seen.cells[-1].output.text == "42"
        await until_shown(page, "z = y * 21")
        await expect(page.get_by_text("42", exact=True).first).to_be_visible(timeout=MILLISECONDS)
        assert "z = y * 21" in stock.notebook.read_text(encoding="utf-8")


async def test_what_a_person_is_typing_is_never_overwritten(stock: StockMarimo, chromium: Browser) -> None:
    async with a_person(chromium, stock) as page, attached(stock) as agent:
        await agent.run("all")
        cell = next(cell for cell in agent.document.cells if cell.code.startswith("notes"))
        await page.locator(".cm-content").filter(has_text="notes").click()
        await page.keyboard.press("End")
        await page.keyboard.type("  # mine, and not yet ready")
        await agent.stream.wait_until(lambda: any("mine" in code for code in codes(agent)))
        seen = await agent.apply([EditCell(cell=cell.id, base_version=cell.version, code="notes = [1]")])
        assert seen.refused is not None and seen.refused.reason == "stale"
        await until_shown(page, "notes = []  # mine, and not yet ready")
        assert any("# mine, and not yet ready" in code for code in codes(agent))


async def test_a_persons_running_cell_is_not_interrupted_by_giving_up(stock: StockMarimo, chromium: Browser) -> None:
    release = stock.notebook.parent / "release"
    waits = f"import os\nwhile not os.path.exists({str(release)!r}):\n    pass\ndone = 'whole'"
    async with a_person(chromium, stock) as page, attached(stock) as agent:
        await agent.run("all")
        await agent.apply([CreateCell(code=waits)], run="none")
        await until_shown(page, "while not")
        await page.locator(".cm-content").filter(has_text="while not").click()
        await page.keyboard.press("Shift+Enter")
        await agent.stream.wait_until(lambda: bool(agent.mirror.running))
        with anyio.move_on_after(2) as gave_up:
            await agent.apply([CreateCell(code="late = 1")])
        assert gave_up.cancelled_caught
        release.touch()
        await agent.stream.wait_until(lambda: any(each.text.strip("'") == "whole" for each in agent.look()))
        assert [each.text.strip("'") for each in agent.look(["done"])] == ["whole"]
        assert "late = 1" not in codes(agent)


async def _work_as_person(page: Page, is_over: Callable[[int], bool], rng: random.Random) -> list[str]:
    """Type line by line into cells of one's own and of the agent; the lines that were typed."""
    typed: list[str] = []
    while not is_over(len(typed)):
        word = f"# person {len(typed):03d}"
        count = await page.locator(".cm-content").count()
        await page.locator(".cm-content").nth(rng.randrange(count)).click()
        await page.keyboard.press("Control+End")
        await page.keyboard.press("Enter")
        await page.keyboard.type(word, delay=rng.choice([10, 40, 90]))
        typed.append(word)
        if rng.random() < 0.2:
            await page.keyboard.press("Shift+Enter")
        await page.wait_for_timeout(rng.choice([50, 300, 900, 2_500]))
    return typed


@dataclass(slots=True)
class AgentWork:
    """What came of the edits of an agent."""

    made: int = 0
    edited_theirs: int = 0
    """Of those, in cells that hold lines of the person's."""
    edited_while_typing: int = 0
    """Of these, before the person had typed their last line."""
    gave_way: int = 0

    async def go_on(self, agent: AttachedNotebook, page: Page, done: anyio.Event, rng: random.Random) -> None:
        """Make cells, take out its own, and above all edit those the person wrote in, until it has done so once."""
        while not (done.is_set() and self.edited_theirs):
            cells = agent.document.cells
            theirs = [cell for cell in cells if "# person" in cell.code]
            own = [cell for cell in cells if cell.code.startswith("agent_") and cell not in theirs]
            match rng.randrange(6):
                case 0 if len(cells) < 12:
                    seen = await agent.apply([CreateCell(code=f"agent_{self.made} = {len(cells)}")])
                case 1 if own:
                    seen = await agent.apply([DeleteCell(cell=own[0].id, base_version=own[0].version)])
                case _:
                    # What an agent does: it keeps what it has read, and adds.
                    cell = rng.choice(theirs or list(cells))
                    code = f"{cell.code}\n# agent {self.made}"
                    seen = await agent.apply([EditCell(cell=cell.id, base_version=cell.version, code=code)])
                    is_made = bool(theirs) and not (seen.refused or seen.problem)
                    self.edited_theirs += is_made
                    self.edited_while_typing += is_made and not done.is_set()
            self.gave_way += bool(seen.refused or seen.problem)
            self.made += not (seen.refused or seen.problem)
            await page.wait_for_timeout(100)


async def _edits_of_both(
    stock: StockMarimo, chromium: Browser, is_over: Callable[[int], bool], seed: int
) -> tuple[int, AgentWork]:
    """Raises `AssertionError` if a line of the person's is gone from the page or the server."""
    done, work = anyio.Event(), AgentWork()
    async with a_person(chromium, stock) as page, attached(stock, allowed_before) as agent:
        await agent.run("all")
        with anyio.fail_after(300):
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(work.go_on, agent, page, done, random.Random(seed + 1))
                typed = await _work_as_person(page, is_over, random.Random(seed))
                done.set()
        shown = "\n".join(await texts(page))
        assert [word for word in typed if word not in shown] == [], shown
        with anyio.fail_after(60):
            while not all(any(word in code for code in codes(agent)) for word in typed):
                await agent.stream.next()
    return len(typed), work


async def test_a_person_and_an_agent_edit_one_page_and_nothing_of_the_persons_is_lost(
    stock: StockMarimo, chromium: Browser
) -> None:
    typed, work = await _edits_of_both(stock, chromium, lambda lines: lines >= 6, 1)
    assert typed == 6 and work.edited_theirs >= 1, (typed, work)


@pytest.fixture(scope="module")
def works() -> list[AgentWork]:
    """What the agent of each of the ten minutes has done."""
    return []


@pytest.mark.rare
@pytest.mark.parametrize("seed", range(10))
async def test_a_minute_of_edits_from_both_ten_times(
    stock: StockMarimo, chromium: Browser, seed: int, works: list[AgentWork]
) -> None:
    until = time.monotonic() + 60
    typed, work = await _edits_of_both(stock, chromium, lambda _: time.monotonic() > until, seed * 100)
    works.append(work)
    logging.getLogger(__name__).info("%s lines of the person's, the agent: %s", typed, work)
    assert typed >= 10 and work.edited_theirs >= 1, (typed, work)
    if seed == 9:
        # An agent that only came in once the person had gone would have proven nothing.
        # How often depends on how busy the machine is: an edit that cannot begin at once waits for silence.
        assert sum(each.edited_while_typing > 0 for each in works) >= 2, works
