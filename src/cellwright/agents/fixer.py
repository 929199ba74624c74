"""Repair in the loop: what failed in a turn is decided on in one step, and what is certain is done without a model.

The notebook is looked at inside the step; what follows from it (permission, calls, a question) are steps of their own,
so a replay does the same.
"""

from __future__ import annotations

import itertools
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Annotated, Any, Final, assert_never

import anyio.to_thread
from pydantic import Field

from cellwright.agents.agent_context import AgentContext, InspectFailure
from cellwright.agents.assignment import Note
from cellwright.agents.reading_answers import ListAnswer, evaluate_answer
from cellwright.agents.readings import in_scratch_cell
from cellwright.agents.repair.choices import (
    AbandonRepair,
    AskPerson,
    ChangeStrategy,
    DeterministicRepair,
    FailureContext,
    FocusedAdvice,
    RepairChoice,
    WantedCall,
)
from cellwright.agents.repair.failures import ObservedFailure, ObservedPass, attempts
from cellwright.agents.repair.strategy import advise, choose_repair, decide_repairs, focused_advice
from cellwright.errors import Unavailable
from cellwright.ids import CellId
from cellwright.journal.flow import Flow
from cellwright.journal.questions import Question
from cellwright.journal.values import Json
from cellwright.kernel.observation import VariablePreview
from cellwright.notebook.marimo_graph import graph
from cellwright.policy.serialization import action_json, parse_action
from cellwright.tools.approval.guard import ActionRefused
from cellwright.tools.callers import GuardedCaller
from cellwright.tools.notebook.editor import NotebookEditor
from cellwright.tools.notebook_tools import ASKED, TRY
from cellwright.tools.project_files import ProjectFiles
from cellwright.tools.tool import ToolCall, ToolResult, has_worked

_TABLES: Final = 6
_MATERIAL: Final = 12
_FILES: Final = 5_000
_PREVIEW_TOKENS: Final = 120

_StoredAttempt = Annotated[ObservedFailure | ObservedPass, Field(union_mode="left_to_right")]


@dataclass(frozen=True, slots=True, kw_only=True)
class _RepairStep:
    """What is done without a model."""

    reason: str
    calls: tuple[WantedCall, ...]
    wants: tuple[Any, ...]
    """Actions, as JSON."""
    otherwise: str
    """What to say if it may not be done."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _RepairDecision:
    """What a step keeps."""

    attempts: tuple[_StoredAttempt, ...] = ()
    certain: tuple[_RepairStep, ...] = ()
    asks: tuple[AskPerson, ...] = ()
    words: tuple[str, ...] = ()
    """Advice about failures that are a model's work."""
    material: tuple[Note, ...] = ()
    gives_up: str = ""
    tables: tuple[str, ...] = ()
    """Whose exact columns would help."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RepairCall:
    """A call that was made for the agent."""

    call: ToolCall
    result: ToolResult
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class RepairOutcome:
    """What was done about a turn's failures."""

    made: tuple[RepairCall, ...] = ()
    feedback: str = ""
    words: tuple[str, ...] = ()
    """Ours: what to consider about failures that were not repaired."""
    material: tuple[Note, ...] = ()
    """Data a model needs to repair the rest; to be fenced."""
    gives_up: str = ""
    stops: str = ""
    """A person wants it to stop here."""


@dataclass(slots=True, kw_only=True)
class Fixer:
    """Repairs what fails in one agent's turns. All it remembers follows from recorded steps."""

    flow: Flow
    caller: GuardedCaller
    context: AgentContext
    is_attended: bool
    _history: list[ObservedFailure | ObservedPass] = field(default_factory=list[ObservedFailure | ObservedPass])
    _keys: list[str] = field(default_factory=list[str])

    async def repair(self, step: int, calls: Sequence[ToolCall], results: Sequence[ToolResult]) -> RepairOutcome:
        """Do what is certain, ask where only a person can say; the rest is for the model."""
        self._keys += [f"{self.flow.id}/{call.id}" for call in calls]
        now = [attempt for result in results for attempt in attempts(result)]
        failed = {attempt.cell for attempt in self._history if isinstance(attempt, ObservedFailure)}
        if not any(isinstance(attempt, ObservedFailure) or attempt.cell in failed for attempt in now):
            self._history += now
            return RepairOutcome()
        numbers = itertools.count(1)
        decided = await self._decide(f"mend {step}", results, {})
        if decided.tables and TRY in self.caller.toolset:
            columns = await self._columns(decided.tables, step, numbers)
            decided = await self._decide(f"mend {step} with columns", results, columns)
        self._history += decided.attempts
        return await self._carry_out(decided, step, numbers)

    # ── deciding ──

    async def _decide(
        self, name: str, results: Sequence[ToolResult], columns: Mapping[str, tuple[str, ...]]
    ) -> _RepairDecision:
        async def look_and_decide() -> _RepairDecision:
            context = FailureContext() if self.context.survey is None else await self.context.survey(self._keys)
            context = replace(context, columns=dict(columns), is_attended=self.is_attended)
            return self._decided(results, context)

        return await self.flow.step(name, look_and_decide, returns=_RepairDecision)

    def _decided(self, results: Sequence[ToolResult], context: FailureContext) -> _RepairDecision:
        known = () if self.context.survey is None else (context.document,)
        found: dict[tuple[Any, ...], ObservedFailure | ObservedPass] = {}
        decided = _RepairDecision()
        for result in results:
            now = attempts(result, document=known[0] if known else None)
            failed = [attempt for attempt in now if isinstance(attempt, ObservedFailure)]
            for failure, choice in decide_repairs(result, self._history, context):
                # What failed before and passes now is no failure of this call: there is only something to say.
                is_now = any(failure.essence == other.essence for other in failed)
                recovery = choice if is_now else focused_advice(failure, context)
                decided = self._with(decided, failure, recovery, context, is_now=is_now)
            # The same several times in one turn is one attempt.
            for attempt in now:
                found[attempt.cell, *(attempt.essence if isinstance(attempt, ObservedFailure) else ())] = attempt
        return replace(decided, attempts=tuple(found.values()))

    def _with(
        self,
        decided: _RepairDecision,
        failure: ObservedFailure,
        recovery: RepairChoice,
        context: FailureContext,
        *,
        is_now: bool,
    ) -> _RepairDecision:
        if isinstance(recovery, DeterministicRepair) and not self._can(recovery):
            recovery, is_now = focused_advice(failure, context), False
        match recovery:
            case DeterministicRepair():
                planned = _RepairStep(
                    reason=recovery.reason,
                    calls=recovery.calls,
                    wants=tuple(action_json(action) for action in recovery.wants),
                    otherwise=focused_advice(failure, context).words,
                )
                is_known = any(planned.calls == other.calls for other in decided.certain)
                return decided if is_known else replace(decided, certain=(*decided.certain, planned))
            case FocusedAdvice(words=words, material=material) if is_now:
                return replace(
                    decided,
                    words=(*decided.words, *filter(None, [words])),
                    material=(*decided.material, *material)[:_MATERIAL],
                    tables=_tables(failure, context) or decided.tables,
                )
            case FocusedAdvice(words=words) | ChangeStrategy(why=words):
                return replace(decided, words=(*decided.words, *filter(None, [words])))
            case AskPerson():
                return replace(decided, asks=(*decided.asks, recovery))
            case AbandonRepair(why=why):
                return replace(decided, gives_up=decided.gives_up or why)
            case _:
                assert_never(recovery)

    def _can(self, recovery: DeterministicRepair) -> bool:
        """Whether the agent has the tools for it, and permission would change something."""
        has_tools = all(call.name in self.caller.toolset for call in recovery.calls)
        return has_tools and (not recovery.wants or self.context.put_into_effect is not None)

    async def _columns(
        self, tables: Sequence[str], step: int, numbers: itertools.count[int]
    ) -> dict[str, tuple[str, ...]]:
        """The exact column names, asked of the kernel through the agent's own calls."""

        async def call(name: str, arguments: Mapping[str, Json]) -> ToolResult:
            return await self._call(ToolCall(id=f"s{step}m{next(numbers)}", name=name, arguments=dict(arguments)))

        columns: dict[str, tuple[str, ...]] = {}
        for table in tables[:_TABLES]:
            code = f"[str(_column) for _column in {table}.columns]"
            answer = await evaluate_answer(code, in_scratch_cell(call))
            if isinstance(answer, ListAnswer) and answer.is_whole:
                columns[table] = answer.texts()
        return columns

    # ── doing ──

    async def _carry_out(self, decided: _RepairDecision, step: int, numbers: itertools.count[int]) -> RepairOutcome:
        if decided.gives_up:
            return RepairOutcome(gives_up=decided.gives_up)
        made: list[RepairCall] = []
        words = list(decided.words)
        for certain in decided.certain:
            done = await self._do(certain, step, numbers)
            made += done
            words += [] if done else [f"It may not be done. {certain.otherwise}"]
        after = [attempt for each in made for attempt in attempts(each.result)]
        # A repair that did not help comes after what it was for: the next thing to do is another.
        left = [attempt for attempt in after if isinstance(attempt, ObservedFailure)]
        words += [advise(choose_repair(failure, self._history)) for failure in left]
        self._history += after
        feedback = (
            [f"Done for you, because it was certain: {', '.join(each.call.id for each in made)}."] if made else []
        )
        stops = ""
        for asks in decided.asks:
            said: Any = await self.flow.ask(Question(topic=ASKED, text=asks.question, choices=asks.options))
            answer = str(said.get("choice", said) if isinstance(said, dict) else said)
            stops = stops or ("The person said so after a failure." if answer == asks.options[-1] else "")
            feedback.append(f"The person was asked what to do about this failure, and answered: {answer}")
        return RepairOutcome(
            made=tuple(made), feedback=" ".join(feedback), words=tuple(words), material=decided.material, stops=stops
        )

    async def _do(self, certain: _RepairStep, step: int, numbers: itertools.count[int]) -> list[RepairCall]:
        """The calls in order, until one does not work; none without permission."""
        if not await self._is_permitted(certain):
            return []
        made: list[RepairCall] = []
        for wanted in certain.calls:
            call = ToolCall(id=f"s{step}m{next(numbers)}", name=wanted.name, arguments=wanted.arguments)
            result = await self._call(call)
            made.append(RepairCall(call=call, result=result, reason=certain.reason))
            if not has_worked(result):
                break
        return made

    async def _is_permitted(self, certain: _RepairStep) -> bool:
        for wanted in certain.wants:
            action = parse_action(wanted)
            permit = await self.caller.guard.permit(self.flow, action, self.caller.who)
            if isinstance(permit, ActionRefused):
                return False
            if self.context.put_into_effect is not None:
                # Not in a step: what it changes is this process, so a replay must do it again.
                await self.context.put_into_effect(action)
            await self.caller.guard.record_result(self.flow, permit, "done")
        return True

    async def _call(self, call: ToolCall) -> ToolResult:
        self._keys.append(f"{self.flow.id}/{call.id}")
        return await self.caller.call(self.flow, call)


def _tables(failure: ObservedFailure, context: FailureContext) -> tuple[str, ...]:
    """Tables that the agent's own failed cell reads and whose exact columns are not known yet."""
    if failure.kind != "missing-column" or failure.cell not in context.own_cells or context.columns:
        return ()
    node = graph(context.document).nodes.get(failure.cell)
    read = node.refs if node is not None else frozenset[str]()
    return tuple(sorted(each.name for each in context.previews if each.kind == "dataframe" and each.name in read))


# ── the notebook around a failure ──


def notebook_survey(
    editor: NotebookEditor, files: ProjectFiles, encodings: Callable[[], Mapping[str, str]] = dict
) -> InspectFailure:
    """For `AgentContext.survey`: the editor's notebook, and the project's files as its code would write them.

    `encodings` says which data files are no UTF-8, as far as they were looked at.
    """

    async def survey(keys: Sequence[str]) -> FailureContext:
        notebook = editor.notebook
        return FailureContext(
            document=notebook.document,
            own_cells=_own_cells(editor, keys),
            previews=await _previews(editor),
            files=await anyio.to_thread.run_sync(_paths, files, notebook.path.resolve().parent),
            encodings=encodings(),
        )

    return survey


def _own_cells(editor: NotebookEditor, keys: Sequence[str]) -> frozenset[CellId]:
    """Cells these calls made, programs included, and that nobody has changed since."""
    made: dict[CellId, str] = {}
    for revision in editor.made_by(keys):
        for change in revision.changes:
            if change.after is None:
                made.pop(change.id, None)
            elif change.before is None or change.id in made:
                made[change.id] = change.after.code
    return frozenset(cell.id for cell in editor.notebook.document.cells if made.get(cell.id) == cell.code)


async def _previews(editor: NotebookEditor) -> tuple[VariablePreview, ...]:
    try:
        return tuple(await editor.notebook.look(tokens=_PREVIEW_TOKENS))
    except Unavailable:
        # The kernel may be what failed.
        return ()


def _paths(files: ProjectFiles, folder: Path) -> tuple[str, ...]:
    """Seen from the notebook's folder. Blocking."""
    found = (entry.path for entry in files.walk(files.root) if not entry.is_folder)
    return tuple(
        Path(os.path.relpath(files.root / path, folder)).as_posix() for path in itertools.islice(found, _FILES)
    )
