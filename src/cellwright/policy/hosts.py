"""Hosts as they are judged: one spelling for each name and each address.

Whoever connects must connect to `Host.name` and nothing else: the spelling judged is then the spelling used. A name
may resolve to any address, so the egress proxy judges the resolved address once more.
"""

from __future__ import annotations

import ipaddress
import re
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network
from typing import Final

Address = IPv4Address | IPv6Address
Network = IPv4Network | IPv6Network

_LABEL: Final = re.compile(r"(?!-)[a-z0-9_-]{1,63}(?<!-)", flags=re.ASCII)
_NUMBER: Final = re.compile(r"0x[0-9a-f]*|[0-9]+", flags=re.ASCII)
# IDNA 2003 and 2008 disagree about these, so two programs would reach two hosts.
_AMBIGUOUS: Final = frozenset("ßςẞ\u200c\u200d")


@dataclass(frozen=True, slots=True, kw_only=True)
class Host:
    """A name or an address in its one spelling."""

    name: str
    address: Address | None = None


def parse_host(text: str) -> Host | None:
    """A host in its one spelling; None when programs could disagree about what it names.

    Case, one trailing dot, IDN, octal, hexadecimal and short IPv4 forms, brackets and IPv4-mapped IPv6 are undone. A
    port, user, path, percent sign or zone in the text makes it no host.
    """
    if len(text) > 255:
        return None
    name = text[1:-1] if text.startswith("[") and text.endswith("]") else text
    if ":" in name:
        return _parse_ipv6(name)
    if name is not text:
        return None
    ascii_name = _to_ascii(name)
    if ascii_name is None:
        return None
    labels = ascii_name.removesuffix(".").lower().split(".")
    if _NUMBER.fullmatch(labels[-1]):
        return _parse_ipv4(labels)
    if len(ascii_name) > 253 or not all(_LABEL.fullmatch(label) for label in labels):
        return None
    return Host(name=".".join(labels))


def is_port(port: int) -> bool:
    """Whether a port can be connected to."""
    return 1 <= port <= 65535


def _to_ascii(name: str) -> str | None:
    if name.isascii():
        return name
    if _AMBIGUOUS.intersection(name):
        return None
    try:
        return name.encode("idna").decode("ascii")
    except UnicodeError:
        return None


def _of_address(address: Address) -> Host:
    mapped = address.ipv4_mapped if isinstance(address, IPv6Address) else None
    plain = mapped or address
    return Host(name=str(plain), address=plain)


def _parse_ipv6(text: str) -> Host | None:
    if "%" in text:
        return None
    try:
        return _of_address(IPv6Address(text))
    except ValueError:
        return None


def _parse_ipv4(labels: list[str]) -> Host | None:
    """As `inet_aton` reads it: one to four numbers, the last filling what is left."""
    if len(labels) > 4 or not all(_NUMBER.fullmatch(label) and len(label) <= 16 for label in labels):
        return None
    try:
        *first, last = [_number(label) for label in labels]
    except ValueError:
        return None
    if any(part > 255 for part in first) or last >= 256 ** (4 - len(first)):
        return None
    value = sum(part << (24 - 8 * place) for place, part in enumerate(first)) + last
    return _of_address(IPv4Address(value))


def _number(label: str) -> int:
    if label.startswith("0x"):
        return int(label[2:] or "0", 16)
    return int(label, 8) if label.startswith("0") and label != "0" else int(label)


@dataclass(frozen=True, slots=True, kw_only=True)
class HostPattern:
    """Which hosts a rule means: one, all below one, an address range, or all; and at which port."""

    name: str = ""
    """The exact name, or the parent of all names meant when `is_parent`; empty for every host."""
    is_parent: bool = False
    network: Network | None = None
    port: int | None = None

    def matches(self, host: Host, port: int) -> bool:
        """Whether the pattern means this host at this port."""
        if self.port is not None and port != self.port:
            return False
        if self.network is not None:
            return host.address is not None and host.address in self.network
        if self.is_parent:
            return host.address is None and host.name.endswith(f".{self.name}")
        return not self.name or host.name == self.name


def parse_host_pattern(text: str) -> HostPattern | str:
    """A pattern, or what is wrong with it.

    `*`, `api.example.com`, `*.example.com` (all below, not itself), `10.0.0.0/8`, `[fd00::]/8`;
    each may end in `:port`.
    """
    name, port = text, None
    if found := re.fullmatch(r"(\[.*\](?:/\d+)?|[^:]*):([0-9]{1,5})", text, flags=re.ASCII):
        name, port = found[1], int(found[2])
        if not is_port(port):
            return f"{port} is no port"
    if name == "*":
        return HostPattern(port=port)
    if "/" in name:
        return _parse_network(name, port)
    is_parent = name.startswith("*.")
    host = parse_host(name.removeprefix("*."))
    if host is None or (is_parent and host.address is not None):
        return "is no host, `*.host`, address range or `*`"
    if host.address is not None:
        return HostPattern(network=ipaddress.ip_network(host.address), port=port)
    return HostPattern(name=host.name, is_parent=is_parent, port=port)


def _parse_network(text: str, port: int | None) -> HostPattern | str:
    base, _, bits = text.partition("/")
    host = parse_host(base)
    if host is None or host.address is None or not re.fullmatch(r"[0-9]{1,3}", bits, flags=re.ASCII):
        return "is no address range such as 10.0.0.0/8"
    if ":" in base and host.address.version == 4:
        return "is an IPv4 range written as IPv6; write it as IPv4"
    try:
        return HostPattern(network=ipaddress.ip_network(f"{host.address}/{bits}"), port=port)
    except ValueError:
        return "is no address range: bits behind the prefix are set, or there are too many"
