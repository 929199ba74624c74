"""An open notebook kept in step with its file and its timeline: changed by one at a time, and never lost.

A person may edit the file, or the notebook through an editor, at any moment: what they wrote is kept, and the agent is
told. After kill -9 the cells are found in the file again, under the same ids, and what had run runs again.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from enum import StrEnum
from pathlib import Path
from typing import Final, Self

import anyio
import anyio.to_thread

from cellwright.errors import Unavailable, UserError
from cellwright.ids import CellId
from cellwright.kernel.observation import Observation
from cellwright.kernel.session.open_notebook import OpenNotebook
from cellwright.notebook.document import Document
from cellwright.notebook.files import NotebookFile, SaveConflict
from cellwright.notebook.prompt_summary import clip
from cellwright.tools.history.moves import RestoreMethod
from cellwright.tools.history.timeline import Revision, RevisionTimeline, read_timeline, write_timeline
from cellwright.tools.notebook.cell_changes import CellDiff, changes_between, merge, with_known_ids
from cellwright.tools.notebook.owned_cells import CellOwner
from cellwright.tools.notebook.trial_records import TrialRecord
from cellwright.tools.notebook.trials import NotCommitted

_NEWS_TOKENS: Final = 400
_SAVES: Final = 5
"""How often a save is tried while somebody else keeps saving, too."""
_PERSON_WAITS_SECONDS: Final = 20
"""So long a person's change waits for an agent's call."""

Act = Callable[[], Awaitable[Observation | NotCommitted]]
"""What a revision does to the notebook."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EditOutcome:
    """What one call did."""

    observation: Observation
    changes: tuple[CellDiff, ...] = ()
    """Cells it changed."""
    news: str = ""
    """What the agent did not know: a person's edits, a replay."""
    tried: tuple[TrialRecord, ...] = ()
    """What was tried in branches for it."""
    is_kept: bool = True
    """False: it failed in a branch, and the notebook is as it was."""
    back_by: RestoreMethod | None = None
    """Of an undo or redo: how the notebook was made what it was."""


class EditorPoint(StrEnum):
    """The moments of a revision, in order; crash tests end the process at each of them."""

    BEGUN = "begun"
    RAN = "ran"
    SAVED = "saved"
    REMEMBERED = "remembered"


OnPoint = Callable[[EditorPoint], None]


class SavedNotebook:
    """One open notebook, its file and its timeline. Made by `open`."""

    def __init__(self, notebook: OpenNotebook, path: Path, timeline: RevisionTimeline, reached: OnPoint) -> None:
        self.notebook: Final = notebook
        self.timeline = timeline
        self.owner: CellOwner | None = None
        """Whose cells no other agent may change; set by its run, in each process anew."""
        self._path = path
        self._reached = reached
        self._base = notebook.document
        """The document as the file has it."""
        self._seen = notebook.document
        """The document as the agent may know it."""
        self._news: list[str] = []
        self._slot = anyio.Lock()
        self._is_closed = False

    @classmethod
    async def open(cls, notebook: OpenNotebook, path: Path, *, reached: OnPoint = lambda _: None) -> Self:
        """This notebook; `path` is its timeline's file in the state directory. After a crash, as it was before."""
        known = await anyio.to_thread.run_sync(read_timeline, path)
        saved = cls(notebook, path, known or RevisionTimeline(), reached)
        if known is None:
            await saved.remember()
        else:
            await saved._recover(known)
        return saved

    # ── one at a time ──

    @asynccontextmanager
    async def slot(self, *, is_persons: bool = False) -> AsyncGenerator[None]:
        """Alone at the notebook, with what others did to it seen.

        A person waits only so long, and not for a notebook that was closed: raises `Unavailable`.
        """
        with anyio.move_on_after(_PERSON_WAITS_SECONDS if is_persons else None) as waiting:
            await self._slot.acquire()
        if waiting.cancelled_caught:
            raise Unavailable("The agent's cells are still running.", hint="Try again in a moment, or stop them first.")
        try:
            if is_persons and self._is_closed:
                raise Unavailable("The run has let go of its notebook this moment.", hint="Try again.")
            await self._sync()
            yield
        finally:
            self._slot.release()

    async def sync(self) -> None:
        """See what others did to the notebook since."""
        async with self.slot():
            pass

    async def close(self) -> None:
        """Nobody changes the notebook here any more; whoever is at it comes to their end first."""
        async with self._slot:
            self._is_closed = True

    def ran(self) -> tuple[CellId, ...]:
        """The cells whose results the kernel holds."""
        return tuple(cell for cell, outcome in self.notebook.outcomes.items() if outcome.status == "ok")

    def outcomes_of(self, revision: Revision) -> Observation:
        """What there is now of the cells that the revision made or changed."""
        known = self.notebook.outcomes
        there = [change.id for change in revision.changes if change.after is not None and change.id in known]
        return Observation(cells=tuple(known[cell] for cell in there))

    # ── what the agent was not told yet ──

    def add_news(self, text: str) -> None:
        """Said with the next answer."""
        self._news.append(text)

    def pop_news(self) -> str:
        """What the agent was not told yet; told once."""
        news, self._news = self._news, []
        return "\n".join(news)

    def _add_changes(self, changes: Sequence[CellDiff], where: str) -> None:
        if changes:
            texts = [_change_text(change) for change in changes]
            self.add_news("\n".join([f"A person changed the notebook {where} meanwhile; it was kept:", *texts]))

    # ── one revision ──

    async def make(
        self,
        revision: Revision,
        after: Document,
        act: Act,
        is_made: Callable[[], bool] = lambda: True,
        *,
        is_persons: bool = False,
    ) -> EditOutcome:
        """Begin the revision, act, save, and remember it. `is_made`: whether it counts, should it be cancelled.

        Refused where an agent would change a cell of another owner.
        """
        if self.owner is not None and not is_persons and (refused := self.owner.refusal(revision)) is not None:
            return EditOutcome(observation=Observation(refused=refused), is_kept=False, news=self.pop_news())
        await self._write(replace(self.timeline, pending=revision, is_unsaved=False))
        self._reached(EditorPoint.BEGUN)
        try:
            did = await act()
        except anyio.get_cancelled_exc_class():
            # Edits that are made already must not be left unsaved and unknown.
            with anyio.CancelScope(shield=True):
                await (self._settle(revision, after) if is_made() else self._write(self.timeline.without_pending()))
            raise
        if isinstance(did, NotCommitted):
            await self._write(self.timeline.without_pending())
            return EditOutcome(observation=Observation(), is_kept=False, news=did.why)
        if did.refused is not None:
            await self._write(self.timeline.without_pending())
            return EditOutcome(observation=did, news=self.pop_news())
        self._reached(EditorPoint.RAN)
        await self._settle(revision, after)
        return EditOutcome(observation=did, changes=revision.changes, news=self.pop_news())

    async def _settle(self, revision: Revision, after: Document) -> None:
        # What was typed while the cells ran.
        self._add_changes(changes_between(after, self.notebook.document), "through an editor")
        self._seen = self.notebook.document
        try:
            await self._save()
        except Unavailable as error:
            await self._write(replace(self.timeline, is_unsaved=True))
            self.add_news(f"The notebook could not be saved; the next call tries again. {error.message}")
            return
        self._reached(EditorPoint.SAVED)
        self.timeline = self.timeline.append(revision)
        await self.remember()
        self._reached(EditorPoint.REMEMBERED)

    async def save(self) -> None:
        """The notebook as it is now, known to the agent, in its file and in the timeline. Raises `Unavailable`."""
        self._seen = self.notebook.document
        await self._save()
        await self.remember()

    async def _save(self) -> None:
        """Write the file. What somebody saved meanwhile is joined with ours."""
        for _ in range(_SAVES):
            if not isinstance(await self.notebook.save(), SaveConflict):
                self._base = self._seen = self.notebook.document
                return
            await self._join(await self._read_again())
        raise Unavailable("The notebook's file changes faster than it can be saved.", hint="Try again.")

    async def remember(self) -> None:
        """Keep what the notebook is now, and what has run."""
        await self._write(self.timeline.of(self.notebook.document, self.ran()))

    async def _write(self, timeline: RevisionTimeline) -> None:
        await anyio.to_thread.run_sync(write_timeline, self._path, timeline)
        self.timeline = timeline

    # ── what others do ──

    async def _sync(self) -> None:
        self._add_changes(changes_between(self._seen, self.notebook.document), "through an editor")
        if self.notebook.document is not self._base:
            await self._save()
            if self.timeline.pending is not None:
                self.timeline = self.timeline.append(self.timeline.pending)
            await self.remember()
        elif (file := await self._read_again()) is not None:
            await self._join(file)
            self._base = self._seen = self.notebook.document
            await self.remember()

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
        self._add_changes(changes_between(self._base, theirs), "in its file")
        for change in merged.given_up:
            self.add_news(f"Your change of the same cell was given up for theirs. It was:\n{change.diff()}")
        await self.notebook.adopt(replace(file, document=theirs), merged.document)
        self._base = theirs

    # ── after a crash ──

    async def _recover(self, known: RevisionTimeline) -> None:
        self.timeline, found = known.settled(self.notebook.document)
        theirs = changes_between(self.timeline.document, found)
        self._add_changes(theirs, "in its file")
        self.notebook.document = self._base = self._seen = found
        if known.is_unsaved and (known.pending is None or self.timeline.find(known.pending.key) is None):
            self.add_news("Your last change could not be saved before the process ended, and is gone.")
        # In a parallel branch, what the notebook had run came with its state.
        without = {change.id for change in theirs} | set(self.ran())
        await self._replay([cell.id for cell in found.cells if cell.id in self.timeline.ran and cell.id not in without])

    async def _replay(self, cells: Sequence[CellId]) -> None:
        if cells:
            observation = await self.notebook.run(cells)
            failed = [cell.name for cell in observation.cells if cell.status not in {"ok", "stopped", "disabled"}]
            self.add_news(
                f"The process was restarted; {len(cells)} cells were run again"
                + (f", of which these have no result now: {', '.join(failed)}." if failed else ".")
            )
        await self.remember()


def _change_text(change: CellDiff) -> str:
    match change.before, change.after:
        case None, cell if cell is not None:
            return f"- new cell {cell.id} (version {cell.version}):\n{clip(cell.code, _NEWS_TOKENS)}"
        case cell, None if cell is not None:
            return f"- cell {cell.id} was deleted"
        case _:
            assert change.after is not None
            return f"- cell {change.id}, now version {change.after.version}:\n{clip(change.diff(), _NEWS_TOKENS)}"
