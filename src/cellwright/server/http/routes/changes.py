"""`/runs/{run}/branches`, `/changes`, `/undo`, `/redo`.

What a run tried and changed, and what people decide about it.
"""

from __future__ import annotations

from collections.abc import Awaitable
from typing import Annotated, Final, assert_never

from fastapi import APIRouter, Path

from cellwright.agents import steering
from cellwright.errors import UserError
from cellwright.journal import stream_of
from cellwright.runs.history.changes import (
    CellChange,
    CellReview,
    CellReviews,
    NotebookChange,
    add_review_event,
    changes_of,
    review_event,
)
from cellwright.runs.history.history import REDO_HINT, before_cell, undo_target
from cellwright.runs.views import branches
from cellwright.runs.views.branches import (
    BranchViews,
    DecidedBranches,
    NoSuchBranch,
    NotWaiting,
    add_branch_event,
    branch_view_json,
    open_choices,
)
from cellwright.runs.views.questions import run_inbox
from cellwright.server.http.auth.dependencies import Approver, Reader, RunName, Steerer, check_run
from cellwright.server.http.auth.tokens import ApiCaller
from cellwright.server.http.problems import Conflict, ResourceNotFound
from cellwright.server.http.resources import ApiResources
from cellwright.server.http.run_projections import RunProjections
from cellwright.server.http.run_revisions import RunRevisions
from cellwright.server.http.schemas.changes import (
    BranchDecided,
    Branches,
    BranchShape,
    CellChangeShape,
    Changes,
    ChangeShape,
    RedoneShape,
    UndoBody,
    UndoneShape,
    VerdictBody,
)
from cellwright.tools.history.moves import Moved, MoveRefused, NothingToMove, Redo, Target, UndoCell

BranchName = Annotated[str, Path(min_length=1, max_length=400, description="A branch, as `/branches` names it.")]
_BRANCH_TAGS: Final = ["changes"]


def branches_routes(house: ApiResources) -> APIRouter:
    """What was tried, and what is decided about it."""
    router = APIRouter(tags=[*_BRANCH_TAGS])
    lanes = RunProjections(house.live.records.log, begin=lambda run: BranchViews(), add=add_branch_event)

    @router.get("/runs/{run}/branches", operation_id="list_branches", summary="What a run tried in branches")
    async def list_branches(_: Reader, run: RunName) -> Branches:
        await check_run(house.live.records, run)
        # The questions first: one that was answered meanwhile is then decided in the lanes.
        choices = await open_choices(house.live.records, run)
        found = (await lanes.of(run)).lanes
        return Branches(branches=[BranchShape.model_validate(branch_view_json(lane, choices)) for lane in found])

    _add_decisions(router, house)
    return router


def _add_decisions(router: APIRouter, house: ApiResources) -> None:
    records, inbox = house.live.records, run_inbox(house.live.records, house.masker)

    @router.post(
        "/runs/{run}/branches/{branch:path}/accept", operation_id="accept_branch", summary="Keep a branch that waits"
    )
    async def accept_branch(caller: Approver, run: RunName, branch: BranchName) -> BranchDecided:
        await check_run(records, run)
        return await _branch_decided(branches.accept(inbox, run, branch, caller.as_person))

    @router.post(
        "/runs/{run}/branches/{branch:path}/drop", operation_id="drop_branch", summary="Drop a branch that waits"
    )
    async def drop_branch(caller: Approver, run: RunName, branch: BranchName) -> BranchDecided:
        await check_run(records, run)
        return await _branch_decided(branches.drop(inbox, run, branch, caller.as_person))


async def _branch_decided(deciding: Awaitable[DecidedBranches]) -> BranchDecided:
    try:
        return BranchDecided.model_validate((await deciding).json())
    except NoSuchBranch as problem:
        raise ResourceNotFound(problem.message, hint=problem.advice) from problem
    except NotWaiting as problem:
        raise Conflict(problem.message, hint=problem.advice) from problem


_TAGS: Final = ["changes"]
Number = Annotated[int, Path(ge=1, le=1_000_000, description="A change, as `/changes` numbers it.")]
CellName = Annotated[str, Path(min_length=1, max_length=100, description="A cell's id.")]


def changes_routes(house: ApiResources) -> APIRouter:
    """What a run changed."""
    router = APIRouter(tags=[*_TAGS])
    reviewing = RunRevisions(house)
    books = RunProjections(house.live.records.log, begin=lambda run: CellReviews(), add=add_review_event)
    _add_list(router, house, reviewing, books)
    _add_verdict(router, house, reviewing, books)
    _add_undo(router, house, reviewing)
    _add_redo(router, house, reviewing)
    return router


def _add_list(
    router: APIRouter, house: ApiResources, reviewing: RunRevisions, books: RunProjections[CellReviews]
) -> None:
    @router.get("/runs/{run}/changes", operation_id="list_changes", summary="What a run changed, cell by cell")
    async def list_changes(_: Reader, run: RunName) -> Changes:
        await check_run(house.live.records, run)
        timeline, book = await reviewing.timeline(run), await books.of(run)
        changes = [_change(change, book) for change in changes_of(timeline)]
        return Changes(changes=changes, can_redo=timeline.redoable is not None)


def _change(change: NotebookChange, book: CellReviews) -> ChangeShape:
    return ChangeShape(
        number=change.number,
        agent=change.agent,
        is_undone=change.is_undone,
        at_ms=book.when(change.key),
        cells=[_cell(cell, book.find(change.key, cell.cell)) for cell in change.cells],
    )


def _cell(cell: CellChange, review: CellReview | None) -> CellChangeShape:
    return CellChangeShape(
        cell=cell.cell,
        name=cell.name,
        kind=cell.kind,
        before=cell.before,
        after=cell.after,
        review="open" if review is None else review.verdict,
        comment="" if review is None else review.comment,
    )


# ── one cell ──


def _add_verdict(
    router: APIRouter, house: ApiResources, reviewing: RunRevisions, books: RunProjections[CellReviews]
) -> None:
    @router.post(
        "/runs/{run}/changes/{number}/cells/{cell}",
        operation_id="review_change",
        summary="Accept one cell's change, or take it back",
    )
    async def review_change(
        caller: Steerer, run: RunName, number: Number, cell: CellName, said: VerdictBody
    ) -> CellChangeShape:
        await check_run(house.live.records, run)
        change, changed = _found(changes_of(await reviewing.timeline(run)), number, cell)
        before = (await books.of(run)).find(change.key, cell)
        if said.verdict == "reject":
            target = UndoCell(number=number, cell=changed.cell)
            outcome = await reviewing.move(run, target, caller.as_person)
            if not isinstance(outcome, Moved):
                raise Conflict(outcome.why, hint="Look at the changes again; undo the later one first.")
        elif before is not None and before.verdict == "rejected":
            raise Conflict("This change was taken back.", hint="It cannot be accepted any more.")
        verdict = "rejected" if said.verdict == "reject" else "accepted"
        review = CellReview(verdict=verdict, comment=said.comment, by=caller.person)
        await house.live.records.log.append(stream_of(run), review_event(change.key, cell, review))
        await _tell_agents(house, run, changed, review, caller)
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
    house: ApiResources, run: str, changed: CellChange, review: CellReview, caller: ApiCaller
) -> None:
    """Those at work hear of it before their next step."""
    if run not in house.live.desks or (review.verdict == "accepted" and not review.comment):
        return
    name = f"{changed.cell}{f' ({changed.name})' if changed.name else ''}"
    about = {"rejected": "I took back your change of", "accepted": "I accept your change of"}[review.verdict]
    became = " It is as it was before it." if review.verdict == "rejected" else ""
    text = f"{about} the cell {name}.{became}\n{review.comment}".strip()
    await steering.say(house.live.records.log, run, text, caller.as_person)


# ── whole changes ──


def _add_undo(router: APIRouter, house: ApiResources, reviewing: RunRevisions) -> None:
    @router.post("/runs/{run}/undo", operation_id="undo_run", summary="Take back one change, or all of them")
    async def undo(caller: Steerer, run: RunName, said: UndoBody | None = None) -> UndoneShape:
        await check_run(house.live.records, run)
        target = await _undo_target(reviewing, run, said or UndoBody(), caller)
        outcome = await reviewing.move(run, target, caller.as_person)
        match outcome:
            case Moved(revisions=revisions, cells=cells, kept=kept, by=by):
                return UndoneShape(run=run, turns=[*revisions], cells=[*cells], kept=[*kept], by=by, why="")
            case NothingToMove(why=why):
                return UndoneShape(run=run, turns=[], cells=[], kept=[], by=None, why=why)
            case MoveRefused(why=why):
                raise Conflict(why, hint="Nothing was changed.")
            case _:
                assert_never(outcome)


async def _undo_target(reviewing: RunRevisions, run: str, said: UndoBody, caller: ApiCaller) -> Target:
    if said.before is not None:
        if said.step is not None:
            raise UserError("`step` takes back a change, `before` goes to before a cell.", hint="Give one of them.")
        return before_cell(said.before, run=run, person=caller.person)
    history = changes_of(await reviewing.timeline(run))
    if said.step is not None and all(change.number != said.step for change in history):
        raise ResourceNotFound(f"The run has no change {said.step}.", hint="See /changes for what it has.")
    return undo_target(said.step)


def _add_redo(router: APIRouter, house: ApiResources, reviewing: RunRevisions) -> None:
    @router.post("/runs/{run}/redo", operation_id="redo_run", summary="Take back the last undo")
    async def redo(caller: Steerer, run: RunName) -> RedoneShape:
        await check_run(house.live.records, run)
        outcome = await reviewing.move(run, Redo(), caller.as_person)
        match outcome:
            case Moved(cells=cells, by=by):
                return RedoneShape(run=run, cells=[*cells], by=by, why="")
            case NothingToMove(why=why):
                return RedoneShape(run=run, cells=[], by=None, why=why)
            case MoveRefused(why=why):
                raise Conflict(why, hint=REDO_HINT)
            case _:
                assert_never(outcome)
