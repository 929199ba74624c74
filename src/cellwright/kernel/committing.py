"""What was tried in a branch, done in its parent: replayed and compared, or the branch itself takes the parent's place.

A replay that differs from what the branch saw is told before anything is kept: the parent goes back to what it was.
"""

from __future__ import annotations

import logging
from collections.abc import Collection, Iterable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal, Protocol

from cellwright.ids import CellId
from cellwright.kernel.checkpoints import Checkpoint
from cellwright.kernel.observation import CellOutcome, Observation
from cellwright.kernel.stands import Trial
from cellwright.notebook import Document, EditRefused
from cellwright.sandbox import FileChange

if TYPE_CHECKING:
    from cellwright.kernel.open_notebook import OpenNotebook

logger = logging.getLogger(__name__)

What = Literal["status", "error", "output", "variable", "console"]
_TEXT = 400


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """One thing that came out otherwise in the parent than in the branch."""

    cell: CellId
    what: What
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


class Tried(Protocol):
    """A branch, as far as a commit must know it."""

    parent: OpenNotebook
    trials: list[Trial]
    observations: list[Observation]

    async def changed_files(self) -> tuple[FileChange, ...]:
        """Files changed in it."""
        ...


async def commit(
    branch: Tried, *, even_if_different: bool = False, reject_files: Collection[str] = ()
) -> Committed | Differs | CommitRefused:
    """Do in the parent what was done in the branch, and compare; nothing stays of a replay that differs."""
    if not branch.trials:
        return CommitRefused(reason="Nothing was tried in this branch.")
    parent = branch.parent
    way_back = await WayBack.note(parent)
    changed = [change.path for change in await branch.changed_files()]
    replayed: list[Observation] = []
    for trial in branch.trials:
        replayed.append(await _replay(parent, trial))
        if (refused := replayed[-1].refused) is not None:
            await way_back.go()
            return CommitRefused(reason="The notebook's cells changed meanwhile.", refused=refused)
    observation = replayed[-1]
    found = differences(_last_outcomes(branch.observations), _last_outcomes(replayed))
    if not even_if_different and any(difference.is_material for difference in found):
        await way_back.go()
        return Differs(differences=found, observation=observation)
    left_out = await _leave_out(parent, way_back, [path for path in changed if path in set(reject_files)])
    files = tuple(path for path in changed if path not in left_out)
    return Committed(observation=observation, differences=found, files=files, left_out=left_out)


def differences(tried: dict[CellId, CellOutcome], replayed: dict[CellId, CellOutcome]) -> tuple[Difference, ...]:
    """What a replay did otherwise, cell by cell."""
    return tuple(
        difference for cell, outcome in tried.items() for difference in _cell_differences(outcome, replayed.get(cell))
    )


def _cell_differences(tried: CellOutcome, replayed: CellOutcome | None) -> Iterable[Difference]:
    if replayed is None:
        # Nothing it depends on changed: its outcome there still holds.
        return

    def pair(what: What, one: str, other: str, name: str = "") -> Iterable[Difference]:
        if one != other:
            yield Difference(cell=tried.id, what=what, name=name, in_branch=one[:_TEXT], in_parent=other[:_TEXT])

    yield from pair("status", tried.status, replayed.status)
    yield from pair("error", _error(tried), _error(replayed))
    yield from pair("output", _output(tried), _output(replayed))
    yield from pair("console", tried.console, replayed.console)
    seen = {variable.name: variable.text for variable in tried.variables}
    there = {variable.name: variable.text for variable in replayed.variables}
    for name in sorted(seen.keys() | there.keys()):
        yield from pair("variable", seen.get(name, ""), there.get(name, ""), name)


def _error(outcome: CellOutcome) -> str:
    return "" if outcome.error is None else f"{outcome.error.type}: {outcome.error.message}"


def _output(outcome: CellOutcome) -> str:
    return "" if outcome.output is None else outcome.output.text


def _last_outcomes(observations: Iterable[Observation]) -> dict[CellId, CellOutcome]:
    return {outcome.id: outcome for observation in observations for outcome in observation.cells}


async def _replay(parent: OpenNotebook, trial: Trial) -> Observation:
    return await parent.apply(trial.edits, run=trial.run, cell_seconds=trial.cell_seconds, seconds=trial.seconds)


async def _leave_out(parent: OpenNotebook, way_back: WayBack, paths: list[str]) -> tuple[str, ...]:
    """Files nobody wanted become what they were before the commit."""
    if not paths or way_back.checkpoint is None or parent.kernel is None:
        return ()
    kept = way_back.checkpoint.stand.notebook.kernel
    if kept is None:
        return ()
    await kept.control.command("carry", source=kept.seat.number, branch=parent.kernel.seat.number, paths=paths)
    return tuple(paths)


@dataclass(frozen=True, slots=True, kw_only=True)
class WayBack:
    """What a notebook was before a commit: a checkpoint, or its cells and which of them had run."""

    notebook: OpenNotebook
    document: Document
    outcomes: dict[CellId, CellOutcome]
    checkpoint: Checkpoint | None

    @classmethod
    async def note(cls, notebook: OpenNotebook) -> WayBack:
        """Remember the present state."""
        document, outcomes = notebook.document, dict(notebook.outcomes)
        taken = await notebook.checkpoints.take("commit")
        checkpoint = taken if isinstance(taken, Checkpoint) else None
        return cls(notebook=notebook, document=document, outcomes=outcomes, checkpoint=checkpoint)

    async def go(self) -> None:
        """Be that again: by the checkpoint, else in a new kernel in which all that had run runs again."""
        checkpoint, checkpoints = self.checkpoint, self.notebook.checkpoints
        can_stay = checkpoint is not None and checkpoint.stand.can_stay
        if checkpoint is not None and can_stay and await checkpoints.travel(checkpoint.label) is not None:
            await checkpoints.forget_ahead()
            return
        logger.info("no checkpoint to go back to: the notebook is replayed")
        await self.notebook.rewind(replace(self.document), self.outcomes)
