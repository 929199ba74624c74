"""Proxies, indexes and certificates of the host enter no cage, whether or not the notebook may use the network."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from pathlib import Path

import pytest

from cellwright.kernel.session.open_notebook import OpenNotebook
from cellwright.network import NetworkSettings
from cellwright.notebook.edits import CreateCell
from cellwright.sandbox.egress import Egress
from cellwright.settings import Settings
from tests.walled_network import PASSWORD

Opener = Callable[..., AbstractAsyncContextManager[OpenNotebook]]

LOOK = """
import os
import sys
WORDS = ["hunter2" + "-and-more", "proxy" + ".corp.example", "index" + ".corp.example", "company-" + "authority.pem"]
found = {word: [name for name, value in os.environ.items() if word in value] for word in WORDS}
places = ["/proc/self/environ", "/proc/1/environ", "/proc/self/cmdline", "/proc/1/cmdline"]
for top in ("/etc", "/home", "/tmp", "/project", "/run", "/root"):
    for folder, inner, names in os.walk(top):
        if folder in (sys.prefix, sys.base_prefix):  # the software's own files
            inner.clear()
        places += [os.path.join(folder, name) for name in names]
for place in places:
    try:
        with open(place, "rb") as file:
            content = file.read(1 << 22)
    except OSError:
        continue
    for word in WORDS:
        if word.encode() in content:
            found[word].append(place)
print(sorted((word[:5], places) for word, places in found.items()), len(WORDS))
print(sorted(name for name in os.environ if "PROXY" in name.upper() or name.startswith(("UV_", "PIP_", "SSL_"))))
"""


@pytest.mark.parametrize("has_network", [False, True])
async def test_nothing_of_the_hosts_connection_is_in_a_kernels_environment_or_files(
    opened: Opener, tmp_path: Path, has_network: bool
) -> None:
    home = tmp_path / "home"
    home.mkdir()
    (home / "network.toml").write_text(f'index = "https://ada:{PASSWORD}@index.corp.example/simple"\n')
    variables = {
        "CELLWRIGHT_HOME": str(home),
        "HTTPS_PROXY": f"http://ada:{PASSWORD}@proxy.corp.example:3128",
        "REQUESTS_CA_BUNDLE": str(tmp_path / "company-authority.pem"),
    }
    settings = Settings.read(variables)
    assert {"HTTPS_PROXY", "SSL_CERT_FILE", "UV_DEFAULT_INDEX"} <= set(settings.connection.variables)
    egress = Egress(connection=NetworkSettings.of(settings.connection.variables)) if has_network else None
    async with opened("x = 1", settings=settings, egress=egress) as notebook:
        observation = await notebook.apply([CreateCell(code=LOOK)])
        console = observation.cells[-1].console
    ways_out = ["HTTPS_PROXY", "HTTP_PROXY", "http_proxy", "https_proxy"] if has_network else []
    nothing = [("compa", []), ("hunte", []), ("index", []), ("proxy", [])]
    assert console.splitlines() == [f"{nothing} 4", str(ways_out)]
