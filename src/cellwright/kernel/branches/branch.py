"""A branch of an open notebook: the same cells, variables and files, in which a change is tried before it is made.

`async with notebook.branch() as branch: observation = await branch.apply(edits)`. The parent goes on unchanged,
whatever happens in here. `commit` does in the parent what was done here: a replay that differs from what the branch
saw is reported before anything is kept. `promote` makes the branch the parent. Leaving without either drops everything.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from cellwright.errors import Unavailable
from cellwright.ids import CellId
from cellwright.kernel.branches.checkpoints import Checkpoint, Checkpoints
from cellwright.kernel.branches.notebook_session import NotebookSession, exchange
from cellwright.kernel.branches.runtime import BranchRuntime, ForkRuntime, Forks, Trial
from cellwright.kernel.branches.variable_diff import VariableDiff, variable_differences
from cellwright.kernel.observation import BranchMethod, CellOutcome, NotebookState, Observation, VariablePreview
from cellwright.kernel.process.call import CellSelection
from cellwright.kernel.process.kernel import Kernel
from cellwright.notebook.document import SETUP_NAME, Document
from cellwright.notebook.edits import CreateCell, Edit, EditRefused
from cellwright.notebook.marimo_file import new_cell_id
from cellwright.sandbox.host.file_changes import FileChange

logger = logging.getLogger(__name__)

OutcomeAspect = Literal["status", "error", "output", "variable", "console"]
_TEXT = 400


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """One thing that came out otherwise in the parent than in the branch."""

    cell: CellId
    what: OutcomeAspect
    name: str = ""
    """Of the variable."""
    in_branch: str
    in_parent: str

    @property
    def is_material(self) -> bool:
        """False for what a cell only printed: it may tell the time."""
        return self.what != "console"


@dataclass(frozen=True, slots=True, kw_only=True)
class Committed:
    """The parent is now what the branch was."""

    observation: Observation
    differences: tuple[Difference, ...] = ()
    """What came out otherwise, and was accepted or does not matter."""
    files: tuple[str, ...] = ()
    """Project files that changed."""
    left_out: tuple[str, ...] = ()
    """Changed files that were not wanted: they are as before."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Promoted:
    """The branch is the notebook's kernel now; nothing ran again."""

    files: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Differs:
    """Nothing was kept: in the parent it came out otherwise."""

    differences: tuple[Difference, ...]
    observation: Observation


@dataclass(frozen=True, slots=True, kw_only=True)
class CommitRefused:
    """Nothing was done."""

    reason: str
    refused: EditRefused | None = None
    """Set when somebody changed the same cells meanwhile."""


def outcome_differences(
    tried: dict[CellId, CellOutcome], replayed: dict[CellId, CellOutcome]
) -> tuple[Difference, ...]:
    """What a replay did otherwise, cell by cell."""
    return tuple(
        difference for cell, outcome in tried.items() for difference in _cell_differences(outcome, replayed.get(cell))
    )


def _cell_differences(tried: CellOutcome, replayed: CellOutcome | None) -> Iterable[Difference]:
    if replayed is None:
        # Nothing it depends on changed: its outcome there still holds.
        return

    def pair(what: OutcomeAspect, one: str, other: str, name: str = "") -> Iterable[Difference]:
        if one != other:
            yield Difference(cell=tried.id, what=what, name=name, in_branch=one[:_TEXT], in_parent=other[:_TEXT])

    yield from pair("status", tried.status, replayed.status)
    errors = ["" if each.error is None else f"{each.error.type}: {each.error.message}" for each in (tried, replayed)]
    yield from pair("error", *errors)
    yield from pair("output", *("" if each.output is None else each.output.text for each in (tried, replayed)))
    yield from pair("console", tried.console, replayed.console)
    seen = {variable.name: variable.text for variable in tried.variables}
    there = {variable.name: variable.text for variable in replayed.variables}
    for name in sorted(seen.keys() | there.keys()):
        yield from pair("variable", seen.get(name, ""), there.get(name, ""), name)


def _last_outcomes(observations: Iterable[Observation]) -> dict[CellId, CellOutcome]:
    return {outcome.id: outcome for observation in observations for outcome in observation.cells}


@dataclass(frozen=True, slots=True, kw_only=True)
class RestorePoint:
    """What a notebook was before a commit: a checkpoint, or its cells and which of them had run."""

    checkpoints: Checkpoints
    state: NotebookState
    checkpoint: Checkpoint | None

    @classmethod
    async def note(cls, checkpoints: Checkpoints) -> RestorePoint:
        """Remember the present state."""
        state = checkpoints.session.state
        taken = await checkpoints.take("commit")
        return cls(checkpoints=checkpoints, state=state, checkpoint=taken if isinstance(taken, Checkpoint) else None)

    async def go(self) -> None:
        """Be that again: by the checkpoint, else in a new kernel in which all that had run runs again."""
        checkpoint = self.checkpoint
        can_stay = checkpoint is not None and checkpoint.runtime.can_stay
        if checkpoint is not None and can_stay and await self.checkpoints.travel(checkpoint.label) is not None:
            await self.checkpoints.forget_ahead()
            return
        logger.info("no checkpoint to go back to: the notebook is replayed")
        # Another document, though equal: branches that were made of this one see that the notebook changed.
        await self.checkpoints.rewind(replace(self.state.document), self.state.outcomes)

    async def restore_files(self, kernel: Kernel | None, paths: list[str]) -> tuple[str, ...]:
        """These files become for this kernel what they were; which were, for that takes a checkpoint."""
        kept = None if self.checkpoint is None else self.checkpoint.runtime.notebook.live.kernel
        if not paths or kept is None or kernel is None:
            return ()
        await kept.control.command("carry", source=kept.slot.number, branch=kernel.slot.number, paths=paths)
        return tuple(paths)


RuntimeFallback = Callable[[tuple[str, ...]], Awaitable[BranchRuntime]]


class Branch:
    """What is tried in here happens in here only. Made by `OpenNotebook.branch`."""

    def __init__(
        self,
        parent: NotebookSession,
        runtime: BranchRuntime,
        *,
        forks: Forks,
        checkpoints: Checkpoints,
        fall_back: RuntimeFallback,
    ) -> None:
        self.parent = parent
        self.base: Document = parent.state.document
        """The parent's cells when the branch was made."""
        self.runtime = runtime
        """Where its cells run."""
        self._forks = forks
        self._checkpoints = checkpoints
        self._fall_back = fall_back
        self.trials: list[Trial] = []
        self.observations: list[Observation] = []
        self._is_given_away = False

    @property
    def method(self) -> BranchMethod:
        """How it came by its parent's state, and why so."""
        return self.runtime.method

    @property
    def notebook(self) -> NotebookSession:
        """Its own cells, outcomes and kernel."""
        return self.runtime.notebook

    @property
    def document(self) -> Document:
        """Its cells as they are now."""
        return self.runtime.notebook.state.document

    async def apply(
        self,
        edits: Sequence[Edit] = (),
        *,
        run: CellSelection = "affected",
        cell_seconds: float | None = None,
        seconds: float | None = None,
    ) -> Observation:
        """Edit and run in the branch; the observation's `method` says how the branch was made.

        Where a fork fails as no rerun would, the same is done again in a kernel that is none.
        """
        named = _with_ids(self.document, edits)
        trial = Trial(edits=named, run=run, cell_seconds=cell_seconds, seconds=seconds)
        observation = await self.runtime.run(trial)
        if (reason := _is_due_to_fork(self.runtime, observation)) is not None:
            observation = await self._again(trial, reason)
        if observation.refused is None:
            self.trials.append(trial)
            self.observations.append(observation)
        return replace(observation, method=self.method)

    async def run(self, what: CellSelection = "all", *, seconds: float | None = None) -> Observation:
        """Run cells in the branch without editing them."""
        return await self.apply(run=what, seconds=seconds)

    async def look(self, names: Sequence[str] = (), *, tokens: int = 200) -> tuple[VariablePreview, ...]:
        """Fresh previews of its variables, of all when `names` is empty."""
        is_fresh = not isinstance(self.runtime, ForkRuntime) and not self.trials
        return await (self.parent if is_fresh else self.notebook).side_calls.look(names, tokens=tokens)

    async def differences(self, names: Sequence[str]) -> tuple[VariableDiff, ...]:
        """How these variables are other in the branch than in its parent: shape, columns, nulls, ranges."""
        before = await self.parent.side_calls.facts(names)
        return variable_differences(before, await self.notebook.side_calls.facts(names))

    async def changed_files(self) -> tuple[FileChange, ...]:
        """Files changed in the branch, besides what the parent had changed before it."""
        return await self.runtime.changed_files()

    async def commit(
        self, *, even_if_different: bool = False, reject_files: Collection[str] = ()
    ) -> Committed | Differs | CommitRefused:
        """Do in the notebook what was done here. If it comes out otherwise there, nothing is kept unless you say so."""
        if not self.trials:
            return CommitRefused(reason="Nothing was tried in this branch.")
        restore_point = await RestorePoint.note(self._checkpoints)
        changed = [change.path for change in await self.changed_files()]
        replayed: list[Observation] = []
        for trial in self.trials:
            replayed.append(await trial.apply_to(self.parent))
            if (refused := replayed[-1].refused) is not None:
                await restore_point.go()
                return CommitRefused(reason="The notebook's cells changed meanwhile.", refused=refused)
        observation = replayed[-1]
        found = outcome_differences(_last_outcomes(self.observations), _last_outcomes(replayed))
        if not even_if_different and any(difference.is_material for difference in found):
            await restore_point.go()
            return Differs(differences=found, observation=observation)
        rejected = [path for path in changed if path in set(reject_files)]
        left_out = await restore_point.restore_files(self.parent.live.kernel, rejected)
        files = tuple(path for path in changed if path not in left_out)
        return Committed(observation=observation, differences=found, files=files, left_out=left_out)

    async def promote(self) -> Promoted | CommitRefused:
        """Become the notebook's kernel, without running anything again; undo goes back to what it was."""
        runtime = self.runtime
        if (reason := self._why_not_promoted()) is not None or not isinstance(runtime, ForkRuntime):
            return CommitRefused(reason=reason or "")
        files = tuple(change.path for change in await runtime.changed_files())
        try:
            await exchange(self.parent, runtime.notebook)
        except Unavailable as error:
            return CommitRefused(reason=error.message)
        self._is_given_away = True
        await self._checkpoints.adopt("promotion", runtime)
        return Promoted(files=files)

    def _why_not_promoted(self) -> str | None:
        runtime, parent = self.runtime, self.parent
        if not isinstance(runtime, ForkRuntime):
            return "This branch is no fork of the notebook's kernel: it has only what its cells need."
        if not runtime.can_stay:
            return "The notebook has open connections, which a fork cannot take over."
        if parent.live.provisioner.options.files == "direct":
            return "The notebook writes to the project's own files, and a fork to a copy of them."
        if parent.state.document is not self.base or parent.live.kernel is not runtime.parent_kernel:
            return "The notebook changed since the branch was made."
        return None

    async def close(self) -> None:
        """Drop the branch and all that was tried in it."""
        if not self._is_given_away:
            await self.runtime.close()

    async def _again(self, trial: Trial, reason: str) -> Observation:
        """What a fork could not do, in a kernel that is none; with all that was done in the branch before."""
        await self.runtime.close()
        self._forks.distrust(reason)
        self.runtime = await self._fall_back((reason,))
        for earlier in self.trials:
            await self.runtime.run(earlier)
        return await self.runtime.run(trial)


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


def _is_due_to_fork(runtime: BranchRuntime, observation: Observation) -> str | None:
    """Whether a failure may be the fork's and not the code's; then in which words."""
    if not isinstance(runtime, ForkRuntime):
        return None
    end = observation.kernel_end
    if end is not None:
        return None if end.limit else f"a fork of this kernel ended while it ran: {end.reason}"
    if runtime.has_dead_ends and not observation.is_ok and observation.refused is None:
        return "a cell failed, and the fork could not share its parent's connections"
    return None
