"""What agents tell about themselves, and what people say to them, as typed events."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Final, Self

from cellwright.journal.events import Fact, FormerFact, RoomEvent
from cellwright.tools.evidence.card import EvidenceCard


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentSpoke(RoomEvent):
    """What a model said beside its tool calls."""

    WAS: ClassVar[FormerFact | None] = FormerFact(topic="says", subject="workflow", text="text")
    workflow: str
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class PromptStored(RoomEvent):
    """What a model read in one step is stored."""

    WAS: ClassVar[FormerFact | None] = FormerFact(topic="agent-context", subject="call", text="prompt")
    call: str
    """`WORKFLOW#STEP`"""
    prompt: str
    """Under which name."""
    tokens: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ArtifactWritten(RoomEvent):
    """A document of the run has a new text."""

    WAS: ClassVar[FormerFact | None] = FormerFact(topic="artifact")
    name: str
    text: str
    """Under which name the text is kept."""
    by: str
    """The workflow that wrote it."""

    @classmethod
    def upcast(cls, fact: Fact, was: FormerFact) -> Self:
        """The text was two names."""
        text, _, by = fact.text.partition(" ")
        return cls(name=fact.subject, text=text, by=by)


@dataclass(frozen=True, slots=True, kw_only=True)
class EvidenceNoted(RoomEvent):
    """A reader found something: a quote with its place."""

    LINE: ClassVar[str] = "evidence {0.card.id} ({0.card.place}): {0.card.says}"
    card: EvidenceCard


@dataclass(frozen=True, slots=True, kw_only=True)
class PersonSaid(RoomEvent):
    """Words for agents at work."""

    WAS: ClassVar[FormerFact | None] = FormerFact(topic="agent-say", subject="by", text="text")
    by: str
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class StopAsked(RoomEvent):
    """Agents are to stop before their next step, with what they have."""

    WAS: ClassVar[FormerFact | None] = FormerFact(topic="agent-stop", subject="by", text="reason")
    by: str
    reason: str = ""

    def line(self) -> str:
        """Who wants it, and why."""
        return f"{self.by} stopped it" + (f": {self.reason}" if self.reason else ".")


@dataclass(frozen=True, slots=True, kw_only=True)
class HandOverAsked(RoomEvent):
    """Agents that began before this order are to stop with what they have: something else is to be done."""

    WAS: ClassVar[FormerFact | None] = FormerFact(topic="agent-hand-over", subject="by", text="reason")
    by: str
    reason: str
    order: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class PauseAsked(RoomEvent):
    """Agents are to pause before their next step."""

    WAS: ClassVar[FormerFact | None] = FormerFact(topic="agent-pause", subject="by")
    by: str


@dataclass(frozen=True, slots=True, kw_only=True)
class UnpauseAsked(RoomEvent):
    """Agents that are about to pause or stop are to go on."""

    WAS: ClassVar[FormerFact | None] = FormerFact(topic="agent-go-on", subject="by")
    by: str


AGENT_EVENT_TYPES: Final[tuple[type[RoomEvent], ...]] = (
    AgentSpoke,
    PromptStored,
    ArtifactWritten,
    EvidenceNoted,
    PersonSaid,
    StopAsked,
    HandOverAsked,
    PauseAsked,
    UnpauseAsked,
)
