"""Parts: tasks that need nothing of each other, each built in a branch of its own at the same time, and then joined.

Joined in the order of the plan, by running its cells in the notebook. A part that cannot be joined is not forced in: it
is built again after the others, or left out if a person says so. All that is decided is recorded, branches are kept in
files: killed anywhere, it goes on.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import AsyncExitStack, ExitStack, asynccontextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import Final

from cellwright.agents.agent_context import AgentContext
from cellwright.agents.assignment import AgentReport, Assignment, Note
from cellwright.agents.loop import assignment_json
from cellwright.ids import CellId
from cellwright.journal.flow import Flow
from cellwright.journal.questions import Question
from cellwright.journal.values import Json
from cellwright.kernel.branches.branch import outcome_differences
from cellwright.kernel.branches.branch_kernel import BranchKernel
from cellwright.kernel.observation import CellOutcome
from cellwright.notebook.document import Document
from cellwright.runs.execute.workspace import BranchWorkspace, ContextRegistry, Workspace
from cellwright.runs.plan.brief import STORY_TASK
from cellwright.runs.plan.plan import Plan, Task, TaskEnd
from cellwright.tools.notebook.cell_changes import changes_between
from cellwright.tools.notebook.editor import NotebookEditor
from cellwright.tools.notebook.parallel_branches import JoinConflict, ParallelBranch, join
from cellwright.tools.notebook.trial_records import TrialRecord
from cellwright.tools.notebook.trials import differing, trial_cell

AT_ONCE: Final = 3
"""So many parts are built at the same time."""
CLASH: Final = "part-clash"
"""The topic of the question what becomes of a part that cannot be joined."""
AGAIN: Final = "build it again"
LEAVE_OUT: Final = "leave it out"
_SOUND: Final = frozenset({"ok", "stopped", "disabled"})
_SHOWN: Final = 5


def independent_tasks(plan: Plan, alone: frozenset[str]) -> tuple[Task, ...]:
    """Tasks that can be built at the same time: a plan that says what needs what is taken at its word.

    One that names no needs at all was made as a list, to be done in its order.
    """
    if not any(task.after for task in plan.tasks if task.id != STORY_TASK):
        return ()
    able = [task for task in plan.ready_tasks() if task.id not in alone and task.id != STORY_TASK]
    return tuple(task for task in able if not task.alternatives and task.role != "fixer")[:AT_ONCE]


@dataclass(frozen=True, slots=True, kw_only=True)
class ParallelTask:
    """One task, and who builds it where."""

    task: Task
    agent: str
    workspace: BranchWorkspace


@dataclass(frozen=True, slots=True, kw_only=True)
class JoinOutcome:
    """What became of a part."""

    tried: TrialRecord
    why: str = ""
    """Why it is not in the notebook; empty: it is."""
    note: str = ""
    """What there is to say of it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _BranchFit:
    """How a part fits in, as a step keeps it."""

    renamed: Mapping[str, str] = field(default_factory=dict[str, str])
    why: str = ""


class ParallelTasks:
    """Builds parts of one run side by side."""

    def __init__(self, flow: Flow, workspace: Workspace, contexts: ContextRegistry) -> None:
        self._flow = flow
        self._workspace = workspace
        self._contexts = contexts

    async def why_not(self, tasks: Sequence[Task]) -> str:
        """Why these are built one after another; empty: they need not be."""
        if self._workspace.open_branch is None:
            return "branches cannot be made here"
        name = f"see whether {', '.join(task.id for task in tasks)} can go on at once"
        return await self._flow.step(name, lambda: _why_not_parallel(self._workspace.editor))

    @asynccontextmanager
    async def open(self, tasks: Sequence[Task], agent: str) -> AsyncGenerator[tuple[ParallelTask, ...]]:
        """A workspace for each of them; `agent` names the workflow that builds it."""
        assert self._workspace.open_branch is not None
        async with AsyncExitStack() as stack:
            parts: list[ParallelTask] = []
            for number, task in enumerate(tasks):
                name = self._flow.next_child(agent, number)
                workspace = await stack.enter_async_context(self._workspace.open_branch(name.rpartition("/")[2]))
                parts.append(ParallelTask(task=task, agent=name, workspace=workspace))
            yield tuple(parts)

    async def build(
        self, parts: Sequence[ParallelTask], agent: str, work: Sequence[tuple[AgentContext, Assignment]]
    ) -> list[Json]:
        """Their agents at the same time; what each hands in, in the order of the parts."""
        with ExitStack() as stack:
            for part, (context, _) in zip(parts, work, strict=True):
                stack.enter_context(self._contexts.let_in(part.agent, context))
            children = [self._flow.child(agent, assignment_json(assignment)) for _, assignment in work]
            return await self._flow.parallel(*children)

    async def settle(
        self, part: ParallelTask, report: AgentReport, *, is_over: bool, is_attended: bool
    ) -> TaskEnd | None:
        """A part that is built becomes one with the notebook, or is built again after the others, or left out.

        None if it is not over: what runs of it is in the notebook, and whoever takes the task up finds it there.
        """
        joined = await self.join(part, report)
        if not is_over:
            return None
        if report.outcome != "finished":
            return TaskEnd(status="failed", note=f"{report.why} {joined.why or joined.note}".strip())
        if not joined.why:
            note = " ".join(filter(None, [report.answer or report.summary, joined.note]))
            return TaskEnd(status="done", note=note)
        if not is_attended or await self.ask(part.task, joined.why):
            return TaskEnd(status="planned", note=f"To be built again after the others: {joined.why}.")
        return TaskEnd(status="dropped", note=f"Left out: {joined.why}.")

    async def join(self, part: ParallelTask, report: AgentReport) -> JoinOutcome:
        """Put the part into the notebook, or say why that cannot be; told to whoever watches."""
        editor, suffix = self._workspace.editor, part.task.id.replace("-", "_")
        fit = partial(_fit, editor, part.workspace.branch, suffix)
        fitting = await self._flow.step(f"fit {part.task.id} in", fit, returns=_BranchFit)
        put = partial(_put, editor, part, report, fitting, suffix)
        joined = await self._flow.step(f"join {part.task.id}", put, returns=JoinOutcome)
        await self._flow.tell(joined.tried)
        return joined

    async def ask(self, task: Task, why: str) -> bool:
        """Whether a part that cannot be joined is built again; else it is left out."""
        text = f"The part {task.title!r} was built beside others and cannot be joined with them: {why}. What now?"
        return await self._flow.ask(Question(topic=CLASH, text=text, choices=(AGAIN, LEAVE_OUT))) == AGAIN


def parallel_note(task: Task, others: Sequence[Task]) -> Note:
    """What an agent is told of those who build beside it."""
    lines = [f"- {other.title}" for other in others if other.id != task.id]
    text = "These parts are built by others at this moment, each in its own copy of the notebook; leave them to them:\n"
    return Note(name="beside you", text=text + "\n".join(lines), is_data=False)


# ── the work ──


async def _why_not_parallel(editor: NotebookEditor) -> str:
    await editor.sync()
    notebook = editor.notebook
    if notebook.provisioner.options.files == "direct":
        return "the notebook writes to the project's own files"
    if not any(outcome.status == "ok" for outcome in notebook.outcomes.values()):
        # Nothing has run: a kernel of its own has as much as a fork would.
        return ""
    async with notebook.branch() as branch:
        way = branch.method
    return "" if way.kind == "fork" else "; ".join(way.reasons) or "the kernel cannot be forked"


async def _fit(editor: NotebookEditor, built: ParallelBranch, suffix: str) -> _BranchFit:
    await editor.sync()
    await built.editor.sync()
    found = join(built.base, built.editor.notebook.document, editor.notebook.document, suffix)
    return _BranchFit(why=found.why) if isinstance(found, JoinConflict) else _BranchFit(renamed=dict(found.renamed))


async def _put(
    editor: NotebookEditor, part: ParallelTask, report: AgentReport, fitting: _BranchFit, suffix: str
) -> JoinOutcome:
    built, key = part.workspace.branch, f"{part.agent}/join"
    before, there = dict(editor.notebook.outcomes), dict(built.editor.notebook.outcomes)
    why = fitting.why or _broken(built, report)
    is_done = editor.done(key) is not None
    if not why and not is_done:
        why = await _make(editor, built, key, suffix)
    notes = [f"{name} is called {new} here, because another part has {name}" for name, new in fitting.renamed.items()]
    if not why:
        notes += _otherwise(there, editor.notebook.outcomes, fitting.renamed)
    changed = [change.id for change in changes_between(built.base, built.editor.notebook.document)]
    tried = TrialRecord(
        branch=f"{part.agent}/lane",
        agent=part.agent,
        purpose=part.task.title,
        group=part.agent.rpartition(":")[0],
        way="fork" if isinstance(built.editor.notebook.live.kernel, BranchKernel) else "replayed",
        status="passed" if report.outcome == "finished" and not _bad(built, there) else "failed",
        cells=tuple(trial_cell(there[cell]) for cell in changed if cell in there),
        variables=differing({} if is_done else before, there),
        ms=sum(there[cell].ms for cell in changed if cell in there),
        is_kept=not why,
        note=why or "; ".join(notes),
    )
    return JoinOutcome(tried=tried, why=why, note="; ".join(notes))


async def _make(editor: NotebookEditor, built: ParallelBranch, key: str, suffix: str) -> str:
    """Run the part's cells in the notebook; why that did not come to pass, if so."""
    await editor.sync()
    joint = join(built.base, built.editor.notebook.document, editor.notebook.document, suffix)
    if isinstance(joint, JoinConflict):
        return joint.why
    if not joint.edits:
        return ""
    applied = await editor.apply(joint.edits, key=key)
    if applied.observation.refused is not None:
        return "somebody changed the same cells at this moment"
    fine = {cell for cell, outcome in built.editor.notebook.outcomes.items() if outcome.status in _SOUND}
    failed = [cell.name for cell in applied.observation.cells if cell.id in fine and cell.status not in _SOUND]
    if not failed:
        return ""
    await editor.history.undo(key=f"{key}/undone-1")
    return f"in the notebook, together with the others, these cells do not run: {', '.join(failed[:_SHOWN])}"


def _broken(built: ParallelBranch, report: AgentReport) -> str:
    """What an agent that gave up has left is joined only if it runs."""
    if report.outcome == "finished":
        return ""
    bad = _bad(built, built.editor.notebook.outcomes)
    return f"what was built does not run: {', '.join(bad[:_SHOWN])}" if bad else ""


def _bad(built: ParallelBranch, outcomes: Mapping[CellId, CellOutcome]) -> list[str]:
    document: Document = built.editor.notebook.document
    mine = [change.id for change in changes_between(built.base, document) if change.after is not None]
    return [outcomes[cell].name for cell in mine if cell in outcomes and outcomes[cell].status not in _SOUND]


def _otherwise(
    tried: Mapping[CellId, CellOutcome], made: Mapping[CellId, CellOutcome], renamed: Mapping[str, str]
) -> list[str]:
    """Values that came out otherwise in the notebook than in its branch: chance, the clock, or another part's doing."""
    found = outcome_differences(dict(tried), dict(made))
    names = [each.name for each in found if each.what == "variable" and not {each.name} & {*renamed, *renamed.values()}]
    return [f"came out otherwise than in its branch: {', '.join(dict.fromkeys(names[:_SHOWN]))}"] if names else []
