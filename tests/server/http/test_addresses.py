"""Which names and origins are ours, and which wishes for a door are refused."""

from __future__ import annotations

from typing import Any

import pytest

from cellwright.errors import UserError
from cellwright.remedies import remedy
from cellwright.server.http.addresses import Addresses, WebOptions, check_web_options
from cellwright.server.http.uvicorn_server import listen_at


def wish(**more: Any) -> WebOptions:
    return WebOptions(folder="/project", **more)


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.168.1.7", "room.example", ""])
def test_an_address_on_the_network_without_tls_is_refused_with_an_explanation(host: str) -> None:
    with pytest.raises(UserError, match="for everyone to read") as refused:
        check_web_options(wish(host=host))
    assert refused.value.remedy == remedy("serve_with_tls")
    check_web_options(wish(host=host, certificate="/cert.pem", key="/key.pem"))
    check_web_options(wish(host=host, public_origin="https://room.example"))


@pytest.mark.parametrize("host", ["127.0.0.1", "127.8.8.8", "::1", "localhost"])
def test_an_address_of_this_machine_needs_nothing(host: str) -> None:
    check_web_options(wish(host=host))


@pytest.mark.parametrize(
    "origin",
    ["room.example", "https://", "https://room.example/", "https://room.example/x", "HTTPS://Room.example",
     "ftp://room.example", "https://ada@room.example", "https://room.example:port", "https://[::1"],
)  # fmt: skip
def test_what_is_no_origin_is_refused(origin: str) -> None:
    for option in ("public_origin", "editor_origin"):
        with pytest.raises(UserError, match="not an origin"):
            check_web_options(wish(**{option: origin}))


def test_a_certificate_without_its_key_and_an_editor_at_the_pages_origin_are_refused() -> None:
    with pytest.raises(UserError, match="its key"):
        check_web_options(wish(certificate="/cert.pem"))
    with pytest.raises(UserError, match="origin of its own"):
        check_web_options(wish(public_origin="https://room.example", editor_origin="https://room.example"))


def test_behind_a_proxy_the_public_name_is_ours_and_so_is_its_origin() -> None:
    addresses = Addresses.of(wish(public_origin="https://room.example", editor_origin="https://ed.example"), 8300)
    assert addresses.url("code") == "https://room.example/#start=code"
    assert addresses.editor_origin == "https://ed.example"
    for host, is_ours in (
        ("room.example", True),
        ("ROOM.example", True),
        ("127.0.0.1:8300", True),
        ("x.example", False),
    ):
        assert addresses.is_ours(host) is is_ours
    assert addresses.is_own_origin("https://room.example", "127.0.0.1:8300")
    assert not addresses.is_own_origin("https://ed.example", "room.example")


def test_at_every_address_of_the_machine_only_the_one_that_was_reached_is_ours() -> None:
    addresses = Addresses.of(wish(host="0.0.0.0", certificate="/cert.pem", key="/key.pem"), 8300)
    assert addresses.is_ours("192.168.1.7:8300", ("192.168.1.7", 8300))
    assert not addresses.is_ours("192.168.1.7:8300", ("10.0.0.1", 8300))
    assert not addresses.is_ours("evil.example:8300", ("192.168.1.7", 8300))
    assert addresses.is_own_origin("https://192.168.1.7:8300", "192.168.1.7:8300")
    only_here = Addresses.of(wish(), 8300)
    assert not only_here.is_ours("192.168.1.7:8300", ("192.168.1.7", 8300))


def test_a_free_port_is_found_and_a_taken_one_is_refused() -> None:
    with listen_at("127.0.0.1", None) as first, listen_at("localhost", None) as second:
        taken = first.getsockname()[1]
        assert second.getsockname()[1] not in {0, taken}
        with pytest.raises(UserError, match=f"Port {taken}"):
            listen_at("127.0.0.1", taken)
    with pytest.raises(UserError, match="no address"):
        listen_at("no-such-host.invalid", None)
