"""What is known of an open notebook: its cells, what became of them, and what the kernel does not have yet."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Protocol

from cellwright.ids import CellId
from cellwright.kernel.observation import CellOutcome
from cellwright.notebook import Document


@dataclass(frozen=True, kw_only=True)
class NotebookState:
    """An open notebook without its kernel: a value, so a branch or a checkpoint shares it until it has its own."""

    document: Document
    """The notebook's cells: the only authority, whoever shows or saves them."""
    outcomes: Mapping[CellId, CellOutcome] = field(default_factory=dict[CellId, CellOutcome])
    reported_stale: frozenset[CellId] = frozenset()
    """What the kernel last reported as stale."""
    drafts: frozenset[CellId] = frozenset()
    """Cells whose text was typed and not run yet; the kernel goes on with what it has of them."""

    def name_of(self, cell: CellId) -> str:
        """A cell's name, or its id when nobody named it."""
        return self._names.get(cell, cell)

    def with_outcomes(self, outcomes: Iterable[CellOutcome]) -> NotebookState:
        """These cells have run. What was typed meanwhile has not: its old code's outcome is not its own."""
        new = {outcome.id: outcome for outcome in outcomes if outcome.id not in self.drafts}
        return replace(self, outcomes={**self.outcomes, **new})

    @cached_property
    def _names(self) -> dict[CellId, str]:
        # Asked for each cell that runs: a search through all cells each time would be quadratic.
        return {cell.id: cell.name for cell in self.document.cells if cell.name not in ("", "_")}


class StateOwner(Protocol):
    """Whoever has a notebook's state, and replaces it."""

    @property
    def state(self) -> NotebookState:
        """As it is now."""

    @state.setter
    def state(self, state: NotebookState) -> None: ...
