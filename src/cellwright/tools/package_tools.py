"""The tool that gets a notebook a package: asked about once, installed by the host, the notebook goes on."""

from __future__ import annotations

from typing import Annotated, Any, Final

import anyio.to_thread
from pydantic import Field

from cellwright.errors import UserError
from cellwright.journal import Finding, Found, NotFound
from cellwright.kernel import Installed
from cellwright.kernel.packages import for_module, with_package
from cellwright.kernel.script_header import normal_requirement
from cellwright.policy import Action, InstallPackage
from cellwright.tools.notebook_desk import NotebookDesk
from cellwright.tools.notebook_report import observation_json, observation_text
from cellwright.tools.tool import Calling, Done, Tool, ToolResult, Trouble, tool

_MOST_SECONDS: Final = 3_600


def package_tools(desk: NotebookDesk) -> list[Tool]:
    """The tool for this desk's notebook. Packages come from the index of the person's settings, and no other."""

    async def action(arguments: Any) -> Action | None:
        wanted = requirement_for(arguments.module, arguments.requirement)
        return None if await _has(desk, wanted) else InstallPackage(requirement=wanted)

    async def find(arguments: Any, _: Calling) -> Finding:
        wanted = requirement_for(arguments.module, arguments.requirement)
        return Found(result=None) if await _has(desk, wanted) else NotFound()

    @tool(action=action, changes=True, find=find, seconds=None)
    async def install_package(
        module: Annotated[str, Field(description="What could not be imported, `sklearn`.", max_length=100)] = "",
        requirement: Annotated[
            str, Field(description="Or the package itself, with versions if need be: `scikit-learn>=1.4`.")
        ] = "",
        seconds: Annotated[float, Field(gt=0, le=_MOST_SECONDS, description="For what runs again then.")] = 600,
    ) -> ToolResult:
        """Get the notebook a package it lacks. It is written into the notebook's header; only wheels are installed.

        The cells that failed for want of it run again.
        """
        installed = await desk.notebook.install(requirement_for(module, requirement), seconds=seconds)
        await desk.sync()
        return _told(desk, installed)

    return [install_package]


def requirement_for(module: str, requirement: str) -> str:
    """What would be installed. Raises `UserError` where that is not certain."""
    if bool(module) == bool(requirement):
        raise UserError("Give either the module or the requirement.")
    if requirement:
        return normal_requirement(requirement)
    missing = for_module(module)
    if missing is None:
        raise Trouble(
            f"No package is known to have {module!r}.",
            kind="not-found",
            hint="It is part of Python, of a package that is there, or no name; give `requirement` if you are sure.",
        )
    return missing.requirement


async def _has(desk: NotebookDesk, requirement: str) -> bool:
    document = desk.notebook.document
    return await anyio.to_thread.run_sync(with_package, document, requirement) is document


def _told(desk: NotebookDesk, installed: Installed) -> ToolResult:
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
    ran = f"\n{observation_text(observation, desk.notebook)}" if observation.cells or observation.problem else ""
    value = {**observation_json(observation), "requirement": installed.requirement, "way": installed.way}
    return Done(text=f"{how}{written}{ran}", value=value, is_untrusted=True)
