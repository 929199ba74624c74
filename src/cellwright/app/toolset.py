"""All tools there are for one open notebook and its project. A role names those it has."""

from __future__ import annotations

import os
import shutil
from collections.abc import Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from cellwright.agents.artifacts import artifact_tools
from cellwright.agents.skills import Skill, skill_tools
from cellwright.app.notebook_connections import NotebookConnections
from cellwright.app.notebooks import Files, open_notebook
from cellwright.app.run_network import NetworkAccess
from cellwright.data.files import DataFile
from cellwright.errors import UserError
from cellwright.kernel.attached.connection import AttachedConnection
from cellwright.kernel.file_profiler import FileProfiler
from cellwright.kernel.jupyter_session import JupyterKernels
from cellwright.kernel.pool import KernelPool
from cellwright.kernel.profiler import Profiler
from cellwright.kernel.session.open_notebook import OpenNotebook
from cellwright.kernel.table_profiler import TableProfiler
from cellwright.profiles.data_search import host_path, mounts
from cellwright.sandbox.host.git_repository import find_repository
from cellwright.sandbox.spec import Limits, Tier
from cellwright.settings import Settings
from cellwright.tools.api_tools import api_tools
from cellwright.tools.attached_tools import attached_tools
from cellwright.tools.cell_tools import cell_tools, notebook_call_tool
from cellwright.tools.data_tools import data_tools
from cellwright.tools.environment_tools import package_tools, shell_tools
from cellwright.tools.file_tools import file_tools
from cellwright.tools.git.cage import WHERE_GIT_IS
from cellwright.tools.git.client import GitClient
from cellwright.tools.git.commit_import import Author
from cellwright.tools.git.git_tools import git_tools
from cellwright.tools.kernel_tools import kernel_tools
from cellwright.tools.mcp.server_tools import server_tools
from cellwright.tools.mcp.tool_servers import ToolServers
from cellwright.tools.notebook.editor import NotebookEditor
from cellwright.tools.notebook_tools import notebook_tools
from cellwright.tools.project_files import ProjectFiles
from cellwright.tools.request_tools import request_tools
from cellwright.tools.sql_tools import sql_tools
from cellwright.tools.text_store import TextStore, stored_text_tools
from cellwright.tools.tool import Tool
from cellwright.tools.web_tools import web_tools


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolContext:
    """What the tools of a workspace work on."""

    editor: NotebookEditor
    pool: KernelPool
    project: ProjectFiles
    kept: TextStore
    network: NetworkAccess | None
    """None: there is no network."""
    connections: NotebookConnections
    servers: ToolServers | None
    """None: none was named for the work."""
    attached: AttachedConnection | None
    """None: the work is about no notebook of somebody else's marimo."""
    kernels: JupyterKernels
    """Of Jupyter: those that were named for the work."""
    files: Files
    data: tuple[DataFile, ...]
    """From elsewhere, mounted for the notebook."""
    limits: Limits
    tier: Tier
    settings: Settings
    person: str

    @property
    def notebook(self) -> OpenNotebook:
        """The notebook that is open."""
        return self.editor.notebook

    @property
    def profiler(self) -> Profiler:
        """What reads the data, at the tier the notebook runs at."""
        return Profiler(pool=self.pool, tier=self.tier)

    @property
    def table_profiler(self) -> TableProfiler:
        """What reads tables of connections, likewise."""
        return TableProfiler(profiler=self.profiler, source=self.connections)

    @property
    def file_profiler(self) -> FileProfiler:
        """What reads files of connections, likewise."""
        return FileProfiler(profiler=self.profiler, source=self.connections.files)


def all_tools(context: ToolContext, *, skills: Sequence[Skill], has_git: bool) -> list[Tool]:
    """Every tool that can work here: what would only pretend is left out."""
    return [
        *notebook_tools(context.editor),
        *cell_tools(context.notebook),
        *data_tools(
            context.editor,
            context.table_profiler,
            partial(_locate, context),
            readable=context.connections.named,
        ),
        notebook_call_tool(partial(_open_beside, context), context.project.root),
        *sql_tools(context.connections),
        *api_tools(context.connections),
        *request_tools(context.connections),
        *(server_tools(context.servers) if context.servers is not None else []),
        *(attached_tools(context.attached) if context.attached is not None else []),
        *kernel_tools(context.kernels, str(context.notebook.path)),
        *package_tools(context.editor),
        *file_tools(context.project, changed=partial(_changed_paths, context.notebook)),
        *shell_tools(context.notebook, str(context.project.root)),
        *(web_tools(context.network.fetch) if context.network is not None else []),
        *(git_tools(_git_client(context)) if has_git else []),
        *artifact_tools(context.kept),
        *stored_text_tools(context.kept),
        *skill_tools(skills),
    ]


def can_use_git(project: Path, tier: Tier) -> bool:
    """Whether the project is in a repository, and git can be kept in a cage. Blocking."""
    if tier == "D" or shutil.which("git", path=WHERE_GIT_IS) is None:
        return False
    try:
        find_repository(project)
    except UserError:
        return False
    return True


def _git_client(context: ToolContext) -> GitClient:
    settings, person = context.settings, context.person
    author = Author(name=settings.git_name or person, email=settings.git_email or f"{person}@localhost")
    return GitClient(
        context.project.root, context.pool.zygote, author=author, tier=context.tier, reveal=context.files.reveal
    )


def _open_beside(context: ToolContext, path: Path) -> AbstractAsyncContextManager[OpenNotebook]:
    """Other notebooks run under the same limits, with the same network; what they change is forgotten."""
    return open_notebook(
        path,
        files=replace(context.files, mode="drop", project=context.project.root),
        limits=context.limits,
        tier=context.tier,
        # A workspace that is open at all was allowed to be.
        allow_uncontained=True,
        egress=context.network.egress if context.network is not None else None,
        connections=context.connections,
        is_offline=context.network is None,
        pool=context.pool,
        settings=context.settings,
    )


def _locate(context: ToolContext, path: str) -> DataFile:
    """Data from elsewhere by the place the notebook's code has it at, files of the project by theirs."""
    if "\0" in path or not path:
        raise UserError(f"{path!r} is no path.", hint="Give one relative to the notebook.")
    target = os.path.relpath(context.notebook.path.resolve().parent / path, context.project.root)
    given = _given(target, context.data)
    found = given or context.project.locate(target)
    if not found.exists():
        raise UserError(f"Nothing is at {path!r}.", hint="Paths are relative to the notebook's folder.")
    is_outside = given is not None
    return DataFile(
        name=found.name, source=found, place=path, target=target, is_outside=is_outside, is_folder=found.is_dir()
    )


def _given(target: str, data: Sequence[DataFile]) -> Path | None:
    """A file of the data that was given, never outside it."""
    found = host_path(target, mounts(data))
    if found is not None and not any(found.resolve().is_relative_to(file.source) for file in data):
        raise UserError(f"Nothing is at {target!r} in the data.", hint="List the folder in a cell.")
    return None if found is None else found.resolve()


async def _changed_paths(notebook: OpenNotebook) -> tuple[str, ...]:
    return tuple(change.path for change in await notebook.changed_files())
