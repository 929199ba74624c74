"""What a scenario is given: a warm pool, peers on demand, folders for notebooks, and how often to measure."""

from __future__ import annotations

import tempfile
from collections.abc import AsyncGenerator, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from bench.failure import BenchFailed
from bench.peer import Peer, start_peer
from bench.peer_packages import peers_python
from cellwright.app import open_notebook
from cellwright.kernel.observation import Observation
from cellwright.kernel.pool import KernelPool
from cellwright.kernel.session.open_notebook import OpenNotebook
from cellwright.settings import Settings

_HEAD = 'import marimo\n\n__generated_with = "0.25.2"\napp = marimo.App()\n'
_FOOT = '\n\nif __name__ == "__main__":\n    app.run()\n'


@dataclass(frozen=True, slots=True, kw_only=True)
class Stage:
    """One run of the bench."""

    pool: KernelPool
    settings: Settings
    """Read once, as a daemon does, and as marimo's session manager has its configuration."""
    python: Path
    folder: Path
    is_quick: bool

    def rounds(self, usual: int = 10, *, quick: int = 3) -> int:
        """How often to measure: at least ten times, unless only a quick look is wanted."""
        return quick if self.is_quick else usual

    def project(self, name: str, *cells: str) -> Path:
        """A notebook with these cells in a folder of its own."""
        folder = self.folder / name
        folder.mkdir()
        notebook = folder / "notebook.py"
        notebook.write_text(_source(cells))
        return notebook

    def open(self, notebook: Path) -> AbstractAsyncContextManager[OpenNotebook]:
        """A notebook with a fresh kernel of ours, overlay mounted, at the tier this machine offers."""
        return open_notebook(notebook, pool=self.pool, settings=self.settings)

    @asynccontextmanager
    async def peer(self, program: str) -> AsyncGenerator[Peer]:
        """A peer program for as long as the block lasts."""
        with tempfile.TemporaryDirectory(prefix=f"{program}-", dir=self.folder) as folder:
            async with start_peer(self.python, program, Path(folder)) as peer:
                yield peer


@asynccontextmanager
async def set_stage(*, is_quick: bool) -> AsyncGenerator[Stage]:
    """Peers installed, zygote warm; everything is gone afterwards."""
    python = await peers_python()
    with tempfile.TemporaryDirectory(prefix="cellwright-bench-") as folder:
        async with KernelPool.open() as pool:
            zygote = await pool.zygote()
            await zygote.warm_up()
            await zygote.is_warm.wait()
            yield Stage(pool=pool, settings=Settings.read(), python=python, folder=Path(folder), is_quick=is_quick)


def expect_well(observation: Observation) -> Observation:
    """Every cell ran: a fast failure is no result."""
    bad = [f"{outcome.id}: {outcome.status} {outcome.error}" for outcome in observation.cells if outcome.status != "ok"]
    if bad or observation.problem or observation.refused or not observation.cells:
        raise BenchFailed(f"our own run failed: {bad[:3]} {observation.problem} {observation.refused or ''}")
    return observation


def _source(cells: Sequence[str]) -> str:
    functions = (
        "\n\n@app.cell\ndef _():\n" + "".join(f"    {line}\n" for line in code.splitlines()) + "    return\n"
        for code in cells
    )
    return _HEAD + "".join(functions) + _FOOT
