"""What a door and the gateway say to each other arrives as it was said; what is not of their language is refused."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic_ai.messages import (
    BinaryContent,
    CachePoint,
    ModelMessage,
    ModelRequest,
    ModelResponse,
    ModelResponseStreamEvent,
    PartDeltaEvent,
    PartStartEvent,
    SystemPromptPart,
    TextPart,
    TextPartDelta,
    ThinkingPart,
    ThinkingPartDelta,
    ToolCallPart,
    ToolCallPartDelta,
    ToolReturnPart,
    UserPromptPart,
)
from pydantic_ai.tools import ToolDefinition
from pydantic_ai.usage import RequestUsage

from cellwright.errors import CellwrightError, Defect, ModelUnavailable, RefusedByPolicy, Unavailable, UserError
from cellwright.framing import MAX_GREETING, BadFrame, FrameUnpacker, pack
from cellwright.models.calls import (
    AnswerUnknown,
    BudgetReached,
    Cancelled,
    Choice,
    FailedAttempt,
    ModelAnswer,
    ModelCall,
    Outcome,
    OutputSchema,
    Piece,
    Request,
    Restarted,
    Started,
    TokenUsage,
    Update,
)
from cellwright.models.client.protocol import (
    Acknowledgement,
    CallEnd,
    CallUpdates,
    Cancel,
    Detach,
    Embed,
    FromGateway,
    Hello,
    Keys,
    Query,
    QueryReply,
    RequestFailure,
    Stop,
    SubmitCall,
    ToGateway,
    Vectors,
    Welcome,
    pack_end,
    pack_reply,
    pack_request,
    pack_updates,
    read_reply,
    read_request,
)
from cellwright.models.config.names import CallId, ModelName
from cellwright.models.reports import ProvidersReport, ProviderState, ReportRequest, UsageReport, UsageRow
from cellwright.policy.budgets import Limit
from cellwright.policy.money import Money, UnknownPrice
from cellwright.remedies import Hint, remedy

MESSAGES: list[ModelMessage] = [
    ModelRequest(
        parts=[
            SystemPromptPart("be brief"),
            UserPromptPart(["look", BinaryContent(b"\x00\xff\x80", media_type="image/png"), CachePoint()]),
        ],
        instructions="and kind",
    ),
    ModelResponse(
        parts=[ThinkingPart("hm", signature="s"), TextPart("so"), ToolCallPart("look_up", {"a": [1, None]}, "call-1")],
        usage=RequestUsage(input_tokens=3, output_tokens=4),
        provider_details={"finish_reason": "tool_calls"},
    ),
    ModelRequest(parts=[ToolReturnPart("look_up", {"rows": [1.5, "ü", "😀"]}, "call-1")]),
]
CALL = ModelCall(
    id=CallId("run/step/ü"),
    request=Request(
        messages=MESSAGES,
        tools=[ToolDefinition(name="look_up", description="d", parameters_json_schema={"type": "object"})],
        output=OutputSchema(name="o", schema={"type": "object", "properties": {}}),
        settings={"max_tokens": 10, "thinking": True},
    ),
    choice=Choice(models=(ModelName("near", "one"),), private=True),
    limits=(Limit(measure="money", per="run", at_most=Decimal("0.10"), currency="USD"),),
    stream=True,
    if_unknown="again",
)
USED = TokenUsage(input_tokens=1, output_tokens=2)
FAILED = FailedAttempt(model="near:one", failing="overloaded", detail="529", usage=USED)
OUTCOMES: list[Outcome] = [
    ModelAnswer(
        response=ModelResponse(parts=[TextPart("yes")], usage=RequestUsage(input_tokens=1, output_tokens=2)),
        model="near:one",
        usage=USED,
        price=Money(amount=Decimal("0.000000000000000001")),
        reason="first",
        attempts=(FAILED,),
    ),
    Cancelled(model="near:one", usage=USED, price=UnknownPrice(why="no list has it")),
    Cancelled(model="near:one", usage=USED, price=Money(amount=Decimal(0))),
    AnswerUnknown(model="near:one", sent_at="2026-11-15T12:00:00+00:00"),
    BudgetReached(
        limit=Limit(measure="tokens", per="person", at_most=Decimal(10), window="day"),
        party="ada",
        question="Go on?",
        estimate=replace(USED, is_estimate=True),
        price=UnknownPrice(),
    ),
]
texts = st.text(st.characters(codec="utf-8"))
pieces: st.SearchStrategy[ModelResponseStreamEvent] = st.one_of(
    st.builds(
        PartDeltaEvent,
        index=st.integers(0, 2),
        delta=st.one_of(
            st.builds(TextPartDelta, content_delta=texts),
            st.builds(ThinkingPartDelta, content_delta=texts),
            st.builds(ToolCallPartDelta, args_delta=texts, tool_call_id=st.just("call-1")),
            st.just(TextPartDelta(content_delta="x", provider_name="p", provider_details={"a": 1})),
        ),
    ),
    st.builds(
        PartStartEvent,
        index=st.integers(0, 2),
        part=st.one_of(st.builds(TextPart, content=texts), st.just(ToolCallPart("t", "{}", "call-1"))),
    ),
)
updates: st.SearchStrategy[Update] = st.one_of(
    st.builds(Piece, event=pieces),
    st.builds(Started, model=texts, reason=texts),
    st.just(Restarted(failed=FAILED)),
)


def payload(frame: bytes) -> bytes:
    (found,) = FrameUnpacker().feed(frame)
    return found


@pytest.mark.parametrize(
    "message",
    [
        Hello(),
        Detach(number=3),
        Cancel(number=4, call=CallId("a/b")),
        Keys(number=5, keys={"near": "sk-1"}, forget=("far",)),
        Query(number=6, question=ReportRequest(kind="usage", by="day", since="2026-11-15")),
        Query(number=7, question=ReportRequest(kind="providers")),
        Embed(number=8, texts=("a", "ü"), choice=Choice(tier="embed")),
        Stop(number=9, at_once=True),
    ],
    ids=lambda message: type(message).__name__,
)
def test_what_a_client_says_arrives_as_it_was_said(message: ToGateway) -> None:
    assert read_request(payload(pack_request(message))) == message


def test_a_call_arrives_whole_with_pydantic_ais_messages_inside_it() -> None:
    message = read_request(payload(pack_request(SubmitCall(number=1, call=CALL))))
    assert isinstance(message, SubmitCall)
    arrived = message.call
    assert arrived.request.hash == CALL.request.hash
    assert list(arrived.request.messages)[1:] == MESSAGES[1:]
    assert replace(arrived, request=CALL.request) == CALL


@pytest.mark.parametrize("outcome", OUTCOMES, ids=lambda outcome: type(outcome).__name__)
def test_an_outcome_arrives_as_it_was(outcome: Outcome) -> None:
    assert read_reply(payload(pack_end(7, outcome))) == CallEnd(number=7, outcome=outcome)


@given(st.lists(updates, max_size=12))
def test_updates_arrive_in_order_whatever_they_are(told: list[Update]) -> None:
    assert read_reply(payload(pack_updates(1, told))) == CallUpdates(number=1, updates=tuple(told))


@pytest.mark.parametrize(
    "message",
    [
        Welcome(pid=1),
        Acknowledgement(number=1, happened=False),
        Vectors(number=2, vectors=[[0.5, -1.0], []]),
        QueryReply(
            number=3,
            report=UsageReport(
                rows=(UsageRow(what="m", calls=1, input_tokens=1, output_tokens=2, paid={"USD": Decimal("0.1")}),)
            ),
        ),
        QueryReply(
            number=4,
            report=ProvidersReport(
                providers=(ProviderState(name="n", kind="ollama", is_ready=True, key_from="", needs="", is_local=True),)
            ),
        ),
    ],
    ids=lambda message: type(message).__name__,
)
def test_what_the_gateway_says_arrives_as_it_was_said(
    message: Welcome | Acknowledgement | Vectors | QueryReply,
) -> None:
    assert read_reply(payload(pack_reply(message))) == message


@pytest.mark.parametrize("kind", [UserError, RefusedByPolicy, Unavailable, ModelUnavailable, Defect])
@pytest.mark.parametrize("hint", ["do this", remedy("see_doctor", says="says what is missing")])
def test_an_error_arrives_as_its_own_kind(kind: type[CellwrightError], hint: Hint) -> None:
    message = read_reply(payload(pack_reply(RequestFailure(number=1, error=kind("what", hint=hint)))))
    assert isinstance(message, RequestFailure)
    assert type(message.error) is kind
    assert (message.error.message, message.error.advice) == ("what", hint)


@given(st.binary(max_size=200) | texts.map(str.encode))
def test_what_is_not_of_the_language_is_refused_and_nothing_else_happens(content: bytes) -> None:
    for read, language in ((read_request, ToGateway), (read_reply, FromGateway)):
        try:
            message = read(content)
        except BadFrame:
            continue
        assert isinstance(message, language)


def test_a_refusal_repeats_nothing_of_what_was_said() -> None:
    secret = "sk-canary-0123456789"
    for content in (f'{{"kind":"keys","number":"{secret}","keys":{{"{secret}":7}}}}', f'{{"kind":"{secret}"}}', secret):
        with pytest.raises(BadFrame) as problem:
            read_request(content.encode())
        assert secret not in repr(problem.value)
        assert problem.value.__cause__ is None


@given(st.lists(st.binary(max_size=40), max_size=6), st.lists(st.integers(1, 9)))
def test_frames_come_out_whole_however_the_bytes_are_cut(contents: list[bytes], cuts: list[int]) -> None:
    wire, unpacker, found = b"".join(map(pack, contents)), FrameUnpacker(), list[bytes]()
    for cut in cuts:
        found += unpacker.feed(wire[:cut])
        wire = wire[cut:]
    assert [*found, *unpacker.feed(wire)] == contents


def test_a_frame_that_is_too_long_is_refused_by_its_length_alone() -> None:
    with pytest.raises(BadFrame):
        FrameUnpacker(MAX_GREETING).feed(b"\x00\x00\x10\x01")
    with pytest.raises(BadFrame):
        FrameUnpacker().feed(b"\xff\xff\xff\xff")


def test_a_request_that_cannot_be_written_down_is_the_callers_error() -> None:
    request = Request(messages=[ModelRequest(parts=[UserPromptPart("half of a smile: \ud83d")])])
    with pytest.raises(UserError):
        pack_request(SubmitCall(number=1, call=replace(CALL, request=request)))


def test_a_message_with_a_key_does_not_show_it() -> None:
    assert "sk-canary" not in repr(Keys(number=1, keys={"near": "sk-canary"}))
