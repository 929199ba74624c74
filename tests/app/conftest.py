"""Houses with a gateway, fresh journals, and a project of the person's own."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator
from pathlib import Path

import pytest

from cellwright.data.broker_client import BrokerClient
from tests.agents.conftest import template, testbed, where
from tests.app.agents_at_work import ROLE, accept_all
from tests.app.web_services import ApiServer, ObjectServer, api_server, object_server
from tests.data.shop import broker_client
from tests.models.testbed import ModelTestbed
from tests.sandbox.egress.world import World, world

__all__ = ["template", "testbed", "where"]


@pytest.fixture
def internet(tmp_path: Path) -> Iterator[World]:
    with world(tmp_path) as made:
        yield made


@pytest.fixture
def project(write_notebook: Callable[..., Path], testbed: ModelTestbed) -> Callable[..., Path]:
    """A notebook with these cells, in a project with roles of its own that have every tool; a person accepted them."""

    def make(*cells: str) -> Path:
        path = write_notebook(*(cells or ("x = 1",)))
        for name, style in (("helper", "tools"), ("programmer", "code")):
            role = path.parent / ".cellwright" / "roles" / f"{name}.md"
            role.parent.mkdir(parents=True, exist_ok=True)
            role.write_text(ROLE.format(name=name, style=style))
        accept_all(testbed.home, path.parent)
        return path

    return make


@pytest.fixture(scope="module")
def api(tmp_path_factory: pytest.TempPathFactory) -> Generator[ApiServer]:
    with api_server(tmp_path_factory.mktemp("api")) as server:
        yield server


@pytest.fixture(scope="module")
def store() -> Generator[ObjectServer]:
    with object_server() as server:
        yield server


@pytest.fixture
def client(tmp_path: Path) -> Generator[BrokerClient]:
    with broker_client(tmp_path / "home") as client:
        yield client
