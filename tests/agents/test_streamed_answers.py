"""An agent's answer is seen while its model makes it, over the real wire; the record stays one event per answer."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import aclosing
from pathlib import Path

import anyio
import pytest

from cellwright.agents import steering
from cellwright.agents.drafts import Drafts, DraftView, follow_drafts
from cellwright.agents.events import AgentSpoke
from cellwright.testing import CallTool, Fault, Say
from tests.agents.driver import ADA, SECRET, AgentDriver, a_role, open_driver
from tests.models.testbed import ModelTestbed

SECONDS = 60
WORDS = "I look at the orders first, then at the customers, and after that at what both of them have in common."
ANSWER = CallTool("finish", {"summary": "Done with it all.", "answer": "word " * 40}, text=WORDS, chunks=20)
HELD = Fault("stall", answer=ANSWER, after_chunks=len(WORDS.split()) + 14)
"""All words and more than half of the call come, then nothing until it is released."""


async def until(drafts: Drafts, holds: Callable[[tuple[DraftView, ...]], bool], run: str = "r") -> DraftView:
    """The only draft, once this holds."""
    with anyio.fail_after(SECONDS):
        async with aclosing(follow_drafts(drafts, run)) as told:
            async for views in told:
                if holds(views):
                    return views[0] if views else DraftView(agent="", step=0, draft="")
    raise AssertionError


def texts(views: tuple[DraftView, ...]) -> str:
    return "|".join(section.text for view in views for section in view.sections)


async def spoken(driver: AgentDriver, run: str = "r") -> list[str]:
    recorded = [each.event async for each in driver.journal.log.read_all(f"run:{run}")]
    return [event.text for event in recorded if isinstance(event, AgentSpoke)]


async def test_words_and_arguments_are_seen_before_the_answer_ends(testbed: ModelTestbed, where: Path) -> None:
    drafts = Drafts()
    testbed.provider.script(HELD)
    async with open_driver(testbed, where, studio={"drafts": drafts}) as driver:
        run = await driver.start()
        seen = await until(drafts, lambda views: "word word" in texts(views))
        assert (seen.agent, seen.step, seen.is_done) == ("r", 1, False)
        assert seen.sections[0].text == WORDS
        assert len(seen.sections[-1].text) < len("word " * 40)
        assert await spoken(driver) == []
        testbed.provider.release()
        assert (await driver.report(run)).outcome == "finished"
        assert await spoken(driver) == [WORDS]
        assert drafts.of("r") == ()


async def test_a_secret_in_an_answer_is_in_no_draft(testbed: ModelTestbed, where: Path) -> None:
    drafts, seen = Drafts(), list[str]()
    words = f"The password is {SECRET}, which I should not say. " * 3
    text = Say(words, chunks=len(words))
    testbed.provider.script(Fault("stall", answer=text, after_chunks=len(words) - 1), ANSWER)

    def hears(views: tuple[DraftView, ...]) -> bool:
        seen.append(texts(views))
        return "[masked PASSWORD]" in seen[-1]

    async with open_driver(testbed, where, studio={"drafts": drafts}) as driver:
        run = await driver.start()
        await until(drafts, hears)
        testbed.provider.release()
        await driver.report(run)
    assert not any(SECRET[at : at + 8] in each for each in seen for at in range(len(SECRET) - 7))


@pytest.mark.slow
async def test_another_attempt_begins_its_draft_anew(testbed: ModelTestbed, where: Path) -> None:
    drafts = Drafts()
    first = Say("Everything that was said before the connection broke is void, and is not shown any more.")
    testbed.provider.script(Fault("drop", answer=first, after_chunks=14), HELD)
    async with open_driver(testbed, where, studio={"drafts": drafts}) as driver:
        run = await driver.start()
        seen = await until(drafts, lambda views: "word word" in texts(views))
        assert seen.sections[0].text == WORDS
        testbed.provider.release()
        await driver.report(run)
        assert await spoken(driver) == [WORDS]


@pytest.mark.slow
async def test_whoever_stops_the_agent_ends_its_draft(testbed: ModelTestbed, where: Path) -> None:
    drafts = Drafts()
    testbed.provider.script(HELD)
    async with open_driver(testbed, where, studio={"drafts": drafts}) as driver:
        run = await driver.start()
        await until(drafts, lambda views: "word word" in texts(views))
        await steering.stop(driver.journal.log, run, ADA)
        await until(drafts, lambda views: views == ())
        assert (await driver.report(run)).outcome == "stopped"
        assert await spoken(driver) == []
        assert not testbed.provider.charged[0].is_finished


async def test_a_run_that_is_cancelled_leaves_no_draft(testbed: ModelTestbed, where: Path) -> None:
    drafts = Drafts()
    testbed.provider.script(HELD)
    async with open_driver(testbed, where, studio={"drafts": drafts}) as driver:
        run = await driver.start()
        await until(drafts, lambda views: "word word" in texts(views))
        await driver.journal.cancel(run)
        await until(drafts, lambda views: views == ())
        assert await spoken(driver) == []


async def test_words_without_a_call_are_seen_too(testbed: ModelTestbed, where: Path) -> None:
    drafts = Drafts()
    testbed.provider.script(Fault("stall", answer=Say(WORDS * 2), after_chunks=30))
    async with open_driver(testbed, where, studio={"drafts": drafts}, roles=[a_role(style="one-call")]) as driver:
        run = await driver.start()
        await until(drafts, lambda views: WORDS[:60] in texts(views))
        testbed.provider.release()
        await driver.report(run)
        assert (await spoken(driver))[0] == WORDS * 2
