"""What tests of the web door share: one warm gateway process, and one cache of packages."""

from __future__ import annotations

from collections.abc import Generator
from pathlib import Path

import pytest

from tests.models.houses import Warm, warm_process


@pytest.fixture(scope="session")
def warm_gateway(tmp_path_factory: pytest.TempPathFactory) -> Generator[Warm]:
    with warm_process(tmp_path_factory.mktemp("warm-gateway")) as process:
        yield process


@pytest.fixture(scope="session")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("cache")
