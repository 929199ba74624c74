"""Houses with a gateway forked from one warm process, and one cache of packages and a zygote for all tests."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Generator
from pathlib import Path

import pytest

from cellwright.kernel.pool import KernelPool
from cellwright.models.client.gateway_client import Models
from tests.models.testbed import ModelTestbed, Warm
from tests.runs.factory import Kernels


@pytest.fixture
def testbed(warm: Warm, tmp_path: Path) -> Generator[ModelTestbed]:
    with ModelTestbed.open(tmp_path / "testbed", warm) as opened:
        yield opened


@pytest.fixture
async def gateway(testbed: ModelTestbed) -> AsyncGenerator[Models]:
    """One that outlives whoever is killed."""
    async with Models.open(testbed.home, launch=testbed.launch()) as models:
        yield models


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    folder.mkdir()
    return folder


@pytest.fixture(scope="session")
async def kernels(cache: Path, pool: KernelPool) -> AsyncGenerator[Kernels]:
    async with KernelPool.open(cache / "zygote") as other:
        yield Kernels(cache=cache, pools=(pool, other))
