"""`cellwright document`: names and words for a notebook; what it computes stays as it is."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import anyio
import typer

from cellwright.cli.journal_options import JsonOption
from cellwright.cli.render import console, run_output
from cellwright.cli.run.command import run_goal
from cellwright.cli.run.outcome import finish, worded
from cellwright.cli.run.watch import WatchedDelivery
from cellwright.runs.deliver.delivery import delivery_json
from cellwright.runs.goal.request import GoalRequest

app = typer.Typer(help="Put names and words into a marimo notebook.")


@app.command()
def document(
    notebook: Annotated[Path, typer.Argument(metavar="NOTEBOOK", help="Any marimo notebook.")],
    model: Annotated[
        list[str] | None,
        typer.Option("--model", metavar="PROVIDER:MODEL", help="Who writes; `analyst`: code alone, which only names."),
    ] = None,
    data: Annotated[
        list[str] | None, typer.Option("--data", metavar="PATH", help="A file or folder it may read. Repeatable.")
    ] = None,
    project: Annotated[
        Path | None, typer.Option("--project", metavar="DIR", help="The folder it may see; default: the repository.")
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Put names, markdown and docstrings into a marimo notebook. No cell that computes is changed."""
    typed = GoalRequest(
        words=f"Document {notebook.name}",
        data=data or (),
        notebook=notebook,
        models=model or (),
        approve="never",
        project=project,
        effort="quick",
        wants="document",
    )
    ended, name, is_daemon = anyio.run(run_goal, typed, as_json)
    if not isinstance(ended, WatchedDelivery) or ended.delivery.status not in {"done", "partial"}:
        finish(ended, name, as_json=as_json, is_daemon=is_daemon)
    delivery = worded(ended.delivery)
    if as_json:
        run_output.json_line({"kind": "delivery", "run": name, **delivery_json(delivery)})
    else:
        run_output.data(delivery.summary or "Its cells are named.")
        for problem in delivery.problems:
            console.note(f"Not of this: {problem}")
        console.note("To take it back:")
        run_output.command(f"cellwright runs undo {name}")
    raise typer.Exit(0)
