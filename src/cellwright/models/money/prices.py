"""What calls cost: what the person says, else nothing where a model runs here, else the price lists of genai-prices.

A price nobody knows is `UnknownPrice`, never 0. The lists are those of the installed package; nothing is fetched.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from decimal import ROUND_UP, Decimal
from typing import TYPE_CHECKING, Any, Final

from cellwright.errors import UserError
from cellwright.models.calls import TokenUsage
from cellwright.models.config.catalogue import traits_of
from cellwright.models.config.configuration import Configuration, Endpoint
from cellwright.models.config.names import ModelName
from cellwright.policy.money import SMALLEST_EXPONENT, Money, Price, UnknownPrice

if TYPE_CHECKING:
    from genai_prices.types import ModelInfo, Provider

_MILLION: Final = Decimal(1_000_000)
_FINEST: Final = Decimal(1).scaleb(SMALLEST_EXPONENT)
_FREE: Final = Money(amount=Decimal(0))
_IN_TOML: Final = "put its prices into models.toml"
_LISTS: Final = frozenset({"openai", "anthropic", "google", "groq", "mistral"})
"""Endpoints that keep their maker's prices, wherever the person has moved them to."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Rates:
    """What a million tokens cost, before discounts for what is cached and surcharges for what is long."""

    input_per_million: Decimal
    output_per_million: Decimal
    currency: str = "USD"

    def price_of(self, usage: TokenUsage) -> Price:
        """What this use costs at these rates."""
        amount = usage.input_tokens * self.input_per_million + usage.output_tokens * self.output_per_million
        return _money(amount / _MILLION, self.currency)


class Prices:
    """The prices of every model of a configuration."""

    def __init__(self, configuration: Configuration) -> None:
        self._configuration = configuration
        self._rates = dict[ModelName, Rates | None]()

    def price_of(self, name: ModelName | str, usage: TokenUsage) -> Price:
        """What this use costs. Use that a provider did not count has no known price."""
        name = ModelName.parse(name) if isinstance(name, str) else name
        try:
            endpoint = self._configuration.endpoint(name)
            is_here = traits_of(name, self._configuration, {}).local
        except UserError as error:
            return UnknownPrice(why=error.message)
        if not usage.tokens and not is_here:
            return UnknownPrice(why=f"{name.provider} did not say what was used")
        if (rates := _override(self._configuration, name)) is not None:
            return rates.price_of(usage)
        return _FREE if is_here else _by_list(endpoint, name, usage)

    def rates(self, name: ModelName | str) -> Rates | None:
        """What a million tokens cost now; None where nobody knows."""
        name = ModelName.parse(name) if isinstance(name, str) else name
        if name not in self._rates:
            self._rates[name] = self._find_rates(name)
        return self._rates[name]

    def _find_rates(self, name: ModelName) -> Rates | None:
        endpoint = self._configuration.endpoints.get(name.provider)
        if endpoint is None:
            return None
        if (rates := _override(self._configuration, name)) is not None:
            return rates
        if traits_of(name, self._configuration, {}).local:
            return Rates(input_per_million=Decimal(0), output_per_million=Decimal(0))
        found = _listed(endpoint, name.model)
        return None if found is None else _rates_of(found[1])


def _override(configuration: Configuration, name: ModelName) -> Rates | None:
    """What the person says, who gives both prices in one currency or none."""
    overrides = configuration.overrides(name)
    into, out = overrides.input_price_per_million, overrides.output_price_per_million
    if into is None or out is None:
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
    counts = {name: count for name, count in asdict(usage).items() if name != "is_estimate"}
    try:
        price = model.calc_price(Counted(**counts), provider, genai_request_timestamp=now)
    except ValueError as error:
        return UnknownPrice(why=f"the use {name.provider} counted does not add up: {error}")
    return _money(price.total_price, "USD")


def _listed(endpoint: Endpoint, model: str) -> tuple[Provider, ModelInfo] | None:
    from genai_prices.data_snapshot import get_snapshot

    price_list = endpoint.name if endpoint.name in _LISTS else None
    if price_list is None and endpoint.base_url is None:
        return None
    try:
        return get_snapshot().find_provider_model(model, None, price_list, None if price_list else endpoint.base_url)
    except LookupError:
        return None


def _rates_of(model: ModelInfo) -> Rates | None:
    prices = model.get_prices(datetime.now(UTC))
    into, out = _base(prices.input_mtok), _base(prices.output_mtok)
    # A model that only reads, such as one for embeddings, has no price for what it writes.
    return None if into is None else Rates(input_per_million=into, output_per_million=out or Decimal(0))


def _base(price: Any) -> Decimal | None:
    return price if isinstance(price, Decimal) or price is None else price.base


def _money(amount: Decimal, currency: str) -> Price:
    exponent = amount.as_tuple().exponent
    if isinstance(exponent, int) and exponent < SMALLEST_EXPONENT:
        amount = amount.quantize(_FINEST, rounding=ROUND_UP)
    price = Money(amount=amount, currency=currency)
    return price if price.is_sound else UnknownPrice(why=f"{price} cannot be counted")
