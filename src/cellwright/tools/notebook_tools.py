"""The tools with which an agent works in its notebook: look, apply, run, undo, ask_person, finish."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Annotated, Any, Final, Literal

from pydantic import BaseModel, ConfigDict, Field

from cellwright.errors import UserError
from cellwright.ids import CellId
from cellwright.journal import Finding, Found, Json, NotFound, Question
from cellwright.kernel import Observation, RunWhat
from cellwright.notebook import (
    DEFAULT_NAME,
    Cell,
    Document,
    Edit,
    EditRefused,
    apply_edits,
    clip,
    graph,
    parse_edits,
)
from cellwright.policy import Action, EditCells, RunCode
from cellwright.tools.cell_changes import Change, changes_between
from cellwright.tools.desk_memory import undoing
from cellwright.tools.notebook_desk import Applied, NotebookDesk, NothingToUndo
from cellwright.tools.notebook_report import cell_text, observation_json, observation_text, refused_edit
from cellwright.tools.pictures import picture_of
from cellwright.tools.tool import Calling, Done, Tool, ToolError, ToolResult, Trouble, result_json, tool

ASKED: Final = "agent-question"
"""The topic of a question an agent asks a person."""
TRY: Final = "try_code"
_MOST_SECONDS: Final = 3_600
_SEARCH_HITS: Final = 50

Seconds = Annotated[float, Field(gt=0, le=_MOST_SECONDS, description="Deadline; what still runs then is interrupted.")]


class CellEdit(BaseModel):
    """One edit. `create` takes code, and name and a place if wanted; all others take cell and base_version."""

    model_config = ConfigDict(extra="forbid")

    op: Literal["create", "edit", "delete", "move", "rename", "configure"]
    cell: Annotated[str | None, Field(description="Id or name of an existing cell.")] = None
    base_version: Annotated[int | None, Field(description="The cell's version you have read.")] = None
    code: str | None = None
    name: str | None = None
    after: Annotated[str | None, Field(description="Place it behind this cell.")] = None
    before: str | None = None
    at: Literal["start", "end"] | None = None
    config: Annotated[dict[str, bool] | None, Field(description="hide_code, disabled")] = None


def notebook_tools(desk: NotebookDesk) -> list[Tool]:
    """The tools of this desk's notebook."""
    return [*_looking(desk), _apply_tool(desk), _run_tool(desk), _try_tool(desk), _undo_tool(desk), *_speaking()]


# ── looking ──


def _looking(desk: NotebookDesk) -> list[Tool]:
    @tool()
    async def look(
        what: Literal["summary", "cell", "graph", "variable", "search"] = "summary",
        name: Annotated[str, Field(description="Of the cell or variable; for `search` the words to find.")] = "",
        tokens: Annotated[int, Field(ge=50, le=20_000)] = 2_000,
    ) -> ToolResult:
        """See the notebook: a summary, one cell whole, who depends on whom, a variable's value, or lines of code."""
        await desk.sync()
        match what:
            case "summary":
                found: ToolResult = _shown(desk.notebook.summary(budget_tokens=tokens))
            case "cell":
                found = _whole_cell(desk, name, tokens)
            case "graph":
                found = _graph(desk, name)
            case "variable":
                found = await _variable(desk, name, tokens)
            case "search":
                found = _search(desk.notebook.document, name)
        return _with_news(found, desk.take_news())

    return [look]


def _shown(text: str) -> Done:
    # Outputs and previews hold what files and pages said.
    return Done(text=text, value=text, is_untrusted=True)


def _whole_cell(desk: NotebookDesk, name: str, tokens: int) -> ToolResult:
    cell = find_cell(desk.notebook.document, name)
    outcome = desk.notebook.outcomes.get(cell.id)
    became = "not run yet" if outcome is None else cell_text(outcome, desk.notebook)
    shown = _shown(f"{label(cell)}, version {cell.version}:\n```python\n{clip(cell.code, tokens)}\n```\n{became}")
    return replace(shown, image=None if outcome is None else picture_of(outcome))


def _graph(desk: NotebookDesk, name: str) -> ToolResult:
    document = desk.notebook.document
    nodes, only = graph(document), find_cell(document, name).id if name else None
    names = {cell.id: label(cell) for cell in document.cells}
    lines = [
        f"{names[cell]}: defines {_list(node.defs)}; needs {_list(names[other] for other in node.parents)}; "
        f"feeds {_list(names[other] for other in node.children)}"
        for cell, node in nodes.nodes.items()
        if only in (None, cell)
    ]
    lines += [
        f"cycle: {_list(names[cell] for cell in cycle.cells)} over {_list(cycle.names)}" for cycle in nodes.cycles
    ]
    twice = nodes.defined_twice.items()
    lines += [f"{name!r} is defined twice: {_list(names[cell] for cell in cells)}" for name, cells in twice]
    return Done(text="\n".join(lines) or "The notebook has no cells.", value=lines)


async def _variable(desk: NotebookDesk, name: str, tokens: int) -> ToolResult:
    previews = await desk.notebook.look([name] if name else [], tokens=tokens)
    if not previews:
        known = ", ".join(preview.name for preview in await desk.notebook.look(tokens=20)) or "none yet"
        return ToolError(kind="not-found", message=f"No variable {name!r}.", hint=f"There is: {clip(known, 300)}.")
    text = "\n".join(f"{preview.name}: {preview.type}\n{preview.text}" for preview in previews)
    value: Json = {preview.name: preview.text for preview in previews}
    picture = next((preview.picture for preview in previews if preview.picture), None)
    return Done(text=text, value=value, image=picture, is_untrusted=True)


def _search(document: Document, pattern: str) -> ToolResult:
    # Not a regular expression: one that a model wrote could hold up everything else for hours.
    wanted = pattern.casefold()
    hits = [
        f"{label(cell)}:{number}: {line[:300]}"
        for cell in document.cells
        for number, line in enumerate(cell.code.splitlines(), 1)
        if wanted in line.casefold()
    ]
    more = [f"… {len(hits) - _SEARCH_HITS} more"] if len(hits) > _SEARCH_HITS else []
    return Done(text="\n".join([*hits[:_SEARCH_HITS], *more]) or "Nothing found.", value=hits[:_SEARCH_HITS])


# ── changing ──


def _apply_tool(desk: NotebookDesk) -> Tool:
    path = str(desk.notebook.path)

    async def action(arguments: Any) -> tuple[Action, ...]:
        await desk.sync()
        document = desk.notebook.document
        after = apply_edits(document, _edits(arguments.edits, document))
        changes = () if isinstance(after, EditRefused) else changes_between(document, after)
        edit = EditCells(notebook=path, diff="\n".join(change.diff() for change in changes))
        return (edit,) if arguments.run == "none" else (edit, RunCode(notebook=path, code=_code(changes)))

    async def find(_: Any, calling: Calling) -> Finding:
        return _found(desk, calling)

    @tool(action=action, changes=True, find=find, seconds=None)
    async def apply(
        calling: Calling,
        edits: Annotated[list[CellEdit], Field(min_length=1, max_length=100)],
        run: Annotated[
            Literal["affected", "all", "stale", "none"],
            Field(description="affected: the changed cells and all that depends on them."),
        ] = "affected",
        seconds: Seconds = 120,
    ) -> ToolResult:
        """Change cells and run what follows from it, in one call. All edits are made or none.

        You get back each cell that ran with its errors, output and variables. A cell that somebody changed since you
        read it is not overwritten: you get its new text.
        """
        applied = await desk.apply(lambda document: _edits(edits, document), key=calling.key, run=run, seconds=seconds)
        return _told(desk, applied)

    return apply


def _run_tool(desk: NotebookDesk) -> Tool:
    path = str(desk.notebook.path)

    async def action(arguments: Any) -> Action:
        await desk.sync()
        cells = arguments.cells
        document = desk.notebook.document
        chosen = document.cells if isinstance(cells, str) else [find_cell(document, name) for name in cells]
        return RunCode(notebook=path, code="\n\n".join(cell.code for cell in chosen))

    async def find(_: Any, __: Calling) -> Finding:
        # The kernel it ran in is gone with the process.
        return NotFound()

    @tool(action=action, changes=True, find=find, seconds=None)
    async def run(
        cells: Annotated[
            Literal["stale", "all"] | list[str], Field(description="Or ids or names of cells; dependents run too.")
        ] = "stale",
        seconds: Seconds = 120,
    ) -> ToolResult:
        """Run cells without changing them."""
        document = desk.notebook.document
        what: RunWhat = cells if isinstance(cells, str) else [find_cell(document, name).id for name in cells]
        return _told(desk, await desk.run(what, seconds=seconds))

    return run


def _try_tool(desk: NotebookDesk) -> Tool:
    """For those that work on an agent's behalf: models are not offered it."""
    path = str(desk.notebook.path)

    def action(arguments: Any) -> Action:
        return RunCode(notebook=path, code=arguments.code)

    async def find(_: Any, __: Calling) -> Finding:
        # Whatever came of it is gone with the process, and nothing of it was kept.
        return NotFound()

    @tool(name=TRY, action=action, changes=True, find=find, seconds=None)
    async def try_code(code: str, seconds: Seconds = 120) -> ToolResult:
        """Run code in a cell that is taken out again: the notebook stays as it is."""
        return _told(desk, await desk.try_out(code, seconds=seconds))

    return try_code


def _undo_tool(desk: NotebookDesk) -> Tool:
    path = str(desk.notebook.path)

    async def action(_: Any) -> tuple[Action, ...] | None:
        await desk.sync()
        last, document = desk.last_turn(), desk.notebook.document
        if last is None:
            return None
        after = apply_edits(document, undoing(last, document).edits)
        changes = () if isinstance(after, EditRefused) else changes_between(document, after)
        edit = EditCells(notebook=path, diff="\n".join(change.diff() for change in changes))
        return edit, RunCode(notebook=path, code=_code(changes))

    async def find(_: Any, calling: Calling) -> Finding:
        return _found(desk, calling)

    @tool(action=action, changes=True, find=find, seconds=None)
    async def undo(calling: Calling, seconds: Seconds = 120) -> ToolResult:
        """Take back your last `apply`: its cells are again as they were, and run. Call it again for the one before."""
        undone = await desk.undo(key=calling.key, seconds=seconds)
        if isinstance(undone, NothingToUndo):
            return ToolError(kind="not-found", message="There is nothing left to undo.")
        return _told(desk, undone)

    return undo


def _found(desk: NotebookDesk, calling: Calling) -> Finding:
    """Whether a call's turn is in the notebook; its cells were run again when the desk came back."""
    turn = desk.done(calling.key)
    if turn is None:
        return NotFound()
    wanted = [change.id for change in turn.changes if change.after is not None]
    known = desk.notebook.outcomes
    observation = Observation(cells=tuple(known[cell] for cell in wanted if cell in known))
    return Found(result=result_json(_told(desk, Applied(observation=observation, news=desk.take_news()))))


def _told(desk: NotebookDesk, applied: Applied) -> ToolResult:
    observation = applied.observation
    if observation.refused is not None:
        return _with_news(refused_edit(observation.refused), applied.news)
    text = observation_text(observation, desk.notebook)
    image = next((shown for cell in reversed(observation.cells) if (shown := picture_of(cell))), None)
    done = Done(text=text, value=observation_json(observation), image=image, is_untrusted=True)
    return _with_news(done, applied.news)


# ── speaking ──


def _speaking() -> list[Tool]:
    @tool(own_steps=True)
    async def ask_person(
        calling: Calling,
        question: Annotated[str, Field(min_length=1, max_length=4_000)],
        options: Annotated[list[str], Field(max_length=12, description="Possible answers; none: any text.")] = [],  # noqa: B006
    ) -> ToolResult:
        """Ask the person you work for and wait for the answer. Only what you cannot find out and must not guess."""
        asked = Question(topic=ASKED, text=question, choices=tuple(options), body={"call": calling.call.id})
        said: Any = await calling.flow.ask(asked)
        answer = said.get("choice", said) if isinstance(said, dict) else said
        return Done(text=f"The person answered: {answer}", value=answer)

    @tool()
    async def finish(
        summary: Annotated[str, Field(description="What was done and what it rests on, for the person.")],
        answer: Annotated[str, Field(description="The answer itself, if a question was asked.")] = "",
    ) -> ToolResult:
        """Say that the goal is reached. Nothing comes after this."""
        return Done(text=summary, value={"summary": summary, "answer": answer}, ends=True)

    return [ask_person, finish]


# ── cells ──


def find_cell(document: Document, name: str) -> Cell:
    """The cell of this id or name. Raises `UserError`."""
    by_id = document.find(CellId(name))
    named = [by_id] if by_id is not None else list(document.named(name) if name != DEFAULT_NAME else ())
    if len(named) != 1:
        known = ", ".join(label(cell) for cell in document.cells[:30]) or "none yet"
        if not named:
            raise Trouble(f"No cell {name!r}.", kind="not-found", hint=f"Cells: {known}.")
        raise UserError(f"Several cells are {name!r}.", hint=f"Cells: {known}.")
    return named[0]


def label(cell: Cell) -> str:
    """How a cell is called in what a model reads."""
    return cell.id if cell.name == DEFAULT_NAME else f"{cell.name} ({cell.id})"


def _edits(edits: Sequence[CellEdit], document: Document) -> list[Edit]:
    return parse_edits([edit.model_dump(exclude_none=True) for edit in edits], document)


def _code(changes: Sequence[Change]) -> str:
    return "\n\n".join(change.after.code for change in changes if change.after is not None)


def _with_news(result: ToolResult, news: str) -> ToolResult:
    if not news:
        return result
    match result:
        case Done(text=text):
            return replace(result, text=f"{news}\n\n{text}")
        case ToolError(message=message):
            return replace(result, message=f"{news}\n\n{message}")
        case _:
            return result


def _list(names: Any) -> str:
    return ", ".join(sorted(names)) or "nothing"
