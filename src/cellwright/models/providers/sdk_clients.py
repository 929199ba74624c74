"""The provider SDKs: one connection pool per endpoint, with pydantic-ai's models and embeddings on top of it."""

from __future__ import annotations

import ssl
from collections.abc import AsyncGenerator, Awaitable, Callable, Generator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager
from contextvars import ContextVar
from http.cookiejar import CookieJar, DefaultCookiePolicy
from importlib import import_module
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlsplit

import anyio
import httpx2

from cellwright.errors import Unavailable, UserError
from cellwright.models.config.catalogue import Traits
from cellwright.models.config.configuration import Endpoint, Kind
from cellwright.models.providers.failures import BrokenAnswer
from cellwright.network import NetworkSettings

if TYPE_CHECKING:
    import httpx
    from pydantic_ai.models import Model
    from pydantic_ai.profiles import ModelProfile
    from pydantic_ai.profiles.openai import OpenAIModelProfile
    from pydantic_ai.providers import Provider

    Http = httpx2.AsyncClient | httpx.AsyncClient


NO_KEY: Final = "no-key"
"""SDKs want one where none is needed; it is taken out of every request again."""
_KEY_HEADERS: Final = ("authorization", "x-api-key", "x-goog-api-key", "api-key")
_CONNECT_TIMEOUT_SECONDS: Final = 10.0
_READ_TIMEOUT_SECONDS: Final = 900.0
"""The last resort: attempts have shorter deadlines of their own."""
_MAX_CONNECTIONS: Final = 1000
_MAX_IDLE_CONNECTIONS: Final = 100
_OPENAI_ONLY: Final = ("gpt-", "o1", "o3", "o4", "chatgpt-")
"""Names of models that take `max_completion_tokens` and nothing else; every other server knows `max_tokens`."""


BEFORE_SENDING: Final[ContextVar[Callable[[], Awaitable[None]] | None]] = ContextVar("before_sending", default=None)
"""Awaited when a request is ready, before its first byte: the record is written to the disk while the SDK prepares."""
_OPENED: Final[ContextVar[list[Any] | None]] = ContextVar("opened", default=None)
"""The responses that came since somebody began to look after them."""


@asynccontextmanager
async def closing_responses() -> AsyncGenerator[None]:
    """Closes every response that came in this block, and with it the connection of one that was not read to its end.

    An SDK that reads in nested generators, as Google's does, leaves that to the garbage collector.
    """
    before, opened = _OPENED.get(), list[Any]()
    _OPENED.set(opened)
    try:
        yield
    finally:
        # Not by a token: a generator may be closed from another context than the one it began in.
        _OPENED.set(before)
        with anyio.CancelScope(shield=True):
            for response in opened:
                await response.aclose()


CONNECTION: Final[ContextVar[NetworkSettings | None]] = ContextVar("connection", default=None)
"""How whoever asks wants to be connected; None: as this process's own environment says."""


@contextmanager
def connecting_by(variables: Mapping[str, str] | None) -> Generator[None]:
    """What is begun in this block connects by these settings, to its end."""
    token = CONNECTION.set(None if variables is None else NetworkSettings.of(variables))
    try:
        yield
    finally:
        CONNECTION.reset(token)


def open_http(endpoint: Endpoint, *, has_key: bool, connection: NetworkSettings | None = None) -> Http:
    """The pool of an endpoint. Raises `Unavailable` if its certificates cannot be read, `UserError` for a bad proxy."""
    library: Any = httpx2
    if endpoint.kind == "groq":
        # Its SDK is the only one that still wants the older library.
        import httpx

        library = httpx
    headers = [_header_hook(endpoint.headers, has_key=has_key)] if endpoint.headers or not has_key else []
    return library.AsyncClient(
        verify=_trust(endpoint, connection),
        proxy=endpoint.proxy or _proxy(endpoint, connection),
        # A proxy meant for the web must not see what stays here.
        trust_env=not endpoint.local and endpoint.proxy is None and connection is None,
        # What a provider would have us remember is not our business.
        cookies=CookieJar(DefaultCookiePolicy(allowed_domains=())),
        follow_redirects=False,
        timeout=library.Timeout(_READ_TIMEOUT_SECONDS, connect=_CONNECT_TIMEOUT_SECONDS),
        limits=library.Limits(max_connections=_MAX_CONNECTIONS, max_keepalive_connections=_MAX_IDLE_CONNECTIONS),
        event_hooks={"request": [_wait_to_send, *headers], "response": [_track_response]},
    )


def _proxy(endpoint: Endpoint, connection: NetworkSettings | None) -> str | None:
    if connection is None or endpoint.local:
        return None
    url = urlsplit(address_of(endpoint))
    found = connection.proxy_for(url.scheme, url.hostname or "", url.port)
    return found.address if found is not None else None


def _trust(endpoint: Endpoint, connection: NetworkSettings | None) -> ssl.SSLContext:
    if (endpoint.base_url or "").startswith("http://"):
        # Trusts nobody: nothing here is encrypted, and reading all certificates takes longer than a call.
        return ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    if connection is None or endpoint.local:
        context = httpx2.create_ssl_context(trust_env=not endpoint.local)
    elif (file := connection.certificates) is not None:
        # In place of the usual ones, as httpx and uv have it.
        context = ssl.create_default_context(cafile=file)
    elif (folder := connection.certificate_folder) is not None:
        context = ssl.create_default_context(capath=folder)
    else:
        context = httpx2.create_ssl_context(trust_env=False)
    if endpoint.ca_file is not None:
        try:
            context.load_verify_locations(cafile=endpoint.ca_file)
        except OSError as error:
            raise Unavailable(
                f"The certificates of {endpoint.name!r} cannot be read: {error.strerror or type(error).__name__}.",
                hint=f"ca_file is {endpoint.ca_file}; it must be a PEM file.",
            ) from error
    return context


async def _wait_to_send(_: object) -> None:
    """Whatever must be kept before this request leaves is kept by then."""
    if (is_kept := BEFORE_SENDING.get()) is not None:
        await is_kept()


async def _track_response(response: object) -> None:
    if (opened := _OPENED.get()) is not None:
        opened.append(response)


def _header_hook(headers: Mapping[str, str], *, has_key: bool) -> Callable[[httpx2.Request], Awaitable[None]]:
    """Puts the endpoint's own headers on each request, last, so that they win."""

    async def put_headers(request: httpx2.Request) -> None:
        for name in () if has_key else _KEY_HEADERS:
            request.headers.pop(name, None)
        request.headers.update(headers)

    return put_headers


_MODELS: Final[Mapping[Kind, tuple[str, str, str]]] = {
    "openai-chat": ("openai", "OpenAIChatModel", "https://api.openai.com/v1"),
    "openai-responses": ("openai", "OpenAIResponsesModel", "https://api.openai.com/v1"),
    "ollama": ("ollama", "OllamaModel", ""),
    "anthropic": ("anthropic", "AnthropicModel", "https://api.anthropic.com"),
    "google": ("google", "GoogleModel", "https://generativelanguage.googleapis.com"),
    "groq": ("groq", "GroqModel", "https://api.groq.com"),
    "mistral": ("mistral", "MistralModel", "https://api.mistral.ai"),
}
"""Module and class in `pydantic_ai.models`, loaded when first asked, because an SDK takes seconds; and the provider's
address, said outright, because SDKs would also take it from the environment: a key goes nowhere else."""


def build_model(endpoint: Endpoint, model: str, key: str | None, http: Http, traits: Traits) -> Model:
    """pydantic-ai's model over the SDK of this kind of endpoint."""
    module, name, _ = _MODELS[endpoint.kind]
    cls = _loaded(f"pydantic_ai.models.{module}", name)
    profile = _profile(traits)
    if endpoint.kind in ("openai-chat", "ollama"):
        profile = _chat_profile(profile, endpoint, model)
    # Who tries again is decided elsewhere; the clients of the other SDKs are told so when they are made.
    settings = {"max_retries": 0} if endpoint.kind in ("google", "mistral") else None
    return cls(model, provider=_provider(endpoint, key, http), profile=profile, settings=settings)


def address_of(endpoint: Endpoint) -> str:
    """Where its requests go."""
    return endpoint.base_url or _MODELS[endpoint.kind][2]


def _provider(endpoint: Endpoint, key: str | None, http: Http) -> Provider[Any]:
    """pydantic-ai's provider over the SDK of this kind of endpoint."""
    kind, connection = endpoint.kind, {"api_key": key or NO_KEY, "base_url": address_of(endpoint), "http_client": http}
    if kind in ("google", "mistral"):
        return _loaded(f"pydantic_ai.providers.{kind}", f"{kind.title()}Provider")(**connection)
    if kind in ("anthropic", "groq"):
        options = {"open_telemetry": False} if kind == "anthropic" else {}
        sdk = _loaded(kind, f"Async{kind.title()}")(**connection, max_retries=0, **options)
        return _loaded(f"pydantic_ai.providers.{kind}", f"{kind.title()}Provider")(**{f"{kind}_client": sdk})
    sdk = _loaded("openai", "AsyncOpenAI")(**connection, max_retries=0)
    if kind == "ollama":
        return _loaded("pydantic_ai.providers.ollama", "OllamaProvider")(openai_client=sdk)
    if endpoint.name == "openai":
        return _loaded("pydantic_ai.providers.openai", "OpenAIProvider")(openai_client=sdk)
    compatible = _loaded("pydantic_ai.providers.openai_compatible", "OpenAICompatibleProvider")
    return compatible(endpoint.name, openai_client=sdk)


def _loaded(module: str, name: str) -> Any:
    """A class of an SDK or of pydantic-ai's layer over it, each typed narrowly; an SDK takes seconds to load."""
    return getattr(import_module(module), name)


def _profile(traits: Traits) -> ModelProfile:
    return {
        "supports_json_schema_output": traits.schema,
        "supports_image_input": traits.images,
        "supports_thinking": traits.reasoning,
        "context_window": traits.context_tokens,
    }


def _chat_profile(profile: ModelProfile, endpoint: Endpoint, model: str) -> OpenAIModelProfile:
    is_openai = endpoint.name == "openai" or model.rpartition("/")[2].startswith(_OPENAI_ONLY)
    # pyrefly: ignore[open-unpacking]  # it was made here, and has no more keys than its type
    return {
        **profile,
        # A stream that ends without one was cut off.
        "openai_chat_streaming_requires_finish_reason": True,
        "openai_chat_supports_max_completion_tokens": is_openai,
        "openai_chat_supports_multiple_system_messages": is_openai,
        "openai_supports_strict_tool_definition": is_openai,
    }


_BATCH: Final = 100
"""Limit of texts in one request that every provider takes."""


async def embed(endpoint: Endpoint, model: str, texts: Sequence[str], key: str | None, http: Http) -> list[list[float]]:
    """One vector per text, in order. Raises `UserError` where the endpoint makes none."""
    vectors = list[list[float]]()
    for start in range(0, len(texts), _BATCH):
        batch = list(texts[start : start + _BATCH])
        made = await _batch(endpoint, model, batch, key, http)
        if len(made) != len(batch):
            raise BrokenAnswer(f"{len(batch)} texts were given and {len(made)} vectors came back")
        vectors += made
    return vectors


async def _batch(endpoint: Endpoint, model: str, texts: list[str], key: str | None, http: Http) -> list[list[float]]:
    if endpoint.kind in ("anthropic", "groq"):
        raise UserError(
            f"{endpoint.name!r} makes no embeddings.",
            hint="Name a model of openai, google, mistral or ollama in the tier embed.",
        )
    provider = _provider(endpoint, key, http)
    if endpoint.kind == "mistral":
        response = await provider.client.embeddings.create_async(model=model, inputs=texts)
        return [list(one.embedding or ()) for one in response.data]
    maker, cls = ("google", "GoogleEmbeddingModel") if endpoint.kind == "google" else ("openai", "OpenAIEmbeddingModel")
    embedding = _loaded(f"pydantic_ai.embeddings.{maker}", cls)(model, provider=provider)
    made = await embedding.embed(texts, input_type="document")
    return [list(vector) for vector in made.embeddings]
