"""Prices: from the person, from the lists, nothing for what runs here; and what nobody knows is never 0."""

from __future__ import annotations

import subprocess
import sys
from decimal import Decimal

import pytest

from cellwright.models.calls import TokenUsage
from cellwright.models.config.configuration import BUILT_IN_CHAINS, Configuration, read_configuration
from cellwright.models.config.names import ModelName
from cellwright.models.money.prices import Prices, Rates
from cellwright.policy.money import Money, Price, UnknownPrice
from tests.models.accounts import dollars

CONFIGURATION = read_configuration(
    """
[endpoints.corp]
kind = "openai-chat"
base_url = "https://models.example.com/v1"

[endpoints.deep]
kind = "openai-chat"
base_url = "https://api.deepseek.com/v1"

[endpoints.here]
kind = "openai-chat"
base_url = "http://127.0.0.1:9/v1"

[models."corp:priced"]
input_price_per_million = "2.00 EUR"
output_price_per_million = "8.00 EUR"

[models."here:metered"]
input_price_per_million = "1.00 USD"
output_price_per_million = "1.00 USD"
""",
    "models.toml",
)
PRICES = Prices(CONFIGURATION)
USED = TokenUsage(input_tokens=1_000, output_tokens=100)


@pytest.mark.parametrize(
    ("name", "price"),
    [
        ("openai:gpt-4o", dollars("0.0035")),
        ("anthropic:claude-sonnet-4-5", dollars("0.0045")),
        ("groq:llama-3.3-70b-versatile", dollars("0.000669")),
        ("ollama:qwen3", dollars("0")),
        ("here:anything", dollars("0")),
        ("here:metered", dollars("0.0011")),
        ("corp:priced", Money(amount=Decimal("0.0028"), currency="EUR")),
    ],
)
def test_a_known_price_is_exact(name: str, price: Price) -> None:
    assert PRICES.price_of(name, USED) == price


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("openai:gpt-nobody-has-heard-of", "no price list knows openai:gpt-nobody-has-heard-of"),
        ("corp:gpt-5", "no price list knows corp:gpt-5"),
        ("ollama:qwen3-coder:480b-cloud", "no price list"),
        ("here:gpt-5", "no price list"),
        ("elsewhere:x", "No endpoint is called 'elsewhere'"),
        ("groq:whisper-large-v3", "not paid by the token"),
    ],
)
def test_a_price_nobody_knows_is_unknown_and_says_why(name: str, why: str) -> None:
    price = PRICES.price_of(name, USED)
    assert isinstance(price, UnknownPrice)
    assert why in price.why


def test_use_that_was_not_counted_has_no_known_price_unless_it_ran_here() -> None:
    assert isinstance(PRICES.price_of("openai:gpt-5", TokenUsage()), UnknownPrice)
    assert isinstance(PRICES.price_of("corp:priced", TokenUsage()), UnknownPrice)
    assert PRICES.price_of("ollama:qwen3", TokenUsage()) == dollars("0")


def test_use_that_does_not_add_up_has_no_known_price() -> None:
    price = PRICES.price_of("openai:gpt-5", TokenUsage(input_tokens=10, cache_read_tokens=20))
    assert isinstance(price, UnknownPrice)
    assert "does not add up" in price.why


def test_what_is_read_from_a_cache_costs_less() -> None:
    cold = PRICES.price_of("anthropic:claude-sonnet-4-5", TokenUsage(input_tokens=1_000))
    warm = PRICES.price_of("anthropic:claude-sonnet-4-5", TokenUsage(input_tokens=1_000, cache_read_tokens=1_000))
    assert (cold, warm) == (dollars("0.003"), dollars("0.0003"))


def test_an_endpoint_is_priced_by_its_address_where_a_list_knows_it() -> None:
    assert isinstance(PRICES.price_of("deep:deepseek-chat", USED), Money)


def test_an_endpoint_that_was_only_moved_keeps_its_makers_prices() -> None:
    moved = Prices(read_configuration('[endpoints.openai]\nbase_url = "http://127.0.0.1:9/v1"\n', "models.toml"))
    assert moved.price_of("openai:gpt-4o", USED) == dollars("0.0035")


def test_every_listed_model_costs_what_its_list_says_however_much_is_read() -> None:
    from genai_prices import calc_price
    from genai_prices.data_snapshot import get_snapshot
    from genai_prices.types import Usage as Counted

    makers = ("openai", "anthropic", "google", "groq", "mistral")
    compared = 0
    for provider in get_snapshot().providers:
        for model in provider.models if provider.id in makers else ():
            for read, written in ((1_000, 333), (300_000, 10), (7, 0)):
                price = PRICES.price_of(
                    ModelName(provider.id, model.id), TokenUsage(input_tokens=read, output_tokens=written)
                )
                if isinstance(price, Money):
                    counted = Counted(input_tokens=read, output_tokens=written)
                    listed = calc_price(counted, model.id, provider_id=provider.id).total_price
                    assert price.amount == listed, model.id
                    compared += 1
    assert compared > 500


def test_rates_are_told_per_million_tokens() -> None:
    assert PRICES.rates("openai:gpt-4o") == Rates(input_per_million=Decimal("2.5"), output_per_million=Decimal(10))
    assert PRICES.rates("corp:priced") == Rates(
        input_per_million=Decimal("2.00"), output_per_million=Decimal("8.00"), currency="EUR"
    )
    assert PRICES.rates("ollama:qwen3") == Rates(input_per_million=Decimal(0), output_per_million=Decimal(0))
    unknown = ("corp:gpt-5", "elsewhere:x", "openai:gpt-nobody-has-heard-of")
    assert [PRICES.rates(name) for name in unknown] == [None] * len(unknown)


def test_every_model_of_our_own_chains_has_a_price() -> None:
    prices = Prices(Configuration())
    chosen = {name for chain in BUILT_IN_CHAINS.values() for name in chain}
    assert [name for name in sorted(chosen) if prices.rates(name) is None] == []


@pytest.mark.slow
def test_prices_that_are_not_needed_are_not_read() -> None:
    script = "import sys, cellwright.models.money.prices; print('genai_prices.data' in sys.modules)"
    ran = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True, timeout=300)
    assert ran.stdout == "False\n"
