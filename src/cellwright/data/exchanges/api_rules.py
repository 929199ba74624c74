"""What an API connection allows: methods and paths; and its secret, in one header, in place of a stand-in."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Final

from cellwright.data.connection_options import (
    API_METHODS,
    BASIC_FORM,
    DEFAULT_FORM,
    DEFAULT_HEADER,
    WebAddress,
    read_address,
    read_methods,
    read_paths,
)
from cellwright.data.exchanges.requests import CellRequest, Headers, RefusedRequest, SentRequest, read_target

STAND_IN: Final = "cellwright-secret:"
_CREDENTIALS: Final = frozenset(
    {"authorization", "x-api-key", "api-key", "apikey", "x-auth-token", "x-access-token", "private-token", "job-token",
     "x-goog-api-key", "x-amz-security-token", "proxy-authorization"}
)  # fmt: skip
"""Where credentials are. Another account at the same service is a way out for data: only the connection's is used."""
_OVERRIDES: Final = frozenset(
    {"x-http-method-override", "x-http-method", "x-method-override", "x-original-url", "x-rewrite-url",
     "x-original-method", "x-forwarded-prefix", "x-forwarded-path", "x-original-uri", "x-envoy-original-path"}
)  # fmt: skip
"""By which some servers take a request for another than it was judged as."""
_DROPPED: Final = frozenset(
    {"host", "cookie", "cookie2", "accept-encoding", "range", "if-range", "content-length", "forwarded", "via",
     "x-forwarded-for", "x-forwarded-host", "x-forwarded-proto", "x-forwarded-port", "x-real-ip"}
)  # fmt: skip
"""Written anew, or nobody's business. A range would cut an echoed secret into parts that nothing could recognise."""


def stand_in_header(name: str, options: Mapping[str, str]) -> tuple[str, str]:
    """The header that a request to this connection has, with the stand-in where the secret belongs."""
    form = options.get("form", DEFAULT_FORM)
    value = f"Basic {STAND_IN}{name}" if form == BASIC_FORM else form.replace("{secret}", f"{STAND_IN}{name}")
    return options.get("header", DEFAULT_HEADER), value


@dataclass(frozen=True, slots=True, kw_only=True)
class ApiRules:
    """One connection's rules, with its secret."""

    name: str
    address: WebAddress
    methods: tuple[str, ...]
    paths: tuple[str, ...]
    header: str
    form: str
    secret: str = field(repr=False)

    @classmethod
    def of(cls, name: str, options: Mapping[str, str], secret: str) -> ApiRules:
        """From a connection's options. Raises `UserError`."""
        return cls(
            name=name,
            address=read_address(options["url"], tls=options.get("tls", "")),
            methods=read_methods(options, API_METHODS),
            paths=read_paths(options),
            header=options.get("header", DEFAULT_HEADER).lower(),
            form=options.get("form", DEFAULT_FORM),
            secret=secret,
        )

    @property
    def hidden(self) -> tuple[str, ...]:
        """What no answer shows."""
        password = self.secret.partition(":")[2] if self.form == BASIC_FORM else ""
        return tuple(text for text in (self.secret, password) if text)

    @property
    def stand_in(self) -> str:
        """What a cell writes where the secret belongs."""
        return f"{STAND_IN}{self.name}"

    def complete(self, request: CellRequest, now: datetime) -> SentRequest | RefusedRequest:
        """The request with the connection's secret, or why it is not sent."""
        del now
        target = read_target(request.target)
        if isinstance(target, RefusedRequest):
            return target
        why = self.why_not(request.method, target.path) or (
            "_method" in dict(target.query) and "_method is not allowed here"
        )
        if why:
            return RefusedRequest(why=why)
        # Also where a server's access log would have it: a path or a query is no place for a secret.
        if STAND_IN in f"{target.path}{target.query}":
            return RefusedRequest(why=f"{STAND_IN} belongs in the header {self.header} only")
        headers = self._headers(request.headers)
        if isinstance(headers, RefusedRequest):
            return headers
        length = request.header("content-length")
        framing: Headers = (("content-length", length),) if length is not None else ()
        if request.has_body and length is None:
            framing = (("transfer-encoding", "chunked"),)
        tail = "" if target.raw_query is None else f"?{target.raw_query}"
        return SentRequest(
            method=request.method,
            target=f"{target.path}{tail}",
            headers=(("host", self.address.authority), *headers, ("accept-encoding", "identity"), *framing),
            shown=f"{request.method} {target.path}{tail}",
        )

    def why_not(self, method: str, path: str) -> str:
        """Why requests of this method and path are not sent; empty: nothing speaks against it."""
        if method not in self.methods:
            return f"{method[:20]} is not allowed: this connection takes {', '.join(self.methods)}"
        base = self.address.base
        allowed = [f"{base}{prefix}" for prefix in self.paths] or [base]
        if not any(_is_below(path, prefix) for prefix in allowed):
            return f"the path is outside of {' and '.join(prefix or '/' for prefix in allowed)}"
        return ""

    def _headers(self, headers: Headers) -> Headers | RefusedRequest:
        kept = list[tuple[str, str]]()
        for name, value in headers:
            if name == self.header:
                found = self._with_secret(value)
                if isinstance(found, RefusedRequest):
                    return found
                if found:
                    kept.append((name, found))
            elif name in _OVERRIDES:
                return RefusedRequest(why=f"the header {name} is not allowed here")
            elif name in _CREDENTIALS:
                return RefusedRequest(why=f"credentials of this connection are in the header {self.header} only")
            elif STAND_IN in f"{name}{value}".lower():
                return RefusedRequest(why=f"{STAND_IN} belongs in the header {self.header} only")
            elif name not in _DROPPED:
                kept.append((name, value))
        if sum(name == self.header for name, _ in kept) > 1:
            return RefusedRequest(why=f"the header {self.header} is there twice")
        return tuple(kept)

    def _with_secret(self, value: str) -> str | RefusedRequest:
        """The header's value with the secret, if it is the stand-in, in the connection's form or alone.

        Empty where there is no secret: an API that wants none gets no such header.
        """
        is_basic = self.form == BASIC_FORM
        wanted = f"Basic {self.stand_in}" if is_basic else self.form.replace("{secret}", self.stand_in)
        if value.strip() not in {self.stand_in, wanted} and not (is_basic and _is_stand_in(value, self.stand_in)):
            return RefusedRequest(why=f"the header {self.header} says something else than {wanted!r}")
        if not self.secret:
            return ""
        if is_basic:
            return f"Basic {base64.b64encode(self.secret.encode()).decode()}"
        return self.form.replace("{secret}", self.secret)


def _is_stand_in(value: str, stand_in: str) -> bool:
    """Whether a client made a `Basic` header of it: as user, as password, or as both."""
    scheme, _, token = value.strip().partition(" ")
    try:
        text = base64.b64decode(token, validate=True).decode()
    except (binascii.Error, ValueError):
        return False
    return scheme.lower() == "basic" and (text.startswith(f"{stand_in}:") or text.endswith(f":{stand_in}"))


def _is_below(path: str, prefix: str) -> bool:
    return path == prefix or path.startswith(prefix if prefix.endswith("/") else f"{prefix}/")
