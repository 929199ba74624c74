"""What each agent of a research is given: its finish, the cards or documents it may see, and its words."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass

from cellwright.agents.agent_context import AgentContext
from cellwright.agents.assignment import AgentReport, Assignment, Note
from cellwright.runs.goal.goal import Goal
from cellwright.runs.plan.plan import Task
from cellwright.runs.research import steps
from cellwright.runs.research.citations import CheckedSentence, check_title, complaint, judge_text
from cellwright.runs.research.form import form_text
from cellwright.runs.research.handed_in import Outline, OutlineSection, ReadingPlan, SectionText
from cellwright.tools.evidence.card import EvidenceCard, cards_text
from cellwright.tools.evidence.contradictions import Contradiction
from cellwright.tools.evidence.library import EvidenceSource, Library
from cellwright.tools.evidence.reader_tools import reader_tools, sources_text
from cellwright.tools.tool import Tool

Given = tuple[AgentContext, Assignment]
"""What one agent works with, and what it is to do."""
AssignTo = Callable[[str, str, tuple[Note, ...]], Assignment]
"""An assignment of these words for this role, with these notes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ResearchAgents:
    """Makes what agents are given, for one state of the goal."""

    goal: Goal
    context: AgentContext
    assign: AssignTo
    library: Library
    web: tuple[Tool, ...] = ()

    def planner(
        self,
        sources: Sequence[EvidenceSource],
        cards: Sequence[EvidenceCard],
        contradictions: Sequence[Contradiction],
        tasks: Sequence[Task],
    ) -> Given:
        """Says what is to be read for; it sees names of documents and cards, never a document."""
        finish = steps.plan_tool([card.id for card in cards], is_first=not tasks)
        notes = [Note(name="documents", text=sources_text(tuple(sources)) or "None; the web is searched.")]
        if tasks:
            # Without what readers say of them: in their words a document could reach whoever plans.
            noted = Counter(card.task for card in cards)
            said = "\n".join(f"- {task.title} ({task.status}): {noted[task.title]} cards" for task in tasks)
            notes.append(Note(name="sub-goals so far", text=said))
        return self._given(finish, steps.PLANNER, self.goal.words, (*notes, *_cards(cards), *_told(contradictions)))

    def reader(self, task: Task, sources: Sequence[EvidenceSource]) -> Given:
        """Reads for one sub-goal."""
        *tools, finish = reader_tools(self.library, task.title)
        words = "\n".join(
            filter(None, [f"The whole question: {self.goal.words}", f"Your sub-goal: {task.title}", task.todo])
        )
        notes = (Note(name="documents", text=sources_text(tuple(sources)) or "None; search the web."),)
        return self._given(finish, steps.READER, words, notes, *tools, *self.web)

    def outliner(self, cards: Sequence[EvidenceCard], contradictions: Sequence[Contradiction]) -> Given:
        """Orders the cards."""
        notes = (self._form(), *_cards(cards), *_told(contradictions))
        return self._given(steps.outline_tool([card.id for card in cards]), steps.OUTLINER, self.goal.words, notes)

    def section_writer(
        self,
        outline: Outline,
        section: OutlineSection,
        cards: Mapping[str, EvidenceCard],
        contradictions: Sequence[Contradiction],
    ) -> Given:
        """Writes one section from its own cards."""
        own = {id: cards[id] for id in section.cards if id in cards}
        words = "\n".join(
            filter(None, [f"The whole question: {self.goal.words}", f"Your section: {section.title}", section.todo])
        )
        titles = "\n".join(f"- {each.title}" for each in outline.sections)
        among = [each for each in contradictions if len(set(each.cards) & set(own)) > 1]
        before = (Note(name="the section as it was, to keep what still holds", text=section.before),)
        shown = (*_cards(list(own.values())), *_told(among), *(before if section.before else ()))
        notes = (self._form(), Note(name="all sections", text=titles), *shown)
        return self._given(steps.section_tool(own, self._check(own)), steps.SECTION_WRITER, words, notes)

    def editor(
        self,
        sections: Sequence[SectionText],
        cards: Mapping[str, EvidenceCard],
        contradictions: Sequence[Contradiction],
    ) -> Given:
        """Goes over all of it once."""
        text = "\n\n".join(f"Section {place}: {each.title}\n{each.text}" for place, each in enumerate(sections, 1))
        used = {id: card for id, card in cards.items() if any(id in each.cards for each in sections)} or cards
        finish = steps.editor_tool(sections, used, self._check_edited(sections, used))
        notes = (self._form(), Note(name="the text", text=text), *_cards(list(used.values())), *_told(contradictions))
        return self._given(finish, steps.EDITOR, self.goal.words, notes)

    def judge(
        self, sentences: Sequence[CheckedSentence], places: Collection[int], cards: Mapping[str, EvidenceCard]
    ) -> Given:
        """Sees sentences and their quotes, and nothing else."""
        notes = (Note(name="sentences and quotes", text=judge_text(sentences, places, cards)),)
        return self._given(steps.judge_tool(), steps.JUDGE, "Judge each numbered sentence by its quotes.", notes)

    def _check(self, cards: Mapping[str, EvidenceCard]) -> steps.CheckText:
        return lambda text, _: complaint(text, cards, self.goal.words)

    def _check_edited(self, sections: Sequence[SectionText], cards: Mapping[str, EvidenceCard]) -> steps.CheckEdited:
        texts = "\n".join(each.text for each in sections)

        def check(title: str, summary: str) -> str:
            titles = check_title("title", title, f"{summary}\n{texts}", cards, self.goal.words)
            return complaint(summary, cards, self.goal.words, titles)

        return check

    def _form(self) -> Note:
        return Note(name="the form", text=form_text(self.goal.form, self.goal.template), is_data=False)

    def _given(self, finish: Tool, role: str, words: str, notes: tuple[Note, ...], *more: Tool) -> Given:
        return steps.with_finish(self.context, finish, *more), self.assign(words, role, notes)


def _cards(cards: Sequence[EvidenceCard]) -> tuple[Note, ...]:
    return (Note(name="evidence cards", text=cards_text(cards)),) if cards else ()


def _told(contradictions: Sequence[Contradiction]) -> tuple[Note, ...]:
    lines = [f"- {each.about}: {', '.join(each.cards)}" for each in contradictions]
    return (Note(name="cards that contradict each other", text="\n".join(lines)),) if lines else ()


def planned(report: AgentReport) -> ReadingPlan:
    """What a planner handed in."""
    return steps.parse_plan(report.handed)
