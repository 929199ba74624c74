"""Who is asked, in what order and why: total, deterministic, and never a remote model when nothing may leave."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic_ai.messages import (
    BinaryContent,
    ImageUrl,
    ModelRequest,
    ModelResponse,
    TextPart,
    ToolReturnPart,
    UserPromptPart,
)
from pydantic_ai.tools import ToolDefinition

from cellwright.errors import ModelUnavailable, RefusedByPolicy
from cellwright.models.calls import OutputSchema, Request
from cellwright.models.config.catalogue import Traits
from cellwright.models.config.names import Ability, ModelName
from cellwright.models.money.prices import Rates
from cellwright.models.routing.route import Candidate, Route, RouteRefusal, RouteRequest, can, needs_of, route
from cellwright.policy.money import Money

PROPERTY = settings(derandomize=True, database=None)


def traits(**more: Any) -> Traits:
    known: dict[str, Any] = {
        "tools": True,
        "schema": True,
        "images": True,
        "streaming": True,
        "reasoning": True,
        "caching": True,
        "context_tokens": None,
        "local": False,
    }
    return Traits(**(known | more))


def candidate(name: str, position: int = 0, *, price: str | None = "1", **more: Any) -> Candidate:
    fields = {field: more.pop(field) for field in ("is_ready", "health") if field in more}
    amount, currency = Decimal(price or 0), more.pop("currency", "USD")
    rates = Rates(input_per_million=amount, output_per_million=amount, currency=currency)
    return Candidate(
        name=ModelName.parse(name),
        traits=traits(**more),
        position=position,
        rates=None if price is None else rates,
        **fields,
    )


def names(found: Route) -> list[str]:
    return [str(name) for name in found.order]


def refusals(found: Route) -> dict[str, RouteRefusal]:
    return {str(name): refusal for name, refusal in found.refused.items()}


STRONG, CHEAP, LOCAL = "a:strong", "b:cheap", "here:small"


def chain(**more: Any) -> list[Candidate]:
    return [
        candidate(STRONG, 0, price="10", **more),
        candidate(CHEAP, 1, price="1", **more),
        candidate(LOCAL, 2, price=None, local=True, **more),
    ]


def test_a_chain_is_asked_in_its_order() -> None:
    assert names(route(RouteRequest(context_tokens=1000), chain())) == [STRONG, CHEAP, LOCAL]


def test_named_models_keep_their_order_whatever_they_cost_and_however_they_fare() -> None:
    ill = [candidate(STRONG, 0, price="10", health="open"), candidate(CHEAP, 1)]
    assert names(route(RouteRequest(named=True), ill)) == [STRONG, CHEAP]


def test_an_endpoint_that_failed_lately_comes_last_but_is_not_dropped() -> None:
    found = route(RouteRequest(), [candidate(STRONG, 0, health="open"), candidate(CHEAP, 1, health="half-open")])
    assert names(found) == [CHEAP, STRONG]
    assert found.reasons[ModelName.parse(STRONG)] == "number 1 of the chain, its endpoint failed lately"


def test_nothing_leaves_the_machine_when_private() -> None:
    found = route(RouteRequest(private=True), chain())
    assert names(found) == [LOCAL]
    assert {name: refusal.why for name, refusal in refusals(found).items()} == {STRONG: "private", CHEAP: "private"}


def test_with_nothing_left_on_the_machine_the_rule_is_named_as_the_reason() -> None:
    found = route(
        RouteRequest(private=True, needs=frozenset({"images"})),
        [*chain()[:2], candidate(LOCAL, 2, local=True, images=False)],
    )
    error = found.error()
    assert names(found) == []
    assert isinstance(error, RefusedByPolicy)
    assert "here:small: it cannot see images" in error.message
    assert error.hint.endswith("or ask without keeping everything on this machine.")


def test_without_any_model_every_reason_is_named() -> None:
    found = route(
        RouteRequest(context_tokens=9000, answer_tokens=1000, needs=frozenset({"tools"})),
        [
            candidate("a:none", 0, is_ready=False),
            candidate("b:mute", 1, tools=False, schema=False),
            candidate("c:short", 2, context_tokens=8192),
        ],
    )
    error = found.error()
    assert isinstance(error, ModelUnavailable)
    assert error.message == (
        "No model can be asked (a:none: it has no key; b:mute: it cannot call tools; "
        "c:short: it reads 8192 tokens, this needs about 10000)."
    )
    assert "the chain is empty" in route(RouteRequest(), []).error().message


def test_what_cannot_be_paid_is_refused_and_the_person_can_be_asked() -> None:
    left = Money(amount=Decimal("0.002"))
    question = RouteRequest(context_tokens=1000, answer_tokens=100, budget_left=left)
    found = route(question, chain()[:2])
    assert names(found) == [CHEAP]
    assert refusals(found)[STRONG] == RouteRefusal(
        why="budget", reason="it would cost about 0.011 USD, and 0.002 USD is left"
    )
    assert not found.is_unaffordable
    assert route(question, chain()[:1]).is_unaffordable
    assert not route(RouteRequest(private=True, budget_left=left), chain()[:1]).is_unaffordable


def test_where_money_is_bounded_an_unknown_price_comes_after_the_known_ones() -> None:
    models = [candidate("a:unpriced", 0, price=None), candidate(CHEAP, 1), candidate("c:euro", 2, currency="EUR")]
    bounded = RouteRequest(context_tokens=10, budget_left=Money(amount=Decimal(1)))
    assert names(route(bounded, models)) == [CHEAP, "c:euro", "a:unpriced"]
    assert names(route(RouteRequest(context_tokens=10), models)) == ["a:unpriced", CHEAP, "c:euro"]


def test_a_model_without_tool_calls_still_gets_tools_as_a_schema_and_the_other_way_round() -> None:
    assert can(traits(tools=False, schema=True), "tools")
    assert can(traits(tools=True, schema=False), "schema")
    assert not can(traits(tools=False, schema=False), "schema")


def test_a_request_shows_what_it_needs() -> None:
    said = [ModelRequest(parts=[UserPromptPart(content="hello")]), ModelResponse(parts=[TextPart(content="hi")])]
    assert needs_of(Request(messages=said)) == frozenset()
    tool = ToolDefinition(name="add")
    shape = OutputSchema(name="sum", schema={"type": "object"})
    assert needs_of(Request(messages=said, tools=[tool], output=shape)) == {"tools", "schema"}


@pytest.mark.parametrize(
    "part",
    [
        UserPromptPart(content=["look", ImageUrl(url="https://example.org/a.png")]),
        UserPromptPart(content=[BinaryContent(data=b"\x89PNG", media_type="image/png")]),
        ToolReturnPart(
            tool_name="plot", tool_call_id="1", content=[BinaryContent(data=b"\x89PNG", media_type="image/png")]
        ),
    ],
)
def test_an_image_anywhere_needs_eyes(part: Any) -> None:
    assert needs_of(Request(messages=[ModelRequest(parts=[part])])) == {"images"}


prices = st.decimals(min_value=0, max_value=1000, places=4)
abilities: st.SearchStrategy[frozenset[Ability]] = st.frozensets(st.sampled_from(["tools", "schema", "images"]))
any_traits = st.builds(
    Traits,
    tools=st.booleans(),
    schema=st.booleans(),
    images=st.booleans(),
    streaming=st.booleans(),
    reasoning=st.booleans(),
    caching=st.booleans(),
    context_tokens=st.none() | st.integers(min_value=0, max_value=10_000),
    local=st.booleans(),
)
any_candidates = st.lists(
    st.builds(
        Candidate,
        name=st.builds(ModelName, st.sampled_from(["a", "b", "c"]), st.sampled_from(["x", "y", "z"])),
        traits=any_traits,
        position=st.integers(min_value=0, max_value=9),
        is_ready=st.booleans(),
        health=st.sampled_from(["closed", "open", "half-open"]),
        rates=st.none()
        | st.builds(
            Rates, input_per_million=prices, output_per_million=prices, currency=st.sampled_from(["USD", "EUR"])
        ),
    ),
    max_size=8,
)
any_question = st.builds(
    RouteRequest,
    needs=abilities,
    context_tokens=st.integers(min_value=0, max_value=20_000),
    answer_tokens=st.integers(min_value=0, max_value=2_000),
    private=st.booleans(),
    budget_left=st.none() | st.builds(Money, amount=st.decimals(min_value=0, max_value=1, places=6)),
    named=st.booleans(),
)


@given(any_question, any_candidates)
@PROPERTY
def test_every_candidate_is_either_ordered_or_refused_with_a_reason(
    question: RouteRequest, some: list[Candidate]
) -> None:
    found = route(question, some)
    assert set(found.order) | set(found.refused) == {one.name for one in some}
    assert set(found.order).isdisjoint(found.refused)
    assert len(set(found.order)) == len(found.order)
    assert set(found.reasons) == set(found.order)
    assert all(found.reasons.values())
    assert all(refusal.reason for refusal in found.refused.values())
    assert found.error().message


@given(any_question, any_candidates)
@PROPERTY
def test_who_is_asked_can_answer_and_is_never_remote_when_private(
    question: RouteRequest, some: list[Candidate]
) -> None:
    found = route(question, some)
    first: dict[ModelName, Candidate] = {}
    for one in sorted(some, key=lambda one: one.position):
        first.setdefault(one.name, one)
    for name in found.order:
        one = first[name]
        assert one.is_ready
        assert one.traits.local or not question.private
        assert all(can(one.traits, ability) for ability in question.needs)
        assert one.traits.context_tokens is None or one.traits.context_tokens >= question.context_tokens


@given(any_question, any_candidates, st.randoms(use_true_random=False))
@PROPERTY
def test_the_order_in_which_candidates_are_given_does_not_matter(
    question: RouteRequest, some: list[Candidate], shuffling: Any
) -> None:
    apart = [one for index, one in enumerate(some) if one.position not in {other.position for other in some[:index]}]
    shuffled = list(apart)
    shuffling.shuffle(shuffled)
    assert route(question, shuffled) == route(question, apart)


@given(any_question, any_candidates)
@PROPERTY
def test_more_money_never_drops_a_model(question: RouteRequest, some: list[Candidate]) -> None:
    richer = RouteRequest(
        needs=question.needs,
        context_tokens=question.context_tokens,
        answer_tokens=question.answer_tokens,
        private=question.private,
        named=question.named,
    )
    assert set(route(question, some).order) <= set(route(richer, some).order)
