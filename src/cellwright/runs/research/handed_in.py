"""What the agents of a research hand in, as data: light, because events of runs are made of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from cellwright.tools.evidence.contradictions import Contradiction, DismissedContradiction


@dataclass(frozen=True, slots=True, kw_only=True)
class SubGoal:
    """One question of the question."""

    title: str
    todo: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadingPlan:
    """What is to be found out next; no sub-goals: nothing more."""

    sub_goals: tuple[SubGoal, ...] = ()
    contradictions: tuple[Contradiction, ...] = ()
    dismissed: tuple[DismissedContradiction, ...] = ()
    """Those that were told and are none."""
    why: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class OutlineSection:
    """A section, and the cards it rests on."""

    title: str
    cards: tuple[str, ...]
    todo: str = ""
    before: str = ""
    """Its text as it stood, where it is written again."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Outline:
    """The report before it is written."""

    title: str
    sections: tuple[OutlineSection, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class TextEdit:
    """Words of one section that become others."""

    section: int
    old: str
    new: str


@dataclass(frozen=True, slots=True, kw_only=True)
class EditorReport:
    """What the editor handed in."""

    title: str = ""
    summary: str = ""
    edits: tuple[TextEdit, ...] = ()
    contradictions: tuple[Contradiction, ...] = ()
    dismissed: tuple[DismissedContradiction, ...] = ()
    """Those that were told and are none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CitationVerdict:
    """What a judge says of one sentence and its quotes."""

    number: int
    verdict: Literal["supported", "unsupported", "unclear"]
    why: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class CitationVerdicts:
    """Of all it was shown."""

    verdicts: tuple[CitationVerdict, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class SectionText:
    """A section as it was written."""

    title: str
    text: str
    cards: tuple[str, ...]
    """Those it was given."""
    todo: str = ""
    """What it was to say."""
