"""Every spelling of a host becomes one, or is refused."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cellwright.sandbox.egress.destinations import BadInput, Target, normal_host, parse_authority


@pytest.mark.parametrize(
    ("text", "host"),
    [
        ("data.example", "data.example"),
        ("DATA.Example", "data.example"),
        ("data.example.", "data.example"),
        ("localhost", "localhost"),
        ("_dmarc.data.example", "_dmarc.data.example"),
        ("bücher.example", "xn--bcher-kva.example"),
        ("BÜCHER.example", "xn--bcher-kva.example"),
        ("bücher。example", "xn--bcher-kva.example"),
        ("xn--bcher-kva.example", "xn--bcher-kva.example"),
        ("１２７.０.０.１", "127.0.0.1"),
        ("127.0.0.1", "127.0.0.1"),
        ("127.0.0.1.", "127.0.0.1"),
        ("2130706433", "127.0.0.1"),
        ("0x7f000001", "127.0.0.1"),
        ("0X7F.1", "127.0.0.1"),
        ("017700000001", "127.0.0.1"),
        ("0177.0.0.01", "127.0.0.1"),
        ("127.1", "127.0.0.1"),
        ("127.0.1", "127.0.0.1"),
        ("0", "0.0.0.0"),
        ("0x", "0.0.0.0"),
        ("[::1]", "::1"),
        ("[0:0:0:0:0:0:0:1]", "::1"),
        ("[::ffff:127.0.0.1]", "127.0.0.1"),
        ("[::FFFF:7F00:1]", "127.0.0.1"),
        ("[2001:DB8::1]", "2001:db8::1"),
    ],
)
def test_a_host_has_one_spelling(text: str, host: str) -> None:
    assert normal_host(text) == host
    assert parse_authority(f"{text}:8080", default_port=None) == Target(host=host, port=8080)
    assert parse_authority(text, default_port=80) == Target(host=host, port=80)


@pytest.mark.parametrize(
    "text",
    [
        "", ".", "..", "a..b", ".a", "a..", "-a.b", "a-.b", "a b", "a\tb", "a%2eb", "a/b", "a\\b", "a?b", "a#b", "a,b",
        "a\0b", "a" * 64, ".".join(["abc"] * 80), "256.1.1.1", "1.2.3.4.5", "1.2.3.256", "4294967296", "09.1.1.1",
        "a.0x7g.1", "1_0.1", "+1.1", " 1.1", "data.1", "[::1", "[]", "[::1%eth0]", "[1.2.3.4]", "::1", "[::1]x",
        "straße.example", "a\u200db.example", "*.example",
    ],
)  # fmt: skip
def test_what_names_no_host_is_refused(text: str) -> None:
    assert isinstance(parse_authority(text, default_port=80), BadInput)


@pytest.mark.parametrize("port", ["0", "65536", "080", "-1", "+80", "８０", "", "80x", "1e3", " 80"])
def test_what_is_no_port_is_refused(port: str) -> None:
    assert isinstance(parse_authority(f"data.example:{port}", default_port=80), BadInput)


@pytest.mark.parametrize("text", ["user@data.example", "user:word@data.example:80", "data.example@other.example"])
def test_user_names_are_refused(text: str) -> None:
    assert isinstance(parse_authority(text, default_port=80), BadInput)


def test_a_port_must_be_there_where_none_is_usual() -> None:
    assert isinstance(parse_authority("data.example", default_port=None), BadInput)


def test_a_target_is_said_as_a_host_header_says_it() -> None:
    assert Target(host="data.example", port=80).authority(default_port=80) == "data.example"
    assert Target(host="data.example", port=81).authority(default_port=80) == "data.example:81"
    assert Target(host="::1", port=81).authority(default_port=80) == "[::1]:81"


@given(st.text(max_size=40))
def test_whatever_is_accepted_stays_as_it_is_when_read_again(text: str) -> None:
    host = normal_host(text)
    if isinstance(host, str):
        assert host.isascii()
        assert normal_host(f"[{host}]" if ":" in host else host) == host
