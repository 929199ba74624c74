"""Which models there are, where they are asked and in what order: the values of a `models.toml`.

No key is ever in here; headers and proxies may carry secrets of their own and are kept out of every text.
"""

from __future__ import annotations

import ipaddress
import pathlib
import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Annotated, Final, Literal, NoReturn, get_args
from urllib.parse import SplitResult, urlsplit

from pydantic import Field

from cellwright.errors import UserError
from cellwright.models.config.keys import key_remedy
from cellwright.models.config.names import TIERS, ModelName, Tier
from cellwright.policy.money import Money, parse_money
from cellwright.policy.toml_text import Path, StrictTable, TomlText, read_toml
from cellwright.remedies import Hint

Kind = Literal["openai-chat", "openai-responses", "anthropic", "google", "groq", "mistral", "ollama"]
"""How an endpoint is spoken to."""
KINDS: Final[tuple[Kind, ...]] = get_args(Kind)


@dataclass(frozen=True, slots=True, kw_only=True)
class Endpoint:
    """Where models are asked."""

    name: str
    kind: Kind
    base_url: str | None = None
    """None: the provider's own address."""
    headers: Mapping[str, str] = field(default_factory=lambda: MappingProxyType(dict[str, str]()), repr=False)
    """Sent with every request. They may hold secrets: show only their names."""
    ca_file: str | None = None
    """Certificates trusted besides those of the system."""
    proxy: str | None = field(default=None, repr=False)
    """May hold a password: shown nowhere."""
    local: bool = False
    """What is asked here stays on this machine."""
    key: Literal["required", "none"] = "required"
    models: tuple[str, ...] = ()
    """Offered in lists; others may be asked as well."""
    background: bool = False
    """Ask in a way that an answer can be fetched after a crash (`openai-responses` only). It then comes whole."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelOverrides:
    """What the person says about a model; None where nothing is said."""

    tools: bool | None = None
    schema: bool | None = None
    images: bool | None = None
    reasoning: bool | None = None
    context_tokens: int | None = None
    input_price_per_million: Money | None = None
    output_price_per_million: Money | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Configuration:
    """Everything a `models.toml` says, with what we know ourselves where it says nothing."""

    tiers: Mapping[Tier, tuple[ModelName, ...]] = field(default_factory=lambda: MappingProxyType({}))
    """Only those the person wrote down; `chain` knows the others."""
    endpoints: Mapping[str, Endpoint] = field(default_factory=lambda: BUILT_IN_ENDPOINTS)
    models: Mapping[ModelName, ModelOverrides] = field(default_factory=lambda: MappingProxyType({}))
    cache: bool = False
    """Whether calls that ask for it may be answered from equal earlier ones."""

    def chain(self, tier: Tier, ready: frozenset[str]) -> tuple[ModelName, ...]:
        """The models of a tier in order; `ready` are the endpoints that have a key.

        What the person wrote down comes whole, so that it can be said why a model is left out. Of our own chain only
        what can be asked comes, unless that is nothing: then all, so that it can be said what is missing.
        """
        if tier in self.tiers:
            return self.tiers[tier]
        everything = tuple(name for name in BUILT_IN_CHAINS[tier] if name.provider in self.endpoints)
        return tuple(name for name in everything if self.is_ready(name, ready)) or everything

    def is_ready(self, name: ModelName, ready: frozenset[str]) -> bool:
        """Whether the model's endpoint has a key or needs none."""
        endpoint = self.endpoints.get(name.provider)
        return endpoint is not None and (endpoint.key == "none" or endpoint.name in ready)

    def endpoint(self, name: ModelName) -> Endpoint:
        """Where this model is asked. Raises `UserError`."""
        endpoint = self.endpoints.get(name.provider)
        if endpoint is None:
            known = ", ".join(sorted(self.endpoints))
            raise UserError(
                f"No endpoint is called {name.provider!r}.",
                hint=f"Known: {known}. Others are named in models.toml under [endpoints.NAME].",
            )
        return endpoint

    def overrides(self, name: ModelName) -> ModelOverrides:
        """What the person says about this model."""
        return self.models.get(name, ModelOverrides())

    def offered(self) -> tuple[ModelName, ...]:
        """Every model that is named anywhere, by name."""
        named = {name for chain in self.tiers.values() for name in chain} | set(self.models)
        named |= {name for tier in TIERS if tier not in self.tiers for name in BUILT_IN_CHAINS[tier]}
        for endpoint in self.endpoints.values():
            named |= {ModelName(endpoint.name, model) for model in endpoint.models}
        return tuple(sorted(name for name in named if name.provider in self.endpoints))


def is_loopback(host: str) -> bool:
    """Whether a host name means this machine."""
    if host == "localhost" or host.endswith(".localhost"):
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


BUILT_IN_ENDPOINTS: Final[Mapping[str, Endpoint]] = MappingProxyType(
    {
        "anthropic": Endpoint(name="anthropic", kind="anthropic"),
        "google": Endpoint(name="google", kind="google"),
        "groq": Endpoint(name="groq", kind="groq"),
        "mistral": Endpoint(name="mistral", kind="mistral"),
        "ollama": Endpoint(name="ollama", kind="ollama", base_url="http://127.0.0.1:11434/v1", local=True, key="none"),
        "openai": Endpoint(name="openai", kind="openai-responses"),
    }
)


def _chain(*names: str) -> tuple[ModelName, ...]:
    return tuple(ModelName.parse(name) for name in names)


BUILT_IN_CHAINS: Final[Mapping[Tier, tuple[ModelName, ...]]] = MappingProxyType(
    {
        "smart": _chain(
            "anthropic:claude-sonnet-5-5", "openai:gpt-6.1-terra", "google:gemini-4-argon",
            "mistral:mistral-large-latest", "groq:openai/gpt-oss-120b", "ollama:qwen3",
        ),
        "fast": _chain(
            "anthropic:claude-haiku-5-5", "openai:gpt-6-luna", "google:gemini-3.8-flash",
            "groq:openai/gpt-oss-20b", "mistral:mistral-small-latest", "ollama:qwen3",
        ),
        "code": _chain(
            "anthropic:claude-sonnet-5-5", "openai:gpt-6.1-terra", "google:gemini-4-argon",
            "mistral:codestral-latest", "groq:openai/gpt-oss-120b", "ollama:qwen2.5-coder",
        ),
        "embed": _chain(
            "openai:text-embedding-3-small", "google:gemini-embedding-001", "mistral:mistral-embed",
            "ollama:nomic-embed-text",
        ),
    }
)  # fmt: skip

_ENDPOINT_NAME: Final = re.compile(r"[a-z][a-z0-9-]{0,39}", flags=re.ASCII)
_HEADER_NAME: Final = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]{1,100}", flags=re.ASCII)
_HEADER_VALUE: Final = re.compile(r"[\x21-\x7e]([\x20-\x7e]*[\x21-\x7e])?", flags=re.ASCII)
_SET_BY_US: Final = frozenset(
    {"host", "content-length", "content-type", "transfer-encoding", "connection", "accept-encoding", "upgrade"}
)
_PROXY_SCHEMES: Final = ("http", "https", "socks5", "socks5h")

# Not strict: TOML has lists only, and a tuple can be a default.
_Texts = Annotated[tuple[str, ...], Field(strict=False)]
_SomeTexts = Annotated[tuple[str, ...], Field(strict=False, min_length=1)]


class _TiersTable(StrictTable):
    fast: _SomeTexts = ()
    smart: _SomeTexts = ()
    code: _SomeTexts = ()
    embed: _SomeTexts = ()


class _EndpointTable(StrictTable):
    kind: Kind | None = None
    base_url: str | None = None
    key: object = None
    """Checked apart: what stands here by mistake is most likely a key, and is never shown."""
    headers: dict[str, str] = Field(default_factory=dict[str, str])
    ca_file: str | None = None
    proxy: str | None = None
    local: bool | None = None
    models: _Texts = ()
    background: bool = False


class _ModelTable(StrictTable):
    tools: bool | None = None
    schema_: Annotated[bool | None, Field(alias="schema")] = None
    images: bool | None = None
    reasoning: bool | None = None
    context: Annotated[int, Field(ge=1)] | None = None
    input_price_per_million: str | None = None
    output_price_per_million: str | None = None


class _CacheTable(StrictTable):
    enabled: bool = False


class _ModelsFile(StrictTable):
    tiers: _TiersTable = _TiersTable()
    endpoints: dict[str, _EndpointTable] = Field(default_factory=dict[str, _EndpointTable])
    models: dict[str, _ModelTable] = Field(default_factory=dict[str, _ModelTable])
    cache: _CacheTable = _CacheTable()


def configuration_at(home: pathlib.Path) -> Configuration:
    """What the `models.toml` of this state directory says. Raises `UserError`. Blocking."""
    file = home / "models.toml"
    try:
        return read_configuration(file.read_text("utf-8"), str(file))
    except FileNotFoundError:
        return Configuration()
    except (OSError, UnicodeDecodeError) as error:
        raise UserError(f"Cannot read {str(file)!r}: {error}.", hint="It must be a TOML file you may read.") from error


def read_configuration(text: str, origin: str) -> Configuration:
    """What a `models.toml` says. Raises `UserError` for its first mistake; `origin` is how messages name the file.

    Nothing is skipped: an unknown table, key or word is an error. A value that could be a key is never shown.
    """
    toml = read_toml(text, origin, see="docs/models.md")
    file = toml.into(_ModelsFile)
    endpoints = dict(BUILT_IN_ENDPOINTS)
    for name, table in file.endpoints.items():
        if _ENDPOINT_NAME.fullmatch(name) is None:
            hint = "Small letters, digits and hyphens."
            toml.refuse(("endpoints", name), f"{name!r} cannot name an endpoint.", hint, at_key=True)
        endpoints[name] = _EndpointReader(toml=toml, name=name, table=table).read()
    tiers: dict[Tier, tuple[ModelName, ...]] = {}
    for tier in TIERS:
        if chain := getattr(file.tiers, tier):
            named = [_model_name(toml, endpoints, text, ("tiers", tier, at)) for at, text in enumerate(chain)]
            tiers[tier] = tuple(dict.fromkeys(named))
    models = {
        _model_name(toml, endpoints, name, ("models", name)): _overrides(toml, ("models", name), table)
        for name, table in file.models.items()
    }
    return Configuration(
        tiers=MappingProxyType(tiers),
        endpoints=MappingProxyType(endpoints),
        models=MappingProxyType(models),
        cache=file.cache.enabled,
    )


def _model_name(toml: TomlText, endpoints: Mapping[str, Endpoint], text: str, path: Path) -> ModelName:
    try:
        name = ModelName.parse(text)
    except UserError as error:
        toml.refuse(path, error.message, error.advice, at_key=True)
    if name.provider not in endpoints:
        hint = f"Known: {', '.join(sorted(endpoints))}. Or add [endpoints.{name.provider}]."
        toml.refuse(path, f"{text!r} names no known endpoint.", hint, at_key=True)
    return name


@dataclass(frozen=True, slots=True, kw_only=True)
class _EndpointReader:
    """Makes an endpoint of its table: what types alone do not say."""

    toml: TomlText
    name: str
    table: _EndpointTable

    def read(self) -> Endpoint:
        table, known = self.table, BUILT_IN_ENDPOINTS.get(self.name)
        kind = table.kind or (known.kind if known else None)
        if kind is None:
            self._refuse(None, f"the endpoint {self.name!r} has no kind.", f"Write kind = one of {', '.join(KINDS)}.")
        base_url = self._base_url()
        if base_url is None and known is not None and kind == known.kind:
            base_url = known.base_url
        if base_url is None and (known is None or kind == "ollama"):
            self._refuse(None, f"the endpoint {self.name!r} has no base_url.", 'Write base_url = "http://…".')
        if table.background and kind != "openai-responses":
            hint = 'Only kind = "openai-responses" has them.'
            self._refuse("background", f"{kind!r} has no background answers.", hint)
        if table.ca_file is not None and not table.ca_file.startswith("/"):
            self._refuse("ca_file", "ca_file must be a whole path.", "It starts with a slash.")
        if table.proxy is not None:
            self._url("proxy", table.proxy, _PROXY_SCHEMES)
        is_here = is_loopback(urlsplit(base_url).hostname or "") if base_url else False
        return Endpoint(
            name=self.name,
            kind=kind,
            base_url=base_url,
            headers=self._headers(),
            ca_file=table.ca_file,
            proxy=table.proxy,
            local=self._local(is_here=is_here),
            key=self._key("none" if is_here else "required"),
            models=table.models,
            background=table.background,
        )

    def _refuse(self, key: str | None, message: str, hint: Hint) -> NoReturn:
        self.toml.refuse(("endpoints", self.name, *([key] if key else [])), message, hint)

    def _key(self, usual: Literal["required", "none"]) -> Literal["required", "none"]:
        match self.table.key:
            case None:
                return usual
            case "required" | "none" as word:
                return word
            case _:
                # Not shown: it may well be one.
                hint = key_remedy(self.name).after("A key is never in this file:")
                self._refuse("key", 'key must be "required" or "none".', hint)

    def _local(self, *, is_here: bool) -> bool:
        wanted = self.table.local
        if wanted and not is_here:
            hint = "Only a base_url on localhost keeps what is asked here."
            self._refuse("local", "this endpoint is on another machine.", hint)
        if self.table.proxy is not None and is_here and wanted is not False:
            self._refuse("proxy", "a local endpoint needs no proxy.", "Leave it out, or write local = false.")
        return is_here if wanted is None else wanted

    def _base_url(self) -> str | None:
        text = self.table.base_url
        if text is not None:
            parts = self._url("base_url", text, ("http", "https"))
            if parts.username or parts.password or parts.query or parts.fragment:
                message = "a base_url has no user, password, query or fragment."
                self._refuse("base_url", message, "Secrets go to `models set-key`.")
        return text

    def _url(self, key: str, text: str, schemes: Collection[str]) -> SplitResult:
        hint = f'Write {key} = "{next(iter(schemes))}://host:port…".'
        try:
            parts = urlsplit(text)
            host, _ = parts.hostname, parts.port
        except ValueError:
            self._refuse(key, f"{key!r} is not a URL.", hint)
        if parts.scheme not in schemes or not host or not text.isprintable() or " " in text:
            self._refuse(key, f"{key!r} is not a URL of {' or '.join(schemes)}.", hint)
        return parts

    def _headers(self) -> Mapping[str, str]:
        for name, value in self.table.headers.items():
            if _HEADER_NAME.fullmatch(name) is None or name.lower() in _SET_BY_US:
                self._refuse("headers", f"{name!r} is not a header to set here.", "Leave it out.")
            if _HEADER_VALUE.fullmatch(value) is None:
                message = f"the header {name!r} must be a text of ASCII characters."
                self._refuse("headers", message, "Without line breaks.")
        return MappingProxyType(dict(self.table.headers))


def _overrides(toml: TomlText, path: Path, table: _ModelTable) -> ModelOverrides:
    input_price = _price(toml, (*path, "input_price_per_million"), table.input_price_per_million)
    output_price = _price(toml, (*path, "output_price_per_million"), table.output_price_per_million)
    if (input_price and input_price.currency) != (output_price and output_price.currency):
        hint = "input_price_per_million and output_price_per_million."
        toml.refuse(path, "both prices are needed, in one currency.", hint)
    return ModelOverrides(
        tools=table.tools,
        schema=table.schema_,
        images=table.images,
        reasoning=table.reasoning,
        context_tokens=table.context,
        input_price_per_million=input_price,
        output_price_per_million=output_price,
    )


def _price(toml: TomlText, path: Path, text: str | None) -> Money | None:
    money = None if text is None else parse_money(text)
    if text is not None and money is None:
        toml.refuse(path, f"{text!r} is no price.", f'Write {path[-1]} = "0.10 USD".')
    return money
