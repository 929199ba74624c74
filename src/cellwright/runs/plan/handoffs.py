"""What one task hands over to those after it: computed from the notebook, never told by an agent."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class HandedVariable:
    """One variable that a task's cells define."""

    name: str
    type: str
    size: str = ""
    """In a few words: rows and columns, or the value."""
    digest: str = ""
    """The same for the same content; empty where that would take long to say."""
    cell: str = ""
    """The cell that defines it, by name."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HandedTest:
    """One test that a task's cells hold."""

    name: str
    verdict: str
    """`passed`, `failed`, `missing`, or `not here`: the check runs it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HandOff:
    """What a task that is done leaves to others."""

    task: str
    title: str
    by: str
    """The agent's workflow, or the person who did it."""
    variables: tuple[HandedVariable, ...] = ()
    tests: tuple[HandedTest, ...] = ()
    readings: tuple[str, ...] = ()
    """How the goal was read where that matters."""
    words: str = ""
    """What a person who did it said; agents say nothing here."""
