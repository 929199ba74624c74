"""A research as a run: documents are read, sub-goals go to readers side by side, and only their cards are written of.

Its sub-goals are the tasks of its plan, so that people see, drop and add them as in any run. All of its state follows
from recorded steps: killed anywhere, it goes on, and neither reads a document nor pays an answer twice.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, Final

import anyio.to_thread

from cellwright.agents.assignment import AgentReport, Assignment, Note
from cellwright.agents.events import EvidenceNoted
from cellwright.agents.loop import assignment_json
from cellwright.errors import Defect
from cellwright.notebook.atomic_write import write_atomically
from cellwright.runs.deliver.delivery import Delivery, RunEnd, ToldReport
from cellwright.runs.deliver.first_screen import with_told
from cellwright.runs.events import CardRejected, ResearchRead, ResearchWritten
from cellwright.runs.execute.agent_results import STOPPED
from cellwright.runs.execute.files import complete_header
from cellwright.runs.execute.research_agents import Given, ResearchAgents, planned
from cellwright.runs.execute.research_writing import ResearchWriter
from cellwright.runs.execute.run import AGENT, Run
from cellwright.runs.execute.steering_commands import SteeringCommand
from cellwright.runs.goal.goal import CONFIGURE
from cellwright.runs.plan.plan import MOST_TASKS, Plan, Task
from cellwright.runs.research.handed_in import Outline, OutlineSection, SectionText, SubGoal
from cellwright.runs.research.notebook import research_edits
from cellwright.runs.research.report import ResearchReport, answer_of, markdown_of
from cellwright.runs.research.steps import READER
from cellwright.runs.views.research_view import ResearchView, read_research
from cellwright.tools.evidence.card import EvidenceCard, parse_cards
from cellwright.tools.evidence.contradictions import (
    Contradiction,
    DismissedContradiction,
    contradictions_in,
    merged,
    without,
)
from cellwright.tools.evidence.library import LibraryContents

_AT_ONCE: Final = 3
"""So many readers are at work at the same time."""
_ROUNDS: Final = {"quick": 1, "normal": 2, "thorough": 4}
"""So often somebody says what is to be read for."""
_NO_MODEL: Final = f"Research is read and written by models, and none is configured. {CONFIGURE.sentence}"
_CARDS_NOTED: Final = re.compile(r"[0-9]+ cards?\.")
_NOTHING_FOUND: Final = "No evidence was found: readers noted no quote that bears on the question."


class ResearchRun(Run):
    """The state of one research."""

    def __init__(self, *given: Any, **more: Any) -> None:
        super().__init__(*given, **more)
        self._contents: LibraryContents | None = None
        self._cards: dict[str, EvidenceCard] = {}
        self._rejected = frozenset(self._goal.rejected)
        self._named: tuple[Contradiction, ...] = ()
        """What planners and editors found to contradict each other."""
        self._dismissed: tuple[DismissedContradiction, ...] = ()
        """What they found not to."""
        self._sections: tuple[SectionText, ...] = ()
        self._report: ResearchReport | None = None
        self._written_from: frozenset[str] | None = None
        """The cards there were when it was written."""
        self._rounds = 0
        self._sub_goals = 0
        self._writings = 0
        self._text_path = ""

    # ── brief ──

    async def make_brief(self) -> RunEnd | None:
        """What is to be read for, once the documents are there."""
        worker = self._worker = self._worker or await self._find_worker()
        if worker.who != "models":
            # Nobody works on it instead, so there is nothing to take for granted.
            self._worker = replace(worker, why="")
            return RunEnd(status="failed", why=_NO_MODEL)
        if self._contents is None and (over := await self._open_documents()) is not None:
            return over
        if self._has_plan:
            return None
        await self._stage("brief")
        self._has_plan, self._plan, self._rounds = True, Plan(title=self._goal.words[:120]), 0
        return await self._plan_more()

    async def _open_documents(self) -> RunEnd | None:
        library = self._workspace.library
        if library is None:
            raise Defect("A research without a library.")
        await self._stage("brief", "reading the documents")
        if self._goal.continues:
            contents = await self._take_up()
        else:
            contents = await self._flow.step("read the documents", library.read, returns=LibraryContents)
        self._contents = contents
        await library.restore(contents)
        await self._flow.tell(ResearchRead(contents=contents))
        if not contents.sources and not self._goal.uses_web:
            why = "; ".join(contents.skipped[:3]) or "there are none"
            return RunEnd(status="failed", why=f"No document could be read: {why}.")
        return None

    async def _take_up(self) -> LibraryContents:
        """What an earlier run read, found and wrote."""
        work = partial(read_research, self._flow.read, self._goal.continues)
        found = await self._flow.step("take up the research", work, returns=ResearchView)
        self._cards = {card.id: card for card in found.cards}
        self._rejected |= frozenset(found.rejected)
        # So that whoever looks at this run sees them, and a run that takes it up.
        noted = [EvidenceNoted(card=card) for card in found.cards]
        gone = [CardRejected(card=card, by=self._goal.person) for card in sorted(self._rejected & set(self._cards))]
        await self._flow.tell(*noted, *gone)
        if found.report is not None:
            self._adopt_contradictions(found.report)
            self._sections = found.report.sections
            self._report = found.report
            self._written_from = frozenset(self._cards) - frozenset(found.rejected)
            self._used.answer = answer_of(found.report, self._cards)
            self._text_path = str(Path(self._goal.notebook).with_suffix(".md"))
        plan = self._goal.plan or Plan(title=self._goal.words[:120], tasks=found.tasks)
        self._has_plan, self._sub_goals, self._rounds = True, len(plan.tasks), max(_ROUNDS.values())
        await self._adopt(plan)
        return found.contents

    async def _plan_more(self) -> RunEnd | None:
        """Sub-goals that are not there yet; none are added where the cards answer the question."""
        self._rounds += 1
        is_first = not self._plan.tasks
        given = self._agents.planner(self._sources, list(self._known.values()), self._contradictions, self._plan.tasks)
        [report] = await self._ask_all([given])
        if report.outcome in STOPPED:
            return None if await self._hear() else RunEnd(status="stopped", why=report.why)
        found = planned(report)
        self._named = merged(self._named, found.contradictions)
        self._dismissed += found.dismissed
        # Without a plan the question is one.
        wanted = found.sub_goals or ((SubGoal(title=self._goal.words[:120]),) if is_first else ())
        tasks = list[Task]()
        for each in wanted[: max(0, MOST_TASKS - len(self._plan.tasks))]:
            self._sub_goals += 1
            tasks.append(Task(id=f"read-{self._sub_goals}", title=each.title, todo=each.todo, role=READER))
        if tasks:
            await self._adopt(replace(self._plan, tasks=(*self._plan.tasks, *tasks)))
        return None

    # ── build ──

    async def build(self) -> RunEnd | None:
        """Read, plan on while it pays, and write."""
        while True:
            if (over := await super().build()) is not None or not self._has_plan:
                return over
            if self._agreed_for != self._touched:
                return None
            before = len(self._plan.tasks)
            may_plan = self._rounds < _ROUNDS[self._goal.effort] and bool(self._known)
            if may_plan and (over := await self._plan_more()) is not None:
                return over
            if len(self._plan.tasks) == before or not self._has_plan:
                break
        return await self._write() if self._has_plan else None

    async def _write_tests(self) -> RunEnd | None:
        return None

    async def _do_next(self, task: Task) -> RunEnd | None:
        """It and all others that are ready, each read for by somebody of their own."""
        tasks = self._plan.ready_tasks()
        agents = [self._flow.next_child(AGENT, number) for number in range(len(tasks))]
        tasks = tuple([await self._began(each, agent) for each, agent in zip(tasks, agents, strict=True)])
        reports = await self._ask_all([self._agents.reader(each, self._sources) for each in tasks], at_once=_AT_ONCE)
        is_stopped = any(report.outcome in STOPPED for report in reports)
        is_overruled = is_stopped and bool(await self._hear())
        for each, report in zip(tasks, reports, strict=True):
            found = parse_cards(report.cards)
            self._cards |= {card.id: card for card in found if card.id not in self._cards}
            if not is_overruled or report.outcome not in STOPPED:
                await self._settle(each, report, len(found))
        if is_stopped and not is_overruled:
            return RunEnd(status="stopped", why=next(each.why for each in reports if each.outcome in STOPPED))
        return None

    async def _settle(self, task: Task, report: AgentReport, cards: int) -> None:
        # What was noted before the budget ended is as good as any.
        is_done = report.outcome == "finished" or (cards > 0 and report.outcome == "out-of-budget")
        said = report.summary if report.outcome == "finished" else report.why
        noted = f"{cards} card{'' if cards == 1 else 's'}. {said}".strip()
        await self._became(task, "done" if is_done else "failed", noted)

    # ── write ──

    async def _write(self) -> RunEnd | None:
        """Outline, sections, one editor, the citation check, and the cells; of what is written only what must be."""
        known = self._known
        if self._written_from == frozenset(known):
            return None
        if not known:
            failed = next((task.note for task in self._plan.tasks if task.status == "failed"), "")
            self._written_from = frozenset()
            return RunEnd(status="failed", why=f"{_NOTHING_FOUND} {failed}".strip())
        written = await self._text(known)
        if isinstance(written, AgentReport):
            return None if await self._hear() else RunEnd(status="stopped", why=written.why)
        skipped = () if self._contents is None else self._contents.skipped
        caveats = (*written.caveats, *(f"Not read: {each}" for each in skipped))
        dismissed = tuple(dict.fromkeys((*self._dismissed, *written.dismissed)))
        report = replace(written, caveats=tuple(dict.fromkeys(caveats)), dismissed=dismissed)
        self._report, self._sections = report, report.sections
        self._adopt_contradictions(report)
        self._written_from = frozenset(known)
        await self._flow.tell(ResearchWritten(report=report))
        await self._put_cells(report)
        return None

    async def _text(self, known: dict[str, EvidenceCard]) -> ResearchReport | AgentReport:
        writer = ResearchWriter(
            agents=self._agents, ask_all=self._ask_all, tell=lambda said: self._stage("build", said)
        )
        against = self._contradictions
        outline = self._outline_that_stands(known) or await writer.outline(known, against)
        if isinstance(outline, AgentReport):
            return outline
        kept = {place: each for place, each in enumerate(self._kept(outline)) if each is not None}
        sections = await writer.sections(outline, known, against, kept)
        if isinstance(sections, AgentReport):
            return sections
        edited = await writer.edited(sections, outline.title, known, against)
        if isinstance(edited, AgentReport):
            return edited
        before = () if self._report is None else self._report.sentences
        return await writer.checked(edited, known, is_judged=self._goal.effort != "quick", before=before)

    def _outline_that_stands(self, known: dict[str, EvidenceCard]) -> Outline | None:
        """That of the text there is, without cards that are no more; None: there is more to tell."""
        if self._report is None or self._written_from is None or not frozenset(known) <= self._written_from:
            return None
        left = [
            OutlineSection(
                title=each.title,
                cards=tuple(card for card in each.cards if card in known),
                todo=each.todo,
                before=each.text,
            )
            for each in self._sections
        ]
        sections = tuple(each for each in left if each.cards)
        return Outline(title=self._report.title, sections=sections) if sections else None

    def _kept(self, outline: Outline) -> list[SectionText | None]:
        """For each section the text that stands, where it used no card that is gone."""
        there = {(each.title, each.cards): each for each in self._sections}
        return [there.get((each.title, each.cards)) for each in outline.sections]

    async def _put_cells(self, report: ResearchReport) -> None:
        editor, cards, sources = self._workspace.editor, self._known, self._sources
        self._writings += 1
        name, path = f"write the notebook {self._writings}", Path(self._goal.notebook)
        key = f"{self._flow.id}/{name}"

        async def work() -> str:
            await editor.sync()
            if editor.done(key) is None:
                edits = research_edits(editor.notebook.document, report, cards, sources, str(path.parent))
                applied = await editor.apply(edits, key=key)
                if (refused := applied.observation.refused) is not None:
                    return refused.message
            await complete_header(editor)
            text = markdown_of(report, cards, sources, str(path.parent))
            target = path.with_suffix(".md")
            await anyio.to_thread.run_sync(write_atomically, target, text.encode())
            return ""

        if problem := await self._flow.step(name, work):
            self._report = replace(report, caveats=(f"The notebook was not written: {problem}", *report.caveats))
        self._text_path = str(path.with_suffix(".md"))
        self._used.answer = answer_of(report, cards)

    # ── check, deliver ──

    async def review(self) -> RunEnd | None:
        """Its review is the check of its citations."""
        return None

    def _can_be_repaired(self) -> bool:
        # Its cells are ours: what the check finds is told.
        return False

    @property
    def _is_looked_over(self) -> bool:
        return False

    @property
    def is_built(self) -> bool:
        """Whether nothing is left to read, and it is written from the cards there are."""
        return super().is_built and self._written_from == frozenset(self._known)

    @property
    def _caveats(self) -> tuple[str, ...]:
        return self._report.caveats if self._report is not None else ()

    def _in_delivery(self, delivery: Delivery) -> Delivery:
        if self._report is None:
            return delivery
        # Its own title and its whole summary: a sentence picked out of it may say what it does not.
        told = with_told(delivery, ToldReport(headline=self._report.title, readings=delivery.readings))
        tasks = tuple(replace(each, note=_counted(each.note)) for each in delivery.tasks)
        return replace(told, text=self._text_path, title=self._report.title, tasks=tasks)

    # ── what people say ──

    async def _hear(self) -> tuple[SteeringCommand, ...]:
        orders = await super()._hear()
        self._rejected |= {order.card for order in orders if isinstance(order, CardRejected)}
        return orders

    # ── cards, and agents ──

    @property
    def _known(self) -> dict[str, EvidenceCard]:
        """The cards that nobody rejected."""
        return {id: card for id, card in self._cards.items() if id not in self._rejected}

    @property
    def _contradictions(self) -> tuple[Contradiction, ...]:
        """Of cards that are there; those that code finds first."""
        known = self._known
        named = [replace(each, cards=tuple(id for id in each.cards if id in known)) for each in self._named]
        found = merged(contradictions_in(list(known.values())), [each for each in named if len(each.cards) > 1])
        return without(found, self._dismissed)

    def _adopt_contradictions(self, report: ResearchReport) -> None:
        # Code finds its own again, of the cards that are left.
        self._named = tuple(each for each in report.contradictions if each.by != "code")
        self._dismissed = report.dismissed

    @property
    def _sources(self) -> tuple[Any, ...]:
        return () if self._workspace.library is None else self._workspace.library.sources

    @property
    def _agents(self) -> ResearchAgents:
        library = self._workspace.library
        if library is None:
            raise Defect("A research without a library.")
        context = self._context()
        return ResearchAgents(
            goal=self._goal, context=context, assign=self._assign, library=library, web=self._workspace.web
        )

    def _assign(self, words: str, role: str, notes: tuple[Note, ...]) -> Assignment:
        return self._assignment(words, role, "", notes)

    async def _ask_all(self, given: Sequence[Given], at_once: int | None = None) -> list[AgentReport]:
        """Each by an agent of its own, so many at the same time; what they hand in, in order."""
        limits = self._used.limits
        with ExitStack() as stack:
            for number, (context, _) in enumerate(given):
                stack.enter_context(self._resources.contexts.let_in(self._flow.next_child(AGENT, number), context))
            if len(given) == 1:
                done = [await self._flow.child(AGENT, assignment_json(given[0][1]))]
            else:
                children = (self._flow.child(AGENT, assignment_json(each)) for _, each in given)
                done = await self._flow.parallel(*children, at_once=at_once)
        return [self._used.add(each, limits) for each in done]


def _counted(note: str) -> str:
    """Without a reader's own summary, in which no sentence cites anything; of a sub-goal that failed, why."""
    counted = _CARDS_NOTED.match(note)
    return counted[0] if counted else note
