"""A package for a notebook that is open: into its header, its environment and its kernel, which goes on if it can."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import anyio.to_thread

from cellwright.errors import Unavailable
from cellwright.ids import CellId
from cellwright.kernel.branches.notebook_session import NotebookSession
from cellwright.kernel.environments.additions import plan_addition
from cellwright.kernel.environments.lookup import Environment
from cellwright.kernel.environments.packages import PackageInstall, added_between, missing_package, with_package
from cellwright.kernel.observation import NotebookState, Observation
from cellwright.kernel.process.live_kernel import LiveKernel
from cellwright.kernel.process.side_calls import SideCalls


async def install(notebook: NotebookSession, requirement: str, *, seconds: float | None) -> PackageInstall:
    """Add a package; what failed for want of a module runs again. Raises with nothing changed when it cannot be had."""
    live, before = notebook.live, notebook.state.document
    wanted = await anyio.to_thread.run_sync(with_package, before, requirement)
    environment = await live.provisioner.build(wanted)
    joined: dict[str, str] | None
    if environment is not None:
        joined = await _join(live, notebook.side_calls, environment)
    else:
        # Ours have it, and a kernel that runs on ours lacks nothing.
        joined = {} if live.provisioner.environment is None else None
    if wanted is before and joined == {}:
        return PackageInstall(requirement=requirement, added=(), way="already there", observation=Observation())
    again = cells_to_rerun(notebook.state, with_ran=joined is None)
    async with live.slot:
        if notebook.state.document.header != before.header:
            # Somebody changed it meanwhile: theirs stays, with ours added.
            wanted = await anyio.to_thread.run_sync(with_package, notebook.state.document, requirement)
        old_header = notebook.state.document.header
        _set_header(notebook, wanted.header)
        if joined is None:
            await _renew(notebook, old_header, again)
    observation = await notebook.apply(run=again, seconds=seconds) if again else Observation()
    way = "replayed" if joined is None else "continued"
    added = added_between(before, wanted)
    return PackageInstall(requirement=requirement, added=added, way=way, observation=observation)


async def _join(live: LiveKernel, side_calls: SideCalls, environment: Environment) -> dict[str, str] | None:
    """Hand the kernel that runs what it lacks, and say what; None if it must be another kernel."""
    if not live.is_whole:
        return None
    new = await anyio.to_thread.run_sync(plan_addition, environment, await live.distributions())
    if new is None:
        return None
    for portion in new.portions():
        if not await side_calls.add_files(portion):
            return None
    live.joined |= new.distributions
    return new.distributions


async def _renew(notebook: NotebookSession, old_header: str, again: Sequence[CellId]) -> None:
    """Another kernel for the new header; where none starts, the next call goes on with the old one."""
    live = notebook.live
    await live.retire()
    live.replay.clear()
    try:
        await live.ready()
    except Unavailable:
        _set_header(notebook, old_header)
        live.replay = set(again)
        raise


def _set_header(notebook: NotebookSession, header: str) -> None:
    notebook.state = replace(notebook.state, document=replace(notebook.state.document, header=header))


def cells_to_rerun(state: NotebookState, *, with_ran: bool) -> list[CellId]:
    """What could not run for want of a module, and what had run; what depends on those follows."""
    known = [(cell.id, state.outcomes.get(cell.id)) for cell in state.document.cells]
    return [
        cell
        for cell, outcome in known
        if outcome is not None and ((with_ran and outcome.status == "ok") or missing_package(outcome.error) is not None)
    ]
