"""`/runs/{run}/changes`, `/undo`, `/redo`: what a run did to its notebook, cell by cell, and what people say to it."""

from __future__ import annotations

from typing import Annotated, Final, assert_never

from fastapi import APIRouter, Path

from cellwright.agents import steering
from cellwright.journal import stream_of
from cellwright.runs.cell_history import CellChange, NotebookChange, history_of
from cellwright.runs.cell_reviews import Review, ReviewBook, review_told, with_review
from cellwright.runs.redo import HINT, NothingToRedo, Redone, RedoRefused
from cellwright.runs.taking_back import NotTakenBack
from cellwright.runs.undo import NothingToUndo, Undone, UndoRefused
from cellwright.server.undoing import redone_said, undone_said
from cellwright.server.web.callers import Caller
from cellwright.server.web.folding import Folded
from cellwright.server.web.house import House
from cellwright.server.web.problems import Conflict, NotFound
from cellwright.server.web.reviewing import Reviewing
from cellwright.server.web.run_finding import Reader, RunName, Steerer, check_run
from cellwright.server.web.shapes.changes import (
    CellChangeShape,
    Changes,
    ChangeShape,
    RedoneShape,
    UndoBody,
    UndoneShape,
    VerdictBody,
)

_TAGS: Final = ["changes"]
Number = Annotated[int, Path(ge=1, le=1_000_000, description="A change, as `/changes` numbers it.")]
CellName = Annotated[str, Path(min_length=1, max_length=100, description="A cell's id.")]


def changes_routes(house: House) -> APIRouter:
    """What a run changed."""
    router = APIRouter(tags=[*_TAGS])
    reviewing = Reviewing(house)
    books = Folded(house.live.records.log, begin=lambda run: ReviewBook(), add=with_review)
    _add_list(router, house, reviewing, books)
    _add_verdict(router, house, reviewing, books)
    _add_undo(router, house, reviewing)
    _add_redo(router, house, reviewing)
    return router


def _add_list(router: APIRouter, house: House, reviewing: Reviewing, books: Folded[ReviewBook]) -> None:
    @router.get("/runs/{run}/changes", operation_id="list_changes", summary="What a run changed, cell by cell")
    async def list_changes(_: Reader, run: RunName) -> Changes:
        await check_run(house.live.records, run)
        memory, book = await reviewing.memory(run), await books.of(run)
        changes = [_change(change, book) for change in history_of(memory)]
        return Changes(changes=changes, can_redo=bool(memory.undone))


def _change(change: NotebookChange, book: ReviewBook) -> ChangeShape:
    return ChangeShape(
        number=change.number,
        agent=change.agent,
        is_undone=change.is_undone,
        at_ms=book.when(change.key),
        cells=[_cell(cell, book.find(change.key, cell.cell)) for cell in change.cells],
    )


def _cell(cell: CellChange, review: Review | None) -> CellChangeShape:
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


def _add_verdict(router: APIRouter, house: House, reviewing: Reviewing, books: Folded[ReviewBook]) -> None:
    @router.post(
        "/runs/{run}/changes/{number}/cells/{cell}",
        operation_id="review_change",
        summary="Accept one cell's change, or take it back",
    )
    async def review_change(
        caller: Steerer, run: RunName, number: Number, cell: CellName, said: VerdictBody
    ) -> CellChangeShape:
        await check_run(house.live.records, run)
        change, changed = _found(history_of(await reviewing.memory(run)), number, cell)
        before = (await books.of(run)).find(change.key, cell)
        if said.verdict == "reject":
            outcome = await reviewing.take_back(run, number, changed.cell)
            if isinstance(outcome, NotTakenBack):
                raise Conflict(outcome.why, hint="Look at the changes again; undo the later one first.")
        elif before is not None and before.verdict == "rejected":
            raise Conflict("This change was taken back.", hint="It cannot be accepted any more.")
        verdict = "rejected" if said.verdict == "reject" else "accepted"
        review = Review(verdict=verdict, comment=said.comment, by=caller.person)
        await house.live.records.log.append(stream_of(run), review_told(change.key, cell, review))
        await _tell_agents(house, run, changed, review, caller)
        return _cell(changed, review)


def _found(history: tuple[NotebookChange, ...], number: int, cell: str) -> tuple[NotebookChange, CellChange]:
    change = next((change for change in history if change.number == number), None)
    changed = None if change is None else change.find(cell)
    if change is None or changed is None:
        raise NotFound(f"The run has no change {number} of a cell {cell!r}.", hint="See /changes for what it has.")
    return change, changed


async def _tell_agents(house: House, run: str, changed: CellChange, review: Review, caller: Caller) -> None:
    """Those at work hear of it before their next step."""
    if run not in house.live.desks or (review.verdict == "accepted" and not review.comment):
        return
    name = f"{changed.cell}{f' ({changed.name})' if changed.name else ''}"
    about = {"rejected": "I took back your change of", "accepted": "I accept your change of"}[review.verdict]
    became = " It is as it was before it." if review.verdict == "rejected" else ""
    text = f"{about} the cell {name}.{became}\n{review.comment}".strip()
    await steering.say(house.live.records.log, run, text, caller.as_person)


# ── whole changes ──


def _add_undo(router: APIRouter, house: House, reviewing: Reviewing) -> None:
    @router.post("/runs/{run}/undo", operation_id="undo_run", summary="Take back one change, or all of them")
    async def undo(caller: Steerer, run: RunName, said: UndoBody | None = None) -> UndoneShape:
        await check_run(house.live.records, run)
        step = None if said is None else said.step
        history = history_of(await reviewing.memory(run))
        if step is not None and all(change.number != step for change in history):
            raise NotFound(f"The run has no change {step}.", hint="See /changes for what it has.")
        outcome = await reviewing.undo(run, step)
        match outcome:
            case Undone(turns=turns, cells=cells, kept=kept, by=by):
                if run in house.live.desks:
                    await steering.say(house.live.records.log, run, undone_said(cells), caller.as_person)
                return UndoneShape(run=run, turns=[*turns], cells=[*cells], kept=[*kept], by=by, why="")
            case NothingToUndo(why=why):
                return UndoneShape(run=run, turns=[], cells=[], kept=[], by=None, why=why)
            case UndoRefused(why=why):
                raise Conflict(why, hint="Nothing was changed.")
            case _:
                assert_never(outcome)


def _add_redo(router: APIRouter, house: House, reviewing: Reviewing) -> None:
    @router.post("/runs/{run}/redo", operation_id="redo_run", summary="Take back the last undo")
    async def redo(caller: Steerer, run: RunName) -> RedoneShape:
        await check_run(house.live.records, run)
        outcome = await reviewing.redo(run)
        match outcome:
            case Redone(cells=cells, by=by):
                if run in house.live.desks:
                    await steering.say(house.live.records.log, run, redone_said(cells), caller.as_person)
                return RedoneShape(run=run, cells=[*cells], by=by, why="")
            case NothingToRedo(why=why):
                return RedoneShape(run=run, cells=[], by=None, why=why)
            case RedoRefused(why=why):
                raise Conflict(why, hint=HINT)
            case _:
                assert_never(outcome)
