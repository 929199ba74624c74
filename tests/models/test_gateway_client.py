"""What a caller of models sees: answers, pieces, errors of their own kind, and nothing of the connection beneath."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import AsyncGenerator, Generator

import anyio
import pytest
from pydantic_ai.messages import ModelRequest, PartDeltaEvent, PartStartEvent, TextPart, TextPartDelta, UserPromptPart

from cellwright.errors import ModelUnavailable, RefusedByPolicy, UserError
from cellwright.models.calls import Cancelled, Choice, ModelAnswer, Outcome, Piece, Request, Restarted, Started, Update
from cellwright.models.client.gateway_client import Models
from cellwright.models.config.names import CallId
from cellwright.testing import Fault, Say, Tokens
from tests.models.testbed import ModelTestbed, Warm, a_call


@pytest.fixture(scope="module")
def shared(warm: Warm, tmp_path_factory: pytest.TempPathFactory) -> Generator[ModelTestbed]:
    with ModelTestbed.open(tmp_path_factory.mktemp("client") / "home", warm) as opened:
        yield opened


@pytest.fixture
async def models(shared: ModelTestbed) -> AsyncGenerator[Models]:
    async with Models.open(shared.home, launch=shared.launch()) as opened:
        yield opened


def text_of(told: list[Update | Outcome]) -> str:
    text = ""
    for item in told:
        match item:
            case Piece(event=PartStartEvent(part=TextPart(content=content))):
                text += content
            case Piece(event=PartDeltaEvent(delta=TextPartDelta(content_delta=content))):
                text += content
            case Restarted():
                text = ""
            case _:
                pass
    return text


async def test_a_call_is_answered_with_what_it_used_and_cost(models: Models, shared: ModelTestbed) -> None:
    shared.provider.script(Say("a b c", tokens=Tokens(input_tokens=100, output_tokens=50)))
    outcome = await models.ask(a_call("count", id="one/1"))
    assert isinstance(outcome, ModelAnswer)
    assert outcome.response.text == "a b c"
    assert (outcome.model, outcome.source) == ("near:one", "provider")
    assert (outcome.usage.input_tokens, outcome.usage.output_tokens) == (100, 50)
    assert str(outcome.price) == "0.0002 USD"


async def test_a_stream_tells_every_piece_and_then_the_whole(models: Models, shared: ModelTestbed) -> None:
    words = " ".join(f"wörd{number}" for number in range(300))
    shared.provider.script(Say(words))
    async with models.stream(a_call("many", id="stream/1", stream=True)) as updates:
        told = [item async for item in updates]
    assert isinstance(told[0], Started)
    assert text_of(told) == words
    assert isinstance(told[-1], ModelAnswer)
    assert told[-1].response.text == words
    assert sum(isinstance(item, Piece) for item in told) == 300


@pytest.mark.slow
async def test_many_streams_share_one_connection_and_lose_nothing(models: Models) -> None:
    texts: dict[int, str] = {}

    async def one(number: int) -> None:
        words = " ".join(f"{number}-{word}" for word in range(50))
        async with models.stream(a_call(words, id=f"many/{number}", stream=True)) as updates:
            told = [item async for item in updates]
        texts[number] = text_of(told)
        assert texts[number] == words

    async with anyio.create_task_group() as tasks:
        for number in range(25):
            tasks.start_soon(one, number)
    assert len(texts) == 25


async def test_two_who_ask_for_the_same_id_get_one_call_and_all_of_its_pieces(
    models: Models, shared: ModelTestbed
) -> None:
    before = len(shared.provider.requests)
    shared.provider.script(Fault("stall", answer=Say("one two three four"), after_chunks=2))
    call = a_call("together", id="together/1", stream=True)
    told: list[list[Update | Outcome]] = [[], []]

    async def listen(place: int) -> None:
        async with models.stream(call) as updates:
            async for item in updates:
                told[place].append(item)
                if place == 0 and sum(isinstance(seen, Piece) for seen in told[0]) == 2 and len(told[1]) == 0:
                    tasks.start_soon(listen, 1)
                if place == 1 and sum(isinstance(seen, Piece) for seen in told[1]) == 2:
                    await shared.provider.until(lambda provider: provider.silent == 1)
                    shared.provider.release()

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(listen, 0)
    assert [text_of(each) for each in told] == ["one two three four"] * 2
    assert len(shared.provider.requests) == before + 1


async def test_the_same_id_for_another_request_is_refused_in_flight_and_after(
    models: Models, shared: ModelTestbed
) -> None:
    shared.provider.script(Fault("slow-first-byte"))
    with anyio.fail_after(120):
        async with models.stream(a_call("this", id="mismatch/1", stream=True)) as updates:
            assert isinstance(await anext(updates), Started)
            with pytest.raises(UserError):
                await models.ask(a_call("that", id="mismatch/1"))
            await shared.provider.until(lambda provider: provider.silent == 1)
            shared.provider.release()
            assert [item async for item in updates]
    with pytest.raises(UserError):
        await models.ask(a_call("that", id="mismatch/1"))


async def test_leaving_a_call_does_not_cancel_it(models: Models, shared: ModelTestbed) -> None:
    shared.provider.script(Fault("stall", answer=Say("to the very end"), after_chunks=1))
    before = len(shared.provider.charged)
    call = a_call("left", id="left/1", stream=True)
    async with models.stream(call) as updates:
        async for item in updates:
            if isinstance(item, Piece):
                break
    with anyio.move_on_after(0.1):
        await models.ask(call)
    await shared.provider.until(lambda provider: provider.silent == 1)
    shared.provider.release()
    outcome = await models.ask(call)
    assert isinstance(outcome, ModelAnswer)
    assert outcome.response.text == "to the very end"
    assert len(shared.provider.charged) == before + 1


async def test_cancelling_stops_the_provider_and_counts_what_was_used(models: Models, shared: ModelTestbed) -> None:
    shared.provider.script(Fault("stall", answer=Say("one two three four"), after_chunks=2))
    before = len(shared.provider.charged)
    call = a_call("stop me", id="cancel/1", stream=True)
    async with models.stream(call) as updates:
        told: list[Update | Outcome] = []
        async for item in updates:
            told.append(item)
            if sum(isinstance(seen, Piece) for seen in told) == 2 and isinstance(item, Piece):
                assert await models.cancel(call.id)
    outcome = told[-1]
    assert isinstance(outcome, Cancelled)
    assert outcome.usage.is_estimate
    assert outcome.usage.output_tokens > 0
    await shared.provider.until(lambda provider: len(provider.charged) > before)
    assert not shared.provider.charged[-1].is_finished
    assert await models.ask(call) == outcome
    assert not await models.cancel(call.id)


async def test_a_call_cancelled_before_it_is_sent_costs_nothing(models: Models) -> None:
    assert not await models.cancel(CallId("never/asked"))


async def test_an_exhausted_chain_raises_and_names_every_attempt(models: Models, shared: ModelTestbed) -> None:
    shared.provider.script(Fault("unauthorised", message="bad key sk-houses-0123456789abcdef"))
    with pytest.raises(ModelUnavailable) as problem:
        await models.ask(a_call("no", id="exhausted/1"))
    assert "near:one" in problem.value.message
    assert "unauthorised" in problem.value.message
    assert "sk-testbeds" not in problem.value.message


async def test_a_private_call_is_refused_rather_than_sent_away(models: Models, shared: ModelTestbed) -> None:
    before = len(shared.provider.requests)
    call = a_call("secret", id="private/1")
    with pytest.raises(RefusedByPolicy):
        await models.ask(type(call)(id=call.id, request=call.request, choice=Choice(private=True)))
    assert len(shared.provider.requests) == before


async def test_a_mistake_in_the_settings_is_told_and_repaired_without_a_new_gateway(
    models: Models, shared: ModelTestbed
) -> None:
    file = shared.home / "models.toml"
    right = file.read_text()
    file.write_text(right + "\n[endpoints.near]\n")
    try:
        with pytest.raises(UserError, match=r"models\.toml"):
            await models.ask(a_call("broken", id="settings/1"))
    finally:
        file.write_text(right)
    assert isinstance(await models.ask(a_call("broken", id="settings/1")), ModelAnswer)


async def test_a_request_too_large_to_send_is_the_callers_error_and_the_connection_lives(models: Models) -> None:
    huge = Request(messages=[ModelRequest(parts=[UserPromptPart("x" * (65 << 20))])])
    call = a_call("x", id="huge/1")
    with pytest.raises(UserError):
        await models.ask(type(call)(id=call.id, request=huge))
    assert (await models.status()).calls_in_flight == 0


async def test_the_gateway_tells_what_there_is(models: Models) -> None:
    listed = {model.name: model for model in (await models.listed()).models}
    assert listed["near:one"].is_ready
    assert listed["near:one"].tiers == ("smart",)
    assert not listed["anthropic:claude-haiku-5-5"].is_ready
    states = {state.name: state for state in (await models.providers()).providers}
    assert states["near"].key_from == "environment"
    assert "ANTHROPIC_API_KEY" in states["anthropic"].needs
    assert (await models.status()).connections == 1


@pytest.mark.slow
def test_importing_the_client_loads_no_provider() -> None:
    script = (
        "import sys, cellwright.models.client.gateway_client;"
        "print(*{name.split('.')[0] for name in sys.modules} &"
        " {'openai', 'anthropic', 'groq', 'mistralai', 'google', 'starlette', 'uvicorn', 'keyring', 'sqlite3'})"
    )
    ran = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert ran.stdout.strip() == ""


async def test_errors_in_the_block_come_out_as_they_are(shared: ModelTestbed) -> None:
    with pytest.raises(KeyError):
        async with Models.open(shared.home, launch=shared.launch()):
            raise KeyError("mine")
