"""Tools for a notebook in somebody's own marimo: those of the agent's own notebook, with a yes before each execution.

What would change or run is foreseen and shown; a call that would then do anything else does nothing. The agent's own
notebook is a copy in the cage, to try things in.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from typing import Annotated, Any, Final, Literal

from pydantic import Field

from cellwright.errors import RefusedByPolicy
from cellwright.ids import CellId
from cellwright.journal.effects import EffectFinding, EffectFound
from cellwright.kernel.attached.attached_notebook import AttachedNotebook, HostExecution
from cellwright.kernel.attached.connection import AttachedConnection
from cellwright.kernel.observation import Observation
from cellwright.kernel.process.call import CellSelection
from cellwright.notebook.edits import CreateCell, Edit, EditRefused
from cellwright.notebook.prompt_summary import clip
from cellwright.policy.actions import Action, ChangeAttached
from cellwright.policy.display_text import shown, shown_block
from cellwright.tools.notebook.cell_changes import CellEdit, Seconds, changes_between, edits_of, label
from cellwright.tools.notebook.reports import cell_text, observation_json, observation_text, refused_edit
from cellwright.tools.notebook_tools import find_cell
from cellwright.tools.tool import CallContext, Done, Tool, ToolError, ToolResult, result_json, tool

_UNKNOWN: Final = (
    "It was sent, and nobody knows whether it was done: call look_attached. It is not sent again by itself."
)
_CHANGED: Final = (
    "The notebook changed between the question and the answer, so nothing was executed: look, and ask again."
)
Foresee = Callable[[AttachedNotebook], HostExecution | EditRefused | None]
Perform = Callable[[AttachedNotebook], Awaitable[Observation]]


def execution_text(wanted: HostExecution) -> str:
    """What is about to happen, for the person who says yes or no."""
    lines = [f"In {shown(wanted.notebook or 'the notebook')} on {shown(wanted.server)}, outside any cage:"]
    changes = changes_between(wanted.before, wanted.after)
    lines += [shown_block(change.diff()) for change in changes]
    changed = {change.id for change in changes}
    for cell in wanted.runs:
        there = wanted.after.find(cell)
        if there is not None and cell not in changed:
            lines.append(f"run cell {shown(cell)}:\n{shown_block(there.code)}")
    count = len(wanted.runs)
    runs = f"{count} cell{'' if count == 1 else 's'} will run there" if count else "no cell will be asked to run"
    return "\n".join([*lines, f"{runs}, as code of the person who started that marimo, and what depends on it."])


def change_of(wanted: HostExecution) -> ChangeAttached:
    """The same as an action that policy judges."""
    return ChangeAttached(server=wanted.server, notebook=wanted.notebook, change=execution_text(wanted))


def attached_tools(connection: AttachedConnection) -> list[Tool]:
    """The tools of this notebook."""
    calls = _Calls(connection)
    tools = [_look_tool(connection), _apply_tool(calls), _run_tool(calls), _undo_tool(calls)]
    return [replace(each, comes_with="apply") for each in tools]


class _Calls:
    """Calls that execute something: foreseen and asked about in one moment, made in another."""

    def __init__(self, connection: AttachedConnection) -> None:
        self._connection = connection
        self._asked: dict[str, str] = {}
        """By what a call is, the text a person was shown."""

    async def action(self, call: Sequence[object], foresee: Foresee) -> Action | None:
        """What policy is asked about; None where nothing would be executed."""
        wanted = foresee(await self._connection.notebook())
        if not isinstance(wanted, HostExecution):
            return None
        change = change_of(wanted)
        self._asked[repr(call)] = change.change
        return change

    async def perform(self, call: Sequence[object], perform: Perform) -> ToolResult:
        """Do it, if it is still what was asked about."""
        notebook = await self._connection.notebook()
        self._connection.expect(self._asked.pop(repr(call), ""))
        try:
            seen = await perform(notebook)
        except RefusedByPolicy:
            return ToolError(kind="conflict", message=_CHANGED)
        finally:
            self._connection.expect("")
        if seen.refused is not None:
            return refused_edit(seen.refused)
        return Done(text=observation_text(seen, notebook), value=observation_json(seen), is_untrusted=True)


async def _unknown(_: Any, __: CallContext) -> EffectFinding:
    """After a crash: nothing is executed twice in somebody else's kernel."""
    return EffectFound(result=result_json(Done(text=_UNKNOWN, value={"outcome": "unknown"})))


def _look_tool(connection: AttachedConnection) -> Tool:
    @tool()
    async def look_attached(
        what: Literal["summary", "cell", "variable"] = "summary",
        name: Annotated[str, Field(description="Of the cell or variable.")] = "",
        tokens: Annotated[int, Field(ge=50, le=20_000)] = 2_000,
    ) -> ToolResult:
        """See the attached notebook as it is now: a summary, one cell whole, a variable. Executes nothing."""
        notebook = await connection.notebook()
        match what:
            case "summary":
                versions = ", ".join(f"{label(cell)} is {cell.version}" for cell in notebook.document.cells)
                text = f"{notebook.summary(budget_tokens=tokens)}\nVersions: {versions or 'no cells'}."
            case "cell":
                cell = find_cell(notebook.document, name)
                became = cell_text(notebook.outcomes[cell.id], notebook, tokens=tokens)
                text = f"{label(cell)}, version {cell.version}:\n```python\n{clip(cell.code, tokens)}\n```\n{became}"
            case "variable":
                found = notebook.look([name] if name else [])
                text = "\n".join(f"{each.name}: {each.type} = {clip(each.text, tokens)}" for each in found)
                text = text or f"No value of {name!r} is known there."
        return Done(text=text, value=text, is_untrusted=True)

    return look_attached


def _apply_tool(calls: _Calls) -> Tool:
    async def action(given: Any) -> Action | None:
        return await calls.action(
            (given.edits, given.run), lambda notebook: notebook.foresee(_named(given.edits, notebook), given.run)
        )

    @tool(action=action, needs="change-attached", changes=True, find=_unknown, seconds=None)
    async def apply_attached(
        edits: Annotated[list[CellEdit], Field(min_length=1, max_length=100)],
        run: Literal["affected", "all", "stale", "none"] = "affected",
        seconds: Seconds = 120,
    ) -> ToolResult:
        """Change cells of the attached notebook and run what follows. A person is shown it and says yes first.

        All edits are made or none; a cell that somebody changed meanwhile keeps their text.
        """
        return await calls.perform(
            (edits, run), lambda notebook: notebook.apply(_named(edits, notebook), run=run, seconds=seconds)
        )

    return apply_attached


def _named(edits: Sequence[CellEdit], notebook: AttachedNotebook) -> Sequence[Edit]:
    """The edits, a new cell named alike whenever this is asked: what is made is what was shown."""
    made = edits_of(edits, notebook.document)
    return [
        replace(edit, id=CellId(f"new{at}")) if isinstance(edit, CreateCell) and edit.id is None else edit
        for at, edit in enumerate(made, 1)
    ]


def _run_tool(calls: _Calls) -> Tool:
    async def action(given: Any) -> Action | None:
        return await calls.action(
            ("run", given.cells), lambda notebook: notebook.foresee([], _selected(given.cells, notebook))
        )

    @tool(action=action, needs="change-attached", changes=True, find=_unknown, seconds=None)
    async def run_attached(
        cells: Annotated[Literal["stale", "all"] | list[str], Field(description="Or ids or names.")] = "stale",
        seconds: Seconds = 120,
    ) -> ToolResult:
        """Run cells of the attached notebook without changing them. A person says yes first."""
        return await calls.perform(
            ("run", cells), lambda notebook: notebook.run(_selected(cells, notebook), seconds=seconds)
        )

    return run_attached


def _selected(cells: Literal["stale", "all"] | list[str], notebook: AttachedNotebook) -> CellSelection:
    return cells if isinstance(cells, str) else [find_cell(notebook.document, name).id for name in cells]


def _undo_tool(calls: _Calls) -> Tool:
    async def action(_: Any) -> Action | None:
        return await calls.action(("undo",), AttachedNotebook.foresee_undo)

    @tool(action=action, needs="change-attached", changes=True, find=_unknown, seconds=None)
    async def undo_attached(seconds: Seconds = 120) -> ToolResult:
        """Take back the last change made in the attached notebook, by text. What somebody changed since stays."""
        return await calls.perform(("undo",), lambda notebook: notebook.undo(seconds=seconds))

    return undo_attached
