"""`cellwright research`: a question answered out of documents, with the quotes it rests on."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Final

import anyio
import typer

from cellwright.cli.journal_options import JsonOption
from cellwright.cli.run.command import check_amount, detach_goal, run_goal, words_here
from cellwright.cli.run.outcome import finish
from cellwright.errors import UserError
from cellwright.runs.goal.request import GoalRequest

_EXAMPLE: Final = "How did the terms of delivery change between the two contracts?"

app = typer.Typer(help="Answer a question out of documents.")


@app.command()
def research(
    ctx: typer.Context,
    question: Annotated[
        str | None, typer.Argument(metavar="[QUESTION]", help="What you want to know, in words; `-` reads stdin.")
    ] = None,
    data: Annotated[
        list[str] | None,
        typer.Option(
            "--data", metavar="PATH", help="A document or a folder of them; default: the folder you are in. Repeatable."
        ),
    ] = None,
    web: Annotated[
        bool, typer.Option("--web", help="Search the web too, and read pages: hosts are asked about.")
    ] = False,
    search: Annotated[
        str,
        typer.Option(
            "--search",
            metavar="ENGINE:WHERE",
            envvar="CELLWRIGHT_SEARCH",
            help="What it searches the web with: searxng:https://HOST, brave:CONNECTION, tavily:CONNECTION or "
            "mcp:SERVER/TOOL.",
        ),
    ] = "",
    form: Annotated[
        str, typer.Option("--as", metavar="report|brief|slides|blog|FILE.md", help="What it is written as.")
    ] = "report",
    notebook: Annotated[
        Path | None,
        typer.Option("--notebook", metavar="FILE", help="Write it into this notebook; default: a new one here."),
    ] = None,
    model: Annotated[
        list[str] | None,
        typer.Option("--model", metavar="PROVIDER:MODEL", help="Use this model; more are fallbacks."),
    ] = None,
    budget: Annotated[
        str | None, typer.Option("--budget", metavar="AMOUNT", help="Ask before it costs more US dollars than this.")
    ] = None,
    approve: Annotated[
        str, typer.Option("--approve", metavar="ask|envelope|never", help="What may be asked while it works.")
    ] = "ask",
    private: Annotated[bool, typer.Option("--private", help="Nothing leaves this machine: local models only.")] = False,
    effort: Annotated[
        str,
        typer.Option(
            "--effort",
            metavar="quick|normal|thorough",
            help="quick: read once, citations checked by code alone; normal: planned once more, and a judge; "
            "thorough: planned up to four times.",
        ),
    ] = "normal",
    project: Annotated[
        Path | None, typer.Option("--project", metavar="DIR", help="Where the notebook lies; default: the repository.")
    ] = None,
    detach: Annotated[
        bool, typer.Option("--detach", help="Do not wait for it; `cellwright runs watch` shows it.")
    ] = False,
    as_json: JsonOption = False,
) -> None:
    """Read documents for a question, and write what they say: a notebook with cards, citations and contradictions."""
    check_amount("--budget", budget)
    typed = GoalRequest(
        words=words_here(question, what="question", example=_EXAMPLE),
        sources=data or (),
        uses_web=web,
        search=_search(ctx, search, is_web=web),
        form=form,
        notebook=notebook,
        models=model or (),
        budget=budget,
        approve=approve,
        is_private=private,
        effort=effort,
        project=project,
        wants="research",
    )
    if detach:
        detach_goal(typed, as_json)
        return
    ended, name, is_daemon = anyio.run(run_goal, typed, as_json)
    finish(ended, name, as_json=as_json, is_daemon=is_daemon)


def _search(ctx: typer.Context, search: str, *, is_web: bool) -> str:
    """What searches the web. Of the environment it holds only where the web is asked for; typed, it asks for it."""
    source = ctx.get_parameter_source("search")
    if not is_web and source is not None and source.name == "COMMANDLINE":
        raise UserError("--search needs --web.", hint="Hosts of the web are then asked about, one by one.")
    return search if is_web else ""
