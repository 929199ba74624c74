"""The tools with which an agent works in its notebook: look, apply, run, undo, ask_person, finish."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Annotated, Any, Final, Literal

from pydantic import Field

from cellwright.errors import KernelLost, UserError
from cellwright.ids import CellId
from cellwright.journal.questions import Question
from cellwright.journal.values import Json
from cellwright.kernel.process.call import CellSelection
from cellwright.notebook.document import DEFAULT_NAME, Cell, Document
from cellwright.notebook.marimo_graph import graph
from cellwright.notebook.prompt_summary import clip
from cellwright.policy.actions import Action, RunCode
from cellwright.tools.alternatives_tool import alternatives_tool
from cellwright.tools.finish_tool import finish_tool, run_notebook_tests, tests_text
from cellwright.tools.history.moves import BeforeCell, NotMoved, Redo, UndoLast
from cellwright.tools.notebook.cell_changes import (
    CellEdit,
    Seconds,
    actions_of,
    changes_between,
    changes_by,
    edits_of,
    label,
)
from cellwright.tools.notebook.editor import NotebookEditor
from cellwright.tools.notebook.reports import cell_text, edit_result, revision_finder, with_news
from cellwright.tools.notebook.saved_notebook import EditOutcome
from cellwright.tools.result_images import image_of
from cellwright.tools.tool import CallContext, Done, Tool, ToolError, ToolFailure, ToolResult, ended_with_process, tool

ASKED: Final = "agent-question"
"""The topic of a question an agent asks a person."""
TRY: Final = "try_code"
_SEARCH_HITS: Final = 50


def notebook_tools(editor: NotebookEditor) -> list[Tool]:
    """The tools of this notebook."""
    changing = [
        _apply_tool(editor),
        _run_tool(editor),
        _try_tool(editor),
        alternatives_tool(editor),
        *_undo_tools(editor),
    ]
    return [*_looking(editor), *changing, _ask_tool(), finish_tool(editor)]


# ── looking ──


def _looking(editor: NotebookEditor) -> list[Tool]:
    @tool()
    async def look(
        what: Literal["summary", "cell", "graph", "variable", "search", "packages"] = "summary",
        name: Annotated[
            str, Field(description="Of the cell or variable; for `search` and `packages` what to find.")
        ] = "",
        tokens: Annotated[int, Field(ge=50, le=20_000)] = 2_000,
    ) -> ToolResult:
        """See the notebook: a summary, one cell whole, who depends on whom, a variable, lines of code, packages."""
        await editor.sync()
        match what:
            case "summary":
                seen: ToolResult = _shown(editor.notebook.summary(budget_tokens=tokens))
            case "cell":
                seen = _whole_cell(editor, name, tokens)
            case "graph":
                seen = _graph(editor, name)
            case "variable":
                seen = await _variable(editor, name, tokens)
            case "search":
                seen = _search(editor.notebook.document, name)
            case "packages":
                seen = _packages(await editor.notebook.live.distributions(), name)
        return with_news(seen, editor.pop_news())

    return [look]


def _packages(there: Mapping[str, str], words: str) -> Done:
    found = [f"{name} {version}" for name, version in sorted(there.items()) if words.casefold().strip() in name]
    return Done(text=", ".join(found) or "None of that name is there.", value=found)


def _shown(text: str) -> Done:
    # Outputs and previews hold what files and pages said.
    return Done(text=text, value=text, is_untrusted=True)


def _whole_cell(editor: NotebookEditor, name: str, tokens: int) -> ToolResult:
    cell = find_cell(editor.notebook.document, name)
    outcome = editor.notebook.outcomes.get(cell.id)
    became = "not run yet" if outcome is None else cell_text(outcome, editor.notebook, tokens=tokens)
    shown = _shown(f"{label(cell)}, version {cell.version}:\n```python\n{clip(cell.code, tokens)}\n```\n{became}")
    return replace(shown, image=None if outcome is None else image_of(outcome))


def _graph(editor: NotebookEditor, name: str) -> ToolResult:
    document = editor.notebook.document
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


async def _variable(editor: NotebookEditor, name: str, tokens: int) -> ToolResult:
    previews = await editor.notebook.look([name] if name else [], tokens=tokens)
    if not previews:
        known = ", ".join(preview.name for preview in await editor.notebook.look(tokens=20)) or "none yet"
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


def _apply_tool(editor: NotebookEditor) -> Tool:
    async def action(arguments: Any) -> tuple[Action, ...]:
        await editor.sync()
        edit, run = actions_of(changes_by(arguments.edits, editor.notebook.document), editor.notebook.path)
        return (edit,) if arguments.run == "none" else (edit, run)

    @tool(action=action, changes=True, find=revision_finder(editor), seconds=None)
    async def apply(
        calling: CallContext,
        edits: Annotated[list[CellEdit], Field(min_length=1, max_length=100)],
        run: Annotated[
            Literal["affected", "all", "stale", "none"],
            Field(description="affected: what changed and what depends on it."),
        ] = "affected",
        seconds: Seconds = 120,
    ) -> ToolResult:
        """Change cells and run what follows from it, in one call. All edits are made or none.

        You get back each cell that ran with its errors, output and variables, and how the tests went.
        """
        applied = await editor.apply(
            lambda document: edits_of(edits, document), key=calling.key, run=run, seconds=seconds, tries_repairs=True
        )
        return await _with_tests(editor, applied)

    return apply


async def _with_tests(editor: NotebookEditor, applied: EditOutcome) -> ToolResult:
    """What came of it, and of the notebook's tests, which run where they are written."""
    result = edit_result(editor, applied)
    if not isinstance(result, Done) or applied.observation.kernel_end is not None or not applied.observation.cells:
        return result
    try:
        tests = await run_notebook_tests(editor)
    except KernelLost as lost:
        return replace(result, text=f"{result.text}\nThe tests could not run: {lost.message}")
    if not tests:
        return result
    told: list[Json] = [{"test": each.name, "verdict": each.verdict, "message": each.message} for each in tests]
    value = {**result.value, "tests": told} if isinstance(result.value, dict) else result.value
    return replace(result, text=f"{result.text}\n{tests_text(tests)}", value=value)


def _run_tool(editor: NotebookEditor) -> Tool:
    path = str(editor.notebook.path)

    async def action(arguments: Any) -> Action:
        await editor.sync()
        cells = arguments.cells
        document = editor.notebook.document
        chosen = document.cells if isinstance(cells, str) else [find_cell(document, name) for name in cells]
        return RunCode(notebook=path, code="\n\n".join(cell.code for cell in chosen))

    @tool(action=action, changes=True, find=ended_with_process, seconds=None)
    async def run(
        calling: CallContext,
        cells: Annotated[
            Literal["stale", "all"] | list[str], Field(description="Or ids or names of cells; dependents run too.")
        ] = "stale",
        seconds: Seconds = 120,
    ) -> ToolResult:
        """Run cells without changing them."""
        document = editor.notebook.document
        what: CellSelection = cells if isinstance(cells, str) else [find_cell(document, name).id for name in cells]
        return edit_result(editor, await editor.run(what, seconds=seconds, key=calling.key))

    return run


def _try_tool(editor: NotebookEditor) -> Tool:
    """For those that work on an agent's behalf: models are not offered it."""
    path = str(editor.notebook.path)

    def action(arguments: Any) -> Action:
        return RunCode(notebook=path, code=arguments.code)

    @tool(name=TRY, action=action, is_named=False, changes=True, find=ended_with_process, seconds=None)
    async def try_code(code: str, seconds: Seconds = 120) -> ToolResult:
        """Run code in a cell that is taken out again: the notebook stays as it is."""
        return edit_result(editor, await editor.try_out(code, seconds=seconds))

    return try_code


def _undo_tools(editor: NotebookEditor) -> list[Tool]:
    history, notebook = editor.history, editor.notebook

    def moving(target: UndoLast | Redo | BeforeCell) -> tuple[Action, ...]:
        after = history.preview(target)
        return () if after is None else actions_of(changes_between(notebook.document, after), notebook.path)

    async def action(arguments: Any) -> tuple[Action, ...]:
        await editor.sync()
        before = arguments.before_cell
        return moving(BeforeCell(cell=before, key="") if before else UndoLast())

    @tool(action=action, changes=True, find=revision_finder(editor), seconds=None)
    async def undo(
        calling: CallContext,
        before_cell: Annotated[str, Field(description="Go to the state right before this cell last ran.")] = "",
        seconds: Seconds = 120,
    ) -> ToolResult:
        """Take back your last `apply`. Cells, outputs, variables and files are again as they were before it.

        Call it again for the one before.
        """
        if before_cell:
            return _move_result(editor, await history.go_before(before_cell, key=calling.key))
        return _move_result(editor, await history.undo(key=calling.key, seconds=seconds))

    async def redo_action(_: Any) -> tuple[Action, ...]:
        return moving(Redo())[1:]

    @tool(action=redo_action, changes=True, find=revision_finder(editor), seconds=None)
    async def redo(calling: CallContext) -> ToolResult:
        """Take back your last `undo`, if you have done nothing else since."""
        return _move_result(editor, await history.redo(key=calling.key))

    return [undo, redo]


def _move_result(editor: NotebookEditor, moved: EditOutcome | NotMoved) -> ToolResult:
    return (
        edit_result(editor, moved) if isinstance(moved, EditOutcome) else ToolError(kind="not-found", message=moved.why)
    )


# ── speaking ──


def _ask_tool() -> Tool:
    @tool(own_steps=True)
    async def ask_person(
        calling: CallContext,
        question: Annotated[str, Field(min_length=1, max_length=4_000)],
        options: Annotated[list[str], Field(max_length=12, description="Possible answers; none: any text.")] = [],  # noqa: B006
    ) -> ToolResult:
        """Ask the person you work for and wait for the answer. Only what you cannot find out and must not guess."""
        asked = Question(topic=ASKED, text=question, choices=tuple(options), body={"call": calling.call.id})
        said: Any = await calling.flow.ask(asked)
        answer = said.get("choice", said) if isinstance(said, dict) else said
        return Done(text=f"The person answered: {answer}", value=answer)

    return ask_person


# ── cells ──


def find_cell(document: Document, name: str) -> Cell:
    """The cell of this id or name. Raises `UserError`."""
    by_id = document.find(CellId(name))
    named = [by_id] if by_id is not None else list(document.named(name) if name != DEFAULT_NAME else ())
    if len(named) != 1:
        known = ", ".join(label(cell) for cell in document.cells[:30]) or "none yet"
        if not named:
            raise ToolFailure(f"No cell {name!r}.", kind="not-found", hint=f"Cells: {known}.")
        raise UserError(f"Several cells are {name!r}.", hint=f"Cells: {known}.")
    return named[0]


def _list(names: Any) -> str:
    return ", ".join(sorted(names)) or "nothing"
