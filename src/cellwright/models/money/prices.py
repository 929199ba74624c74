"""What calls cost: what the person says, else nothing where a model runs here, else the price lists of genai-prices.

A price nobody knows is `UnknownPrice`, never 0. The lists are those of the installed package; nothing is fetched.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import ROUND_UP, Decimal
from typing import TYPE_CHECKING, Any, Final

from cellwright.errors import UserError
from cellwright.models.calls import TokenUsage
from cellwright.models.config.catalogue import traits_of
from cellwright.models.config.configuration import Configuration, Endpoint, ModelOverrides
from cellwright.models.config.names import ModelName
from cellwright.policy.money import SMALLEST_EXPONENT, Money, Price, UnknownPrice

if TYPE_CHECKING:
    from genai_prices.types import ModelInfo, Provider

_MILLION: Final = Decimal(1_000_000)
_FINEST: Final = Decimal(1).scaleb(SMALLEST_EXPONENT)
_FREE: Final = Money(amount=Decimal(0))
_IN_TOML: Final = "put its prices into models.toml"
_LISTS: Final[Mapping[str, str]] = {
    "openai": "openai",
    "anthropic": "anthropic",
    "google": "google",
    "groq": "groq",
    "mistral": "mistral",
}
"""Endpoints that keep their maker's prices, wherever the person has moved them to."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Rates:
    """What a million tokens cost, before discounts for what is cached and surcharges for what is long."""

    input_per_million: Decimal
    output_per_million: Decimal
    currency: str = "USD"


@dataclass(frozen=True, slots=True, kw_only=True)
class _FlatPrices:
    """Prices that hold at all hours, up to so much input."""

    input_per_million: Decimal
    output_per_million: Decimal
    below: int | None

    def covers(self, usage: TokenUsage) -> bool:
        is_short = self.below is None or usage.input_tokens < self.below
        return is_short and not usage.cache_read_tokens and not usage.cache_write_tokens


class Prices:
    """The prices of every model of a configuration."""

    def __init__(self, configuration: Configuration) -> None:
        self._configuration = configuration
        self._rates = dict[ModelName, Rates | None]()
        self._plain = dict[ModelName, _FlatPrices | None]()

    def price_of(self, name: ModelName | str, usage: TokenUsage) -> Price:
        """What this use costs. Use that a provider did not count has no known price."""
        name = _named(name)
        try:
            endpoint = self._configuration.endpoint(name)
            is_here = traits_of(name, self._configuration, {}).local
        except UserError as error:
            return UnknownPrice(why=error.message)
        beliefs = self._configuration.beliefs(name)
        if not usage.tokens and not is_here:
            return UnknownPrice(why=f"{name.provider} did not say what was used")
        if beliefs.input_price_per_million is not None or beliefs.output_price_per_million is not None:
            return _by_belief(name, usage, beliefs)
        return _FREE if is_here else self._by_list(endpoint, name, usage)

    def rates(self, name: ModelName | str) -> Rates | None:
        """What a million tokens cost now; None where nobody knows."""
        name = _named(name)
        if name not in self._rates:
            self._rates[name] = self._find_rates(name)
        return self._rates[name]

    def load(self) -> None:
        """Read the price lists now (a third of a second), so that no call waits for them."""
        for endpoint, price_list in _LISTS.items():
            _listed(Endpoint(name=endpoint, kind="openai-chat"), price_list)

    def _by_list(self, endpoint: Endpoint, name: ModelName, usage: TokenUsage) -> Price:
        # Reckoning by the list takes a third of a millisecond, twice a call: most calls need but two products.
        if name not in self._plain:
            found = _listed(endpoint, name.model)
            self._plain[name] = None if found is None else _flat_prices(found[1])
        plain = self._plain[name]
        if plain is not None and plain.covers(usage):
            amount = usage.input_tokens * plain.input_per_million + usage.output_tokens * plain.output_per_million
            return _money(amount / _MILLION, "USD")
        return _by_list(endpoint, name, usage)

    def _find_rates(self, name: ModelName) -> Rates | None:
        try:
            endpoint = self._configuration.endpoint(name)
        except UserError:
            return None
        beliefs = self._configuration.beliefs(name)
        if beliefs.input_price_per_million is not None or beliefs.output_price_per_million is not None:
            return _believed(beliefs)
        if traits_of(name, self._configuration, {}).local:
            return Rates(input_per_million=Decimal(0), output_per_million=Decimal(0))
        found = _listed(endpoint, name.model)
        return None if found is None else _rates_of(found[1])


def _named(name: ModelName | str) -> ModelName:
    return ModelName.parse(name) if isinstance(name, str) else name


def _by_belief(name: ModelName, usage: TokenUsage, beliefs: ModelOverrides) -> Price:
    rates = _believed(beliefs)
    if rates is None:
        return UnknownPrice(why=f"models.toml prices {name} only in part")
    amount = usage.input_tokens * rates.input_per_million + usage.output_tokens * rates.output_per_million
    return _money(amount / _MILLION, rates.currency)


def _believed(beliefs: ModelOverrides) -> Rates | None:
    into, out = beliefs.input_price_per_million, beliefs.output_price_per_million
    if into is None or out is None or into.currency != out.currency:
        return None
    return Rates(input_per_million=into.amount, output_per_million=out.amount, currency=into.currency)


def _by_list(endpoint: Endpoint, name: ModelName, usage: TokenUsage) -> Price:
    found = _listed(endpoint, name.model)
    if found is None:
        return UnknownPrice(why=f"no price list knows {name}: {_IN_TOML}")
    from genai_prices.types import Usage as Counted

    provider, model = found
    now = datetime.now(UTC)
    prices = model.get_prices(now)
    if prices.input_mtok is None or (prices.output_mtok is None and usage.output_tokens):
        return UnknownPrice(why=f"{name} is not paid by the token: {_IN_TOML}")
    counted = Counted(
        input_tokens=usage.input_tokens,
        output_tokens=usage.output_tokens,
        cache_read_tokens=usage.cache_read_tokens,
        cache_write_tokens=usage.cache_write_tokens,
    )
    try:
        return _money(model.calc_price(counted, provider, genai_request_timestamp=now).total_price, "USD")
    except ValueError as error:
        return UnknownPrice(why=f"the use {name.provider} counted does not add up: {error}")


def _listed(endpoint: Endpoint, model: str) -> tuple[Provider, ModelInfo] | None:
    from genai_prices.data_snapshot import get_snapshot

    price_list = _LISTS.get(endpoint.name)
    if price_list is None and endpoint.base_url is None:
        return None
    try:
        return get_snapshot().find_provider_model(
            model, None, price_list, endpoint.base_url if not price_list else None
        )
    except LookupError:
        return None


def _rates_of(model: ModelInfo) -> Rates | None:
    prices = model.get_prices(datetime.now(UTC))
    into, out = _base(prices.input_mtok), _base(prices.output_mtok)
    # A model that only reads, such as one for embeddings, has no price for what it writes.
    return None if into is None else Rates(input_per_million=into, output_per_million=out or Decimal(0))


def _flat_prices(model: ModelInfo) -> _FlatPrices | None:
    from genai_prices.types import ModelPrice, TieredPrices

    prices = model.prices
    if not isinstance(prices, ModelPrice):
        return None
    into, out = _base(prices.input_mtok), _base(prices.output_mtok)
    if into is None or out is None or prices.__dict__.get("requests_kcount") is not None:
        return None
    tiered = [price for price in (prices.input_mtok, prices.output_mtok) if isinstance(price, TieredPrices)]
    starts = [tier.start for price in tiered for tier in price.tiers]
    return _FlatPrices(input_per_million=into, output_per_million=out, below=min(starts, default=None))


def _base(price: Any) -> Decimal | None:
    return price if isinstance(price, Decimal) or price is None else price.base


def _money(amount: Decimal, currency: str) -> Price:
    exponent = amount.as_tuple().exponent
    if isinstance(exponent, int) and exponent < SMALLEST_EXPONENT:
        amount = amount.quantize(_FINEST, rounding=ROUND_UP)
    price = Money(amount=amount, currency=currency)
    return price if price.is_sound else UnknownPrice(why=f"{price} cannot be counted")
