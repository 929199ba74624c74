"""The notebook desk: one run's open notebook, changed by one call at a time, saved after each, and never lost.

A person may edit the file, or the notebook through an editor, at any moment: what they wrote is kept, and the agent is
told. After kill -9 the desk finds its cells in the file again, under the same ids, and runs what had run.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Awaitable, Callable, Collection, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import replace
from enum import StrEnum
from pathlib import Path
from typing import Final, TypeVar

import anyio
import anyio.to_thread

from cellwright.errors import Unavailable, UserError
from cellwright.ids import CellId
from cellwright.kernel import CellSelection, Observation, OpenNotebook
from cellwright.kernel.branches.branch import Branch
from cellwright.notebook import (
    CreateCell,
    DeleteCell,
    Document,
    Edit,
    EditRefused,
    NotebookFile,
    SaveConflict,
    apply_edits,
    clip,
    restore_edits,
)
from cellwright.notebook.document import SETUP_NAME
from cellwright.notebook.marimo_file import new_cell_id
from cellwright.tools.notebook.alternatives import CandidateTrials, TrialCandidate
from cellwright.tools.notebook.cell_changes import CellDiff, changes_between, merge, with_known_ids
from cellwright.tools.notebook.outcomes import AlternativesOutcome, EditOutcome, NothingToRedo, NothingToUndo
from cellwright.tools.notebook.restoration import (
    Restoration,
    RestoreMethod,
    StateHistory,
    UnreachableState,
    find_earlier_state,
    has_same_cells,
)
from cellwright.tools.notebook.revisions import (
    Amend,
    Amendment,
    EditorState,
    Revision,
    plan_undo,
    read_editor_state,
    revision_between,
    was_saved,
    write_editor_state,
)
from cellwright.tools.notebook.trials import (
    BranchTrial,
    NotCommitted,
    commit_trial,
    differing_text,
    is_repair,
    repaired_names,
    try_edits,
)

_NEWS_TOKENS: Final = 400
_SAVES: Final = 5
"""How often a save is tried while somebody else keeps saving, too."""
_PERSON_WAITS_SECONDS: Final = 20
"""So long a person's change waits for its turn."""
_DETACH_SECONDS: Final = 0.5
"""So long it waits for what it lets run; the rest runs on."""
T = TypeVar("T")

MakeEdits = Callable[[Document], Sequence[Edit]]
"""From the document as it is when it is the call's turn."""


Act = Callable[[], Awaitable[Observation | NotCommitted]]
"""What a turn does to the notebook."""


def _always() -> bool:
    return True


class EditorPoint(StrEnum):
    """The moments of a turn, in order; crash tests end the process at each of them."""

    BEGUN = "begun"
    RAN = "ran"
    SAVED = "saved"
    REMEMBERED = "remembered"


def _go_on(_: EditorPoint) -> None:
    """Nobody watches."""


OnPoint = Callable[[EditorPoint], None]


class NotebookEditor:
    """Owns the open notebook of one run. Made by `NotebookEditor.open`."""

    def __init__(self, notebook: OpenNotebook, path: Path, memory: EditorState, reached: OnPoint) -> None:
        self.notebook: Final = notebook
        self._path = path
        self._memory = memory
        self._reached = reached
        self._base = notebook.document
        """The document as the file has it."""
        self._seen = notebook.document
        """The document as the agent may know it."""
        self._news: list[str] = []
        self._past = StateHistory(notebook)
        self._turn = anyio.Lock()
        self._is_closed = False

    @classmethod
    async def open(cls, notebook: OpenNotebook, memory: Path, *, reached: OnPoint = _go_on) -> NotebookEditor:
        """The desk of this notebook; `memory` is its file in the state directory. After a crash, as it was before."""
        known = await anyio.to_thread.run_sync(read_editor_state, memory)
        desk = cls(notebook, memory, known or EditorState(), reached)
        if known is None:
            await desk._remember()
        else:
            await desk._come_back(known)
        return desk

    # ── calls ──

    async def apply(
        self,
        edits: MakeEdits | Sequence[Edit],
        *,
        key: str,
        run: CellSelection = "affected",
        seconds: float | None = None,
        tries_mends: bool = False,
    ) -> EditOutcome:
        """Edit, run and save: one turn, named by its call's key. Refused edits change nothing and are no turn.

        With `tries_mends`, other code for a cell that has failed is tried in a branch first, and is no turn unless it
        passes there.
        """
        async with self._turn:
            await self._sync()
            before = self.notebook.document
            wanted = _with_ids(edits(before) if callable(edits) else edits, before)
            after = apply_edits(before, wanted)
            if isinstance(after, EditRefused):
                return EditOutcome(observation=Observation(refused=after), news=self.take_news())
            turn = self._begun(key, before, after, run)
            if tries_mends and run != "none" and is_repair(before, after, self.notebook.outcomes):
                return await self._mend(turn, after, wanted, run, seconds)
            return await self._make(turn, after, wanted, run, seconds)

    async def choose(
        self, candidates: Sequence[TrialCandidate], *, key: str, is_kept: bool = True, seconds: float | None = None
    ) -> AlternativesOutcome:
        """Try candidates side by side in branches; the one that ranks first and passes is made, saved, and one turn."""
        async with self._turn:
            await self._sync()
            before = self.notebook.document
            edits = [_with_ids(candidate.edits(before), before) for candidate in candidates]
            race = CandidateTrials(self.notebook, candidates, edits, key=key, seconds=seconds)
            applied: list[EditOutcome] = []

            async def keep_first(branch: Branch, tried: BranchTrial) -> str:
                wanted = edits[race.first]
                after = apply_edits(before, wanted)
                assert not isinstance(after, EditRefused)
                turn = self._begun(key, before, after, "affected")
                applied.append(await self._commit(branch, turn, after, tried))
                return "" if applied[0].is_kept else applied[0].news

            ranked = await race.run(keep_first if is_kept else None)
            kept = applied[0] if applied and applied[0].is_kept else None
            return AlternativesOutcome(ranked=ranked, applied=kept, news=self.take_news())

    async def try_out(self, code: str, *, seconds: float | None = None) -> EditOutcome:
        """Run code in a cell of its own that is taken out again: cells, file and turns are as if it had not been.

        It is never saved, so it cannot be left behind either.
        """
        async with self._turn:
            await self._sync()
            before = self.notebook.document
            cell = new_cell_id({known.id for known in before.cells} | set(before.retired))
            try:
                observation = await self.notebook.apply([CreateCell(code=code, id=cell)], seconds=seconds)
            finally:
                with anyio.CancelScope(shield=True):
                    await self._take_out(cell, before)
            return EditOutcome(observation=observation, news=self.take_news())

    async def _take_out(self, cell: CellId, before: Document) -> None:
        tried = self.notebook.document.find(cell)
        if tried is None:
            return
        await self.notebook.apply([DeleteCell(cell=cell, base_version=tried.version)], run="none")
        outcomes = {each: outcome for each, outcome in self.notebook.outcomes.items() if each != cell}
        self.notebook.state = replace(self.notebook.state, outcomes=outcomes)
        if self.notebook.document.cells == before.cells:
            # Nobody else did anything meanwhile: then nothing is to be saved.
            self.notebook.document = before

    async def run(self, what: CellSelection = "stale", *, seconds: float | None = None, key: str = "") -> EditOutcome:
        """Run cells without changing them; what was before the call of this key is kept while there is room."""
        async with self._turn:
            await self._sync()
            marked = await self._past.mark(key)
            observation = await self.notebook.run(what, seconds=seconds, revision=marked)
            await self._remember()
            return EditOutcome(observation=observation, news=self.take_news())

    async def undo(self, *, key: str, seconds: float | None = None) -> EditOutcome | NothingToUndo:
        """Be what the notebook was before the last turn; where a person changed it since, only cells go back."""
        async with self._turn:
            await self._sync()
            last = self._memory.last_turn()
            if last is None:
                return NothingToUndo()
            plan = plan_undo(last, self.notebook.document)
            before = self.notebook.document
            after = apply_edits(before, plan.edits)
            if isinstance(after, EditRefused):
                return EditOutcome(observation=Observation(refused=after), news=self.take_news())
            kept = ", ".join(change.id for change in plan.kept)
            self._news += [f"Not undone, because somebody changed them since: {kept}."] if kept else []
            turn = replace(self._begun(key, before, after, "affected"), is_undo=True)
            by: list[RestoreMethod] = []

            async def act() -> Observation:
                back = None if plan.kept else await self._past.go_back(last, after)
                by.append("cells" if back is None else back.by)
                if back is None:
                    return await self.notebook.apply(plan.edits, run="affected", seconds=seconds)
                return self._past.seen(back, turn)

            done = await self._do(turn, after, act)
            return replace(done, back_by=by[0]) if by else done

    async def redo(self, *, key: str) -> EditOutcome | NothingToRedo:
        """Take back the last undo; only as long as nothing else was done since."""
        async with self._turn:
            await self._sync()
            before = self.notebook.document
            undone = self._past.take_undone(before)
            if undone is None:
                return NothingToRedo()
            after = apply_edits(before, restore_edits(before, undone.document))
            if isinstance(after, EditRefused):
                return NothingToRedo()
            turn = replace(self._begun(key, before, after, "affected"), to_run=undone.ran)
            by: list[RestoreMethod] = []

            async def act() -> Observation:
                back = await self._past.go_forward(undone, after, key)
                by.append(back.by)
                return self._past.seen(back, turn)

            done = await self._do(turn, after, act)
            return replace(done, back_by=by[0]) if by else done

    async def go_before(self, cell: str, *, key: str, is_persons: bool = False) -> EditOutcome | UnreachableState:
        """Be what the notebook was right before this cell last ran, by id or name. A turn: `undo` comes back.

        A person waits only so long for their turn, and raises `Unavailable` then.
        """
        async with self._persons_turn() if is_persons else self._turn:
            await self._sync()
            before = self.notebook.document
            there = find_earlier_state(self.notebook, cell, self._memory.turns)
            if isinstance(there, UnreachableState):
                return there
            after = apply_edits(before, restore_edits(before, there.document))
            if isinstance(after, EditRefused):
                return UnreachableState(why=after.message)
            turn = replace(self._begun(key, before, after, "none"), to_run=self._past.ran())

            async def act() -> Observation | NotCommitted:
                travelled = await self._past.go_before(there.cell, after, key)
                if travelled is None:
                    return NotCommitted(why="The state that was kept was lost this moment.")
                if travelled.again:
                    again = ", ".join(self.notebook.state.name_of(each) for each in travelled.again)
                    self._news.append(f"These were quick and ran again on the way: {again}.")
                return self._past.seen(Restoration(by="checkpoint", observation=Observation()), turn)

            done = await self._do(turn, after, act, lambda: has_same_cells(self.notebook.document, after))
            if not done.is_kept:
                return UnreachableState(why=done.news)
            stale = replace(done.observation, stale=self.notebook.stale)
            return replace(done, observation=stale, back_by="checkpoint")

    def edits_before(self, cell: str) -> list[Edit] | None:
        """What `go_before` would do to the cells; None: it cannot go there."""
        there = find_earlier_state(self.notebook, cell, self._memory.turns)
        return None if isinstance(there, UnreachableState) else restore_edits(self.notebook.document, there.document)

    def redo_code(self) -> str | None:
        """The code that `redo` would bring back; None: there is nothing to redo."""
        return self._past.redo_code()

    async def set_header(self, header: str) -> None:
        """Put this above the cells, and save. Not a turn: no cell changes, so there is nothing to undo."""
        async with self._turn:
            await self._sync()
            self.notebook.document = replace(self.notebook.document, header=header)
            self._seen = self.notebook.document
            await self._save()
            await self._remember()

    async def amend(self, plan: Amend[T]) -> T:
        """A person's change, between two calls: made, saved and remembered, but no turn of an agent. Then it runs.

        Raises `Unavailable` if a call takes too long to wait for, or the notebook was closed meanwhile.
        """
        return (await self.amend_telling(plan))[0]

    async def amend_telling(self, plan: Amend[T]) -> tuple[T, RestoreMethod]:
        """The same, and how the notebook was made what it is now."""
        async with self._persons_turn():
            await self._sync()
            amended = plan(self._memory, self.notebook.document)
            if not isinstance(amended, Amendment):
                return amended, "cells"
            before = self.notebook.document
            turn = amended.before_turn
            back = await self._past.go_back(turn, amended.document) if turn is not None else None
            if amended.is_redo:
                back = await self._past.go_forward_again(amended.document)
            stale = () if back is not None else await self._restore(before, amended.document)
            self._memory = replace(self._memory, turns=amended.memory.turns, undone=amended.memory.undone)
            self._seen = self.notebook.document
            await self._save()
            await self._remember()
            if back is not None:
                return amended.outcome, back.by
            self._past.forget_redo()
            await self._run_after(changes_between(before, self.notebook.document), stale)
            return amended.outcome, "cells"

    async def _restore(self, before: Document, wanted: Document) -> tuple[CellId, ...]:
        """Make these the cells, and run none of them; what is stale then."""
        edits = restore_edits(before, wanted)
        observation = await self.notebook.apply(edits, run="none") if edits else Observation()
        if observation.refused is not None:
            raise Unavailable(observation.refused.message, hint="The notebook was changed meanwhile. Try again.")
        return observation.stale

    async def close(self) -> None:
        """Nobody changes the notebook here any more; whoever is at it comes to their end first."""
        async with self._turn:
            self._is_closed = True

    @asynccontextmanager
    async def _persons_turn(self) -> AsyncGenerator[None]:
        with anyio.move_on_after(_PERSON_WAITS_SECONDS) as waiting:
            await self._turn.acquire()
        if waiting.cancelled_caught:
            raise Unavailable("The agent's cells are still running.", hint="Try again in a moment, or stop them first.")
        try:
            if self._is_closed:
                raise Unavailable("The run has let go of its notebook this moment.", hint="Try again.")
            yield
        finally:
            self._turn.release()

    async def _run_after(self, changes: Sequence[CellDiff], stale: Collection[CellId]) -> None:
        """What a person's change made stale and had run before, and the cells that are other ones now."""
        had_run = [cell for cell in stale if cell in self.notebook.outcomes]
        cells = dict.fromkeys([change.id for change in changes if change.after is not None] + had_run)
        if cells:
            await self.notebook.run([*cells], detach_after=_DETACH_SECONDS)

    @property
    def memory(self) -> EditorState:
        """What it remembers of the notebook and of every turn."""
        return self._memory

    def last_turn(self) -> Revision | None:
        """What `undo` would undo."""
        return self._memory.last_turn()

    def done(self, key: str) -> Revision | None:
        """The turn of this call, if the notebook holds it: after a crash, whether it happened."""
        return self._memory.find(key)

    def made_by(self, keys: Collection[str]) -> tuple[Revision, ...]:
        """The turns of these calls and of the calls made within them, oldest first."""
        return tuple(turn for turn in self._memory.turns if {turn.key, turn.key.rpartition(".")[0]} & set(keys))

    async def sync(self) -> None:
        """See what others did to the notebook since."""
        async with self._turn:
            await self._sync()

    def take_news(self) -> str:
        """What the agent was not told yet; told once."""
        news, self._news = self._news, []
        return "\n".join(news)

    # ── one turn ──

    def _begun(self, key: str, before: Document, after: Document, run: CellSelection) -> Revision:
        turn = revision_between(key, before, after, self._resolved(run, before, after))
        return replace(turn, ran_before=self._past.ran())

    async def _make(
        self, turn: Revision, after: Document, edits: Sequence[Edit], run: CellSelection, seconds: float | None
    ) -> EditOutcome:
        async def act() -> Observation:
            return await self.notebook.apply(edits, run=run, seconds=seconds, revision=marked)

        marked = await self._past.mark("" if run == "none" else turn.key)
        return await self._do(turn, after, act)

    async def _do(
        self, turn: Revision, after: Document, act: Act, is_made: Callable[[], bool] = _always
    ) -> EditOutcome:
        await self._write(replace(self._memory, pending=turn, is_unsaved=False))
        self._reached(EditorPoint.BEGUN)
        try:
            did = await act()
        except anyio.get_cancelled_exc_class():
            # Edits that are made already must not be left unsaved and unknown.
            with anyio.CancelScope(shield=True):
                await (self._settle(turn, after) if is_made() else self._write(self._memory.without_pending()))
            raise
        if isinstance(did, NotCommitted):
            await self._write(self._memory.without_pending())
            return EditOutcome(observation=Observation(), is_kept=False, news=did.why)
        if did.refused is not None:
            await self._write(self._memory.without_pending())
            return EditOutcome(observation=did, news=self.take_news())
        self._reached(EditorPoint.RAN)
        await self._settle(turn, after)
        return EditOutcome(observation=did, changes=turn.changes, news=self.take_news())

    # ── branches ──

    async def _mend(
        self, turn: Revision, after: Document, edits: Sequence[Edit], run: CellSelection, seconds: float | None
    ) -> EditOutcome:
        """Try it in a branch; what fails there does not reach the notebook."""
        async with AsyncExitStack() as stack:
            try:
                branch = await stack.enter_async_context(self.notebook.branch())
            except Unavailable as error:
                self._news.append(f"It was made in the notebook without being tried in a branch first: {error.message}")
                return await self._make(turn, after, edits, run, seconds)
            purpose = f"mend {repaired_names(self.notebook.document, after, self.notebook)}"
            tried = await try_edits(branch, edits, run=run, seconds=seconds)
            if tried.status == "passed":
                applied = await self._commit(branch, turn, after, tried)
                told = tried.told(turn.key, purpose, is_kept=applied.is_kept, note=applied.news)
                return replace(applied, tried=(told,))
            if tried.observation.refused is not None:
                return EditOutcome(observation=tried.observation, news=self.take_news())
            told = tried.told(turn.key, purpose)
            return EditOutcome(observation=tried.observation, tried=(told,), is_kept=False, news=self.take_news())

    async def _commit(self, branch: Branch, turn: Revision, after: Document, tried: BranchTrial) -> EditOutcome:
        """What passed in the branch, made in the notebook: a turn like any other."""
        outcomes = dict(self.notebook.outcomes)
        self._past.forget_redo()

        async def act() -> Observation | NotCommitted:
            came = await commit_trial(branch, outcomes)
            if isinstance(came, NotCommitted):
                return came
            self._past.name_commit(turn.key)
            if came.differences and (otherwise := differing_text(came.differences)):
                self._news.append(f"Not the same in the notebook as in the branch: {otherwise}.")
            return came.observation

        applied = await self._do(turn, after, act, lambda: was_saved(turn, self.notebook.document))
        return applied if applied.is_kept else replace(applied, observation=tried.observation)

    async def _settle(self, turn: Revision, after: Document) -> None:
        # What was typed while the cells ran.
        self._tell(changes_between(after, self.notebook.document), "through an editor")
        self._seen = self.notebook.document
        try:
            await self._save()
        except Unavailable as error:
            await self._write(replace(self._memory, is_unsaved=True))
            self._news.append(f"The notebook could not be saved; the next call tries again. {error.message}")
            return
        self._reached(EditorPoint.SAVED)
        self._memory = self._memory.with_turn(turn)
        await self._remember()
        self._reached(EditorPoint.REMEMBERED)

    async def _save(self) -> None:
        """Write the file. What somebody saved meanwhile is joined with ours."""
        for _ in range(_SAVES):
            if not isinstance(await self.notebook.save(), SaveConflict):
                self._base = self._seen = self.notebook.document
                return
            await self._join(await self._read_again())
        raise Unavailable("The notebook's file changes faster than it can be saved.", hint="Try again.")

    async def _remember(self) -> None:
        await self._write(self._memory.of(self.notebook.document, self._past.ran()))

    async def _write(self, memory: EditorState) -> None:
        await anyio.to_thread.run_sync(write_editor_state, self._path, memory)
        self._memory = memory

    def _resolved(self, run: CellSelection, before: Document, after: Document) -> tuple[CellId, ...]:
        """The cells a call would run, should a crash leave that to be done."""
        match run:
            case "none":
                return ()
            case "all":
                return tuple(cell.id for cell in after.cells)
            case "stale" | "affected":
                return tuple(change.id for change in changes_between(before, after) if change.after is not None)
            case cells:
                return tuple(CellId(cell) for cell in cells)

    # ── what others do ──

    async def _sync(self) -> None:
        self._tell(changes_between(self._seen, self.notebook.document), "through an editor")
        if self.notebook.document is not self._base:
            await self._save()
            if self._memory.pending is not None:
                self._memory = self._memory.with_turn(self._memory.pending)
            await self._remember()
        elif (file := await self._read_again()) is not None:
            await self._join(file)
            self._base = self._seen = self.notebook.document
            await self._remember()

    async def _read_again(self) -> NotebookFile | None:
        try:
            return await self.notebook.file.changed_on_disk()
        except UserError as error:
            raise Unavailable(
                f"The notebook's file cannot be read now: {error.message}", hint="Somebody may be editing it."
            ) from error

    async def _join(self, file: NotebookFile | None) -> None:
        """Take over what somebody saved, together with what is ours and not saved yet."""
        if file is None:
            return
        theirs = with_known_ids(self._base, file.document)
        merged = merge(self._base, self.notebook.document, theirs)
        self._tell(changes_between(self._base, theirs), "in its file")
        for change in merged.given_up:
            self._news.append(f"Your change of the same cell was given up for theirs. It was:\n{change.diff()}")
        await self.notebook.adopt(replace(file, document=theirs), merged.document)
        self._base = theirs

    def _tell(self, changes: Sequence[CellDiff], where: str) -> None:
        if changes:
            told = [_change_text(change) for change in changes]
            self._news.append("\n".join([f"A person changed the notebook {where} meanwhile; it was kept:", *told]))

    # ── after a crash ──

    async def _come_back(self, known: EditorState) -> None:
        pending = known.pending
        is_done = pending is not None and was_saved(pending, self.notebook.document)
        base = known.document_after(pending) if pending is not None and is_done else known.document
        found = with_known_ids(base, self.notebook.document)
        self._tell(changes_between(base, found), "in its file")
        self.notebook.document = self._base = self._seen = found
        if known.is_unsaved and not is_done:
            self._news.append("Your last change could not be saved before the process ended, and is gone.")
        self._memory = known.with_turn(pending) if pending is not None and is_done else known.without_pending()
        await self._replay(known.ran + (pending.to_run if pending is not None and is_done else ()), base)

    async def _replay(self, ran: tuple[CellId, ...], base: Document) -> None:
        changed = {change.id for change in changes_between(base, self._base)}
        # Of a lane, what the notebook had run came with its state.
        here = {cell for cell, outcome in self.notebook.outcomes.items() if outcome.status == "ok"}
        again = [cell.id for cell in self._base.cells if cell.id in ran and cell.id not in changed | here]
        if again:
            observation = await self.notebook.run(again)
            failed = [cell.name for cell in observation.cells if cell.status not in {"ok", "stopped", "disabled"}]
            self._news.append(
                f"The process was restarted; {len(again)} cells were run again"
                + (f", of which these have no result now: {', '.join(failed)}." if failed else ".")
            )
        await self._remember()


def _with_ids(edits: Sequence[Edit], document: Document) -> list[Edit]:
    """The edits with an id for each new cell, so that it has the same one however often they are applied."""
    taken = {cell.id for cell in document.cells} | set(document.retired)
    known: list[Edit] = []
    for edit in edits:
        if isinstance(edit, CreateCell) and edit.id is None and edit.name != SETUP_NAME:
            edit = replace(edit, id=new_cell_id(taken))
        if isinstance(edit, CreateCell) and edit.id is not None:
            taken.add(edit.id)
        known.append(edit)
    return known


def _change_text(change: CellDiff) -> str:
    match change.before, change.after:
        case None, cell if cell is not None:
            return f"- new cell {cell.id} (version {cell.version}):\n{clip(cell.code, _NEWS_TOKENS)}"
        case cell, None if cell is not None:
            return f"- cell {cell.id} was deleted"
        case _:
            assert change.after is not None
            return f"- cell {change.id}, now version {change.after.version}:\n{clip(change.diff(), _NEWS_TOKENS)}"
