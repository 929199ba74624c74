"""The pool: one warm zygote, and the notebooks opened from it."""

from __future__ import annotations

import logging
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

import anyio
import anyio.abc
import anyio.to_thread

from cellwright.errors import CellwrightError
from cellwright.kernel.process.provisioner import KernelOptions, KernelProvisioner
from cellwright.kernel.process.zygote import Zygote
from cellwright.kernel.process.zygote_process import ZygoteProcess
from cellwright.kernel.session.open_notebook import OpenNotebook
from cellwright.kernel.task_groups import unwrap_single_error, wait_for_any
from cellwright.notebook.files import NotebookFile, read
from cellwright.sandbox.private_directory import private_directory, sweep

logger = logging.getLogger(__name__)


class KernelPool:
    """Opens notebooks. Their kernels start in milliseconds because the zygote is warm."""

    def __init__(self, tasks: anyio.abc.TaskGroup, cache: Path, begun: ZygoteProcess | None) -> None:
        self._tasks = tasks
        self._cache = cache
        self._begun = begun
        self._zygote: Zygote | None = None
        self._starting = anyio.Lock()
        self._closing = anyio.Event()

    @classmethod
    @asynccontextmanager
    async def open(cls, cache: Path | None = None, begun: ZygoteProcess | None = None) -> AsyncGenerator[KernelPool]:
        """A pool; everything opened from it ends with it. Without a `cache` the next pool is slower to warm up.

        `begun` is a process for its zygote, started while nothing of this was loaded.
        """
        with private_directory("pool") as nowhere, unwrap_single_error():
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(anyio.to_thread.run_sync, sweep)
                pool = cls(tasks, cache or nowhere, begun)
                try:
                    yield pool
                finally:
                    pool._closing.set()

    async def zygote(self) -> Zygote:
        """The warm zygote; a dead one is replaced."""
        async with self._starting:
            zygote = self._zygote
            if zygote is None or not zygote.is_alive:
                zygote = self._zygote = await self._tasks.start(self._keep_zygote)
            return zygote

    def warm_up(self) -> None:
        """Start the zygote now, so that the first notebook finds it warm."""
        self._tasks.start_soon(self._warm_up)

    async def _warm_up(self) -> None:
        try:
            await (await self.zygote()).warm_up()
        except CellwrightError as problem:
            # Whoever opens a notebook is told.
            logger.warning("the zygote is not warm: %s", problem.message)

    @asynccontextmanager
    async def open_notebook(self, path: Path | NotebookFile, options: KernelOptions) -> AsyncGenerator[OpenNotebook]:
        """The notebook with a live kernel; on leaving, what runs is stopped and its files are settled."""
        file = path if isinstance(path, NotebookFile) else await anyio.to_thread.run_sync(read, path)
        with unwrap_single_error():
            async with anyio.create_task_group() as tasks:
                notebook = OpenNotebook(file, KernelProvisioner(file.path, options, self.zygote), tasks)
                try:
                    await notebook.start()
                    yield notebook
                finally:
                    with anyio.CancelScope(shield=True):
                        await notebook.close()
                    tasks.cancel_scope.cancel()

    async def _keep_zygote(self, *, task_status: anyio.abc.TaskStatus[Zygote]) -> None:
        begun, self._begun = self._begun, None
        async with Zygote.open(self._cache, begun) as zygote:
            task_status.started(zygote)
            await wait_for_any(zygote.is_gone, self._closing)
