"""Where settings come from: Cellwright's own file, then the environment, then uv's and pip's files."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

from cellwright.errors import UserError
from cellwright.network import NetworkSettings, NetworkSources, command_settings, pip_variables, read_network_sources
from cellwright.settings import Settings

UV_TOML = """
index-url = "https://uv.example/simple"
offline = false
native-tls = true
https-proxy = "http://uv-proxy:1"
[[index]]
name = "corp"
url = "https://corp.example/simple"
[pip]
find-links = ["/a", "/b"]
"""
PIP_CONF = """
[global]
index-url = https://pip.example/simple
extra-index-url =
    https://one.example/simple
    https://two.example/simple
cert = /pip.pem
proxy = http://pip-proxy:2
[install]
trusted-host = pip.example
"""


def read(tmp_path: Path, variables: Mapping[str, str]) -> NetworkSources:
    # Files of this machine are no business of a test.
    alone = {"XDG_CONFIG_HOME": str(tmp_path / "config"), "PIP_CONFIG_FILE": "/dev/null", "UV_NO_CONFIG": "1"}
    return read_network_sources(alone | dict(variables), own=tmp_path / "network.toml", home=tmp_path)


def told(sources: NetworkSources) -> dict[str, tuple[str, str]]:
    ours = {"UV_SYSTEM_CERTS"}
    return {name: (found.value, found.source) for name, found in sources.found.items() if name not in ours}


@pytest.mark.parametrize(
    ("variables", "name", "found"),
    [
        ({"HTTPS_PROXY": "a", "https_proxy": "b"}, "HTTPS_PROXY", ("b", "$https_proxy")),
        ({"PIP_PROXY": "c"}, "HTTP_PROXY", ("c", "$PIP_PROXY")),
        ({"NO_PROXY": "x"}, "NO_PROXY", ("x", "$NO_PROXY")),
        ({"REQUESTS_CA_BUNDLE": "/r", "PIP_CERT": "/p"}, "SSL_CERT_FILE", ("/r", "$REQUESTS_CA_BUNDLE")),
        ({"SSL_CERT_FILE": "/s", "REQUESTS_CA_BUNDLE": "/r"}, "SSL_CERT_FILE", ("/s", "$SSL_CERT_FILE")),
        ({"REQUESTS_CA_BUNDLE": "/"}, "SSL_CERT_DIR", ("/", "$REQUESTS_CA_BUNDLE")),
        ({"PIP_INDEX_URL": "p", "UV_INDEX_URL": "o"}, "UV_DEFAULT_INDEX", ("o", "$UV_INDEX_URL")),
        ({"UV_INDEX_URL": "o", "UV_DEFAULT_INDEX": "n"}, "UV_DEFAULT_INDEX", ("n", "$UV_DEFAULT_INDEX")),
        ({"PIP_EXTRA_INDEX_URL": "e"}, "UV_INDEX", ("e", "$PIP_EXTRA_INDEX_URL")),
        # pip takes the best match of all its indexes, and so must whoever reads its settings.
        ({"PIP_EXTRA_INDEX_URL": "e"}, "UV_INDEX_STRATEGY", ("unsafe-best-match", "$PIP_EXTRA_INDEX_URL")),
        (
            {"PIP_EXTRA_INDEX_URL": "e", "UV_INDEX_STRATEGY": "first-index"},
            "UV_INDEX_STRATEGY",
            ("first-index", "$UV_INDEX_STRATEGY"),
        ),
        ({"PIP_FIND_LINKS": "/a /b"}, "UV_FIND_LINKS", ("/a,/b", "$PIP_FIND_LINKS")),
        ({"UV_INDEX_CORP_PASSWORD": "x"}, "UV_INDEX_CORP_PASSWORD", ("x", "$UV_INDEX_CORP_PASSWORD")),
    ],
)
def test_every_spelling_of_a_variable_has_one_name_and_the_nearest_one_wins(
    tmp_path: Path, variables: dict[str, str], name: str, found: tuple[str, str]
) -> None:
    assert told(read(tmp_path, variables))[name] == found


def test_nothing_else_of_the_environment_is_taken(tmp_path: Path) -> None:
    others = {"UV_PUBLISH_TOKEN": "t", "UV_PYTHON": "/evil", "OPENAI_API_KEY": "k", "PIP_TARGET": "/evil", "PATH": "/"}
    assert told(read(tmp_path, others)) == {}


def test_uvs_file_comes_before_pips_and_both_after_the_environment(tmp_path: Path) -> None:
    uv, pip = tmp_path / "uv.toml", tmp_path / "pip.conf"
    uv.write_text(UV_TOML)
    pip.write_text(PIP_CONF)
    files = {"UV_NO_CONFIG": "", "UV_CONFIG_FILE": str(uv), "PIP_CONFIG_FILE": str(pip), "HTTPS_PROXY": "http://mine:9"}
    sources = read(tmp_path, files)
    assert told(sources) == {
        "UV_DEFAULT_INDEX": ("https://uv.example/simple", str(uv)),
        "UV_INDEX": ("corp=https://corp.example/simple", str(uv)),
        "UV_FIND_LINKS": ("/a,/b", str(uv)),
        "HTTPS_PROXY": ("http://mine:9", "$HTTPS_PROXY"),
        "HTTP_PROXY": ("http://pip-proxy:2", str(pip)),
        "SSL_CERT_FILE": ("/pip.pem", str(pip)),
        "UV_INSECURE_HOST": ("pip.example", str(pip)),
    }
    assert sources.found["UV_SYSTEM_CERTS"].value == "true"


def test_pips_own_files_are_found_where_pip_finds_them(tmp_path: Path) -> None:
    file = tmp_path / "config" / "pip" / "pip.conf"
    file.parent.mkdir(parents=True)
    file.write_text("[global]\nextra-index-url = https://one.example/simple https://two.example/simple\n")
    found = told(read(tmp_path, {"PIP_CONFIG_FILE": ""}))
    assert found["UV_INDEX"] == ("https://one.example/simple https://two.example/simple", str(file))


def test_a_file_of_others_that_cannot_be_read_is_told_and_counts_for_nothing(tmp_path: Path) -> None:
    broken = tmp_path / "uv.toml"
    broken.write_text("index-url = [")
    sources = read(tmp_path, {"UV_NO_CONFIG": "", "UV_CONFIG_FILE": str(broken)})
    assert (told(sources), sources.unreadable) == ({}, (str(broken),))


def test_cellwrights_own_file_wins_over_everything(tmp_path: Path) -> None:
    own = tmp_path / "network.toml"
    own.write_text('https_proxy = "http://set:1"\nfind_links = ["/a", "/b"]\noffline = false\n')
    found = told(read(tmp_path, {"HTTPS_PROXY": "http://mine:9", "UV_OFFLINE": "1", "HTTP_PROXY": "http://mine:8"}))
    assert found["HTTPS_PROXY"] == ("http://set:1", str(own))
    assert found["UV_FIND_LINKS"] == ("/a,/b", str(own))
    connection = command_settings({"HTTPS_PROXY": "http://mine:9", "HTTP_PROXY": "http://mine:8", "PATH": "/"}, own=own)
    assert connection.variables == {
        "HTTPS_PROXY": "http://set:1",
        "HTTP_PROXY": "http://mine:8",
        "UV_FIND_LINKS": "/a,/b",
    }


@pytest.mark.parametrize("text", ["proxy = 'x'", "https_proxy = 3", "https_proxy = ["])
def test_a_mistake_in_cellwrights_own_file_is_told(tmp_path: Path, text: str) -> None:
    (tmp_path / "network.toml").write_text(text)
    with pytest.raises(UserError) as refused:
        read(tmp_path, {})
    assert refused.value.hint


def test_what_the_settings_say_reaches_every_program_of_ours_in_one_spelling(tmp_path: Path) -> None:
    (tmp_path / "network.toml").write_text('no_proxy = "intra"\n')
    variables = {"CELLWRIGHT_HOME": str(tmp_path), "HOME": str(tmp_path), "https_proxy": "http://p:1", "LANG": "C"}
    settings = Settings.read(variables | {"PIP_CONFIG_FILE": "/dev/null", "no_proxy": "other", "UV_NO_CONFIG": "1"})
    environment = settings.program_environment
    assert (environment["HTTPS_PROXY"], environment["NO_PROXY"], environment["LANG"]) == ("http://p:1", "intra", "C")
    assert not {"https_proxy", "no_proxy"} & set(environment)


def test_pip_is_told_the_same_in_its_own_words(tmp_path: Path) -> None:
    authority = tmp_path / "corp.pem"
    authority.touch()
    asked = {
        "UV_DEFAULT_INDEX": "corp=https://index.corp/simple",
        "UV_INDEX": "https://a/simple more=https://b/simple",
        "UV_FIND_LINKS": "/one,/two",
        "SSL_CERT_FILE": str(authority),
        "HTTPS_PROXY": "http://proxy:1",
        "NO_PROXY": ".corp",
    }
    assert pip_variables(NetworkSettings.of(asked)) == {
        "PIP_INDEX_URL": "https://index.corp/simple",
        "PIP_EXTRA_INDEX_URL": "https://a/simple https://b/simple",
        "PIP_FIND_LINKS": "/one /two",
        "PIP_CERT": str(authority),
        "https_proxy": "http://proxy:1",
        "no_proxy": ".corp",
        "PIP_PROXY": "",
    }
    assert pip_variables(NetworkSettings()) == {}
