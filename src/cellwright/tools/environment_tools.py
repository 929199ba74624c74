"""The tools for a notebook's environment: a package installed by the host, and a program run in the notebook's cage.

A package is asked about once, and the notebook goes on; a program has the cage's files and limits, not its variables.
"""

from __future__ import annotations

from pathlib import PurePosixPath
from typing import Annotated, Any, Final

import anyio.to_thread
from pydantic import Field

from cellwright.errors import UserError
from cellwright.journal.effects import EffectFinding, EffectFound, EffectNotFound
from cellwright.kernel.environments.packages import PackageInstall, for_module, is_there, with_package
from cellwright.kernel.environments.script_header import normal_requirement
from cellwright.kernel.process.side_calls import ProgramEnd
from cellwright.kernel.session.open_notebook import OpenNotebook
from cellwright.policy.actions import Action, InstallPackage, RunShell
from cellwright.tools.cell_tools import cage_finder
from cellwright.tools.notebook.editor import NotebookEditor
from cellwright.tools.notebook.reports import observation_json, observation_text
from cellwright.tools.tool import CallContext, Done, Tool, ToolError, ToolFailure, ToolResult, tool

_MOST_INSTALL_SECONDS: Final = 3_600


def package_tools(editor: NotebookEditor) -> list[Tool]:
    """The tool for this notebook. Packages come from the index of the person's settings, and no other."""

    async def action(arguments: Any) -> Action | None:
        wanted = requirement_for(arguments.module, arguments.requirement)
        is_here = await _has(editor, wanted) or is_there(wanted, await editor.notebook.live.distributions())
        return None if is_here else InstallPackage(requirement=wanted)

    async def find(arguments: Any, _: CallContext) -> EffectFinding:
        wanted = requirement_for(arguments.module, arguments.requirement)
        return EffectFound(result=None) if await _has(editor, wanted) else EffectNotFound()

    @tool(action=action, needs="install-package", changes=True, find=find, seconds=None)
    async def install_package(
        module: Annotated[str, Field(description="What could not be imported, `sklearn`.", max_length=100)] = "",
        requirement: Annotated[
            str, Field(description="Or the package itself, with versions if need be: `scikit-learn>=1.4`.")
        ] = "",
        seconds: Annotated[float, Field(gt=0, le=_MOST_INSTALL_SECONDS, description="For what runs again then.")] = 600,
    ) -> ToolResult:
        """Get the notebook a package it lacks. It is written into the notebook's header; only wheels are installed.

        The cells that failed for want of it run again.
        """
        installed = await editor.notebook.install(requirement_for(module, requirement), seconds=seconds)
        await editor.sync()
        return _install_result(editor, installed)

    return [install_package]


def requirement_for(module: str, requirement: str) -> str:
    """What would be installed. Raises `UserError` where that is not certain."""
    if bool(module) == bool(requirement):
        raise UserError("Give either the module or the requirement.")
    if requirement:
        return normal_requirement(requirement)
    missing = for_module(module)
    if missing is None:
        raise ToolFailure(
            f"No package is known to have {module!r}.",
            kind="not-found",
            hint="It is part of Python, of a package that is there, or no name; give `requirement` if you are sure.",
        )
    return missing.requirement


async def _has(editor: NotebookEditor, requirement: str) -> bool:
    document = editor.notebook.document
    return await anyio.to_thread.run_sync(with_package, document, requirement) is document


def _install_result(editor: NotebookEditor, installed: PackageInstall) -> ToolResult:
    match installed.way:
        case "already there":
            how = f"{installed.requirement} is in the notebook's header already."
        case "continued":
            how = f"Installed {installed.requirement}; the kernel goes on with all its variables."
        case "replayed":
            how = f"Installed {installed.requirement}; a new kernel was started and what had run was run again."
    others = [one for one in installed.added if one != installed.requirement]
    written = f"\nThe notebook uses these too, so its header now names them: {', '.join(others)}." if others else ""
    observation = installed.observation
    ran = f"\n{observation_text(observation, editor.notebook)}" if observation.cells or observation.problem else ""
    value = {**observation_json(observation), "requirement": installed.requirement, "way": installed.way}
    return Done(text=f"{how}{written}{ran}", value=value, is_untrusted=True)


_OUTPUT_BYTES: Final = 200_000
_MOST_SECONDS: Final = 1_800


def shell_tools(notebook: OpenNotebook, project: str) -> list[Tool]:
    """The shell of this notebook's cage; `project` is the folder's real path, for policy."""

    def action(arguments: Any) -> Action:
        folder = _inside(arguments.folder)
        return RunShell(command=tuple(arguments.command), folder=f"{project}/{folder}" if folder else project)

    @tool(action=action, needs="run-shell", changes=True, find=cage_finder(notebook), seconds=None)
    async def shell(
        command: Annotated[
            list[str],
            Field(min_length=1, max_length=1_000, description='["grep", "-c", "x", "a.csv"]: no shell reads it'),
        ],
        folder: Annotated[str, Field(description="In the project; by default its top.")] = "",
        seconds: Annotated[float, Field(gt=0, le=_MOST_SECONDS)] = 60,
    ) -> ToolResult:
        """Run a program beside the notebook: the same files, no network, nothing to type in. Cells wait meanwhile."""
        end = await notebook.side_calls.run_program(
            command, folder=_inside(folder) or ".", seconds=seconds, output_bytes=_OUTPUT_BYTES
        )
        return _program_result(end, command[0], seconds)

    return [shell]


def _inside(folder: str) -> str:
    """The folder relative to the project. Raises `UserError` for one outside."""
    path = PurePosixPath(folder)
    if path.is_absolute() or ".." in path.parts or "\0" in folder:
        raise UserError(f"{folder!r} is not a folder of the project.", hint="Give a path relative to the project.")
    return "" if path == PurePosixPath() else str(path)


def _program_result(end: ProgramEnd, program: str, seconds: float) -> ToolResult:
    if end.error:
        return ToolError(kind="not-found", message=end.error)
    if end.is_late:
        said = f" It had said:\n{end.output}" if end.output else ""
        return ToolError(kind="timed-out", message=f"{program} was stopped after {seconds:g} s.{said}")
    how = "stopped" if end.exit_code is None else f"exit code {end.exit_code}"
    text = f"{how}\n{end.output}" if end.output else f"{how}, no output"
    return Done(text=text, value={"exit_code": end.exit_code, "output": end.output}, is_untrusted=True)
