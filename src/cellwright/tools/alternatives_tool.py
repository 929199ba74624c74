"""The tool with which an agent tries several ways at once: `try_alternatives`. One is kept, or none."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Annotated, Any, Final, Literal

from pydantic import BaseModel, ConfigDict, Field

from cellwright.journal import Finding
from cellwright.notebook import EditRefused, apply_edits
from cellwright.policy import Action, EditCells, RunCode
from cellwright.tools.alternatives_report import accepted_told, chosen_told, decided_told, waiting_told
from cellwright.tools.branch_choice import ask_which
from cellwright.tools.branch_trials import branch_told, tried_in
from cellwright.tools.cell_changes import Change, changes_between
from cellwright.tools.cell_edits import CellEdit, Seconds, code_of, edits_of
from cellwright.tools.desk_answers import found
from cellwright.tools.notebook_desk import NotebookDesk
from cellwright.tools.side_by_side import Candidate, number_of
from cellwright.tools.tool import Calling, Done, OneMore, Tool, ToolResult, Toolset, tool
from cellwright.tools.trying import check_code

ALTERNATIVES: Final = "try_alternatives"


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

    async def go_on(arguments: Any, calling: Calling, result: ToolResult, one_more: OneMore) -> ToolResult:
        if not isinstance(result, Done) or not any(each.waits for each in tried_in(result.value)):
            return result
        tried = tried_in(result.value)
        await calling.flow.tell(*(branch_told(replace(each, agent=calling.flow.id)) for each in tried))
        decision = await ask_which(calling.flow, tried)
        if not decision.accepted:
            return decided_told(result, tried, decision, None)
        given = _candidate(arguments.candidates[number_of(decision.accepted) - 1], arguments.checks)

        async def accept() -> ToolResult:
            chosen = await desk.choose([replace(given, is_accepted=True)], key=calling.key, seconds=arguments.seconds)
            return accepted_told(desk, chosen)

        async def find_accepted() -> Finding:
            return found(desk, calling)

        return decided_told(result, tried, decision, await one_more("accepted", accept, find_accepted))

    @tool(name=ALTERNATIVES, action=action, changes=True, find=find, go_on=go_on, seconds=None)
    async def try_alternatives(
        calling: Calling,
        candidates: Annotated[list[CandidateEdits], Field(min_length=2, max_length=5)],
        checks: Annotated[
            list[str],
            Field(max_length=20, description="What must hold for each: expressions that are true, or names of tests."),
        ] = [],  # noqa: B006
        keep: Annotated[
            Literal["best", "none", "ask"],
            Field(description="none: only compare them. ask: the person decides, and you wait for that."),
        ] = "best",
        seconds: Seconds = 120,
    ) -> ToolResult:
        """Try several ways side by side, each in its own branch of the live notebook; its variables are there.

        They are ranked by checks that hold, then fewer failures, then time. The first is made in the notebook if
        nothing in it fails, or the one the person chooses; the others leave no trace. You get back one table.
        """
        given = [_candidate(each, checks) for each in candidates]
        chosen = await desk.choose(given, key=calling.key, is_kept=keep == "best", seconds=seconds)
        return waiting_told(chosen) if keep == "ask" else chosen_told(desk, chosen, is_kept=keep == "best")

    return try_alternatives


def decided_by_checks(toolset: Toolset) -> Toolset:
    """The same tools where nobody can be asked: of alternatives, the best is kept."""

    def as_best(validate: Callable[[Any], Any], arguments: Any) -> Any:
        return validate({**arguments, "keep": "best"} if arguments.get("keep") == "ask" else arguments)

    return Toolset(
        [replace(each, validate=partial(as_best, each.validate)) if each.name == ALTERNATIVES else each
         for each in toolset]
    )  # fmt: skip


def _candidate(given: CandidateEdits, checks: Sequence[str]) -> Candidate:
    wanted = tuple(dict.fromkeys([*checks, *given.checks]))
    for check in wanted:
        check_code(check)
    return Candidate(name=given.name, edits=partial(edits_of, given.edits), checks=wanted)


def _changes(desk: NotebookDesk, candidate: CandidateEdits) -> tuple[Change, ...]:
    document = desk.notebook.document
    after = apply_edits(document, edits_of(candidate.edits, document))
    return () if isinstance(after, EditRefused) else changes_between(document, after)
