"""A branch of an open notebook: the same cells, variables and files, in which a change is tried before it is made.

`async with notebook.branch() as branch: observation = await branch.apply(edits)`. The parent goes on unchanged,
whatever happens in here. `commit` does in the parent what was done here; leaving without it drops everything.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from cellwright.errors import Unavailable
from cellwright.kernel.call import RunWhat
from cellwright.kernel.committing import CommitRefused, Committed, Differs, Promoted, commit
from cellwright.kernel.observation import Observation, VariablePreview, Way
from cellwright.kernel.stands import ForkStand, Stand, Trial
from cellwright.kernel.variable_diff import VariableDiff, differences
from cellwright.notebook import CreateCell, Document, Edit
from cellwright.notebook.document import SETUP_NAME
from cellwright.notebook.marimo_file import new_cell_id
from cellwright.sandbox import FileChange

if TYPE_CHECKING:
    from cellwright.kernel.open_notebook import OpenNotebook

FallBack = Callable[[tuple[str, ...]], Awaitable[Stand]]


class Branch:
    """What is tried in here happens in here only. Made by `OpenNotebook.branch`."""

    def __init__(self, parent: OpenNotebook, stand: Stand, fall_back: FallBack) -> None:
        self.parent = parent
        self.base: Document = parent.document
        """The parent's cells when the branch was made."""
        self._stand = stand
        self._fall_back = fall_back
        self.trials: list[Trial] = []
        self.observations: list[Observation] = []
        self._is_given_away = False

    @property
    def way(self) -> Way:
        """How it came by its parent's state, and why so."""
        return self._stand.way

    @property
    def notebook(self) -> OpenNotebook:
        """Its own cells, outcomes and kernel."""
        return self._stand.notebook

    @property
    def document(self) -> Document:
        """Its cells as they are now."""
        return self._stand.notebook.document

    @property
    def stand(self) -> Stand:
        """Where its cells run."""
        return self._stand

    async def apply(
        self,
        edits: Sequence[Edit] = (),
        *,
        run: RunWhat = "affected",
        cell_seconds: float | None = None,
        seconds: float | None = None,
    ) -> Observation:
        """Edit and run in the branch; the observation's `way` says how the branch was made.

        Where a fork fails as no rerun would, the same is done again in a kernel that is none.
        """
        named = _with_ids(self.document, edits)
        trial = Trial(edits=named, run=run, cell_seconds=cell_seconds, seconds=seconds)
        observation = await self._stand.run(trial)
        if (reason := _is_due_to_fork(self._stand, observation)) is not None:
            observation = await self._again(trial, reason)
        if observation.refused is None:
            self.trials.append(trial)
            self.observations.append(observation)
        return replace(observation, way=self.way)

    async def run(self, what: RunWhat = "all", *, seconds: float | None = None) -> Observation:
        """Run cells in the branch without editing them."""
        return await self.apply(run=what, seconds=seconds)

    async def look(self, names: Sequence[str] = (), *, tokens: int = 200) -> tuple[VariablePreview, ...]:
        """Fresh previews of its variables, of all when `names` is empty."""
        is_fresh = not isinstance(self._stand, ForkStand) and not self.trials
        return await (self.parent if is_fresh else self._stand.notebook).look(names, tokens=tokens)

    async def differences(self, names: Sequence[str]) -> tuple[VariableDiff, ...]:
        """How these variables are other in the branch than in its parent: shape, columns, nulls, ranges."""
        return differences(await self.parent.facts(names), await self._stand.notebook.facts(names))

    async def changed_files(self) -> tuple[FileChange, ...]:
        """Files changed in the branch, besides what the parent had changed before it."""
        return await self._stand.changed_files()

    async def commit(
        self, *, even_if_different: bool = False, reject_files: Collection[str] = ()
    ) -> Committed | Differs | CommitRefused:
        """Do in the notebook what was done here. If it comes out otherwise there, nothing is kept unless you say so."""
        return await commit(self, even_if_different=even_if_different, reject_files=reject_files)

    async def promote(self) -> Promoted | CommitRefused:
        """Become the notebook's kernel, without running anything again; undo goes back to what it was."""
        stand, parent = self._stand, self.parent
        if (reason := self._why_not_promoted()) is not None or not isinstance(stand, ForkStand):
            return CommitRefused(reason=reason or "")
        files = tuple(change.path for change in await stand.changed_files())
        try:
            await parent.exchange(stand.notebook)
        except Unavailable as error:
            return CommitRefused(reason=error.message)
        self._is_given_away = True
        await parent.checkpoints.adopt("promotion", stand)
        return Promoted(files=files)

    def _why_not_promoted(self) -> str | None:
        stand, parent = self._stand, self.parent
        if not isinstance(stand, ForkStand):
            return "This branch is no fork of the notebook's kernel: it has only what its cells need."
        if not stand.can_stay:
            return "The notebook has open connections, which a fork cannot take over."
        if parent.files_mode == "direct":
            return "The notebook writes to the project's own files, and a fork to a copy of them."
        if parent.document is not self.base or parent.kernel is not stand.parent_kernel:
            return "The notebook changed since the branch was made."
        return None

    async def close(self) -> None:
        """Drop the branch and all that was tried in it."""
        if not self._is_given_away:
            await self._stand.close()

    async def _again(self, trial: Trial, reason: str) -> Observation:
        """What a fork could not do, in a kernel that is none; with all that was done in the branch before."""
        await self._stand.close()
        self.parent.distrust_forks(reason)
        self._stand = await self._fall_back((reason,))
        for earlier in self.trials:
            await self._stand.run(earlier)
        return await self._stand.run(trial)


def _with_ids(document: Document, edits: Sequence[Edit]) -> tuple[Edit, ...]:
    """New cells get their ids here: a commit, or a fresh kernel, must make the same ones."""
    taken = {cell.id for cell in document.cells} | set(document.retired)
    named: list[Edit] = []
    for edit in edits:
        if isinstance(edit, CreateCell) and edit.id is None and edit.name != SETUP_NAME:
            identity = new_cell_id(taken)
            taken.add(identity)
            named.append(replace(edit, id=identity))
        else:
            named.append(edit)
    return tuple(named)


def _is_due_to_fork(stand: Stand, observation: Observation) -> str | None:
    """Whether a failure may be the fork's and not the code's; then in which words."""
    if not isinstance(stand, ForkStand):
        return None
    end = observation.kernel_end
    if end is not None:
        return None if end.limit else f"a fork of this kernel ended while it ran: {end.reason}"
    if stand.has_dead_ends and not observation.is_ok and observation.refused is None:
        return "a cell failed, and the fork could not share its parent's connections"
    return None
