"""Editing words alone: names, markdown, docstrings and comments; an edit that changes what is computed is refused."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Final

from cellwright.notebook.document import Cell, Document
from cellwright.notebook.edits import EditRefused, apply_edits
from cellwright.tools.notebook.cell_changes import changes_between, edits_of, label
from cellwright.tools.notebook.editor import NotebookEditor
from cellwright.tools.tool import CallContext, Tool, ToolError, ToolResult

_HINT: Final = "Change names, markdown cells, docstrings and comments; leave all other code as it is."
_DOCUMENTED: Final = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)


def words_only(tools: Sequence[Tool], editor: NotebookEditor) -> list[Tool]:
    """The tools, with an `apply` that refuses what would change a computing cell."""
    return [_words_only(each, editor) if each.name == "apply" else each for each in tools]


def _words_only(apply: Tool, editor: NotebookEditor) -> Tool:
    async def run(parsed: Any, calling: CallContext) -> ToolResult:
        await editor.sync()
        before = editor.notebook.document
        after = apply_edits(before, edits_of(parsed.edits, before))
        if not isinstance(after, EditRefused) and (why := computing_change(before, after)):
            return ToolError(kind="bad-arguments", message=why, hint=_HINT)
        return await apply.run(parsed, calling)

    return replace(apply, run=run)


def computing_change(before: Document, after: Document) -> str:
    """Which cell would compute something else, and how; empty: none would."""
    for change in changes_between(before, after):
        old, new = change.before, change.after
        if old is None:
            if not is_prose(change.cell):
                return f"{label(change.cell)} is a new cell that computes."
        elif new is None:
            if not is_prose(old):
                return f"{label(old)} computes, and would be gone."
        elif old.config.disabled != new.config.disabled:
            return f"{label(old)} would be switched {'off' if new.config.disabled else 'on'}."
        elif not (is_prose(old) and is_prose(new)) and _computing(old.code) != _computing(new.code):
            return f"{label(old)} would compute something else."
    return ""


def is_prose(cell: Cell) -> bool:
    """Whether the cell is markdown and nothing else."""
    try:
        body = ast.parse(cell.code).body
    except (SyntaxError, ValueError, RecursionError):
        return False
    match body:
        case []:
            return True
        case [ast.Expr(value=ast.Call(func=ast.Attribute(value=ast.Name(id="mo"), attr="md"), args=[text]) as call)]:
            return not call.keywords and (isinstance(text, ast.Constant) or _only_reads(text))
        case _:
            return False


def _only_reads(text: ast.expr) -> bool:
    """Whether it is a text into which values are put as they are: what is called could change something."""
    nodes = list(ast.walk(text))
    calls = [node.func for node in nodes if isinstance(node, ast.Call)]
    is_plain = not any(isinstance(node, ast.NamedExpr | ast.Await | ast.Yield | ast.Lambda) for node in nodes)
    counts = all(isinstance(each, ast.Name) and each.id in {"len", "round"} for each in calls)
    return isinstance(text, ast.JoinedStr) and is_plain and counts


def _computing(code: str) -> str:
    """The code without docstrings, comments and layout; what is no Python is all that it is."""
    try:
        tree = ast.parse(code)
    except (SyntaxError, ValueError, RecursionError):
        return code
    for node in ast.walk(tree):
        if isinstance(node, _DOCUMENTED) and ast.get_docstring(node) is not None:
            node.body = node.body[1:] or [ast.Pass()]
    return ast.dump(tree)
