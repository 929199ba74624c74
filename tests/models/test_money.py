"""The record of calls: nothing is sent twice unknowingly, and every use counts once."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from pathlib import Path

import pytest
from inline_snapshot import snapshot
from pydantic_ai.messages import ModelResponse, TextPart, ToolCallPart

from cellwright.errors import Defect, UserError
from cellwright.models.calls import Cancelled, ModelAnswer, Payer, TokenUsage
from cellwright.models.config.catalogue import ProbeResult
from cellwright.models.config.names import CallId, ModelName
from cellwright.models.money.call_records import SentCall
from cellwright.models.reports import UsageRow
from cellwright.policy.money import UnknownPrice
from tests.models.accounts import (
    ANN,
    KEY,
    NOON,
    USED,
    answer,
    at_most,
    call,
    cancelled,
    dollars,
    failed,
    noon,
    opened,
    send,
    send_and_answer,
)

# ── one call ──


def test_an_answered_call_is_answered_from_the_record_for_ever(tmp_path: Path) -> None:
    told = answer(attempts=(failed(),))
    with opened(tmp_path) as ledger:
        asked = call()
        assert ledger.begin(asked) is None
        ledger.sent(asked.id, "openai:gpt-5")
        ledger.answered(asked.id, told)
        assert ledger.begin(asked) == replace(told, source="record")
    with opened(tmp_path) as ledger:
        assert ledger.adopt() == ()
        assert ledger.begin(asked) == replace(told, source="record")


def test_an_answer_comes_back_whole(tmp_path: Path) -> None:
    response = ModelResponse(
        parts=[TextPart("ÿ 漢字 🙂"), ToolCallPart("run", {"cells": [1, 2]}, tool_call_id="t1")],
        model_name="gpt-5-2026",
        provider_response_id="resp_1",
    )
    with opened(tmp_path) as ledger:
        send_and_answer(ledger, call(), replace(answer(), response=response))
        begun = ledger.begin(call())
    assert begun == replace(answer(), response=response, source="record")


def test_a_paid_answer_with_half_a_character_is_kept(tmp_path: Path) -> None:
    cut = ModelResponse(parts=[TextPart("half \ud83d"), ToolCallPart("say", {"\udc00": ["\ud83d"]})])
    with opened(tmp_path) as ledger:
        send_and_answer(ledger, call(), replace(answer(), response=cut, attempts=(failed(detail="\ud83d"),)))
        begun = ledger.begin(call())
    assert isinstance(begun, ModelAnswer)
    assert [part.content for part in begun.response.parts if isinstance(part, TextPart)] == ["half ?"]


def test_a_call_in_flight_is_not_begun_twice(tmp_path: Path) -> None:
    with opened(tmp_path) as ledger:
        ledger.begin(call())
        with pytest.raises(Defect, match="in flight"):
            ledger.begin(call())
        ledger.sent(CallId("one"), "openai:gpt-5")
        with pytest.raises(Defect, match="in flight"):
            ledger.begin(call())


def test_an_id_belongs_to_one_request(tmp_path: Path) -> None:
    with opened(tmp_path) as ledger:
        ledger.begin(call())
        with pytest.raises(UserError, match="another request"):
            ledger.begin(call(text="Another?"))
        ledger.sent(CallId("one"), "openai:gpt-5")
        ledger.answered(CallId("one"), answer())
        with pytest.raises(UserError, match="another request"):
            ledger.begin(call(text="Another?"))


def test_a_call_let_go_before_it_was_sent_leaves_no_trace(tmp_path: Path) -> None:
    with opened(tmp_path) as ledger:
        ledger.begin(call())
        ledger.let_go(CallId("one"))
        assert ledger.begin(call(text="Another?")) is None
        assert ledger.usage() == ()


def test_a_call_that_failed_everywhere_may_be_sent_again_and_what_it_used_stays(tmp_path: Path) -> None:
    with opened(tmp_path) as ledger:
        send(ledger, call())
        ledger.failed(CallId("one"), [failed(), failed(usage=None)])
        assert ledger.begin(call()) is None
        ledger.sent(CallId("one"), "openai:gpt-5")
        ledger.answered(CallId("one"), answer())
        assert {row.what: row.paid for row in ledger.usage()} == {
            "anthropic:claude-sonnet-4-5": {"USD": Decimal("0.01")},
            "openai:gpt-5": {"USD": Decimal("0.25")},
        }


def test_a_call_that_never_could_be_sent_and_failed_leaves_no_trace(tmp_path: Path) -> None:
    with opened(tmp_path) as ledger:
        ledger.begin(call())
        ledger.failed(CallId("one"), [failed(usage=None)])
        assert ledger.begin(call()) is None


def test_a_cancelled_call_stays_cancelled_and_what_it_used_is_counted(tmp_path: Path) -> None:
    with opened(tmp_path) as ledger:
        send(ledger, call())
        ledger.cancelled(CallId("one"), cancelled())
        assert ledger.begin(call()) == cancelled()
        ledger.begin(call("two"))
        ledger.cancelled(CallId("two"), replace(cancelled(), usage=TokenUsage(), price=dollars("0")))
        assert isinstance(ledger.begin(call("two")), Cancelled)
        assert [row.paid for row in ledger.usage()] == [{"USD": Decimal("0.10")}]


def test_an_ended_call_cannot_end_or_be_sent_again(tmp_path: Path) -> None:
    with opened(tmp_path) as ledger:
        send_and_answer(ledger, call())
        with pytest.raises(Defect, match="was answered"):
            ledger.answered(CallId("one"), answer())
        with pytest.raises(Defect, match="not begun"):
            ledger.sent(CallId("one"), "openai:gpt-5")
        assert [row.calls for row in ledger.usage()] == [1]


def test_what_a_failed_attempt_says_is_masked_in_the_file(tmp_path: Path) -> None:
    with opened(tmp_path) as ledger:
        send(ledger, call())
        ledger.answered(CallId("one"), answer(attempts=(failed(detail=f"401: bad key {KEY}"),)))
        begun = ledger.begin(call())
    assert isinstance(begun, ModelAnswer)
    assert "bad key [masked OPENAI_API_KEY]" in str(begun)
    assert all(KEY.encode() not in file.read_bytes() for file in tmp_path.iterdir())


# ── dead gateways ──


def test_what_a_dead_gateway_sent_is_unknown_and_counted_at_its_estimate(tmp_path: Path) -> None:
    with opened(tmp_path) as ledger:
        send(ledger, call())
    lost = SentCall(
        id=CallId("one"), model="openai:gpt-5", sent_at="2026-11-15T12:00:00.000+00:00", idempotency_key="key of one"
    )
    with opened(tmp_path) as ledger:
        assert ledger.adopt() == (lost,)
        assert ledger.adopt() == ()
        assert ledger.begin(call()) == lost
        assert [(row.calls, row.unknown_calls, row.paid, row.input_tokens) for row in ledger.usage()] == [(1, 1, {}, 0)]
        standing = ledger.policy_ledger(ANN, [at_most("1")])
        assert list(standing.totals.values()) == [Decimal("0.50")]


def test_a_caller_who_risks_it_may_send_an_unknown_call_again_and_both_are_counted(tmp_path: Path) -> None:
    with opened(tmp_path) as ledger:
        send(ledger, call())
    with opened(tmp_path) as ledger:
        ledger.adopt()
        send_and_answer(ledger, call(again=True))
        assert isinstance(ledger.begin(call()), ModelAnswer)
        assert [(row.calls, row.unknown_calls, row.paid) for row in ledger.usage()] == [
            (1, 1, {"USD": Decimal("0.25")})
        ]
        standing = ledger.policy_ledger(ANN, [at_most("1")])
        assert list(standing.totals.values()) == [Decimal("0.75")]


def test_what_was_sent_and_lost_is_counted_even_if_nobody_adopted_it(tmp_path: Path) -> None:
    with opened(tmp_path) as ledger:
        send(ledger, call())
    with opened(tmp_path) as ledger:
        send_and_answer(ledger, call(again=True))
        assert [(row.calls, row.unknown_calls, row.paid) for row in ledger.usage()] == [
            (1, 1, {"USD": Decimal("0.25")})
        ]


def test_an_unknown_call_whose_answer_could_be_fetched_counts_only_what_it_used(tmp_path: Path) -> None:
    with opened(tmp_path) as ledger:
        ledger.begin(call())
        ledger.sent(CallId("one"), "openai:gpt-5", is_background=True, estimate=USED, price=dollars("0.50"))
        ledger.provider_id(CallId("one"), "resp_7")
    with opened(tmp_path) as ledger:
        (sent,) = ledger.adopt()
        assert (sent.response_id, sent.is_resumable) == ("resp_7", True)
        ledger.answered(sent.id, answer())
        assert ledger.begin(call()) == replace(answer(), source="record")
        assert [(row.unknown_calls, row.paid) for row in ledger.usage()] == [(0, {"USD": Decimal("0.25")})]
        standing = ledger.policy_ledger(ANN, [at_most("1"), at_most("1000", measure="tokens")])
        assert sorted(standing.totals.values()) == [Decimal("0.25"), Decimal(120)]


def test_a_provider_id_of_an_earlier_attempt_does_not_fetch_a_later_one(tmp_path: Path) -> None:
    with opened(tmp_path) as ledger:
        ledger.begin(call())
        ledger.sent(CallId("one"), "openai:gpt-5", is_background=True)
        ledger.provider_id(CallId("one"), "resp_7")
        ledger.sent(CallId("one"), "anthropic:claude-sonnet-4-5")
    with opened(tmp_path) as ledger:
        (sent,) = ledger.adopt()
        assert (sent.model, sent.response_id, sent.is_resumable) == ("anthropic:claude-sonnet-4-5", "", False)


def test_a_call_let_go_after_it_was_sent_is_unknown(tmp_path: Path) -> None:
    with opened(tmp_path) as ledger:
        send(ledger, call())
        ledger.let_go(CallId("one"))
        assert isinstance(ledger.begin(call()), SentCall)
        assert [row.unknown_calls for row in ledger.usage()] == [1]
        assert ledger.adopt() == ()


# ── money ──


def test_usage_is_summed_by_run_model_day_and_role(tmp_path: Path) -> None:
    now = [NOON]
    with opened(tmp_path, clock=lambda: now[0]) as ledger:
        send_and_answer(ledger, call("one"))
        send_and_answer(ledger, call("two", payer=Payer(run="run-2", role="builder")), answer(attempts=(failed(),)))
        now[0] += timedelta(days=1)
        send_and_answer(ledger, call("three"), answer(model="strange:x", price=UnknownPrice(why="no list")))
        assert ledger.usage(by="model") == snapshot(
            (
                UsageRow(
                    what="openai:gpt-5",
                    calls=2,
                    input_tokens=200,
                    output_tokens=40,
                    paid={"USD": Decimal("0.50")},
                ),
                UsageRow(
                    what="anthropic:claude-sonnet-4-5",
                    calls=1,
                    input_tokens=100,
                    output_tokens=20,
                    paid={"USD": Decimal("0.01")},
                ),
                UsageRow(what="strange:x", calls=1, input_tokens=100, output_tokens=20, unpriced_calls=1),
            )
        )
        assert [(row.what, row.calls, row.paid, row.unpriced_calls) for row in ledger.usage(by="run")] == snapshot(
            [("run-1", 2, {"USD": Decimal("0.25")}, 1), ("run-2", 1, {"USD": Decimal("0.26")}, 0)]
        )
        assert [(row.what, row.calls) for row in ledger.usage(by="day")] == snapshot(
            [("2026-11-16", 1), ("2026-11-15", 2)]
        )
        assert [(row.what, row.calls) for row in ledger.usage(by="role")] == snapshot([("planner", 2), ("builder", 1)])
        for since in ("2026-11-16", "2026-11-15T12:00:01Z", "2026-11-16T13:00:00+01:00"):
            assert [row.what for row in ledger.usage(by="day", since=since)] == ["2026-11-16"]
        assert len(ledger.usage(by="day", since="2026-11-15T12:00:00Z")) == 2
        with pytest.raises(UserError, match="'yesterday' is no day or time"):
            ledger.usage(since="yesterday")


def test_sums_of_money_are_exact(tmp_path: Path) -> None:
    with opened(tmp_path) as ledger:
        for number in range(30):
            send_and_answer(ledger, call(f"call-{number}"), answer(price=dollars("0.100000000000000001")))
        assert ledger.usage()[0].paid == {"USD": Decimal("3.000000000000000030")}
        assert list(ledger.policy_ledger(ANN, [at_most("9")]).totals.values()) == [Decimal("3.000000000000000030")]


def test_an_attempt_counts_once_however_often_it_is_told(tmp_path: Path) -> None:
    attempt = failed(detail=f"cut {KEY}")
    with opened(tmp_path) as ledger:
        send(ledger, call())
        ledger.attempted(CallId("one"), attempt)
        ledger.answered(CallId("one"), answer(attempts=(replace(attempt, detail="cut [masked]"), failed(usage=None))))
        assert {row.what: row.calls for row in ledger.usage()} == {
            "openai:gpt-5": 1,
            "anthropic:claude-sonnet-4-5": 1,
        }
        assert list(ledger.policy_ledger(ANN, [at_most("9")]).totals.values()) == [Decimal("0.26")]


def test_what_is_not_believable_is_counted_as_far_as_it_can_be(tmp_path: Path) -> None:
    wrong = TokenUsage(input_tokens=-5, output_tokens=10**30)
    with opened(tmp_path) as ledger:
        send_and_answer(ledger, call(), replace(answer(price=dollars("-1")), usage=wrong))
        (row,) = ledger.usage()
        assert (row.input_tokens, row.output_tokens, row.paid, row.unpriced_calls) == (0, 10**12, {}, 1)


def test_use_outside_any_call_is_counted_too(tmp_path: Path) -> None:
    with opened(tmp_path) as ledger:
        ledger.charge(model="openai:text-embedding-3-small", usage=USED, price=dollars("0.02"), payer=ANN)
        assert [(row.what, row.calls, row.paid) for row in ledger.usage()] == [
            ("openai:text-embedding-3-small", 1, {"USD": Decimal("0.02")})
        ]
        assert list(ledger.policy_ledger(ANN, [at_most("1")]).totals.values()) == [Decimal("0.02")]


def test_the_totals_of_a_day_are_of_that_day(tmp_path: Path) -> None:
    now = [NOON]
    with opened(tmp_path, clock=lambda: now[0]) as ledger:
        send_and_answer(ledger, call("one"))
        now[0] = datetime(2026, 11, 16, 0, 0, 1, tzinfo=UTC)
        send_and_answer(ledger, call("two", payer=replace(ANN, run="run-2")))
        limits = [at_most("9", per="person", window="day"), at_most("9", per="person"), at_most("9", per="team")]
        standing = ledger.policy_ledger(ANN, limits)
        amounts = {(account.per, account.day is not None): amount for account, amount in standing.totals.items()}
        assert amounts == {
            ("person", True): Decimal("0.25"),
            ("person", False): Decimal("0.50"),
            ("team", False): Decimal("0.50"),
        }


def test_an_unpriced_call_is_named_to_whoever_pays_for_it(tmp_path: Path) -> None:
    unknown = answer(price=UnknownPrice(why="no list"), attempts=(failed("strange:y"),))
    with opened(tmp_path) as ledger:
        send_and_answer(ledger, call(), unknown)
        (use, day), *more = ledger.policy_ledger(ANN, [at_most("1")]).unpriced.values()
        assert (use.id, str(day), more) == ("one", "2026-11-15", [])
        assert ledger.policy_ledger(Payer(run="run-2"), [at_most("1")]).unpriced == {}


def test_only_what_the_gateway_measures_is_limited_here(tmp_path: Path) -> None:
    with opened(tmp_path) as ledger:
        steps = replace(at_most("1", measure="tokens"), measure="steps")
        assert ledger.policy_ledger(ANN, [steps]).limits == ()


# ── what else is remembered ──


def test_what_a_probe_found_is_remembered(tmp_path: Path) -> None:
    name, first = ModelName("local", "qwen3"), ProbeResult(tools=False, schema=True, at="2026-11-15")
    with opened(tmp_path) as ledger:
        assert ledger.probes() == {}
        ledger.keep_probe(name, first)
        assert ledger.probes() == {name: first}
        ledger.keep_probe(name, replace(first, tools=True))
    with opened(tmp_path, clock=noon) as ledger:
        assert ledger.probes() == {name: replace(first, tools=True)}
