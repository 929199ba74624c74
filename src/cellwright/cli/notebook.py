"""`cellwright notebook run|apply|show|verify|proof`."""

from __future__ import annotations

import dataclasses
import json
from collections import defaultdict
from pathlib import Path
from typing import Annotated, Any

import anyio
import typer

from cellwright.app import open_notebook
from cellwright.cli import notebook_options as given
from cellwright.cli.notebook_options import NotebookChoice, NotebookOptions
from cellwright.cli.option_groups import GroupedCommands
from cellwright.cli.render import console
from cellwright.cli.render.remedies import hint_text
from cellwright.cli.terminal_input import ask_line, is_interactive
from cellwright.errors import Unavailable, UserError
from cellwright.kernel.observation import CellFinishedEvent, CellOutcome, Event, Observation
from cellwright.kernel.process.call import Call
from cellwright.kernel.session.open_notebook import OpenNotebook
from cellwright.notebook.dataflow import Graph
from cellwright.notebook.document import Document
from cellwright.notebook.edit_json import parse_edits
from cellwright.notebook.files import SaveConflict, read
from cellwright.notebook.marimo_graph import graph
from cellwright.notebook.prompt_summary import summary
from cellwright.sandbox.host.file_changes import FileChange, UnkeptChanges

app = GroupedCommands(help="Open a marimo notebook without a browser.", no_args_is_help=True)


@app.command()
def run(file: given.FileArgument, chosen: NotebookChoice) -> None:
    """Run a notebook from top to bottom in the cage and tell the outcome of every cell."""
    _finish(anyio.run(_run, file, chosen.read(), not chosen.as_json), chosen.as_json)


@app.command()
def apply(
    file: given.FileArgument,
    edits: Annotated[Path, typer.Argument(metavar="EDITS.json", help="A JSON list of edits; `-` reads stdin.")],
    chosen: NotebookChoice,
) -> None:
    """Apply edits, run what they affect, save the notebook."""
    _finish(anyio.run(_run, file, chosen.read(), not chosen.as_json, _read_json(edits)), chosen.as_json)


@app.command()
def show(file: given.FileArgument, as_json: given.JsonOption = False) -> None:
    """Show a notebook's cells and their graph, without running anything."""
    document = read(file).document
    cells = _shown_cells(document)
    view = {"path": str(file), "options": dict(document.options), "cells": cells}
    console.result(view, as_json, lambda _: console.notebook_cells(cells, summary(document, {}, 8_000)))


@app.command()
def verify(
    file: given.FileArgument,
    as_json: given.JsonOption = False,
    data: given.DataOption = None,
    limit: given.LimitOption = None,
    project: given.ProjectOption = None,
    reveal: given.RevealOption = None,
    tier: given.TierOption = None,
    allow_uncontained: given.UncontainedOption = False,
    timeout: given.TimeoutOption = 600,
    strict: given.StrictOption = False,
    python: given.PythonOption = "header",
    out: given.OutOption = None,
) -> None:
    """Run a notebook twice from scratch, compare, check, and store a signed proof if all is well."""
    from cellwright.cli import notebook_proofs

    options = NotebookChoice(
        data=data,
        limit=limit,
        project=project,
        reveal=reveal,
        tier=tier,
        allow_uncontained=allow_uncontained,
        python=python,
    ).read()
    verified = notebook_proofs.verify_now(file, options, seconds=timeout, is_strict=strict, out=out, as_json=as_json)
    raise typer.Exit(0 if verified else 1)


@app.command()
def proof(
    file: given.FileArgument,
    as_json: given.JsonOption = False,
    proof: given.ProofOption = None,
    data: given.DataOption = None,
    project: given.ProjectOption = None,
) -> None:
    """Check a notebook's proof: who signed it, and exactly what has changed since. Nothing is run."""
    from cellwright.cli import notebook_proofs

    options = NotebookChoice(data=data, files="drop", project=project).read()
    raise typer.Exit(0 if notebook_proofs.check_now(file, proof, options["files"], as_json=as_json) else 1)


# ── what each command does ──


async def _run(file: Path, options: NotebookOptions, is_for_people: bool, *edits: object) -> dict[str, Any]:
    """What came of all cells; with edits, of what those affect, and of saving them."""
    saving: dict[str, Any] = {}
    async with _opened(file, options) as notebook:
        call = notebook.apply(parse_edits(edits[0], notebook.document)) if edits else notebook.run("all")
        observation = await _followed(call, is_for_people)
        if edits:
            refused = _refusal(observation, await notebook.save() if observation.refused is None else None)
            saving = {"refused": refused, "saved": refused is None}
        result = _result(notebook, observation)
        changes = await _changes_not_kept(notebook, observation)
    return {**result, "files": _settled(notebook, changes), "held_back": _held_back(notebook), **saving}


def _opened(file: Path, options: NotebookOptions) -> Any:
    async def ask_to_keep(question: UnkeptChanges) -> bool:
        answer = await ask_line(f"The notebook left {question.reason}. Keep them? [y/N] ")
        return answer is not None and answer.lower() in {"y", "yes"}

    return open_notebook(
        file, on_progress=console.note, ask_to_keep=ask_to_keep if is_interactive() else None, **options
    )


async def _followed(call: Call, is_for_people: bool) -> Observation:
    last: Event | None = None
    async for last in call:
        if is_for_people and isinstance(last, CellFinishedEvent):
            console.cell_line(_cell(last.outcome))
    assert isinstance(last, Observation)
    return last


def _result(notebook: OpenNotebook, observation: Observation) -> dict[str, Any]:
    kernel = notebook.live.kernel
    end = observation.kernel_end
    return {
        "cells": [_cell(outcome) for outcome in observation.cells],
        "stale": list(observation.stale),
        "kernel_end": dataclasses.asdict(end) if end is not None else None,
        "problem": observation.problem,
        "sandbox": {
            "tier": notebook.provisioner.options.tier,
            "limits": notebook.provisioner.options.limits.as_dict(),
            "hidden": list(notebook.provisioner.hidden),
            "left_out": list(notebook.provisioner.left_out),
            "volumes": list(notebook.provisioner.volumes.all),
            "is_copied": notebook.provisioner.is_copied,
        },
        "python": notebook.provisioner.python,
        "kernel_ready_ms": round(kernel.ready_ms, 1) if kernel is not None else None,
        "ok": observation.is_ok,
    }


def _cell(outcome: CellOutcome) -> dict[str, Any]:
    return {
        "id": outcome.id,
        "name": outcome.name,
        "status": outcome.status,
        "error": dataclasses.asdict(outcome.error) if outcome.error else None,
        "console": outcome.console,
        "output": {"mimetype": outcome.output.mimetype, "text": outcome.output.text} if outcome.output else None,
        "ms": outcome.ms,
    }


async def _changes_not_kept(notebook: OpenNotebook, observation: Observation) -> tuple[FileChange, ...]:
    """What will be forgotten when the notebook closes; what is kept is listed then, with progress.

    None where the cage went with its kernel: why that ended stands in the result, and is what counts.
    """
    if notebook.provisioner.options.files == "keep":
        return ()
    try:
        return await notebook.changed_files()
    except Unavailable:
        if observation.kernel_end is None:
            raise
        return ()


def _settled(notebook: OpenNotebook, changes: tuple[FileChange, ...]) -> list[dict[str, Any]]:
    refused = {path: reason for report in notebook.kept for path, reason in report.refused}
    none = "held back" if _held_back(notebook) is not None else None
    kept = {path for report in notebook.kept for path in report.kept}
    return [
        {
            "path": change.path,
            "kind": change.kind,
            "bytes": change.bytes,
            "kept": change.path in kept or notebook.provisioner.options.files == "direct",
            "reason": refused.get(change.path, none),
        }
        for change in (*changes, *(change for report in notebook.kept[-1:] for change in report.changes))
    ]


def _held_back(notebook: OpenNotebook) -> dict[str, Any] | None:
    held_back = notebook.kept[-1].held_back if notebook.kept else None
    return None if held_back is None else dataclasses.asdict(held_back) | {"hint": hint_text(held_back.hint)}


def _refusal(observation: Observation, conflict: SaveConflict | None) -> dict[str, Any] | None:
    if observation.refused is not None:
        refused = observation.refused
        current = refused.current.code if refused.current is not None else None
        return {"reason": refused.reason, "edit": refused.index, "message": refused.message,
                "current": current, "wanted": refused.wanted}  # fmt: skip
    if conflict is not None:
        message = "The file changed on disk since it was read; it was not overwritten."
        return {"reason": "changed-on-disk", "message": message,
                "current": conflict.disk_text, "wanted": conflict.our_text}  # fmt: skip
    return None


def _finish(result: dict[str, Any], as_json: bool) -> None:
    console.result(result, as_json, console.run_result)
    if not result.get("refused"):
        raise typer.Exit(0 if result["ok"] else 1)
    if not as_json:
        console.refusal(result["refused"])
    raise typer.Exit(3)


def _shown_cells(document: Document) -> list[dict[str, Any]]:
    drawn = graph(document)
    problems = _problems(drawn)
    return [
        {
            "id": cell.id,
            "name": cell.name,
            "version": cell.version,
            "code": cell.code,
            "config": dataclasses.asdict(cell.config),
            **{name: sorted(getattr(drawn.nodes[cell.id], name)) for name in ("defs", "refs", "parents", "children")},
            "problems": problems.get(cell.id, []),
        }
        for cell in document.cells
    ]


def _problems(drawn: Graph) -> dict[str, list[str]]:
    problems = defaultdict[str, list[str]](list)
    for cell, node in drawn.nodes.items():
        if node.problem is not None:
            problems[cell].append(node.problem.message)
    for cycle in drawn.cycles:
        for cell in cycle.cells:
            problems[cell].append(f"part of a cycle through {', '.join(cycle.names)}")
    for name, cells in drawn.defined_twice.items():
        for cell in cells:
            problems[cell].append(f"{name!r} is defined in {len(cells)} cells")
    return problems


def _read_json(path: Path) -> object:
    try:
        text = typer.get_text_stream("stdin").read() if str(path) == "-" else path.read_text("utf-8")
        return json.loads(text)
    except OSError as error:
        raise UserError(
            f"Cannot read {str(path)!r}: {error.strerror}.", hint="Give a JSON file, or - for stdin."
        ) from error
    except (json.JSONDecodeError, UnicodeDecodeError) as error:
        raise UserError(
            f"{str(path)!r} is not JSON: {error}.", hint="A list of edits, see docs/notebooks.md."
        ) from error
