"""`cellwright extract`: rows with evidence out of many documents, as a run."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import anyio
import typer

from cellwright.cli.journal_options import JsonOption
from cellwright.cli.run.command import check_amount, detach_goal, run_goal
from cellwright.cli.run.outcome import finish
from cellwright.documents.document_files import check_documents
from cellwright.runs.goal.extraction_order import extraction_words, read_order
from cellwright.runs.goal.request import GoalRequest

app = typer.Typer(help="Rows with evidence out of documents.")


@app.command()
def extract(
    schema: Annotated[
        str,
        typer.Argument(
            metavar="SCHEMA",
            help='What to look for: "party, date:date, amount:number", or a .toml or .json file (a JSON schema, too). '
            "Types: text, number, integer, date, boolean.",
        ),
    ],
    files: Annotated[
        list[Path], typer.Argument(metavar="FILES…", help="Documents, or folders of them: PDF, DOCX, HTML, text …")
    ],
    many: Annotated[
        bool, typer.Option("--many", help="A document may hold several entries; without it, each is one row.")
    ] = False,
    readings: Annotated[
        int,
        typer.Option("--readings", metavar="1|2", help="Read each document twice; what differs is marked."),
    ] = 1,
    cap: Annotated[
        str | None, typer.Option("--cap", metavar="AMOUNT", help="Stop before it costs more US dollars than this.")
    ] = None,
    notebook: Annotated[
        Path | None, typer.Option("--notebook", metavar="FILE", help="The notebook to make; default: a new one here.")
    ] = None,
    model: Annotated[
        list[str] | None,
        typer.Option("--model", metavar="PROVIDER:MODEL", help="Use this model; the second one reads second."),
    ] = None,
    private: Annotated[bool, typer.Option("--private", help="Nothing leaves this machine: local models only.")] = False,
    project: Annotated[
        Path | None, typer.Option("--project", metavar="DIR", help="The folder it may see; default: the repository.")
    ] = None,
    detach: Annotated[
        bool, typer.Option("--detach", help="Do not wait for it; `cellwright runs watch` shows it.")
    ] = False,
    as_json: JsonOption = False,
) -> None:
    """Extract rows from documents: every value with a quote that stands in its document, checked by code."""
    order = read_order(schema, [str(path) for path in files], here=Path.cwd(), readings=readings, has_many_rows=many)
    check_documents([Path(path) for path in order.documents])
    check_amount("--cap", cap)
    typed = GoalRequest(
        words=extraction_words(order),
        notebook=notebook,
        models=model or (),
        budget=cap,
        is_private=private,
        project=project,
        effort="quick",
        extraction=order,
    )
    if detach:
        detach_goal(typed, as_json)
        return
    ended, name, is_daemon = anyio.run(run_goal, typed, as_json)
    finish(ended, name, as_json=as_json, is_daemon=is_daemon)
