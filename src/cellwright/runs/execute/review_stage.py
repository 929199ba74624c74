"""Looking a notebook over once it runs: what is found, what shows it, what is mended, and what still fails."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

import anyio
import anyio.to_thread

from cellwright.agents.agent_context import AgentContext
from cellwright.agents.assignment import AgentReport, Note
from cellwright.agents.role import role_named
from cellwright.journal.flow import Flow
from cellwright.runs.deliver.delivery import DeliveredCheck, Delivery
from cellwright.runs.events import FindingJudged, QuestionsRaised
from cellwright.runs.execute.agent_results import AgentResults
from cellwright.runs.execute.workspace import Workspace
from cellwright.runs.goal.goal import Goal
from cellwright.runs.goal.new_notebook import goal_data, named_data
from cellwright.runs.plan.plan import Plan, Task
from cellwright.runs.review.code_review import CodeReview, review_by_code
from cellwright.runs.review.findings import Finding, JudgedFinding, ReviewQuestion
from cellwright.runs.review.judging import holds, judge_again, judge_findings
from cellwright.runs.review.reviewer import (
    REVIEWER,
    Mistaken,
    bounded,
    is_asked,
    is_independent,
    notes_for,
    parse_review,
    reviewing,
)
from cellwright.runs.review.second_opinion import KIND as SECOND_OPINION
from cellwright.runs.review.second_opinion import SecondOpinion

FIXER: Final = "fixer"
_WRITER: Final = "writer"
_AGREES: Final = "Computed twice, independently: the second time by a reviewer."
_NOT_TWICE: Final = "Not computed twice."


@dataclass(frozen=True, slots=True, kw_only=True)
class _Judged:
    """What became of what a reviewer handed in."""

    findings: tuple[JudgedFinding, ...]
    agrees: bool | None = None
    """Whether the figure it worked out is the answer's; None: it worked out none that could be compared."""


class ReviewStage:
    """What one run knows of whether it is right. All of it follows from recorded steps."""

    def __init__(self, flow: Flow, workspace: Workspace) -> None:
        self._flow = flow
        self._workspace = workspace
        self._findings: list[JudgedFinding] = []
        self._questions: tuple[ReviewQuestion, ...] = ()
        self._remarks: tuple[str, ...] = ()
        self._agrees = False
        self._second: SecondOpinion | None = None
        self._mistaken: dict[str, str] = {}
        """What code found and a reviewer refuted → why."""
        self._tokens = 0
        self._asked = 0

    @property
    def shown(self) -> tuple[JudgedFinding, ...]:
        """What fails in the notebook as it is."""
        return tuple(each for each in self._findings if each.standing == "shown")

    @property
    def opinion(self) -> str:
        """That code has computed the answer's figure another way, for the proof; empty: it has not."""
        return self._second.says if self._second is not None and self._second.status == "agrees" else ""

    # ── code ──

    async def look_by_code(self, goal: Goal, used: AgentResults, number: str) -> None:
        """What code alone finds in the notebook as it is: wrong figures, open questions, a second opinion."""
        editor, profiler = self._workspace.editor, self._workspace.profiler
        answer, template = used.answer, used.template

        async def look() -> CodeReview:
            await editor.sync()
            document = editor.notebook.document
            data = await anyio.to_thread.run_sync(lambda: goal_data(goal) or named_data(goal, document))
            return await review_by_code(
                editor, goal=goal.words, data=data, answer=answer, template=template, profiler=profiler
            )

        seen = await self._flow.step(f"look over by code {number}", look, returns=CodeReview)
        self._second = self._unrefuted(seen.second)
        if seen.questions != self._questions:
            self._questions = seen.questions
            await self._flow.tell(QuestionsRaised(questions=self._questions))
        again = {each.shows for each in seen.findings}
        # Such code holds the words of an answer that may have become another: it is made anew each time.
        for place, each in enumerate(self._findings):
            if each.finding.is_of_words and each.standing == "shown" and each.finding.shows not in again:
                self._findings[place] = mended = replace(each, standing="mended", error="")
                await self._flow.tell(FindingJudged(number=place + 1, judged=mended))
        known = {each.finding.shows for each in self._findings}
        new = [each for each in seen.judged if each.finding.shows not in known]
        await self._tell([each for each in new if each.finding.found not in self._mistaken])

    def _unrefuted(self, opinion: SecondOpinion) -> SecondOpinion:
        """The same; one that answers another question than the goal's is none."""
        why = self._mistaken.get(opinion.finding.found) if opinion.finding is not None else None
        return opinion if why is None else SecondOpinion(status="not computed", says=f"{_NOT_TWICE[:-1]}: {why}")

    # ── a reviewer ──

    def reviewer(self, goal: Goal, plan: Plan, used: AgentResults, context: AgentContext) -> AgentContext | None:
        """The context in which a reviewer is asked now; None: nobody is."""
        rounds = 2 if goal.effort == "thorough" else 1
        tasks = sum(task.role not in {FIXER, _WRITER} for task in plan.tasks)
        reasons = {"tasks": tasks, "questions": self._questions, "findings": len(self.shown)}
        is_wanted = goal.effort != "quick" if goal.wants == "review" else is_asked(goal.effort, **reasons)
        if self._asked >= rounds or not is_wanted:
            return None
        if not used.turns:
            # Nobody built anything: it is all the work there is.
            return reviewing(context, role_named(context.roles, REVIEWER))
        built = used.tokens - self._tokens
        known, turns = role_named(context.roles, REVIEWER), used.turns - self._asked
        role = bounded(known, tokens=built, turns=turns, used=self._tokens)
        if role is None and not self._asked:
            # Deciding a dispute took the share: then it is looked over with one request, and not with none.
            role = bounded(known, tokens=built // max(turns, 1), turns=1)
        return None if role is None else reviewing(context, role)

    def remark(self, text: str) -> None:
        """Something the reader should know."""
        self._remarks = (*self._remarks, text)

    def count(self, tokens: int) -> None:
        """A reviewer used so many for something else: they are part of the review's share."""
        self._tokens += tokens

    def notes(self, answer: str) -> tuple[Note, ...]:
        """What a reviewer is given besides goal, notebook and data."""
        return notes_for(answer, self._questions, [each.finding for each in self.shown])

    async def take(self, report: AgentReport, goal: Goal) -> None:
        """What a reviewer handed in, judged: what nothing shows bothers nobody."""
        self._asked += 1
        self._tokens += report.tokens
        if report.outcome != "finished":
            self._remarks = (*self._remarks, f"The review did not come to its end: {report.why}")
        handed = parse_review(report.review)
        await self._set_aside(handed.mistaken)
        self._remarks = (*self._remarks, *(each for each in handed.remarks if each not in self._remarks))
        editor = self._workspace.editor

        async def judge() -> _Judged:
            files = [file.name for file in await anyio.to_thread.run_sync(goal_data, goal)]
            agrees = await holds(editor, handed.second) if is_independent(handed.second, files) else None
            findings = [*handed.findings]
            if agrees is False:
                findings.append(_second_finding(handed.second))
            return _Judged(findings=await judge_findings(editor, findings), agrees=agrees)

        judged = await self._flow.step(f"show findings {self._asked}", judge, returns=_Judged)
        self._agrees = judged.agrees is True
        known = {each.finding.shows for each in self._findings}
        await self._tell([each for each in judged.findings if each.finding.shows not in known])

    async def _set_aside(self, refuted: Sequence[Mistaken]) -> None:
        """A second computation that answers another question shows nothing; it is told, with who says so."""
        listed = dict(enumerate(self.shown, 1))
        for each in refuted:
            judged = listed.get(each.number)
            if judged is None or judged.finding.kind != SECOND_OPINION:
                continue
            place = self._findings.index(judged)
            self._findings[place] = aside = replace(judged, standing="not shown", error=f"A reviewer: {each.why}")
            self._mistaken[judged.finding.found] = each.why
            await self._flow.tell(FindingJudged(number=place + 1, judged=aside))
        if self._second is not None:
            self._second = self._unrefuted(self._second)

    async def _tell(self, new: Sequence[JudgedFinding]) -> None:
        first = len(self._findings) + 1
        self._findings += new
        await self._flow.tell(*(FindingJudged(number=first + place, judged=each) for place, each in enumerate(new)))

    # ── what is shown is mended ──

    def repair(self, name: str) -> Task:
        """The task that mends what is shown."""
        lines = ["A review showed that the notebook is wrong. Mend the cells that make it so, and the answer's words."]
        for each in self.shown:
            lines += [f"- {each.fails}", "  This must hold afterwards:"]
            lines += [f"      {line}" for line in each.finding.shows.strip().splitlines()]
        lines.append("Where that asks for something else than the goal does, change nothing, and say so in `summary`.")
        return Task(id=name, title="Mend what the review showed", todo="\n".join(lines), role=FIXER)

    async def judge_again(self, number: int, task: str) -> None:
        """What was shown, in the notebook as it is now."""
        known, editor = tuple(self._findings), self._workspace.editor

        async def judge() -> _Judged:
            return _Judged(findings=await judge_again(editor, known))

        judged = await self._flow.step(f"show findings again {number}", judge, returns=_Judged)
        self._findings = [*judged.findings]
        changed = [
            FindingJudged(number=place, judged=now, task=task)
            for place, (before, now) in enumerate(zip(known, judged.findings, strict=True), 1)
            if before != now or now.standing == "shown"
        ]
        await self._flow.tell(*changed)

    # ── what is handed over ──

    def in_delivery(self, delivery: Delivery) -> Delivery:
        """With what was found: what still fails makes it partial, and comes first; what nothing shows is a caveat."""
        order = {"shown": 0, "mended": 1, "not shown": 2}
        reviewed = tuple(sorted(self._findings, key=lambda each: order[each.standing]))
        fails = [each.fails for each in self.shown]
        doubts = [_doubt(each) for each in reviewed if _is_doubt(each)]
        checks = tuple(_check(number, each) for number, each in enumerate(self._findings, 1) if not _is_doubt(each))
        by_code = self._second.says if self._second is not None else ""
        second = self.opinion or (_AGREES if self._agrees and not self.shown else by_code)
        unsettled = [each.unsettled for each in self._questions if not each.settled]
        status = "partial" if fails and delivery.status == "done" else delivery.status
        return replace(
            delivery,
            status=status,
            why="; ".join([*fails, *([delivery.why] if delivery.why else [])]),
            problems=(*fails, *delivery.problems),
            # A proof is of a notebook that nothing is shown against.
            proof="" if fails else delivery.proof,
            checks=(*checks, *delivery.checks),
            caveats=(*delivery.caveats, *unsettled, *doubts, *self._remarks),
            reviewed=reviewed,
            questions=self._questions,
            second_opinion=second or (_NOT_TWICE if self._asked else ""),
        )


def _is_doubt(judged: JudgedFinding) -> bool:
    return judged.standing == "not shown"


def _doubt(judged: JudgedFinding) -> str:
    if judged.finding.by == "code":
        return f"{judged.finding.found} {judged.error}"
    return f"A reviewer says, but nothing shows: {judged.finding.says}"


def _check(number: int, judged: JudgedFinding) -> DeliveredCheck:
    is_mended = judged.standing == "mended"
    says = f"Shown to be wrong, and mended: {judged.finding.says}" if is_mended else judged.finding.says
    detail = "" if is_mended else judged.error
    return DeliveredCheck(name=f"finding {number}", says=says, has_passed=is_mended, detail=detail)


def _second_finding(code: str) -> Finding:
    claim = "The answer's figure"
    return Finding(claim=claim, found="Worked out another way it comes to something else.", shows=code)
