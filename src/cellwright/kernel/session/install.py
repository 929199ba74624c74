"""A package for a notebook that is open: into its header, its environment and its kernel, which goes on if it can."""

from __future__ import annotations

from collections.abc import Awaitable, Sequence
from typing import Protocol

import anyio.to_thread

from cellwright.errors import Unavailable
from cellwright.ids import CellId
from cellwright.kernel.environments.additions import plan_addition
from cellwright.kernel.environments.lookup import Environment
from cellwright.kernel.environments.packages import PackageInstall, added_between, with_package
from cellwright.kernel.observation import Observation
from cellwright.kernel.process.call import CellSelection
from cellwright.kernel.process.live_kernel import KernelOwner, LiveKernel
from cellwright.kernel.process.run_request import cells_to_rerun
from cellwright.kernel.process.side_calls import SideCalls


class ExtensibleNotebook(KernelOwner, Protocol):
    """A notebook that can be given a package."""

    def set_header(self, header: str) -> None:
        """Change what stands above the cells."""
        ...

    def run(self, what: CellSelection, *, seconds: float | None) -> Awaitable[Observation]:
        """Run cells."""
        ...


async def install(
    notebook: ExtensibleNotebook, live: LiveKernel, asides: SideCalls, requirement: str, *, seconds: float | None
) -> PackageInstall:
    """Add a package; what failed for want of a module runs again. Raises with nothing changed when it cannot be had."""
    before = notebook.document
    wanted = await anyio.to_thread.run_sync(with_package, before, requirement)
    environment = await live.workplace.build(wanted)
    joined = await _join(live, asides, environment) if environment is not None else None
    if wanted is before and joined == {}:
        return PackageInstall(requirement=requirement, added=(), way="already there", observation=Observation())
    again = cells_to_rerun(notebook.document, notebook.outcomes, with_ran=joined is None)
    async with live.turn:
        if notebook.document.header != before.header:
            # Somebody changed it meanwhile: theirs stays, with ours added.
            wanted = await anyio.to_thread.run_sync(with_package, notebook.document, requirement)
        old_header = notebook.document.header
        notebook.set_header(wanted.header)
        if joined is None:
            await _renew(notebook, live, old_header, again)
    observation = await notebook.run(again, seconds=seconds) if again else Observation()
    way = "replayed" if joined is None else "continued"
    added = added_between(before, wanted)
    return PackageInstall(requirement=requirement, added=added, way=way, observation=observation)


async def _join(live: LiveKernel, asides: SideCalls, environment: Environment) -> dict[str, str] | None:
    """Hand the kernel that runs what it lacks, and say what; None if it must be another kernel."""
    if not live.is_whole:
        return None
    new = await anyio.to_thread.run_sync(plan_addition, environment, await live.distributions())
    if new is None:
        return None
    for portion in new.portions():
        if not await asides.add_files(portion):
            return None
    live.joined |= new.distributions
    return new.distributions


async def _renew(notebook: ExtensibleNotebook, live: LiveKernel, old_header: str, again: Sequence[CellId]) -> None:
    """Another kernel for the new header; where none starts, the next call goes on with the old one."""
    await live.retire()
    live.replay.clear()
    try:
        await live.ready()
    except Unavailable:
        notebook.set_header(old_header)
        live.replay = set(again)
        raise
