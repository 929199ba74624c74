"""Fixtures for pytest: put `pytest_plugins = ["cellwright.testing.fixtures"]` into your `conftest.py`.

This module needs pytest; nothing else here does.
"""

from __future__ import annotations

from collections.abc import Generator

import pytest

from cellwright.testing.process import ProviderProcess
from cellwright.testing.server import ProviderServer


@pytest.fixture
def provider_server() -> Generator[ProviderServer]:
    """A fresh provider server, for tests with and without an event loop of their own."""
    with ProviderServer.running() as server:
        yield server


@pytest.fixture
def provider_process() -> Generator[ProviderProcess]:
    """A fresh provider server in a process of its own, for tests that kill."""
    with ProviderProcess.running() as process:
        yield process
