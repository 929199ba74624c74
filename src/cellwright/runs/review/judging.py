"""Judging findings: the code that is to show one runs in a branch of the notebook as it is, and must fail there."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from typing import Final

from cellwright.errors import KernelLost, Unavailable, UserError
from cellwright.kernel.observation import CellFault
from cellwright.notebook.edits import CreateCell
from cellwright.notebook.prompt_summary import clip
from cellwright.runs.review.findings import Finding, JudgedFinding, Standing
from cellwright.tools.notebook.editor import NotebookEditor
from cellwright.tools.notebook.trials import check_code

SECONDS: Final = 120.0
"""For one finding."""
_ERROR_TOKENS: Final = 120
_FAILED: Final = "AssertionError"


async def judge_findings(editor: NotebookEditor, findings: Sequence[Finding]) -> tuple[JudgedFinding, ...]:
    """Each with its standing: shown, if its assertion fails in a branch of its own. The notebook stays as it is."""
    return tuple([await _judged(editor, finding) for finding in findings])


async def judge_again(editor: NotebookEditor, known: Sequence[JudgedFinding]) -> tuple[JudgedFinding, ...]:
    """What was shown, in the notebook as it is now: what does not fail any more is mended."""
    again: list[JudgedFinding] = []
    for each in known:
        if each.standing == "not shown" or each.finding.is_of_words:
            again.append(each)
            continue
        now = await _judged(editor, each.finding, otherwise="mended")
        # What cannot run any more shows nothing, and mends nothing either.
        again.append(each if now.standing == "mended" and now.error else now)
    return tuple(again)


async def holds(editor: NotebookEditor, code: str) -> bool | None:
    """Whether the assertions of this code hold there; None: it fails in another way."""
    fault = await _fault(editor, code)
    return True if fault is None else False if fault.type == _FAILED else None


def condition_of(code: str) -> str:
    """What the code asserts and all that leads to it, without the words of its messages."""
    try:
        tree = ast.parse(code)
    except (SyntaxError, ValueError, RecursionError):
        return code
    for node in ast.walk(tree):
        if isinstance(node, ast.Assert):
            node.msg = None
    return ast.dump(tree)


async def _judged(editor: NotebookEditor, finding: Finding, otherwise: Standing = "not shown") -> JudgedFinding:
    fault = await _fault(editor, finding.shows)
    if fault is None:
        return JudgedFinding(finding=finding, standing=otherwise)
    error = clip(f"{fault.type}: {fault.message}".rstrip(": "), _ERROR_TOKENS)
    return JudgedFinding(finding=finding, standing="shown" if fault.type == _FAILED else otherwise, error=error)


async def _fault(editor: NotebookEditor, code: str) -> CellFault | None:
    """How code fails in a branch of its own: what it changes in a frame or a file is gone with it."""
    try:
        checking = check_code(code)
    except UserError as problem:
        return CellFault(type="SyntaxError", message=problem.message)
    await editor.sync()
    try:
        async with editor.slot(), editor.notebook.branch() as branch:
            seen = await branch.apply([CreateCell(code=checking)], seconds=SECONDS)
    except (KernelLost, Unavailable) as problem:
        return CellFault(type="Lost", message=problem.message)
    if seen.refused is not None:
        return CellFault(type="Refused", message=seen.refused.message)
    if seen.kernel_end is not None or seen.problem:
        return CellFault(type="Lost", message=seen.problem or (seen.kernel_end.reason if seen.kernel_end else ""))
    return next((cell.error for cell in seen.cells if cell.error is not None), None)
