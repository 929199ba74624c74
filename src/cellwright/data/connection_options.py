"""What the options of connections that are no databases may say: addresses, buckets, methods, paths. Pure."""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final
from urllib.parse import urlsplit

from cellwright.data.source_kinds import URL_KINDS, SourceKind, a_connection
from cellwright.errors import UserError

API_METHODS: Final = ("GET", "HEAD", "OPTIONS", "POST", "PUT", "PATCH", "DELETE")
S3_METHODS: Final = ("GET", "HEAD", "PUT", "POST", "DELETE")
READ_METHODS: Final = ("GET", "HEAD")
"""What is allowed unless a person said more."""
DEFAULT_HEADER: Final = "Authorization"
DEFAULT_FORM: Final = "Bearer {secret}"
BASIC_FORM: Final = "Basic"
"""The secret is `user:password`, sent as HTTP's own scheme."""
DEFAULT_REGION: Final = "us-east-1"
_HOST: Final = re.compile(r"[a-z0-9](?:[a-z0-9.-]*[a-z0-9])?")
_PATH: Final = re.compile(r"(?:/[A-Za-z0-9._~!$&'()+;=:@-]+)*/?")
"""Plain characters only: what two readers could read in two ways is no prefix."""
_BUCKET: Final = re.compile(r"[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]")
_PREFIX: Final = re.compile(r"[A-Za-z0-9._~!$&'()+;=:@/ -]*")
_REGION: Final = re.compile(r"[a-z0-9-]{1,40}")
_KEY_ID: Final = re.compile(r"[A-Za-z0-9._/@+=-]{1,200}")
_TOKEN: Final = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]{1,100}")
_ACCOUNT: Final = re.compile(r"[a-z0-9][a-z0-9-]{1,62}")
_UNFIT_HEADERS: Final = frozenset(
    {"host", "connection", "content-length", "transfer-encoding", "te", "trailer", "upgrade", "expect", "cookie"}
)


@dataclass(frozen=True, slots=True, kw_only=True)
class WebAddress:
    """Where a connection leads over HTTP."""

    scheme: str
    host: str
    """Small letters, or an IP address without brackets."""
    port: int
    base: str = ""
    """The path that all others are below, without a slash at its end; empty: the whole host."""

    @property
    def is_loopback(self) -> bool:
        """Whether it is this machine."""
        try:
            return ipaddress.ip_address(self.host).is_loopback
        except ValueError:
            return self.host == "localhost"

    @property
    def authority(self) -> str:
        """Host and port as a `Host` header says them."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return host if self.port == _default_port(self.scheme) else f"{host}:{self.port}"


@dataclass(frozen=True, slots=True, kw_only=True)
class BucketPrefix:
    """A bucket, or what is in it below a prefix."""

    bucket: str
    prefix: str = ""
    """Keys begin with it, as they are written; a folder's ends with a slash. Empty: the whole bucket."""


def read_address(text: str, *, tls: str = "") -> WebAddress:
    """The address. Raises `UserError` for one that is none, and for plain HTTP to another machine unless TLS is off."""
    try:
        parts = urlsplit(text)
        port = parts.port
    except ValueError:
        raise _not_an_address(text) from None
    is_plain = parts.scheme in {"http", "https"} and not (parts.query or parts.fragment or "@" in parts.netloc)
    base = parts.path.rstrip("/")
    if not (is_plain and _is_host(parts.hostname or "") and is_plain_path(base) and port != 0):
        raise _not_an_address(text)
    scheme, host = parts.scheme, (parts.hostname or "").lower()
    found = WebAddress(scheme=scheme, host=host, port=port or _default_port(scheme), base=base)
    if scheme == "http" and not found.is_loopback and tls != "off":
        raise UserError(
            f"{host} would be spoken with in plain text, and others could read the secret.",
            hint="Write https://, or say tls=off if you want that.",
        )
    return found


def is_plain_path(path: str) -> bool:
    """Whether a path is empty or written so that nobody can read it in two ways."""
    return _PATH.fullmatch(path) is not None and not {".", ".."} & set(path.split("/"))


def read_words(text: str) -> tuple[str, ...]:
    """What is between commas."""
    return tuple(word.strip() for word in text.split(",") if word.strip())


def read_methods(options: Mapping[str, str], known: tuple[str, ...]) -> tuple[str, ...]:
    """The methods that requests may have. Raises `UserError` for one that there is not."""
    methods = tuple(word.upper() for word in read_words(options.get("methods", ""))) or READ_METHODS
    for method in methods:
        if method not in known:
            raise UserError(f"{method!r} is no method here.", hint=f"Any of: {', '.join(known)}.")
    return methods


def read_buckets(text: str) -> tuple[BucketPrefix, ...]:
    """Buckets and prefixes. Raises `UserError`."""
    buckets = list[BucketPrefix]()
    for word in read_words(text):
        bucket, _, prefix = word.removeprefix("s3://").partition("/")
        is_prefix = _PREFIX.fullmatch(prefix) and not {".", ".."} & set(prefix.split("/")) and "//" not in f"/{prefix}"
        if not (_BUCKET.fullmatch(bucket) and ".." not in bucket and is_prefix):
            raise UserError(f"{word[:80]!r} is no bucket.", hint="Write bucket or bucket/prefix, with commas between.")
        # A prefix is a folder: `sales` is not to open `sales-secret`.
        buckets.append(BucketPrefix(bucket=bucket, prefix=f"{prefix.rstrip('/')}/" if prefix else ""))
    if not buckets:
        raise UserError("No bucket is named.", hint="Write buckets=BUCKET or buckets=BUCKET/PREFIX,OTHER.")
    return tuple(buckets)


def read_paths(options: Mapping[str, str]) -> tuple[str, ...]:
    """Prefixes of paths below the connection's `url`; none: all. Raises `UserError`."""
    paths = read_words(options.get("paths", ""))
    for path in paths:
        if not path.startswith("/") or not is_plain_path(path):
            raise UserError(f"{path[:80]!r} is no path.", hint="Write /path/below/the/url, with commas between.")
    return paths


def check_options(kind: SourceKind, options: Mapping[str, str]) -> None:
    """Raises `UserError` for the first value that cannot be meant."""
    tls = options.get("tls", "")
    if kind in URL_KINDS or kind == "s3":
        _check_tls(kind, tls)
    if kind in URL_KINDS:
        read_address(options["url"], tls=tls)
    if endpoint := options.get("endpoint"):
        read_address(endpoint, tls=tls)
    if kind == "s3":
        read_buckets(options["buckets"])
        read_methods(options, S3_METHODS)
        _check_form(_REGION, options.get("region", DEFAULT_REGION), "region", "As in eu-central-1.")
        _check_form(_KEY_ID, options["access_key_id"], "access key id", "It is the one beside the secret access key.")
    elif kind == "api":
        read_methods(options, API_METHODS)
        read_paths(options)
        _check_secret_header(options)
        _check_document(options.get("openapi", ""))
    _check_stores(kind, options)


def _check_tls(kind: SourceKind, tls: str) -> None:
    if tls not in {"", "off", "verify"}:
        raise UserError(
            f"{a_connection(kind)} checks certificates, or has no TLS.", hint="tls is verify, or off for http://."
        )


def _check_secret_header(options: Mapping[str, str]) -> None:
    header, form = options.get("header", DEFAULT_HEADER), options.get("form", DEFAULT_FORM)
    if not _TOKEN.fullmatch(header) or header.lower() in _UNFIT_HEADERS:
        raise UserError(f"The secret cannot be in a header {header[:80]!r}.", hint="As in Authorization or X-Api-Key.")
    if form != BASIC_FORM and (form.count("{secret}") != 1 or not form.isascii()):
        raise UserError(
            f"{form[:80]!r} does not say where the secret belongs.",
            hint="Write 'Bearer {secret}', '{secret}', or Basic for a secret that is user:password.",
        )


def _check_document(where: str) -> None:
    if where and not where.startswith(("/", "file:/")):
        raise UserError(
            f"{where[:80]!r} is no place of an OpenAPI document.",
            hint="Write /path/on/the/api.json, or file:/whole/path of a file on this machine.",
        )


def _check_stores(kind: SourceKind, options: Mapping[str, str]) -> None:
    if kind in {"sftp", "smb"} and not _is_host(options["host"].lower()):
        raise UserError(f"{options['host'][:80]!r} is no host.", hint="A name or an IP address, without a port.")
    if kind == "smb" and re.search(r"[\\/:*?\"<>|]", options["share"]):
        raise UserError(f"{options['share'][:80]!r} is no share.", hint="Its name only; `path` is inside of it.")
    if kind == "gcs":
        _check_form(_BUCKET, options["bucket"], "bucket", "Its name only; `prefix` is inside of it.")
    if kind == "azure":
        _check_form(_ACCOUNT, options["account"], "account", "Its name only.")
        _check_form(_BUCKET, options["container"], "container", "Its name only; `prefix` is inside of it.")
    inside = [options.get(name, "") for name in ("path", "prefix")] if kind in {"sftp", "smb", "gcs", "azure"} else []
    if any({".", ".."} & set(re.split(r"[\\/]", path)) for path in inside):
        raise UserError("A path has no . and no .. in it.", hint="Write where it leads.")


def _check_form(form: re.Pattern[str], value: str, what: str, hint: str) -> None:
    if not form.fullmatch(value):
        raise UserError(f"{value[:80]!r} is no {what}.", hint=hint)


def _is_host(host: str) -> bool:
    try:
        return bool(ipaddress.ip_address(host))
    except ValueError:
        return _HOST.fullmatch(host.lower()) is not None and ".." not in host and len(host) < 254


def _default_port(scheme: str) -> int:
    return 443 if scheme == "https" else 80


def _not_an_address(text: str) -> UserError:
    # A password could be in it: it is not repeated.
    shown = repr(text[:80]) if "@" not in text else "That"
    return UserError(f"{shown} is no address.", hint="Write https://host, https://host:port or https://host/path.")
