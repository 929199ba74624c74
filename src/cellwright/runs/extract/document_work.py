"""What is done with one document of an extraction: read in a cage, asked about, held against what it says.

Inside a journal step. Its questions have ids that follow from run and document: asked again, they are not paid again.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Final

import anyio

from cellwright.agents.model_call import AnswerReceived, NoModel, OverBudget
from cellwright.agents.structured_answers import StructuredQuestion, ask_structured, json_of
from cellwright.documents.document import Document, UnreadDocument
from cellwright.documents.document_files import DocumentFile
from cellwright.errors import Unavailable
from cellwright.journal.events import CostRecorded
from cellwright.runs.events import DocumentExtracted
from cellwright.runs.execute.agent_results import first_limits
from cellwright.runs.execute.workspace import Workspace
from cellwright.runs.extract.outcomes import ExtractedDocument, ExtractionCost
from cellwright.runs.extract.prompt import (
    ROLE,
    answer_schema,
    document_text,
    nonce_of,
    parts_of,
    read_answer,
    system_text,
)
from cellwright.runs.extract.rows import ExtractedRow, SaidRow, checked_row, compared, is_empty, joined_parts
from cellwright.runs.goal.extraction_order import ExtractionOrder
from cellwright.runs.goal.goal import Goal

_READ_AT_ONCE: Final = 2


class DocumentWork:
    """Work on documents of one order."""

    def __init__(self, run: str, goal: Goal, order: ExtractionOrder, workspace: Workspace, *, prefix: str = "") -> None:
        self._run, self._goal, self._order, self._workspace = run, goal, order, workspace
        self._prefix = prefix
        self._nonce = nonce_of(run)
        self._readers = anyio.CapacityLimiter(_READ_AT_ONCE)
        self._limits = first_limits(goal)

    async def one(self, name: str, path: str, number: int) -> ExtractedDocument:
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
            run=self._run,
            step=f"{self._prefix}{step}",
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


def _over_words(over: OverBudget) -> str:
    if over.used is None:
        return "Nobody knows what this model costs, so a cap cannot hold: leave it out, or name another model."
    return f"The cap is reached ({over.limit.describe()}): the next question would pass it."


def events_of(
    done: Sequence[ExtractedDocument], start: int, of: int, workflow: str
) -> list[DocumentExtracted | CostRecorded]:
    """What is told of these documents, the first of which is the one after `start`."""
    events = list[DocumentExtracted | CostRecorded]()
    for at, each in enumerate(done, 1):
        events += [
            CostRecorded(
                what=cost.model,
                microdollars=cost.microdollars,
                input_tokens=cost.input_tokens,
                output_tokens=cost.output_tokens,
                workflow=workflow,
                is_price_known=cost.is_price_known,
            )
            for cost in each.costs
        ]
        if not each.end:
            told = DocumentExtracted(
                document=each.name,
                number=start + at,
                of=of,
                rows=len(each.rows),
                marked=sum(bool(row.marks) for row in each.rows),
                skipped=each.why,
                microdollars=sum(cost.microdollars for cost in each.costs),
            )
            events.append(told)
    return events
