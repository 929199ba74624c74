"""Where the web server listens: what `cellwright serve` may ask for, which hosts and origins are ours, its TLS files.

Standard library only: a command reads it before it loads anything else.
"""

from __future__ import annotations

import ipaddress
import socket
import ssl
from dataclasses import dataclass
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

from cellwright.errors import UserError
from cellwright.remedies import remedy

API: Final = "/api/v1"
"""Below this path are all routes of the API."""
MCP: Final = "/mcp"
"""Where programs that speak MCP find it."""
FIRST_PORT: Final = 8300
LOOPBACK: Final = "127.0.0.1"
_DEFAULT_PORTS: Final = {"http": 80, "https": 443}


@dataclass(frozen=True, slots=True, kw_only=True)
class WebOptions:
    """How the web server is to be opened. Plain values: it travels to the daemon."""

    folder: str
    """Where notebooks and data are looked for and new ones are put; absolute."""
    host: str = LOOPBACK
    """The address to listen at."""
    port: int | None = None
    """None: the first free one from 8300 on."""
    public_origin: str = ""
    """Behind a proxy that speaks TLS: the page's origin as browsers know it, `https://room.example`."""
    editor_origin: str = ""
    """Behind a proxy: the editor's, which must be another one."""
    editor_port: int | None = None
    """None: the one after the page's, or any that is free."""
    certificate: str = ""
    """TLS here: the file with the certificate and those it rests on; absolute."""
    key: str = ""
    """The certificate's key; absolute."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Addresses:
    """Which requests are meant for us, and how browsers name us."""

    origin: str
    """The page's, e.g. `http://127.0.0.1:8300`."""
    hosts: frozenset[str]
    """What a request's Host may say, in lower case. Any other name leads here by DNS rebinding or by mistake."""
    is_any_address: bool = False
    """Whether the bare address at which a request arrived is a right Host too: no page's name leads there."""
    editor_origin: str = ""
    """marimo's editor, on an origin of its own; empty: there is none."""

    @classmethod
    def of(cls, options: WebOptions, port: int, *, editor_origin: str = "") -> Addresses:
        """For a server that listens at this port."""
        scheme = "https" if options.certificate else "http"
        is_wildcard = _is_wildcard(options.host)
        names = [LOOPBACK, "localhost", "[::1]"] if is_wildcard or is_loopback(options.host) else []
        names += [socket.gethostname().lower()] if is_wildcard else [_in_url(options.host).lower()]
        hosts = [_with_port(name, port, scheme) for name in names]
        if options.public_origin:
            hosts.append(urlsplit(options.public_origin).netloc)
        return cls(
            origin=options.public_origin or f"{scheme}://{_with_port(names[-1], port, scheme)}",
            hosts=frozenset(hosts),
            is_any_address=is_wildcard,
            editor_origin=options.editor_origin or editor_origin,
        )

    @property
    def origins(self) -> tuple[str, ...]:
        """Every origin under which a browser may have the page."""
        scheme = urlsplit(self.origin).scheme
        return tuple(sorted({self.origin, *(f"{scheme}://{host}" for host in self.hosts)}))

    def is_ours(self, host: str, arrived_at: tuple[str, int] | None = None) -> bool:
        """Whether a request with this Host was meant for us; `arrived_at` is this end of its connection."""
        host = host.lower()
        if host in self.hosts:
            return True
        scheme = urlsplit(self.origin).scheme
        return (
            self.is_any_address
            and arrived_at is not None
            and host == _with_port(_in_url(arrived_at[0]), arrived_at[1], scheme)
        )

    def is_own_origin(self, origin: str, host: str) -> bool:
        """Whether a page of this origin is the one served under this Host, which is ours."""
        return origin in {self.origin, f"{urlsplit(self.origin).scheme}://{host.lower()}"}

    def url(self, start_code: str) -> str:
        """What a person opens. The code is in the fragment: no server, proxy or log sees it."""
        return f"{self.origin}/#start={start_code}"


def check_web_options(options: WebOptions) -> None:
    """Raises `UserError` for a server that strangers could read along at, or that makes no sense."""
    if bool(options.certificate) != bool(options.key):
        raise UserError("A TLS certificate needs its key.", hint=remedy("give_tls_files", file="both"))
    for whose, origin in (("proxy", options.public_origin), ("editor", options.editor_origin)):
        if origin and not _is_origin(origin):
            raise UserError(
                f"{origin!r}, of the {whose}, is not an origin.",
                hint="Write it as a browser does: https://room.example",
            )
    if options.public_origin and options.public_origin == options.editor_origin:
        raise UserError(
            "The editor needs an origin of its own.",
            hint="What a notebook shows could otherwise press the page's buttons: give it another host name or port.",
        )
    if not is_loopback(options.host) and not options.certificate and not options.public_origin:
        raise UserError(
            f"Listening at {options.host!r} would send tokens and data over the network for everyone to read.",
            hint=remedy("serve_with_tls"),
        )


def is_loopback(host: str) -> bool:
    """Whether only this machine reaches it."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def _is_wildcard(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_unspecified
    except ValueError:
        return False


def _is_origin(text: str) -> bool:
    try:
        parts = urlsplit(text)
        _ = parts.port
    except ValueError:
        return False
    is_plain = parts.username is None and text == f"{parts.scheme}://{parts.netloc}".lower()
    return is_plain and parts.scheme in _DEFAULT_PORTS and bool(parts.hostname)


def _in_url(host: str) -> str:
    return f"[{host}]" if ":" in host else host


def _with_port(name: str, port: int, scheme: str) -> str:
    return name if _DEFAULT_PORTS[scheme] == port else f"{name}:{port}"


_CERTIFICATE: Final = b"-----BEGIN CERTIFICATE-----"
_KEY: Final = b"PRIVATE KEY-----"
_LOCKED: Final = (b"BEGIN ENCRYPTED PRIVATE KEY", b"Proc-Type: 4,ENCRYPTED")


def tls_files(options: WebOptions) -> tuple[str, str] | None:
    """Certificate and key, which go together; None without TLS. Raises `UserError`. Blocking."""
    if not options.certificate:
        return None
    content = b""
    for path, what, mark in ((options.certificate, "certificate", _CERTIFICATE), (options.key, "key", _KEY)):
        try:
            content = Path(path).read_bytes()
        except OSError as problem:
            why = (problem.strerror or type(problem).__name__).lower()
            raise UserError(f"{path!r} cannot be read: {why}.", hint=remedy("give_tls_files", file=what)) from problem
        if mark not in content:
            raise UserError(f"{path!r} is no {what}.", hint=remedy("give_tls_files", file=what))
    # The key's, which is read last.
    if any(each in content for each in _LOCKED):
        hint = remedy("give_tls_files", lead="Nobody is there to type it when the daemon starts.", file="key")
        raise UserError(f"The key {options.key!r} has a password.", hint=hint)
    _check_together(options)
    return options.certificate, options.key


def _check_together(options: WebOptions) -> None:
    try:
        ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER).load_cert_chain(options.certificate, options.key, password="")
    except OSError as problem:
        if getattr(problem, "reason", "") == "KEY_VALUES_MISMATCH":
            raise UserError(
                f"The key {options.key!r} is not that of the certificate {options.certificate!r}.",
                hint=remedy("give_tls_files", file="both"),
            ) from problem
        raise UserError(
            f"TLS files cannot be used: {str(getattr(problem, 'reason', '') or problem).lower().replace('_', ' ')}.",
            hint=remedy("give_tls_files", file="certificate"),
        ) from problem
