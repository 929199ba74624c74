"""From cards to a checked report: outline, sections side by side, one editor, the citation check.

Where an agent gives up or its money is spent, what it would have written is made of the cards themselves: a reader gets
the evidence in any case.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from cellwright.agents.assignment import AgentReport
from cellwright.runs.execute.research_agents import Given, ResearchAgents
from cellwright.runs.research.citations import (
    CheckedSentence,
    caveats_of,
    share_that_holds,
    to_judge,
    with_verdicts,
    with_verdicts_before,
)
from cellwright.runs.research.handed_in import Outline, OutlineSection, SectionText
from cellwright.runs.research.report import ResearchReport, check_report
from cellwright.runs.research.steps import edited_sections, parse_edited, parse_outline, parse_verdicts
from cellwright.tools.evidence.card import EvidenceCard
from cellwright.tools.evidence.contradictions import Contradiction, merged, without

_JUDGED_AT_ONCE: Final = 40
_WRITTEN_AT_ONCE: Final = 3
AskAll = Callable[[Sequence[Given]], Awaitable[list[AgentReport]]]
"""Has each of these done, side by side."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ResearchWriter:
    """Writes one report."""

    agents: ResearchAgents
    ask_all: AskAll
    tell: Callable[[str], Awaitable[None]]
    """Says what is done now."""

    async def outline(
        self, cards: Mapping[str, EvidenceCard], contradictions: Sequence[Contradiction]
    ) -> Outline | AgentReport:
        """Which sections there are, and which cards each rests on; a report where somebody stopped it."""
        await self.tell("outlining")
        [report] = await self.ask_all([self.agents.outliner(list(cards.values()), contradictions)])
        if report.outcome in {"stopped", "cancelled"}:
            return report
        return parse_outline(report.handed, self.agents.goal.words[:120], list(cards.values()))

    async def sections(
        self,
        outline: Outline,
        cards: Mapping[str, EvidenceCard],
        contradictions: Sequence[Contradiction],
        kept: Mapping[int, SectionText],
    ) -> tuple[SectionText, ...] | AgentReport:
        """Each section from its own cards; `kept`: those that stand as they are, by their place."""
        places = [place for place in range(len(outline.sections)) if place not in kept]
        await self.tell(f"writing {len(places)} section{'' if len(places) == 1 else 's'}")
        made = dict(kept)
        for start in range(0, len(places), _WRITTEN_AT_ONCE):
            batch = places[start : start + _WRITTEN_AT_ONCE]
            given = [
                self.agents.section_writer(outline, outline.sections[place], cards, contradictions) for place in batch
            ]
            for place, report in zip(batch, await self.ask_all(given), strict=True):
                if report.outcome in {"stopped", "cancelled"}:
                    return report
                section = outline.sections[place]
                text = report.answer if report.outcome == "finished" else ""
                made[place] = SectionText(
                    title=section.title, text=text or _of_cards(section, cards), cards=section.cards, todo=section.todo
                )
        return tuple(made[place] for place in sorted(made))

    async def edited(
        self,
        sections: tuple[SectionText, ...],
        title: str,
        cards: Mapping[str, EvidenceCard],
        contradictions: Sequence[Contradiction],
    ) -> ResearchReport | AgentReport:
        """With a title and a summary, and what the editor changed."""
        await self.tell("editing")
        [report] = await self.ask_all([self.agents.editor(sections, cards, contradictions)])
        if report.outcome in {"stopped", "cancelled"}:
            return report
        edited = parse_edited(report.handed)
        why = "" if report.outcome == "finished" else f"Nobody edited it: {report.why}"
        return ResearchReport(
            question=self.agents.goal.words,
            title=edited.title or title,
            summary=edited.summary,
            sections=edited_sections(sections, edited.edits),
            contradictions=without(merged(contradictions, edited.contradictions), edited.dismissed),
            dismissed=edited.dismissed,
            caveats=(why,) if why else (),
            form=self.agents.goal.form,
        )

    async def checked(
        self,
        report: ResearchReport,
        cards: Mapping[str, EvidenceCard],
        *,
        is_judged: bool,
        before: Sequence[CheckedSentence] = (),
    ) -> ResearchReport:
        """With what its citations came to: by code, and by a judge where code cannot tell and none told before."""
        await self.tell("checking citations")
        sentences = with_verdicts_before(check_report(report, cards), before)
        if is_judged and (places := to_judge(sentences)):
            sentences = await self._judged(sentences, places, cards)
        caveats = (*caveats_of(sentences), *report.caveats)
        return replace(report, sentences=tuple(sentences), caveats=caveats, trust=share_that_holds(sentences))

    async def _judged(
        self, sentences: list[CheckedSentence], places: list[int], cards: Mapping[str, EvidenceCard]
    ) -> list[CheckedSentence]:
        batches = [places[start : start + _JUDGED_AT_ONCE] for start in range(0, len(places), _JUDGED_AT_ONCE)]
        for batch in batches:
            [report] = await self.ask_all([self.agents.judge(sentences, batch, cards)])
            sentences = [*with_verdicts(sentences, parse_verdicts(report.handed))]
        return sentences


def _of_cards(section: OutlineSection, cards: Mapping[str, EvidenceCard]) -> str:
    """What nobody wrote is told by its cards."""
    own = [cards[id] for id in section.cards if id in cards]
    return "\n".join(f"- {card.says.rstrip('.')} [{card.id}]." for card in own)
