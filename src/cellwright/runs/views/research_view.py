"""What the events of a research add up to: documents, cards as they come, and the report.

For whoever shows it, and for a run that takes it up.
"""

from __future__ import annotations

from collections.abc import AsyncIterable, Callable
from dataclasses import dataclass, field, replace
from typing import get_args

from cellwright.agents.events import EvidenceNoted
from cellwright.journal.events import Recorded, TaskChanged
from cellwright.journal.names import stream_of
from cellwright.runs.events import CardRejected, PlanAdopted, ResearchRead, ResearchWritten
from cellwright.runs.plan.plan import Task, TaskStatus
from cellwright.runs.research.report import ResearchReport
from cellwright.tools.evidence.card import EvidenceCard
from cellwright.tools.evidence.library import LibraryContents


@dataclass(frozen=True, slots=True, kw_only=True)
class ResearchView:
    """What the events of a research add up to."""

    contents: LibraryContents = field(default_factory=LibraryContents)
    cards: tuple[EvidenceCard, ...] = ()
    rejected: tuple[str, ...] = ()
    tasks: tuple[Task, ...] = ()
    report: ResearchReport | None = None


async def read_research(read: Callable[[str], AsyncIterable[Recorded]], run: str) -> ResearchView:
    """As far as this run has told it."""
    contents, report, tasks = LibraryContents(), None, tuple[Task, ...]()
    cards, rejected = dict[str, EvidenceCard](), dict[str, None]()
    async for recorded in read(stream_of(run)):
        match recorded.event:
            case ResearchRead(contents=contents):
                pass
            case EvidenceNoted(card=card):
                cards.setdefault(card.id, card)
            case CardRejected(card=id):
                rejected[id] = None
            case PlanAdopted(plan=plan):
                tasks = plan.tasks
            case TaskChanged(task=id, state=state, note=note):
                tasks = tuple(_changed(each, state, note) if each.id == id else each for each in tasks)
            case ResearchWritten(report=report):
                pass
            case _:
                pass
    return ResearchView(
        contents=contents, cards=tuple(cards.values()), rejected=tuple(rejected), tasks=tasks, report=report
    )


def _changed(task: Task, state: str, note: str) -> Task:
    status = next((each for each in get_args(TaskStatus) if each == state), task.status)
    return replace(task, status=status, note=note)
