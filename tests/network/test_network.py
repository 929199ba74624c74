"""Which proxy a request takes, and what of the settings may be shown."""

from __future__ import annotations

import base64
from pathlib import Path

import pytest

from cellwright.errors import UserError
from cellwright.network import NetworkSettings, masked, passwords_in

PROXIES = {
    "HTTP_PROXY": "http://plain:1",
    "HTTPS_PROXY": "secure:2",
    "NO_PROXY": "intra, .corp.example,10.0.0.0/8,own:8080",
}


@pytest.mark.parametrize(
    ("scheme", "host", "port", "proxy"),
    [
        ("http", "data.example", None, ("plain", 1)),
        ("https", "data.example", None, ("secure", 2)),
        ("https", "intra", None, None),
        ("https", "wiki.intra", None, None),
        ("https", "notintra", None, ("secure", 2)),
        ("https", "corp.example", None, None),
        ("https", "a.b.Corp.Example.", None, None),
        ("https", "10.9.8.7", None, None),
        ("https", "11.9.8.7", None, ("secure", 2)),
        ("https", "[::1]", None, ("secure", 2)),
        ("http", "own", 8080, None),
        ("http", "own", 80, ("plain", 1)),
    ],
)
def test_a_request_takes_the_proxy_of_its_scheme_unless_its_host_is_excepted(
    scheme: str, host: str, port: int | None, proxy: tuple[str, int] | None
) -> None:
    found = NetworkSettings.of(PROXIES).proxy_for(scheme, host, port)
    assert (None if found is None else (found.host, found.port)) == proxy


def test_one_proxy_for_all_and_none_at_all() -> None:
    everything = NetworkSettings.of({"ALL_PROXY": "socks5://all:1080"})
    found = everything.proxy_for("https", "data.example")
    assert found is not None
    assert (found.scheme, found.host, found.port, found.authorization) == ("socks5", "all", 1080, "")
    assert NetworkSettings.of({"HTTPS_PROXY": "http://x:1", "NO_PROXY": "*"}).proxy_for("https", "data.example") is None
    assert NetworkSettings().proxy_for("https", "data.example") is None


def test_a_proxys_user_and_password_are_its_authorization_and_in_no_repr() -> None:
    connection = NetworkSettings.of({"HTTPS_PROXY": "http://ada:p%40ss@proxy:3128"})
    found = connection.proxy_for("https", "data.example")
    assert found is not None
    assert found.authorization == "Basic " + base64.b64encode(b"ada:p@ss").decode()
    assert "p%40ss" not in f"{found!r} {connection!r}"


def test_an_address_that_is_none_is_told_without_its_password() -> None:
    with pytest.raises(UserError) as refused:
        NetworkSettings.of({"HTTPS_PROXY": "http://ada:hunter2@:many"}).proxy_for("https", "data.example")
    assert "hunter2" not in refused.value.message
    assert refused.value.hint


@pytest.mark.parametrize(
    ("name", "value", "shown"),
    [
        ("HTTPS_PROXY", "http://ada:pass@proxy:1", "http://****@proxy:1"),
        ("UV_INDEX", "a=https://tok@a/simple https://u:pw9@b/simple", "a=https://****@a/simple https://****@b/simple"),
        ("UV_INDEX_CORP_PASSWORD", "pass", "****"),
        ("NO_PROXY", "intra", "intra"),
    ],
)
def test_settings_are_shown_without_users_passwords_and_tokens(name: str, value: str, shown: str) -> None:
    assert masked(name, value) == shown
    assert all(secret not in shown for secret in passwords_in({name: value}).values())


def test_certificates_that_are_not_there_do_not_count(tmp_path: Path) -> None:
    bundle = tmp_path / "ca.pem"
    connection = NetworkSettings.of({"SSL_CERT_FILE": str(bundle), "SSL_CERT_DIR": str(tmp_path)})
    assert (connection.certificates, connection.certificate_folder) == (None, tmp_path)
    bundle.touch()
    assert connection.certificates == bundle
