"""The models as they can be asked now: what `models.toml` says, whose keys are there, how the endpoints are doing.

A changed `models.toml` counts from the next call on; calls in flight end as they began.

No secret enters a prompt: what a model will read passes through the masker here, and only here. Only words are looked
at. Ids, signatures and pictures are the provider's own and go back to it as they are.
"""

from __future__ import annotations

import gc
import secrets
from collections.abc import Callable, Collection, Sequence
from contextlib import AsyncExitStack, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import anyio
import anyio.to_thread
from pydantic_ai.messages import ModelMessage, ModelRequest, ModelResponse

from cellwright.errors import CellwrightError
from cellwright.models.calls import Choice, Request, TokenUsage
from cellwright.models.config.catalogue import ProbeResult, traits_of
from cellwright.models.config.configuration import Configuration, Endpoint, Kind, read_configuration
from cellwright.models.config.keys import KeyRing
from cellwright.models.config.names import ModelName
from cellwright.models.money.prices import Prices
from cellwright.models.providers.providers import Providers
from cellwright.models.routing.breaker import Breakers
from cellwright.models.routing.fallback import AnswerStream
from cellwright.models.routing.route import Candidate
from cellwright.policy.masking.masker import Masker, Secret
from cellwright.policy.money import Price
from cellwright.secrets import FoundSecret, file_stamp

Mask = Callable[[str], str]

_WORDS = ("content", "args")
"""Where the parts of a message hold what people, tools and models said."""
_READ = frozenset({"system-prompt", "user-prompt", "tool-return", "retry-prompt", "text", "tool-call", "instruction"})
"""The kinds of parts that hold words; thinking is signed, and a changed one is refused."""


def masked_prompt(request: Request, mask: Mask) -> Request:
    """The request without secrets; the very same one if it holds none."""
    messages = [_message(message, mask) for message in request.messages]
    if all(new is old for new, old in zip(messages, request.messages, strict=True)):
        return request
    return replace(request, messages=messages)


def _message(message: ModelMessage, mask: Mask) -> ModelMessage:
    parts: list[Any] = [_part(part, mask) for part in message.parts]
    changes: dict[str, Any] = {}
    if any(new is not old for new, old in zip(parts, message.parts, strict=True)):
        changes["parts"] = parts
    value = message.instructions if isinstance(message, ModelRequest) else None
    if value is not None and (clean := mask(value)) != value:
        changes["instructions"] = clean
    return replace(message, **changes) if changes else message


def _part(part: Any, mask: Mask) -> Any:
    if part.part_kind not in _READ:
        return part
    changes = {
        name: clean
        for name in _WORDS
        if (value := getattr(part, name, None)) is not None and (clean := _masked(value, mask)) is not value
    }
    return replace(part, **changes) if changes else part


def _masked(value: Any, mask: Mask) -> Any:
    """The same value with every text in it masked; the very same object if none holds a secret."""
    match value:
        case str():
            clean = mask(value)
            return value if clean == value else clean
        case dict():
            inner = {key: _masked(value, mask) for key, value in value.items()}
            return inner if any(inner[key] is not value[key] for key in value) else value
        case bytes() | bytearray():
            return value
        case Sequence():
            items = [_masked(value, mask) for value in value]
            return items if any(new is not old for new, old in zip(items, value, strict=True)) else value
        case _:
            return value


class ModelRegistry:
    """Who can be asked, and how. Not for several threads."""

    def __init__(self, home: Path, keys: KeyRing, breakers: Breakers) -> None:
        self.keys = keys
        self.breakers = breakers
        self.probed: dict[ModelName, ProbeResult] = {}
        """What models showed that they can do."""
        self._file = home / "models.toml"
        self._stamp: tuple[int, int] | None = None
        self._configuration = Configuration()
        self._prices = Prices(self._configuration)
        self._providers = Providers(self._configuration)
        self._retired: list[Providers] = []
        self._loaded: set[Kind] = set()
        self._salt = secrets.token_bytes(32)
        self._masker = Masker.of(salt=self._salt)
        self._masked: dict[str, str] = {}

    async def aclose(self) -> None:
        """Close every connection to every provider."""
        async with AsyncExitStack() as stack:
            for providers in (self._providers, *self._retired):
                stack.push_async_callback(providers.aclose)

    @property
    def providers(self) -> Providers:
        """The way to the endpoints of the configuration that holds now."""
        self.configuration()
        return self._providers

    def configuration(self) -> Configuration:
        """What `models.toml` says now. Raises `UserError` while it is broken."""
        stamp = file_stamp(self._file)
        if stamp != self._stamp:
            text = self._file.read_text(encoding="utf-8") if stamp is not None else ""
            configuration = read_configuration(text, str(self._file)) if text else Configuration()
            # Its calls in flight keep their connections; they are closed with the gateway.
            self._retired.append(self._providers)
            self._configuration, self._providers = configuration, Providers(configuration, self.probed)
            self._prices = Prices(configuration)
            self._stamp = stamp
        return self._configuration

    def endpoint(self, name: ModelName) -> Endpoint:
        """Whom a model is asked of that was planned for: `models.toml` is not looked at again."""
        return self._configuration.endpoint(name)

    async def ready(self) -> frozenset[str]:
        """The endpoints whose key is there."""
        return await self._with_key(self.configuration().endpoints)

    async def key_of(self, endpoint: str) -> FoundSecret | None:
        """One endpoint's key and where it is from; None where none is needed."""
        known = self.configuration().endpoints.get(endpoint)
        if known is None or known.key == "none":
            return None
        await self._look_up([endpoint])
        return self.keys.find(endpoint)

    async def key_value(self, endpoint: str) -> str | None:
        """One endpoint's key, to ask with."""
        key = await self.key_of(endpoint)
        return None if key is None else key.value

    def learn(self, name: ModelName, probed: ProbeResult) -> None:
        """From now on ask this model as a probe has shown it wants to be asked."""
        self.probed[name] = probed
        self._providers.learn(name, probed)

    async def candidates(self, choice: Choice) -> list[Candidate]:
        """The models of a choice, in order, with all that routing asks about them.

        Raises `UserError` for a model whose endpoint nobody knows.
        """
        configuration = self.configuration()
        if choice.models:
            names, ready = choice.models, await self._with_key({name.provider for name in choice.models})
        else:
            ready = await self._with_key(configuration.endpoints)
            names = configuration.chain(choice.tier, ready)
        return [self.candidate(name, at, ready) for at, name in enumerate(names)]

    def candidate(self, name: ModelName, position: int, ready: frozenset[str]) -> Candidate:
        """One model, with all that routing asks about it."""
        configuration = self._configuration
        return Candidate(
            name=name,
            traits=traits_of(name, configuration, self.probed),
            position=position,
            is_ready=configuration.is_ready(name, ready),
            health=self.breakers.health(name.provider),
            rates=self._prices.rates(name),
        )

    async def load(self, name: ModelName) -> None:
        """Load what speaks to this model's provider, in a thread: it takes a second, and other calls go on."""
        kind = self.endpoint(name).kind
        if kind not in self._loaded:
            with suppress(CellwrightError):
                await self._providers.load(name, await self.key_value(name.provider))
            self._loaded.add(kind)
            # Over a hundred thousand objects stay from now on: not to be looked through again and again.
            gc.freeze()

    def price_of(self, model: ModelName | str, usage: TokenUsage) -> Price:
        """What so much use of a model costs."""
        return self._prices.price_of(model, usage)

    def ask(self, name: ModelName, request: Request, **options: Any) -> AnswerStream:
        """Put a request to a model, with its key and without anybody's secrets; `options` as of `Providers.ask`."""
        # Looked up while it was planned: this does not wait for a keyring.
        key = self.keys.find(name.provider) if self.endpoint(name).key == "required" else None
        clean = masked_prompt(request, self.mask)
        return self._providers.ask(name, clean, key=None if key is None else key.value, **options)

    async def resume(self, name: ModelName, request: Request, response_id: str) -> ModelResponse:
        """The answer that a provider has been making since an earlier gateway asked for it."""
        return await self.providers.resume(name, request, response_id, await self.key_value(name.provider))

    async def embed(self, name: ModelName, texts: Sequence[str]) -> list[list[float]]:
        """One vector per text."""
        return await self.providers.embed(name, texts, await self.key_value(name.provider))

    def mask(self, text: str) -> str:
        """The text without any key."""
        held = self.keys.values()
        if held != self._masked:
            self._masked = held
            named = [Secret(name=f"{provider} key", value=value) for provider, value in held.items()]
            self._masker = Masker.of(named, salt=self._salt)
        return self._masker.mask(text).text

    async def _with_key(self, names: Collection[str]) -> frozenset[str]:
        endpoints = self._configuration.endpoints
        needed = [name for name in names if name in endpoints and endpoints[name].key == "required"]
        await self._look_up(needed)
        return frozenset(name for name in needed if self.keys.find(name) is not None)

    async def _look_up(self, endpoints: Sequence[str]) -> None:
        if unseen := self.keys.unseen(endpoints):
            await anyio.to_thread.run_sync(lambda: [self.keys.find(name) for name in unseen])
