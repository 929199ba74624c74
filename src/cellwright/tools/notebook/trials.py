"""Trying edits in a branch: what came of them there, whether that will do, and what it looks like as a value."""

from __future__ import annotations

import ast
import re
import warnings
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from textwrap import indent
from typing import Any, Final

from cellwright.errors import KernelLost, Unavailable, UserError
from cellwright.ids import CellId
from cellwright.kernel.branches.branch import Branch, CommitRefused, Committed, Difference, Differs
from cellwright.kernel.branches.runtime import Trial
from cellwright.kernel.observation import CellOutcome, Observation, VariablePreview
from cellwright.kernel.process.call import CellSelection
from cellwright.kernel.session.open_notebook import OpenNotebook
from cellwright.notebook.document import Document
from cellwright.notebook.edits import CreateCell, Edit
from cellwright.notebook.marimo_file import new_cell_id
from cellwright.notebook.prompt_summary import clip
from cellwright.tools.notebook.cell_changes import changes_between
from cellwright.tools.notebook.trial_records import TrialCell, TrialCheck, TrialRecord, TrialStatus, TrialVariable

_BAD: Final = frozenset({"failed", "interrupted", "cancelled", "lost"})
_TEST: Final = re.compile(r"test_\w{1,100}")
_DETAIL_TOKENS: Final = 80
_PREVIEW_TOKENS: Final = 40
_VARIABLES: Final = 20
_FILES: Final = 100
_CELLS: Final = 100
_DIFFERENCES: Final = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class BranchTrial:
    """What came of edits in a branch."""

    observation: Observation
    record: TrialRecord
    """As an event keeps it; its branch has no name yet."""
    is_sound: bool = False
    """No cell speaks against it, whatever its checks say."""


def trial_of(observation: Observation, status: TrialStatus, *, is_sound: bool = False, **more: Any) -> BranchTrial:
    """What this came to, with what else an event keeps of it."""
    method = observation.method
    record = TrialRecord(
        branch="",
        way="" if method is None else method.kind,
        reasons=() if method is None else method.reasons,
        status=status,
        cells=tuple(trial_cell(cell) for cell in observation.cells[:_CELLS]),
        **more,
    )
    return BranchTrial(observation=observation, record=record, is_sound=is_sound)


async def try_edits(
    branch: Branch,
    edits: Sequence[Edit],
    *,
    run: CellSelection = "affected",
    seconds: float | None = None,
    checks: Sequence[str] = (),
) -> BranchTrial:
    """Make the edits in the branch, run what follows from them, and see whether the checks hold there."""
    parent = branch.parent
    before, outcomes = parent.state.document, parent.state.outcomes
    observation = await branch.apply(edits, run=run, seconds=seconds)
    ms = round(observation.ms + (observation.method.ms if observation.method is not None else 0.0), 3)
    if observation.refused is not None:
        return trial_of(observation, "refused", ms=ms)
    if observation.kernel_end is not None or observation.problem:
        return trial_of(observation, "lost", ms=ms)
    changed = {change.id for change in changes_between(before, branch.document)}
    is_sound = not broken_cells(observation, outcomes, changed)
    others = differing(outcomes, branch.notebook.state.outcomes)
    files = await _changed_files(branch)
    held = await _check(branch, checks, seconds) if checks else ()
    status: TrialStatus = "passed" if is_sound and all(check.has_passed for check in held) else "failed"
    variables = await _in_detail(branch, others)
    return trial_of(observation, status, is_sound=is_sound, checks=held, variables=variables, files=files, ms=ms)


def is_repair(before: Document, after: Document, outcomes: Mapping[CellId, CellOutcome]) -> bool:
    """Whether the change gives other code to a cell that has failed."""
    failed = {cell for cell, outcome in outcomes.items() if outcome.status in {"failed", "interrupted", "lost"}}
    return any(
        change.id in failed and change.before is not None and change.after is not None
        and change.before.code != change.after.code
        for change in changes_between(before, after)
    )  # fmt: skip


def broken_cells(
    observation: Observation, before: Mapping[CellId, CellOutcome], changed: Collection[CellId]
) -> tuple[CellOutcome, ...]:
    """The cells that speak against a change: those it made that fail, and those that ran before and do not now.

    A cell that had no result before and has none now is not made worse: it may have a fault of its own.
    """
    ran = {cell for cell, outcome in before.items() if outcome.status not in _BAD}
    return tuple(cell for cell in observation.cells if cell.status in _BAD and (cell.id in changed or cell.id in ran))


def repaired_names(before: Document, after: Document, notebook: OpenNotebook) -> str:
    """The cells a change gives other code, for people."""
    names = [
        notebook.state.name_of(change.id) for change in changes_between(before, after) if change.before is not None
    ]
    return ", ".join(names[:5])


# ── into the notebook ──


@dataclass(frozen=True, slots=True, kw_only=True)
class NotCommitted:
    """It passed in the branch, and is not in the notebook."""

    why: str


async def commit_trial(branch: Branch, outcomes: Mapping[CellId, CellOutcome]) -> Committed | NotCommitted:
    """Do in the notebook what passed in the branch.

    Where other values come out there, though nothing fails, it is kept all the same and the differences are told: code
    that looks at the clock or at chance is not wrong for that.
    """
    changed = {change.id for change in changes_between(branch.base, branch.document)}
    came = await branch.commit()
    if (
        isinstance(came, Differs)
        and not broken_cells(came.observation, outcomes, changed)
        and came.observation.kernel_end is None
    ):
        came = await branch.commit(even_if_different=True)
    match came:
        case Committed():
            return came
        case Differs(differences=differences):
            return NotCommitted(
                why=f"In the notebook it came out otherwise than in the branch: {differing_text(differences)}"
            )
        case CommitRefused(reason=reason):
            return NotCommitted(why=reason)


def differing_text(differences: Sequence[Difference]) -> str:
    """What came out otherwise, in a few words each."""
    texts = [
        f"{each.name or each.what} was {clip(each.in_branch, 20)!r} there and {clip(each.in_parent, 20)!r} here"
        for each in differences
        if each.is_material
    ]
    more = f"; and {len(texts) - _DIFFERENCES} more" if len(texts) > _DIFFERENCES else ""
    return "; ".join(texts[:_DIFFERENCES]) + more


# ── checks ──


def check_code(check: str) -> str:
    """A cell that fails unless the check holds. Raises `UserError` for what is no Python.

    The name of a test in the notebook stands for that test; an expression must be true; statements must not raise.
    """
    if _TEST.fullmatch(check.strip()):
        return f"{check.strip()}()"
    body = check.strip()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            [*_, last] = ast.parse(body).body
            is_expression = len(ast.parse(body).body) == 1 and isinstance(last, ast.Expr)
    except (SyntaxError, ValueError, RecursionError) as error:
        raise UserError(
            f"The check {check[:80]!r} is no Python.", hint="An expression, or the name of a test."
        ) from error
    # Statements stand in a function: what they name must not be names of the notebook.
    return f"assert ({body}\n)" if is_expression else f"def _check():\n{indent(body, '    ')}\n\n\n_check()"


async def _check(branch: Branch, checks: Sequence[str], seconds: float | None) -> tuple[TrialCheck, ...]:
    """Whether each check holds in the branch. Their cells are no part of what was tried."""
    document = branch.document
    taken = {cell.id for cell in document.cells} | set(document.retired)
    cells: list[CreateCell] = []
    for check in checks:
        cells.append(CreateCell(code=check_code(check), id=new_cell_id(taken)))
        taken.add(cells[-1].id or CellId(""))
    observation = await branch.runtime.run(Trial(edits=tuple(cells), run="affected", seconds=seconds))
    found = {cell.id: cell for cell in observation.cells}
    problem = observation.problem or (observation.refused.message if observation.refused else "it did not run")
    return tuple(
        _held(check, found.get(cell.id) if cell.id else None, problem)
        for check, cell in zip(checks, cells, strict=True)
    )


def _held(check: str, outcome: CellOutcome | None, problem: str) -> TrialCheck:
    shown = clip(" ".join(check.split()), _DETAIL_TOKENS)
    if outcome is not None and outcome.status == "ok":
        return TrialCheck(check=shown, has_passed=True)
    fault = outcome.error if outcome is not None else None
    detail = f"{fault.type}: {fault.message}".rstrip(": ") if fault is not None else problem
    return TrialCheck(check=shown, has_passed=False, detail=clip(" ".join(detail.split()), _DETAIL_TOKENS))


# ── what differs ──


def differing(before: Mapping[CellId, CellOutcome], after: Mapping[CellId, CellOutcome]) -> tuple[TrialVariable, ...]:
    """The variables that are other ones afterwards."""
    old, new = _variables(before), _variables(after)
    names = [name for name in dict.fromkeys([*new, *old]) if old.get(name) != new.get(name)]
    return tuple(_variable(name, old.get(name), new.get(name)) for name in names[:_VARIABLES])


async def _in_detail(branch: Branch, differing: tuple[TrialVariable, ...]) -> tuple[TrialVariable, ...]:
    """The same with shape, nulls and ranges before and after, where the kernels say them."""
    try:
        found = await branch.differences([variable.name for variable in differing])
    except KernelLost:
        return differing
    sides = {diff.name: diff.sides() for diff in found}
    return tuple(
        replace(variable, before=sides[variable.name][0], after=sides[variable.name][1])
        if variable.name in sides
        else variable
        for variable in differing
    )


def _variable(name: str, was: VariablePreview | None, is_now: VariablePreview | None) -> TrialVariable:
    there = is_now or was
    kind = there.type if there is not None else ""
    return TrialVariable(name=name, type=kind, before=_look(was), after=_look(is_now))


def _variables(outcomes: Mapping[CellId, CellOutcome]) -> dict[str, VariablePreview]:
    return {variable.name: variable for outcome in outcomes.values() for variable in outcome.variables}


def _look(preview: VariablePreview | None) -> str:
    return "" if preview is None else clip(" ".join(preview.text.split()), _PREVIEW_TOKENS)


async def _changed_files(branch: Branch) -> tuple[str, ...]:
    try:
        return tuple(dict.fromkeys(change.path for change in await branch.changed_files()))[:_FILES]
    except Unavailable:
        # It ended meanwhile; what it changed went with it.
        return ()


def trial_cell(outcome: CellOutcome) -> TrialCell:
    """A cell that ran, for the telling."""
    fault = outcome.error
    error = "" if fault is None else clip(" ".join(f"{fault.type}: {fault.message}".split()), _DETAIL_TOKENS)
    return TrialCell(cell=outcome.id, name=outcome.name, status=outcome.status, error=error)
