"""Where a request wants to go, in the one form that is judged, whether it may, and what came of it: plain values.

Addresses outside the public internet could be the host, its neighbours or its cloud.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv4Network, IPv6Network, ip_address
from typing import Literal

from cellwright.errors import UserError
from cellwright.policy.hosts import Address, is_port, parse_host

_CLOSED_4 = {
    "a loopback address": ("127.0.0.0/8",),
    "a link-local address, where clouds keep their secrets": ("169.254.0.0/16",),
    "a private address": ("10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "100.64.0.0/10"),
    "a cloud's own address": ("168.63.129.16/32",),
    "a multicast address": ("224.0.0.0/4",),
    "a reserved address": (
        "0.0.0.0/8", "192.0.0.0/24", "192.0.2.0/24", "192.88.99.0/24", "198.18.0.0/15", "198.51.100.0/24",
        "203.0.113.0/24", "240.0.0.0/4",
    ),
}  # fmt: skip
_CLOSED_6 = {
    "a loopback address": ("::1/128",),
    "a link-local address": ("fe80::/10",),
    "a private address": ("fc00::/7", "fec0::/10"),
    "a multicast address": ("ff00::/8",),
    "an address that stands for another one": (
        "::ffff:0:0/96", "::ffff:0:0:0/96", "64:ff9b::/96", "64:ff9b:1::/48", "2001::/32", "2002::/16", "::/96",
    ),
    "a reserved address": ("2001::/23", "2001:db8::/32", "3fff::/20"),
}  # fmt: skip
_PUBLIC_6 = IPv6Network("2000::/3")

_RANGES_4 = [(IPv4Network(text), what) for what, texts in _CLOSED_4.items() for text in texts]
_RANGES_6 = [(IPv6Network(text), what) for what, texts in _CLOSED_6.items() for text in texts]


def why_not_public(address: Address) -> str | None:
    """What kind of address it is instead; None for one of the public internet."""
    if isinstance(address, IPv4Address):
        return next((what for network, what in _RANGES_4 if address in network), None)
    found = next((what for network, what in _RANGES_6 if address in network), None)
    return found or (None if address in _PUBLIC_6 else "a reserved address")


_PORT = re.compile(r"[1-9][0-9]{0,4}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """Where a request wants to go."""

    host: str
    """Lower case, punycode, no final dot; an address in its plain form, without brackets."""
    port: int

    @property
    def address(self) -> Address | None:
        """The address, when it was given instead of a name."""
        return address_in(self.host)

    def authority(self, *, default_port: int) -> str:
        """As a Host header says it."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return host if self.port == default_port else f"{host}:{self.port}"


@dataclass(frozen=True, slots=True, kw_only=True)
class BadInput:
    """Something a notebook sent that names no host, is no request or no TLS greeting, or could be read in two ways."""

    why: str


def parse_authority(text: str, *, default_port: int | None) -> Target | BadInput:
    """`host`, `host:port` or `[address]:port`; without a default the port must be there."""
    if "@" in text:
        return BadInput(why="a user name in the address is not allowed")
    ending = re.search(r":([^:\]]*)$", text)
    host_text = text[: ending.start()] if ending else text
    if ending is None and default_port is None:
        return BadInput(why="the port is missing")
    if ending and not (_PORT.fullmatch(ending[1]) and is_port(int(ending[1]))):
        return BadInput(why=f"{ending[1][:20]!r} is no port")
    host = normal_host(host_text)
    if isinstance(host, BadInput):
        return host
    return Target(host=host, port=int(ending[1]) if ending else default_port or 0)


def normal_host(text: str) -> str | BadInput:
    """The one spelling of a host: names in ASCII and lower case, addresses in their plain form."""
    # Without brackets, the end of an IPv6 address could be read as a port.
    host = None if ":" in text and not text.startswith("[") else parse_host(text)
    if host is not None:
        return host.name
    return BadInput(why=f"{text[:80]!r} is no address or host name{'' if text.isascii() else '; give its xn-- form'}")


def address_in(host: str) -> Address | None:
    """The address that a normal host is, if it is one."""
    try:
        return ip_address(host)
    except ValueError:
        return None


@dataclass(frozen=True, slots=True, kw_only=True)
class Allowed:
    """The host may be reached."""

    has_private_addresses: bool = False
    """Also when its name leads to a loopback, private or otherwise special address."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Denied:
    """The host may not be reached; `why` is what the notebook's author reads."""

    why: str = ""


Verdict = Allowed | Denied
Decide = Callable[[str, int], Verdict]
"""Asked with host and port about every host that is not on the list."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AllowedHost:
    """A host somebody approved: exactly this name, no other below it."""

    name: str
    ports: tuple[int, ...] = (80, 443)
    has_private_addresses: bool = False
    """Approved although its name leads into the private network or to this machine."""

    def normal(self) -> str:
        """Its name in the form that is judged; `UserError` if it is none."""
        host = normal_host(self.name)
        if isinstance(host, BadInput):
            raise UserError(f"{self.name!r} cannot be approved: {host.why}.", hint="Give a plain host name.")
        return host


@dataclass(frozen=True, slots=True, kw_only=True)
class EgressCaps:
    """How much may go through."""

    connections: int = 32
    """At once; more wait."""
    requests: int = 100_000
    """In all, refused ones included."""
    header_bytes: int = 64 << 10
    """Of one request or answer."""
    bytes_out_per_host: int = 64 << 20
    bytes_in_per_host: int = 2 << 30
    bytes_out: int = 256 << 20
    bytes_in: int = 8 << 30
    head_seconds: float = 20
    """For a whole request head or TLS greeting, however slowly it drips."""
    connect_seconds: float = 20
    """For resolving a name and connecting."""
    idle_seconds: float = 120
    """Without a byte in either direction."""
    total_seconds: float = 3600
    """For one connection of the notebook."""


Outcome = Literal["allowed", "denied", "failed", "cut"]
"""denied: nothing was sent. failed: approved, but the host did not do its part. cut: begun, and ended by us."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EgressRecord:
    """One request, or one encrypted connection, and what came of it."""

    host: str
    """Empty where the request named none that could be read."""
    port: int
    address: str | None
    """Where it really went; None if it went nowhere."""
    verdict: Outcome
    bytes_out: int
    bytes_in: int
    milliseconds: float
    why: str = ""
    """The reason, unless all went well."""


def judge(target: Target, listed: AllowedHost | None, decide: Decide) -> Verdict:
    """The list first, then whoever decides; nobody's yes is a no."""
    if listed is not None and target.port in listed.ports:
        return Allowed(has_private_addresses=listed.has_private_addresses)
    verdict = decide(target.host, target.port)
    if isinstance(verdict, Denied) and not verdict.why:
        what = f"host {target.host!r}" if listed is None else f"port {target.port} of host {target.host!r}"
        return Denied(why=f"{what} is not approved for this notebook")
    return verdict
