"""Servers that are there for all tests of this folder, each started when it is first asked for."""

from __future__ import annotations

from collections.abc import Generator

import pytest

from tests.data.worker.driving import DrivenWorker, driven_worker
from tests.data.worker.servers import DataServer, clickhouse_data_server, mariadb_server, postgres_data_server


@pytest.fixture(scope="session")
def postgres_data() -> Generator[DataServer]:
    with postgres_data_server() as server:
        yield server


@pytest.fixture(scope="session")
def mysql_data() -> Generator[DataServer]:
    with mariadb_server() as server:
        yield server


@pytest.fixture(scope="session")
def clickhouse_data() -> Generator[DataServer]:
    with clickhouse_data_server() as server:
        yield server


@pytest.fixture(params=["postgres", "mysql", "clickhouse"])
def data_server(request: pytest.FixtureRequest) -> DataServer:
    """Each of the servers that can be had here."""
    return request.getfixturevalue(f"{request.param}_data")


@pytest.fixture
def worker(data_server: DataServer) -> Generator[DrivenWorker]:
    """A worker with an open session that reads."""
    with driven_worker() as driven:
        opened = driven.ask(**data_server.opening()).reply
        assert opened["kind"] == "opened", opened
        assert opened["server"].startswith(data_server.server)
        yield driven
