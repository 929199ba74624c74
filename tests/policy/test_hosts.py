"""Hosts have one spelling, and no other spelling gets past a rule."""

from __future__ import annotations

import ipaddress
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cellwright.policy.hosts import HostPattern, parse_host, parse_host_pattern
from tests.policy.strategies import PROPERTY, hosts


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("example.com", "example.com"),
        ("EXAMPLE.Com.", "example.com"),
        ("my_db", "my_db"),
        ("bücher.de", "xn--bcher-kva.de"),
        ("BÜCHER.de", "xn--bcher-kva.de"),
        ("xn--bcher-kva.de", "xn--bcher-kva.de"),
        ("ｅｘａｍｐｌｅ.com", "example.com"),
        ("example。com", "example.com"),
        ("127.0.0.1", "127.0.0.1"),
        ("127.1", "127.0.0.1"),
        ("127.0.1", "127.0.0.1"),
        ("2130706433", "127.0.0.1"),
        ("0x7f000001", "127.0.0.1"),
        ("0x7F.0.0.0x1", "127.0.0.1"),
        ("0177.0.0.1", "127.0.0.1"),
        ("0", "0.0.0.0"),
        ("0x", "0.0.0.0"),
        ("127.0.0.1.", "127.0.0.1"),
        ("[::1]", "::1"),
        ("::1", "::1"),
        ("0:0:0:0:0:0:0:1", "::1"),
        ("::ffff:127.0.0.1", "127.0.0.1"),
        ("::FFFF:7f00:1", "127.0.0.1"),
        ("FE80::1", "fe80::1"),
    ],
)
def test_a_host_has_one_spelling(text: str, name: str) -> None:
    host = parse_host(text)
    assert host is not None
    assert host.name == name


@pytest.mark.parametrize(
    "text",
    [
        "", ".", "..", "a..b", ".example.com", "example.com..", "-a.com", "a-.com", "a b", "a\n", "a\0", "a/b", "a?b",
        "a#b", "user@example.com", "example.com:443", "a%2eb", "a\\b", "fe80::1%eth0", "[example.com]", "[::1",
        "::1]", "1.2.3.4.5",
        "256.1.1.1", "1.2.3.256", "4294967296", "0x100000000", "089.1.1.1", "1.2.3.08", "a.1", "a.0x1", ":::", "faß.de",
        "a\u200db.com", "a\u200cb.com", "x" * 64, ".".join(["x" * 60] * 5), "ü" * 80, "\ud800.com", "*", "*.com",
        "0" * 17,
    ],
)  # fmt: skip
def test_what_programs_could_read_differently_is_no_host(text: str) -> None:
    assert parse_host(text) is None


@PROPERTY
@given(text=hosts())
def test_the_one_spelling_stays_itself(text: str) -> None:
    host = parse_host(text)
    assert host is None or parse_host(host.name) == host


@PROPERTY
@given(value=st.integers(0, 2**32 - 1), forms=st.lists(st.sampled_from(["d", "x", "o"]), min_size=4, max_size=4))
def test_every_notation_of_an_address_is_that_address(value: int, forms: list[str]) -> None:
    parts = [value >> 24, value >> 16 & 255, value >> 8 & 255, value & 255]
    write: dict[str, Callable[[int], str]] = {"d": str, "x": hex, "o": lambda part: f"0{part:o}"}
    written = ".".join(write[form](part) for form, part in zip(forms, parts, strict=True))
    for text in (written, str(value), hex(value), f"{parts[0]}.{value & 0xFFFFFF}"):
        host = parse_host(text)
        assert host is not None
        assert host.address == ipaddress.IPv4Address(value)


@pytest.mark.parametrize(
    ("pattern", "host", "port", "matches"),
    [
        ("*", "example.com", 443, True),
        ("*", "10.0.0.1", 443, True),
        ("*:443", "example.com", 80, False),
        ("example.com", "example.com", 443, True),
        ("Example.COM.", "example.com", 443, True),
        ("example.com", "api.example.com", 443, False),
        ("example.com", "example.com.evil.net", 443, False),
        ("*.example.com", "api.example.com", 443, True),
        ("*.example.com", "a.b.example.com", 443, True),
        ("*.example.com", "example.com", 443, False),
        ("*.example.com", "evilexample.com", 443, False),
        ("*.bücher.de", "api.xn--bcher-kva.de", 443, True),
        ("db.internal:5432", "db.internal", 5432, True),
        ("db.internal:5432", "db.internal", 5433, False),
        ("10.0.0.0/8", "10.200.3.4", 443, True),
        ("10.0.0.0/8", "11.0.0.1", 443, False),
        ("10.0.0.0/8", "10.example.com", 443, False),
        ("10.0.0.0/8:443", "10.1.1.1", 80, False),
        ("127.0.0.1", "0x7f.1", 443, True),
        ("127.0.0.1:80", "::ffff:127.0.0.1", 80, True),
        ("[::1]:80", "0:0:0:0:0:0:0:1", 80, True),
        ("::1", "::1", 80, True),
        ("[fd00::]/8", "fd12::1", 80, True),
        ("[fd00::]/8:80", "fd12::1", 81, False),
        ("[fd00::]/8", "10.0.0.1", 80, False),
    ],
)
def test_a_pattern_means_just_these_hosts(pattern: str, host: str, port: int, matches: bool) -> None:
    wanted, given_host = parse_host_pattern(pattern), parse_host(host)
    assert isinstance(wanted, HostPattern)
    assert given_host is not None
    assert wanted.matches(given_host, port) is matches


@pytest.mark.parametrize(
    "pattern",
    ["", "a b", "*.*.com", "a*.com", "*.10.0.0.1", "a:0", "a:65536", "a:http", "10.0.0.1/8", "10.0.0.0/33",
     "10.0.0.0/x", "example.com/8", "[::ffff:10.0.0.0]/8", "http://a", "*."],
)  # fmt: skip
def test_a_pattern_that_means_nothing_for_sure_is_refused(pattern: str) -> None:
    assert isinstance(parse_host_pattern(pattern), str)
