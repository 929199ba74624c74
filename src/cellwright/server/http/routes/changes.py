"""`/runs/{run}/branches`, `/changes`, `/undo`, `/redo`.

What a run tried and changed, and what people decide about it.
"""

from __future__ import annotations

from collections.abc import Awaitable
from dataclasses import asdict
from typing import Annotated, Any, assert_never

from fastapi import APIRouter, Path

from cellwright.agents import steering
from cellwright.errors import UserError
from cellwright.journal import stream_of
from cellwright.runs.events import ChangeReviewed
from cellwright.runs.history.history import (
    REDO_HINT,
    CellChange,
    NotebookChange,
    before_cell,
    changes_of,
    undo_target,
)
from cellwright.runs.views import branches
from cellwright.runs.views.branch_views import branch_view_json
from cellwright.runs.views.branches import (
    DecidedBranches,
    NoSuchBranch,
    NotWaiting,
    open_choices,
)
from cellwright.runs.views.questions import run_inbox
from cellwright.runs.views.run_view import RunView
from cellwright.server.http.auth.dependencies import Approver, Reader, RunName, Steerer, check_run
from cellwright.server.http.auth.tokens import ApiCaller
from cellwright.server.http.errors import Conflict, ResourceNotFound
from cellwright.server.http.resources import ApiResources
from cellwright.server.http.run_revisions import RunRevisions
from cellwright.server.http.schemas import changes as shapes
from cellwright.tools.history.moves import HistoryOutcome, Moved, MoveRefused, NothingToMove, Redo, Target, UndoCell

BranchName = Annotated[str, Path(min_length=1, max_length=400, description="A branch, as `/branches` names it.")]


def branches_routes(resources: ApiResources) -> APIRouter:
    """What was tried, and what is decided about it."""
    router = APIRouter(tags=["changes"])
    records, inbox = resources.live.records, run_inbox(resources.live.records, resources.masker)

    @router.get("/runs/{run}/branches", operation_id="list_branches", summary="What a run tried in branches")
    async def list_branches(_: Reader, run: RunName) -> shapes.Branches:
        await check_run(records, run)
        # The questions first: one that was answered meanwhile is then decided in the views.
        choices = await open_choices(records, run)
        found = (await resources.views.of(run)).branches.values()
        return shapes.Branches(
            branches=[shapes.BranchShape.model_validate(branch_view_json(view, choices)) for view in found]
        )

    @router.post(
        "/runs/{run}/branches/{branch:path}/accept", operation_id="accept_branch", summary="Keep a branch that waits"
    )
    async def accept_branch(caller: Approver, run: RunName, branch: BranchName) -> shapes.BranchDecided:
        await check_run(records, run)
        return await _branch_decided(branches.accept(inbox, run, branch, caller.as_person))

    @router.post(
        "/runs/{run}/branches/{branch:path}/drop", operation_id="drop_branch", summary="Drop a branch that waits"
    )
    async def drop_branch(caller: Approver, run: RunName, branch: BranchName) -> shapes.BranchDecided:
        await check_run(records, run)
        return await _branch_decided(branches.drop(inbox, run, branch, caller.as_person))

    return router


async def _branch_decided(deciding: Awaitable[DecidedBranches]) -> shapes.BranchDecided:
    try:
        return shapes.BranchDecided.model_validate((await deciding).json())
    except NoSuchBranch as problem:
        raise ResourceNotFound(problem.message, hint=problem.advice) from problem
    except NotWaiting as problem:
        raise Conflict(problem.message, hint=problem.advice) from problem


Number = Annotated[int, Path(ge=1, le=1_000_000, description="A change, as `/changes` numbers it.")]
CellName = Annotated[str, Path(min_length=1, max_length=100, description="A cell's id.")]


def changes_routes(resources: ApiResources) -> APIRouter:
    """What a run changed."""
    router = APIRouter(tags=["changes"])
    reviewing = RunRevisions(resources)

    @router.get("/runs/{run}/changes", operation_id="list_changes", summary="What a run changed, cell by cell")
    async def list_changes(_: Reader, run: RunName) -> shapes.Changes:
        await check_run(resources.live.records, run)
        timeline, view = await reviewing.timeline(run), await resources.views.of(run)
        changes = [_change(change, view) for change in changes_of(timeline)]
        return shapes.Changes(changes=changes, can_redo=timeline.redoable is not None)

    _add_verdict(router, resources, reviewing)
    _add_moves(router, resources, reviewing)
    return router


def _change(change: NotebookChange, view: RunView) -> shapes.ChangeShape:
    return shapes.ChangeShape(
        number=change.number,
        agent=change.agent,
        is_undone=change.is_undone,
        at_ms=view.change_made_ms(change.key),
        cells=[_cell(cell, view.reviews.get((change.key, cell.cell))) for cell in change.cells],
    )


def _cell(cell: CellChange, review: ChangeReviewed | None) -> shapes.CellChangeShape:
    verdict, comment = ("open", "") if review is None else (review.verdict, review.comment)
    return shapes.CellChangeShape(**asdict(cell), review=verdict, comment=comment)


# ── one cell ──


def _add_verdict(router: APIRouter, resources: ApiResources, reviewing: RunRevisions) -> None:
    @router.post(
        "/runs/{run}/changes/{number}/cells/{cell}",
        operation_id="review_change",
        summary="Accept one cell's change, or take it back",
    )
    async def review_change(
        caller: Steerer, run: RunName, number: Number, cell: CellName, said: shapes.VerdictBody
    ) -> shapes.CellChangeShape:
        await check_run(resources.live.records, run)
        change, changed = _found(changes_of(await reviewing.timeline(run)), number, cell)
        before = (await resources.views.of(run)).reviews.get((change.key, cell))
        if said.verdict == "reject":
            target = UndoCell(number=number, cell=changed.cell)
            outcome = await reviewing.move(run, target, caller.as_person)
            if not isinstance(outcome, Moved):
                raise Conflict(outcome.why, hint="Look at the changes again; undo the later one first.")
        elif before is not None and before.verdict == "rejected":
            raise Conflict("This change was taken back.", hint="It cannot be accepted any more.")
        verdict = "rejected" if said.verdict == "reject" else "accepted"
        review = ChangeReviewed(change=change.key, cell=cell, verdict=verdict, comment=said.comment, by=caller.person)
        await resources.live.records.log.append(stream_of(run), review)
        await _tell_agents(resources, run, changed, review, caller)
        return _cell(changed, review)


def _found(history: tuple[NotebookChange, ...], number: int, cell: str) -> tuple[NotebookChange, CellChange]:
    change = next((change for change in history if change.number == number), None)
    changed = None if change is None else change.find(cell)
    if change is None or changed is None:
        raise ResourceNotFound(
            f"The run has no change {number} of a cell {cell!r}.", hint="See /changes for what it has."
        )
    return change, changed


async def _tell_agents(
    resources: ApiResources, run: str, changed: CellChange, review: ChangeReviewed, caller: ApiCaller
) -> None:
    """Those at work hear of it before their next step."""
    if run not in resources.live.editors or (review.verdict == "accepted" and not review.comment):
        return
    name = f"{changed.cell}{f' ({changed.name})' if changed.name else ''}"
    about = {"rejected": "I took back your change of", "accepted": "I accept your change of"}[review.verdict]
    became = " It is as it was before it." if review.verdict == "rejected" else ""
    text = f"{about} the cell {name}.{became}\n{review.comment}".strip()
    await steering.say(resources.live.records.log, run, text, caller.as_person)


# ── whole changes ──


def _add_moves(router: APIRouter, resources: ApiResources, reviewing: RunRevisions) -> None:
    @router.post("/runs/{run}/undo", operation_id="undo_run", summary="Take back one change, or all of them")
    async def undo(caller: Steerer, run: RunName, said: shapes.UndoBody | None = None) -> shapes.UndoneShape:
        await check_run(resources.live.records, run)
        target = await _undo_target(reviewing, run, said or shapes.UndoBody(), caller)
        outcome = await reviewing.move(run, target, caller.as_person)
        return shapes.UndoneShape(run=run, **_moved(outcome, hint="Nothing was changed."))

    @router.post("/runs/{run}/redo", operation_id="redo_run", summary="Take back the last undo")
    async def redo(caller: Steerer, run: RunName) -> shapes.RedoneShape:
        await check_run(resources.live.records, run)
        outcome = await reviewing.move(run, Redo(), caller.as_person)
        return shapes.RedoneShape(run=run, **_moved(outcome, hint=REDO_HINT))


def _moved(outcome: HistoryOutcome, *, hint: str) -> dict[str, Any]:
    match outcome:
        case Moved(revisions=revisions, cells=cells, kept=kept, by=by):
            return {"turns": revisions, "cells": cells, "kept": kept, "by": by, "why": ""}
        case NothingToMove(why=why):
            return {"turns": [], "cells": [], "kept": [], "by": None, "why": why}
        case MoveRefused(why=why):
            raise Conflict(why, hint=hint)
        case _:
            assert_never(outcome)


async def _undo_target(reviewing: RunRevisions, run: str, said: shapes.UndoBody, caller: ApiCaller) -> Target:
    if said.before is not None:
        if said.step is not None:
            raise UserError("`step` takes back a change, `before` goes to before a cell.", hint="Give one of them.")
        return before_cell(said.before, run=run, person=caller.person)
    history = changes_of(await reviewing.timeline(run))
    if said.step is not None and all(change.number != said.step for change in history):
        raise ResourceNotFound(f"The run has no change {said.step}.", hint="See /changes for what it has.")
    return undo_target(said.step)
