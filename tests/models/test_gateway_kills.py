"""kill -9 of the caller and of the gateway at each point of a call: paid once each, or known as unknown."""

from __future__ import annotations

from decimal import Decimal

import pytest

from cellwright.models.calls import AnswerUnknown, ModelAnswer, Outcome, Piece, Restarted
from cellwright.models.client.gateway_client import Models
from cellwright.models.gateway.in_flight import GatewayCrash
from cellwright.testing import Fault, Say
from tests.models.testbed import ModelTestbed, a_call
from tests.sampling import every, some

TEXT = "tell me five short words"
IN_FLIGHT = {GatewayCrash.SENT, GatewayCrash.FIRST_PIECE, GatewayCrash.ANSWERED_UNRECORDED}
"""Where nobody can know what became of the call."""


def said(outcome: Outcome) -> str | None:
    assert isinstance(outcome, ModelAnswer)
    return outcome.response.text


async def paid(models: Models) -> tuple[int, int, int]:
    """Input and output tokens in our own books, and calls of which nobody knows."""
    rows = (await models.usage(by="run")).rows
    return (
        sum(row.input_tokens for row in rows),
        sum(row.output_tokens for row in rows),
        sum(row.unknown_calls for row in rows),
    )


def charged(testbed: ModelTestbed) -> tuple[int, int]:
    """What the provider counted."""
    charges = testbed.provider.charged
    return sum(c.tokens.input_tokens for c in charges), sum(c.tokens.output_tokens for c in charges)


@pytest.mark.parametrize("until", some(["streaming", "connected", "asked", "answered"], 1))
async def test_a_caller_killed_anywhere_gets_the_whole_answer_when_it_asks_again_and_it_is_paid_once(
    testbed: ModelTestbed, until: str
) -> None:
    # Held back until the caller is dead: it was in flight when that happened, whatever the machine does.
    if until in ("asked", "streaming"):
        testbed.provider.script(Fault("stall", answer=Say(TEXT), after_chunks=0 if until == "asked" else 2))
    else:
        testbed.provider.script(Say(TEXT))
    async with Models.open(testbed.home, launch=testbed.launch()) as models:
        testbed.kill_asker("run/step/1", TEXT, until)
        if until in ("asked", "streaming"):
            await testbed.provider.until(lambda provider: provider.silent == 1)
            testbed.provider.release()
        outcome = await models.ask(a_call(TEXT, id="run/step/1", stream=True))
        assert said(outcome) == TEXT
        assert isinstance(outcome, ModelAnswer)
        # What was let go may have come to its end before it is asked for again: then it is on record.
        assert outcome.source in (("record",) if until == "answered" else ("provider", "record"))
        assert len(testbed.provider.charged) == 1
        assert await paid(models) == (*charged(testbed), 0)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("point", "stream"),
    every(
        [
            *((point, True) for point in GatewayCrash),
            (GatewayCrash.SENT, False),
            (GatewayCrash.ANSWERED_UNRECORDED, False),
        ],
        3,
    ),
)
async def test_a_gateway_killed_anywhere_never_pays_twice_in_silence(
    testbed: ModelTestbed, point: GatewayCrash, stream: bool
) -> None:
    call = a_call(TEXT, id="run/step/1", stream=stream)
    async with Models.open(testbed.home, launch=testbed.launch(dies=point)):
        pass
    # It dies under this call; the client starts another, which lives, and asks it for the same id.
    async with Models.open(testbed.home, launch=testbed.launch()) as models:
        outcome = await models.ask(call)
        if point in IN_FLIGHT:
            assert isinstance(outcome, AnswerUnknown)
            assert outcome.model == "near:one"
        else:
            assert said(outcome) == TEXT
        assert await models.ask(call) == outcome or point is GatewayCrash.BEGUN
        assert len(testbed.provider.requests) == (0 if point is GatewayCrash.SENT else 1)
        _, _, unknown = await paid(models)
        assert unknown == (1 if point in IN_FLIGHT else 0)
        if point not in IN_FLIGHT:
            assert await paid(models) == (*charged(testbed), 0)


@pytest.mark.slow
async def test_a_call_whose_answer_is_unknown_is_asked_again_only_if_the_caller_says_so(testbed: ModelTestbed) -> None:
    async with Models.open(testbed.home, launch=testbed.launch(dies=GatewayCrash.ANSWERED_UNRECORDED)):
        pass
    async with Models.open(testbed.home, launch=testbed.launch()) as models:
        assert isinstance(await models.ask(a_call(TEXT, id="run/step/1")), AnswerUnknown)
        assert len(testbed.provider.charged) == 1
        outcome = await models.ask(a_call(TEXT, id="run/step/1", if_unknown="again"))
        assert said(outcome) == TEXT
        assert len(testbed.provider.charged) == 2
        assert said(await models.ask(a_call(TEXT, id="run/step/1"))) == TEXT
        assert len(testbed.provider.charged) == 2


@pytest.mark.slow
async def test_pieces_told_by_a_gateway_that_died_are_taken_back(testbed: ModelTestbed) -> None:
    testbed.provider.script(Fault("stall", answer=Say(TEXT), after_chunks=2), Say(TEXT))
    async with Models.open(testbed.home, launch=testbed.launch()) as models:
        text, restarts = "", 0
        async with models.stream(a_call(TEXT, id="run/step/1", stream=True, if_unknown="again")) as told:
            async for item in told:
                if isinstance(item, Piece) and not text:
                    testbed.kill_gateway()
                    text = "something"
                if isinstance(item, Restarted):
                    restarts += 1
                if isinstance(item, ModelAnswer):
                    assert item.response.text == TEXT
        assert restarts == 1


@pytest.mark.slow
@pytest.mark.parametrize("if_unknown", some(["tell", "again"], 1))
async def test_an_answer_made_in_the_background_is_fetched_after_the_gateway_died(
    testbed: ModelTestbed, if_unknown: str
) -> None:
    call = a_call(TEXT, id="run/step/1", model="later:m", if_unknown=if_unknown)
    async with Models.open(testbed.home, launch=testbed.launch(dies=GatewayCrash.ANSWERED_UNRECORDED)):
        pass
    async with Models.open(testbed.home, launch=testbed.launch()) as models:
        assert said(await models.ask(call)) == TEXT
        assert len(testbed.provider.charged) == 1
        assert (await paid(models))[2] == 0


@pytest.mark.slow
async def test_our_books_are_the_providers_after_many_calls_and_many_deaths(testbed: ModelTestbed) -> None:
    async with Models.open(testbed.home, launch=testbed.launch()) as models:
        for number in range(12):
            call = a_call(f"{TEXT} {number}", id=f"run/step/{number}", stream=bool(number % 2))
            await models.ask(call)
            if number % 4 == 3:
                testbed.kill_gateway()
            assert isinstance(await models.ask(call), ModelAnswer)
        assert len(testbed.provider.charged) == 12
        assert await paid(models) == (*charged(testbed), 0)
        (row,) = (await models.usage(by="run")).rows
        spent = (charged(testbed)[0] + 2 * charged(testbed)[1]) * Decimal("0.000001")
        assert row.paid == {"USD": spent}
