"""One verifier per test, one folder of wheels per session."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable
from pathlib import Path

import pytest

from cellwright.kernel.pool import KernelPool
from cellwright.network import NetworkSettings
from cellwright.settings import Settings
from tests.kernel.test_environment_kernels import needed_by, tiny_wheel, wheel_of
from tests.runs.verify.verifying import Verifier, source


@pytest.fixture(scope="session")
def wheels(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wheels")
    for name in needed_by("marimo", "msgspec", "pytest"):
        wheel_of(name, folder)
    tiny_wheel(folder)
    return folder


@pytest.fixture(scope="session")
async def other_pool(cache: Path) -> AsyncGenerator[KernelPool]:
    async with KernelPool.open(cache / "zygote") as opened:
        yield opened


@pytest.fixture
def verified(pool: KernelPool, other_pool: KernelPool, tmp_path: Path) -> Verifier:
    """Verifies notebooks that need no packages of their own."""
    settings = Settings(
        home=tmp_path / "state", cache=tmp_path / "cache", connection=NetworkSettings.of({"UV_OFFLINE": "1"})
    )
    return Verifier(pool=pool, other=other_pool, settings=settings, home=tmp_path / "home")


@pytest.fixture
def verified_with_wheels(pool: KernelPool, other_pool: KernelPool, wheels: Path, tmp_path: Path) -> Verifier:
    """Verifies notebooks whose header asks for what is in `wheels`."""
    variables = {"UV_FIND_LINKS": str(wheels), "UV_OFFLINE": "1"}
    settings = Settings(home=tmp_path / "state", cache=tmp_path / "cache", connection=NetworkSettings.of(variables))
    return Verifier(pool=pool, other=other_pool, settings=settings, home=tmp_path / "home")


@pytest.fixture
def written(tmp_path: Path) -> Callable[..., Path]:
    """Write a notebook with these cells into a project of its own."""

    def write(*cells: str, requires: tuple[str, ...] | None = None) -> Path:
        path = tmp_path / "project" / "notebook.py"
        path.parent.mkdir(exist_ok=True)
        path.write_text(source(*cells, requires=requires))
        return path

    return write
