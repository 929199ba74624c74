"""Opening a notebook: which files it sees, how it is contained, and what it may use."""

from __future__ import annotations

import os
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import anyio.to_thread

from cellwright.app.notebook_connections import NotebookConnections, open_notebook_connections
from cellwright.app.notebook_exchanges import (
    NotebookExchanges,
    exchange_egress,
    no_exchanges_text,
    open_notebook_exchanges,
)
from cellwright.background import current_person
from cellwright.data.broker_client import BrokerClient
from cellwright.data.files import DataFile, parse_data
from cellwright.errors import RefusedByPolicy, UserError
from cellwright.kernel.environments.interpreters import PythonChoice, Pythons
from cellwright.kernel.environments.lookup import UvSettings
from cellwright.kernel.pool import KernelPool
from cellwright.kernel.process.provisioner import KernelOptions
from cellwright.kernel.process.zygote_process import ZygoteProcess
from cellwright.kernel.session.open_notebook import OpenNotebook
from cellwright.notebook.files import NotebookFile, read
from cellwright.profiles.data_search import mounts
from cellwright.remedies import remedy
from cellwright.sandbox.host.file_changes import UnkeptChanges
from cellwright.sandbox.host.project import project_of
from cellwright.sandbox.host.tiers import SandboxReport, probe
from cellwright.sandbox.linux import syscalls
from cellwright.sandbox.spec import FilesMode, Limits, Tier
from cellwright.settings import Settings

_SHARED_CACHE = Path("/var/cache/cellwright")
"""Root's, where everybody may read."""

if TYPE_CHECKING:
    from cellwright.sandbox.egress import Egress

__all__ = ["Files", "open_notebook", "open_pool"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Files:
    """Which files a notebook sees, and what becomes of those it changes."""

    mode: FilesMode = "keep"
    """keep: changes reach the project when the notebook closes. drop: they are forgotten. direct: at once."""
    project: Path | None = None
    """The directory it may read and change; by default the repository or folder the notebook lies in."""
    data: tuple[str, ...] = ()
    """Files or folders from elsewhere, read-only at `data/NAME` beside the notebook; `NAME=PATH` renames."""
    reveal: tuple[str, ...] = ()
    """Paths that look like secrets and are shown all the same."""
    here: Path = Path()
    """What relative paths of `data` are relative to."""


def open_pool(
    settings: Settings | None = None, begun: ZygoteProcess | None = None
) -> AbstractAsyncContextManager[KernelPool]:
    """A pool to open several notebooks from, warm from the second on: `async with open_pool() as pool`.

    `begun` is a zygote's process that was started already.
    """
    return KernelPool.open((settings or Settings.read()).cache / "zygote", begun)


@asynccontextmanager
async def open_notebook(
    path: str | Path,
    *,
    files: Files | None = None,
    limits: Limits | None = None,
    tier: Tier | None = None,
    allow_uncontained: bool = False,
    python: PythonChoice = "header",
    egress: Egress | None = None,
    connections: NotebookConnections | None = None,
    is_offline: bool = False,
    pool: KernelPool | None = None,
    settings: Settings | None = None,
    on_progress: Callable[[str], None] | None = None,
    ask_to_keep: Callable[[UnkeptChanges], Awaitable[bool]] | None = None,
) -> AsyncGenerator[OpenNotebook]:
    """A marimo notebook with a live, sandboxed kernel.

    Leaving the block stops what runs, settles changed files and ends the kernel. Where nothing can contain the
    code (tier D) this is refused, unless `allow_uncontained` says otherwise. There is no network but to the hosts
    that `egress` allows; approving one more takes effect at once. It runs on a Python that its header allows: ours, or
    one that is installed; with `python="ours"` on ours whatever the header says. Its cells may read every connection of
    the person, or what `connections` lets them. Without `egress`, requests to object stores and APIs among them are all
    the network there is, and with `is_offline` there is none.

    Afterwards `notebook.kept` says what became of the changed files. Of more than `limits` let pass none is kept,
    which is `held_back` there, unless `ask_to_keep` says yes.
    """

    settings = settings or Settings.read()

    def prepare() -> tuple[NotebookFile, KernelOptions]:
        file, report = read(Path(path)), probe()
        options = kernel_options(
            file,
            files=files or Files(),
            limits=limits or Limits(),
            tier=contained(tier, report, allow_uncontained=allow_uncontained),
            settings=settings,
            python=python,
            egress=egress,
            on_progress=on_progress,
            ask_to_keep=ask_to_keep,
        )
        return file, options

    file, options = await anyio.to_thread.run_sync(prepare)
    async with AsyncExitStack() as stack:
        own_pool = pool or await stack.enter_async_context(open_pool(settings))
        if connections is None:
            own = open_notebook_connections(
                BrokerClient(launch=settings.broker_launch()),
                notebook=file.path.resolve(),
                project=options.project,
                person=current_person(),
            )
            connections = await stack.enter_async_context(own)
        options = replace(options, host_services=connections.services)
        if egress is None and not is_offline:
            options = await with_exchanges(options, await open_notebook_exchanges(connections, project=options.project))
        yield await stack.enter_async_context(own_pool.open_notebook(file, options))


async def with_exchanges(options: KernelOptions, exchanges: NotebookExchanges | None) -> KernelOptions:
    """These options with a way out to connections that take requests, and to nothing else; as they are if none does."""
    if exchanges is None:
        return options
    if options.tier in {"C", "D"}:
        if options.on_progress is not None:
            options.on_progress(no_exchanges_text(options.tier))
        return options
    return replace(options, egress=await exchange_egress(exchanges))


def kernel_options(
    file: NotebookFile,
    *,
    files: Files,
    limits: Limits,
    tier: Tier,
    settings: Settings,
    python: PythonChoice = "header",
    egress: Egress | None = None,
    on_progress: Callable[[str], None] | None = None,
    ask_to_keep: Callable[[UnkeptChanges], Awaitable[bool]] | None = None,
) -> KernelOptions:
    """Where this notebook's kernels run. Blocking."""
    if egress is not None and tier in {"C", "D"}:
        raise RefusedByPolicy(
            f"Network access cannot be limited to approved hosts on tier {tier}: it has no network namespace.",
            hint=remedy(
                "see_doctor", lead="Open it without `egress`;", says="says what this machine lacks (user namespaces)"
            ),
        )
    notebook = file.path.resolve()
    project = project_for(notebook, files)
    return KernelOptions(
        project=project,
        files=files.mode,
        data=mounts(mounted_data(files, notebook, project)),
        limits=limits,
        tier=tier,
        reveal=files.reveal,
        environments=_environments(settings, tier),
        uv=UvSettings(
            variables=settings.connection.variables,
            other_caches=(settings.uv_cache,) if settings.uv_cache.is_dir() else (),
        ),
        pythons=_pythons(settings, project, python),
        on_progress=on_progress,
        ask_to_keep=ask_to_keep,
        egress=egress,
    )


def _environments(settings: Settings, tier: Tier) -> Path:
    """Where environments are built and kept. Blocking."""
    place = settings.cache
    while not place.exists():
        place = place.parent
    if tier == "C" and syscalls.is_root() and not syscalls.is_open_to_all(str(place)):
        # Its kernels run as somebody else, who cannot enter root's home, and nothing is mounted for them.
        return _SHARED_CACHE / "environments"
    return settings.cache / "environments"


def _pythons(settings: Settings, project: Path, choice: PythonChoice) -> Pythons:
    """Where the person's interpreters are: where uv looks, and where pyenv, asdf and mise put theirs."""
    variables, home = settings.environment, settings.user_home
    shared = Path(variables.get("XDG_DATA_HOME") or home / ".local" / "share")
    return Pythons(
        choice=choice,
        path=tuple(variables.get("PATH", "").split(os.pathsep)),
        managed=Path(variables.get("UV_PYTHON_INSTALL_DIR") or shared / "uv" / "python"),
        versions=(
            Path(variables.get("PYENV_ROOT") or home / ".pyenv") / "versions",
            Path(variables.get("ASDF_DATA_DIR") or home / ".asdf") / "installs" / "python",
            Path(variables.get("MISE_DATA_DIR") or shared / "mise") / "installs" / "python",
        ),
        avoid=(project,),
    )


def project_for(notebook: Path, files: Files) -> Path:
    """The directory whose files the notebook may use. Raises `UserError` if the notebook is not inside. Blocking."""
    notebook = notebook.resolve()
    project = (files.project or project_of(notebook)).resolve()
    if not notebook.is_relative_to(project):
        raise UserError(
            f"{str(notebook)!r} is not inside the project {str(project)!r}.",
            hint=remedy("name_project", what="another folder"),
        )
    return project


def contained(wanted: Tier | None, report: SandboxReport, *, allow_uncontained: bool) -> Tier:
    """The tier to run at: what this machine offers, never better, never nothing unless told so."""
    tier = wanted or report.tier
    if tier < report.tier:
        missed = next(obstacle for obstacle in report.obstacles if obstacle.tier == tier)
        raise RefusedByPolicy(f"Tier {tier} is not to be had here: {missed.reason}", hint=missed.cure)
    if tier == "D" and not allow_uncontained:
        why = " ".join(obstacle.reason for obstacle in report.obstacles if obstacle.tier != "A")
        raise RefusedByPolicy(
            f"Nothing would contain the notebook's code (tier D). {why}".rstrip(),
            hint=remedy("allow_uncontained"),
        )
    return tier


def mounted_data(files: Files, notebook: Path, project: Path) -> tuple[DataFile, ...]:
    """The data from elsewhere that a notebook is given. Raises `UserError`. Blocking."""
    return parse_data(files.data, here=files.here, notebook=notebook, project=project, is_mounted=True)
