"""What the events of a research add up to: documents, cards as they come, and the report.

For whoever shows it, and for a run that takes it up.
"""

from __future__ import annotations

from collections.abc import AsyncIterable, Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import get_args

from cellwright.agents.events import EvidenceNoted
from cellwright.journal.events import Recorded, TaskChanged
from cellwright.journal.names import stream_of
from cellwright.journal.records import Records
from cellwright.runs.deliver.delivery import Delivery
from cellwright.runs.events import CardRejected, PlanAdopted, ResearchRead, ResearchWritten
from cellwright.runs.plan.plan import Task, TaskStatus
from cellwright.runs.research.report import ResearchReport, joined, parts_of
from cellwright.runs.views.run_view import RUN_WORKFLOW, first_goal, newest_first
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

    @property
    def known(self) -> dict[str, EvidenceCard]:
        """The cards that nobody rejected."""
        return {card.id: card for card in self.cards if card.id not in self.rejected}

    def parts(self, delivery: Delivery) -> tuple[tuple[str, str], ...]:
        """Titles and texts of what was written, as markdown, with the caveats of what was delivered; empty: nothing."""
        if self.report is None:
            return ()
        caveats = tuple(dict.fromkeys((*self.report.caveats, *delivery.caveats)))
        report, folder = replace(self.report, caveats=caveats), str(Path(delivery.notebook).parent)
        return parts_of(report, self.known, self.contents.sources, folder)


async def delivered_text(read: Callable[[str], AsyncIterable[Recorded]], run: str, delivery: Delivery) -> str:
    """The whole text of a research that has delivered one; of any other run, nothing."""
    if not delivery.text:
        return ""
    found = await read_research(read, run)
    return joined(found.parts(delivery), found.report.form) if found.report is not None else ""


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


async def newest_research(records: Records, run: str) -> str:
    """The newest run that goes on from this one, or from one that does; itself where none has come so far."""
    listed = await newest_first(records, [each for each in await records.runs() if each.name == RUN_WORKFLOW])
    goals = [(each, await first_goal(records, each.run)) for each in listed if each.run != run]
    known, newest = {run}, run
    # From the oldest on: what continues comes after what it continues.
    for each, goal in reversed(goals):
        if goal is None or goal.wants != "research" or goal.continues not in known:
            continue
        known.add(each.run)
        # One that was ended before it had taken up the cards knows of no rejection.
        if each.is_going or (await read_research(records.log.read_all, each.run)).cards:
            newest = each.run
    return newest


def _changed(task: Task, state: str, note: str) -> Task:
    status = next((each for each in get_args(TaskStatus) if each == state), task.status)
    return replace(task, status=status, note=note)
