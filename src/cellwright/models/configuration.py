"""Which models there are, where they are asked and in what order: the values of a `models.toml`.

No key is ever in here; headers and proxies may carry secrets of their own and are kept out of every text.
"""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Final, Literal, get_args
from urllib.parse import SplitResult, urlsplit

from cellwright.errors import UserError
from cellwright.models.names import TIERS, ModelName, Tier
from cellwright.models.toml_tables import Fault, Table, read_tables
from cellwright.policy import Money, parse_money

Kind = Literal["openai-chat", "openai-responses", "anthropic", "google", "groq", "mistral", "ollama"]
"""How an endpoint is spoken to."""
KINDS: Final[tuple[Kind, ...]] = get_args(Kind)


@dataclass(frozen=True, slots=True, kw_only=True)
class Endpoint:
    """A place where models are asked."""

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
class Beliefs:
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
    models: Mapping[ModelName, Beliefs] = field(default_factory=lambda: MappingProxyType({}))
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
        usable = tuple(name for name in everything if self.is_ready(name, ready))
        return usable or everything

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

    def beliefs(self, name: ModelName) -> Beliefs:
        """What the person says about this model."""
        return self.models.get(name, Beliefs())

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
_KEY_WORDS: Final = ("required", "none")
_PROXY_SCHEMES: Final = ("http", "https", "socks5", "socks5h")

_TABLES: Final = ("tiers", "endpoints", "models", "cache")
_ENDPOINT_KEYS: Final = (
    "kind", "base_url", "key", "headers", "ca_file", "proxy", "local", "models", "background",
)  # fmt: skip
_MODEL_KEYS: Final = (
    "tools", "schema", "images", "reasoning", "context", "input_price_per_million", "output_price_per_million",
)  # fmt: skip


def read_configuration(text: str, origin: str) -> Configuration:
    """What a `models.toml` says. Raises `UserError` for its first mistake; `origin` is how messages name the file.

    Nothing is skipped: an unknown table, key or word is an error. A value that could be a key is never shown.
    """
    try:
        return _configuration(read_tables(text))
    except Fault as fault:
        at = f", line {fault.place.line}, column {fault.place.column}" if fault.place else ""
        raise UserError(f"{origin}{at}: {fault.message}", hint=fault.hint) from None


def _configuration(root: Table) -> Configuration:
    root.check_keys(_TABLES, what="table")
    cache = root.table("cache")
    cache.check_keys(("enabled",), what="key")
    endpoints = _endpoints(root.table("endpoints"))
    return Configuration(
        tiers=MappingProxyType(_tiers(root.table("tiers"), endpoints)),
        endpoints=MappingProxyType(endpoints),
        models=MappingProxyType(_models(root.table("models"), endpoints)),
        cache=cache.flag("enabled") or False,
    )


def _tiers(table: Table, endpoints: Mapping[str, Endpoint]) -> dict[Tier, tuple[ModelName, ...]]:
    table.check_keys(TIERS, what="tier")
    tiers = dict[Tier, tuple[ModelName, ...]]()
    for tier in TIERS:
        if tier in table.data:
            names = tuple(_model_name(table, tier, text, endpoints) for text in table.texts(tier))
            if not names:
                table.refuse(tier, f"the tier {tier!r} names no model.", "Name one, or leave the line out.")
            tiers[tier] = tuple(dict.fromkeys(names))
    return tiers


def _model_name(table: Table, key: str, text: str, endpoints: Mapping[str, Endpoint]) -> ModelName:
    try:
        name = ModelName.parse(text)
    except UserError as error:
        table.refuse(key, error.message, error.hint)
    if name.provider not in endpoints:
        known = ", ".join(sorted(endpoints))
        table.refuse(key, f"{text!r} names no known endpoint.", f"Known: {known}. Or add [endpoints.{name.provider}].")
    return name


def _endpoints(table: Table) -> dict[str, Endpoint]:
    endpoints = dict(BUILT_IN_ENDPOINTS)
    for name in table.data:
        if _ENDPOINT_NAME.fullmatch(name) is None:
            table.refuse(name, f"{name!r} cannot name an endpoint.", "Small letters, digits and hyphens.")
        endpoints[name] = _endpoint(name, table.table(name))
    return endpoints


def _endpoint(name: str, table: Table) -> Endpoint:
    table.check_keys(_ENDPOINT_KEYS, what="key")
    known = BUILT_IN_ENDPOINTS.get(name)
    kind = table.word("kind", KINDS) or (known.kind if known else None)
    if kind is None:
        table.refuse(None, f"the endpoint {name!r} has no kind.", f"Write kind = one of {', '.join(KINDS)}.")
    base_url = _base_url(table)
    if base_url is None and known is not None and kind == known.kind:
        base_url = known.base_url
    if base_url is None and (known is None or kind == "ollama"):
        table.refuse(None, f"the endpoint {name!r} has no base_url.", 'Write base_url = "http://…".')
    is_here = is_loopback(urlsplit(base_url).hostname or "") if base_url else False
    endpoint = Endpoint(
        name=name,
        kind=kind,
        base_url=base_url,
        headers=_headers(table),
        ca_file=_ca_file(table),
        proxy=_proxy(table),
        local=_local(table, is_here=is_here),
        key="none" if is_here else "required",
        models=table.texts("models"),
        background=table.flag("background") or False,
    )
    if endpoint.background and kind != "openai-responses":
        table.refuse("background", f"{kind!r} has no background answers.", 'Only kind = "openai-responses" has them.')
    return _with_key(table, endpoint)


def _with_key(table: Table, endpoint: Endpoint) -> Endpoint:
    if "key" not in table.data:
        return endpoint
    for word in _KEY_WORDS:
        if table.data["key"] == word:
            return replace(endpoint, key=word)
    # Not shown: it may well be one.
    return table.refuse(
        "key", 'key must be "required" or "none".',
        f"A key is never in this file: give it with `cellwright models set-key {endpoint.name}`.",
    )  # fmt: skip


def _local(table: Table, *, is_here: bool) -> bool:
    wanted = table.flag("local")
    if wanted and not is_here:
        table.refuse(
            "local", "this endpoint is on another machine.", "Only a base_url on localhost keeps what is asked here."
        )
    if "proxy" in table.data and is_here and wanted is not False:
        table.refuse("proxy", "a local endpoint needs no proxy.", "Leave it out, or write local = false.")
    return is_here if wanted is None else wanted


def _base_url(table: Table) -> str | None:
    text = table.text("base_url")
    if text is None:
        return None
    parts = _url(table, "base_url", text, ("http", "https"))
    if parts.username or parts.password or parts.query or parts.fragment:
        table.refuse(
            "base_url", "a base_url has no user, password, query or fragment.", "Secrets go to `models set-key`."
        )
    return text


def _proxy(table: Table) -> str | None:
    text = table.text("proxy")
    if text is not None:
        _url(table, "proxy", text, _PROXY_SCHEMES)
    return text


def _url(table: Table, key: str, text: str, schemes: Collection[str]) -> SplitResult:
    hint = f'Write {key} = "{next(iter(schemes))}://host:port…".'
    try:
        parts = urlsplit(text)
        host, _ = parts.hostname, parts.port
    except ValueError:
        table.refuse(key, f"{key!r} is not a URL.", hint)
    if parts.scheme not in schemes or not host or not text.isprintable() or " " in text:
        table.refuse(key, f"{key!r} is not a URL of {' or '.join(schemes)}.", hint)
    return parts


def _ca_file(table: Table) -> str | None:
    text = table.text("ca_file")
    if text is not None and not text.startswith("/"):
        table.refuse("ca_file", "ca_file must be a whole path.", "It starts with a slash.")
    return text


def _headers(table: Table) -> Mapping[str, str]:
    found = table.table("headers")
    for name, value in found.data.items():
        if _HEADER_NAME.fullmatch(name) is None or name.lower() in _SET_BY_US:
            table.refuse("headers", f"{name!r} is not a header to set here.", "Leave it out.")
        if not isinstance(value, str) or _HEADER_VALUE.fullmatch(value) is None:
            table.refuse("headers", f"the header {name!r} must be a text of ASCII characters.", "Without line breaks.")
    return MappingProxyType(dict(found.data))


def _models(table: Table, endpoints: Mapping[str, Endpoint]) -> dict[ModelName, Beliefs]:
    models = dict[ModelName, Beliefs]()
    for text in table.data:
        name = _model_name(table, text, text, endpoints)
        models[name] = _beliefs(table.table(text))
    return models


def _beliefs(table: Table) -> Beliefs:
    table.check_keys(_MODEL_KEYS, what="key")
    context = table.data.get("context")
    if context is not None and (not isinstance(context, int) or isinstance(context, bool) or context < 1):
        table.refuse("context", "'context' must be a number of tokens.", "Such as context = 8192.")
    prices = [_price(table, key) for key in ("input_price_per_million", "output_price_per_million")]
    known = [price for price in prices if price is not None]
    if len(known) == 1 or len({price.currency for price in known}) > 1:
        table.refuse(
            None, "both prices are needed, in one currency.", "input_price_per_million and output_price_per_million."
        )
    return Beliefs(
        tools=table.flag("tools"),
        schema=table.flag("schema"),
        images=table.flag("images"),
        reasoning=table.flag("reasoning"),
        context_tokens=context,
        input_price_per_million=prices[0],
        output_price_per_million=prices[1],
    )


def _price(table: Table, key: str) -> Money | None:
    text = table.text(key)
    if text is None:
        return None
    money = parse_money(text)
    if money is None:
        table.refuse(key, f"{text!r} is no price.", f'Write {key} = "0.10 USD".')
    return money
