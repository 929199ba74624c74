"""Whoever asks the broker is connected by its own command's proxy, whoever started the broker; no file knows it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from cellwright.data.broker.request_network import worker_environment
from cellwright.data.broker_client import BrokerClient
from cellwright.data.connections import DataConnection, store_connection
from cellwright.data.messages import ListFiles
from cellwright.errors import Unavailable
from cellwright.settings import Settings
from tests.data.shop import broker_client
from tests.data.web_worker.api_server import api_server
from tests.data.web_worker.conftest import name_api
from tests.data.web_worker.speaking import exchange, request_bytes
from tests.walled_network import PASSWORD, forward_proxy, nowhere

NO_PROXY = dict.fromkeys(("HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy", "NO_PROXY", "no_proxy"), "")


@pytest.mark.slow
async def test_each_command_reaches_a_connection_by_its_own_proxy_whoever_started_the_broker(tmp_path: Path) -> None:
    home = tmp_path / "home"
    with api_server() as api, forward_proxy() as proxy, broker_client(home, **NO_PROXY) as first:
        name_api(home, f"http://crm.invalid:{api.port}", tls="off")
        folder = DataConnection(
            name="lake", kind="http", options={"url": f"http://lake.invalid:{api.port}/open", "tls": "off"}
        )
        store_connection(home, folder)
        behind = BrokerClient(launch=replace(first.launch, network={"HTTP_PROXY": proxy.url()}))
        assert await asked(first) == 502, "this machine does not know the name"
        assert await asked(behind) == 200
        assert await asked(first) == 502, "the other's proxy is not ours"
        assert (await behind.files(ListFiles(connection="lake"))).entries == ()
        with pytest.raises(Unavailable):
            await first.files(ListFiles(connection="lake"))
        assert {head.partition("\n")[0].split("/")[2] for head in proxy.heads} == {
            f"crm.invalid:{api.port}",
            f"lake.invalid:{api.port}",
        }
    kept = [path for path in home.rglob("*") if path.is_file() and PASSWORD.encode() in path.read_bytes()]
    assert kept == [], "the audit, the log and everything else"


async def asked(client: BrokerClient) -> int:
    return (await exchange(client, "crm", request_bytes("GET", "/open"))).status


def test_the_broker_is_told_proxies_and_certificates_only_and_settings_win(tmp_path: Path) -> None:
    (tmp_path / "network.toml").write_text('https_proxy = "http://set.example:1"\n')
    asked = {"HTTPS_PROXY": "http://mine:2", "HTTP_PROXY": "http://mine:3", "UV_DEFAULT_INDEX": nowhere()}
    settings = Settings.read({"CELLWRIGHT_HOME": str(tmp_path), "HTTP_PROXY": "http://daemon:4"}).for_command(asked)
    launch = settings.broker_launch()
    assert launch.network == {"HTTPS_PROXY": "http://set.example:1", "HTTP_PROXY": "http://mine:3"}
    assert "mine" not in repr(launch)


def test_a_worker_has_the_proxies_of_its_request_and_none_of_the_brokers() -> None:
    broker = {"https_proxy": "http://broker:1", "ALL_PROXY": "http://broker:2", "PATH": "/bin"}
    assert worker_environment(broker, {"HTTPS_PROXY": "http://mine:3", "UV_INDEX": "x"}) == {
        "PATH": "/bin",
        "HTTPS_PROXY": "http://mine:3",
    }
