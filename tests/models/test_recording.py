"""Recordings: a conversation becomes a file without secrets, and the file answers the same requests again."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator, AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path

import pytest
from inline_snapshot import snapshot
from pydantic_ai.messages import ModelRequest, ModelResponse, PartStartEvent, TextPart, ToolCallPart, UserPromptPart
from pydantic_ai.tools import ToolDefinition

from cellwright.errors import ModelUnavailable, UserError
from cellwright.models.calls import (
    AnswerUnknown,
    BudgetReached,
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
from cellwright.models.client.gateway_client import Models
from cellwright.models.config.names import CallId
from cellwright.policy.money import UnknownPrice
from tests.models.accounts import KEY, NOON, answer, at_most, call, cancelled, dollars, failed, mask
from tests.models.recording import ModelBackend, Recording, Replay, read_recording


class Answers:
    """Ends calls as it is told to, one after the other."""

    def __init__(self, *endings: Outcome | ModelUnavailable) -> None:
        self._endings = list(endings)

    async def ask(self, call: ModelCall) -> Outcome:
        ending = self._endings.pop(0)
        if isinstance(ending, ModelUnavailable):
            raise ending
        return ending

    @asynccontextmanager
    async def stream(self, call: ModelCall) -> AsyncGenerator[AsyncIterator[Update | Outcome]]:
        async def told() -> AsyncGenerator[Update | Outcome]:
            yield Started(model="openai:gpt-5", reason="first")
            yield Piece(event=PartStartEvent(index=0, part=TextPart("4")))
            yield Restarted(failed=failed())
            yield await self.ask(call)

        yield told()


def is_asked_like_the_gateway(models: Models) -> ModelBackend:
    return models


async def record(path: Path, calls: Sequence[ModelCall], *endings: Outcome | ModelUnavailable) -> None:
    with Recording(Answers(*endings), path, mask=mask) as recording:
        for asked in calls:
            await recording.ask(asked)


async def test_a_recorded_conversation_answers_the_same_requests(tmp_path: Path) -> None:
    first, second = answer("one", attempts=(failed(),)), answer("two", price=UnknownPrice(why="no list"))
    await record(tmp_path / "talk.jsonl", [call("a"), call("b", text="And now?")], first, second)
    replay = Replay(tmp_path / "talk.jsonl", mask=mask)
    # In another order, under other ids, as a test may well ask.
    assert await replay.ask(call("x", text="And now?")) == replace(second, source="replay")
    assert await replay.ask(call("y")) == replace(first, source="replay")
    assert replay.unasked == 0


async def test_equal_requests_are_answered_in_the_order_they_were_recorded(tmp_path: Path) -> None:
    await record(tmp_path / "talk.jsonl", [call("a"), call("b")], answer("one"), answer("two"))
    replay = Replay(tmp_path / "talk.jsonl", mask=mask)
    assert replay.unasked == 2
    outcomes = [await replay.ask(call()) for _ in range(2)]
    texts = [outcome.response.text for outcome in outcomes if isinstance(outcome, ModelAnswer)]
    assert texts == ["one", "two"]
    with pytest.raises(UserError, match="holds this request 2 times, and it was asked once more"):
        await replay.ask(call())


@pytest.mark.parametrize(
    "outcome",
    [
        cancelled(),
        AnswerUnknown(model="openai:gpt-5", sent_at="2026-11-15T12:00:00+00:00"),
        BudgetReached(
            limit=at_most("1"),
            party="ann",
            question="Go on?",
            estimate=TokenUsage(is_estimate=True),
            price=dollars("2"),
        ),
    ],
)
async def test_every_ending_can_be_replayed(tmp_path: Path, outcome: Outcome) -> None:
    await record(tmp_path / "talk.jsonl", [call()], outcome)
    assert await Replay(tmp_path / "talk.jsonl", mask=mask).ask(call()) == outcome


async def test_a_chain_that_was_exhausted_is_exhausted_again(tmp_path: Path) -> None:
    with pytest.raises(ModelUnavailable):
        await record(tmp_path / "talk.jsonl", [call()], ModelUnavailable("Nobody answered.", hint="Try later."))
    with pytest.raises(ModelUnavailable, match=r"Nobody answered\.") as again:
        await Replay(tmp_path / "talk.jsonl", mask=mask).ask(call())
    assert again.value.hint == "Try later."


async def test_a_stream_is_recorded_by_its_outcome_and_replayed_part_by_part(tmp_path: Path) -> None:
    response = ModelResponse(parts=[TextPart("42"), ToolCallPart("run", {"a": 1}, tool_call_id="t")], timestamp=NOON)
    told = replace(answer(), response=response)
    with Recording(Answers(told), tmp_path / "talk.jsonl", mask=mask) as recording:
        async with recording.stream(call()) as updates:
            passed_on = [update async for update in updates]
    assert [type(update).__name__ for update in passed_on] == ["Started", "Piece", "Restarted", "ModelAnswer"]
    async with Replay(tmp_path / "talk.jsonl", mask=mask).stream(call()) as updates:
        *pieces, outcome = [update async for update in updates]
    assert outcome == replace(told, source="replay")
    assert pieces[0] == Started(model="openai:gpt-5", reason="first of the chain")
    events = [piece.event for piece in pieces[1:] if isinstance(piece, Piece)]
    assert [event.part for event in events if isinstance(event, PartStartEvent)] == response.parts


async def test_a_request_that_was_not_recorded_is_named_with_the_nearest_one(tmp_path: Path) -> None:
    calls = [call("a", text="Write a poem about the sea."), call("b", text="Count the rows.")]
    await record(tmp_path / "talk.jsonl", calls, answer(), answer())
    with pytest.raises(UserError, match=r"talk\.jsonl does not hold this request") as missing:
        await Replay(tmp_path / "talk.jsonl", mask=mask).ask(call(text="Count the columns."))
    assert missing.value.hint == snapshot(
        """\
The nearest it holds differs:
--- recorded
+++ asked
@@ -8,3 +8,3 @@
     {
-     "content": "Count the rows.",
+     "content": "Count the columns.",
      "part_kind": "user-prompt"\
"""
    )


async def test_a_recording_holds_no_secret_no_header_and_no_time(tmp_path: Path) -> None:
    request = Request(
        messages=[ModelRequest(parts=[UserPromptPart(f"My key is {KEY}.")])],
        tools=[ToolDefinition(name="run", description=f"uses {KEY}")],
        output=OutputSchema(name="plan", schema={"title": KEY}),
        settings={"extra_headers": {"Authorization": "Bearer of news"}, "max_tokens": 5},
    )
    asked = replace(call(), request=request)
    path = tmp_path / "talk.jsonl"
    await record(path, [asked], answer(f"It is {KEY}.", attempts=(failed(detail=f"401 {KEY}"),)))
    text = path.read_text()
    assert KEY not in text
    assert "Bearer of news" not in text
    assert path.stat().st_mode & 0o777 == 0o600
    (line,) = [json.loads(line) for line in text.splitlines()]
    assert line["request"]["settings"] == {"extra_headers": "[left out]", "max_tokens": 5}
    assert "timestamp" not in json.dumps(line["request"])
    # The request as it was asked, its secret in it, finds the recorded answer.
    outcome = await Replay(path, mask=mask).ask(replace(asked, id=CallId("again")))
    assert "It is [masked OPENAI_API_KEY]." in str(outcome)
    with pytest.raises(UserError) as missing:
        await Replay(path, mask=mask).ask(replace(asked, request=replace(request, settings={"max_tokens": 6})))
    assert KEY not in missing.value.hint


async def test_a_recording_is_begun_anew(tmp_path: Path) -> None:
    for text in ("old", "new"):
        await record(tmp_path / "talk.jsonl", [call(text=text)], answer(text))
    (kept,) = read_recording(tmp_path / "talk.jsonl")
    assert "new" in json.dumps(kept.request)


async def test_half_a_character_can_be_recorded(tmp_path: Path) -> None:
    await record(tmp_path / "talk.jsonl", [call(text="ask")], answer("half \ud83d"))
    assert "half" in str(await Replay(tmp_path / "talk.jsonl", mask=mask).ask(call(text="ask")))


@pytest.mark.parametrize(
    "line", ["not json", "{}", "[]", '{"format": "other"}', '{"format": "cellwright-recording-1"}']
)
def test_a_line_that_cannot_be_read_is_named(tmp_path: Path, line: str) -> None:
    (tmp_path / "talk.jsonl").write_text(line + "\n")
    with pytest.raises(UserError, match=r"talk\.jsonl:1 is not a recorded call"):
        Replay(tmp_path / "talk.jsonl", mask=mask)


async def test_an_empty_or_missing_recording_says_so(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="cannot be read"):
        Replay(tmp_path / "none.jsonl", mask=mask)
    (tmp_path / "empty.jsonl").touch()
    with pytest.raises(UserError) as missing:
        await Replay(tmp_path / "empty.jsonl", mask=mask).ask(call())
    assert "no call at all" in missing.value.hint
