"""One run at work: its state, and the verbs of its workflow. All of the state follows from recorded steps."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Final

import anyio

from cellwright.agents.agent_context import AgentContext
from cellwright.agents.assignment import AgentReport, Assignment, Note
from cellwright.agents.loop import assignment_json
from cellwright.agents.steering import SteeringInput
from cellwright.journal.flow import Flow
from cellwright.kernel.task_groups import unwrap_single_error
from cellwright.runs.deliver.delivery import (
    CheckOutcome,
    Comparison,
    Delivery,
    RunEnd,
    with_plan_checks,
)
from cellwright.runs.deliver.report.report import draw_charts
from cellwright.runs.events import (
    AlternativesCompared,
    CardRejected,
    NewGoal,
    PlanAdopted,
    PlanChanged,
    RunDelivered,
    RunStage,
    StageEntered,
    task_event,
)
from cellwright.runs.execute.agent_results import (
    STOPPED,
    AgentResults,
    assignment_for,
    delivery_of,
    end_without_plan,
    first_limits,
)
from cellwright.runs.execute.agreement import AgreedPlan, agree
from cellwright.runs.execute.analyst import Analyst
from cellwright.runs.execute.files import deliver, fill_answer, name_cells, tidy_up
from cellwright.runs.execute.parallel_tasks import ParallelTask, ParallelTasks, independent_tasks, parallel_note
from cellwright.runs.execute.review_stage import FIXER, ReviewStage
from cellwright.runs.execute.spec_first import SpecFirst
from cellwright.runs.execute.steering_commands import SteeringCommand, hear
from cellwright.runs.execute.teamwork import Teamwork
from cellwright.runs.execute.workspace import RunResources, Workspace, with_tool
from cellwright.runs.goal.goal import Goal, Worker, found_worker, named_worker
from cellwright.runs.history.history import backtrack
from cellwright.runs.plan import brief
from cellwright.runs.plan.plan import HandBackTask, Plan, PlanEdit, Task, TaskStatus, edited_late
from cellwright.runs.plan.taken_tasks import answered_edit, taken_question
from cellwright.runs.review.acceptance import TESTER
from cellwright.runs.review.reviewer import REVIEWER
from cellwright.runs.views.branches import branches_of, compare_alternatives
from cellwright.tools.notebook.editor import NotebookEditor
from cellwright.tools.notebook.words_only import words_only

AGENT: Final = "agent"
"""The workflow that does one assignment."""
_REPAIR_ROUNDS: Final = 2
"""So often what the check found goes back to be repaired."""
_REVIEW_ROUNDS: Final = 2
"""So often what a review shows goes back."""


async def _run_all(editor: NotebookEditor) -> None:
    await editor.run("all")


class Run:
    """The state of one run."""

    def __init__(self, flow: Flow, goal: Goal, resources: RunResources, workspace: Workspace, *, is_new: bool) -> None:
        self._flow = flow
        self._goal = goal
        self._resources = resources
        self._workspace = workspace
        self._is_new = is_new
        self._plan = goal.plan or Plan(title=goal.words[:120])
        self._has_plan = goal.plan is not None
        self._before = Plan(title="")  # of a goal that became another
        self._agreed = AgreedPlan(envelope=None, allowed=(), denied=())
        self._agreed_for: tuple[tuple[str, ...], ...] | None = None
        self._heard = 0
        self._steered = SteeringInput()
        self._round = 0
        self._checks = 0
        """How often it was checked in this round."""
        self._checked: CheckOutcome | None = None
        self._used = AgentResults(limits=first_limits(goal))
        self._comparisons: dict[str, Comparison] = {}
        self._worker: Worker | None = None
        self._parts = ParallelTasks(flow, workspace, resources.contexts)
        self._alone = set[str]()
        """Tasks that are not built beside others: they could not be joined, or no branch can be had."""
        self._review = ReviewStage(flow, workspace)
        self._spec = SpecFirst(flow, workspace, resources.contexts)
        self._team = Teamwork(flow, workspace)
        self._analyst = Analyst(flow, workspace, is_new=is_new, is_continued=bool(goal.continues))

    # ── brief ──

    async def make_brief(self) -> RunEnd | None:
        """A plan for the goal, unless there is one."""
        worker = self._worker = self._worker or await self._find_worker()
        if self._goal.wants != "answer":
            if not self._has_plan:
                self._has_plan = True
                await self._adopt(brief.of_notebook(self._goal, has_model=worker.who == "models"))
            return None
        if worker.who == "analyst":
            return await self._make_analysts_brief(worker)
        is_planned_first = self._goal.begins == "planner"
        if self._has_plan:
            if self._goal.plan is not None and not self._round:
                await self._adopt(brief.with_story(self._plan) if is_planned_first else self._plan)
            return None
        if not is_planned_first:
            self._before, self._has_plan = self._plan, True
            await self._adopt(brief.whole_goal(self._goal.words))
            return None
        await self._stage("brief")
        notes = (brief.work_so_far(self._plan),) if self._plan.tasks else ()
        context = self._context(before_agreement=True)
        context = replace(context, tools=with_tool(context.tools, brief.plan_finish()))
        report = await self._work(context, self._assignment(self._goal.words, brief.ROLE, "", notes))
        if report.outcome != "finished":
            return None if await self._hear() else end_without_plan(report)
        self._has_plan = True
        await self._adopt(brief.plan_of(report, self._goal.words))
        return None

    @property
    def _is_analysts(self) -> bool:
        return self._worker is not None and self._worker.who == "analyst" and self._goal.wants == "answer"

    async def _find_worker(self) -> Worker:
        """Who works on this run, from its first goal to its last."""
        if (named := named_worker(self._goal)) is not None:
            return named
        goal, workspace = self._goal, self._workspace

        async def work() -> Worker:
            return found_worker(goal, has_model=await workspace.has_model(goal))

        return await self._flow.step("find who works", work, returns=Worker)

    async def _make_analysts_brief(self, worker: Worker) -> RunEnd | None:
        if self._has_plan and self._round:
            return None
        await self._stage("brief", worker.why)
        plan = await self._analyst.make_plan(self._goal)
        if isinstance(plan, RunEnd):
            return plan
        given, self._has_plan = self._goal.plan, True
        await self._adopt(plan if given is None else given)
        return None

    async def _adopt(self, plan: Plan) -> None:
        self._plan = plan
        await self._flow.tell(PlanAdopted(plan=plan), *(task_event(task) for task in plan.tasks))

    # ── agree ──

    async def agree(self) -> RunEnd | None:
        """Leave for everything the plan will touch, or the end."""
        self._round += 1
        self._checks = 0
        touched = self._touched
        if self._agreed_for == touched:
            return None
        await self._stage("agree")
        agreed = await agree(
            self._flow,
            self._plan,
            self._goal,
            rules=self._workspace.rules,
            masker=self._workspace.context.masker,
            installed=self._workspace.editor.notebook.live.distributions,
            number=self._round,
        )
        if isinstance(agreed, RunEnd):
            return agreed
        self._agreed, self._agreed_for = agreed, touched
        if (put := self._workspace.context.put_into_effect) is not None:
            for action in agreed.allowed:
                # Not in a step: what it changes is this process, so a replay must do it again.
                await put(action)
        return None

    # ── build ──

    async def build(self) -> RunEnd | None:
        """Every task of the plan, one after another; None when nothing is left that can be done."""
        await self._stage("build")
        if (over := await self._write_tests()) is not None:
            return over
        while True:
            await self._hear()
            if self._steered.stop:
                return RunEnd(status="stopped", why=self._steered.stop)
            task = self._plan.next_task() if self._has_plan else None
            taken = self._plan.next_taken() if self._has_plan and task is None else None
            if self._agreed_for != self._touched:
                return None
            if taken is not None:
                await self._wait_for(taken)
                continue
            if task is None:
                return None
            if (over := await self._do_next(task)) is not None:
                return over

    async def _write_tests(self) -> RunEnd | None:
        """At `thorough`, what must hold is written as tests before anybody builds."""
        if self._is_analysts or not self._has_plan or not self._spec.is_due(self._goal):
            return None
        await self._stage("build", "acceptance tests first")
        words = self._goal.words
        report = await self._work(self._spec.tester(self._context()), self._assignment(words, TESTER, "", ()))
        if report.outcome in STOPPED and not await self._hear():
            return RunEnd(status="stopped", why=report.why)
        await self._spec.take(report, words)
        return None

    def _building(self, task: Task, context: AgentContext, editor: NotebookEditor) -> AgentContext:
        decide = self._spec.decider(self._goal, context, self._used.limits, self._heard)
        return self._spec.building(context, editor, task, self._plan, decide)

    async def _hear_disputes(self) -> None:
        for dispute in await self._spec.hear():
            self._used.tokens += dispute.tokens
            self._used.microdollars += dispute.microdollars
            self._review.count(dispute.tokens)

    async def _wait_for(self, task: Task) -> None:
        """Until whoever took the task hands it back, or something else is to be done."""
        answer = await self._flow.ask(taken_question(task))
        await self._hear()
        if (edit := answered_edit(task, answer)) is not None:
            await self._change_plan(edit, task.taken_by)

    @property
    def _touched(self) -> tuple[tuple[str, ...], ...]:
        """What the plan needs leave for."""
        return (self._plan.hosts, self._plan.packages)

    async def _do_next(self, task: Task) -> RunEnd | None:
        """It, or it and others that need nothing of each other."""
        if self._is_analysts:
            # Its tasks are no agent's.
            return await self._do(task)
        if task.role not in (roles := self._workspace.context.roles):
            await self._became(task, "failed", f"No role {task.role!r}. Known: {', '.join(brief.task_roles(roles))}.")
            return None
        tasks = independent_tasks(self._plan, frozenset(self._alone))
        tasks = tuple(each for each in tasks if each.role in roles)
        if task not in tasks or len(tasks) < 2:
            return await self._do(task)
        if why := await self._parts.why_not(tasks):
            self._alone |= {each.id for each in tasks}
            await self._stage("build", f"One after another: {why}.")
            return await self._do(task)
        return await self._do_side_by_side(tasks)

    async def _do_side_by_side(self, tasks: tuple[Task, ...]) -> RunEnd | None:
        """Each in a branch of its own at the same time; joined in the order of the plan."""
        agents = [self._flow.next_child(AGENT, number) for number in range(len(tasks))]
        tasks = tuple([await self._began(task, agent) for task, agent in zip(tasks, agents, strict=True)])
        async with self._parts.open(tasks, AGENT) as parts:
            work: list[tuple[AgentContext, Assignment]] = []
            for part in parts:
                editor = part.workspace.branch.editor
                context = self._team.context(self._plan, part.task, part.agent, self._part_context(part), editor)
                context = self._building(part.task, context, editor)
                work.append((context, self._task_assignment(part.task, parallel_note(part.task, tasks))))
            given = self._used.limits
            reports = [self._used.add(done, given) for done in await self._parts.build(parts, AGENT, work)]
            await self._hear_disputes()
            is_stopped = any(report.outcome in STOPPED for report in reports)
            is_overruled = is_stopped and bool(await self._hear())
            for part, report in zip(parts, reports, strict=True):
                is_over = not is_overruled or report.outcome not in STOPPED
                end = await self._parts.settle(part, report, is_over=is_over, is_attended=self._goal.is_attended)
                if end is not None:
                    if end.status == "planned":
                        self._alone.add(part.task.id)
                    elif end.status == "done":
                        self._used.take_answer(report)
                    built = replace(self._plan.find(part.task.id) or part.task, taken_by="")
                    became = await self._became(built, end.status, end.note)
                    if end.status == "done":
                        await self._team.hand_off(self._plan, became, part.agent, report.readings)
        if is_stopped and not is_overruled:
            return RunEnd(status="stopped", why=next(each.why for each in reports if each.outcome in STOPPED))
        return None

    async def _do(self, task: Task) -> RunEnd | None:
        agent = self._flow.next_child(AGENT)
        task = await self._began(task, "" if self._is_analysts else agent)
        if self._is_analysts:
            # Whatever came of it, the next one comes.
            came = await self._analyst.do(task, self._goal, self._context())
            self._used.answer = self._analyst.answer
            await self._became(replace(task, checks=came.checks or task.checks), came.status, came.note)
            return None
        context = self._team.context(self._plan, task, agent, self._context())
        if task.id == brief.WHOLE:
            context = replace(context, tools=with_tool(context.tools, brief.plan_tool(context.roles)))
        if task.role == brief.DOCUMENTER:
            context = replace(context, tools=words_only(context.tools, self._workspace.editor))
        context = self._building(task, context, self._workspace.editor)
        report = await self._work(context, self._task_assignment(task))
        await self._hear_disputes()
        if report.plan is not None:
            await self._adopt(brief.handed_in(report.plan, self._goal.words))
            return None
        if task.alternatives:
            await self._compare(task, agent)
        match report.outcome:
            case "finished":
                self._used.take_answer(report, is_repair=task.role == FIXER)
                task = await self._became(task, "done", report.answer or report.summary)
                await self._team.hand_off(self._plan, task, agent, report.readings)
                return None
            case "stopped" | "cancelled":
                if await self._hear():
                    return None
                await self._became(task, "failed", report.why)
                return RunEnd(status="stopped", why=report.why)
            case "out-of-budget" | "gave-up":
                # A failed task leaves no broken notebook behind: what it was before is gone back to.
                step, editor = f"go back before {task.id}", self._workspace.editor
                became = await self._flow.step(step, lambda: backtrack(editor, agent))
                await self._became(task, "failed", f"{report.why} {became}".strip())
                return None

    async def _compare(self, task: Task, agent: str) -> None:
        """What the agent tried of the task's alternatives, as one table."""
        read, run = self._flow.read, self._flow.run

        async def work() -> Comparison:
            return compare_alternatives(task, await branches_of(read, run, agent))

        comparison = await self._flow.step(f"compare {task.id}", work, returns=Comparison)
        self._comparisons[task.id] = comparison
        await self._flow.tell(AlternativesCompared(comparison=comparison))

    async def _began(self, task: Task, agent: str) -> Task:
        """This agent does it from now on."""
        self._team.begins(task, agent)
        return await self._became(task, "running", agent=agent)

    async def _became(self, task: Task, status: TaskStatus, note: str = "", *, agent: str = "") -> Task:
        changed = replace(task, status=status, note=note)
        self._plan = self._plan.with_task(changed)
        await self._flow.tell(task_event(changed, agent))
        return changed

    # ── check ──

    async def check(self) -> RunEnd | None:
        """Whether the notebook stands up; what does not goes back to be repaired. None when that is settled."""
        if self._plan.tasks and all(task.status == "failed" for task in self._plan.tasks):
            # What they did was gone back on: there is nothing to tidy up or to check.
            return None
        if self._goal.wants == "review":
            await self._flow.step("run the notebook", partial(_run_all, self._workspace.editor))
            self._used.answer = self._used.template = self._goal.answer
            if self._goal.answer and not await self._fill_again():
                self._review.remark("The answer names what the notebook does not have: it was read as it stands.")
        for attempt in range(_REPAIR_ROUNDS + 1):
            await self._stage("check")
            self._checked = await self._check()
            if not self._checked.problems or attempt == _REPAIR_ROUNDS or not self._can_be_repaired():
                return None
            repair = Task(
                id=f"mend-{self._round}-{self._checks}",
                title="Repair what the check found",
                todo="\n".join(f"- {problem}" for problem in self._checked.problems),
                role=FIXER,
            )
            await self._adopt(self._plan.with_task(repair))
            if (over := await self.build()) is not None or not self._has_plan:
                return over
            await self._fill_again()
        return None

    async def _fill_again(self) -> bool:
        """After a repair the answer's figures are those of the notebook as it is now; whether they could be had."""
        if not (template := self._used.template):
            return True
        work = partial(fill_answer, self._workspace, template)
        filled = await self._flow.step(f"fill the answer {self._round}.{self._checks}", work)
        self._used.answer = filled or self._used.answer
        return bool(filled)

    async def _check(self) -> CheckOutcome:
        workspace, goal, plan = self._workspace, self._goal, self._plan
        promised = self._spec.in_plan(plan)
        self._checks += 1
        name = f"check {self._round}.{self._checks}"
        if self._is_looked_over:
            await self._review.look_by_code(goal, self._used, f"{self._round}.{self._checks}")
        opinion = self._review.opinion

        async def work() -> CheckOutcome:
            key, readings = f"{self._flow.id}/{name}", self._used.readings
            with unwrap_single_error():
                async with anyio.create_task_group() as beside:
                    # The report needs them in a moment; meanwhile one of two processors would have nothing to do.
                    beside.start_soon(draw_charts, workspace.editor.notebook.outcomes, workspace.draw)
                    if goal.wants == "answer":
                        await self._spec.put_last(f"{key} tests")
                        await tidy_up(workspace, plan, key, is_new=self._is_new, readings=readings)
                    elif goal.wants == "document":
                        await name_cells(workspace, key)
                    checked = await self._resources.check(self._flow.run, goal, opinion)
            return with_plan_checks(checked, promised)

        return await self._flow.step(name, work, returns=CheckOutcome)

    def _can_be_repaired(self) -> bool:
        """What failed for want of model, money or network is not repaired by asking again; the analyst asks none."""
        if self._checked is not None and self._checked.ran == "unavailable":
            return False
        if self._goal.wants != "answer":
            return False
        return not self._is_analysts and not any(task.status == "failed" for task in self._plan.tasks)

    @property
    def _is_looked_over(self) -> bool:
        """By code, before every check; the analyst is the code that would look."""
        return self._goal.is_reviewed and self._goal.wants != "document" and not self._is_analysts

    # ── review ──

    async def review(self) -> RunEnd | None:
        """Whether it is right, as far as can be shown; what is shown not to be goes back. None when that is settled."""
        if self._checked is None or self._checked.ran != "whole" or self._goal.wants == "document":
            return None
        for number in range(1, _REVIEW_ROUNDS + 1):
            if (over := await self._look_over()) is not None or not self._has_plan:
                return over
            if not self._review.shown or not self._can_be_repaired():
                return None
            before = self._made
            await self._adopt(self._plan.with_task(self._review.repair(f"review-{self._round}-{number}")))
            if (over := await self.build()) is not None or not self._has_plan:
                return over
            await self._fill_again()
            if (over := await self.check()) is not None or not self._has_plan:
                return over
            mend = self._plan.tasks[-1]
            await self._review.judge_again(number, mend.id)
            if self._review.shown and mend.status == "done" and self._made == before:
                # Asked again it would say the same again.
                self._review.remark(f"Nothing was changed to mend what the review showed: {mend.note}")
                return None
        return None

    @property
    def _made(self) -> tuple[str, str]:
        """The answer and the proof, which is named by what the notebook holds; unlike any other where there is none."""
        proof = self._checked.proof if self._checked is not None else ""
        return self._used.template or self._used.answer, proof or f"none {self._checks}"

    async def _look_over(self) -> RunEnd | None:
        if self._worker is None or self._worker.who != "models":
            return None
        context = self._review.reviewer(self._goal, self._plan, self._used, self._context())
        if context is None:
            return None
        await self._stage("review")
        notes = self._review.notes(self._used.answer)
        report = await self._work(context, self._assignment(self._goal.words, REVIEWER, "", notes))
        if report.outcome in STOPPED and not await self._hear():
            return RunEnd(status="stopped", why=report.why)
        await self._review.take(report, self._goal)
        return None

    async def is_settled(self) -> bool:
        """Whether nobody has given it more to do meanwhile."""
        await self._hear()
        return self.is_built

    @property
    def has_new_goal(self) -> bool:
        """Whether the goal changed, so that there is no plan for it yet."""
        return not self._has_plan

    @property
    def is_built(self) -> bool:
        """Whether nothing of the plan is left to do; a plan that was handed in may need leave first."""
        return self._has_plan and self._plan.next_task() is None and self._plan.next_taken() is None

    # ── deliver ──

    @property
    def _caveats(self) -> tuple[str, ...]:
        """What a reader must know, from whoever worked on it."""
        return self._analyst.caveats

    async def deliver(self, over: RunEnd | None) -> Delivery:
        """What there is, handed over honestly: what is unmet, what nobody repaired and what was not allowed."""
        await self._stage("deliver")
        flow, workspace, goal = self._flow, self._workspace, self._goal
        worker = (self._worker.why,) if self._worker and self._worker.why else ()
        delivery = delivery_of(
            goal,
            self._plan,
            self._used,
            checked=self._checked,
            over=over,
            assumptions=worker,
            caveats=(*self._agreed.denied, *self._caveats),
            comparisons=tuple(self._comparisons.values()),
            told=self._analyst.told,
        )
        delivery = self._in_delivery(delivery)
        hand_over = partial(deliver, workspace, goal, delivery, flow.run, flow.read, is_new=self._is_new)
        delivered = await flow.step("deliver", hand_over, returns=Delivery)
        await flow.tell(RunDelivered(delivery=delivered), StageEntered(stage="over", note=delivered.status))
        return delivered

    def _in_delivery(self, delivery: Delivery) -> Delivery:
        """With what the stages of this run add to it."""
        return self._review.in_delivery(self._spec.in_delivery(delivery))

    # ── what people say meanwhile ──

    async def _hear(self) -> tuple[SteeringCommand, ...]:
        """What people ordered since, put into effect; agents that were stopped were for it. Waits while paused."""
        said = await hear(self._flow, self._steered, self._heard)
        self._steered, self._heard = said.steered, said.heard.upto
        for order in said.heard.orders:
            match order:
                case NewGoal(words=words):
                    self._goal = replace(self._goal, words=words, plan=None)
                    self._has_plan = False
                case PlanChanged(edit=edit, by=by):
                    await self._change_plan(edit, by)
                case CardRejected():
                    # Of a research alone, which looks for it itself.
                    pass
        return said.heard.orders

    async def _change_plan(self, edit: PlanEdit, by: str) -> None:
        before, self._plan = self._plan, edited_late(self._plan, edit, by)
        if self._plan == before:
            return
        await self._adopt(self._plan)
        if isinstance(edit, HandBackTask) and (task := self._plan.find(edit.task)) and task.status == "done":
            await self._team.hand_off(self._plan, task, task.taken_by)

    # ── agents ──

    def _context(self, *, before_agreement: bool = False) -> AgentContext:
        envelope = None if before_agreement else self._agreed.envelope
        return self._workspace.context_under(envelope, self._goal.approve)

    def _part_context(self, part: ParallelTask) -> AgentContext:
        return self._workspace.context_under(self._agreed.envelope, self._goal.approve, part.workspace.context)

    def _task_assignment(self, task: Task, *more: Note) -> Assignment:
        denied = self._agreed.denied
        notes = [Note(name="not allowed", text="\n".join(denied), is_data=False)] if denied else []
        notes += [brief.work_so_far(self._before)] if task.id == brief.WHOLE and self._before.tasks else []
        if task.id == brief.STORY_TASK and self._goal.begins == "agent":
            notes.append(brief.answers_so_far(self._plan, self._used.readings))
        if task.role == FIXER and self._used.answer:
            notes.append(Note(name="the answer as it stands", text=self._used.template or self._used.answer))
        plan = "" if task.id == brief.WHOLE else brief.overview(self._plan, task)
        notes += [*self._spec.notes(task), *self._team.notes(self._plan, task), *more]
        text = brief.work_text(self._goal.words, self._spec.unwritten(task))
        return self._assignment(text, task.role, plan, tuple(notes))

    def _assignment(self, text: str, role: str, plan: str, notes: tuple[Note, ...]) -> Assignment:
        limits, heard = self._used.limits, self._heard
        return assignment_for(self._goal, text, role, plan=plan, notes=notes, limits=limits, heard=heard)

    async def _work(self, context: AgentContext, assignment: Assignment) -> AgentReport:
        with self._resources.contexts.let_in(self._flow.next_child(AGENT), context):
            done = await self._flow.child(AGENT, assignment_json(assignment))
        return self._used.add(done, self._used.limits)

    async def _stage(self, stage: RunStage, note: str = "") -> None:
        await self._flow.tell(StageEntered(stage=stage, note=note))
