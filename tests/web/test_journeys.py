"""What people do in the control room, in a real browser: start, approve, deny, edit, reject, undo, steer, stop."""

from __future__ import annotations

import pytest
from playwright.async_api import Browser, expect

from cellwright.testing import CallTool, Fault
from tests.runs.factory import apply, create, finish, plan, task
from tests.web.a_control_room import WORDS, ControlRoom, card, editor, go, run_of, see_run, show

pytestmark = pytest.mark.slow
"""All in a real browser, which `make test-all` sees to."""

CREATED = apply(create("total = 40 + 2\ntotal", "total"))
HELD = Fault("slow-first-byte", answer=finish("It is 42."))
"""The agent is at work until the model is released."""
ASKS = plan(task(), title="The sum", hosts=["data.example.org"])


def prompts(room: ControlRoom) -> str:
    """What the model was really asked."""
    return "\n".join(str(request.body["messages"]) for request in room.provider.requests)


async def test_a_goal_typed_into_the_page_becomes_a_notebook_that_grows_in_the_editor(
    room: ControlRoom, chromium: Browser
) -> None:
    room.provider.script(
        plan(task(), title="The sum"),
        CREATED,
        Fault("slow-first-byte", answer=apply(create("double = total * 2\ndouble", "double"))),
        finish("It is **84**."),
    )
    async with room.person(chromium) as page:
        await page.get_by_label("Goal").fill(WORDS)
        await page.get_by_role("button", name="Start").click()
        cells = editor(page).locator(".cm-content")
        await expect(cells.filter(has_text="total = 40 + 2")).to_be_visible()
        await expect(editor(page).get_by_text("42", exact=True)).to_be_visible()
        await expect(cells.filter(has_text="double")).to_have_count(0)
        room.provider.release()
        await expect(page.get_by_text("double = total * 2").first).to_be_visible()
        await show(page, "Result")
        await expect(page.get_by_text("It is 84.")).to_be_visible()
        await expect(page.locator("strong", has_text="84")).to_be_visible()
        await expect(page.get_by_role("button", name="sum-the-numbers.report.html")).to_be_visible()
    assert "double = total * 2" in (room.folder / "sum-the-numbers.py").read_text()


async def test_a_card_shows_what_will_happen_and_a_yes_lets_it_go_on(room: ControlRoom, chromium: Browser) -> None:
    room.provider.script(ASKS, CREATED, finish("It is 42."))
    run = await room.start()
    async with room.person(chromium) as page:
        await see_run(page, run)
        asked = card(page)
        await expect(asked.get_by_role("group", name="What it may touch")).to_contain_text("data.example.org")
        await asked.get_by_role("button", name="Yes, agree").click()
        assert (await room.get(f"runs/{run}"))["status"] == "waiting"
        await asked.get_by_role("button", name="Confirm").click()
        await expect(asked).to_have_count(0)
        await show(page, "Result")
        await expect(page.get_by_text("It is 42.")).to_be_visible()


@pytest.mark.slow
async def test_a_no_with_its_reason_ends_what_was_asked_for(room: ControlRoom, chromium: Browser) -> None:
    room.provider.script(ASKS)
    run = await room.start(notebook="denied.py")
    async with room.person(chromium) as page:
        await see_run(page, run)
        asked = card(page)
        await asked.get_by_role("button", name="No", exact=False).last.click()
        await asked.get_by_label("What the agent should know").fill("Not from there.")
        await asked.get_by_role("button", name="Confirm").click()
        await show(page, "Result")
        await expect(page.get_by_role("tabpanel").get_by_text("Not from there.").first).to_be_visible()
    assert not (room.folder / "denied.py").exists()


@pytest.mark.slow
async def test_always_is_said_once_and_taken_back_in_the_settings(room: ControlRoom, chromium: Browser) -> None:
    room.provider.script(plan(task()), CallTool("read_web_page", {"url": "http://data.example.org/"}), HELD)
    run = await room.start()
    async with room.person(chromium) as page:
        await see_run(page, run)
        asked = card(page)
        await expect(asked.get_by_role("group", name="What will happen")).to_contain_text("data.example.org")
        await asked.get_by_role("button", name="Always").click()
        await asked.get_by_role("button", name="Confirm").click()
        await expect(asked).to_have_count(0)
        await go(page, "/settings/approvals")
        await page.get_by_role("button", name="Take back").click()
        await expect(page.get_by_text("Nothing is approved in advance")).to_be_visible()
    assert (await room.get("grants"))["grants"] == []


@pytest.mark.slow
async def test_what_a_person_types_into_a_cell_stays_and_the_agent_is_told(
    room: ControlRoom, chromium: Browser
) -> None:
    edit = {"op": "edit", "cell": "total", "base_version": 1, "code": "total = 7\ntotal"}
    room.provider.script(plan(task()), CREATED, Fault("slow-first-byte", answer=apply(edit)), finish("It is 60."))
    run = await room.start(notebook="by-hand.py")
    async with room.person(chromium) as page:
        await see_run(page, run)
        cell = editor(page).locator(".cm-content").filter(has_text="total = 40 + 2")
        await expect(editor(page).get_by_text("42", exact=True)).to_be_visible()
        await room.until_silent()
        await cell.click()
        await page.keyboard.press("Control+Home")
        await page.keyboard.press("End")
        await page.keyboard.type("0")
        await page.keyboard.press("Control+Enter")
        await expect(editor(page).get_by_text("60", exact=True)).to_be_visible()
        room.provider.release()
        await show(page, "Result")
        await expect(page.get_by_text("It is 60.")).to_be_visible()
    assert "total = 40 + 20" in (room.folder / "by-hand.py").read_text()
    assert "total = 40 + 20" in prompts(room)


@pytest.mark.slow
async def test_a_rejected_diff_is_taken_back_at_work_and_the_agent_reads_why(
    room: ControlRoom, chromium: Browser
) -> None:
    room.provider.script(
        plan(task()), CREATED, Fault("slow-first-byte", answer=CallTool("look", {})), finish("Nothing.")
    )
    run = await room.start(notebook="rejected.py")
    async with room.person(chromium) as page:
        await see_run(page, run)
        await expect(editor(page).locator(".cm-content").filter(has_text="total = 40 + 2")).to_be_visible()
        await room.until_silent()
        await show(page, "Changes")
        diff = page.get_by_role("region", name="created total")
        await expect(diff.get_by_role("group", name="Changed lines")).to_contain_text("total = 40 + 2")
        await diff.get_by_role("button", name="Reject total").click()
        await diff.get_by_label("Why total is rejected").fill("Use the median instead.")
        await diff.get_by_role("button", name="Take it back").click()
        await expect(diff.get_by_text("rejected", exact=True)).to_be_visible()
        await expect(editor(page).locator(".cm-content").filter(has_text="total = 40 + 2")).to_have_count(0)
        room.provider.release()
        await show(page, "Result")
        await expect(page.get_by_text("Nothing.")).to_be_visible()
    assert "Use the median instead." in prompts(room)
    assert "total = 40 + 2" not in (room.folder / "rejected.py").read_text()


@pytest.mark.slow
async def test_the_last_change_is_undone_and_redone_in_the_editor_too(room: ControlRoom, chromium: Browser) -> None:
    room.provider.script(plan(task()), CREATED, HELD)
    run = await room.start(notebook="undone.py")
    async with room.person(chromium) as page:
        await see_run(page, run)
        cell = editor(page).locator(".cm-content").filter(has_text="total = 40 + 2")
        await expect(cell).to_be_visible()
        await room.until_silent()
        await page.get_by_role("button", name="Undo…").click()
        await page.get_by_role("button", name="Undo the last change").click()
        await expect(page.get_by_text("Taken back: removed total. By checkpoint:")).to_be_visible()
        await expect(cell).to_have_count(0)
        await show(page, "Changes")
        undone = page.get_by_role("region", name="created total").get_by_text("undone")
        await expect(undone).to_be_visible()
        redo = page.get_by_role("button", name="Redo", exact=True)
        await redo.click()
        await expect(page.get_by_text("Redone: added total. By checkpoint:")).to_be_visible()
        await expect(cell).to_be_visible()
        await expect(undone).to_have_count(0)
        await expect(redo).to_have_count(0)
        room.provider.release()
        await room.until(run, lambda seen: seen["standing"] == "done")


@pytest.mark.slow
async def test_stop_lets_the_agents_hand_over_and_keeps_what_is_there(room: ControlRoom, chromium: Browser) -> None:
    room.provider.script(plan(task()), CREATED, HELD)
    run = await room.start(notebook="stopped.py")
    async with room.person(chromium) as page:
        await see_run(page, run)
        await room.until_silent()
        await page.get_by_role("button", name="Stop").click()
        # The model is silent for good: nobody waits for it.
        await expect(page.get_by_text("The run is over.")).to_be_visible()
    assert "total = 40 + 2" in (room.folder / "stopped.py").read_text()


@pytest.mark.slow
async def test_a_run_that_waits_for_an_answer_is_cancelled_at_once_and_can_be_resumed(
    room: ControlRoom, chromium: Browser
) -> None:
    room.provider.script(ASKS)
    run = await room.start(notebook="cancelled.py")
    async with room.person(chromium) as page:
        await see_run(page, run)
        await expect(card(page)).to_be_visible()
        await page.get_by_role("button", name="Stop").click()
        await page.get_by_role("button", name="Cancel now…").click()
        await page.get_by_role("button", name="Cancel the run").click()
        await expect(page.get_by_text("The run is over.")).to_be_visible()
        await expect(page.get_by_role("button", name="Resume")).to_be_visible()
    assert (await room.get(f"runs/{run}"))["standing"] == "cancelled"


@pytest.mark.slow
async def test_a_word_about_a_marked_cell_reaches_the_agent_midway(room: ControlRoom, chromium: Browser) -> None:
    room.provider.script(
        plan(task()), CREATED, Fault("slow-first-byte", answer=CallTool("look", {})), finish("It is 42.")
    )
    run = await room.start(notebook="told.py")
    async with room.person(chromium) as page:
        await see_run(page, run)
        await room.until_silent()
        await show(page, "Changes")
        await page.get_by_role("region", name="created total").get_by_role("button", name="total", exact=True).click()
        await page.get_by_label("Say something to the agents").fill("Use the median instead.")
        await page.get_by_role("button", name="Say", exact=True).click()
        await show(page, "Activity")
        await expect(page.get_by_role("log").get_by_text("Use the median instead.")).to_be_visible()
        room.provider.release()
        await room.until(run_of(page), lambda seen: seen["standing"] == "done")
    assert "Use the median instead." in prompts(room)
    assert "named total" in prompts(room)
