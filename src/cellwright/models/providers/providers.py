"""Every provider behind one method: a request goes in, pieces and the whole answer come out.

Where a provider makes answers in the background, one is asked for once, then fetched by its id until it is there.
"""

from __future__ import annotations

import hashlib
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterator, Mapping, Sequence
from contextlib import aclosing, asynccontextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final, cast

import anyio
import anyio.to_thread
from pydantic_ai.messages import (
    ModelMessage,
    ModelResponse,
    ModelResponseStreamEvent,
    PartDeltaEvent,
    PartStartEvent,
)

from cellwright.errors import Unavailable, UserError
from cellwright.models.calls import FailureKind, Request
from cellwright.models.config.catalogue import ProbeResult, Traits, traits_of
from cellwright.models.config.configuration import Configuration, Endpoint, Kind
from cellwright.models.config.keys import key_remedy
from cellwright.models.config.names import ModelName
from cellwright.models.providers.failures import BrokenAnswer, failure_of
from cellwright.models.providers.request_adapter import AsText, finish, prepare
from cellwright.models.providers.sdk_clients import CONNECTION, build_model, closing_responses, open_http
from cellwright.network import NetworkSettings

if TYPE_CHECKING:
    from pydantic_ai.models import Model, ModelRequestParameters, StreamedResponse
    from pydantic_ai.settings import ModelSettings

    from cellwright.models.providers.sdk_clients import Http


_PASSING: Final[frozenset[FailureKind]] = frozenset(
    {"connection", "timed-out", "server-error", "overloaded", "rate-limited"}
)
_MAX_FAILED_POLLS: Final = 5
_INITIAL_POLL_INTERVAL_SECONDS: Final = 0.25
_MAX_POLL_INTERVAL_SECONDS: Final = 4.0
_CANCEL_TIMEOUT_SECONDS: Final = 5.0


def pending(model: Model, provider_response_id: str) -> ModelResponse:
    """Stands for an answer that is still being made."""
    return ModelResponse(
        parts=[],
        model_name=model.model_name,
        provider_name=model.system,
        provider_response_id=provider_response_id,
        provider_details={"background": True},
        state="suspended",
    )


async def answer_in_background(
    model: Model,
    messages: list[ModelMessage],
    settings: ModelSettings,
    parameters: ModelRequestParameters,
    response: ModelResponse | None = None,
    on_id: Callable[[str | None], None] | None = None,
) -> ModelResponse:
    """The whole answer: of `response` if it was asked for before. Cancelling stops it at the provider too."""
    if response is None:
        response = await model.request(messages, settings, parameters)
    if on_id is not None:
        on_id(response.provider_response_id)
    try:
        wait_seconds, failed_looks = _INITIAL_POLL_INTERVAL_SECONDS, 0
        while response.state == "suspended":
            try:
                response = await model.request([*messages, response], settings, parameters)
                failed_looks = 0
            except Exception as error:
                failed_looks += 1
                if failure_of(error)[0] not in _PASSING or failed_looks > _MAX_FAILED_POLLS:
                    raise
            if response.state == "suspended":
                await anyio.sleep(wait_seconds)
                wait_seconds = min(2 * wait_seconds, _MAX_POLL_INTERVAL_SECONDS)
    except BaseException:
        with anyio.move_on_after(_CANCEL_TIMEOUT_SECONDS, shield=True):
            await _cancel(model, response)
        raise
    return response


async def _cancel(model: Model, response: ModelResponse) -> None:
    try:
        await model.cancel_suspended_response(response)
    except Exception as error:  # noqa: BLE001 - the call has ended already; what it ended with is what counts
        failure_of(error)


__all__ = ["Providers", "failure_of"]

TAKES_IDEMPOTENCY_KEY: Final[frozenset[Kind]] = frozenset(
    {"openai-chat", "openai-responses", "ollama", "anthropic", "groq"}
)
"""Whose SDKs let a header through. Providers ignore it where they do not honour it; company gateways often do."""

_SAMPLING: Final = frozenset({"temperature", "top_p", "top_k", "presence_penalty", "frequency_penalty"})
AnswerEvent = ModelResponseStreamEvent | ModelResponse
_Fingerprint = bytes | None
_KnownAs = tuple[ModelName, _Fingerprint, NetworkSettings | None]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Put:
    """A request as one model gets it."""

    model: Model
    messages: list[ModelMessage]
    settings: ModelSettings
    parameters: ModelRequestParameters


class Providers:
    """Every model of a configuration, asked through pools of connections that live as long as this does."""

    def __init__(self, configuration: Configuration, probed: Mapping[ModelName, ProbeResult] | None = None) -> None:
        self._configuration = configuration
        self._probed = dict(probed or {})
        self._pools: dict[tuple[str, bool, NetworkSettings | None], Http] = {}
        self._building = anyio.Lock()
        self._models: dict[_KnownAs, tuple[Model, Traits]] = {}

    async def aclose(self) -> None:
        """Closes every connection. Nothing may be asked afterwards."""
        pools, self._pools = self._pools, {}
        self._models.clear()
        for pool in pools.values():
            await pool.aclose()

    def traits(self, name: ModelName) -> Traits:
        """What this model can do. Raises `UserError`."""
        return traits_of(name, self._configuration, self._probed)

    def learn(self, name: ModelName, probed: ProbeResult) -> None:
        """From now on ask this model as a probe has shown it wants to be asked."""
        self._probed[name] = probed
        for known in [known for known in self._models if known[0] == name]:
            del self._models[known]

    def model(self, name: ModelName, key: str | None) -> Model:
        """pydantic-ai's model, as it is. Raises `UserError` or `Unavailable`."""
        return self._model(name, key)[0]

    @asynccontextmanager
    async def ask(
        self,
        name: ModelName,
        request: Request,
        *,
        stream: bool,
        key: str | None,
        idempotency_key: str | None = None,
        on_provider_id: Callable[[str], None] | None = None,
    ) -> AsyncGenerator[AsyncIterator[AnswerEvent]]:
        """Starts and deltas of parts while streaming, then the whole answer; leaving closes the connection.

        A response followed by an error only tells what was used. `on_provider_id` hears the provider's id of the
        answer as soon as it is known.
        """
        on_id = _Once(on_provider_id)
        put = await self._put(name, request, key, idempotency_key)
        if self._configuration.endpoint(name).background:
            events = _in_background(put, request, stream=stream, on_id=on_id)
        else:
            events = _streamed(put, request, on_id) if stream else _whole(put, request, on_id)
        async with aclosing(events) as told:
            yield told

    @asynccontextmanager
    async def ask_as(
        self, name: ModelName, request: Request, *, tools: bool, schema: bool, key: str | None
    ) -> AsyncGenerator[AsyncIterator[AnswerEvent]]:
        """The same, asked as if the model could do this and nothing else: to find out whether it can."""
        endpoint = self._configuration.endpoint(name)
        traits = replace(self.traits(name), tools=tools, schema=schema)
        pool = self._pool(endpoint, key)
        model = await anyio.to_thread.run_sync(build_model, endpoint, name.model, key, pool, traits)
        put = _put(endpoint, model, traits, request, None)
        async with aclosing(_whole(put, request, _Once(None))) as told:
            yield told

    async def resume(
        self, name: ModelName, request: Request, provider_response_id: str, key: str | None
    ) -> ModelResponse:
        """The answer to a background request sent earlier, perhaps by another process. Waits until it is there."""
        if not self._configuration.endpoint(name).background:
            raise UserError(f"{name} is not asked in the background.", hint="See `background` in docs/models.md.")
        put = await self._put(name, request, key, None)
        first = pending(put.model, provider_response_id)
        response = await answer_in_background(put.model, put.messages, put.settings, put.parameters, first)
        return finish(response, request)

    async def embed(self, name: ModelName, texts: Sequence[str], key: str | None) -> list[list[float]]:
        """One vector per text, in order. Raises `UserError` where the endpoint has none."""
        from cellwright.models.providers.sdk_clients import embed

        endpoint = self._configuration.endpoint(name)
        return await embed(endpoint, name.model, texts, key, self._pool(endpoint, key))

    async def warm(self, name: ModelName, key: str | None) -> None:
        """Loads what asking this model needs, so that the first call does not wait for it."""
        await self._ready(name, key)

    async def _put(self, name: ModelName, request: Request, key: str | None, idempotency_key: str | None) -> _Put:
        model, traits = await self._ready(name, key)
        return _put(self._configuration.endpoint(name), model, traits, request, idempotency_key)

    async def _ready(self, name: ModelName, key: str | None) -> tuple[Model, Traits]:
        if (found := self._models.get(_known_as(name, key))) is not None:
            return found
        async with self._building:
            # An SDK takes seconds to load: other calls go on meanwhile.
            return await anyio.to_thread.run_sync(self._model, name, key)

    def _model(self, name: ModelName, key: str | None) -> tuple[Model, Traits]:
        known = _known_as(name, key)
        if (found := self._models.get(known)) is not None:
            return found
        endpoint, traits = self._configuration.endpoint(name), self.traits(name)
        if key is None and endpoint.key == "required":
            raise Unavailable(f"There is no key for {endpoint.name!r}.", hint=key_remedy(endpoint.name))
        model = build_model(endpoint, name.model, key, self._pool(endpoint, key), traits)
        self._models[known] = model, traits
        return model, traits

    def _pool(self, endpoint: Endpoint, key: str | None) -> Http:
        has_key = key is not None
        known = endpoint.name, has_key, CONNECTION.get()
        if known not in self._pools:
            self._pools[known] = open_http(endpoint, has_key=has_key, connection=CONNECTION.get())
        return self._pools[known]


def _known_as(name: ModelName, key: str | None) -> _KnownAs:
    return name, None if key is None else hashlib.sha256(key.encode()).digest(), CONNECTION.get()


def _put(endpoint: Endpoint, model: Model, traits: Traits, request: Request, idempotency_key: str | None) -> _Put:
    messages, parameters, settings = prepare(request, traits)
    given = {name: value for name, value in settings.items() if name not in _ignored(model, settings)}
    if request.tools and not traits.tools:
        from cellwright.models.providers.constrained_output import ConstrainedModel

        model = ConstrainedModel(model, schema=traits.schema)
    if idempotency_key is not None and endpoint.kind in TAKES_IDEMPOTENCY_KEY:
        given["extra_headers"] = {"Idempotency-Key": _as_header(idempotency_key)}
    return _Put(
        model=model,
        messages=model.prepare_messages(messages, parameters),
        settings=cast("ModelSettings", given),
        parameters=parameters,
    )


def _ignored(model: Model, settings: ModelSettings) -> frozenset[str]:
    """Settings this model does not take: left out here, where pydantic-ai would warn at each call."""
    profile = model.profile
    may_not_think = profile.get("openai_supports_reasoning_effort_none", False)
    is_asked = settings.get("thinking", profile.get("thinking_enabled_by_default", False)) is not False
    thinks = is_asked or profile.get("thinking_always_enabled", False) or not may_not_think
    is_reasoning = profile.get("openai_supports_reasoning", False) and thinks
    if is_reasoning or profile.get("anthropic_disallows_sampling_settings", False):
        return model.unsupported_settings | _SAMPLING
    return model.unsupported_settings


class _Once:
    """Tells the provider's id once."""

    __slots__ = ("_tell",)

    def __init__(self, tell: Callable[[str], None] | None) -> None:
        self._tell = tell

    def __bool__(self) -> bool:
        return self._tell is not None

    def __call__(self, provider_id: str | None) -> None:
        if self._tell is not None and provider_id:
            self._tell(provider_id)
            self._tell = None


async def _whole(put: _Put, request: Request, on_id: _Once) -> AsyncGenerator[AnswerEvent]:
    response = await put.model.request(put.messages, put.settings, put.parameters)
    on_id(response.provider_response_id)
    for told in _ended(response, request):
        yield told


async def _streamed(put: _Put, request: Request, on_id: _Once) -> AsyncGenerator[AnswerEvent]:
    translate = AsText() if put.parameters.output_mode == "tool" else None
    asked = put.model.request_stream(put.messages, put.settings, put.parameters)
    async with closing_responses(), asked as stream:
        try:
            async for event in stream:
                if on_id:
                    on_id(stream.provider_response_id)
                # Ends of parts repeat what was told; what is final only an agent can say.
                if isinstance(event, PartDeltaEvent | PartStartEvent):
                    yield event if translate is None else translate(event)
        except Exception:
            if stream.usage.has_values():
                yield stream.get()
            raise
        response = _ended_stream(stream)
    for told in _ended(response, request):
        yield told


async def _in_background(put: _Put, request: Request, *, stream: bool, on_id: _Once) -> AsyncGenerator[AnswerEvent]:
    settings = cast("ModelSettings", {**put.settings, "openai_background": True})
    response = await answer_in_background(put.model, put.messages, settings, put.parameters, on_id=on_id)
    for told in _ended(response, request):
        for index, part in enumerate(told.parts if stream else ()):
            yield PartStartEvent(index=index, part=part)
        yield told


def _ended_stream(stream: StreamedResponse) -> ModelResponse:
    response = stream.get()
    if response.finish_reason is None and response.state == "complete":
        # No provider ends an answer without saying why.
        return replace(response, state="incomplete")
    return response


def _ended(response: ModelResponse, request: Request) -> Iterator[ModelResponse]:
    """The answer; or, if it is broken, what it used and then why."""
    try:
        yield finish(response, request)
    except BrokenAnswer:
        yield response
        raise


def _as_header(text: str) -> str:
    """As it is if it may stand in a header, otherwise its print."""
    return (
        text
        if text.isascii() and text.isprintable() and len(text) <= 200
        else hashlib.sha256(text.encode()).hexdigest()
    )
