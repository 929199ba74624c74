"""What a call did to a notebook, as a model reads it: what failed and why first, then what there is now."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any, Final

from cellwright.journal.effects import EffectFinding, EffectFound, EffectNotFound
from cellwright.journal.values import Json
from cellwright.kernel.observation import CellOutcome, Observation
from cellwright.kernel.session.open_notebook import OpenNotebook
from cellwright.notebook.edits import EditRefused
from cellwright.notebook.prompt_summary import clip
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
_WORRYING: Final = frozenset({"failed", "interrupted", "cancelled", "lost"})


def observation_text(observation: Observation, notebook: OpenNotebook) -> str:
    """The observation as a model reads it; failed cells come first."""
    worrying = [cell for cell in observation.cells if cell.status in _WORRYING]
    others = [cell for cell in observation.cells if cell.status not in _WORRYING]
    return "\n".join([*_head(observation), *(cell_text(cell, notebook) for cell in [*worrying, *others])])


def cell_text(outcome: CellOutcome, notebook: OpenNotebook) -> str:
    """One cell's outcome as a model reads it."""
    cell = notebook.document.find(outcome.id)
    version = f" v{cell.version}" if cell is not None else ""
    name = outcome.id if outcome.name in (outcome.id, "", "_") else f"{outcome.name} ({outcome.id})"
    return "\n".join([f"[{name}{version}] {outcome.status} {outcome.ms:.0f} ms", *_details(outcome)])


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


def _details(outcome: CellOutcome) -> Iterator[str]:
    if outcome.error is not None:
        line = f" (line {outcome.error.line})" if outcome.error.line else ""
        yield f"  {outcome.error.type}{line}: {clip(outcome.error.message, _OUTPUT_TOKENS)}"
        if outcome.error.traceback:
            yield _block("traceback", outcome.error.traceback, _TRACEBACK_TOKENS)
    if outcome.console:
        yield _block("printed", outcome.console, _CONSOLE_TOKENS)
    if outcome.output is not None and outcome.output.text:
        yield _block("output", outcome.output.text, _OUTPUT_TOKENS)
    for variable in outcome.variables:
        yield _block(f"{variable.name}: {variable.type}", variable.text, _OUTPUT_TOKENS)


def _block(title: str, text: str, tokens: int) -> str:
    shown = clip(text.rstrip(), tokens)
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
    return f"Tried in a branch ({tried.way}), where it failed: the notebook and its versions are as before. There:"


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
