"""What calls of the notebook editor give back."""

from __future__ import annotations

from dataclasses import dataclass

from cellwright.kernel import Observation
from cellwright.tools.history.moves import RestoreMethod
from cellwright.tools.notebook.alternatives import RankedCandidate
from cellwright.tools.notebook.cell_changes import CellDiff
from cellwright.tools.notebook.trial_records import TrialRecord


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


@dataclass(frozen=True, slots=True, kw_only=True)
class AlternativesOutcome:
    """What came of candidates that were tried side by side."""

    ranked: tuple[RankedCandidate, ...]
    """Best first."""
    applied: EditOutcome | None = None
    """What keeping the first did to the notebook; None: nothing was kept."""
    news: str = ""

    @property
    def tried(self) -> tuple[TrialRecord, ...]:
        """All of them, best first."""
        return tuple(each.told for each in self.ranked)
