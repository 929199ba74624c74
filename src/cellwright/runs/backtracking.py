"""Backtracking: what a failed task left broken is taken back, so that the next one finds a notebook that runs.

By checkpoint where one is kept: nothing runs again for it. What a task made and what runs stays, even if the task as a
whole failed: it was paid for, and a person can see it.
"""

from __future__ import annotations

from typing import Final

from cellwright.errors import Unavailable
from cellwright.runs.undo import NumberedTurn, Undone, agent_of, numbered_turns, undo_agent
from cellwright.tools.going_back import WORDS
from cellwright.tools.notebook_desk import NotebookDesk

_BAD: Final = frozenset({"failed", "interrupted", "cancelled", "lost"})
_SAYS: Final = "What it left did not run: the notebook is again what it was before this task."


async def back_before(desk: NotebookDesk, agent: str) -> str:
    """Be what the notebook was before this agent's first change, if it left cells that do not run. Says what was done.

    A second time it does nothing and says the same.
    """
    await desk.sync()
    made = [turn for turn in numbered_turns(desk.memory) if agent_of(turn.turn.key) == agent]
    standing = [turn for turn in made if not turn.is_undone]
    if not standing:
        return _SAYS if made and _was_taken_back(desk, made) else ""
    if not _broken(desk, standing):
        return ""
    try:
        undone = await undo_agent(desk, agent)
    except Unavailable as error:
        return f"What it left does not run, and could not be taken back: {error.message}"
    if not isinstance(undone, Undone):
        return ""
    kept = f" Not these, which somebody changed since: {'; '.join(undone.kept)}." if undone.kept else ""
    return f"{_SAYS} {WORDS[undone.by]}{kept}"


def _broken(desk: NotebookDesk, made: list[NumberedTurn]) -> bool:
    """Whether a cell that the agent changed, or one that ran before it came, has no result now."""
    notebook = desk.notebook
    touched = {change.id for turn in made for change in turn.turn.changes}
    touched |= set(made[0].turn.ran_before or ())
    here = {cell.id for cell in notebook.document.cells} & touched
    return any(cell in here and outcome.status in _BAD for cell, outcome in notebook.outcomes.items())


def _was_taken_back(desk: NotebookDesk, made: list[NumberedTurn]) -> bool:
    """Whether the process ended right after it was taken back: an agent's own undo is another thing."""
    undone = {turn.key for turn in desk.memory.turns if turn.is_undo}
    return all(any(key.startswith(f"{turn.turn.key}/undone-") for key in undone) for turn in made)
