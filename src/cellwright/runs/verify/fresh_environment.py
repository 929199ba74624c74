"""A fresh place for one notebook: an environment resolved now from its header alone, and kernels that start empty."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path

import anyio
import anyio.to_thread

from cellwright.errors import RefusedByPolicy
from cellwright.kernel.environments.additions import distributions_in
from cellwright.kernel.environments.locked_environment import last_environment, locked_environment
from cellwright.kernel.environments.lookup import PackageSource
from cellwright.kernel.environments.script_header import ScriptHeader, header_of
from cellwright.kernel.pool import KernelPool
from cellwright.kernel.process.provisioner import KernelOptions
from cellwright.kernel.process.zygote_process import package_paths
from cellwright.kernel.session.open_notebook import OpenNotebook
from cellwright.notebook.files import NotebookFile


@dataclass(frozen=True, slots=True, kw_only=True)
class FreshEnvironment:
    """Where a notebook is run to see whether it stands on its own."""

    options: KernelOptions
    """Those under which its kernels have these packages."""
    packages: Mapping[str, str]
    """Every distribution there is, name → version."""
    python: str
    """The version of the interpreter."""
    source: PackageSource | None = None
    """Where its environment came from; None when it has none of its own."""
    requirements: tuple[str, ...] | None = None
    """What its header asks for; None when it has none and runs on Cellwright's own packages."""
    pools: tuple[KernelPool | None, KernelPool | None] = (None, None)
    """Where the kernels of the first and of the second run come from; None: a pool is opened for it."""

    @property
    def key(self) -> str:
        """The same for the same packages; empty when it runs on Cellwright's own."""
        return self.options.environment.key if self.options.environment is not None else ""

    @asynccontextmanager
    async def open(self, file: NotebookFile, run: int) -> AsyncGenerator[OpenNotebook]:
        """The notebook on a kernel of its own for this run, with nothing in it yet. What it changes is forgotten."""
        async with AsyncExitStack() as stack:
            pool = self.pools[run > 1] or await stack.enter_async_context(KernelPool.open())
            yield await stack.enter_async_context(pool.open_notebook(file, self.options))


@dataclass(frozen=True, slots=True, kw_only=True)
class FreshEnvironments:
    """Fresh environments under these options, whatever they say about changed files."""

    pool: KernelPool
    options: KernelOptions
    other: KernelPool | None = None
    """The second run's kernel comes from another zygote: of this pool, or of one that is opened for it."""

    @asynccontextmanager
    async def open(self, file: NotebookFile) -> AsyncGenerator[FreshEnvironment]:
        """What the header comes to now. Raises `UserError` or `Unavailable` when that is not to be had."""
        header = await anyio.to_thread.run_sync(header_of, file.document.header)
        async with fresh_packages(header, replace(self.options, files="drop")) as fresh:
            # Kernels forked from one zygote share its hash seed: a set of texts would come in the same order by
            # accident. A notebook's own environment is started anew for each kernel, so there one pool does.
            yield replace(fresh, pools=(self.pool, self.other if header is None else self.pool))

    @asynccontextmanager
    async def open_last(self, file: NotebookFile) -> AsyncGenerator[FreshEnvironment | None]:
        """What the header came to last time, as it was built then; None if that is not here. Nothing is asked."""
        header = await anyio.to_thread.run_sync(header_of, file.document.header)
        options = replace(self.options, files="drop")
        if header is None or options.environments is None:
            yield None
            return
        async with last_environment(
            header, cache=options.environments, uv=options.uv, pythons=options.pythons
        ) as environment:
            if environment is None:
                yield None
                return
            yield FreshEnvironment(
                options=replace(options, environment=environment),
                packages={},
                python=environment.interpreter.version,
                pools=(self.pool, self.pool),
            )


@asynccontextmanager
async def fresh_packages(header: ScriptHeader | None, options: KernelOptions) -> AsyncGenerator[FreshEnvironment]:
    """What the header resolves to now, installed once for every check that comes to it. Without a header, our own."""
    if header is None:
        packages = await _installed([Path(path) for path in package_paths()])
        yield FreshEnvironment(options=options, packages=packages, python=options.pythons.ours.version)
        return
    if options.environments is None:
        raise RefusedByPolicy("This notebook asks for its own packages, and building environments is off here.")
    async with locked_environment(
        header, cache=options.environments, uv=options.uv, pythons=options.pythons, on_progress=options.on_progress
    ) as environment:
        yield FreshEnvironment(
            options=replace(options, environment=environment),
            packages=await _installed([environment.site_packages]),
            python=environment.interpreter.version,
            source=environment.source,
            requirements=header.dependencies,
        )


async def _installed(folders: list[Path]) -> dict[str, str]:
    return dict(sorted((await anyio.to_thread.run_sync(distributions_in, folders)).items()))
