"""`/runs/{run}/branches`, `/changes`, `/undo`, `/redo`.

What a run tried and changed, and what people decide about it: one cell's change taken back, one change undone, or
all of them, and redone. In its editor while the run is at work, in the file afterwards.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Annotated, Any, Final, assert_never

import anyio.to_thread
from fastapi import Path as InPath

from cellwright.agents import steering
from cellwright.app.runs import run_folder
from cellwright.app.workspaces import EDITOR_FILE
from cellwright.errors import UserError
from cellwright.journal.names import stream_of
from cellwright.kernel.session.open_notebook import OpenNotebook
from cellwright.notebook.document import Document
from cellwright.notebook.files import SaveConflict
from cellwright.policy.approvals import Person
from cellwright.runs.events import ChangeReviewed
from cellwright.runs.history.history import (
    REDO_HINT,
    CellChange,
    FileHistory,
    NotebookChange,
    before_cell,
    changes_of,
    move_live,
    undo_target,
)
from cellwright.runs.views import branches
from cellwright.runs.views.branch_views import branch_view_json
from cellwright.runs.views.branches import open_choices
from cellwright.runs.views.run_view import RunView, first_goal
from cellwright.server.http.auth.dependencies import Approver, KnownRun, Reader, RunName, Steerer, check_run, status_of
from cellwright.server.http.auth.tokens import ApiCaller
from cellwright.server.http.errors import Conflict, ResourceNotFound
from cellwright.server.http.resources import ApiResources, ApiRouter, Resources, shared
from cellwright.server.http.schemas import changes as shapes
from cellwright.tools.history.moves import HistoryOutcome, Moved, MoveRefused, NothingToMove, Redo, Target, UndoCell
from cellwright.tools.history.timeline import RevisionTimeline, read_timeline
from cellwright.tools.notebook.cell_changes import changes_between, merge, with_known_ids

_DETACH_SECONDS: Final = 0.5


@dataclass(frozen=True, slots=True)
class RunRevisions:
    """The notebooks of runs, as they are reviewed."""

    resources: ApiResources

    async def timeline(self, run: str) -> RevisionTimeline:
        """What is remembered of a run's changes."""
        editor = self.resources.live.editors.get(run)
        if editor is not None:
            return editor.timeline
        return await anyio.to_thread.run_sync(read_timeline, self._timeline_file(run)) or RevisionTimeline()

    async def move(self, run: str, target: Target, person: Person) -> HistoryOutcome:
        """Undo or redo. Raises `Conflict`, `Unavailable`."""
        status = await status_of(self.resources, run)
        if (editor := self.resources.live.editors.get(run)) is not None:
            return await move_live(editor.history, target, run=run, log=self.resources.records.log, person=person)
        if status.is_going:
            raise Conflict("The run has not opened its notebook yet.", hint="Try again in a moment.")
        # It has ended: its notebook is a file.
        goal = await first_goal(self.resources.records, run)
        if goal is None:
            raise ResourceNotFound(f"The run {run!r} has no notebook.", hint="There is nothing to take back.")
        path = Path(goal.notebook)
        async with self._beside_editors(path):
            return await FileHistory(notebook=path, stored=self._timeline_file(run)).move(target)

    def _timeline_file(self, run: str) -> Path:
        return run_folder(self.resources.settings, run) / EDITOR_FILE

    # ── whoever has the file open ──

    @asynccontextmanager
    async def _beside_editors(self, path: Path) -> AsyncGenerator[None]:
        """Inside, the file may be changed: a notebook that a person has open goes on from what it became."""
        notebook = await self._opened(path)
        if notebook is None:
            yield
            return
        if isinstance(await notebook.save(), SaveConflict):
            raise Conflict("The notebook's file was changed elsewhere.", hint="Save or close it first.")
        base = notebook.document
        yield
        await _go_on_from_file(notebook, base)

    async def _opened(self, path: Path) -> OpenNotebook | None:
        if self.resources.opened is None:
            return None
        real = await anyio.to_thread.run_sync(path.resolve)
        of_runs = self.resources.live.notebooks
        found = (notebook for id, notebook in self.resources.opened.all().items() if id not in of_runs)
        return next((notebook for notebook in found if notebook.path == real), None)


async def _go_on_from_file(notebook: OpenNotebook, base: Document) -> None:
    """Take over what the file became since it held `base`; what the person did meanwhile stays."""
    file = await notebook.file.changed_on_disk()
    if file is None:
        return
    before, theirs = notebook.document, with_known_ids(base, file.document)
    merged = merge(base, before, theirs).document
    await notebook.adopt(replace(file, document=theirs), merged)
    changed = [change.id for change in changes_between(before, merged) if change.after is not None]
    if changed:
        await notebook.run(changed, detach_after=_DETACH_SECONDS)


branches_router, router = ApiRouter(tags=["changes"]), ApiRouter(tags=["changes"])
Revisions = Annotated[RunRevisions, shared(RunRevisions)]
BranchName = Annotated[str, InPath(min_length=1, max_length=400, description="A branch, as `/branches` names it.")]


@branches_router.get("/runs/{run}/branches")
async def list_branches(_: Reader, resources: Resources, run: KnownRun) -> shapes.Branches:
    """What a run tried in branches."""
    # The questions first: one that was answered meanwhile is then decided in the views.
    choices = await open_choices(resources.records, run)
    found = (await resources.views.of(run)).branches.values()
    return shapes.Branches(
        branches=[shapes.BranchShape.model_validate(branch_view_json(view, choices)) for view in found]
    )


@branches_router.post("/runs/{run}/branches/{branch:path}/accept")
async def accept_branch(
    caller: Approver, resources: Resources, run: RunName, branch: BranchName
) -> shapes.BranchDecided:
    """Keep a branch that waits."""
    await check_run(resources, run)
    decided = await branches.accept(resources.inbox, run, branch, caller.as_person)
    return shapes.BranchDecided.model_validate(decided.json())


@branches_router.post("/runs/{run}/branches/{branch:path}/drop")
async def drop_branch(caller: Approver, resources: Resources, run: RunName, branch: BranchName) -> shapes.BranchDecided:
    """Drop a branch that waits."""
    await check_run(resources, run)
    decided = await branches.drop(resources.inbox, run, branch, caller.as_person)
    return shapes.BranchDecided.model_validate(decided.json())


Number = Annotated[int, InPath(ge=1, le=1_000_000, description="A change, as `/changes` numbers it.")]
CellName = Annotated[str, InPath(min_length=1, max_length=100, description="A cell's id.")]


@router.get("/runs/{run}/changes")
async def list_changes(_: Reader, resources: Resources, reviewing: Revisions, run: KnownRun) -> shapes.Changes:
    """What a run changed, cell by cell."""
    timeline, view = await reviewing.timeline(run), await resources.views.of(run)
    changes = [_change(change, view) for change in changes_of(timeline)]
    return shapes.Changes(changes=changes, can_redo=timeline.redoable is not None)


def _change(change: NotebookChange, view: RunView) -> shapes.ChangeShape:
    return shapes.ChangeShape(
        number=change.number,
        call=change.key,
        agent=change.agent,
        is_undone=change.is_undone,
        at_ms=view.change_made_ms(change.key),
        cells=[_cell(cell, view.reviews.get((change.key, cell.cell))) for cell in change.cells],
    )


def _cell(cell: CellChange, review: ChangeReviewed | None) -> shapes.CellChangeShape:
    verdict, comment = ("open", "") if review is None else (review.verdict, review.comment)
    return shapes.CellChangeShape(**asdict(cell), review=verdict, comment=comment)


# ── one cell ──


@router.post("/runs/{run}/changes/{number}/cells/{cell}")
async def review_change(
    caller: Steerer,
    resources: Resources,
    reviewing: Revisions,
    run: RunName,
    number: Number,
    cell: CellName,
    said: shapes.VerdictBody,
) -> shapes.CellChangeShape:
    """Accept one cell's change, or take it back."""
    await check_run(resources, run)
    change, changed = _found(changes_of(await reviewing.timeline(run)), number, cell)
    before = (await resources.views.of(run)).reviews.get((change.key, cell))
    if said.verdict == "reject":
        outcome = await reviewing.move(run, UndoCell(number=number, cell=changed.cell), caller.as_person)
        if not isinstance(outcome, Moved):
            raise Conflict(outcome.why, hint="Look at the changes again; undo the later one first.")
    elif before is not None and before.verdict == "rejected":
        raise Conflict("This change was taken back.", hint="It cannot be accepted any more.")
    verdict = "rejected" if said.verdict == "reject" else "accepted"
    review = ChangeReviewed(change=change.key, cell=cell, verdict=verdict, comment=said.comment, by=caller.person)
    await resources.records.log.append(stream_of(run), review)
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
    await steering.say(resources.records.log, run, text, caller.as_person)


# ── whole changes ──


@router.post("/runs/{run}/undo")
async def undo_run(
    caller: Steerer, reviewing: Revisions, run: KnownRun, said: shapes.UndoBody | None = None
) -> shapes.UndoneShape:
    """Take back one change, or all of them."""
    target = await _undo_target(reviewing, run, said or shapes.UndoBody(), caller)
    outcome = await reviewing.move(run, target, caller.as_person)
    return shapes.UndoneShape(run=run, **_moved(outcome, hint="Nothing was changed."))


@router.post("/runs/{run}/redo")
async def redo_run(caller: Steerer, reviewing: Revisions, run: KnownRun) -> shapes.RedoneShape:
    """Take back the last undo."""
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
