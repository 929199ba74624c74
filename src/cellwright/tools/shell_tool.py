"""The shell tool: a program run in the notebook's own cage, with its files and limits and without its variables."""

from __future__ import annotations

from pathlib import PurePosixPath
from typing import Annotated, Any, Final

from pydantic import Field

from cellwright.errors import UserError
from cellwright.journal import Finding, NotFound, Unknown
from cellwright.kernel import OpenNotebook, ProgramEnd
from cellwright.policy import Action, RunShell
from cellwright.tools.tool import Calling, Done, Tool, ToolError, ToolResult, tool

_OUTPUT_BYTES: Final = 200_000
_MOST_SECONDS: Final = 1_800


def shell_tools(notebook: OpenNotebook, project: str) -> list[Tool]:
    """The shell of this notebook's cage; `project` is the folder's real path, for policy."""

    def action(arguments: Any) -> Action:
        folder = _inside(arguments.folder)
        return RunShell(command=tuple(arguments.command), folder=f"{project}/{folder}" if folder else project)

    async def find(_: Any, __: Calling) -> Finding:
        # Its cage ended with the process, and what it had changed there went too, unless files are changed directly.
        return Unknown() if notebook.files_mode == "direct" else NotFound()

    @tool(action=action, changes=True, find=find, seconds=None)
    async def shell(
        command: Annotated[
            list[str],
            Field(min_length=1, max_length=1_000, description='["grep", "-c", "x", "a.csv"]: no shell reads it'),
        ],
        folder: Annotated[str, Field(description="In the project; by default its top.")] = "",
        seconds: Annotated[float, Field(gt=0, le=_MOST_SECONDS)] = 60,
    ) -> ToolResult:
        """Run a program beside the notebook: the same files, no network, nothing to type in. Cells wait meanwhile."""
        end = await notebook.run_program(
            command, folder=_inside(folder) or ".", seconds=seconds, output_bytes=_OUTPUT_BYTES
        )
        return _told(end, command[0], seconds)

    return [shell]


def _inside(folder: str) -> str:
    """The folder relative to the project. Raises `UserError` for one outside."""
    path = PurePosixPath(folder)
    if path.is_absolute() or ".." in path.parts or "\0" in folder:
        raise UserError(f"{folder!r} is not a folder of the project.", hint="Give a path relative to the project.")
    return "" if path == PurePosixPath() else str(path)


def _told(end: ProgramEnd, program: str, seconds: float) -> ToolResult:
    if end.error:
        return ToolError(kind="not-found", message=end.error)
    if end.is_late:
        said = f" It had said:\n{end.output}" if end.output else ""
        return ToolError(kind="timed-out", message=f"{program} was stopped after {seconds:g} s.{said}")
    how = "stopped" if end.exit_code is None else f"exit code {end.exit_code}"
    text = f"{how}\n{end.output}" if end.output else f"{how}, no output"
    return Done(text=text, value={"exit_code": end.exit_code, "output": end.output}, is_untrusted=True)
