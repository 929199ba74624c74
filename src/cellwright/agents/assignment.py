"""What an agent is to do, and what it hands back."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from cellwright.policy.budgets import Limit

AgentOutcome = Literal["finished", "stopped", "out-of-budget", "gave-up", "cancelled"]
"""stopped: by a person. out-of-budget: of steps, tokens or money. gave-up: no model, or no way on."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Note:
    """Something more the agent should know."""

    name: str
    text: str
    is_data: bool = True
    """From a file, a page or another agent, rather than from the person."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Assignment:
    """One task for one agent. Plain values: it is a workflow's argument."""

    goal: str
    role: str = "coder"
    plan: str = ""
    notes: tuple[Note, ...] = ()
    limits: tuple[Limit, ...] = ()
    """What its model calls may use, on top of the role's own steps and tokens."""
    models: tuple[str, ...] = ()
    """`provider:model`, instead of the role's tier."""
    is_private: bool = False
    """Nothing may leave this machine."""
    is_attended: bool = True
    """Somebody can be asked. If not, a reached limit ends the work."""
    if_unknown: Literal["ask", "again", "stop"] = "ask"
    """A call was sent and nobody knows what came of it: ask, pay perhaps twice, or stop."""
    team: str = ""
    orders_heard: int = 0
    """The run's orders whoever gives this assignment knows of: older ones are not for this agent."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentReport:
    """What came of an assignment."""

    outcome: AgentOutcome
    summary: str = ""
    answer: str = ""
    template: str = ""
    """The answer before the notebook's values were put in; empty: it was words."""
    plan: Any = None
    """A plan it handed in instead of an answer, as plain values."""
    review: Any = None
    """What a reviewer found, as plain values."""
    tests: Any = None
    """The acceptance tests it wrote, as plain values."""
    handed: Any = None
    """What it handed in instead of an answer by a finish of its own, as plain values."""
    cards: tuple[Any, ...] = ()
    """The evidence it noted, as plain values."""
    why: str = ""
    """What ended it, unless it finished."""
    turns: int = 0
    artifacts: tuple[str, ...] = ()
    """Documents it wrote, by name."""
    readings: tuple[str, ...] = ()
    """How it read the goal where that matters, and what other readings come to."""
    tokens: int = 0
    microdollars: int = 0
    """Of calls whose price is known."""
    failed_turns: int = 0
    limits: tuple[Limit, ...] = ()
    """What its model calls might use in the end: a person may have raised it."""
