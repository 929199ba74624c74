"""Host names and ports as clients and people write them, in the one form that is judged."""

from __future__ import annotations

import re
from dataclasses import dataclass
from ipaddress import AddressValueError, IPv4Address, IPv6Address, ip_address

Address = IPv4Address | IPv6Address

_LABEL = re.compile(r"(?!-)[a-z0-9_-]{1,63}(?<!-)")
_NUMBER = re.compile(r"0x[0-9a-f]*|[0-9]+")
_PORT = re.compile(r"[1-9][0-9]{0,4}")
_MOST_CHARACTERS = 253
# Written differently in the older rules for international names, which Python follows, and in today's.
_AMBIGUOUS = "ßς\u200c\u200d"


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
class BadTarget:
    """Text that names no host."""

    why: str


def parse_authority(text: str, *, default_port: int | None) -> Target | BadTarget:
    """`host`, `host:port` or `[address]:port`; without a default the port must be there."""
    if "@" in text:
        return BadTarget(why="a user name in the address is not allowed")
    ending = re.search(r":([^:\]]*)$", text)
    host_text = text[: ending.start()] if ending else text
    if ending is None and default_port is None:
        return BadTarget(why="the port is missing")
    if ending and (not _PORT.fullmatch(ending[1]) or int(ending[1]) > 65535):
        return BadTarget(why=f"{ending[1][:20]!r} is no port")
    host = normal_host(host_text)
    if isinstance(host, BadTarget):
        return host
    return Target(host=host, port=int(ending[1]) if ending else default_port or 0)


def normal_host(text: str) -> str | BadTarget:
    """The one spelling of a host: names in ASCII and lower case, addresses in their plain form."""
    if text.startswith("["):
        return _ipv6(text[1:-1]) if text.endswith("]") else BadTarget(why="the bracket is not closed")
    ascii_text = _ascii(text)
    if isinstance(ascii_text, BadTarget):
        return ascii_text
    name = ascii_text.lower().removesuffix(".")
    labels = name.split(".")
    if not name or len(name) > _MOST_CHARACTERS:
        return BadTarget(why="the host name is empty or too long")
    if _NUMBER.fullmatch(labels[-1]):
        return _ipv4(labels)
    if not all(map(_LABEL.fullmatch, labels)):
        return BadTarget(why=f"{text[:80]!r} is no host name")
    return name


def address_in(host: str) -> Address | None:
    """The address that a normal host is, if it is one."""
    try:
        return ip_address(host)
    except ValueError:
        return None


def _ascii(text: str) -> str | BadTarget:
    if text.isascii():
        return text
    if any(character in _AMBIGUOUS for character in text):
        return BadTarget(why=f"{text[:80]!r} has letters that are spelled in two ways; give its xn-- form")
    try:
        return text.encode("idna").decode("ascii")
    except UnicodeError:
        return BadTarget(why=f"{text[:80]!r} is no host name; give its xn-- form")


def _ipv6(text: str) -> str | BadTarget:
    try:
        address = IPv6Address(text)
    except AddressValueError:
        return BadTarget(why="what stands in brackets is no address")
    if address.scope_id is not None:
        return BadTarget(why="an address with a zone is not allowed")
    return str(address.ipv4_mapped or address)


def _ipv4(labels: list[str]) -> str | BadTarget:
    """What inet_aton and browsers make of it: octal, hexadecimal, and a last number that fills the rest."""
    bad = BadTarget(why=f"{'.'.join(labels)[:80]!r} is no address")
    if len(labels) > 4:
        return bad
    numbers = [_number(label) for label in labels]
    *high, low = numbers
    if low is None or any(number is None or number > 255 for number in high) or low >= 256 ** (5 - len(labels)):
        return bad
    value = low
    for place, number in enumerate(high):
        value += (number or 0) << (8 * (3 - place))
    return str(IPv4Address(value))


def _number(label: str) -> int | None:
    if not _NUMBER.fullmatch(label):
        return None
    try:
        if label.startswith("0x"):
            return int(label[2:] or "0", 16)
        return int(label, 8 if len(label) > 1 and label.startswith("0") else 10)
    except ValueError:
        return None
