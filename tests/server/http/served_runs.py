"""Runs at work behind the web door: the real `open_runs`, scripted models over the real wire, real kernels."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from cellwright.settings import Settings
from tests.conftest import notebook_source
from tests.models.testbed import ModelTestbed, Warm
from tests.runs.factory import Factory, open_factory
from tests.server.http.a_served_folder import Served, serve


@dataclass(frozen=True, slots=True, kw_only=True)
class Works:
    """A factory, and somebody at its door."""

    factory: Factory
    served: Served

    async def start(self, *, notebook: str | None = "sums.py", **more: Any) -> str:
        """A run of the scripted model."""
        asked = {"goal": "Sum the numbers.", "models": ["near:one"], "notebook": notebook, **more}
        return (await self.served.post("/runs", asked, status=201))["run"]

    async def until_silent(self) -> None:
        """Until the model lets an agent wait."""
        await self.factory.testbed.provider.until(lambda server: server.silent >= 1, timeout_seconds=120)


def a_project(folder: Path) -> Path:
    """One small notebook, `sums.py`."""
    project = folder / "project"
    project.mkdir()
    (project / "sums.py").write_text(notebook_source("import marimo as mo"))
    return project


@asynccontextmanager
async def open_works(folder: Path, warm: Warm, cache: Path) -> AsyncGenerator[Works]:
    """A folder with a small notebook is served."""
    with ModelTestbed.open(folder / "testbed", warm) as testbed:
        async with reopened(testbed, a_project(folder), cache) as works:
            yield works


@asynccontextmanager
async def reopened(testbed: ModelTestbed, project: Path, cache: Path) -> AsyncGenerator[Works]:
    """The same after whoever carried runs out has ended."""
    settings = replace(Settings.read(), home=testbed.home, cache=cache)
    async with (
        open_factory(testbed, project, cache) as factory,
        serve(project, settings, factory.runs, launch=testbed.launch()) as served,
    ):
        yield Works(factory=factory, served=served)
