"""The tool with which an agent gets rows out of documents, in the middle of other work: the same rules of evidence."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Annotated, Any, Final

import anyio.to_thread
from pydantic import Field

from cellwright.documents.document_files import KINDS, DocumentFile, find_documents
from cellwright.errors import UserError
from cellwright.policy.actions import Action, WriteFile
from cellwright.runs.execute.workspace import Workspace, with_tool
from cellwright.runs.extract.document_work import DocumentWork, events_of
from cellwright.runs.extract.outcomes import ExtractedDocument, counted_words
from cellwright.runs.extract.tables import csv_bytes, tables_of, write_tables
from cellwright.runs.goal.extraction_order import ExtractedField, ExtractionOrder, read_fields
from cellwright.runs.goal.goal import Goal
from cellwright.runs.goal.new_notebook import goal_data
from cellwright.tools.project_files import ProjectFiles
from cellwright.tools.tool import CallContext, Done, Tool, ToolError, ToolResult, tool

EXTRACT: Final = "extract"
_MOST_DOCUMENTS: Final = 1_000
_AT_ONCE: Final = 4
_TABLES: Final = (".csv", ".tsv")
"""Data files, which cells read better."""


def with_documents(workspace: Workspace, goal: Goal) -> Workspace:
    """The workspace with the tool, where the goal names documents. Blocking."""
    try:
        named = find_documents([file.source for file in goal_data(goal)])
    except UserError:
        # So many files are no documents to be read one by one; what is gone is told elsewhere.
        return workspace
    found = [each for each in named if each.kind is not None and each.path.suffix.lower() not in _TABLES]
    if not found or workspace.documents is None:
        return workspace
    context = workspace.context
    tools = with_tool(context.tools, extract_tool(workspace, goal))
    return replace(workspace, context=replace(context, tools=tools))


def extract_tool(workspace: Workspace, goal: Goal) -> Tool:
    """For the agents of a run with this goal."""
    notebook = Path(goal.notebook)
    files = ProjectFiles(Path(goal.project), protected=[notebook], given=goal_data(goal))
    folder = notebook.with_name(f"{notebook.stem}.extraction")

    def write_action(arguments: Any) -> Action:
        return WriteFile(path=str(folder / "rows.parquet"), diff=f"+ {arguments.fields}")

    @tool(name=EXTRACT, action=write_action, needs="write-file", own_steps=True, seconds=None)
    async def extract(
        calling: CallContext,
        fields: Annotated[
            str, Field(max_length=8_000, description="`party, date:date, amount:number, kind:MIT|BSD` and the like.")
        ],
        documents: Annotated[list[str], Field(min_length=1, description="Files and folders.")],
        many: Annotated[bool, Field(description="A document may hold several entries.")] = False,
    ) -> ToolResult:
        """Get a table out of documents (PDF, DOCX, HTML, text, e-mails): another model reads each of them.

        Types: text, number, integer, date, boolean. Every value has a quote that was checked; `marks` says what is
        missing or refused. The tables stand in a folder beside the notebook, for cells to read.
        """
        wanted = await anyio.to_thread.run_sync(read_fields, fields, files.root)
        order = ExtractionOrder(fields=wanted, documents=tuple(documents), has_many_rows=many)
        flow, prefix = calling.flow, f"{calling.call.id} "
        find = partial(anyio.to_thread.run_sync, _found, files, goal, documents)
        found = await flow.step(f"{prefix}find documents", find, returns=tuple[tuple[str, str], ...])
        if not found:
            return ToolError(kind="not-found", message=f"No documents there. Read are: {', '.join(KINDS)}.")
        if len(found) > _MOST_DOCUMENTS:
            return ToolError(kind="too-big", message=f"These are {len(found):,} documents.", hint="Name fewer.")
        work, done = DocumentWork(flow.id, goal, order, workspace, prefix=prefix), list[ExtractedDocument]()
        for start in range(0, len(found), _AT_ONCE):
            for at, file in enumerate(found[start : start + _AT_ONCE], start + 1):
                step = f"{prefix}document {at}"
                done.append(await flow.step(step, partial(work.one, *file, at), returns=ExtractedDocument))
            if events := events_of(done[start:], start, len(found), flow.id):
                await flow.tell(*events)
            if done[-1].end:
                break
        write = partial(anyio.to_thread.run_sync, write_tables, folder, done, wanted)
        await flow.step(f"{prefix}write the tables", write, returns=tuple[str, ...])
        return Done(text=_told(done, wanted, folder.name), is_untrusted=True)

    return extract


def _told(done: Sequence[ExtractedDocument], fields: Sequence[ExtractedField], folder: str) -> str:
    end = next((each.end for each in done if each.end), "")
    columns, rows = tables_of(done, fields)["rows"]
    read = f'pd.read_parquet(mo.notebook_dir() / "{folder}" / "rows.parquet"); also evidence, skipped'
    said = counted_words(done, len(fields)) + (f" It ended early: {end}" if end else "")
    return f"{said}\nRead it with {read}.\n\n{csv_bytes(columns, rows).decode()}"


def _found(files: ProjectFiles, goal: Goal, documents: Sequence[str]) -> tuple[tuple[str, str], ...]:
    """What is named, as the notebook calls it or as the project does. Blocking."""
    given = {name: file.source for file in goal_data(goal) for name in (file.place, file.name, file.target)}
    paths = [given.get(word.rstrip("/")) or files.locate(word) for word in documents]
    found: tuple[DocumentFile, ...] = find_documents(paths)
    return tuple((each.name, str(each.path)) for each in found)
