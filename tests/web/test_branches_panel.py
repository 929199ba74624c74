"""What agents tried in branches, seen in the control room: each with its outcome and what differs, as they happen."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from playwright.async_api import Browser, expect

from cellwright.cli.journal_options import open_records
from cellwright.journal.names import stream_of
from cellwright.policy.masking.masker import Masker
from cellwright.testing import Fault
from cellwright.tools.notebook.trial_records import TrialCell, TrialCheck, TrialRecord, TrialVariable
from tests.runs.factory import apply, create, finish, plan, task
from tests.web.a_control_room import ControlRoom, see_run, show, violations

pytestmark = pytest.mark.slow
"""All in a real browser, which `make test-all` sees to."""

MEAN = TrialRecord(
    branch="call-7.1",
    agent="agent:2",
    purpose="fill with the mean",
    group="call-7",
    way="replayed",
    reasons=("a thread of the notebook runs",),
    status="failed",
    cells=(TrialCell(cell="a1", name="clean", status="failed", error="KeyError: 'price'"),),
    checks=(TrialCheck(check="sales.price.notna().all()", has_passed=False, detail="3 are missing"),),
    ms=1240.4,
)
DROP = TrialRecord(
    branch="call-7.2",
    agent="agent:2",
    purpose="drop what is missing",
    group="call-7",
    way="fork",
    status="passed",
    cells=(TrialCell(cell="a1", name="clean", status="ok"),),
    checks=(TrialCheck(check="sales.price.notna().all()", has_passed=True),),
    variables=(
        TrialVariable(
            name="sales",
            type="pandas.DataFrame",
            before="1,000 rows × 3 columns\nprice: nulls 12\nprice: range -4 … 99",
            after="988 rows × 3 columns\nprice: nulls 0\nprice: range 1.5 … 99",
        ),
        TrialVariable(name="prices", type="list", after="988 items"),
    ),
    files=("out/clean.csv",),
    ms=41.2,
    is_kept=True,
)
HOSTILE = TrialRecord(
    branch="call-9",
    purpose="<img src=x onerror=document.title='taken'>",
    way="fork",
    status="passed",
    variables=(TrialVariable(name="x" * 300, before="<b>1</b>", after="y" * 3_000),),
    note="<script>document.title='taken'</script>",
)


async def at_work(room: ControlRoom, notebook: str) -> str:
    """A run that waits for its model."""
    created = apply(create("total = 40 + 2\ntotal", "total"))
    room.provider.script(plan(task()), created, Fault("slow-first-byte", answer=finish("It is 42.")))
    run = await room.start(notebook=notebook)
    await room.until_silent()
    return run


async def tell(home: Path, run: str, *tried: TrialRecord) -> None:
    """As whoever carries the run out does, from a process of its own."""
    async with open_records(str(home / "journal.db"), None, Masker.of(salt=b"s" * 16)) as records:
        for each in tried:
            await records.log.append(stream_of(run), each)


async def test_branches_appear_while_one_looks_with_outcome_and_what_differs(
    room: ControlRoom, chromium: Browser
) -> None:
    run = await at_work(room, "branches.py")
    async with room.person(chromium) as page:
        await see_run(page, run)
        await expect(page.get_by_role("tab", name="Activity")).to_be_visible()
        await expect(page.get_by_role("tab", name="Branches")).to_have_count(0)
        await tell(room.home, run, MEAN)
        await show(page, "Branches")
        failed = page.get_by_role("region", name="Branch fill with the mean")
        await expect(failed).to_contain_text("failed")
        await expect(failed).to_contain_text("not kept")
        await expect(failed).to_contain_text("a fresh kernel that ran the cells it needs, 1,240 ms")
        await expect(failed).to_contain_text("No fork: a thread of the notebook runs.")
        await expect(failed).to_contain_text("KeyError: 'price'")
        await expect(failed).to_contain_text("sales.price.notna().all() does not hold")
        await tell(room.home, run, DROP)
        kept = page.get_by_role("region", name="Branch drop what is missing")
        await expect(kept).to_contain_text("✓ kept")
        await expect(page.get_by_text("2 tried side by side")).to_be_visible()
        rows = kept.get_by_role("region", name="What differs in").get_by_role("row")
        assert [" | ".join((await row.inner_text()).split("\t")) for row in await rows.all()] == [
            "Variable | Before | After",
            "sales | 1,000 rows × 3 columns | 988 rows × 3 columns",
            "price | nulls 12 | nulls 0",
            "price | range -4 … 99 | range 1.5 … 99",
            "prices | not there | 988 items",
        ]
        await expect(kept.get_by_role("listitem").filter(has_text="out/clean.csv")).to_be_visible()
        assert await violations(page) == []


async def test_branches_of_hostile_words_are_text_and_fit_on_a_phone(room: ControlRoom, chromium: Browser) -> None:
    run = await at_work(room, "hostile-branches.py")
    await tell(room.home, run, MEAN, DROP, replace(DROP, branch="call-8", group=""), HOSTILE)
    async with room.person(chromium, width=390, height=844, theme="dark") as page:
        await see_run(page, run)
        await show(page, "Branches")
        await expect(page.get_by_text("<img src=x onerror=document.title='taken'>")).to_be_visible()
        await expect(page.get_by_text("<script>document.title='taken'</script>")).to_be_visible()
        await expect(page.locator('section[aria-label^="Branch "]')).to_have_count(4)
        assert "taken" not in await page.title()
        assert await page.evaluate("document.documentElement.scrollWidth") <= 390
        assert await violations(page) == []
