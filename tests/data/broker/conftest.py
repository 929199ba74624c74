"""What tests of the broker share: a Postgres server, a database that is only read, and a broker."""

from __future__ import annotations

from collections.abc import Generator
from pathlib import Path

import pytest

from cellwright.data.broker_client import BrokerClient
from tests.data.shop import Shop, broker_client, name_connection, new_shop, shop_server


@pytest.fixture(scope="session")
def server() -> Generator[str]:
    with shop_server() as address:
        yield address


@pytest.fixture(scope="session")
def shop(server: str) -> Generator[Shop]:
    """For whoever only reads."""
    with new_shop(server) as shop:
        yield shop


@pytest.fixture(scope="session")
def running(tmp_path_factory: pytest.TempPathFactory) -> Generator[BrokerClient]:
    with broker_client(tmp_path_factory.mktemp("state") / "home") as client:
        yield client


@pytest.fixture
def client(running: BrokerClient, shop: Shop) -> BrokerClient:
    """Of a broker whose connection `shop` leads to the shop, whatever other tests made of it."""
    name_connection(running.launch.home, shop.connection())
    return running


@pytest.fixture
def own_shop(server: str) -> Generator[Shop]:
    """For whoever changes it."""
    with new_shop(server) as shop:
        yield shop


@pytest.fixture
def own_client(own_shop: Shop, tmp_path: Path) -> Generator[BrokerClient]:
    """Of a broker of its own, whose connection `shop` may write."""
    with broker_client(tmp_path / "home") as client:
        name_connection(client.launch.home, own_shop.connection(writer="writer"))
        yield client
