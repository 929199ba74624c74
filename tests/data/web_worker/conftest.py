"""What tests of exchanges share: a loopback API, and a broker that knows it."""

from __future__ import annotations

from collections.abc import Generator
from pathlib import Path

import pytest

from cellwright.data.broker_client import BrokerClient
from cellwright.data.connections import DataConnection, QueryLimits, store_connection
from cellwright.secrets import keep_secret
from tests.data.shop import broker_client
from tests.data.web_worker.api_server import API_SECRET, ApiServer, api_server


def name_api(home: Path, url: str, *, limits: QueryLimits | None = None, **options: str) -> DataConnection:
    """The connection `crm`, with its secret."""
    crm = DataConnection(name="crm", kind="api", options={"url": url} | options, limits=limits or QueryLimits())
    store_connection(home, crm)
    keep_secret(home, crm.secret_name, API_SECRET, "file")
    return crm


@pytest.fixture(scope="session")
def one_api() -> Generator[ApiServer]:
    with api_server() as server:
        yield server


@pytest.fixture
def api(one_api: ApiServer) -> ApiServer:
    """A server that nobody has asked anything yet; always the same, so that workers stay the same."""
    one_api.forget()
    return one_api


@pytest.fixture(scope="session")
def running(tmp_path_factory: pytest.TempPathFactory) -> Generator[BrokerClient]:
    with broker_client(tmp_path_factory.mktemp("state") / "home") as client:
        yield client


@pytest.fixture
def client(running: BrokerClient, api: ApiServer) -> BrokerClient:
    """Of a broker whose connection `crm` leads to this test's server."""
    name_api(running.launch.home, api.url)
    return running
