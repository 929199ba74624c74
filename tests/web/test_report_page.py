"""The report's page in a real browser: the first screen answers, on a desk, a phone, in the dark and on paper."""

from __future__ import annotations

import re
import zlib
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

import pytest
from playwright.async_api import Browser, Page

from cellwright.ids import CellId
from cellwright.kernel.observation import CellOutcome, CellOutput
from cellwright.notebook.document import Document
from cellwright.notebook.edits import CreateCell, apply_edits
from cellwright.runs.deliver.delivery import DeliveredCheck, DeliveredFinding, DeliveredTask, Delivery
from cellwright.runs.deliver.report.page import page_html
from tests.web.a_control_room import violations

pytestmark = pytest.mark.slow
"""All in a real browser, which `make test-all` sees to."""

DESK, PHONE = (1280, 800), (390, 844)
MARKS = ("report_picture", "report_finding_1", "report_finding_2", "report_finding_3")
SIZES = ((640, 360), (300, 200), (640, 300), (400, 400))
DELIVERY = Delivery(
    status="done",
    goal="Why did revenue fall in Q3 2025, and which of our regions, products and customers are to blame for it most?",
    title="Revenue in Q3",
    headline="Revenue fell by 12.4 % (3.41 M EUR) from Q2 to Q3 2025, nearly all of it in Bergen.",
    findings=(
        DeliveredFinding(
            says="Orders in Bergen fell from 12,400 to 8,120 a quarter, 91 % of the fall; prices stayed as they were.",
            statistics="Welch's t = 5.3, n = 20,520, p < 0.001, d = 0.8 [0.6, 1.0]",
            cell="report_finding_1",
        ),
        DeliveredFinding(
            says="New customers came as often as before; regular ones ordered less, by 1.2 orders each on average.",
            statistics="Mann-Whitney U, n = 4,100, p = 0.003, r = 0.2",
            cell="report_finding_2",
        ),
        DeliveredFinding(
            says="Returns did not change: 2.1 % against 2.0 % of all orders.",
            statistics="chi-squared = 0.4, p = 0.53",
            cell="report_finding_3",
        ),
    ),
    picture="report_picture",
    trust="12 checks passed in a fresh environment; 2 caveats.",
    readings=("Q3 is July to September.",),
    answer="Revenue fell by 12.4 % (3.41 M EUR) from Q2 to Q3 2025, nearly all of it in Bergen. More is below.",
    summary="The change was taken apart by region, product and customer.",
    assumptions=("Amounts are in EUR.",),
    caveats=("September lacks two days.", "Returns are in another file."),
    checks=tuple(DeliveredCheck(name=f"test_{n}", says=f"Sum {n} agrees.", has_passed=True) for n in range(12)),
    tasks=(DeliveredTask(id="load", title="Load the orders", status="done", note="20,520 rows"),),
    notebook="/home/ada/revenue.py",
    proof="/home/ada/revenue.proof.json",
    seconds=200,
)


def drawing(width: int, height: int) -> str:
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" viewBox="0 0 {width} {height}">'
        f'<rect width="50%" height="60%" y="20%" fill="#0072B2"/><text x="9" y="20">EUR by region</text></svg>'
    )


def notebook() -> tuple[Document, dict[CellId, CellOutcome]]:
    document = apply_edits(Document.new(), [CreateCell(code=f"drawn_as_{name} = 1", name=name) for name in MARKS])
    assert isinstance(document, Document)
    outputs = [CellOutput(mimetype="image/svg+xml", text="", data=drawing(*size)) for size in SIZES]
    cells = zip(document.cells, outputs, strict=True)
    return document, {
        cell.id: CellOutcome(id=cell.id, name=cell.name, status="ok", output=output) for cell, output in cells
    }


def page_of(delivery: Delivery = DELIVERY) -> str:
    document, outcomes = notebook()
    return page_html(delivery, document, outcomes, {})


@asynccontextmanager
async def opened(
    browser: Browser,
    folder: Path,
    html: str,
    size: tuple[int, int] = DESK,
    theme: Literal["light", "dark"] = "light",
) -> AsyncGenerator[Page]:
    """The page as a file, as whoever was sent it opens it: nothing is loaded and no script runs."""
    (folder / "a.report.html").write_text(html)
    context = await browser.new_context(viewport={"width": size[0], "height": size[1]}, color_scheme=theme)
    page = await context.new_page()
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    try:
        await page.goto((folder / "a.report.html").as_uri())
        yield page
        assert [url for url in asked if not url.startswith(("file:", "data:"))] == []
    finally:
        await context.close()


async def boxes(page: Page, selector: str) -> list[dict[str, Any]]:
    return await page.evaluate(
        "selector => [...document.querySelectorAll(selector)].map(each => each.getBoundingClientRect().toJSON())",
        selector,
    )


# ── the first screen ──


async def test_on_a_desk_the_first_screen_holds_headline_picture_and_all_findings(
    chromium: Browser, tmp_path: Path
) -> None:
    async with opened(chromium, tmp_path, page_of()) as page:
        [headline], [picture] = await boxes(page, "h1"), await boxes(page, ".picture img")
        findings = await boxes(page, ".finding")
        small = await boxes(page, ".finding img")
        [trust] = await boxes(page, ".trust")
        assert len(findings) == len(small) == 3
        for box in (headline, picture, trust, *findings, *small):
            assert 0 <= box["top"] < box["bottom"] <= 800 and 0 <= box["left"] < box["right"] <= 1280
        assert headline["bottom"] <= picture["top"]
        assert all(box["left"] >= picture["right"] for box in findings), "they stand beside it"
        assert picture["width"] > 600 and all(box["width"] > 120 for box in small)


async def test_on_a_phone_the_first_screen_holds_headline_picture_and_the_sentences_of_all_findings(
    chromium: Browser, tmp_path: Path
) -> None:
    async with opened(chromium, tmp_path, page_of(), PHONE) as page:
        [headline], [picture] = await boxes(page, "h1"), await boxes(page, ".picture img")
        sentences, small = await boxes(page, ".finding > p"), await boxes(page, ".finding img")
        for box in (headline, picture, *sentences, *small):
            assert 0 <= box["top"] < box["bottom"] <= 844 and 0 <= box["left"] < box["right"] <= 390
        assert all(64 <= box["width"] <= 72 for box in small)
        assert await page.evaluate("document.documentElement.scrollWidth") <= 390


@pytest.mark.parametrize("words", [1, 20, 60])
async def test_at_most_forty_words_stand_before_the_first_picture(
    chromium: Browser, tmp_path: Path, words: int
) -> None:
    long = replace(DELIVERY, headline=" ".join(f"word{n}" for n in range(words)) + ".", goal="why oh why " * 30)
    async with opened(chromium, tmp_path, page_of(long)) as page:
        before = await page.evaluate(
            """() => {
                const range = document.createRange();
                range.setStart(document.body, 0);
                range.setEndBefore(document.querySelector("img"));
                return range.toString().split(/\\s+/).filter(Boolean).length;
            }"""
        )
        assert before <= 40
        assert await page.get_by_text("why oh why " * 30).count() == 1, "the whole goal stands further down"


async def test_opening_a_finding_shows_its_statistics_and_its_picture_large(chromium: Browser, tmp_path: Path) -> None:
    async with opened(chromium, tmp_path, page_of()) as page:
        first = page.locator(".finding").first
        small = (await boxes(page, ".finding img"))[0]["width"]
        assert await first.locator("> p").get_attribute("title") == DELIVERY.findings[0].statistics
        assert not await first.get_by_text("Welch's t").is_visible()
        await first.get_by_text("Statistics").click()
        assert await first.get_by_text("Welch's t").is_visible()
        assert (await boxes(page, ".finding img"))[0]["width"] > 2 * small


async def test_what_kept_a_run_from_its_end_stands_before_its_findings(chromium: Browser, tmp_path: Path) -> None:
    problem = "Cell `chart` differs between two runs."
    partial = replace(DELIVERY, status="partial", why=f"Explain: out of budget; {problem}", problems=(problem,))
    async with opened(chromium, tmp_path, page_of(partial)) as page:
        [ended], [picture] = await boxes(page, ".ended"), await boxes(page, ".picture")
        assert picture["bottom"] <= ended["top"] and ended["bottom"] <= 800
        assert (await page.locator(".ended").inner_text()).split("\n") == [
            "Why it ended", "", "Explain: out of budget", "", "Problems nobody repaired",
            "Cell chart differs between two runs.",
        ]  # fmt: skip
        order = await page.evaluate("[...document.querySelectorAll('.picture, .ended, .found')].map(e => e.className)")
        assert order == ["picture", "ended", "found"]


# ── for everybody ──


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("size", [DESK, PHONE])
async def test_axe_finds_nothing_in_a_report(
    chromium: Browser, tmp_path: Path, size: tuple[int, int], theme: Literal["light", "dark"]
) -> None:
    bare = replace(DELIVERY, headline="", findings=(), picture="", status="failed", why="The disk is full.")
    partial = replace(DELIVERY, status="partial", why="Out of budget.")
    for delivery in (DELIVERY, partial, bare):
        async with opened(chromium, tmp_path, page_of(delivery), size, theme) as page:
            await page.evaluate("document.querySelectorAll('details').forEach(each => { each.open = true })")
            assert await violations(page) == []


async def test_a_report_is_read_by_keyboard_and_every_stop_is_seen(chromium: Browser, tmp_path: Path) -> None:
    async with opened(chromium, tmp_path, page_of()) as page:
        await page.keyboard.press("Tab")
        skip = page.get_by_role("link", name="Skip to findings")
        assert await skip.evaluate("each => each === document.activeElement")
        assert (await skip.bounding_box() or {"x": -1})["x"] >= 0
        await page.keyboard.press("Enter")
        await page.keyboard.press("Tab")
        summary = page.locator(".finding summary").first
        assert await summary.evaluate("each => each === document.activeElement")
        assert await summary.evaluate("each => getComputedStyle(each).outlineStyle") == "solid"
        await page.keyboard.press("Enter")
        assert await page.get_by_text("Welch's t").is_visible()
        levels = await page.evaluate("[...document.querySelectorAll('h1, h2, h3')].map(each => each.tagName)")
        assert levels[0] == "H1" and levels.count("H1") == 1


async def test_in_the_dark_the_page_is_dark_and_pictures_stand_on_white(chromium: Browser, tmp_path: Path) -> None:
    async with opened(chromium, tmp_path, page_of(), theme="dark") as page:
        ground = await page.evaluate("getComputedStyle(document.body).backgroundColor")
        assert all(int(part) < 60 for part in re.findall(r"\d+", ground))
        whites = await page.evaluate(
            "[...document.images].map(each => [getComputedStyle(each).backgroundColor, each.naturalWidth > 0])"
        )
        assert whites == [["rgb(255, 255, 255)", True]] * 4
        radius = await page.evaluate("getComputedStyle(document.querySelector('.picture img')).borderTopLeftRadius")
        assert float(radius.removesuffix("px")) > 0


async def test_everything_stands_on_the_page_once_and_in_order(chromium: Browser, tmp_path: Path) -> None:
    async with opened(chromium, tmp_path, page_of()) as page:
        assert await page.evaluate("document.images.length") == 4
        headings = await page.evaluate("[...document.querySelectorAll('h2')].map(each => each.textContent)")
        assert headings == [
            "Findings", "How the question was read", "Data quality and caveats", "Method", "Checks", "What was done",
        ]  # fmt: skip
        text = await page.evaluate("document.body.textContent")
        once = [DELIVERY.headline, *(each.says for each in DELIVERY.findings), *DELIVERY.readings, *DELIVERY.caveats]
        assert [text.count(words) for words in (*once, DELIVERY.summary, "More is below.")] == [1] * (len(once) + 2)


# ── on paper ──


async def test_what_is_folded_on_the_screen_is_printed(chromium: Browser, tmp_path: Path) -> None:
    async with opened(chromium, tmp_path, page_of()) as page:
        printed = words_of(await page.pdf())
        assert not await page.get_by_text("Sum 11 agrees.").is_visible()
    folded = ["Mann-Whitney U", "Sum 11 agrees.", "drawn_as_report_finding_3 = 1"]
    shown = [DELIVERY.headline[:30], "Returns did not change", "September lacks two days."]
    assert [words for words in (*folded, *shown) if re.sub(r"\s", "", words) not in printed] == []


def words_of(pdf: bytes) -> str:
    """The text of a PDF as Chromium writes it, without its spaces: glyphs read through each font's own table."""
    objects = {int(found[1]): found[2] for found in re.finditer(rb"(\d+) 0 obj\n(.*?)\nendobj", pdf, re.DOTALL)}

    def stream(number: int) -> str:
        content = objects[number].partition(b"stream\n")[2].rpartition(b"\nendstream")[0]
        return zlib.decompress(content).decode("latin-1")

    tables: dict[str, dict[int, str]] = {}
    for held in objects.values():
        for name, font in re.findall(rb"/(F\d+) (\d+) 0 R", held):
            if table := re.search(rb"/ToUnicode (\d+) 0 R", objects.get(int(font), b"")):
                tables[name.decode()] = _glyphs(stream(int(table[1])))
    words: list[str] = []
    for held in objects.values():
        for page in re.findall(rb"/Contents (\d+) 0 R", held):
            font = ""
            for change, text in re.findall(r"/(F\d+) [\d.]+ Tf|<([0-9A-F]+)>", stream(int(page))):
                font = change or font
                codes = [int(text[at : at + 4], 16) for at in range(0, len(text), 4)]
                words += [tables.get(font, {}).get(code, "") for code in codes]
    return re.sub(r"\s", "", "".join(words))


def _glyphs(table: str) -> dict[int, str]:
    found: dict[int, str] = {}
    for kind, body in re.findall(r"beginbf(char|range)\n(.*?)endbf", table, re.DOTALL):
        for row in body.splitlines():
            numbers = [int(part, 16) for part in re.findall(r"<([0-9A-F]+)>", row)]
            first, last, sign = (numbers[0], numbers[0], numbers[1]) if kind == "char" else numbers[:3]
            found |= {code: chr(sign + code - first) for code in range(first, last + 1)}
    return found


# ── hostile words ──


async def test_hostile_words_on_the_first_screen_are_only_words(chromium: Browser, tmp_path: Path) -> None:
    evil = "<img src=x onerror=\"document.title='pwned'\"> <script>document.title='pwned'</script> </h1></main> \"'>"
    finding = DeliveredFinding(says=evil, statistics=evil, cell=evil, bars=((evil, 1.0),))
    hostile = replace(
        DELIVERY, headline=evil, findings=(finding,), trust=evil, readings=(evil,), goal=evil, picture="report_picture"
    )
    async with opened(chromium, tmp_path, page_of(hostile)) as page:
        assert "pwned" in await page.locator("h1").inner_text()
        assert await page.title() == evil.strip()
        assert await page.evaluate("document.images.length") == 4, "those of the notebook"
        assert await page.evaluate("document.querySelectorAll('script, [onerror]').length") == 0
