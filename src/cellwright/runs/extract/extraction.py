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

from cellwright.agents.model_call import AnswerReceived, NoModel, OverBudget
from cellwright.agents.steering import SteeringInput
from cellwright.agents.structured_answers import StructuredQuestion, ask_structured, json_of
from cellwright.documents.document import Document, UnreadDocument
from cellwright.documents.document_files import DocumentFile, find_documents
from cellwright.errors import Unavailable, UserError
from cellwright.journal.events import CostRecorded
from cellwright.journal.flow import Flow
from cellwright.notebook.document import Document as NotebookDocument
from cellwright.notebook.edits import Edit
from cellwright.policy.budgets import Limit
from cellwright.runs.deliver.delivery import CheckOutcome, Delivery, RunEnd
from cellwright.runs.events import DocumentExtracted, PlanAdopted, RunDelivered, RunStage, StageEntered, task_event
from cellwright.runs.execute.agent_results import AgentResults, delivery_of, first_limits
from cellwright.runs.execute.files import deliver, tidy_up
from cellwright.runs.execute.steering_commands import hear
from cellwright.runs.execute.workspace import RunResources, Workspace
from cellwright.runs.extract.cells import extraction_cells
from cellwright.runs.extract.outcomes import ExtractedDocument, ExtractionCost, counted_words
from cellwright.runs.extract.prompt import (
    ROLE,
    answer_schema,
    document_text,
    nonce_of,
    parts_of,
    read_answer,
    system_text,
)
from cellwright.runs.extract.rows import (
    ExtractedRow,
    SaidRow,
    checked_row,
    compared,
    is_empty,
    joined_parts,
)
from cellwright.runs.extract.tables import write_tables
from cellwright.runs.goal.extraction_order import ExtractionOrder, field_list
from cellwright.runs.goal.goal import Goal
from cellwright.runs.plan.plan import Plan, Task

_AT_ONCE: Final = 4
"""Documents at work at the same time."""
_READ_AT_ONCE: Final = 2
_TASK: Final = "extract"


class Extraction:
    """The state of one extraction; all of it follows from recorded steps."""

    def __init__(
        self, flow: Flow, goal: Goal, order: ExtractionOrder, resources: RunResources, workspace: Workspace
    ) -> None:
        self._flow, self._goal, self._order = flow, goal, order
        self._resources, self._workspace = resources, workspace
        self._nonce = nonce_of(flow.id)
        self._readers = anyio.CapacityLimiter(_READ_AT_ONCE)
        self._limits: tuple[Limit, ...] = first_limits(goal)
        self._plan = Plan(
            title=goal.words[:120],
            tasks=(Task(id=_TASK, title=f"Extract {field_list(order.fields)}"[:200], role=ROLE),),
        )
        self._used = AgentResults(limits=self._limits)
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
        await self._flow.step("write the tables", self._write, returns=tuple[str, ...])
        await self._flow.step("write the notebook", self._write_cells)
        await self._settle_task("done" if over is None else "failed", self._used.answer if over is None else over.why)
        await self._stage("check")
        checked = await self._flow.step("check 1.1", partial(self._check, is_new=is_new), returns=CheckOutcome)
        return await self._deliver(over, checked, is_new=is_new)

    # ── documents ──

    async def _find(self) -> tuple[tuple[str, str], ...]:
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
                        f"document {start + at}", partial(self._one, *file, start + at), returns=ExtractedDocument
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
        events = list[DocumentExtracted | CostRecorded]()
        for at, each in enumerate(done, 1):
            for cost in each.costs:
                self._used.tokens += cost.input_tokens + cost.output_tokens
                self._used.microdollars += cost.microdollars
                self._used.turns += 1
                events.append(
                    CostRecorded(
                        what=cost.model,
                        microdollars=cost.microdollars,
                        input_tokens=cost.input_tokens,
                        output_tokens=cost.output_tokens,
                        workflow=self._flow.id,
                        is_price_known=cost.is_price_known,
                    )
                )
            if not each.end:
                events.append(
                    DocumentExtracted(
                        document=each.name,
                        number=start + at,
                        of=of,
                        rows=len(each.rows),
                        marked=sum(bool(row.marks) for row in each.rows),
                        skipped=each.why,
                        microdollars=sum(cost.microdollars for cost in each.costs),
                    )
                )
        if events:
            await self._flow.tell(*events)

    async def _hear(self) -> RunEnd | None:
        said = await hear(self._flow, self._steered, self._heard)
        self._steered, self._heard = said.steered, said.heard.upto
        return RunEnd(status="stopped", why=said.steered.stop) if said.steered.stop else None

    async def _one(self, name: str, path: str, number: int) -> ExtractedDocument:
        """One document: read, asked about, and held against what it says."""
        reader = self._workspace.documents
        if reader is None:
            raise Unavailable("Documents cannot be read here.", hint="Report it if it happens again.")
        async with self._readers:
            read = await reader.read(DocumentFile(name=name, path=Path(path)))
        if isinstance(read, UnreadDocument):
            return ExtractedDocument(name=name, sha256=read.sha256, skipped=read.reason, why=read.why)
        found = ExtractedDocument(name=name, sha256=read.sha256, pages=len(read.pages), notices=read.notices)
        readings = list[tuple[ExtractedRow, ...]]()
        for reading in range(1, self._order.readings + 1):
            found, rows = await self._reading(found, read, number, reading)
            if rows is None:
                return found
            readings.append(rows)
        rows = readings[0] if len(readings) == 1 else compared(*readings)
        return replace(found, rows=rows)

    async def _reading(
        self, found: ExtractedDocument, document: Document, number: int, reading: int
    ) -> tuple[ExtractedDocument, tuple[ExtractedRow, ...] | None]:
        """One reading of a document, part by part."""
        parts, rows = list(parts_of(document)), list[ExtractedRow]()
        for at, part in enumerate(parts, 1):
            text = document_text(document, part, self._nonce, number=at, of=len(parts))
            said = None
            for attempt in (1, 2):
                step = f"document-{number}.{at}.{reading}.{attempt}"
                found, said = await self._ask(found, text, step, reading)
                if found.end or said is not None:
                    break
                text += "\n\nYour last answer was not of the shape that is asked for. Give it again."
            if found.end:
                return found, None
            if said is None:
                why = "the model's answer was not of the shape that was asked for, twice"
                return replace(found, skipped="no-answer", why=why), None
            rows += [checked_row(each, self._order.fields, document) for each in said]
        if self._order.has_many_rows:
            return found, tuple(row for row in rows if not is_empty(row))
        one = joined_parts(rows) or checked_row({}, self._order.fields, document)
        return found, (one,)

    async def _ask(
        self, found: ExtractedDocument, text: str, step: str, reading: int
    ) -> tuple[ExtractedDocument, tuple[SaidRow, ...] | None]:
        context, goal = self._workspace.context, self._goal
        # The second reading begins with the second model that was named, if there is one.
        turn = (reading - 1) % max(1, len(goal.models))
        question = StructuredQuestion(
            run=self._flow.id,
            step=step,
            role=ROLE,
            person=context.person,
            system=system_text(self._order, self._nonce),
            text=context.masker.mask(text).text,
            name="rows",
            schema=answer_schema(self._order.fields),
            models=(*goal.models[turn:], *goal.models[:turn]),
            is_private=goal.is_private,
            limits=self._limits,
        )
        match await ask_structured(context.models, question):
            case AnswerReceived() as answer:
                cost = ExtractionCost(
                    model=answer.model,
                    microdollars=answer.microdollars or 0,
                    input_tokens=answer.input_tokens,
                    output_tokens=answer.output_tokens,
                    is_price_known=answer.microdollars is not None,
                )
                return replace(found, costs=(*found.costs, cost)), read_answer(json_of(answer))
            case OverBudget() as over:
                return replace(found, end=_over_words(over)), None
            case NoModel(message=message):
                return replace(found, end=message), None
            case _:
                return replace(found, end="The question was taken back."), None

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

    async def _settle_task(self, status: str, note: str) -> None:
        state = next(each for each in ("running", "done", "failed") if each == status)
        [task] = self._plan.tasks
        self._plan = self._plan.with_task(replace(task, status=state, note=note))
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


def _over_words(over: OverBudget) -> str:
    if over.used is None:
        return "Nobody knows what this model costs, so a cap cannot hold: leave it out, or name another model."
    return f"The cap is reached ({over.limit.describe()}): the next question would pass it."
