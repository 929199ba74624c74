"""A fresh place for one notebook: an environment built now and only from its header, and kernels that start empty."""

from __future__ import annotations

import fcntl
import os
import secrets
import shutil
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path

import anyio
import anyio.to_thread

from cellwright.errors import RefusedByPolicy
from cellwright.kernel import KernelOptions, KernelPool, OpenNotebook
from cellwright.kernel.environments.additions import distributions_in
from cellwright.kernel.environments.lookup import PackageSource, environment_for
from cellwright.kernel.environments.script_header import ScriptHeader, header_of
from cellwright.kernel.process.zygote import package_paths
from cellwright.notebook import NotebookFile
from cellwright.sandbox.spec import DataMount, Tier


@dataclass(frozen=True, slots=True, kw_only=True)
class FreshEnvironment:
    """Where a notebook is run to see whether it stands on its own."""

    open: Callable[[int], AbstractAsyncContextManager[OpenNotebook]]
    """The notebook on a kernel of its own for this run, with nothing in it yet. What it changes is forgotten."""
    requirements: tuple[str, ...] | None
    """What its header asks for; None when it has none and runs on Cellwright's own packages."""
    packages: Mapping[str, str]
    """Every distribution there is, name → version."""
    python: str
    """The version of the interpreter."""
    source: PackageSource | None
    """Where its environment came from; None when it has none of its own."""
    project: Path
    data: tuple[DataMount, ...]
    tier: Tier


OpenFresh = Callable[[NotebookFile], AbstractAsyncContextManager[FreshEnvironment]]
"""Raises `UserError` or `Unavailable` when the environment is not to be had."""


def fresh_environments(pool: KernelPool, terrain: KernelOptions, *, other: KernelPool | None = None) -> OpenFresh:
    """Fresh places on this terrain, whatever it says about changed files.

    The second run's kernel comes from another zygote: of `other`, or of a pool that is opened for it.
    """

    @asynccontextmanager
    async def open_fresh(file: NotebookFile) -> AsyncGenerator[FreshEnvironment]:
        forgetful = replace(terrain, files="drop")
        header = await anyio.to_thread.run_sync(header_of, file.document.header)
        if header is None:
            folders = [Path(path) for path in package_paths()]
            packages = await anyio.to_thread.run_sync(distributions_in, folders)
            ours = FreshPackages(terrain=forgetful, packages=packages, python=terrain.pythons.ours.version, source=None)
            yield _environment((pool, other), file, None, ours)
            return
        async with fresh_packages(header, forgetful) as fresh:
            yield _environment((pool, pool), file, header.dependencies, fresh)

    return open_fresh


@dataclass(frozen=True, slots=True, kw_only=True)
class FreshPackages:
    """The packages kernels run on: of an environment that was made now, or our own."""

    terrain: KernelOptions
    """On which kernels have them."""
    packages: Mapping[str, str]
    """The distributions, name → version."""
    python: str
    source: PackageSource | None
    """Where the environment came from; None for our own."""


@asynccontextmanager
async def fresh_packages(header: ScriptHeader, terrain: KernelOptions) -> AsyncGenerator[FreshPackages]:
    """An environment resolved now, not one that was kept. Downloads are shared."""
    if terrain.environments is None:
        raise RefusedByPolicy("This notebook asks for its own packages, and building environments is off here.")
    async with _own_folder(terrain.environments) as folder:
        environment = await environment_for(
            header, cache=folder, uv=terrain.uv, pythons=terrain.pythons, on_progress=terrain.on_progress
        )
        packages = await anyio.to_thread.run_sync(distributions_in, [environment.site_packages])
        yield FreshPackages(
            terrain=replace(terrain, environments=folder),
            packages=packages,
            python=environment.interpreter.version,
            source=environment.source,
        )


def _environment(
    pools: tuple[KernelPool, KernelPool | None],
    file: NotebookFile,
    requirements: tuple[str, ...] | None,
    fresh: FreshPackages,
) -> FreshEnvironment:
    terrain = fresh.terrain
    return FreshEnvironment(
        open=lambda run: _on_kernel_of(pools[run > 1], file, terrain),
        requirements=requirements,
        packages=dict(sorted(fresh.packages.items())),
        python=fresh.python,
        source=fresh.source,
        project=terrain.project,
        data=terrain.data,
        tier=terrain.tier,
    )


@asynccontextmanager
async def _on_kernel_of(
    pool: KernelPool | None, file: NotebookFile, terrain: KernelOptions
) -> AsyncGenerator[OpenNotebook]:
    # Kernels forked from one zygote share its hash seed: a set of texts would come in the same order by accident.
    # A notebook's own environment is started anew for each kernel, so there one pool does.
    async with AsyncExitStack() as stack:
        used = pool or await stack.enter_async_context(KernelPool.open())
        yield await stack.enter_async_context(used.open_notebook(file, terrain))


@asynccontextmanager
async def _own_folder(environments: Path) -> AsyncGenerator[Path]:
    """A folder that is gone afterwards; one that a killed process left goes with the next."""
    folder, lock = await anyio.to_thread.run_sync(_make_folder, environments)
    try:
        yield folder
    finally:
        with anyio.CancelScope(shield=True):
            await anyio.to_thread.run_sync(_remove, folder, lock)


def _make_folder(environments: Path) -> tuple[Path, int]:
    downloads, nursery = environments / "uv", environments / "fresh"
    for needed in (downloads, nursery):
        needed.mkdir(parents=True, exist_ok=True)
    for old in nursery.glob("*.lock"):
        _sweep(old)
    folder = nursery / secrets.token_hex(8)
    # Locked before it has the name by which others would find it unlocked.
    unseen = folder.with_suffix(".new")
    descriptor = os.open(unseen, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    fcntl.flock(descriptor, fcntl.LOCK_EX)
    unseen.rename(folder.with_suffix(".lock"))
    folder.mkdir(mode=0o755)
    (folder / "uv").symlink_to(downloads.absolute(), target_is_directory=True)
    return folder, descriptor


def _sweep(lock: Path) -> None:
    try:
        descriptor = os.open(lock, os.O_RDWR | os.O_CLOEXEC)
    except FileNotFoundError:
        return
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(descriptor)
        return
    _remove(lock.with_suffix(""), descriptor)


def _remove(folder: Path, lock: int) -> None:
    shutil.rmtree(folder, ignore_errors=True)
    folder.with_suffix(".lock").unlink(missing_ok=True)
    os.close(lock)
