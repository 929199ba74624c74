"""The tool with which an agent tries several ways at once: `try_alternatives`. The best is kept, or none."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Annotated, Any, Final, Literal

from pydantic import BaseModel, ConfigDict, Field

from cellwright.journal import Finding, Json
from cellwright.notebook import EditRefused, apply_edits, clip
from cellwright.policy import Action, EditCells, RunCode
from cellwright.tools.branch_trials import BRANCHES, BranchTried, tried_json
from cellwright.tools.cell_changes import Change, changes_between
from cellwright.tools.cell_edits import CellEdit, Seconds, code_of, edits_of
from cellwright.tools.desk_answers import found, told
from cellwright.tools.desk_outcomes import Chosen
from cellwright.tools.notebook_desk import NotebookDesk
from cellwright.tools.notebook_report import observation_json
from cellwright.tools.side_by_side import Candidate
from cellwright.tools.tool import Calling, Done, Tool, ToolResult, tool
from cellwright.tools.trying import check_code

ALTERNATIVES: Final = "try_alternatives"
_SHOWN_VARIABLES: Final = 3
_VALUE_TOKENS: Final = 20
_ERROR_TOKENS: Final = 120


class CandidateEdits(BaseModel):
    """One way to do it."""

    model_config = ConfigDict(extra="forbid")

    name: Annotated[str, Field(min_length=1, max_length=60, description="A few words that tell it from the others.")]
    edits: Annotated[list[CellEdit], Field(min_length=1, max_length=50)]
    checks: Annotated[
        list[str], Field(max_length=20, description="Besides those for all: expressions, or names of tests.")
    ] = []


def alternatives_tool(desk: NotebookDesk) -> Tool:
    """The tool of this desk's notebook."""
    path = str(desk.notebook.path)

    async def action(arguments: Any) -> tuple[Action, ...]:
        await desk.sync()
        changes = [change for candidate in arguments.candidates for change in _changes(desk, candidate)]
        code = RunCode(notebook=path, code=code_of(changes))
        if arguments.keep == "none":
            return (code,)
        return EditCells(notebook=path, diff="\n".join(change.diff() for change in changes)), code

    async def find(_: Any, calling: Calling) -> Finding:
        return found(desk, calling)

    @tool(name=ALTERNATIVES, action=action, changes=True, find=find, seconds=None)
    async def try_alternatives(
        calling: Calling,
        candidates: Annotated[list[CandidateEdits], Field(min_length=2, max_length=5)],
        checks: Annotated[
            list[str],
            Field(max_length=20, description="What must hold for each: expressions that are true, or names of tests."),
        ] = [],  # noqa: B006
        keep: Annotated[Literal["best", "none"], Field(description="none: only compare them.")] = "best",
        seconds: Seconds = 120,
    ) -> ToolResult:
        """Try several ways side by side, each in its own branch of the live notebook; its variables are there.

        They are ranked by checks that hold, then fewer failures, then time. The first is made in the notebook if
        nothing in it fails; the others leave no trace. You get back one table.
        """
        given = [_candidate(each, checks) for each in candidates]
        chosen = await desk.choose(given, key=calling.key, is_kept=keep == "best", seconds=seconds)
        return _told(desk, chosen, is_kept=keep == "best")

    return try_alternatives


def _candidate(given: CandidateEdits, checks: Sequence[str]) -> Candidate:
    wanted = tuple(dict.fromkeys([*checks, *given.checks]))
    for check in wanted:
        check_code(check)
    return Candidate(name=given.name, edits=partial(edits_of, given.edits), checks=wanted)


def _changes(desk: NotebookDesk, candidate: CandidateEdits) -> tuple[Change, ...]:
    document = desk.notebook.document
    after = apply_edits(document, edits_of(candidate.edits, document))
    return () if isinstance(after, EditRefused) else changes_between(document, after)


# ── telling ──


def _told(desk: NotebookDesk, chosen: Chosen, *, is_kept: bool) -> ToolResult:
    tried = chosen.tried
    lines = [*([chosen.news] if chosen.news else []), alternatives_table(tried), *_errors(tried)]
    value: dict[str, Json] = {BRANCHES: [tried_json(each) for each in tried], "kept": None}
    if chosen.applied is None:
        why = tried[0].note or "none of them passes."
        lines.append(f"Nothing was kept: {why}" if is_kept else "Nothing was kept, as you wanted.")
        return Done(text="\n".join(lines), value=value | {"ok": not is_kept}, is_untrusted=True)
    made = told(desk, chosen.applied)
    value |= observation_json(chosen.applied.observation) | {"kept": tried[0].purpose}
    said = made.text if isinstance(made, Done) else ""
    lines.append(f"Kept: {tried[0].purpose}. In the notebook:\n{said}")
    return Done(text="\n".join(lines), value=value, is_untrusted=True)


def alternatives_table(tried: Sequence[BranchTried]) -> str:
    """What was tried side by side, best first, as a table in markdown."""
    rows = [
        (
            each.purpose + (" (kept)" if each.is_kept else ""),
            each.way or "-",
            each.status,
            f"{each.checks_passed}/{len(each.checks)}" if each.checks else "-",
            _variables(each),
            f"{each.ms:.0f}",
        )
        for each in tried
    ]
    head = ("candidate", "way", "status", "checks", "variables", "ms")
    return "\n".join(f"| {' | '.join(map(_cell, row))} |" for row in (head, ("---",) * len(head), *rows))


def _variables(tried: BranchTried) -> str:
    named = [each for each in tried.variables if each.after]
    shown = [f"{each.name} = {clip(each.after, _VALUE_TOKENS)}" for each in named[:_SHOWN_VARIABLES]]
    return "; ".join(shown) + ("; …" if len(named) > _SHOWN_VARIABLES else "")


def _cell(text: str) -> str:
    return " ".join(text.replace("|", "¦").split())


def _errors(tried: Sequence[BranchTried]) -> list[str]:
    """Why each that did not pass did not, in a line or two."""
    lines: list[str] = []
    for each in tried:
        faults = [f"[{cell.name}] {cell.error or cell.status}" for cell in each.cells if cell.error]
        faults += [f"check {check.check!r}: {check.detail}" for check in each.checks if not check.has_passed]
        faults += [each.note] if each.note and each.status != "passed" else []
        if faults:
            lines.append(clip(f"{each.purpose}: {'; '.join(faults)}", _ERROR_TOKENS))
    return lines
