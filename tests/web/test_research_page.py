"""A research in the control room: its evidence, the quotes of a sentence in place, and a card that is left out."""

from __future__ import annotations

import pytest
from playwright.async_api import Browser, Locator, Page, expect

from tests.runs import research_script as script
from tests.web.a_control_room import ControlRoom, run_of, see_run, show, violations

pytestmark = pytest.mark.slow
"""In a real browser, which `make test-all` sees to."""


def evidence(page: Page) -> Locator:
    return page.get_by_role("region", name="Research")


async def test_a_sentence_shows_its_quotes_and_a_card_left_out_has_its_section_written_again(
    room: ControlRoom, chromium: Browser
) -> None:
    script.write_documents(room.folder / "papers")
    script.script_research(room.provider)
    research = {"sources": ["papers"]}
    run = await room.start(goal=script.QUESTION, research=research, approve="never", effort="quick")
    assert (await room.until_delivered(run))["status"] == "done"
    async with room.person(chromium) as page:
        await see_run(page, run)
        await expect(evidence(page)).to_contain_text("3 cards from 3 documents")
        sentence = evidence(page).get_by_role("button", name="It employed 312 people")
        await expect(evidence(page).get_by_text(script.STAFF)).to_have_count(1)
        await sentence.click()
        await expect(evidence(page).get_by_text(script.STAFF)).to_have_count(2)
        assert await violations(page) == []
        text = f"The annual report gives revenue of 41.2 million euros for 2023 [{script.TRUE_CARD}]."
        room.provider.when(script.WRITER, script.finish(text=text))
        room.provider.when(script.EDITOR, script.finish(title="Norwell Mills", summary=text))
        await evidence(page).get_by_role("button", name="Leave out: Revenue in 2023 was 57.9 million euros.").click()
        await page.wait_for_url(lambda url: run not in url)
        again = run_of(page)
        await room.until_delivered(again)
        await show(page, "Result")
        await expect(evidence(page).get_by_text("Left out")).to_be_visible()


async def test_cards_are_shown_as_they_come_and_one_left_out_while_others_read_is_never_written_of(
    room: ControlRoom, chromium: Browser
) -> None:
    script.write_documents(room.folder / "papers")
    script.script_without_the_false_card(room.provider)
    research = {"sources": ["papers"]}
    run = await room.start(
        goal=script.QUESTION, notebook="norwell.py", research=research, approve="never", effort="quick"
    )
    await room.until_silent()
    async with room.person(chromium) as page:
        await see_run(page, run)
        await show(page, "Result")
        await expect(evidence(page)).to_contain_text("2 cards from 3 documents")
        await expect(evidence(page).get_by_text(script.REVENUE)).to_be_visible()
        # Somebody still reads for this one, and has found nothing.
        await expect(evidence(page).get_by_role("heading", name="Staff in 2023 running")).to_be_visible()
        await evidence(page).get_by_role("button", name="Leave out: Revenue in 2023 was 57.9 million euros.").click()
        await expect(evidence(page).get_by_text("Left out")).to_be_visible()
        assert run_of(page) == run
        room.provider.release()
        await room.until_delivered(run)
        await expect(evidence(page)).to_contain_text("3 cards from 3 documents")
        await expect(evidence(page).get_by_role("heading", name="Staff in 2023 done")).to_be_visible()
        said = evidence(page).get_by_role("button", name="The annual report gives revenue of 41.2 million euros")
        await expect(said.first).to_be_visible()
    assert script.WRONG not in (room.folder / "norwell.py").read_text()


async def test_a_report_and_a_table_from_documents_are_begun_in_the_page(room: ControlRoom, chromium: Browser) -> None:
    script.write_documents(room.folder / "papers")
    script.script_research(room.provider)
    async with room.person(chromium) as page:
        await page.get_by_label("Goal").fill(script.QUESTION)
        await page.get_by_text("A report from documents").click()
        await page.get_by_label("Written as").select_option("brief")
        await page.get_by_label("Effort").select_option("quick")
        await page.get_by_text("Never ask").click()
        await add_folder(page, "papers")
        assert await violations(page) == []
        await page.get_by_role("button", name="Start").click()
        await expect(page.get_by_role("tablist", name="Views of this run")).to_be_visible()
        run = run_of(page)
        assert (await room.until_delivered(run))["status"] == "done"
        await show(page, "Result")
        await expect(evidence(page)).to_contain_text("3 cards from 3 documents")
        goal = (await room.get(f"runs/{run}"))["goal"]
        assert (goal["wants"], goal["form"], goal["data"]) == ("research", "brief", [])

    async with room.person(chromium) as page:
        await page.get_by_label("Goal").fill("Who wrote what")
        await page.get_by_text("A table from documents").click()
        await expect(page.get_by_text("Say which fields the table has.")).to_be_visible()
        await page.get_by_label("Fields").fill("author, staff:number")
        await expect(page.get_by_text("Add the documents to read.")).to_be_visible()
        await expect(page.get_by_role("button", name="Start")).to_be_disabled()
        await add_folder(page, "papers")
        await page.get_by_label("Read each twice").check()
        assert await violations(page) == []
        await page.get_by_role("button", name="Start").click()
        await expect(page.get_by_role("tablist", name="Views of this run")).to_be_visible()
        order = (await room.get(f"runs/{run_of(page)}"))["goal"]["extraction"]
    assert [field["name"] for field in order["fields"]] == ["author", "staff"]
    assert (order["readings"], order["has_many_rows"]) == (2, False)
    assert [document.rpartition("/")[2] for document in order["documents"]] == ["papers"]


async def add_folder(page: Page, name: str) -> None:
    await page.get_by_role("button", name="From the folder…").click()
    picker = page.get_by_role("dialog")
    await picker.get_by_role("button", name=f"Add all of {name}").click()
    await picker.get_by_role("button", name="Done").click()
