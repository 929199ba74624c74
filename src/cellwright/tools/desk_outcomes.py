"""What calls at the notebook desk give back."""

from __future__ import annotations

from dataclasses import dataclass

from cellwright.kernel import Observation
from cellwright.tools.branch_trials import BranchTried
from cellwright.tools.cell_changes import Change
from cellwright.tools.going_back import BackBy
from cellwright.tools.side_by_side import Ranked


@dataclass(frozen=True, slots=True, kw_only=True)
class Applied:
    """What one call did."""

    observation: Observation
    changes: tuple[Change, ...] = ()
    """Cells it changed."""
    news: str = ""
    """What the agent did not know: a person's edits, a replay."""
    tried: tuple[BranchTried, ...] = ()
    """What was tried in branches for it."""
    is_kept: bool = True
    """False: it failed in a branch, and the notebook is as it was."""
    back_by: BackBy | None = None
    """Of an undo or redo: how the notebook was made what it was."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Chosen:
    """What came of candidates that were tried side by side."""

    ranked: tuple[Ranked, ...]
    """Best first."""
    applied: Applied | None = None
    """What keeping the first did to the notebook; None: nothing was kept."""
    news: str = ""

    @property
    def tried(self) -> tuple[BranchTried, ...]:
        """All of them, best first."""
        return tuple(each.told for each in self.ranked)


@dataclass(frozen=True, slots=True, kw_only=True)
class NothingToUndo:
    """No turn is left that could be undone."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NothingToRedo:
    """Nothing was undone, or something else was done since."""
