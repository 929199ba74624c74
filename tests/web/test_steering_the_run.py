"""A person holds the run, in a real browser: files for it, its cap, its plan, its pause, its end and what follows."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

import pytest
from anyio import run_process
from playwright.async_api import Browser, Page, expect

from cellwright.testing import CallTool, Fault, Tokens
from tests.runs.factory import apply, create, finish, plan, task
from tests.web.a_control_room import (
    CELLWRIGHT,
    WORDS,
    ControlRoom,
    agree,
    answer,
    drop_files,
    open_control_room,
    run_of,
    see_detail,
    see_run,
    show,
)

pytestmark = pytest.mark.slow
"""All in a real browser, which `make test-all` sees to."""

CREATED = apply(create("total = 40 + 2\ntotal", "total"))
HELD = Fault("slow-first-byte", answer=finish("It is 42."))
"""The agent is at work until the model is released."""


def prompts(room: ControlRoom) -> str:
    """What the model was really asked."""
    return "\n".join(str(request.body["messages"]) for request in room.provider.requests)


async def open_task(page: Page, title: str) -> None:
    await show(page, "Plan")
    await page.get_by_role("button", name=title).first.click()


# ── before it begins ──


async def test_files_that_are_dropped_on_the_goal_box_become_data_of_the_run(
    room: ControlRoom, chromium: Browser, tmp_path: Path
) -> None:
    (tmp_path / "numbers.csv").write_text("number\n40\n2\n")
    (tmp_path / "notes.txt").write_text("They are all there is.\n")
    reads = "from pathlib import Path\ntotal = sum(map(int, Path(numbers_csv).read_text().split()[1:]))\ntotal"
    room.provider.script(plan(task()), apply(create(reads, "total")), finish("It is 42."))
    async with room.person(chromium) as page:
        goal = page.get_by_label("Goal")
        await drop_files(page, goal, tmp_path / "numbers.csv", tmp_path / "notes.txt")
        await expect(page.get_by_role("button", name="Remove numbers.csv")).to_be_visible()
        await page.get_by_role("button", name="Remove notes.txt").click()
        await goal.fill(WORDS)
        await page.get_by_role("button", name="Start").click()
        await page.wait_for_url("**/#/runs/*")
        begun = await room.until_delivered(run_of(page))
        await show(page, "Result")
        await expect(page.get_by_text("It is 42.")).to_be_visible()
    assert (room.folder / "data/numbers.csv").read_text() == "number\n40\n2\n"
    assert [path.rpartition("/")[2] for path in begun["goal"]["data"]] == ["numbers.csv"]
    assert begun["delivery"]["status"] == "done"
    assert "numbers_csv" in prompts(room)
    assert "notes.txt" not in prompts(room)
    assert not (room.folder / "data/notes.txt").exists()


# ── its cap ──


async def test_a_run_at_its_cap_asks_and_goes_on_with_the_cap_a_person_raised(
    room: ControlRoom, chromium: Browser
) -> None:
    room.provider.script(Fault("slow-first-byte", answer=plan(task())), CREATED, finish("It is 42."))
    asked_before = len(room.provider.requests)
    async with room.person(chromium) as page:
        await page.get_by_label("Goal").fill(WORDS)
        await page.get_by_label("Spend at most").fill("0.000001")
        await page.get_by_label("Notebook", exact=True).fill("capped.py")
        await page.get_by_role("button", name="Start").click()
        asked = page.get_by_role("region", name="The cap is reached")
        await expect(asked).to_contain_text("Use more than 0.000001 USD per run")
        assert len(room.provider.requests) == asked_before
        await answer(page, "Raise the cap", words="2.5")
        await expect(page.get_by_text("of $2.50")).to_be_visible()
        await expect(page.get_by_role("log").get_by_text("raise, 2.5")).to_be_visible()
        await room.until_silent()
        room.provider.release()
        done = await room.until_delivered(run_of(page))
        await show(page, "Result")
        await expect(page.get_by_text("It is 42.")).to_be_visible()
    assert done["delivery"]["status"] == "done"
    assert done["microdollars"] > 1


async def test_a_run_that_ended_at_its_cap_is_continued_under_a_higher_one(
    room: ControlRoom, chromium: Browser
) -> None:
    # The plan alone costs what there is.
    room.provider.script(replace(plan(task()), tokens=Tokens(input_tokens=1_000_000, output_tokens=0)))
    run = await room.start(notebook="out-of-money.py", budget_usd="1", approve="never")
    ended = await room.until_delivered(run)
    assert ended["delivery"]["status"] != "done"
    assert ended["plan"]["tasks"]
    room.provider.script(CREATED, finish("It is 42."))
    async with room.person(chromium) as page:
        await see_detail(page, run)
        await page.get_by_role("button", name="Retry…").click()
        asked = page.get_by_role("dialog", name="Do a task again")
        await asked.get_by_label("Spend at most").fill("3")
        await asked.get_by_role("button", name="Do it again").click()
        await expect(page.get_by_role("tablist", name="Views of this run")).to_be_visible()
        await expect(page.get_by_text("of $3.00")).to_be_visible()
        done = await room.until_delivered(run_of(page))
    assert (done["goal"]["continues"], done["delivery"]["status"]) == (run, "done")


# ── its plan ──


async def test_a_task_that_is_changed_in_the_tree_is_done_as_it_says_now(room: ControlRoom, chromium: Browser) -> None:
    room.provider.script(
        plan(task("sum"), task("story", after=["sum"]), task("extra", after=["sum"])),
        CREATED,
        HELD,
        finish("Forty-two."),
        finish("Sixty-three."),
        finish("It is 42."),
    )
    run = await room.start(notebook="replanned.py")
    async with room.person(chromium) as page:
        await see_run(page, run)
        await room.until_silent()
        await open_task(page, "Do story")
        await page.get_by_role("button", name="Change…").click()
        await page.get_by_label("Title").fill("Tell it in verse")
        await page.get_by_label("What to do").fill("Write one stanza about the total.")
        await page.get_by_role("button", name="Change it").click()
        await open_task(page, "Do extra")
        await page.get_by_role("button", name="Drop…").click()
        await page.get_by_role("button", name="Drop the task").click()
        await page.get_by_role("button", name="Add a task").click()
        await page.get_by_label("Title").fill("Check the sum")
        await page.get_by_label("What to do").fill("Add the numbers up by hand.")
        await page.get_by_role("button", name="Add it").click()
        await expect(page.get_by_role("dialog")).to_have_count(0)
        await expect(page.get_by_text("It hears of it before its next task.").last).to_be_visible()
        room.provider.release()
        done = await room.until_delivered(run)
        await expect(page.get_by_role("button", name="Tell it in verse")).to_contain_text("done")
        await expect(page.get_by_role("button", name="Do extra")).to_contain_text("dropped")
        await expect(page.get_by_role("button", name="Check the sum")).to_contain_text("done")
    assert done["delivery"]["status"] == "done"
    assert "Write one stanza about the total." in prompts(room)
    assert "Add the numbers up by hand." in prompts(room)
    assert "Work on story." not in str(room.provider.requests[-1].body["messages"])


async def test_a_person_does_a_task_and_hands_it_back_and_sees_what_was_handed_over(
    room: ControlRoom, chromium: Browser
) -> None:
    held = Fault("slow-first-byte", answer=finish("It is {total}."))
    room.provider.script(
        plan(task("sum"), task("ask", after=["sum"]), task("tell", after=["ask", "sum"])),
        CREATED,
        held,
        finish("Told."),
    )
    run = await room.start(notebook="taken.py")
    async with room.person(chromium) as page:
        await see_run(page, run)
        await room.until_silent()
        await open_task(page, "Do ask")
        await page.get_by_role("button", name="I do this").click()
        room.provider.release()
        await expect(page.get_by_role("button", name="Do ask")).to_contain_text("does it")
        await page.get_by_role("button", name="Hand it back…").click()
        await page.get_by_label("What came of it").fill("The shop says 42 as well.")
        await page.get_by_role("button", name="It is done").click()
        done = await room.until_delivered(run)
        await expect(page.get_by_role("button", name="Do ask")).to_contain_text("done")
        await open_task(page, "Do sum")
        await expect(page.get_by_role("list", name="Handed over")).to_contain_text("total")
        await expect(page.get_by_text("agent 2 · ")).to_be_visible()
    assert done["delivery"]["status"] == "done"
    assert "The shop says 42 as well." in prompts(room)
    assert [each["agents"] for each in done["team"] if each["task"] == "ask"] == [[]]


# ── its pause and its end ──


async def test_that_a_run_is_about_to_pause_is_known_after_a_reload_and_in_another_browser(
    room: ControlRoom, chromium: Browser
) -> None:
    room.provider.script(
        plan(task()), CREATED, Fault("slow-first-byte", answer=CallTool("look", {})), finish("It is 42.")
    )
    run = await room.start(notebook="paused.py")
    async with room.person(chromium) as ana, room.person(chromium) as ben:
        for page in (ana, ben):
            await see_run(page, run)
        await room.until_silent()
        await ana.get_by_role("button", name="Pause").click()
        await expect(ben.get_by_role("button", name="Pausing…")).to_be_visible()
        await ana.reload()
        await expect(ana.get_by_role("button", name="Pausing…")).to_be_visible()
        room.provider.release()
        for page in (ana, ben):
            await expect(page.get_by_role("button", name="Resume", exact=True)).to_be_visible()
        assert (await room.get(f"runs/{run}"))["status"] == "paused"
        await ben.get_by_role("button", name="Resume", exact=True).click()
        await room.until_delivered(run)
        await show(ana, "Result")
        await expect(ana.get_by_text("It is 42.")).to_be_visible()


async def test_that_a_run_is_to_stop_is_known_after_a_reload(room: ControlRoom, chromium: Browser) -> None:
    room.provider.script(plan(task(), hosts=["data.example.org"]))
    run = await room.start(notebook="stopping.py")
    async with room.person(chromium) as page:
        await see_run(page, run)
        # It waits for an answer: nobody hears the word to stop before that.
        await expect(page.get_by_role("region", name="Agree to the plan?")).to_be_visible()
        await page.get_by_role("button", name="Stop").click()
        await expect(page.get_by_role("button", name="Cancel now…")).to_be_visible()
        await page.reload()
        await expect(page.get_by_role("button", name="Cancel now…")).to_be_visible()


async def test_a_thought_that_was_cut_off_is_told_as_that_and_not_as_going_on(
    room: ControlRoom, chromium: Browser
) -> None:
    room.provider.script(plan(task()), HELD)
    run = await room.start(notebook="cut.py")
    async with room.person(chromium) as page:
        await see_run(page, run)
        await room.until_silent()
        happened = page.get_by_role("log")
        await expect(happened.get_by_text("thinks…")).to_be_visible()
        await room.post(f"runs/{run}/cancel", {})
        await expect(happened.get_by_text("thought, and was cut off")).to_be_visible()
        await expect(happened.get_by_text("thinks…")).to_have_count(0)


# ── what follows ──


async def test_a_cancelled_run_is_resumed_from_its_detail_and_delivers(room: ControlRoom, chromium: Browser) -> None:
    room.provider.script(plan(task()), CREATED, HELD)
    run = await room.start(notebook="resumed.py")
    async with room.person(chromium) as page:
        await see_detail(page, run)
        await room.until_silent()
        await room.post(f"runs/{run}/cancel", {"reason": "For now."})
        await page.get_by_role("button", name="Resume", exact=True).click()
        await expect(page.get_by_text("It goes on from where it was.")).to_be_visible()
        room.provider.script(finish("It is 42."))
        room.provider.release()
        done = await room.until_delivered(run)
        await expect(page.get_by_text("It is 42.").first).to_be_visible()
    assert done["delivery"]["status"] == "done"


async def test_a_task_of_a_run_that_is_over_is_done_again_by_a_run_that_continues_it(
    room: ControlRoom, chromium: Browser
) -> None:
    room.provider.script(plan(task(), task("story", after=["sum"])), CREATED, finish("42"), finish("A tale."))
    run = await room.start(notebook="again.py")
    await room.until_delivered(run)
    room.provider.script(finish("A better tale."))
    async with room.person(chromium) as page:
        await see_detail(page, run)
        await page.get_by_role("button", name="Retry…").click()
        asked = page.get_by_role("dialog", name="Do a task again")
        await asked.get_by_role("radio", name="Do story").check()
        await asked.get_by_role("button", name="Do it again").click()
        await expect(page.get_by_role("tablist", name="Views of this run")).to_be_visible()
        again = run_of(page)
        done = await room.until_delivered(again)
        await show(page, "Result")
        await expect(page.get_by_text("A better tale.").first).to_be_visible()
    assert again != run
    assert done["goal"]["continues"] == run
    assert {each["id"]: each["note"] for each in done["plan"]["tasks"]}["story"] == "A better tale."


async def test_a_run_is_forked_and_the_new_one_goes_on_with_its_steps(room: ControlRoom, chromium: Browser) -> None:
    room.provider.script(plan(task()), CREATED, HELD)
    asked = len(room.provider.requests)
    run = await room.start(notebook="forked.py")
    async with room.person(chromium) as page:
        await see_detail(page, run)
        await room.until_silent()
        room.provider.script(finish("It is 42, said the fork."))
        await page.get_by_role("button", name="Fork…").click()
        dialog = page.get_by_role("dialog", name="Fork this run")
        await expect(dialog).to_contain_text("This run is stopped")
        await dialog.get_by_role("button", name="Fork").last.click()
        await expect(page.get_by_role("tablist", name="Views of this run")).to_be_visible()
        forked = run_of(page)
        await room.until_silent()
        room.provider.release()
        await room.until_delivered(forked)
        await show(page, "Result")
        await expect(page.get_by_text("It is 42, said the fork.")).to_be_visible()
    assert forked != run
    assert (await room.get(f"runs/{run}"))["standing"] == "cancelled"
    # What was planned is not planned again.
    planned = [request for request in room.provider.requests[asked:] if "plan" in request.tools]
    assert len(planned) == 1


# ── without marimo's editor ──

BROKEN_DAEMON = (
    "import runpy; from marimo._server import main; del main.create_starlette_app; "
    "runpy.run_module('cellwright.server', run_name='__main__', alter_sys=True)"
)
BROKEN = f"""
import sys
from cellwright.cli import serve
from cellwright.cli.main import main
serve.COMMAND = (sys.executable, "-I", "-c", {BROKEN_DAEMON!r})
main()
"""
"""`cellwright`, whose daemon finds a marimo whose server is not the one we know, as after an upgrade."""


async def test_without_the_editor_cells_chat_approvals_and_the_command_line_work_and_it_is_said(
    chromium: Browser, tmp_path: Path
) -> None:
    with open_control_room(tmp_path, command=(sys.executable, "-c", BROKEN)) as room:
        room.provider.script(
            plan(task(), hosts=["data.example.org"]),
            CREATED,
            Fault("slow-first-byte", answer=CallTool("look", {})),
            finish("It is 42."),
        )
        async with room.person(chromium) as page:
            await page.get_by_label("Goal").fill(WORDS)
            await page.get_by_role("button", name="Start").click()
            await agree(page)
            notebook = page.get_by_role("region", name="Notebook")
            await expect(notebook).to_contain_text("The editor cannot be shown here")
            await expect(notebook).to_contain_text("create_starlette_app")
            await expect(notebook.get_by_role("region", name="Cells")).to_contain_text("total = 40 + 2")
            await expect(notebook.get_by_label("Output of total")).to_have_text("42")
            await expect(page.locator("iframe")).to_have_count(0)
            await room.until_silent()
            await notebook.get_by_role("button", name="total", exact=True).click()
            await page.get_by_label("Say something to the agents").fill("Use the median instead.")
            await page.get_by_role("button", name="Say", exact=True).click()
            await expect(page.get_by_role("log").get_by_text("Use the median instead.")).to_be_visible()
            run = run_of(page)
            room.provider.release()
            await room.until_delivered(run)
            await show(page, "Result")
            await expect(page.get_by_text("It is 42.")).to_be_visible()
        assert "Use the median instead." in prompts(room)
        assert "named total" in prompts(room)
        listed = await run_process([str(CELLWRIGHT), "runs", "list", "--json"], env=room.environment)
        assert run in listed.stdout.decode()
