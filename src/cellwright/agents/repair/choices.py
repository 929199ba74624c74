"""What can be done about a failure, as values; and what was known of the notebook when it was decided."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from cellwright.agents.assignment import Note
from cellwright.ids import CellId
from cellwright.kernel.observation import VariablePreview
from cellwright.notebook.document import Document
from cellwright.policy.actions import Action


@dataclass(frozen=True, slots=True, kw_only=True)
class FailureContext:
    """What is known of the notebook around a failure. Looked at inside a journal step, so a replay decides alike."""

    document: Document = field(default_factory=Document.new)
    """As it was when the failure came."""
    own_cells: frozenset[CellId] = frozenset()
    """Cells the agent itself wrote. No other cell is ever repaired without a model or a person."""
    previews: tuple[VariablePreview, ...] = ()
    columns: Mapping[str, tuple[str, ...]] = field(default_factory=dict[str, tuple[str, ...]])
    """Of each table its exact column names; a preview's are shortened and trimmed."""
    files: tuple[str, ...] = ()
    """Paths of the project's files as the notebook's code would write them."""
    encodings: Mapping[str, str] = field(default_factory=dict[str, str])
    """Data files that are no UTF-8, each with the encoding its profile found."""
    is_attended: bool = True
    """Somebody can be asked."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WantedCall:
    """A tool to be called; its id is the loop's care."""

    name: str
    arguments: dict[str, Any]
    """JSON."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DeterministicRepair:
    """It is certain what to do. Goes through the guard like everything else; done once, then a model is asked."""

    reason: str
    """What is done and why, for history and audit trail."""
    calls: tuple[WantedCall, ...] = ()
    """Called in order."""
    wants: tuple[Action, ...] = ()
    """Permission that is asked for first, such as a host; without it nothing of this is done."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FocusedAdvice:
    """A model repairs it, with only what that needs."""

    words: str
    """Ours: nothing in it was read from data."""
    material: tuple[Note, ...] = ()
    """From the notebook, the error or the project: data, to be fenced."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangeStrategy:
    """The same does not work: another way to the same goal."""

    why: str


@dataclass(frozen=True, slots=True, kw_only=True)
class AskPerson:
    """Only a person can say."""

    question: str
    options: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class AbandonRepair:
    """Nothing is left to try."""

    why: str


RepairChoice = DeterministicRepair | FocusedAdvice | ChangeStrategy | AskPerson | AbandonRepair
