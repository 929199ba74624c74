"""Which addresses lie on the public internet. Everything else could be the host, its neighbours or its cloud."""

from __future__ import annotations

from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network

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


def why_not_public(address: IPv4Address | IPv6Address) -> str | None:
    """What kind of address it is instead; None for one of the public internet."""
    if isinstance(address, IPv4Address):
        return next((what for network, what in _RANGES_4 if address in network), None)
    found = next((what for network, what in _RANGES_6 if address in network), None)
    return found or (None if address in _PUBLIC_6 else "a reserved address")
