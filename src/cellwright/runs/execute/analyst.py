"""The analyst at work in a run: the same notebook, tools, guard and journal as an agent's, and no model.

All of its state follows from recorded steps. What it decides is pure; every cell it writes is one guarded, recorded
call of `apply`, so that leave, undo, audit and crashes are as with any agent.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

from cellwright.agents.agent_context import AgentContext
from cellwright.agents.role import Role
from cellwright.analyst.answers.notebook import TOLD
from cellwright.analyst.drafts import CellDraft, Section, TestRow
from cellwright.analyst.goal.request import UnsupportedGoal
from cellwright.analyst.sections.tables import PACKAGES
from cellwright.errors import KernelLost
from cellwright.journal.flow import Flow
from cellwright.profiles.profile import one_line
from cellwright.runs.deliver.delivery import RunEnd, ToldReport
from cellwright.runs.execute.analyst_results import (
    ANCESTOR_FAILED,
    READ_TESTS,
    SectionState,
    answer_in,
    answer_words,
    failing_cells,
    parse_tests,
    section_state_of,
    tests_tool,
    told_in,
)
from cellwright.runs.execute.analyst_sections import (
    DataOverview,
    Understanding,
    checks_of,
    page_moves,
    plan_for,
    read_data_overview,
    understand,
    write_section,
)
from cellwright.runs.execute.workspace import Workspace, with_tool
from cellwright.runs.goal.goal import ANALYST, CONFIGURE, NEW_NOTEBOOK, Goal
from cellwright.runs.plan.plan import Plan, Task, TaskEnd
from cellwright.tools.callers import GuardedCaller
from cellwright.tools.section_cells import (
    SECTIONS,
    AnalystCell,
    FittedSection,
    defined_in_drafts,
    fit,
    namesakes,
    to_take_out,
)
from cellwright.tools.tool import Done, ToolCall, ToolResult, result_text

_APPLY_SECONDS: Final = 900
_AT_ONCE: Final = 100
"""Edits one call of `apply` takes."""
_TOLD_TOKENS: Final = 6_000
_ROUNDS: Final = 3
"""So often what failed is taken out: doing without one cell may fail another."""
_NEEDS_TESTS: Final = frozenset({"findings", "tell"})
_ROLE: Final = Role(
    name=ANALYST,
    description="A first day's work on data, without a model.",
    prompt="It asks no model.",
    tools=("apply", "run", "undo", READ_TESTS),
)


class Analyst:
    """The analyst in one run."""

    def __init__(self, flow: Flow, workspace: Workspace, *, is_new: bool, is_continued: bool = False) -> None:
        self._flow = flow
        self._workspace = workspace
        self._is_new = is_new
        self._is_continued = is_continued
        """It takes up what an earlier run of its own began in this notebook."""
        self._data: DataOverview | None = None
        self._known: Understanding | None = None
        self._ours: tuple[AnalystCell, ...] = ()
        self._tests: tuple[TestRow, ...] | None = None
        self._caller: GuardedCaller | None = None
        """Of the task that is being done."""
        self._calls = 0
        self._caveats: dict[str, tuple[str, ...]] = {}
        self.answer = ""
        self.told: ToldReport | None = None
        """What the first screen of the report says; None: it is read from the answer."""

    @property
    def caveats(self) -> tuple[str, ...]:
        """What a reader must know, in the order of the sections, each once."""
        said = [caveat for section in SECTIONS for caveat in self._caveats.get(section, ())]
        return tuple(dict.fromkeys(said))

    # ── brief ──

    async def make_plan(self, goal: Goal) -> Plan | RunEnd:
        """What will be done for this goal, or why nothing can be."""
        data = self._data = self._data or await self._look(goal)
        if data.problem:
            return RunEnd(status="failed", why=data.problem)
        known = understand(goal.words, data, goal.depth)
        if isinstance(known, UnsupportedGoal):
            more = f" That needs a model. {CONFIGURE.sentence}" if known.needs_model else ""
            return RunEnd(status="failed", why=f"{known.why}{more}")
        self._known = known
        return plan_for(goal.words, known, data.notes)

    async def _look(self, goal: Goal) -> DataOverview:
        editor, workspace = self._workspace.editor, self._workspace

        async def work() -> DataOverview:
            await editor.sync()
            needed = (
                *PACKAGES,
                *(("pyarrow",) if goal.connections else ()),
                *(("fsspec",) if workspace.remote else ()),
            )
            if missing := await editor.notebook.provisioner.lacking(needed):
                return DataOverview(problem=_without(missing, goal))
            return await read_data_overview(
                goal,
                workspace.profiler,
                workspace.tables,
                editor.notebook.document,
                files_behind=workspace.files,
                remote=workspace.remote,
            )

        return await self._flow.step("look at the data", work, returns=DataOverview)

    # ── one task ──

    async def do(self, task: Task, goal: Goal, context: AgentContext) -> TaskEnd:
        """Write the cells of a task's section, run them, and keep those that stand."""
        if task.id not in SECTIONS:
            return TaskEnd(status="failed", note=f"The analyst does not do this. {CONFIGURE.sentence}")
        if self._known is None:
            return TaskEnd(status="failed", note="None of the data could be used.")
        table = self._known.names.fixed("tests")
        tools = with_tool(context.tools, tests_tool(self._workspace.editor, table, self._known.screening))
        own, name = replace(context, tools=tools, program=None), f"{self._flow.id}/{ANALYST}"
        self._caller = own.caller(_ROLE, name, is_attended=goal.approve != "never")
        if not self._is_new and not self._calls:
            await self._call("run", {"cells": "stale", "seconds": _APPLY_SECONDS})
        known = self._understood(task, goal, self._known)
        tests = await self._read_tests() if task.id in _NEEDS_TESTS or (task.id == "answer" and known.screening) else ()
        section = write_section(task.id, known, tests)
        came = await self._write(section, goal.words)
        if task.id == "test":
            self._tests = None
            await self._read_tests()
        if task.id == "tell":
            await self._arrange()
            self.answer = await self._read_answer(known.names.fixed("answer_text"))
        if task.id == "answer":
            await self._arrange()
            self.told = await self._read_told()
            self.answer = answer_words(self.told)
        return replace(came, checks=checks_of(section), note=came.note or self._words_for(task.id))

    def _understood(self, task: Task, goal: Goal, known: Understanding) -> Understanding:
        """With what a person wrote into the task, if anybody did."""
        if not task.todo or self._data is None:
            return known
        more = understand(f"{goal.words} {task.todo}", self._data, goal.depth)
        if isinstance(more, UnsupportedGoal):
            return known
        return replace(known, wanted=more.wanted, question=more.question)

    def _words_for(self, section: str) -> str:
        tests = self._tests or ()
        if section == "test":
            return f"{len(tests)} tests, {sum(test.is_finding for test in tests)} findings"
        return self.answer if section in {"tell", "answer"} else ""

    # ── writing cells ──

    async def _write(self, section: Section, words: str) -> TaskEnd:
        first = self._data.first_cells() if section.id == "read" and self._data is not None else ()
        drafts = (*first, *section.cells)
        fitted, failing = await self._fit(section.id, drafts)
        if fitted.clashes:
            names = ", ".join(fitted.clashes[:5])
            self._caveats[section.id] = ()
            return TaskEnd(
                status="failed",
                note=f"The notebook uses these names for something else: {names}. {NEW_NOTEBOOK.sentence}",
            )
        keys, problem = await self._apply(section.id, fitted.edits)
        if problem:
            return TaskEnd(status="failed", note=problem)
        standing = await self._see(section.id, drafts, fitted, keys, failing)
        if standing.harmed:
            await self._call("undo", {"seconds": _APPLY_SECONDS})
            harmed = ", ".join(standing.harmed[:5])
            return TaskEnd(status="failed", note=f"It would have kept these cells from running: {harmed}.")
        return await self._settle(section, drafts, standing, words)

    async def _fit(self, section: str, drafts: Sequence[CellDraft]) -> tuple[FittedSection, tuple[str, ...]]:
        editor, ours, is_new, is_continued = self._workspace.editor, self._ours, self._is_new, self._is_continued

        async def work() -> _SectionFit:
            await editor.sync()
            document = editor.notebook.document
            standing = (*ours, *namesakes(document, section, drafts, ours)) if is_continued else ours
            fitted = fit(document, section, drafts, standing, is_new=is_new)
            return _SectionFit(fitted=fitted, failing=failing_cells(editor.notebook))

        found = await self._flow.step(f"fit {section}", work, returns=_SectionFit)
        return found.fitted, found.failing

    async def _apply(self, section: str, edits: Sequence[dict[str, Any]]) -> tuple[tuple[str, ...], str]:
        """The keys of the calls, and what kept them from being made."""
        keys: list[str] = []
        for at in range(0, len(edits), _AT_ONCE):
            arguments = {"edits": list(edits[at : at + _AT_ONCE]), "seconds": _APPLY_SECONDS}
            key, result = await self._call("apply", arguments, section)
            if not isinstance(result, Done):
                return tuple(keys), one_line(result_text(result), 400)
            if isinstance(result.value, dict) and result.value.get("kept") is False:
                # Tried in a branch, where it failed.
                return tuple(keys), one_line(result.text, 400)
            keys.append(key)
        return tuple(keys), ""

    async def _call(self, tool: str, arguments: dict[str, Any], word: str = "") -> tuple[str, ToolResult]:
        assert self._caller is not None
        self._calls += 1
        call = ToolCall(id=f"{ANALYST}-{self._calls}-{word or tool}", name=tool, arguments=arguments)
        return f"{self._flow.id}/{call.id}", await self._caller.call(self._flow, call)

    async def _see(
        self,
        section: str,
        drafts: Sequence[CellDraft],
        fitted: FittedSection,
        keys: Sequence[str],
        failed: Sequence[str],
    ) -> SectionState:
        # Those of its other sections are written anew once this one is another: a new goal may read other columns.
        known = (*failed, *(cell.id for cell in self._ours if cell.section != section))

        async def work() -> SectionState:
            return section_state_of(self._workspace.editor, section, drafts, fitted, keys=keys, failing=known)

        return await self._flow.step(f"see {section}", work, returns=SectionState)

    async def _settle(
        self, section: Section, drafts: Sequence[CellDraft], standing: SectionState, words: str
    ) -> TaskEnd:
        """Keep what stands; what failed is taken out, and said."""
        failed: dict[str, str] = {}
        for _ in range(_ROUNDS):
            if not standing.bad:
                break
            failed |= dict(standing.bad)
            standing = await self._take_out(section.id, drafts, standing, to_take_out(drafts, failed))
        others = tuple(cell for cell in self._ours if cell.section != section.id)
        self._ours = (*others, *standing.cells)
        said = tuple(f"{name}: {why}" for name, why in failed.items() if not why.startswith(ANCESTOR_FAILED))
        self._caveats[section.id] = (*section.caveats, *(f"Left out because it failed: {each}" for each in said))
        if not failed:
            return TaskEnd(status="done")
        self._do_without(drafts, failed, words)
        is_all = not any(not draft.is_words and draft.name not in failed for draft in drafts)
        return TaskEnd(
            status="failed", note=f"{'Nothing of it' if is_all else 'Only part of it'} ran: {'; '.join(said)}"
        )

    async def _take_out(
        self, section: str, drafts: Sequence[CellDraft], standing: SectionState, out: Sequence[str]
    ) -> SectionState:
        gone = [cell for cell in standing.cells if cell.draft in out]
        fitted = FittedSection(
            edits=tuple({"op": "delete", "cell": cell.id, "base_version": cell.version} for cell in gone),
            stands=tuple(cell for cell in standing.cells if cell.draft not in out),
        )
        keys, problem = await self._apply(f"{section}-without", fitted.edits)
        return standing if problem else await self._see(section, drafts, fitted, keys, ())

    def _do_without(self, drafts: Sequence[CellDraft], failed: dict[str, str], words: str) -> None:
        """Tables whose cells failed are not used further."""
        if (known := self._known) is not None:
            gone = defined_in_drafts([draft for draft in drafts if draft.name in failed])
            lost = {table.name for table in known.names.tables if {table.as_read, table.table} & gone}
            self._known = known.without(lost, words) if lost else known

    async def _arrange(self) -> None:
        """Put the page into the order it is read; in a person's notebook everything stays where it is."""
        editor, ours = self._workspace.editor, self._ours

        async def work() -> list[dict[str, Any]]:
            await editor.sync()
            return list(page_moves(editor.notebook.document, ours))

        if self._is_new:
            await self._apply("order", await self._flow.step("arrange the page", work))

    # ── reading back ──

    async def _read_tests(self) -> tuple[TestRow, ...]:
        """What the notebook's tests say, once they are there."""
        if self._tests is None:
            wanted = "read" if self._known is not None and self._known.screening else "test"
            is_there = any(cell.section == wanted for cell in self._ours) or not self._is_new
            result = (await self._call(READ_TESTS, {}))[1] if is_there else None
            self._tests = parse_tests(result.value) if isinstance(result, Done) else ()
        return self._tests

    async def _read_told(self) -> ToldReport:
        notebook = self._workspace.editor.notebook

        async def work() -> ToldReport:
            try:
                found = await notebook.values([TOLD], tokens=_TOLD_TOKENS)
            except KernelLost:
                return ToldReport()
            return told_in(found[TOLD].json) if TOLD in found else ToldReport()

        return await self._flow.step("read what is told", work, returns=ToldReport)

    async def _read_answer(self, variable: str) -> str:
        notebook = self._workspace.editor.notebook

        async def work() -> str:
            try:
                found = await notebook.values([variable])
            except KernelLost:
                return ""
            return answer_in(found[variable].json) if variable in found else ""

        return await self._flow.step("read the answer", work)


def _without(missing: Sequence[str], goal: Goal) -> str:
    names, file = " and ".join(missing), Path(goal.notebook).name
    return (
        f"The header of {file} names its own packages, without {names}, which the analyst's cells need. "
        f"{NEW_NOTEBOOK.sentence} Or add them with `uv add --script {file} {' '.join(missing)}`."
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _SectionFit:
    """How a section fits, as its step keeps it."""

    fitted: FittedSection
    failing: tuple[str, ...]
    """Cells that had failed before."""
