"""What each fault is for a real client: each provider's own SDK, through pydantic-ai, streamed and not."""

from __future__ import annotations

from typing import Any

import anyio
import pytest
from pydantic_ai import exceptions
from pydantic_ai.exceptions import ModelAPIError, ModelHTTPError

from cellwright.testing import FAULTS, WIRE_KINDS, CallTool, Fault, FaultKind, ProviderServer, Say, Tokens, WireKind
from tests.testing.clients import SEARCH, Models, ask, parts_of

streamed_or_not = pytest.mark.parametrize("stream", [False, True], ids=["whole", "stream"])
every_format = pytest.mark.parametrize("kind", WIRE_KINDS)

REFUSALS: dict[FaultKind, tuple[type[Exception], int, str]] = {
    "bad-request": (exceptions.ModelRequestRejectedError, 400, "BadRequestError"),
    "unauthorised": (exceptions.ModelAuthenticationError, 401, "AuthenticationError"),
    "not-found": (exceptions.ModelNotFoundError, 404, "NotFoundError"),
    "context-too-long": (exceptions.ModelContextWindowExceededError, 400, "BadRequestError"),
    "rate-limited": (exceptions.ModelRateLimitError, 429, "RateLimitError"),
    "server-error": (exceptions.ModelServerError, 500, "InternalServerError"),
    "overloaded": (exceptions.ModelOverloadedError, 503, "InternalServerError"),
}

BREAKS: dict[FaultKind, type[ModelAPIError]] = {
    "drop": exceptions.ModelConnectionError,
    "bad-json": exceptions.ModelAPIError,
}
"""The same streamed and not, in every format."""

ERRORS_IN_A_STREAM: dict[WireKind, type[ModelAPIError]] = {
    "openai-chat": exceptions.ModelServerError,
    "openai-responses": exceptions.ModelServerError,
    "anthropic": exceptions.ModelOverloadedError,
    "google": exceptions.ModelServerError,
    "groq": exceptions.ModelAPIError,
    "mistral": exceptions.ModelAPIError,
    "ollama": exceptions.ModelServerError,
}

ERRORS_WITH_STATUS_200: dict[WireKind, type[Exception] | None] = {
    "openai-chat": exceptions.UnexpectedModelBehavior,
    "openai-responses": exceptions.ModelServerError,
    "anthropic": TypeError,
    "google": None,
    "groq": TypeError,
    "mistral": exceptions.ModelAPIError,
    "ollama": exceptions.UnexpectedModelBehavior,
}
"""What pydantic-ai 2.66 makes of an error told as if it were an answer; None is an answer without a part."""

SILENCE: set[FaultKind] = {"slow-first-byte", "stall"}
HARMLESS: set[FaultKind] = {"wrong-usage", "huge", "split-tool-call", "cut-unicode"}


def test_every_fault_is_shown_here() -> None:
    shown = {*REFUSALS, *BREAKS, *SILENCE, *HARMLESS, "truncated-stream", "error-event"}
    assert shown == set(FAULTS)


def sdk_error(kind: WireKind, usual: str, status: int) -> str:
    """What the provider's own SDK raises beneath."""
    match kind:
        case "google":
            return "ServerError" if status >= 500 else "ClientError"
        case "mistral":
            return "SDKError"
        case "anthropic" if status == 529:
            return "OverloadedError"
        case _:
            return usual


@pytest.mark.sampled(3)
@every_format
@streamed_or_not
@pytest.mark.parametrize("fault", REFUSALS)
async def test_a_refusal_is_the_providers_own_error_and_costs_nothing(
    server: ProviderServer, models: Models, kind: WireKind, stream: bool, fault: FaultKind
) -> None:
    error_type, status, usual = REFUSALS[fault]
    # Google calls a wrong key a bad request, Anthropic has a status of its own.
    status = {("google", "unauthorised"): 400, ("anthropic", "overloaded"): 529}.get((kind, fault), status)
    server.script(Fault(fault))
    with pytest.raises(ModelHTTPError) as raised:
        await ask(models[kind], stream=stream)
    assert type(raised.value).__name__ == error_type.__name__
    assert raised.value.status_code == status
    assert type(raised.value.__cause__).__name__ == sdk_error(kind, usual, status)
    assert server.charged == ()
    assert len(server.requests) == 1


@every_format
@streamed_or_not
async def test_when_to_come_back_is_told(server: ProviderServer, models: Models, kind: WireKind, stream: bool) -> None:
    server.script(Fault("rate-limited", retry_after_seconds=7))
    with pytest.raises(ModelHTTPError) as raised:
        await ask(models[kind], stream=stream)
    assert isinstance(raised.value, exceptions.ModelRateLimitError)
    assert raised.value.headers is not None
    assert raised.value.headers["retry-after"] == "7"


@every_format
async def test_any_status_can_be_told(server: ProviderServer, models: Models, kind: WireKind) -> None:
    server.script(Fault("overloaded", status=529, message="Overloaded, come back."))
    with pytest.raises(ModelHTTPError, match=r"Overloaded, come back\.") as raised:
        await ask(models[kind], stream=False)
    assert raised.value.status_code == 529
    assert isinstance(raised.value, exceptions.ModelOverloadedError)


@every_format
@streamed_or_not
@pytest.mark.parametrize("fault", BREAKS)
async def test_a_broken_answer_is_an_error_and_is_paid_as_far_as_it_came(
    server: ProviderServer, models: Models, kind: WireKind, stream: bool, fault: FaultKind
) -> None:
    server.script(Fault(fault, after_chunks=2))
    with pytest.raises(ModelAPIError) as raised:
        await ask(models[kind], stream=stream)
    assert type(raised.value).__name__ == BREAKS[fault].__name__
    await server.until(lambda server: len(server.charged) == 1)
    (charge,) = server.charged
    assert charge.tokens.output_tokens == (2 if stream else 5)


@every_format
async def test_a_body_shorter_than_promised_is_a_lost_connection(
    server: ProviderServer, models: Models, kind: WireKind
) -> None:
    server.script(Fault("truncated-stream"))
    with pytest.raises(exceptions.ModelConnectionError):
        await ask(models[kind], stream=False)
    assert [charge.is_finished for charge in server.charged] == [False]


@every_format
async def test_a_stream_that_ends_too_early_looks_like_an_answer(
    server: ProviderServer, models: Models, kind: WireKind
) -> None:
    server.script(Fault("truncated-stream", after_chunks=2))
    response = await ask(models[kind], stream=True)
    assert parts_of(response) == ["one two "]
    assert response.usage.output_tokens < 2
    # Nothing but this tells it from a whole one, and OpenAI's chat not even this.
    assert response.finish_reason == ("stop" if kind in {"openai-chat", "ollama"} else None)
    assert [(charge.tokens.output_tokens, charge.is_finished) for charge in server.charged] == [(2, False)]


@every_format
async def test_an_error_in_the_middle_of_a_stream_is_raised(
    server: ProviderServer, models: Models, kind: WireKind
) -> None:
    server.script(Fault("error-event", message="It went wrong: overloaded."))
    with pytest.raises(ModelAPIError) as raised:
        await ask(models[kind], stream=True)
    expected = ERRORS_IN_A_STREAM[kind]
    assert isinstance(raised.value, expected)


@every_format
async def test_an_error_told_as_if_it_were_an_answer(server: ProviderServer, models: Models, kind: WireKind) -> None:
    server.script(Fault("error-event"))
    if (expected := ERRORS_WITH_STATUS_200[kind]) is None:
        assert parts_of(await ask(models[kind], stream=False)) == []
    else:
        with pytest.raises(expected):
            await ask(models[kind], stream=False)


@pytest.mark.slow
@pytest.mark.sampled(6)
@every_format
@streamed_or_not
@pytest.mark.parametrize("fault", sorted(SILENCE))
async def test_silence_times_out_and_the_server_sees_the_client_leave(
    server: ProviderServer, models: Models, kind: WireKind, stream: bool, fault: FaultKind
) -> None:
    server.script(Fault(fault, after_chunks=2))
    with pytest.raises(exceptions.ModelTimeoutError):
        await ask(models[kind], stream=stream, timeout=0.2)
    # On a busy machine the server may read the request only after the client has left.
    await server.until(lambda server: len(server.charged) == 1)
    (charge,) = server.charged
    made = 0 if fault == "slow-first-byte" else 2 if stream else 5
    assert (charge.tokens.output_tokens, charge.is_finished) == (made, False)


@pytest.mark.sampled(2)
@every_format
@streamed_or_not
@pytest.mark.parametrize("fault", sorted(SILENCE))
async def test_silence_ends_when_it_is_released(
    server: ProviderServer, models: Models, kind: WireKind, stream: bool, fault: FaultKind
) -> None:
    server.script(Fault(fault))
    answers: list[Any] = []

    async def wait_for_the_answer() -> None:
        answers.append(parts_of(await ask(models[kind], stream=stream)))

    async with anyio.create_task_group() as asking:
        asking.start_soon(wait_for_the_answer)
        await server.until(lambda server: server.silent == 1)
        server.release()
    assert answers == [["one two three four five"]]
    assert [charge.is_finished for charge in server.charged] == [True]


@every_format
@streamed_or_not
@pytest.mark.parametrize("reported", [Tokens(input_tokens=1, output_tokens=999), None], ids=["other", "none"])
async def test_wrong_usage_is_told_but_the_right_one_charged(
    server: ProviderServer, models: Models, kind: WireKind, stream: bool, reported: Tokens | None
) -> None:
    server.script(Fault("wrong-usage", reported=reported))
    if kind == "mistral" and not stream and reported is None:
        # Its SDK takes no answer without usage.
        with pytest.raises(ModelAPIError):
            await ask(models[kind], stream=False)
        return
    usage = (await ask(models[kind], stream=stream)).usage
    assert (usage.input_tokens, usage.output_tokens) == ((1, 999) if reported else (0, 0))
    assert [charge.tokens for charge in server.charged] == [Tokens()]


@pytest.mark.slow
@pytest.mark.sampled(4)
@every_format
@streamed_or_not
async def test_a_huge_answer_comes_whole(server: ProviderServer, models: Models, kind: WireKind, stream: bool) -> None:
    server.script(Fault("huge", characters=300_000))
    (text,) = parts_of(await ask(models[kind], stream=stream))
    assert len(text) >= 300_000
    assert set(text.split()) == {"lorem", "ipsum"}


@pytest.mark.sampled(2)
@every_format
@streamed_or_not
async def test_a_tool_call_in_single_characters_comes_whole(
    server: ProviderServer, models: Models, kind: WireKind, stream: bool
) -> None:
    arguments = {"query": 'a "quote", a \\ and Grüße 🌍'}
    server.script(Fault("split-tool-call", answer=CallTool("search", arguments)), Fault("split-tool-call"))
    told = [parts_of(await ask(models[kind], stream=stream, tools=[SEARCH])) for _ in range(2)]
    assert told[0] == [("search", arguments)]
    assert [name for name, _ in told[1]] == ["search"]


@every_format
@streamed_or_not
async def test_characters_cut_in_two_come_whole(
    server: ProviderServer, models: Models, kind: WireKind, stream: bool
) -> None:
    server.script(Fault("cut-unicode"), Fault("cut-unicode", answer=Say("ünï🌍cödé", chunks=9)))
    told = [parts_of(await ask(models[kind], stream=stream)) for _ in range(2)]
    assert told == [["Grüße 🌍 Ελλάδα 日本語 👩‍🚀"], ["ünï🌍cödé"]]
