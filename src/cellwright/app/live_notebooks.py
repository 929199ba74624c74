"""Notebooks a person has open: one kernel for each file, whoever looks, until it is closed or nobody needs it for long.

Where a run has the file open, that notebook is meant: one file never has two.
"""

from __future__ import annotations

import hashlib
import itertools
import logging
from collections import defaultdict
from collections.abc import AsyncGenerator, Callable, Generator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

import anyio
import anyio.to_thread
from anyio.abc import TaskGroup, TaskStatus

from cellwright.app.notebooks import open_notebook, open_pool
from cellwright.errors import CellwrightError, Unavailable
from cellwright.kernel.pool import KernelPool
from cellwright.kernel.session.open_notebook import OpenNotebook
from cellwright.notebook.atomic_write import write_new
from cellwright.notebook.files import SaveConflict
from cellwright.notebook.render import render
from cellwright.settings import Settings
from cellwright.tools.notebook.editor import NotebookEditor

logger = logging.getLogger(__name__)

RunNotebooks = Callable[[], Mapping[str, OpenNotebook]]
"""The notebooks that runs have open now, by run."""
_CLOSE_TIMEOUT_SECONDS: Final = 20
_IDLE_CHECK_INTERVAL_SECONDS: Final = 60


@dataclass(frozen=True, slots=True, kw_only=True)
class LiveNotebookLimits:
    """How many notebooks may be open, and for how long without anybody."""

    most: int = 16
    idle_seconds: float = 4 * 3600
    """Without a question, an event of the kernel, or anybody who watches."""


@dataclass(slots=True, kw_only=True)
class _LiveNotebook:
    """One open notebook."""

    notebook: OpenNotebook
    used_at: float
    watchers: int = 0
    editor: NotebookEditor | None = None
    """Through which programs change it, once one has."""
    opening_editor: anyio.Lock = field(default_factory=anyio.Lock)
    closing: anyio.Event = field(default_factory=anyio.Event)
    is_gone: anyio.Event = field(default_factory=anyio.Event)

    def use(self) -> None:
        self.used_at = anyio.current_time()


@dataclass(slots=True, kw_only=True, eq=False)
class LiveNotebooks:
    """Every notebook that is open in this process, by id. Made by `open_live_notebooks`."""

    settings: Settings
    pool: KernelPool
    tasks: TaskGroup
    of_runs: RunNotebooks
    limits: LiveNotebookLimits
    count_viewers: Callable[[OpenNotebook], int] = lambda _: 0
    """How many people look at a notebook by other means, an editor for one: then it is not forgotten either."""
    _live: dict[str, _LiveNotebook] = field(default_factory=dict[str, _LiveNotebook])
    _locks: defaultdict[Path, anyio.Lock] = field(default_factory=lambda: defaultdict(anyio.Lock))

    async def open(self, path: Path) -> str:
        """The id of the notebook at this path, live from now on: a run's, if one has it open.

        Raises `UserError` for what is no notebook, `RefusedByPolicy` where nothing contains its code, `Unavailable`.
        """
        real = await anyio.to_thread.run_sync(path.resolve)
        async with self._locks[real]:
            for run, notebook in self.of_runs().items():
                if notebook.path == real:
                    return run
            id = notebook_id(real)
            if (live := self._live.get(id)) is not None and live.closing.is_set():
                await live.is_gone.wait()
            if id not in self._live:
                if len(self._live) >= self.limits.most:
                    message = f"{self.limits.most} notebooks are open, and no more can be."
                    raise Unavailable(message, hint="Close one of them first.")
                await self.tasks.start(self._keep, id, real)
            self._live[id].use()
            return id

    def all(self) -> dict[str, OpenNotebook]:
        """What is open, those of runs first."""
        of_runs = dict(self.of_runs())
        paths = {notebook.path for notebook in of_runs.values()}
        for live in self._live.values():
            if live.notebook.path in paths:
                live.closing.set()
        return of_runs | {id: live.notebook for id, live in self._live.items() if not live.closing.is_set()}

    def find(self, id: str) -> OpenNotebook | None:
        """The open notebook of this id, which counts as used."""
        if (live := self._live.get(id)) is not None:
            live.use()
        return self.all().get(id)

    async def editor(self, id: str) -> NotebookEditor | None:
        """Through which a program changes a person's own open notebook; None: no such notebook is open.

        It remembers what was changed for as long as the notebook is open.
        """
        live = self._live.get(id)
        if live is None or live.closing.is_set():
            return None
        live.use()
        async with live.opening_editor:
            if live.editor is None:
                stored = self.settings.ready_home() / "notebooks" / f"{id}.json"
                await anyio.to_thread.run_sync(_forget, stored)
                live.editor = await NotebookEditor.open(live.notebook, stored)
            return live.editor

    @contextmanager
    def watching(self, id: str) -> Generator[None]:
        """While this block lasts, the notebook is not taken for forgotten."""
        live = self._live.get(id)
        if live is not None:
            live.watchers += 1
        try:
            yield
        finally:
            if live is not None:
                live.watchers -= 1
                live.use()

    async def close(self, id: str) -> bool:
        """Save it, end its kernel, and wait until that is done; whether it was a person's own and open."""
        live = self._live.get(id)
        if live is None:
            return False
        live.closing.set()
        await live.is_gone.wait()
        return True

    async def release(self, path: Path) -> None:
        """Close the notebook of this file, if a person has it open: a run is about to open it."""
        real = await anyio.to_thread.run_sync(path.resolve)
        async with self._locks[real]:
            await self.close(notebook_id(real))

    async def close_all(self) -> None:
        """Everything saved and ended."""
        for live in [*self._live.values()]:
            live.closing.set()
        for live in [*self._live.values()]:
            await live.is_gone.wait()

    async def _keep(self, id: str, path: Path, *, task_status: TaskStatus[None]) -> None:
        """One notebook, from its opening to its end."""
        live: _LiveNotebook | None = None
        try:
            async with open_notebook(path, pool=self.pool, settings=self.settings) as notebook:
                live = self._live[id] = _LiveNotebook(notebook=notebook, used_at=anyio.current_time())
                task_status.started()
                await self._until_over(live)
                await _save(notebook)
        except Exception:
            if live is None:
                raise
            # One notebook's trouble at its end is not the others'.
            logger.exception("a notebook did not end in order")
        finally:
            if live is not None:
                self._live.pop(id, None)
                live.is_gone.set()

    def _idle_for(self, live: _LiveNotebook) -> float:
        """Seconds; none while somebody watches or a cell runs."""
        if live.watchers or live.notebook.current is not None or self.count_viewers(live.notebook):
            live.use()
        return anyio.current_time() - live.used_at

    async def _until_over(self, live: _LiveNotebook) -> None:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(_watch_use, live)
            while not live.closing.is_set() and (idle := self._idle_for(live)) < self.limits.idle_seconds:
                with anyio.move_on_after(min(_IDLE_CHECK_INTERVAL_SECONDS, self.limits.idle_seconds - idle)):
                    await live.closing.wait()
            # From here on it is no more among those that are open.
            live.closing.set()
            tasks.cancel_scope.cancel()


@asynccontextmanager
async def open_live_notebooks(
    settings: Settings,
    *,
    of_runs: RunNotebooks,
    pool: KernelPool | None = None,
    limits: LiveNotebookLimits | None = None,
) -> AsyncGenerator[LiveNotebooks]:
    """Notebooks that people open; on leaving, they are saved and their kernels end."""
    async with AsyncExitStack() as stack:
        kernels = pool or await stack.enter_async_context(open_pool(settings))
        tasks = await stack.enter_async_context(anyio.create_task_group())
        most = limits or LiveNotebookLimits()
        notebooks = LiveNotebooks(settings=settings, pool=kernels, tasks=tasks, of_runs=of_runs, limits=most)
        try:
            yield notebooks
        finally:
            with anyio.move_on_after(_CLOSE_TIMEOUT_SECONDS, shield=True):
                await notebooks.close_all()
            tasks.cancel_scope.cancel()


def _forget(stored: Path) -> None:
    """Of another kernel's time: there is no way back to it."""
    stored.parent.mkdir(mode=0o700, exist_ok=True)
    stored.unlink(missing_ok=True)


def notebook_id(path: Path) -> str:
    """What the notebook in this file is called; the same for as long as the file is where it is."""
    return f"file-{hashlib.sha256(str(path).encode('utf-8', 'surrogateescape')).hexdigest()[:16]}"


async def _watch_use(live: _LiveNotebook) -> None:
    """Whatever happens in its kernel is a use, whoever caused it."""
    while True:
        async with live.notebook.observe() as events:
            async for _ in events:
                live.use()


async def _save(notebook: OpenNotebook) -> None:
    """Nothing a person wrote is lost: where somebody else changed the file, theirs stays and ours lies beside it."""
    try:
        conflict = await notebook.save()
        origin = notebook.document.origin
        if isinstance(conflict, SaveConflict) and (origin is None or render(notebook.document) != origin.text):
            await anyio.to_thread.run_sync(_put_beside, conflict)
    except (CellwrightError, OSError) as problem:
        logger.warning("a notebook could not be saved when it was closed: %s", problem)


def _put_beside(conflict: SaveConflict) -> None:
    copies = (conflict.path.with_name(f"{conflict.path.stem}-unsaved-{number}.py") for number in itertools.count(1))
    next(copy for copy in copies if write_new(copy, conflict.our_text.encode()))
