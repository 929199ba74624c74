"""Who does which task of a run, with what, and what one hands over to the next. It follows from recorded steps."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

from cellwright.agents.agent_context import AgentContext
from cellwright.agents.assignment import Note
from cellwright.agents.built_in_skills import skills_for
from cellwright.agents.skills import skill_tools
from cellwright.errors import KernelLost, Unavailable
from cellwright.journal.flow import Flow
from cellwright.kernel.branches.variable_diff import variable_digest, variable_summary
from cellwright.notebook.marimo_check import tests_in
from cellwright.runs.events import HandedOff
from cellwright.runs.execute.ownership import cell_owners, defined_names, warns_of_owners
from cellwright.runs.execute.workspace import Workspace, with_tool
from cellwright.runs.plan.handoff_notes import givers, handed_notes, receivers
from cellwright.runs.plan.handoffs import HandedTest, HandedVariable, HandOff
from cellwright.runs.plan.plan import Plan, Task
from cellwright.tools.notebook.editor import NotebookEditor

_FIXER = "fixer"
_CHANGES_CELLS = "apply"
_NOT_HANDED = frozenset({"module", "function", "class"})
"""Kinds of variables that stand in the code and need no telling."""


class Teamwork:
    """What one run knows of who did what."""

    def __init__(self, flow: Flow, workspace: Workspace) -> None:
        self._flow = flow
        self._workspace = workspace
        self._tasks = dict[str, Task]()
        """By the agent that does it."""
        self._handed = dict[str, HandOff]()
        """By the task that hands over."""

    def begins(self, task: Task, agent: str) -> None:
        """This agent does this task; empty: no agent does."""
        if agent:
            self._tasks[agent] = task

    # ── what an agent gets ──

    def notes(self, plan: Plan, task: Task) -> tuple[Note, ...]:
        """What others handed over to this task."""
        return handed_notes(self._handed[each] for each in givers(plan, task) if each in self._handed)

    def context(
        self, plan: Plan, task: Task, agent: str, context: AgentContext, editor: NotebookEditor | None = None
    ) -> AgentContext:
        """What this agent works with for this task; `editor`: where, if not in the run's own notebook.

        One that works alone is told nothing of teams and skills: its requests stay as small as they are.
        """
        if len(plan.tasks) < 2:
            return context
        skills = skills_for(task.role, f"{task.title}\n{task.todo}", known={each.name for each in context.skills})
        if skills:
            skills = (*context.skills, *skills)
            context = replace(context, skills=skills, tools=with_tool(context.tools, *skill_tools(skills)))
        changing = next((each for each in context.tools if each.name == _CHANGES_CELLS), None)
        if changing is None or task.role == _FIXER:
            return context
        main = self._workspace.editor
        warning = warns_of_owners(changing, editor or main, main, agent, self._tasks)
        return replace(context, tools=with_tool(context.tools, warning))

    # ── what is handed over ──

    async def hand_off(self, plan: Plan, task: Task, by: str, readings: tuple[str, ...] = ()) -> None:
        """What a task that is done leaves to those that need it, kept and told; nothing where none does."""
        to = receivers(plan, task.id)
        if not to:
            return
        work = partial(self._made, task, by, readings)
        handed = await self._flow.step(f"hand off {task.id}", work, returns=HandOff)
        self._handed[task.id] = handed
        await self._flow.tell(HandedOff(handed=handed, to=to))

    async def _made(self, task: Task, by: str, readings: tuple[str, ...]) -> HandOff:
        mask = self._workspace.context.masker.mask
        words = mask(task.note).text if task.taken_by else ""
        handed = HandOff(task=task.id, title=task.title, by=by, readings=readings, words=words)
        if task.taken_by:
            return handed
        editor = self._workspace.editor
        await editor.sync()
        variables = await _variables(editor, by)
        return replace(
            handed,
            variables=tuple(replace(each, size=mask(each.size).text) for each in variables),
            tests=await _tests(editor, by, task),
        )


async def _variables(editor: NotebookEditor, agent: str) -> list[HandedVariable]:
    """Those that the agent's cells define, in the order of the notebook."""
    notebook = editor.notebook
    owners = cell_owners(editor.timeline.standing, notebook.document)
    mine = [cell.id for cell in notebook.document.cells if owners.get(cell.id) == agent]
    known = {
        preview.name: (preview, notebook.state.name_of(cell))
        for cell, names in defined_names(notebook.document, mine).items()
        if cell in notebook.outcomes
        for preview in notebook.outcomes[cell].variables
        if preview.name in names and preview.kind not in _NOT_HANDED
    }
    try:
        facts = {each.name: each for each in await notebook.side_calls.facts(list(known))} if known else {}
    except (KernelLost, Unavailable):
        facts = {}
    return [
        HandedVariable(
            name=name,
            type=preview.type,
            size=variable_summary(facts[name]) if name in facts else "",
            digest=variable_digest(facts[name]) if name in facts else "",
            cell=cell,
        )
        for name, (preview, cell) in known.items()
    ]


async def _tests(editor: NotebookEditor, agent: str, task: Task) -> tuple[HandedTest, ...]:
    """The task's own tests and those its cells hold, as they go now."""
    notebook = editor.notebook
    owners, stale = cell_owners(editor.timeline.standing, notebook.document), set(notebook.stale)
    wanted = {check.test for check in task.checks}
    there = [(cell.id, name) for cell in notebook.document.cells for name in tests_in(cell.code)]
    names = [name for cell, name in there if cell not in stale and (name in wanted or owners.get(cell) == agent)]
    try:
        tests = await notebook.side_calls.run_tests(names) if names else ()
    except (KernelLost, Unavailable):
        tests = ()
    missing = [HandedTest(name=check.test, verdict="missing") for check in task.checks if check.test not in names]
    return (*(HandedTest(name=test.name, verdict=test.verdict) for test in tests), *missing)
