"""What became of cells, in the few words a notebook's summary for a prompt has room for."""

from __future__ import annotations

from collections.abc import Mapping

from cellwright.ids import CellId
from cellwright.kernel.observation import CellOutcome, CellStatus
from cellwright.notebook import Outcome
from cellwright.notebook.prompt_summary import Status


def outcomes_for_summary(outcomes: Mapping[CellId, CellOutcome]) -> dict[CellId, Outcome]:
    """Status, error, output and variables of each cell."""
    return {
        cell: Outcome(
            status=_status(outcome.status),
            error=f"{outcome.error.type}: {outcome.error.message}" if outcome.error else "",
            output=outcome.output.text if outcome.output else "",
            variables={variable.name: variable.text for variable in outcome.variables},
        )
        for cell, outcome in outcomes.items()
    }


def _status(status: CellStatus) -> Status:
    match status:
        case "lost":
            return "failed"
        case "running":
            return "stale"
        case _:
            return status
