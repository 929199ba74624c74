"""What tests of file words share: a broker, and a server of each kind."""

from __future__ import annotations

from collections.abc import Generator

import pytest

from cellwright.data.broker_client import BrokerClient
from tests.data.file_stores.cloud_servers import azure_server, google_server
from tests.data.file_stores.servers import FileServer, file_server
from tests.data.shop import broker_client


@pytest.fixture(scope="session")
def running(tmp_path_factory: pytest.TempPathFactory) -> Generator[BrokerClient]:
    with broker_client(tmp_path_factory.mktemp("files-state") / "home") as client:
        yield client


SLOW = [pytest.param(kind, marks=pytest.mark.slow) for kind in ("webdav", "http", "smb", "azure", "gcs")]


@pytest.fixture(scope="session", params=["s3", "sftp", *SLOW])
def server(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Generator[FileServer]:
    folder = tmp_path_factory.mktemp("served")
    clouds = {"azure": lambda: azure_server(folder), "gcs": google_server}
    opening = clouds.get(request.param, lambda: file_server(request.param, folder))
    with opening() as server:
        yield server
