"""One server and one client of each kind for all tests of the room: clients are slow to build."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Generator
from contextlib import AsyncExitStack

import pytest

from cellwright.testing import WIRE_KINDS, ProviderServer
from cellwright.testing.fixtures import provider_process, provider_server
from tests.testing.clients import Models, open_model

__all__ = ["provider_process", "provider_server"]


@pytest.fixture(scope="session")
def served() -> Generator[ProviderServer]:
    with ProviderServer.running() as server:
        yield server


@pytest.fixture
def server(served: ProviderServer) -> ProviderServer:
    """The common server, as if it were fresh."""
    served.forget()
    return served


@pytest.fixture(scope="session")
async def models(served: ProviderServer) -> AsyncGenerator[Models]:
    """pydantic-ai's model for each wire format."""
    async with AsyncExitStack() as opened:
        yield {kind: await opened.enter_async_context(open_model(served, kind)) for kind in WIRE_KINDS}
