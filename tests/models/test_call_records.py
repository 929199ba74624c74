"""The cache: only an equal request, only a whole answer of the first model, and never paid or counted again."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal
from pathlib import Path

import pytest
from pydantic_ai.messages import FinishReason, ModelResponse, TextPart

from cellwright.models.calls import ModelAnswer, TokenUsage
from cellwright.models.config.names import CallId
from cellwright.models.money.call_records import is_worth_keeping
from tests.models.accounts import ANN, NOON, answer, at_most, call, dollars, failed, opened, send

FIRST = "openai:gpt-5"


def test_an_equal_request_gets_the_same_answer_for_nothing(tmp_path: Path) -> None:
    told = answer(attempts=(failed(usage=None),))
    with opened(tmp_path) as ledger:
        send(ledger, call())
        ledger.answered(CallId("one"), told, cache_for=FIRST)
    with opened(tmp_path) as ledger:
        again = ledger.cached(call().request.hash, FIRST)
        assert again == replace(
            told, usage=TokenUsage(), price=dollars("0"), attempts=(), source="cache", milliseconds=0
        )
        assert again is not None
        ledger.begin(call("two"))
        ledger.answered(CallId("two"), again)
        assert ledger.begin(call("two")) == replace(again, source="record")
        (row,) = ledger.usage()
        assert (row.calls, row.input_tokens, row.paid) == (2, 100, {"USD": Decimal("0.25")})
        assert list(ledger.policy_ledger(ANN, [at_most("1")]).totals.values()) == [Decimal("0.25")]


def test_another_request_or_another_first_model_is_not_answered(tmp_path: Path) -> None:
    with opened(tmp_path) as ledger:
        send(ledger, call())
        ledger.answered(CallId("one"), answer(), cache_for=FIRST)
        assert ledger.cached(call(text="Another?").request.hash, FIRST) is None
        assert ledger.cached(call().request.hash, "openai:gpt-5-mini") is None


def test_nothing_is_kept_that_was_not_to_be_kept(tmp_path: Path) -> None:
    with opened(tmp_path) as ledger:
        send(ledger, call())
        ledger.answered(CallId("one"), answer())
        send(ledger, call("two"))
        ledger.answered(CallId("two"), answer(model="anthropic:claude-sonnet-4-5"), cache_for=FIRST)
        assert ledger.cached(call().request.hash, FIRST) is None


def test_the_newest_answer_is_the_one_that_is_kept(tmp_path: Path) -> None:
    with opened(tmp_path) as ledger:
        for name, text in (("one", "old"), ("two", "new")):
            send(ledger, call(name))
            ledger.answered(CallId(name), answer(text), cache_for=FIRST)
        kept = ledger.cached(call().request.hash, FIRST)
        assert kept is not None
        assert kept.response.text == "new"


def _ended(reason: FinishReason | None) -> ModelAnswer:
    response = ModelResponse(parts=[TextPart("x")], timestamp=NOON)
    response.finish_reason = reason
    return replace(answer(), response=response)


@pytest.mark.parametrize(
    ("answered", "is_kept"),
    [
        (_ended("stop"), True),
        (_ended("tool_call"), True),
        (_ended(None), True),
        (_ended("length"), False),
        (_ended("content_filter"), False),
        (_ended("error"), False),
        (replace(answer(), model="groq:llama"), False),
        (replace(answer(), source="cache"), False),
        (replace(answer(), response=ModelResponse(parts=[], finish_reason="stop")), False),
    ],
)
def test_only_a_whole_answer_of_the_first_model_is_worth_keeping(answered: ModelAnswer, is_kept: bool) -> None:
    assert is_worth_keeping(answered, FIRST) is is_kept
