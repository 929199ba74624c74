"""Handing in the answer: a text over the notebook's variables, filled in its kernel, and what speaks against it.

The answer is computed, not typed. What speaks against it is told once; whoever finishes again in spite of it is done.
"""

from __future__ import annotations

import ast
import builtins
import re
from collections.abc import Iterator, Sequence
from typing import Annotated, Any, Final

from pydantic import Field

from cellwright.errors import KernelLost
from cellwright.ids import CellId
from cellwright.journal.values import Json
from cellwright.kernel.answers import FIELD, FilledField, NotebookTest
from cellwright.notebook.document import Document
from cellwright.notebook.marimo_check import tests_in
from cellwright.notebook.marimo_graph import graph
from cellwright.notebook.syntax_trees import syntax_tree
from cellwright.policy.actions import Action, RunCode
from cellwright.tools.notebook.cell_changes import label
from cellwright.tools.notebook.editor import NotebookEditor
from cellwright.tools.tool import CallContext, Done, Tool, ToolError, ToolResult, ended_with_process, tool

FINISH: Final = "finish"
DOUBTS: Final = "doubts"
"""The key of a result under which it stands what speaks against finishing."""
_CALL: Final = re.compile(r"\{[^\W\d][\w.]{0,200}\([^{}]{0,200}\)[^{}]{0,60}\}")
_SAYS: Final = {
    "missing": "is missing",
    "NaN": "is not a number",
    "infinite": "is infinite",
    "empty": "is empty",
    "no rows": "has no rows",
    "no share": "is more than 100 %",
}
_MOST_DOUBTS: Final = 12
_RUN_SECONDS: Final = 120
_MESSAGE: Final = 300


def finish_tool(editor: NotebookEditor) -> Tool:
    """The tool with which an agent ends its work in this notebook."""

    async def action(_: Any) -> Action | None:
        await editor.sync()
        code = [cell.code for cell in editor.notebook.document.cells if cell.id in _unrun(editor)]
        return RunCode(notebook=str(editor.notebook.path), code="\n\n".join(code)) if code else None

    @tool(name=FINISH, action=action, changes=True, find=ended_with_process, seconds=None)
    async def finish(
        calling: CallContext,
        answer: Annotated[
            str,
            Field(
                description="In the form that was asked for, begun with a short sentence that answers. Figures as "
                "fields over the notebook's variables, filled for you: `{mean:.2f}`, `{df.shape[0]}`, "
                "`{by_year[2024]:,}`, `{t.loc['a','b']:.1%}`. No calls."
            ),
        ] = "",
        summary: Annotated[str, Field(description="How it was found, in a sentence or two.")] = "",
    ) -> ToolResult:
        """Say that the goal is reached, in the same answer as your last `apply` if you like: it holds if all went well.

        Every cell must run, every test pass, and a test must read a variable of the answer.
        """
        await editor.sync()
        if call := _CALL.search(answer):
            message = f"{call[0][:100]}: calls are not made here. Assign the value to a variable in a cell."
            return ToolError(kind="bad-arguments", message=message)
        if cells := _unrun(editor):
            await editor.run(cells, seconds=_RUN_SECONDS, key=calling.key)
        try:
            return await _finish(editor, answer, summary)
        except KernelLost as lost:
            return ToolError(kind="unavailable", message=lost.message, hint="Run the cells again, then finish.")

    return finish


def _unrun(editor: NotebookEditor) -> list[CellId]:
    """Cells nobody has run yet, such as a person's own, or not since something before them changed."""
    outcomes = editor.notebook.outcomes
    return [cell for cell in editor.notebook.stale if cell not in outcomes or outcomes[cell].status in ("ok", "stale")]


async def _finish(editor: NotebookEditor, answer: str, summary: str) -> ToolResult:
    notebook = editor.notebook
    fields: Sequence[FilledField] = ()
    filled = answer
    if FIELD.search(answer):
        told = await notebook.side_calls.fill(answer)
        if told.error:
            return ToolError(kind="bad-arguments", message=f"The answer cannot be filled. {told.error}")
        filled, fields = told.text, told.fields
    tests = await run_notebook_tests(editor)
    names = frozenset(match["name"] for match in FIELD.finditer(answer))
    found = doubts(notebook.document, notebook.stale, tests, names, fields)
    value: dict[str, Json] = {"summary": summary, "answer": filled}
    value |= {"template": answer} if fields else {}
    if not found:
        return Done(text=filled or summary, value=value, ends=True)
    text = "\n".join(["Not finished yet:", *(f"- {each}" for each in found)])
    text += f"\nThe answer would read: {filled}" if filled else ""
    text += "\nMend what is wrong and finish again; if it is right as it is, finish again as you did."
    return Done(text=text, value={**value, DOUBTS: list[Json](found)}, ends=True, is_untrusted=True)


# ── tests ──


async def run_notebook_tests(editor: NotebookEditor) -> tuple[NotebookTest, ...]:
    """How the notebook's tests go with its variables as they are now; those whose cell has not run are not called."""
    notebook = editor.notebook
    stale = set(notebook.stale) | _waiting(editor)
    names = [name for cell, tests in _tests_of(notebook.document) if cell not in stale for name in tests]
    return await notebook.side_calls.run_tests(names) if names else ()


def _waiting(editor: NotebookEditor) -> set[CellId]:
    """Cells of tests that were written first and read what somebody is still to define."""
    owner = editor.owner
    if owner is None or not owner.may_wait:
        return set()
    nodes = graph(editor.notebook.document).nodes
    known = {name for node in nodes.values() for name in node.defs} | set(dir(builtins))
    return {cell for cell in owner.cells if cell in nodes and nodes[cell].refs - known}


def tests_text(tests: Sequence[NotebookTest]) -> str:
    """How they went, as a model reads it: what failed in full, the others by name."""
    lines = [f"{test.name} failed: {test.message[:_MESSAGE]}" for test in tests if test.verdict == "failed"]
    for verdict, words in (("passed", "passed"), ("not here", "run by the check, with pytest")):
        if named := [test.name for test in tests if test.verdict == verdict]:
            lines.append(f"{', '.join(named)}: {words}")
    return "\n".join(["Tests:", *(f"  {line}" for line in lines)]) if lines else ""


def _tests_of(document: Document) -> Iterator[tuple[CellId, tuple[str, ...]]]:
    for cell in document.cells:
        if not cell.config.disabled and (tests := tests_in(cell.code)):
            yield cell.id, tests


# ── what speaks against it ──


def doubts(
    document: Document,
    stale: Sequence[CellId],
    tests: Sequence[NotebookTest],
    names: frozenset[str],
    fields: Sequence[FilledField],
) -> list[str]:
    """What a careful reader would hold against the answer, the worst first; each in one line."""
    found = [f"cell {label(cell)} has not run well" for cell in document.cells if cell.id in set(stale)]
    found += [f"{test.name} failed: {test.message[:_MESSAGE]}" for test in tests if test.verdict == "failed"]
    found += [f"{each.field} = {each.text[:60]!r} {_SAYS[each.doubt]}" for each in fields if each.doubt]
    cells = dict(_tests_of(document))
    found += [
        f"{name} asserts nothing"
        for cell in document.cells
        if cell.id in cells
        for name in _silent_tests(cell.code, cells[cell.id])
    ]
    if names and not any(names & _reads(document, cell) for cell in cells):
        of = " or ".join(sorted(names)[:3])
        found.append(
            f"no test reads {of}: write `def test_…():` in a cell of its own that asserts what must hold of it"
        )
    return found[:_MOST_DOUBTS]


def _reads(document: Document, cell: CellId) -> frozenset[str]:
    """The variables a cell of tests reads, the parameters of its tests among them."""
    found = document.find(cell)
    tree = syntax_tree(found.code) if found is not None else None
    functions = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)] if tree is not None else []
    taken = {argument.arg for function in functions for argument in function.args.args}
    return frozenset(graph(document).nodes[cell].refs) | taken


def _silent_tests(code: str, tests: Sequence[str]) -> list[str]:
    tree = syntax_tree(code)
    if tree is None:
        return []
    return [
        node.name
        for node in tree.body
        if isinstance(node, ast.FunctionDef | ast.ClassDef) and node.name in tests and not _asserts(node)
    ]


def _asserts(test: ast.AST) -> bool:
    """Whether it can fail by what it finds: an assert, a raise, or a call whose name speaks of one."""
    for node in ast.walk(test):
        if isinstance(node, ast.Assert | ast.Raise):
            return True
        if isinstance(node, ast.Call):
            name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
            if "assert" in name or name in {"raises", "fail", "check", "verify"}:
                return True
    return False
