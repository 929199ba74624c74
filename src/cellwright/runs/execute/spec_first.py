"""Spec first: at `thorough`, tests are written before anybody builds; whoever builds may dispute one, not change it.

Which tests there are, whose cells they are and what became of each follows from recorded steps and told events.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Annotated, Final

from pydantic import Field, TypeAdapter

from cellwright.agents.agent_context import AgentContext
from cellwright.agents.assignment import AgentReport, Note
from cellwright.agents.loop import assignment_json
from cellwright.ids import CellId
from cellwright.journal.flow import Flow
from cellwright.journal.names import stream_of
from cellwright.notebook.document import Document
from cellwright.notebook.edits import AtEnd, CreateCell, DeleteCell, Edit, EditCell, MoveCell
from cellwright.notebook.marimo_check import tests_in
from cellwright.notebook.source_text import numbered
from cellwright.policy.budgets import Limit
from cellwright.runs.deliver.delivery import Delivery
from cellwright.runs.events import CheckDisputed
from cellwright.runs.execute.agent_results import assignment_for
from cellwright.runs.execute.workspace import ContextRegistry, Workspace, with_tool
from cellwright.runs.goal.goal import Goal
from cellwright.runs.plan.plan import Plan, Task
from cellwright.runs.review.acceptance import (
    DISPUTE,
    TESTER,
    AcceptanceSpec,
    AcceptanceTest,
    notes_for_builders,
    parse_spec,
    replaced,
    why_no_test,
    writing,
)
from cellwright.runs.review.dispute import (
    CheckDispute,
    DecideDispute,
    DisputeDecision,
    ask_person,
    deciding,
    decision_of,
    dispute_note,
)
from cellwright.runs.review.reviewer import REVIEWER
from cellwright.tools.notebook.editor import NotebookEditor
from cellwright.tools.notebook.owned_cells import CellOwner
from cellwright.tools.tool import CallContext, Done, Tool, ToolError, ToolResult, tool

_AGENT: Final = "agent"
_SPEC_TASK: Final = "acceptance-tests"
_NO_BUILDERS: Final = frozenset({"writer"})
_REPORT: Final = TypeAdapter(AgentReport)
_DONE: Final = {"keep": "kept", "drop": "dropped", "replace": "replaced"}


@dataclass(frozen=True, slots=True, kw_only=True)
class _Written:
    """The cells of the tests, as a step keeps it."""

    cells: dict[str, CellId]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Disputes:
    """What was decided until now, as a step keeps it."""

    told: tuple[CheckDisputed, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class _DisputedCell:
    """What a dispute is about, as a step keeps it."""

    code: str = ""
    earlier: CheckDisputed | None = None


class SpecFirst:
    """What one run knows of its acceptance tests."""

    def __init__(self, flow: Flow, workspace: Workspace, contexts: ContextRegistry) -> None:
        self._flow = flow
        self._workspace = workspace
        self._contexts = contexts
        self._goal = ""
        """The words for which tests were written, or were to be."""
        self._spec = AcceptanceSpec()
        self._cells: dict[str, CellId] = {}
        self._disputes: tuple[CheckDisputed, ...] = ()
        self._heard = self._written = 0
        self._why = ""
        """Why there are no tests."""

    # ── the tester ──

    def is_due(self, goal: Goal) -> bool:
        """Whether tests are to be written now; where a run takes up another, somebody has built already."""
        is_built_here = goal.wants == "answer" and not goal.continues
        return goal.effort == "thorough" and is_built_here and goal.words != self._goal

    def tester(self, context: AgentContext) -> AgentContext:
        """The context in which the tester works: goal and data, and no code of anybody."""
        editor = self._workspace.editor
        ours = set(self._cells)
        return writing(context, lambda: _tests_of(editor.notebook.document) - ours)

    async def take(self, report: AgentReport, words: str) -> None:
        """What a tester handed in for this goal becomes cells of the notebook, in the place of those before."""
        self._goal = words
        spec = parse_spec(report.tests) if report.outcome == "finished" else AcceptanceSpec()
        self._why = "" if spec.tests else f"No acceptance tests were written first: {report.why or 'none came.'}"
        self._spec = spec
        if not spec.tests and not self._cells:
            return
        self._written += 1
        key = f"{self._flow.id}/tests {self._written}"
        write = partial(_write, self._workspace.editor, tuple(self._cells.values()), spec.tests, key)
        made = await self._flow.step(f"write the tests {self._written}", write, returns=_Written)
        self._cells = made.cells
        self._workspace.editor.owner = self._owner()

    def _owner(self, *, may_wait: bool = True) -> CellOwner:
        cells = {cell: test for test, cell in self._cells.items()}
        return CellOwner(role=TESTER, run=self._flow.run, cells=cells, instead=DISPUTE, may_wait=may_wait)

    # ── the builders ──

    @property
    def tests(self) -> tuple[AcceptanceTest, ...]:
        """Those that count now: without what was dropped, with what was replaced."""
        found = {each.test: each for each in self._spec.tests if each.test in self._cells}
        for dispute in self._disputes:
            if dispute.test in found and dispute.decided == "drop":
                del found[dispute.test]
            elif dispute.test in found and dispute.decided == "replace":
                found[dispute.test] = replaced(found[dispute.test], dispute.instead, dispute.why)
        return tuple(found.values())

    def notes(self, task: Task) -> tuple[Note, ...]:
        """What whoever does this task is told of them."""
        return () if task.role in _NO_BUILDERS else notes_for_builders(self._spec, self.tests)

    def unwritten(self, task: Task) -> Task:
        """The task without checks that are written already."""
        return replace(task, checks=tuple(check for check in task.checks if check.test not in self._cells))

    def building(
        self, context: AgentContext, editor: NotebookEditor, task: Task, plan: Plan, decide: DecideDispute
    ) -> AgentContext:
        """The context in which this task is done in this editor: the tests stand, and may be disputed."""
        if not self._cells:
            return context
        left = [each for each in plan.tasks if not each.is_over and each.role not in _NO_BUILDERS]
        editor.owner = self._owner(may_wait=any(each.id != task.id for each in left))
        tests = {each.test: each for each in self.tests}
        return replace(context, tools=with_tool(context.tools, dispute_tool(tests, self._cells, editor, decide)))

    def decider(self, goal: Goal, context: AgentContext, limits: tuple[Limit, ...], heard: int) -> DecideDispute:
        """Who decides what a builder disputes: a person, or unattended a reviewer, within these limits."""
        if goal.approve != "never":
            return ask_person
        contexts = self._contexts

        async def ask_reviewer(flow: Flow, dispute: CheckDispute) -> DisputeDecision:
            notes = (dispute_note(dispute),)
            given = assignment_for(goal, goal.words, REVIEWER, plan="", notes=notes, limits=limits, heard=heard)
            with contexts.let_in(flow.next_child(_AGENT), deciding(context, dispute)):
                return decision_of(_REPORT.validate_python(await flow.child(_AGENT, assignment_json(given))))

        return ask_reviewer

    async def hear(self) -> tuple[CheckDisputed, ...]:
        """What was decided while somebody built; it counts from now on."""
        if not self._cells:
            return ()
        self._heard += 1
        flow = self._flow
        heard = await flow.step(f"hear disputes {self._heard}", partial(_disputes, flow), returns=_Disputes)
        # A run that goes on from another's steps knows more than its own stream tells.
        new = tuple(each for each in heard.told if each not in self._disputes)
        self._disputes += new
        return new

    # ── the check and the delivery ──

    async def put_last(self, key: str) -> None:
        """The tests behind what they test, as people read a notebook."""
        editor = self._workspace.editor
        await editor.sync()
        document = editor.notebook.document
        cells = [found for cell in self._cells.values() if (found := document.find(cell)) is not None]
        if cells and document.cells[-len(cells) :] != tuple(cells):
            moves = [MoveCell(cell=each.id, base_version=each.version, place=AtEnd()) for each in cells]
            await editor.apply(moves, key=key, run="none")

    def in_plan(self, plan: Plan) -> Plan:
        """The plan with these tests among its checks."""
        checks = tuple(each.check for each in self.tests)
        task = Task(id=_SPEC_TASK, title="Acceptance tests", checks=checks, role=TESTER, status="done")
        # Last: where a builder's plan names the same test, what the tester says of it counts.
        return replace(plan, tasks=(*plan.tasks, task)) if checks else plan

    def in_delivery(self, delivery: Delivery) -> Delivery:
        """With how the tester read the goal, what was disputed, and why there are no tests where there are none."""
        read = (
            [f"The acceptance tests read the goal so: {self._spec.reading}"]
            if self._cells and self._spec.reading
            else []
        )
        told = [_told(each) for each in self._disputes]
        return replace(
            delivery,
            assumptions=(*delivery.assumptions, *read),
            caveats=(*delivery.caveats, *told, *filter(None, [self._why])),
        )


def _told(dispute: CheckDisputed) -> str:
    by = {"": "because nobody could decide", REVIEWER: "by a reviewer"}.get(dispute.by, f"by {dispute.by}")
    what = f"The acceptance test {dispute.test} was disputed ({dispute.why.rstrip('.')})"
    return f"{what} and {_DONE[dispute.decided]} {by}. {dispute.words}".rstrip()


# ── disputing ──


def dispute_tool(
    tests: dict[str, AcceptanceTest], cells: dict[str, CellId], editor: NotebookEditor, decide: DecideDispute
) -> Tool:
    """The tool with which a builder says that a test is wrong."""

    @tool(name=DISPUTE, own_steps=True)
    async def dispute_check(
        calling: CallContext,
        test: Annotated[str, Field(description="The acceptance test's name.")],
        why: Annotated[str, Field(min_length=1, max_length=1_000, description="What in goal or data contradicts it.")],
        instead: Annotated[
            str, Field(max_length=6_000, description="The test that should take its place, of the same name; or none.")
        ] = "",
    ) -> ToolResult:
        """Say that an acceptance test is wrong, and wait for the decision: it is kept, dropped or replaced.

        Only where goal or data contradict it, never because it is hard to pass. Once for each test.
        """
        if test not in tests:
            return ToolError(
                kind="not-found", message=f"No acceptance test {test!r}.", hint=f"There is: {_list(tests)}."
            )
        if instead and (problem := why_no_test(test, instead)):
            return ToolError(kind="bad-arguments", message=f"instead: {problem}")
        flow = calling.flow
        see = partial(_see, editor, flow, test, cells[test])
        seen = await flow.step(f"see what is disputed in {test}", see, returns=_DisputedCell)
        if seen.earlier is not None:
            return ToolError(kind="conflict", message=f"That is decided: {seen.earlier.line()}.")
        if not seen.code:
            return ToolError(kind="not-found", message=f"{test} is not in the notebook any more.")
        dispute = CheckDispute(test=test, says=tests[test].says, code=seen.code, why=why, instead=instead)
        decision = await decide(flow, dispute)
        key = f"{flow.run}/dispute {calling.key.replace('/', ' ')}"
        settle = partial(_settle, editor, cells[test], instead, decision, key)
        await flow.step(f"settle the dispute about {test}", settle)
        told = CheckDisputed(
            test=test,
            why=why,
            instead=instead,
            decided=decision.decided,
            by=decision.by,
            words=decision.words,
            tokens=decision.tokens,
            microdollars=decision.microdollars,
        )
        await flow.tell(told)
        more = {"keep": " Make it pass.", "drop": " It is gone.", "replace": " Yours is in its place."}
        return Done(text=f"{told.line()}.{more[decision.decided]}", value=decision.decided)

    return dispute_check


def _list(names: Sequence[str] | dict[str, AcceptanceTest]) -> str:
    return ", ".join(names) or "none"


async def _see(editor: NotebookEditor, flow: Flow, test: str, cell: CellId) -> _DisputedCell:
    await editor.sync()
    found = editor.notebook.document.find(cell)
    told = (await _disputes(flow)).told
    earlier = next((each for each in told if each.test == test), None)
    return _DisputedCell(code="" if found is None else found.code, earlier=earlier)


async def _disputes(flow: Flow) -> _Disputes:
    found = [each.event async for each in flow.read(stream_of(flow.run)) if isinstance(each.event, CheckDisputed)]
    return _Disputes(told=tuple(found))


async def _settle(editor: NotebookEditor, cell: CellId, instead: str, decision: DisputeDecision, key: str) -> None:
    """What was decided, in the notebook; once, whatever ends the process."""
    await editor.sync()
    if decision.decided == "keep" or editor.done(key) is not None:
        return

    def edits(document: Document) -> list[Edit]:
        found = document.find(cell)
        if found is None:
            return []
        if decision.decided == "drop":
            return [DeleteCell(cell=cell, base_version=found.version)]
        return [EditCell(cell=cell, base_version=found.version, code=instead)]

    await editor.apply(edits, key=key)


# ── the cells ──


def _tests_of(document: Document) -> set[str]:
    return {test for cell in document.cells for test in tests_in(cell.code)}


def _cell_name(test: AcceptanceTest, taken: set[str]) -> str:
    """One by which people and agents know the cell."""
    name = numbered(f"accept_{test.test.removeprefix('test_')}", lambda free: free not in taken)
    taken.add(name)
    return name


async def _write(
    editor: NotebookEditor, before: Sequence[CellId], tests: Sequence[AcceptanceTest], key: str
) -> _Written:
    """A cell for each test, in the place of those before; they run once somebody defines what they read."""
    await editor.sync()

    def edits(document: Document) -> list[Edit]:
        known = [found for cell in before if (found := document.find(cell)) is not None]
        gone = [DeleteCell(cell=each.id, base_version=each.version) for each in known]
        taken = {cell.name for cell in document.cells}
        return [*gone, *(CreateCell(code=each.code, name=_cell_name(each, taken)) for each in tests)]

    if editor.done(key) is None:
        await editor.apply(edits, key=key, run="none")
    made = editor.done(key)
    changes = () if made is None else made.changes
    cells = {name: each.id for each in changes if each.after is not None for name in tests_in(each.after.code)}
    return _Written(cells=cells)
