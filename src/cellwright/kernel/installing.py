"""A package for a notebook that is open: into its header, its environment and its kernel, which goes on if it can."""

from __future__ import annotations

from collections.abc import Awaitable, Sequence
from typing import Protocol

import anyio.to_thread

from cellwright.errors import Unavailable
from cellwright.ids import CellId
from cellwright.kernel.asides import Asides
from cellwright.kernel.call import RunWhat
from cellwright.kernel.environments import Environment
from cellwright.kernel.joining import joining
from cellwright.kernel.live_kernel import LiveKernel, Owner
from cellwright.kernel.observation import Observation
from cellwright.kernel.orders import to_run_again
from cellwright.kernel.packages import Installed, added_between, with_package


class Extensible(Owner, Protocol):
    """A notebook that can be given a package."""

    def set_header(self, header: str) -> None:
        """Change what stands above the cells."""
        ...

    def run(self, what: RunWhat, *, seconds: float | None) -> Awaitable[Observation]:
        """Run cells."""
        ...


async def install(
    notebook: Extensible, live: LiveKernel, asides: Asides, requirement: str, *, seconds: float | None
) -> Installed:
    """Add a package; what failed for want of a module runs again. Raises with nothing changed when it cannot be had."""
    before = notebook.document
    wanted = await anyio.to_thread.run_sync(with_package, before, requirement)
    environment = await live.workplace.build(wanted)
    joined = await _join(live, asides, environment) if environment is not None else None
    if wanted is before and joined == {}:
        return Installed(requirement=requirement, added=(), way="already there", observation=Observation())
    again = to_run_again(notebook.document, notebook.outcomes, with_ran=joined is None)
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
    return Installed(requirement=requirement, added=added, way=way, observation=observation)


async def _join(live: LiveKernel, asides: Asides, environment: Environment) -> dict[str, str] | None:
    """Hand the kernel that runs what it lacks, and say what; None if it must be another kernel."""
    if not live.is_whole:
        return None
    new = await anyio.to_thread.run_sync(joining, environment, await live.distributions())
    if new is None:
        return None
    for portion in new.portions():
        if not await asides.add_files(portion):
            return None
    live.joined |= new.distributions
    return new.distributions


async def _renew(notebook: Extensible, live: LiveKernel, old_header: str, again: Sequence[CellId]) -> None:
    """Another kernel for the new header; where none starts, the next call goes on with the old one."""
    await live.retire()
    live.replay.clear()
    try:
        await live.ready()
    except Unavailable:
        notebook.set_header(old_header)
        live.replay = set(again)
        raise
