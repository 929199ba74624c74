"""Every kind of provider is seen while it answers: words and arguments in their order, masked, with one record."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import aclosing
from itertools import pairwise
from pathlib import Path

import anyio
import pytest

from cellwright.agents.drafts import Drafts, DraftView, follow_drafts
from cellwright.models.config.configuration import KINDS, Kind
from cellwright.testing import Answer, CallTool, Fault, Say, SayJson
from tests.agents.driver import SECRET, an_assignment, open_driver
from tests.agents.test_streamed_answers import SECONDS, spoken
from tests.models.asked import MODELS
from tests.models.testbed import ModelTestbed
from tests.sampling import every, some

COMES_WHOLE: frozenset[Kind] = frozenset({"google", "mistral"})
"""These providers send the arguments of a call in one piece."""
SAID = f"The password {SECRET} stands in the file; I leave it there and look at what the customers have ordered."
MASKED = SAID.replace(SECRET, "[masked PASSWORD]")
FOUND = f"I found {SECRET} " + "word " * 30
FOUND_MASKED = FOUND.replace(SECRET, "[masked PASSWORD]")
ARGUMENTS = {"summary": "Done.", "answer": FOUND}
ENDPOINT = """
[endpoints.kind]
kind = "{kind}"
base_url = "{base_url}"
key = "none"
local = {local}
[models."kind:small"]
tools = false
schema = true
"""


def add_endpoint(testbed: ModelTestbed, kind: Kind, *, local: bool) -> str:
    """An endpoint of this kind at the provider; the name of a model there."""
    base_url = testbed.provider.base_url(kind)
    with (testbed.home / "models.toml").open("a") as file:
        file.write(ENDPOINT.format(kind=kind, base_url=base_url, local=str(local).lower()))
    return "kind:small" if local else f"kind:{MODELS[kind]}"


def held(answer: Say | CallTool | SayJson, *, after: int) -> Answer:
    return Fault("stall", answer=answer, after_chunks=after)


class Seen:
    """What a follower of the run's drafts was shown, one text per look and step."""

    def __init__(self) -> None:
        self.drafts = Drafts()
        self.looks: list[tuple[int, str]] = []
        self._news = anyio.Event()

    async def follow(self) -> None:
        async with aclosing(follow_drafts(self.drafts, "r")) as told:
            async for views in told:
                self.looks += [(view.step, _text(view)) for view in views]
                self._news.set()
                self._news = anyio.Event()

    async def until(self, holds: Callable[[int, str], bool]) -> str:
        """The text of the first look of which this holds."""
        with anyio.fail_after(SECONDS):
            while True:
                if (found := next((text for step, text in self.looks if holds(step, text)), None)) is not None:
                    return found
                await self._news.wait()

    def of(self, step: int) -> list[str]:
        return [text for at, text in self.looks if at == step]


def _text(view: DraftView) -> str:
    return "\n".join(section.text for section in view.sections if section.text)


def grows(texts: list[str]) -> bool:
    """Whether each text is the one before it, or goes on from it."""
    return all(after.startswith(before) for before, after in pairwise(texts))


def has_secret(text: str) -> bool:
    return any(SECRET[at : at + 8] in text for at in range(len(SECRET) - 7))


@pytest.mark.slow
@pytest.mark.sampled(3)
@pytest.mark.parametrize("kind", every(KINDS, 3))
async def test_words_and_calls_of_every_kind_of_provider_are_seen_while_they_are_made(
    testbed: ModelTestbed, where: Path, kind: Kind
) -> None:
    model, seen = add_endpoint(testbed, kind, local=False), Seen()
    call = CallTool(
        "finish", ARGUMENTS, text="I finish now, as everything has been found and is told below.", chunks=60
    )
    # Of arguments in one piece there is nothing to see before all of them are there.
    pieces = 1 if kind in COMES_WHOLE else 50
    testbed.provider.script(
        held(Say(SAID, chunks=len(SAID), thinking="Nobody needs to see this."), after=len(SAID) - 10),
        held(call, after=len(call.text.split()) + pieces),
    )
    async with (
        open_driver(testbed, where, studio={"drafts": seen.drafts}) as driver,
        anyio.create_task_group() as tasks,
    ):
        tasks.start_soon(seen.follow)
        run = await driver.start(an_assignment(models=(model,)))
        first = await seen.until(lambda step, text: step == 1 and "I leave it there" in text)
        assert await spoken(driver) == []
        testbed.provider.release()
        second = await seen.until(lambda step, text: step == 2 and "word word" in text)
        assert await spoken(driver) == [MASKED]
        testbed.provider.release()
        assert (await driver.report(run)).outcome == "finished"
        tasks.cancel_scope.cancel()
        assert await spoken(driver) == [MASKED, call.text]
        assert seen.drafts.of(run) == ()
    assert MASKED.startswith(first)
    assert len(first) < len(MASKED)
    assert f"{call.text}\nDone.\n{FOUND_MASKED}".startswith(second)
    assert len(testbed.provider.requests) == 2
    assert all(request.is_stream for request in testbed.provider.requests)
    for step in (1, 2):
        assert grows(seen.of(step)), seen.of(step)
    everything = "\n".join(text for _, text in seen.looks)
    assert not has_secret(everything)
    assert "Nobody needs" not in everything


@pytest.mark.parametrize("kind", some(["openai-chat", "ollama"], 1))
async def test_a_local_model_held_to_json_is_seen_while_it_writes_its_words_and_its_calls(
    testbed: ModelTestbed, where: Path, kind: Kind
) -> None:
    model, seen = add_endpoint(testbed, kind, local=True), Seen()
    testbed.provider.script(
        held(SayJson({"reply": {"answer": SAID}}, chunks=120), after=118),
        held(SayJson({"reply": {"tool": "finish", "arguments": ARGUMENTS}}, chunks=60), after=50),
    )
    async with (
        open_driver(testbed, where, studio={"drafts": seen.drafts}) as driver,
        anyio.create_task_group() as tasks,
    ):
        tasks.start_soon(seen.follow)
        run = await driver.start(an_assignment(models=(model,)))
        first = await seen.until(lambda step, text: step == 1 and "I leave it there" in text)
        testbed.provider.release()
        second = await seen.until(lambda step, text: step == 2 and "word word" in text)
        testbed.provider.release()
        assert (await driver.report(run)).outcome == "finished"
        tasks.cancel_scope.cancel()
        assert await spoken(driver) == [MASKED]
    assert MASKED.startswith(first)
    assert f"Done.\n{FOUND_MASKED}".startswith(second)
    assert grows(seen.of(1))
    assert grows(seen.of(2))
    assert not has_secret("\n".join(text for _, text in seen.looks))
