"""Only the public internet counts as public."""

from __future__ import annotations

from ipaddress import IPv4Address, IPv6Address, ip_address

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cellwright.sandbox.egress.destinations import why_not_public


@pytest.mark.parametrize(
    ("address", "kind"),
    [
        ("127.0.0.1", "loopback"), ("127.255.255.254", "loopback"), ("::1", "loopback"),
        ("169.254.169.254", "link-local"), ("fe80::1", "link-local"),
        ("10.0.0.1", "private"), ("172.16.0.1", "private"), ("172.31.255.255", "private"), ("192.168.1.1", "private"),
        ("100.64.0.1", "private"), ("100.100.100.200", "private"), ("fd00:ec2::254", "private"), ("fec0::1", "private"),
        ("168.63.129.16", "cloud"), ("224.0.0.1", "multicast"), ("ff02::1", "multicast"),
        ("0.0.0.0", "reserved"), ("::", "stands for"), ("255.255.255.255", "reserved"), ("240.0.0.1", "reserved"),
        ("192.0.0.192", "reserved"), ("192.0.2.1", "reserved"), ("198.18.0.1", "reserved"), ("203.0.113.1", "reserved"),
        ("::ffff:127.0.0.1", "stands for"), ("::ffff:8.8.8.8", "stands for"), ("::127.0.0.1", "stands for"),
        ("64:ff9b::7f00:1", "stands for"), ("64:ff9b:1::1", "stands for"), ("2002:7f00:1::", "stands for"),
        ("2001:0:7f00:1::", "stands for"), ("2001:db8::1", "reserved"), ("3fff::1", "reserved"), ("100::1", "reserved"),
        ("5f00::1", "reserved"),
    ],
)  # fmt: skip
def test_a_special_address_is_not_public(address: str, kind: str) -> None:
    why = why_not_public(ip_address(address))
    assert why is not None
    assert kind in why


@pytest.mark.parametrize(
    "address", ["1.1.1.1", "8.8.8.8", "172.32.0.1", "100.128.0.1", "2606:4700::1111", "2a00:1450::1"]
)
def test_an_address_of_the_internet_is_public(address: str) -> None:
    assert why_not_public(ip_address(address)) is None


@given(st.ip_addresses())
def test_nothing_python_calls_private_is_public(address: IPv4Address | IPv6Address) -> None:
    if why_not_public(address) is None:
        assert not (address.is_private or address.is_multicast or address.is_link_local or address.is_loopback)
