"""`cellwright review`: a notebook is run from scratch and looked over, by code and by a model if there is one."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import anyio
import typer

from cellwright.cli.journal_options import JsonOption
from cellwright.cli.render import console, run_output
from cellwright.cli.render.review import review_text
from cellwright.cli.run.command import run_goal
from cellwright.cli.run.outcome import finish, worded
from cellwright.cli.run.watch import WatchedDelivery
from cellwright.errors import UserError
from cellwright.notebook.atomic_write import write_atomically
from cellwright.runs.deliver.delivery import delivery_json
from cellwright.runs.goal.request import GoalRequest
from cellwright.runs.review.sarif import review_sarif

app = typer.Typer(help="Look over a marimo notebook.")


@app.command()
def review(
    notebook: Annotated[Path, typer.Argument(metavar="NOTEBOOK", help="Any marimo notebook. It is not changed.")],
    goal: Annotated[
        str | None, typer.Option("--goal", metavar="WORDS", help="What it is to answer; default: what it says itself.")
    ] = None,
    answer: Annotated[
        str | None,
        typer.Option("--answer", metavar="WORDS", help="What was answered with it; `{total:.2f}` reads a variable."),
    ] = None,
    data: Annotated[
        list[str] | None, typer.Option("--data", metavar="PATH", help="A file or folder it may read. Repeatable.")
    ] = None,
    model: Annotated[
        list[str] | None,
        typer.Option("--model", metavar="PROVIDER:MODEL", help="Who looks at it; `analyst`: code alone."),
    ] = None,
    effort: Annotated[
        str,
        typer.Option("--effort", metavar="quick|normal|thorough", help="quick: code alone; thorough: two looks."),
    ] = "normal",
    sarif: Annotated[
        Path | None, typer.Option("--sarif", metavar="FILE", help="Write what was found as SARIF 2.1.0, for CI.")
    ] = None,
    project: Annotated[
        Path | None, typer.Option("--project", metavar="DIR", help="The folder it may see; default: the repository.")
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Look over a marimo notebook, whoever made it. Ends with 1 if something is shown to be wrong."""
    if sarif is not None and not sarif.absolute().parent.is_dir():
        raise UserError(f"There is no folder for {str(sarif)!r}.", hint="Name a file in a folder that is there.")
    typed = GoalRequest(
        words=goal or f"Look over {notebook.name}: is what it says right?",
        data=data or (),
        notebook=notebook,
        models=model or (),
        approve="never",
        project=project,
        effort=effort,
        wants="review",
        answer=answer or "",
    )
    ended, name, is_daemon = anyio.run(run_goal, typed, as_json)
    if not isinstance(ended, WatchedDelivery) or ended.delivery.status not in {"done", "partial"}:
        finish(ended, name, as_json=as_json, is_daemon=is_daemon)
    delivery = worded(ended.delivery)
    if sarif is not None:
        write_atomically(sarif, json.dumps(review_sarif(delivery, notebook.as_posix()), indent=2).encode())
    if as_json:
        run_output.json_line({"kind": "delivery", "run": name, **delivery_json(delivery)})
    else:
        run_output.data(review_text(delivery))
        if sarif is not None:
            console.note(f"SARIF: {sarif}")
    raise typer.Exit(0 if delivery.status == "done" else 1)
