"""Data tools: what a careful person does with data first, without a model; each gives the cells that did it.

`profile` looks at files, and tables of connections, in a cage; `compare`, `relate` and `explain_change` work on a table
of the live notebook; `clean` turns a data file into such a table. Kept cells are one revision of the notebook, which
`undo` takes back.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection, Sequence
from dataclasses import replace
from typing import Annotated, Any, Final

import anyio.to_thread
from pydantic import Field

from cellwright.analyst.drafts import CellDraft
from cellwright.analyst.goal.request import AnalysisRequest
from cellwright.analyst.names import name_tables
from cellwright.analyst.sections.quality import quality_section
from cellwright.analyst.sections.tables import tables_section
from cellwright.data.connections import is_name
from cellwright.data.files import DataFile
from cellwright.errors import UserError
from cellwright.journal.values import Json
from cellwright.kernel.profiler import ProfileLimits, Profiler
from cellwright.kernel.table_profiler import TableProfiler
from cellwright.notebook.document import Document
from cellwright.notebook.edit_json import parse_edits
from cellwright.notebook.prompt_summary import clip
from cellwright.notebook.source_text import literal, variable_name
from cellwright.policy.actions import Action, EditCells, QueryConnection, ReadFile, RunCode
from cellwright.profiles.profile import Profile, TableProfile, one_line
from cellwright.profiles.profile_text import profile_text
from cellwright.tools.notebook.editor import NotebookEditor, read_live_json
from cellwright.tools.notebook.reports import observation_json, observation_text, revision_finder
from cellwright.tools.section_cells import defined_in, fit
from cellwright.tools.table_questions import (
    METHOD,
    TableQuestion,
    answer_words,
    cells_for,
    change_words,
    finite,
    question_cell,
)
from cellwright.tools.tool import CallContext, Done, Tool, ToolError, ToolFailure, ToolResult, tool

_PROFILE_TOKENS: Final = 3_000
_CELLS_TOKENS: Final = 2_000
_RUN_SECONDS: Final = 600
_LOOK_SECONDS: Final = 240

Keep = Annotated[bool, Field(description="Put its cells into the notebook.")]
Table = Annotated[str, Field(description="A DataFrame of the notebook.")]
Column = Annotated[str, Field(min_length=1, max_length=300)]
Locate = Callable[[str], DataFile]
"""From a path as the notebook's code has it to the file itself. Raises `UserError`, `RefusedByPolicy`. Blocking."""


def data_tools(
    editor: NotebookEditor, tables: TableProfiler, locate: Locate, *, readable: Collection[str] = ()
) -> list[Tool]:
    """The data tools of this editor's notebook; tables of `readable` connections are looked at without a question."""
    questions = [_question_tool(editor, name, ask) for name, ask in _QUESTIONS.items()]
    return [_profile_tool(tables, locate, readable), *questions, _clean_tool(editor, tables.profiler, locate)]


# ── files ──


def _profile_tool(tables: TableProfiler, locate: Locate, readable: Collection[str]) -> Tool:
    async def action(arguments: Any) -> tuple[Action, ...]:
        named, paths = split_tables(arguments.paths)
        found = await anyio.to_thread.run_sync(lambda: [locate(path) for path in paths])
        asked = [
            QueryConnection(connection=each, access="read", statement="") for each in named if each not in readable
        ]
        return (*(each for file in found for each in _to_read(file)), *asked)

    @tool(action=action, seconds=_LOOK_SECONDS)
    async def profile(
        paths: Annotated[
            list[str], Field(min_length=1, max_length=20, description="Data files, folders, CONNECTION:SCHEMA.TABLE.")
        ],
    ) -> ToolResult:
        """What data files are. Columns with type and meaning, ranges, nulls, problems, keys, how tables join."""
        named, others = split_tables(paths)
        files = await anyio.to_thread.run_sync(lambda: [locate(path) for path in others])
        limits = ProfileLimits(words=())
        if named:
            found = await tables.profile_named(named, files=files, limits=limits)
        else:
            found = await tables.profiler.profile(files, limits)
        text = profile_text(found, tokens=_PROFILE_TOKENS)
        return Done(text=text, value=text, is_untrusted=True)

    return profile


def split_tables(words: Sequence[str]) -> tuple[dict[str, list[str]], list[str]]:
    """Tables by connection, of words like `shop:public.orders`, and the rest."""
    tables, others = dict[str, list[str]](), list[str]()
    for word in words:
        connection, colon, table = word.partition(":")
        if colon and table and is_name(connection):
            tables.setdefault(connection, []).append(table)
        else:
            others.append(word)
    return tables, others


def _to_read(file: DataFile) -> tuple[Action, ...]:
    """What reading it needs leave for: data from elsewhere is there because a person gave it."""
    return () if file.is_outside else (ReadFile(path=str(file.source)),)


def _clean_tool(editor: NotebookEditor, profiler: Profiler, locate: Locate) -> Tool:
    async def located(path: str) -> DataFile:
        if path in defined_in(editor.notebook.document.cells):
            hint = "Name the data file it was read from."
            raise UserError(f"{path!r} is a variable: what its values were in the file is lost.", hint=hint)
        return await anyio.to_thread.run_sync(locate, path)

    async def drafted(path: str) -> tuple[TableProfile, str, tuple[CellDraft, ...]]:
        file = await located(path)
        return _cleaning(await profiler.profile([file]), file, editor.notebook.document)

    async def action(arguments: Any) -> tuple[Action, ...]:
        await editor.sync()
        reading = _to_read(await located(arguments.table))
        if not arguments.keep:
            return reading
        return (*reading, *_changing(editor, (await drafted(arguments.table))[2]))

    @tool(action=action, changes=True, find=revision_finder(editor), seconds=None)
    async def clean(
        calling: CallContext,
        table: Annotated[str, Field(min_length=1, max_length=1_000, description="A data file.")],
        keep: Keep = False,
    ) -> ToolResult:
        """Read a data file into a typed table. Its problems are told, and each repair has a switch."""
        await editor.sync()
        known, variable, cells = await drafted(table)
        problems = [f"- {one_line(oddity.says)}" for oddity in known.oddities[:40]] or ["- no problems were found"]
        words = f"{one_line(known.name)}: {known.rows:,} rows. The table is `{variable}`.\n" + "\n".join(problems)
        return await _answered(editor, calling, cells, words, {"table": variable}, keep=keep)

    return clean


def _cleaning(
    profile: Profile, source: DataFile, document: Document
) -> tuple[TableProfile, str, tuple[CellDraft, ...]]:
    """The first table of a file, what it will be called, and the cells that read and repair it."""
    known = next((table for table in profile.tables if table.columns), None)
    if known is None:
        why = "; ".join(one_line(each.why) for each in profile.skipped[:3]) or "no table is in it"
        raise ToolFailure(f"{source.place!r} cannot be read: {why}.", kind="failed", hint="Look at it with `profile`.")
    defined = defined_in(document.cells)
    taken = defined | {cell.name for cell in document.cells}
    file = variable_name(source.source.name, is_folder=source.is_folder, taken=taken)
    names = name_tables(profile, {source.place: file}, taken=taken)
    wanted = AnalysisRequest(purpose="quality")
    first = [CellDraft(name=file, code=f"{file} = mo.notebook_dir() / {literal(source.place)}")]
    first = [*([] if "mo" in defined else [CellDraft(name="imports", code="import marimo as mo")]), *first]
    sections = [make(profile=profile, names=names, wanted=wanted) for make in (tables_section, quality_section)]
    return known, names.of(known.name).table, (*first, *(cell for section in sections for cell in section.cells))


# ── tables of the notebook ──


def _question_tool(editor: NotebookEditor, name: str, ask: Callable[..., Awaitable[TableQuestion]]) -> Tool:
    """The tool whose arguments are those of `ask`."""

    async def action(arguments: Any) -> tuple[Action, ...]:
        await editor.sync()
        question = await ask(**dict(arguments))
        _check_table(editor.notebook.document, question.table)
        trying = RunCode(notebook=str(editor.notebook.path), code=question_cell(question))
        if not question.keep:
            return (trying,)
        return (trying, *_changing(editor, cells_for(question, None, taken=())))

    async def run(arguments: Any, calling: CallContext) -> ToolResult:
        return await _ask(editor, calling, await ask(**dict(arguments)))

    return replace(
        tool(name=name)(ask), run=run, action=action, changes=True, find=revision_finder(editor), seconds=None
    )


async def _compare(table: Table, measure: Column, by: Column, keep: Keep = False) -> TableQuestion:
    """Whether a measure differs between groups, by a test. With the effect, its interval, and cells to keep."""
    return TableQuestion(method="difference", table=table, columns=(measure, by), keep=keep)


async def _relate(table: Table, first: Column, second: Column, keep: Keep = False) -> TableQuestion:
    """Whether two columns go together, by a test. It is chosen by what they hold."""
    return TableQuestion(method="relate", table=table, columns=(first, second), keep=keep)


async def _explain_change(
    table: Table,
    measure: Column,
    when: Annotated[str, Field(min_length=1, max_length=300, description="The column of dates.")],
    first: Annotated[tuple[str, str], Field(description="First and last ISO date of the earlier span.")],
    second: Annotated[tuple[str, str], Field(description="Of the later span.")],
    by: Column,
    keep: Keep = False,
) -> TableQuestion:
    """Where a change comes from. Of a total between two spans of time, by group; the parts add up exactly."""
    columns, spans = (measure, when, by), (first, second)
    return TableQuestion(method="explain_change", table=table, columns=columns, spans=spans, keep=keep)


_QUESTIONS: Final = {"compare": _compare, "relate": _relate, "explain_change": _explain_change}


async def _ask(editor: NotebookEditor, calling: CallContext, question: TableQuestion) -> ToolResult:
    """The answer from the live notebook, and the cells that give it."""
    await editor.sync()
    _check_table(editor.notebook.document, question.table)
    answer = await read_live_json(editor, question_cell(question))
    words = change_words(question, answer) if question.method == "explain_change" else answer_words(question, answer)
    if words is None:
        return ToolError(
            kind="failed",
            message="There is too little in these columns to say anything: too few values, or only one kind of them.",
            hint="Look at the columns with `look`.",
        )
    document = editor.notebook.document
    cells = cells_for(question, answer, taken=defined_in(document.cells) | {cell.name for cell in document.cells})
    return await _answered(editor, calling, cells, words, finite(answer), keep=question.keep)


def _check_table(document: Document, table: str) -> None:
    if not table.isidentifier() or table not in defined_in(document.cells):
        hint = "Name a DataFrame of the notebook; of a data file `clean` with keep=true makes one."
        raise ToolFailure(f"No variable {table[:80]!r} is in the notebook.", kind="not-found", hint=hint)


# ── cells that may stay ──


async def _answered(
    editor: NotebookEditor, calling: CallContext, cells: Sequence[CellDraft], words: str, value: Json, *, keep: bool
) -> ToolResult:
    if not keep:
        text = f"{words}\n\nThe cells that give it; keep=true puts them into the notebook:\n{_shown(cells)}"
        code: Json = [{"name": draft.name, "code": draft.code} for draft in cells]
        return Done(text=text, value={"says": words, "result": value, "cells": code}, is_untrusted=True)
    fitted = fit(editor.notebook.document, "tell", cells, (), is_new=False)
    if fitted.clashes:
        return ToolError(kind="conflict", message=f"The notebook defines these already: {', '.join(fitted.clashes)}.")
    if not fitted.edits:
        return Done(text=f"{words}\n\nIts cells are in the notebook already.", value={"says": words}, is_untrusted=True)
    applied = await editor.apply(
        lambda document: parse_edits(list(fitted.edits), document), key=calling.key, seconds=_RUN_SECONDS
    )
    text = f"{words}\n\nKept as cells:\n{observation_text(applied.observation, editor.notebook)}"
    kept: Json = {"says": words, "result": value, **observation_json(applied.observation)}
    return Done(text=text, value=kept, is_untrusted=True)


def _shown(cells: Sequence[CellDraft]) -> str:
    """The cells for a model: methods, which are long and always the same, by name only."""
    methods = [draft.name for draft in cells if draft.name.startswith(METHOD)]
    others = [f"# cell {draft.name}\n{draft.code}" for draft in cells if not draft.name.startswith(METHOD)]
    named = [f"# and the functions of: {', '.join(methods)}"] if methods else []
    return clip("\n\n".join([*named, *others]), _CELLS_TOKENS)


def _changing(editor: NotebookEditor, cells: Sequence[CellDraft]) -> tuple[Action, ...]:
    path = str(editor.notebook.path)
    code = "\n\n".join(draft.code for draft in cells)
    added = "\n".join(f"+{line}" for line in code.splitlines())
    return EditCells(notebook=path, diff=added), RunCode(notebook=path, code=code)
