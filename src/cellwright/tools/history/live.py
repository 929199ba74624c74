"""The history of an open notebook: it goes back and forward with its cells, outputs, variables and files together.

By a checkpoint where one is kept; else by replay: the kernel is replaced, its file changes are dropped, and what had
run then runs again. Where neither can be, or somebody changed cells since, only cells go back.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Final

from cellwright.errors import Unavailable
from cellwright.ids import CellId
from cellwright.kernel.branches.checkpoints import Checkpoint
from cellwright.kernel.observation import CellOutcome, Observation
from cellwright.notebook.document import Cell, Document
from cellwright.notebook.edits import EditRefused, apply_edits, restore_edits
from cellwright.tools.history.moves import (
    BeforeCell,
    HistoryOutcome,
    Move,
    Moved,
    MoveRefused,
    NotMoved,
    Redo,
    RestoreMethod,
    Target,
    UndoLast,
    change_text,
    is_same_cell,
    plan,
)
from cellwright.tools.history.timeline import Revision, fingerprint, revision_between
from cellwright.tools.notebook.cell_changes import CellDiff, changes_between
from cellwright.tools.notebook.saved_notebook import EditOutcome, SavedNotebook
from cellwright.tools.notebook.trials import NotCommitted

_COMMIT: Final = "commit"
"""Under this name a commit keeps what was before it."""
_DETACH_SECONDS: Final = 0.5
"""So long a person's move waits for what it lets run; the rest runs on."""
_MOST_NAMED: Final = 12


@dataclass(frozen=True, slots=True, kw_only=True)
class RestoredState:
    """The kernel has the state that is wanted."""

    by: RestoreMethod
    observation: Observation
    steps: int = 0
    """How many checkpoints were passed; so many lie ahead now."""


class LiveHistory:
    """The ways back and forward of one open notebook, for its agent and for people."""

    def __init__(self, saved: SavedNotebook) -> None:
        self._saved = saved
        self._notebook = saved.notebook
        self._ahead: dict[str, int] = {}
        """How many checkpoints each undo passed, by its key, as long as nothing else is done."""

    # ── an agent's ──

    async def undo(self, *, key: str, seconds: float | None = None) -> EditOutcome | NotMoved:
        """Be what the notebook was before the last change; where a person changed it since, only cells go back."""
        return await self._step(UndoLast(), key, seconds)

    async def redo(self, *, key: str) -> EditOutcome | NotMoved:
        """Take back the last undo; only as long as nothing else was done since."""
        return await self._step(Redo(), key, None)

    async def _step(self, target: UndoLast | Redo, key: str, seconds: float | None) -> EditOutcome | NotMoved:
        async with self._saved.slot():
            before = self._notebook.document
            move = plan(self._saved.timeline, before, target, key)
            if not isinstance(move, Move):
                return move
            assert move.revision is not None
            revision = replace(move.revision, ran_before=self._saved.ran())
            if move.outcome.kept:
                kept = "; ".join(move.outcome.kept)
                self._saved.add_news(f"Not undone, because somebody changed them since: {kept}.")
            by: list[RestoreMethod] = []

            async def act() -> Observation:
                restored = await self._restore_state(move)
                by.append("cells" if restored is None else restored.by)
                if restored is None:
                    self.forget_ahead()
                    edits = restore_edits(before, move.document)
                    return await self._notebook.apply(edits, run="affected", seconds=seconds)
                return restored.observation if restored.by == "replay" else self._saved.outcomes_of(revision)

            made = await self._saved.make(revision, move.document, act)
            return replace(made, back_by=by[0]) if by else made

    async def go_before(self, cell: str, *, key: str, is_persons: bool = False) -> EditOutcome | MoveRefused:
        """Be what the notebook was right before this cell last ran, by id or name. A change: `undo` comes back.

        A person waits only so long for it, and raises `Unavailable` then.
        """
        async with self._saved.slot(is_persons=is_persons):
            before, there = self._notebook.document, self._earlier_state(cell)
            if isinstance(there, MoveRefused):
                return there
            known, then = there
            after = apply_edits(before, restore_edits(before, then))
            if isinstance(after, EditRefused):
                return MoveRefused(why=after.message)
            ran = self._saved.ran()
            revision = replace(revision_between(key, before, after, ran), ran_before=ran)

            async def act() -> Observation | NotCommitted:
                self.forget_ahead()
                rewound = await self._notebook.checkpoints.travel_before(known, key)
                if rewound is None:
                    return NotCommitted(why="The state that was kept was lost this moment.")
                self._notebook.document = after
                if rewound.again:
                    again = ", ".join(self._notebook.state.name_of(each) for each in rewound.again)
                    self._saved.add_news(f"These were quick and ran again on the way: {again}.")
                return self._saved.outcomes_of(revision)

            made = await self._saved.make(
                revision,
                after,
                act,
                lambda: fingerprint(self._notebook.document) == revision.left,
                is_persons=is_persons,
            )
            if not made.is_kept:
                refused = made.observation.refused
                return MoveRefused(why=made.news if refused is None else refused.message)
            stale = replace(made.observation, stale=self._notebook.stale)
            return replace(made, observation=stale, back_by="checkpoint")

    def preview(self, target: UndoLast | Redo | BeforeCell) -> Document | None:
        """The cells as the move would leave them; None: it cannot be made."""
        now = self._notebook.document
        if isinstance(target, BeforeCell):
            there = self._earlier_state(target.cell)
            after = there if isinstance(there, MoveRefused) else apply_edits(now, restore_edits(now, there[1]))
        else:
            after = plan(self._saved.timeline, now, target)
        return after.document if isinstance(after, Move) else after if isinstance(after, Document) else None

    # ── a person's ──

    async def move(self, target: Target) -> HistoryOutcome:
        """Between two calls: made, saved and remembered; what depends on changed cells runs again.

        Newest changes go back as state. Some in the midst of others, or whose cells somebody changed since, as cells.
        Raises `Unavailable` if a call takes too long to wait for, or the notebook was closed meanwhile, and `UserError`
        for a change that never was.
        """
        if isinstance(target, BeforeCell):
            rewound = await self.go_before(target.cell, key=target.key, is_persons=True)
            if isinstance(rewound, MoveRefused):
                return rewound
            if rewound.observation.refused is not None:
                return MoveRefused(why=rewound.observation.refused.message)
            cells = tuple(change_text(change) for change in rewound.changes)
            return Moved(cells=cells, by=rewound.back_by or "cells")
        async with self._saved.slot(is_persons=True):
            before, ran = self._notebook.document, self._saved.ran()
            move = plan(self._saved.timeline, before, target)
            if not isinstance(move, Move):
                return move
            restored = await self._restore_state(move)
            stale = () if restored is not None else await self._restore_cells(before, move.document)
            if move.revision is not None:
                self._saved.timeline = self._saved.timeline.append(replace(move.revision, ran_before=ran))
            await self._saved.save()
            if restored is not None:
                return replace(move.outcome, by=restored.by)
            self.forget_ahead()
            await self._run_after(changes_between(before, self._notebook.document), stale)
            return move.outcome

    async def _restore_cells(self, before: Document, wanted: Document) -> tuple[CellId, ...]:
        """Make these the cells, and run none of them; what is stale then."""
        edits = restore_edits(before, wanted)
        observation = await self._notebook.apply(edits, run="none") if edits else Observation()
        if observation.refused is not None:
            raise Unavailable(observation.refused.message, hint="The notebook was changed meanwhile. Try again.")
        return observation.stale

    async def _run_after(self, changes: Sequence[CellDiff], stale: Collection[CellId]) -> None:
        """The cells that are other ones now, and what that made stale and had run before."""
        had_run = [cell for cell in stale if cell in self._notebook.outcomes]
        cells = dict.fromkeys([change.id for change in changes if change.after is not None] + had_run)
        if cells:
            await self._notebook.run([*cells], detach_after=_DETACH_SECONDS)

    # ── states ──

    async def mark(self, key: str) -> str:
        """Keep what is now under the name of the call that comes; where it cannot be kept, going back is a replay.

        Gives the name if it was kept: then states between the call's cells are worth keeping, too.
        """
        self.forget_ahead()
        if not key or self._notebook.provisioner.options.files == "direct":
            return ""
        try:
            taken = await self._notebook.checkpoints.take(key)
        except Unavailable:
            # The kernel ended meanwhile: the call itself will meet that, and say so.
            return ""
        return key if isinstance(taken, Checkpoint) else ""

    def name_commit(self, key: str) -> None:
        """A commit has kept what was before it; from now on under the name of its call."""
        kept = self._notebook.checkpoints.kept
        if kept and kept[-1].label == _COMMIT:
            kept[-1].label = key

    def forget_ahead(self) -> None:
        """Something else is done: a redo brings back cells only."""
        self._ahead.clear()

    async def _restore_state(self, move: Move) -> RestoredState | None:
        """All as the move wants it; None where only cells can be brought back."""
        if move.revision is None:
            return None
        if move.revision.kind == "redo":
            return await self._go_forward(move.document)
        oldest = move.state_before
        if oldest is None or oldest.ran_before is None:
            return None
        has_run = bool(oldest.to_run) or any(change.after is None for change in oldest.changes)
        restored = await self._go_back(oldest.key, move.document, oldest.ran_before if has_run else ())
        if restored is not None:
            self._ahead[move.revision.key] = restored.steps
        return restored

    async def _go_back(self, label: str, wanted: Document, ran: Collection[CellId]) -> RestoredState | None:
        """`wanted` holds the cells as they were, under versions that nobody has read yet, and `ran` what had run."""
        checkpoints = self._notebook.checkpoints
        steps = _steps_to(checkpoints.kept, label, wanted)
        if (
            steps
            and self._notebook.provisioner.options.files != "direct"
            and await checkpoints.travel(label) is not None
        ):
            self._notebook.document = wanted
            return RestoredState(by="checkpoint", observation=Observation(), steps=steps)
        return await self._replay(wanted, ran) if self._notebook.live.kernel is not None and ran else None

    async def _go_forward(self, wanted: Document) -> RestoredState | None:
        undo = self._saved.timeline.redoable
        steps = None if undo is None else self._ahead.pop(undo.key, None)
        if undo is None or steps is None:
            return None
        passed = await self._notebook.checkpoints.advance(steps)
        if not passed or passed < steps:
            return await self._replay(wanted, undo.ran_before or ())
        self._notebook.document = wanted
        return RestoredState(by="checkpoint", observation=Observation(), steps=passed)

    async def _replay(self, wanted: Document, ran: Collection[CellId]) -> RestoredState:
        """A new kernel that has run these cells."""
        known = {cell.id: cell.name for cell in wanted.cells}
        had_run = {cell: CellOutcome(id=cell, name=known[cell], status="ok") for cell in ran if cell in known}
        return RestoredState(by="replay", observation=await self._notebook.checkpoints.rewind(wanted, had_run))

    def _earlier_state(self, cell: str) -> tuple[CellId, Document] | MoveRefused:
        """The state before this cell, known by id or name, last ran in a call, if going there costs nobody's work."""
        checkpoints, now = self._notebook.checkpoints, self._notebook.document
        known = next((each.id for each in now.cells if cell in (each.id, each.name)), CellId(cell))
        kept = checkpoints.before(known)
        if kept is None:
            names = [self._notebook.state.name_of(each) for each in checkpoints.kept_cells]
            listed = ", ".join(names[-_MOST_NAMED:]) or "none"
            return MoveRefused(why=f"No state before the cell {cell!r} is kept. Cells one can go before: {listed}.")
        then = kept.cells_then or kept.runtime.notebook.state.document
        theirs = made_by_others(then, now, self._saved.timeline.revisions)
        if theirs:
            names = [self._notebook.state.name_of(each) for each in theirs]
            return MoveRefused(why=f"Somebody else changed cells since, which would be lost: {', '.join(names)}.")
        return known, then


def _steps_to(kept: Sequence[Checkpoint], label: str, wanted: Document) -> int:
    """How many states back the one before the newest call of this label is; 0: it is not what is wanted, or gone."""
    for steps, checkpoint in enumerate(reversed(kept), 1):
        if checkpoint.label == label and not checkpoint.is_between:
            there = checkpoint.runtime
            return steps if there.can_stay and fingerprint(there.notebook.state.document) == fingerprint(wanted) else 0
    return 0


def made_by_others(then: Document, now: Document, revisions: Iterable[Revision]) -> list[CellId]:
    """Cells that are other ones now, and that no call of an agent left so."""
    left: dict[CellId, list[Cell | None]] = {}
    for revision in revisions:
        for change in () if revision.is_persons_undo else revision.changes:
            left.setdefault(change.id, []).append(change.after)
    differing = (change.id for change in changes_between(then, now))
    return [cell for cell in differing if not any(is_same_cell(each, now.find(cell)) for each in left.get(cell, ()))]
