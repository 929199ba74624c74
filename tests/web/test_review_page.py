"""A reviewed run in the control room: what still fails is said before all else, and shown by whoever asks for it."""

from __future__ import annotations

from typing import Any

import pytest
from playwright.async_api import Browser, Locator, Page, expect

from tests.conftest import notebook_source
from tests.runs.factory import apply, at_once, create, finish, plan, task
from tests.runs.review import test_spec_first as specs
from tests.runs.review.test_reviewed_runs import FINDING, FIXER, MEND, READ, REVIEWER, SALES, WRONG, review
from tests.web.a_control_room import ControlRoom, report, see_run, show, violations

pytestmark = pytest.mark.slow
"""All in a real browser, which `make test-all` sees to."""

WRONG_WORDS = "Shown to be wrong, and nobody mended it"
DOUBT = {"claim": "Rows are lost", "found": "Some are.", "shows": "assert len(rows) == 5"}


async def begin(room: ControlRoom, notebook: str, *fixer: Any, **review_more: Any) -> str:
    """A run that sums too much, whose reviewer shows it."""
    (room.folder / notebook).write_text(notebook_source("import marimo as mo"))
    (room.folder / "sales.csv").write_text(SALES)
    room.provider.script(
        plan(task("read"), task("sum", after=["read"]), title="The sum of all sales"),
        at_once(apply(create(READ, "read")), finish(summary="Rows of sales are read.")),
        at_once(
            apply(create(WRONG, "total"), create("def test_total():\n    assert total > 0", "check")),
            finish("The amounts sum to {total}."),
        ),
    )
    room.provider.when(REVIEWER, review(FINDING, DOUBT, **review_more))
    room.provider.when(FIXER, *fixer, for_ever=True)
    return await room.start(notebook=notebook, data=["sales.csv"], approve="never")


def result(page: Page) -> Locator:
    return page.get_by_role("tabpanel").filter(has=page.get_by_role("region", name="Review"))


def finding(page: Page, claim: str) -> Locator:
    return page.get_by_role("region", name="Review").get_by_role("listitem").filter(has_text=claim)


async def test_what_a_review_shows_and_nobody_mends_is_said_first_and_fails_before_ones_eyes(
    room: ControlRoom, chromium: Browser
) -> None:
    run = await begin(room, "wrong.py", finish(summary="It is fine."))
    assert (await room.until_delivered(run))["status"] == "partial"
    before = (room.folder / "wrong.py").read_bytes()
    async with room.person(chromium) as page:
        await see_run(page, run)
        await expect(result(page)).to_contain_text("580 instead of 290")
        assert (await result(page).inner_text()).startswith(WRONG_WORDS)
        await expect(report(page).get_by_text("Shown to be wrong")).to_be_visible()
        listed = page.get_by_role("region", name="Review").get_by_role("listitem")
        first = [(await each.inner_text()).partition("\n")[0] for each in await listed.all()]
        # What code found stands first; below are questions of the data.
        assert first[:3] == ["The answer says: The amounts sum to 580.", "The total is 580", "Rows are lost"]
        wrong = finding(page, "The total is 580")
        await expect(wrong.get_by_text("Still fails")).to_be_visible()
        await expect(wrong.get_by_text("assert total == right")).to_have_count(0)
        await wrong.get_by_role("button", name="Show me").click()
        await expect(wrong.get_by_text("assert total == right")).to_be_visible()
        await expect(wrong.get_by_role("status")).to_contain_text("It fails in the notebook as it is now")
        await expect(wrong.get_by_role("status")).to_contain_text("AssertionError: 580 instead of 290")
        doubt = finding(page, "Rows are lost")
        await expect(doubt.get_by_text("Nothing shows it")).to_be_visible()
        await doubt.get_by_role("button", name="Show me").click()
        await expect(doubt.get_by_role("status")).to_contain_text("It does not fail")
        await expect(page.get_by_text("omputed twice").first).to_be_visible()
        assert await violations(page) == []
    async with room.person(chromium, width=390, height=844) as page:
        await see_run(page, run)
        await show(page, "Result")
        await expect(finding(page, "The total is 580").get_by_role("button", name="Show me")).to_be_visible()
        assert (await result(page).inner_text()).startswith(WRONG_WORDS)
        assert await page.evaluate("document.documentElement.scrollWidth") <= 390
    assert (room.folder / "wrong.py").read_bytes() == before


async def test_what_a_review_shows_and_somebody_mends_is_told_as_mended_and_holds(
    room: ControlRoom, chromium: Browser
) -> None:
    run = await begin(room, "mended.py", MEND)
    seen = await room.until_delivered(run)
    assert (seen["status"], seen["delivery"]["answer"]) == ("done", "The amounts sum to 290.")
    async with room.person(chromium) as page:
        await see_run(page, run)
        mended = finding(page, "The total is 580")
        await expect(mended.get_by_text("Mended", exact=True)).to_be_visible()
        await expect(page.get_by_text(WRONG_WORDS)).to_have_count(0)
        await mended.get_by_role("button", name="Show me").click()
        await expect(mended.get_by_role("status")).to_contain_text("It holds in the notebook as it is now")
        await show(page, "Activity")
        await expect(page.get_by_role("log").get_by_text("Mended: The total is 580.")).to_be_visible()


async def test_a_disputed_test_is_seen_beside_what_would_take_its_place_and_a_person_decides(
    room: ControlRoom, chromium: Browser
) -> None:
    (room.folder / "disputed.py").write_text(notebook_source("import marimo as mo"))
    (room.folder / "sales.csv").write_text(specs.SALES)
    room.provider.when(specs.TESTER, specs.spec(specs.WRONG))
    room.provider.when(REVIEWER, specs.REVIEW)
    room.provider.script(specs.dispute(), specs.BUILT)
    run = await room.start(notebook="disputed.py", data=["sales.csv"], effort="thorough")
    async with room.person(chromium) as page:
        await see_run(page, run)
        card = page.get_by_role("region", name="Is this test right?")
        for text in ("The goal asks for all regions", "The north is summed.", "total == 210", "120 + 90 + 80"):
            await expect(card).to_contain_text(text)
        assert await violations(page) == []
        await card.get_by_role("button", name="Replace it").click()
        await expect(card).to_contain_text("takes its place")
        await card.get_by_role("button", name="Confirm").click()
        done = await room.until_delivered(run)
        await expect(card).to_have_count(0)
        await show(page, "Activity")
        await expect(page.get_by_role("log").get_by_text("test_total was disputed")).to_contain_text("replaced by")
    assert (done["status"], done["delivery"]["answer"]) == ("done", "The amounts sum to 290.")
    assert "total == 210" not in (room.folder / "disputed.py").read_text()
