"""The notebook editor: what an agent does to the notebook of its run, one call after the other.

Each call is run, saved and remembered before the next begins. `read_live_json` takes a value out of it, whole: what a
cell shows is cut for people and models.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from textwrap import indent
from typing import Any, Final

import anyio

from cellwright.errors import Unavailable, UserError
from cellwright.ids import CellId
from cellwright.kernel.branches.branch import Branch
from cellwright.kernel.observation import Observation
from cellwright.kernel.process.call import CellSelection
from cellwright.kernel.session.open_notebook import OpenNotebook
from cellwright.notebook.document import SETUP_NAME, Document
from cellwright.notebook.edits import CreateCell, DeleteCell, Edit, EditRefused, apply_edits
from cellwright.notebook.marimo_file import new_cell_id
from cellwright.notebook.prompt_summary import clip
from cellwright.tools.history.live import LiveHistory
from cellwright.tools.history.timeline import Revision, RevisionTimeline, revision_between, was_saved
from cellwright.tools.notebook import trials
from cellwright.tools.notebook.alternatives import TrialCandidate, try_candidates
from cellwright.tools.notebook.cell_changes import changes_between
from cellwright.tools.notebook.saved_notebook import EditOutcome, OnPoint, SavedNotebook
from cellwright.tools.notebook.trial_records import TrialRecord

MakeEdits = Callable[[Document], Sequence[Edit]]
"""From the document as it is when the call is at it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AlternativesOutcome:
    """What came of candidates that were tried side by side."""

    ranked: tuple[trials.BranchTrial, ...]
    """Best first."""
    applied: EditOutcome | None = None
    """What keeping the first did to the notebook; None: nothing was kept."""
    news: str = ""

    @property
    def tried(self) -> tuple[TrialRecord, ...]:
        """All of them, best first."""
        return tuple(each.record for each in self.ranked)


class NotebookEditor(SavedNotebook):
    """Owns the open notebook of one run. Made by `NotebookEditor.open`."""

    def __init__(self, notebook: OpenNotebook, path: Path, timeline: RevisionTimeline, reached: OnPoint) -> None:
        super().__init__(notebook, path, timeline, reached)
        self.history = LiveHistory(self)

    async def apply(
        self,
        edits: MakeEdits | Sequence[Edit],
        *,
        key: str,
        run: CellSelection = "affected",
        seconds: float | None = None,
        tries_repairs: bool = False,
    ) -> EditOutcome:
        """Edit, run and save: one revision, named by its call's key. Refused edits change nothing and are no revision.

        With `tries_repairs`, other code for a cell that has failed is tried in a branch first, and is no
        revision unless it passes there.
        """
        async with self.slot():
            before = self.notebook.document
            wanted = _with_ids(edits(before) if callable(edits) else edits, before)
            after = apply_edits(before, wanted)
            if isinstance(after, EditRefused):
                return EditOutcome(observation=Observation(refused=after), news=self.pop_news())
            revision = self._begun(key, before, after, run)
            if tries_repairs and run != "none" and trials.is_repair(before, after, self.notebook.outcomes):
                return await self._repair(revision, after, wanted, run, seconds)
            return await self._apply(revision, after, wanted, run, seconds)

    async def choose(
        self, candidates: Sequence[TrialCandidate], *, key: str, is_kept: bool = True, seconds: float | None = None
    ) -> AlternativesOutcome:
        """Try candidates side by side in branches; the first that passes is made, saved, and one revision."""
        async with self.slot():
            before = self.notebook.document
            edits = [_with_ids(candidate.edits(before), before) for candidate in candidates]
            applied: list[EditOutcome] = []

            async def keep_first(place: int, branch: Branch, tried: trials.BranchTrial) -> str:
                after = apply_edits(before, edits[place])
                assert not isinstance(after, EditRefused)
                revision = self._begun(key, before, after, "affected")
                applied.append(await self._commit(branch, revision, after, tried))
                return "" if applied[0].is_kept else applied[0].news

            keep = keep_first if is_kept else None
            ranked = await try_candidates(self.notebook, candidates, edits, keep, key=key, seconds=seconds)
            kept = applied[0] if applied and applied[0].is_kept else None
            return AlternativesOutcome(ranked=ranked, applied=kept, news=self.pop_news())

    async def try_out(self, code: str, *, seconds: float | None = None) -> EditOutcome:
        """Run code in a cell of its own that is taken out again: cells, file and history are as if it had not been.

        It is never saved, so it cannot be left behind either.
        """
        async with self.slot():
            before = self.notebook.document
            cell = new_cell_id({known.id for known in before.cells} | set(before.retired))
            try:
                observation = await self.notebook.apply([CreateCell(code=code, id=cell)], seconds=seconds)
            finally:
                with anyio.CancelScope(shield=True):
                    await self._take_out(cell, before)
            return EditOutcome(observation=observation, news=self.pop_news())

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
        async with self.slot():
            marked = await self.history.mark(key)
            observation = await self.notebook.run(what, seconds=seconds, revision=marked)
            await self.remember()
            return EditOutcome(observation=observation, news=self.pop_news())

    async def set_header(self, header: str) -> None:
        """Put this above the cells, and save. Not a revision: no cell changes, so there is nothing to undo."""
        async with self.slot():
            self.notebook.document = replace(self.notebook.document, header=header)
            await self.save()

    def done(self, key: str) -> Revision | None:
        """The revision of this call, if the notebook holds it: after a crash, whether it happened."""
        return self.timeline.find(key)

    def made_by(self, keys: Collection[str]) -> tuple[Revision, ...]:
        """The revisions of these calls and of the calls made within them, oldest first."""
        return tuple(
            revision
            for revision in self.timeline.revisions
            if {revision.key, revision.key.rpartition(".")[0]} & set(keys)
        )

    # ── one revision ──

    def _begun(self, key: str, before: Document, after: Document, run: CellSelection) -> Revision:
        return replace(revision_between(key, before, after, _resolved(run, before, after)), ran_before=self.ran())

    async def _apply(
        self, revision: Revision, after: Document, edits: Sequence[Edit], run: CellSelection, seconds: float | None
    ) -> EditOutcome:
        async def act() -> Observation:
            return await self.notebook.apply(edits, run=run, seconds=seconds, revision=marked)

        marked = await self.history.mark("" if run == "none" else revision.key)
        return await self.make(revision, after, act)

    # ── branches ──

    async def _repair(
        self, revision: Revision, after: Document, edits: Sequence[Edit], run: CellSelection, seconds: float | None
    ) -> EditOutcome:
        """Try it in a branch; what fails there does not reach the notebook."""
        async with AsyncExitStack() as stack:
            try:
                branch = await stack.enter_async_context(self.notebook.branch())
            except Unavailable as error:
                self.add_news(f"It was made in the notebook without being tried in a branch first: {error.message}")
                return await self._apply(revision, after, edits, run, seconds)
            purpose = f"mend {trials.repaired_names(self.notebook.document, after, self.notebook)}"
            tried = await trials.try_edits(branch, edits, run=run, seconds=seconds)
            record = replace(tried.record, branch=revision.key, purpose=purpose)
            if tried.record.status == "passed":
                applied = await self._commit(branch, revision, after, tried)
                return replace(applied, tried=(replace(record, is_kept=applied.is_kept, note=applied.news),))
            if tried.observation.refused is not None:
                return EditOutcome(observation=tried.observation, news=self.pop_news())
            return EditOutcome(observation=tried.observation, tried=(record,), is_kept=False, news=self.pop_news())

    async def _commit(
        self, branch: Branch, revision: Revision, after: Document, tried: trials.BranchTrial
    ) -> EditOutcome:
        """What passed in the branch, made in the notebook: a revision like any other."""
        outcomes = dict(self.notebook.outcomes)
        self.history.forget_ahead()

        async def act() -> Observation | trials.NotCommitted:
            came = await trials.commit_trial(branch, outcomes)
            if isinstance(came, trials.NotCommitted):
                return came
            self.history.name_commit(revision.key)
            if came.differences and (otherwise := trials.differing_text(came.differences)):
                self.add_news(f"Not the same in the notebook as in the branch: {otherwise}.")
            return came.observation

        applied = await self.make(revision, after, act, lambda: was_saved(revision, self.notebook.document))
        if applied.is_kept:
            return applied
        refused = applied.observation.refused
        return replace(
            applied, observation=tried.observation, news=applied.news if refused is None else refused.message
        )


def _resolved(run: CellSelection, before: Document, after: Document) -> tuple[CellId, ...]:
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


# ── values out of the live notebook ──

MOST_BYTES: Final = 2_000_000
_SECONDS: Final = 300
_FAULT_TOKENS: Final = 150
_CELL: Final = """\
def _tell():
BODY


class _Told:
    def _mime_(self):
        return "text/plain", _tell()


_Told()"""


def json_cell_code(body: str) -> str:
    """A cell that shows the JSON text that `body` returns; it defines no name that another cell could see."""
    return _CELL.replace("BODY", indent(body, "    "))


async def read_live_json(editor: NotebookEditor, code: str) -> Any:
    """What such a cell shows. It is taken out again. Raises `UserError` if it failed, or showed what is no JSON."""
    observation = (await editor.try_out(code, seconds=_SECONDS)).observation
    fault = next((cell.error for cell in observation.cells if cell.error is not None), None)
    if fault is not None:
        raise UserError(f"{fault.type}: {clip(fault.message, _FAULT_TOKENS)}")
    shown = next((cell.output for cell in observation.cells if cell.output is not None), None)
    if not observation.is_ok or shown is None or not shown.data:
        raise UserError(observation.problem or "The notebook showed nothing.")
    if len(shown.data) > MOST_BYTES:
        raise UserError("It is too much to be read.", hint="Ask for less.")
    try:
        return json.loads(shown.data)
    except (ValueError, RecursionError) as error:
        raise UserError("What the notebook showed is no JSON.") from error
