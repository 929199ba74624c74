"""What a call did to a notebook, as a model reads it: what failed and why first, then what there is now."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator
from dataclasses import replace
from typing import Any, Final, Protocol

from cellwright.journal.effects import EffectFinding, EffectFound, EffectNotFound
from cellwright.journal.values import Json
from cellwright.kernel.observation import CellOutcome, Observation
from cellwright.notebook.document import Document
from cellwright.notebook.edits import EditRefused
from cellwright.notebook.prompt_summary import clip, clip_middle
from cellwright.tools.history.moves import RESTORE_TEXTS
from cellwright.tools.notebook.editor import NotebookEditor
from cellwright.tools.notebook.saved_notebook import EditOutcome
from cellwright.tools.notebook.trial_records import BRANCHES, trial_json
from cellwright.tools.result_images import image_of
from cellwright.tools.tool import CallContext, Done, Find, ToolError, ToolResult, result_json

_CONSOLE_TOKENS: Final = 400
_OUTPUT_TOKENS: Final = 600
_TRACEBACK_TOKENS: Final = 400
_CODE_TOKENS: Final = 800
_SAME_COLUMNS: Final = 2
_TABLE: Final = re.compile(r"[\d,]+ rows? × [\d,]+ column")
_WORRYING: Final = frozenset({"failed", "interrupted", "cancelled", "lost"})


class HasCells(Protocol):
    """A notebook of whatever kind, open here or attached."""

    @property
    def document(self) -> Document:
        """Its cells as they are now."""
        ...


def observation_text(observation: Observation, notebook: HasCells) -> str:
    """The observation as a model reads it; failed cells come first, and nothing is shown twice."""
    worrying = [cell for cell in observation.cells if cell.status in _WORRYING]
    others = [cell for cell in observation.cells if cell.status not in _WORRYING]
    known: _KnownColumns = {}
    return "\n".join([*_head(observation), *(cell_text(cell, notebook, known) for cell in [*worrying, *others])])


def cell_text(outcome: CellOutcome, notebook: HasCells, known: _KnownColumns | None = None, *, tokens: int = 0) -> str:
    """One cell's outcome as a model reads it, each part in so many tokens; columns that are `known` are only named."""
    cell = notebook.document.find(outcome.id)
    version = f" v{cell.version}" if cell is not None else ""
    name = outcome.id if outcome.name in (outcome.id, "", "_") else f"{outcome.name} ({outcome.id})"
    code = cell.code if cell is not None else ""
    details = _details(outcome, code, {} if known is None else known, tokens)
    return "\n".join([f"[{name}{version}] {outcome.status} {outcome.ms:.0f} ms", *details])


def observation_json(observation: Observation) -> dict[str, Json]:
    """The observation for programs."""
    return {
        "ok": observation.is_ok,
        "cells": [outcome_json(cell) for cell in observation.cells],
        "stale": list(observation.stale),
        "problem": _problem(observation),
    }


def outcome_json(outcome: CellOutcome) -> Json:
    """One cell's outcome for programs."""
    fault = outcome.error
    return {
        "cell": outcome.id,
        "name": outcome.name,
        "status": outcome.status,
        "error": None if fault is None else {"type": fault.type, "message": fault.message, "line": fault.line},
        "output": outcome.output.text if outcome.output else None,
        "console": outcome.console,
        "variables": {variable.name: variable.text for variable in outcome.variables},
    }


def refused_edit(refused: EditRefused) -> ToolError:
    """Why edits were not made; a stale one with the text that is there now."""
    if refused.reason == "owned":
        return ToolError(kind="conflict", message=f"Nothing was changed. {refused.message}")
    message = f"Nothing was changed. Edit {refused.index + 1}: {refused.message}"
    if refused.reason != "stale" or refused.current is None:
        return ToolError(kind="bad-arguments", message=message)
    current = refused.current
    return ToolError(
        kind="conflict",
        message=f"{message}\nNow (version {current.version}):\n{clip(current.code, _CODE_TOKENS)}",
        hint="Base your edit on this text, and keep what somebody else wrote.",
        is_untrusted=True,
    )


def _head(observation: Observation) -> Iterator[str]:
    problem = _problem(observation)
    if problem:
        yield problem
    if observation.is_running:
        yield "Cells still run."
    if observation.stale:
        yield f"Stale, to be run: {', '.join(observation.stale)}."
    if not observation.cells and not problem:
        yield "No cell ran."


def _problem(observation: Observation) -> str:
    if observation.kernel_end is not None:
        return f"The kernel ended: {observation.kernel_end.reason}. The next call starts another and runs what had run."
    return observation.problem


def _details(outcome: CellOutcome, code: str, known: _KnownColumns, tokens: int) -> Iterator[str]:
    if outcome.error is not None:
        line = f" (line {outcome.error.line})" if outcome.error.line else ""
        yield f"  {outcome.error.type}{line}: {clip(outcome.error.message, _OUTPUT_TOKENS)}"
        if outcome.error.traceback:
            yield _block("traceback", outcome.error.traceback, max(tokens, _TRACEBACK_TOKENS))
    if outcome.console:
        yield _block("printed", outcome.console, max(tokens, _CONSOLE_TOKENS))
    shown = outcome.output.text if outcome.output is not None else ""
    is_told = any(variable.text == shown and "\n" not in shown for variable in outcome.variables)
    if shown and not is_told and "".join(shown.split()) not in "".join(code.split()):
        yield _block("output", shown, max(tokens, _OUTPUT_TOKENS))
    imported = [
        f"{each.name} ({each.text.removeprefix('module ')})" for each in outcome.variables if each.kind == "module"
    ]
    if imported:
        yield f"  imported: {', '.join(imported)}"
    for variable in outcome.variables:
        if variable.kind == "module" or (variable.kind == "function" and variable.name.startswith("test_")):
            # How a test went is told by itself.
            continue
        title = f"{variable.name}: {variable.type}"
        if variable.text == shown and "\n" not in shown:
            yield f"{_block(title, shown, max(tokens, _OUTPUT_TOKENS))}, the output"
        elif _is_repeated(variable.text, shown):
            known |= dict.fromkeys(_columns(variable.text), variable.name)
            yield f"  {title}, the output"
        else:
            yield _block(title, _without_known(variable.text, known), _OUTPUT_TOKENS)
            known |= {line: variable.name for line in _columns(variable.text) if line not in known}


_KnownColumns = dict[str, str]
"""A line that tells of a column → the table that it was told of."""


def _is_repeated(text: str, shown: str) -> bool:
    """Whether an output has told all of it: a variable's preview is the shorter one, of a wide table by columns too."""
    told, lines = set(shown.splitlines()), text.splitlines()
    *columns, last = _columns(text) or [""]
    is_wide = last.startswith("…") and {lines[0], *columns} <= told
    rows = set(lines[len(columns) + 4 :])
    # Where an output shows every row, what is said of the columns of the same table stands in them.
    is_whole = bool(rows) and rows <= told and shown.startswith(f"{lines[0]}\nrows:\n")
    return bool(shown) and (is_wide or is_whole or set(lines) <= told)


def _columns(text: str) -> list[str]:
    """The lines of a table's preview that tell of a column each."""
    headline, *rest = text.splitlines() or [""]
    if not _TABLE.match(headline):
        return []
    return list(itertools.takewhile(lambda line: not line.endswith("rows:"), rest))


def _without_known(text: str, known: _KnownColumns) -> str:
    """A table's preview with only those columns told that no other table before it has exactly alike."""
    same = [line for line in _columns(text) if line in known]
    if len(same) < _SAME_COLUMNS:
        return text
    tables = ", ".join(dict.fromkeys(known[line] for line in same))
    headline, *rest = text.splitlines()
    names = ", ".join(line.partition(": ")[0] for line in same)
    return "\n".join([headline, *(line for line in rest if line not in same), f"({names}: as in {tables})"])


def _block(title: str, text: str, tokens: int) -> str:
    shown = clip_middle(text.rstrip(), tokens)
    if "\n" not in shown:
        return f"  {title} = {shown}" if title not in {"printed", "traceback"} else f"  {title}: {shown}"
    return f"  {title}:\n" + "\n".join(f"    {line}" for line in shown.splitlines())


def revision_finder(editor: NotebookEditor) -> Find:
    """Finds a call's revision in the notebook; its cells were run again when the editor came back."""

    async def find(_: Any, calling: CallContext) -> EffectFinding:
        revision = editor.done(calling.key)
        if revision is None:
            return EffectNotFound()
        made = EditOutcome(observation=editor.outcomes_of(revision), news=editor.pop_news())
        return EffectFound(result=result_json(edit_result(editor, made)))

    return find


def edit_result(editor: NotebookEditor, applied: EditOutcome) -> ToolResult:
    """What a call did, as a model reads it."""
    observation = applied.observation
    if observation.refused is not None:
        return with_news(refused_edit(observation.refused), applied.news)
    head = [RESTORE_TEXTS[applied.back_by]] if applied.back_by else []
    head += [_in_branch(applied)] if applied.tried else []
    text = "\n".join([*head, observation_text(observation, editor.notebook)])
    image = next((shown for cell in reversed(observation.cells) if (shown := image_of(cell))), None)
    value = observation_json(observation)
    if applied.tried:
        value |= {BRANCHES: [trial_json(each) for each in applied.tried], "kept": applied.is_kept}
    value |= {} if applied.is_kept else {"ok": False}
    value |= {"by": applied.back_by} if applied.back_by else {}
    return with_news(Done(text=text, value=value, image=image, is_untrusted=True), applied.news)


def _in_branch(applied: EditOutcome) -> str:
    """Where it was tried first, and what that means for the notebook."""
    [tried] = applied.tried
    if applied.is_kept:
        return f"Tried in a branch first ({tried.way}), where it passed; then made in the notebook."
    if tried.status == "passed":
        return "It passed in a branch, and could not be made in the notebook, which is as it was. In the branch:"
    return (
        f"Tried in a branch ({tried.way}), where it failed: none of these edits was made, and the notebook and its "
        "versions are as before. Send again those that ran, without the one that failed or with it mended. There:"
    )


def with_news(result: ToolResult, news: str) -> ToolResult:
    """The answer, after what the agent did not know."""
    if not news:
        return result
    match result:
        case Done(text=text):
            return replace(result, text=f"{news}\n\n{text}")
        case ToolError(message=message):
            return replace(result, message=f"{news}\n\n{message}")
        case _:
            return result
