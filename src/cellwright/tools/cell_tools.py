"""Cells as tools: a notebook's own functions for agents to call, and other notebooks called as functions.

A function marked with `@cellwright.tool` runs in the live kernel, and the reactive graph does not notice. A whole
notebook runs in a cage of its own, with its inputs in place of what its cells assign.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import AbstractAsyncContextManager
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any, Final, assert_never

import anyio.to_thread
from pydantic import Field

from cellwright.errors import UserError
from cellwright.journal.effects import EffectFinding, EffectNotFound, EffectUnknown
from cellwright.journal.values import Json
from cellwright.kernel.functions import cell_functions
from cellwright.kernel.functions.notebook_function import NotebookAnswer, call_notebook
from cellwright.kernel.observation import Observation
from cellwright.kernel.session.open_notebook import OpenNotebook
from cellwright.notebook.document import Document
from cellwright.notebook.files import read
from cellwright.notebook.marimo_graph import graph
from cellwright.notebook.prompt_summary import clip
from cellwright.policy.actions import Action, RunCode
from cellwright.tools.notebook.cell_changes import Seconds
from cellwright.tools.stubs import signature_of
from cellwright.tools.tool import CallContext, Done, Find, Tool, ToolError, ToolResult, ended_with_process, tool

_TEXT_TOKENS: Final = 2_000
_DESCRIPTION: Final = 2_000

OpenPath = Callable[[Path], AbstractAsyncContextManager[OpenNotebook]]
"""Opens a notebook in a cage of its own."""


def cell_tools(notebook: OpenNotebook) -> list[Tool]:
    """Tools for whatever functions the notebook has at the time: `list_functions` and `call_function`."""

    @tool()
    async def list_functions() -> ToolResult:
        """The notebook's functions that you may call, and how. They are marked with `@cellwright.tool`."""
        found = await notebook.functions()
        lines = [_headline(function) for function in found]
        value: list[Json] = [asdict(function) for function in found]
        return Done(text="\n".join(lines) or "No function is marked.", value=value, is_untrusted=True)

    async def action(arguments: Any) -> Action:
        return _run_code(notebook, arguments.name, arguments.arguments)

    @tool(action=action, changes=True, find=cage_finder(notebook), seconds=None)
    async def call_function(
        name: Annotated[str, Field(min_length=1, max_length=100)],
        arguments: Annotated[dict[str, Any], Field(description="By parameter name.")] = {},  # noqa: B006
        seconds: Seconds = 60,
    ) -> ToolResult:
        """Call a marked function of the notebook with its live variables. No cell runs and no variable changes."""
        return _call_result(await notebook.call_function(name, arguments, seconds=seconds), name)

    return [list_functions, call_function]


async def function_tools(notebook: OpenNotebook, *, taken: Collection[str] = (), seconds: float = 60) -> list[Tool]:
    """One typed tool for each marked function there is now; one whose name is `taken` has `notebook_` in front."""
    found = [function for function in await notebook.functions() if not function.problem]
    return [_function_tool(notebook, function, taken, seconds) for function in found]


def _function_tool(
    notebook: OpenNotebook, function: cell_functions.CellFunction, taken: Collection[str], seconds: float
) -> Tool:
    async def action(arguments: Any) -> Action:
        return _run_code(notebook, function.name, arguments)

    async def run(arguments: Any, _: CallContext) -> ToolResult:
        return _call_result(await notebook.call_function(function.name, arguments, seconds=seconds), function.name)

    def validate(arguments: Any) -> dict[str, Any]:
        return _complete(function, arguments)

    return Tool(
        name=f"notebook_{function.name}" if function.name in taken else function.name,
        description=f"A function of the notebook, in its own words: {function.description[:_DESCRIPTION] or '(none)'}",
        parameters=function.parameters,
        run=run,
        validate=validate,
        action=action,
        changes=True,
        find=cage_finder(notebook),
        seconds=None,
    )


def _complete(function: cell_functions.CellFunction, arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Whether every parameter is named; whether the values fit is for the function's own kernel to say."""
    known = function.parameters["properties"]
    strange = [name for name in arguments if name not in known]
    missing = [name for name in function.parameters.get("required", ()) if name not in arguments]
    if strange or missing:
        problem = f"there is no parameter {strange[0]!r}" if strange else f"{missing[0]} is missing"
        raise UserError(f"{problem}.")
    return dict(arguments)


def cage_finder(notebook: OpenNotebook) -> Find:
    """What ran in its cage ended with the process, and what it had changed went too, unless files change directly."""

    async def find(_: Any, __: CallContext) -> EffectFinding:
        return EffectUnknown() if notebook.provisioner.options.files == "direct" else EffectNotFound()

    return find


def _run_code(notebook: OpenNotebook, name: str, arguments: Mapping[str, Any]) -> RunCode:
    """What a person who is asked sees: the cell that defines the function, and the call."""
    given = ", ".join(f"{key}={value!r}" for key, value in arguments.items())
    return RunCode(notebook=str(notebook.path), code=f"{_definition(notebook.document, name)}\n\n{name}({given})")


def _definition(document: Document, name: str) -> str:
    homes = [cell for cell, node in graph(document).nodes.items() if name in node.defs]
    cell = document.find(homes[0]) if homes else None
    return cell.code if cell is not None else f"# {name} is defined in no cell"


# ── what is told ──


def _headline(function: cell_functions.CellFunction) -> str:
    if function.problem:
        return f"{function.name}: cannot be called ({function.problem})"
    words = function.description.partition("\n")[0] or "no description"
    return f"{function.name}{signature_of(function.parameters)}: {words}"


def _call_result(outcome: cell_functions.CallOutcome, name: str) -> ToolResult:
    match outcome:
        case cell_functions.Returned():
            notes = [_value_text(outcome.value)]
            notes += [f"printed:\n{clip(outcome.console.rstrip(), _TEXT_TOKENS // 4)}"] if outcome.console else []
            notes += [f"It had bound {', '.join(outcome.rebound)}: undone."] if outcome.rebound else []
            picture = outcome.value.preview.picture or None
            value = _value_json(outcome.value)
            return Done(text="\n".join(notes), value=value, image=picture, is_untrusted=True)
        case cell_functions.CallFailed(fault=fault, cell=cell):
            line = f" (line {fault.line} of cell {cell})" if fault.line else ""
            printed = f"\nprinted:\n{clip(outcome.console.rstrip(), _TEXT_TOKENS // 4)}" if outcome.console else ""
            trace = f"\n{clip(fault.traceback, _TEXT_TOKENS // 4)}" if fault.traceback else ""
            message = f"{name} raised {fault.type}{line}: {fault.message}{trace}{printed}"
            return ToolError(kind="failed", message=message, is_untrusted=True)
        case cell_functions.BadCall(message=message):
            return ToolError(kind="bad-arguments", message=message)
        case cell_functions.CallStopped(reason=reason, is_late=is_late, is_kernel_lost=is_lost):
            hint = "The kernel ended with it; the next call starts another and runs what had run." if is_lost else ""
            return ToolError(kind="timed-out" if is_late else "failed", message=f"{name}: {reason}", hint=hint)
        case _:
            assert_never(outcome)


def _value_text(value: cell_functions.NotebookValue) -> str:
    return clip(f"{value.preview.type}: {value.preview.text}", _TEXT_TOKENS)


def _value_json(value: cell_functions.NotebookValue) -> Json:
    """The whole value; of what is no JSON, its type and a look at it."""
    return value.json if value.is_whole else {"type": value.preview.type, "preview": value.preview.text}


# ── whole notebooks ──


def notebook_call_tool(open_path: OpenPath, project: Path) -> Tool:
    """The tool that calls other notebooks of the project; `open_path` says in what kind of cage."""

    async def action(arguments: Any) -> Action:
        path = _inside(project, arguments.path)
        file = await anyio.to_thread.run_sync(read, path)
        given = ", ".join(f"{name}={value!r}" for name, value in arguments.inputs.items())
        code = "\n\n".join(cell.code for cell in file.document.cells)
        return RunCode(notebook=str(path), code=f"# with {given or 'nothing'} given\n\n{code}")

    @tool(name="call_notebook", action=action, changes=True, find=ended_with_process, seconds=None)
    async def call(
        path: Annotated[str, Field(description="Of a notebook in the project.")],
        outputs: Annotated[list[str], Field(min_length=1, max_length=50, description="Variables to get back.")],
        inputs: Annotated[
            dict[str, Any], Field(description="Variables or mo.ui elements of it, and the values they shall have.")
        ] = {},  # noqa: B006
        seconds: Seconds = 120,
    ) -> ToolResult:
        """Run another notebook of the project once with these inputs, in a cage of its own. Its file stays as it is."""
        opening = open_path(_inside(project, path))
        return _answered(await call_notebook(opening, inputs, outputs, seconds=seconds))

    return call


def _inside(project: Path, path: str) -> Path:
    found = (project / path).resolve()
    if not found.is_relative_to(project.resolve()):
        raise UserError(f"{path!r} is not in the project.", hint="Give a path relative to the project.")
    return found


def _answered(answer: NotebookAnswer) -> ToolResult:
    lines = [f"{name} = {_value_text(value)}" for name, value in answer.outputs.items()]
    if answer.missing:
        failed = "\n".join(_fault_lines(answer.observation))
        return ToolError(
            kind="failed", message=f"No value for {', '.join(answer.missing)}.\n{clip(failed, _TEXT_TOKENS)}"
        )
    value: dict[str, Json] = {name: _value_json(value) for name, value in answer.outputs.items()}
    return Done(text="\n".join(lines), value=value, is_untrusted=True)


def _fault_lines(observation: Observation) -> Iterator[str]:
    for cell in observation.cells:
        if cell.error is not None:
            line = f" (line {cell.error.line})" if cell.error.line else ""
            yield f"[{cell.name}] {cell.error.type}{line}: {cell.error.message}"
    if observation.problem:
        yield observation.problem
    if observation.kernel_end is not None:
        yield f"The kernel ended: {observation.kernel_end.reason}."
