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
from cellwright.models.calls import ENDPOINT_FAILURES, Request
from cellwright.models.config.catalogue import ProbeResult, Traits, traits_of
from cellwright.models.config.configuration import Configuration, Endpoint, Kind
from cellwright.models.config.keys import key_remedy
from cellwright.models.config.names import ModelName
from cellwright.models.providers.failures import BrokenAnswer, failure_of
from cellwright.models.providers.request_adapter import AsText, finish, prepare
from cellwright.models.providers.sdk_clients import CONNECTION, build_model, closing_responses, embed, open_http
from cellwright.network import NetworkSettings

if TYPE_CHECKING:
    from pydantic_ai.models import Model, ModelRequestParameters
    from pydantic_ai.settings import ModelSettings

    from cellwright.models.providers.sdk_clients import Http


_MAX_FAILED_POLLS: Final = 5
_INITIAL_POLL_INTERVAL_SECONDS: Final = 0.25
_MAX_POLL_INTERVAL_SECONDS: Final = 4.0
_CANCEL_TIMEOUT_SECONDS: Final = 5.0


TAKES_IDEMPOTENCY_KEY: Final[frozenset[Kind]] = frozenset(
    {"openai-chat", "openai-responses", "ollama", "anthropic", "groq"}
)
"""Whose SDKs let a header through. Providers ignore it where they do not honour it; company gateways often do."""

_SAMPLING: Final = frozenset({"temperature", "top_p", "top_k", "presence_penalty", "frequency_penalty"})
OnProviderId = Callable[[str], None] | None
AnswerEvent = ModelResponseStreamEvent | ModelResponse
_KnownAs = tuple[ModelName, bytes | None, NetworkSettings | None]
"""A model, its key's hash, and how it is connected to."""


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

    @asynccontextmanager
    async def ask(
        self,
        name: ModelName,
        request: Request,
        *,
        stream: bool,
        key: str | None,
        idempotency_key: str | None = None,
        on_provider_id: OnProviderId = None,
    ) -> AsyncGenerator[AsyncIterator[AnswerEvent]]:
        """Starts and deltas of parts while streaming, then the whole answer; leaving closes the connection.

        A response followed by an error only tells what was used. `on_provider_id` hears the provider's id of the
        answer as soon as it is known.
        """
        put = await self._put(name, request, key, idempotency_key)
        if self._configuration.endpoint(name).background:
            events = _in_background(put, request, stream=stream, on_id=on_provider_id)
        else:
            events = _streamed(put, request, on_provider_id) if stream else _whole(put, request, on_provider_id)
        async with aclosing(events) as answer:
            yield answer

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
        async with aclosing(_whole(put, request, None)) as answer:
            yield answer

    async def resume(
        self, name: ModelName, request: Request, provider_response_id: str, key: str | None
    ) -> ModelResponse:
        """The answer to a background request sent earlier, perhaps by another process. Waits until it is there."""
        if not self._configuration.endpoint(name).background:
            raise UserError(f"{name} is not asked in the background.", hint="See `background` in docs/models.md.")
        put = await self._put(name, request, key, None)
        first = ModelResponse(
            parts=[],
            model_name=put.model.model_name,
            provider_name=put.model.system,
            provider_response_id=provider_response_id,
            provider_details={"background": True},
            state="suspended",
        )
        return finish(await answer_in_background(put, first), request)

    async def embed(self, name: ModelName, texts: Sequence[str], key: str | None) -> list[list[float]]:
        """One vector per text, in order. Raises `UserError` where the endpoint has none."""
        endpoint = self._configuration.endpoint(name)
        return await embed(endpoint, name.model, texts, key, self._pool(endpoint, key))

    async def load(self, name: ModelName, key: str | None) -> Model:
        """pydantic-ai's model, with all that asking it needs. Raises `UserError` or `Unavailable`."""
        return (await self._ready(name, key))[0]

    async def _put(self, name: ModelName, request: Request, key: str | None, idempotency_key: str | None) -> _Put:
        model, traits = await self._ready(name, key)
        return _put(self._configuration.endpoint(name), model, traits, request, idempotency_key)

    async def _ready(self, name: ModelName, key: str | None) -> tuple[Model, Traits]:
        known = name, None if key is None else hashlib.sha256(key.encode()).digest(), CONNECTION.get()
        if known not in self._models:
            async with self._building:
                if known not in self._models:
                    # An SDK takes seconds to load: other calls go on meanwhile.
                    self._models[known] = await anyio.to_thread.run_sync(self._build, name, key)
        return self._models[known]

    def _build(self, name: ModelName, key: str | None) -> tuple[Model, Traits]:
        endpoint, traits = self._configuration.endpoint(name), self.traits(name)
        if key is None and endpoint.key == "required":
            raise Unavailable(f"There is no key for {endpoint.name!r}.", hint=key_remedy(endpoint.name))
        return build_model(endpoint, name.model, key, self._pool(endpoint, key), traits), traits

    def _pool(self, endpoint: Endpoint, key: str | None) -> Http:
        has_key = key is not None
        known = endpoint.name, has_key, CONNECTION.get()
        if known not in self._pools:
            self._pools[known] = open_http(endpoint, has_key=has_key, connection=CONNECTION.get())
        return self._pools[known]


def _put(endpoint: Endpoint, model: Model, traits: Traits, request: Request, idempotency_key: str | None) -> _Put:
    messages, parameters, settings = prepare(request, traits)
    given = {name: value for name, value in settings.items() if name not in _ignored(model, settings)}
    if request.tools and not traits.tools:
        from cellwright.models.providers.constrained_output import ConstrainedModel

        model = ConstrainedModel(model, schema=traits.schema)
    if idempotency_key is not None and endpoint.kind in TAKES_IDEMPOTENCY_KEY:
        given["extra_headers"] = {"Idempotency-Key": idempotency_key}
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


def _report_id(response: ModelResponse, on_id: OnProviderId) -> None:
    if on_id is not None and response.provider_response_id:
        on_id(response.provider_response_id)


async def answer_in_background(
    put: _Put, response: ModelResponse | None = None, on_id: OnProviderId = None
) -> ModelResponse:
    """The whole answer: of `response` if it was asked for before. Cancelling stops it at the provider too."""
    if response is None:
        response = await put.model.request(put.messages, put.settings, put.parameters)
    _report_id(response, on_id)
    try:
        wait_seconds, failed_looks = _INITIAL_POLL_INTERVAL_SECONDS, 0
        while response.state == "suspended":
            try:
                response = await put.model.request([*put.messages, response], put.settings, put.parameters)
                failed_looks = 0
            except Exception as error:
                failed_looks += 1
                if failure_of(error)[0] not in ENDPOINT_FAILURES or failed_looks > _MAX_FAILED_POLLS:
                    raise
            if response.state == "suspended":
                await anyio.sleep(wait_seconds)
                wait_seconds = min(2 * wait_seconds, _MAX_POLL_INTERVAL_SECONDS)
    except BaseException:
        with anyio.move_on_after(_CANCEL_TIMEOUT_SECONDS, shield=True):
            try:
                await put.model.cancel_suspended_response(response)
            except Exception as error:  # noqa: BLE001 - the call has ended already; what it ended with is what counts
                failure_of(error)
        raise
    return response


async def _whole(put: _Put, request: Request, on_id: OnProviderId) -> AsyncGenerator[AnswerEvent]:
    response = await put.model.request(put.messages, put.settings, put.parameters)
    _report_id(response, on_id)
    for answer in _ended(response, request):
        yield answer


async def _streamed(put: _Put, request: Request, on_id: OnProviderId) -> AsyncGenerator[AnswerEvent]:
    translate = AsText() if put.parameters.output_mode == "tool" else None
    asked = put.model.request_stream(put.messages, put.settings, put.parameters)
    async with closing_responses(), asked as stream:
        try:
            async for event in stream:
                if on_id is not None and stream.provider_response_id:
                    on_id(stream.provider_response_id)
                    on_id = None
                # Ends of parts repeat what was told; what is final only an agent can say.
                if isinstance(event, PartDeltaEvent | PartStartEvent):
                    yield event if translate is None else translate(event)
        except Exception:
            if stream.usage.has_values():
                yield stream.get()
            raise
        response = stream.get()
        if response.finish_reason is None and response.state == "complete":
            # No provider ends an answer without saying why.
            response = replace(response, state="incomplete")
    for answer in _ended(response, request):
        yield answer


async def _in_background(
    put: _Put, request: Request, *, stream: bool, on_id: OnProviderId
) -> AsyncGenerator[AnswerEvent]:
    settings = cast("ModelSettings", {**put.settings, "openai_background": True})
    response = await answer_in_background(replace(put, settings=settings), on_id=on_id)
    for answer in _ended(response, request):
        for index, part in enumerate(answer.parts if stream else ()):
            yield PartStartEvent(index=index, part=part)
        yield answer


def _ended(response: ModelResponse, request: Request) -> Iterator[ModelResponse]:
    """The answer; or, if it is broken, what it used and then why."""
    try:
        yield finish(response, request)
    except BrokenAnswer:
        yield response
        raise
