"""Who works on a goal: agents that ask models, or the analyst, who needs none. Decided once, at the brief."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal

from cellwright.runs.goal import Goal

ANALYST: Final = "analyst"
"""Named as a goal's only model it means the analyst; it is the role of its tasks, too."""
CONFIGURE: Final = "`cellwright models set-key PROVIDER` gives agents a model; `cellwright models list` shows which."
_NOBODY: Final = "No model is configured, so the built-in analyst works on it."
_NOBODY_HERE: Final = "Nothing may leave this machine and no model on it answers, so the built-in analyst works on it."


@dataclass(frozen=True, slots=True, kw_only=True)
class Worker:
    """Who works, and what to say about it."""

    who: Literal["models", "analyst"]
    why: str = ""
    """Why the analyst works although nobody named it, and what to do about that; empty: it was named."""


def named_worker(goal: Goal) -> Worker | None:
    """Whoever the goal names; None: whoever can work is to be found out."""
    if goal.plan is not None:
        is_ours = any(task.role == ANALYST for task in goal.plan.tasks)
        return Worker(who="analyst" if is_ours else "models")
    if goal.models == (ANALYST,):
        return Worker(who="analyst")
    return Worker(who="models") if goal.models else None


def found_worker(goal: Goal, *, has_model: bool) -> Worker:
    """Models where one would answer, else the analyst."""
    if has_model:
        return Worker(who="models")
    return Worker(who="analyst", why=f"{_NOBODY_HERE if goal.is_private else _NOBODY} {CONFIGURE}")
