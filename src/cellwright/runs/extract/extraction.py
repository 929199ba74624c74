"""An extraction as a run: documents read in cages, models asked, values held against their quotes, a notebook.

Each document is one journal step, and each question to a model has an id of its own: killed anywhere, it goes on where
it was, reads no document twice and pays for nothing twice.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Final

import anyio
import anyio.to_thread

from cellwright.agents.steering import SteeringInput
from cellwright.documents.document_files import find_documents
from cellwright.errors import UserError
from cellwright.journal.flow import Flow
from cellwright.notebook.document import Document as NotebookDocument
from cellwright.notebook.edits import Edit
from cellwright.runs.deliver.delivery import CheckOutcome, Delivery, RunEnd
from cellwright.runs.events import PlanAdopted, RunDelivered, RunStage, StageEntered, task_event
from cellwright.runs.execute.agent_results import AgentResults, delivery_of, first_limits
from cellwright.runs.execute.files import deliver, tidy_up
from cellwright.runs.execute.steering_commands import hear
from cellwright.runs.execute.workspace import RunResources, Workspace
from cellwright.runs.extract.cells import extraction_cells
from cellwright.runs.extract.document_work import DocumentWork, events_of
from cellwright.runs.extract.outcomes import ExtractedDocument, counted_words
from cellwright.runs.extract.prompt import (
    ROLE,
)
from cellwright.runs.extract.tables import write_tables
from cellwright.runs.goal.extraction_order import ExtractionOrder, field_list
from cellwright.runs.goal.goal import Goal
from cellwright.runs.plan.plan import Plan, Task, TaskStatus

_AT_ONCE: Final = 4
"""Documents at work at the same time."""
_TASK: Final = "extract"


class Extraction:
    """The state of one extraction; all of it follows from recorded steps."""

    def __init__(
        self, flow: Flow, goal: Goal, order: ExtractionOrder, resources: RunResources, workspace: Workspace
    ) -> None:
        self._flow, self._goal, self._order = flow, goal, order
        self._resources, self._workspace = resources, workspace
        self._work = DocumentWork(flow.id, goal, order, workspace)
        self._plan = Plan(
            title=goal.words[:120],
            tasks=(Task(id=_TASK, title=f"Extract {field_list(order.fields)}"[:200], role=ROLE),),
        )
        self._used = AgentResults(limits=first_limits(goal))
        self._steered, self._heard = SteeringInput(), 0
        self._documents: list[ExtractedDocument] = []

    async def run(self, *, is_new: bool) -> Delivery:
        """Read, ask, check, deliver; what there is when it has to end early."""
        await self._flow.tell(PlanAdopted(plan=self._plan), *(task_event(task) for task in self._plan.tasks))
        await self._stage("build")
        files = await self._flow.step("find documents", self._find, returns=tuple[tuple[str, str], ...])
        await self._settle_task("running", f"{len(files):,} documents")
        over = await self._extract(files)
        self._used.answer = counted_words(self._documents, len(self._order.fields))
        if over is not None and not any(each.rows for each in self._documents):
            await self._settle_task("failed", over.why)
            return await self._deliver(over, None, is_new=is_new)
        self._used.answer += f" The tables are in {self._folder.name}: rows, evidence and skipped, as CSV and Parquet."
        await self._flow.step("write the tables", self._write, returns=tuple[str, ...])
        await self._flow.step("write the notebook", self._write_cells)
        await self._settle_task("done" if over is None else "failed", self._used.answer if over is None else over.why)
        await self._stage("check")
        checked = await self._flow.step("check 1.1", partial(self._check, is_new=is_new), returns=CheckOutcome)
        return await self._deliver(over, checked, is_new=is_new)

    # ── documents ──

    async def _find(self) -> tuple[tuple[str, str], ...]:
        if self._workspace.documents is not None:
            await anyio.to_thread.run_sync(self._workspace.documents.store.prune)
        paths = [Path(path) for path in self._order.documents]
        found = await anyio.to_thread.run_sync(find_documents, paths)
        if not found:
            hint = "PDF, DOCX, HTML, Markdown, text, CSV and e-mails (.eml) are read."
            raise UserError("There are no documents in these folders.", hint=hint)
        return tuple((file.name, str(file.path)) for file in found)

    async def _extract(self, files: Sequence[tuple[str, str]]) -> RunEnd | None:
        """All of them, some at a time; between, people are heard. None, or why it ended before."""
        for start in range(0, len(files), _AT_ONCE):
            if (stopped := await self._hear()) is not None:
                return stopped
            group = files[start : start + _AT_ONCE]
            done: list[ExtractedDocument] = await self._flow.parallel(
                *(
                    self._flow.step(
                        f"document {start + at}", partial(self._work.one, *file, start + at), returns=ExtractedDocument
                    )
                    for at, file in enumerate(group, 1)
                )
            )
            await self._tell(done, start, len(files))
            self._documents += [each for each in done if not each.end]
            if (end := next((each.end for each in done if each.end), "")) != "":
                left = len(files) - len(self._documents)
                return RunEnd(
                    status="partial" if self._documents else "failed", why=f"{end} {left:,} documents are left."
                )
        return None

    async def _tell(self, done: Sequence[ExtractedDocument], start: int, of: int) -> None:
        for cost in (cost for each in done for cost in each.costs):
            self._used.tokens += cost.input_tokens + cost.output_tokens
            self._used.microdollars += cost.microdollars
            self._used.turns += 1
        if events := events_of(done, start, of, self._flow.id):
            await self._flow.tell(*events)

    async def _hear(self) -> RunEnd | None:
        said = await hear(self._flow, self._steered, self._heard)
        self._steered, self._heard = said.steered, said.heard.upto
        return RunEnd(status="stopped", why=said.steered.stop) if said.steered.stop else None

    # ── what is handed over ──

    @property
    def _folder(self) -> Path:
        notebook = Path(self._goal.notebook)
        return notebook.with_name(f"{notebook.stem}.extraction")

    async def _write(self) -> tuple[str, ...]:
        work = partial(write_tables, self._folder, self._documents, self._order.fields)
        return await anyio.to_thread.run_sync(work)

    async def _write_cells(self) -> None:
        editor, key = self._workspace.editor, f"{self._flow.id}/extraction"
        await editor.sync()
        if editor.done(key) is not None:
            return

        def edits(document: NotebookDocument) -> list[Edit]:
            has_marimo = any("import marimo as mo" in cell.code for cell in document.cells)
            title, order, folder = self._plan.title, self._order, self._folder.name
            return extraction_cells(title, order, self._documents, folder, has_marimo=has_marimo)

        await editor.apply(edits, key=key)

    async def _check(self, *, is_new: bool) -> CheckOutcome:
        await tidy_up(self._workspace, self._plan, f"{self._flow.id}/tidy", is_new=is_new)
        return await self._resources.check(self._flow.run, self._goal, "")

    async def _deliver(self, over: RunEnd | None, checked: CheckOutcome | None, *, is_new: bool) -> Delivery:
        await self._stage("deliver")
        flow, workspace, goal = self._flow, self._workspace, self._goal
        unread = [f"{each.name}: {each.why}" for each in self._documents if each.skipped is not None]
        partly = [f"{each.name}: {notice}" for each in self._documents for notice in each.notices]
        delivery = delivery_of(
            goal,
            self._plan,
            self._used,
            checked=checked,
            over=over,
            assumptions=(),
            caveats=(*_shortened(unread, "not read"), *_shortened(partly, "read in part")),
            comparisons=(),
        )
        hand_over = partial(deliver, workspace, goal, delivery, flow.run, flow.read, is_new=is_new)
        delivered = await flow.step("deliver", hand_over, returns=Delivery)
        await flow.tell(RunDelivered(delivery=delivered), StageEntered(stage="over", note=delivered.status))
        return delivered

    async def _settle_task(self, status: TaskStatus, note: str) -> None:
        [task] = self._plan.tasks
        self._plan = self._plan.with_task(replace(task, status=status, note=note))
        await self._flow.tell(*(task_event(each) for each in self._plan.tasks))

    async def _stage(self, stage: RunStage, note: str = "") -> None:
        await self._flow.tell(StageEntered(stage=stage, note=note))


_MOST_CAVEATS: Final = 20


def _shortened(lines: Sequence[str], what: str) -> tuple[str, ...]:
    more = len(lines) - _MOST_CAVEATS
    return (
        *lines[:_MOST_CAVEATS],
        *([f"{more:,} more were {what}: see `skipped` and `evidence`."] if more > 0 else []),
    )
