"""`cellwright run`: a goal becomes a notebook, watched and steered from this terminal."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import anyio
import anyio.to_thread
import typer

from cellwright.cli import render, run_render
from cellwright.cli.journal_place import JsonOption, door_masker, journal_place, open_records
from cellwright.cli.launch import person_name
from cellwright.cli.python_option import PythonOption, python_choice
from cellwright.cli.run_door import open_door
from cellwright.cli.run_endings import finish
from cellwright.cli.run_goal import goal_here, words_here
from cellwright.cli.run_typing import is_somebody_here
from cellwright.cli.run_watching import Outcome, Watching
from cellwright.errors import Unavailable
from cellwright.journal.names import new_run_id
from cellwright.journal.presence import is_journal
from cellwright.runs.finding import going_notebooks
from cellwright.runs.goal import Goal
from cellwright.runs.goal_reading import Typed

app = typer.Typer(help="State a goal, get a notebook you can trust.")


@app.command()
def run(
    goal: Annotated[
        str | None, typer.Argument(metavar="[GOAL]", help="What you want to know, in words; `-` reads stdin.")
    ] = None,
    data: Annotated[
        list[str] | None,
        typer.Option("--data", metavar="PATH", help="A file or folder it may read. Repeatable; NAME=PATH renames."),
    ] = None,
    notebook: Annotated[
        Path | None,
        typer.Option("--notebook", metavar="FILE", help="Extend this notebook, or make it; default: a new one here."),
    ] = None,
    model: Annotated[
        list[str] | None,
        typer.Option("--model", metavar="PROVIDER:MODEL", help="Use this model; more are fallbacks; `analyst`: none."),
    ] = None,
    budget: Annotated[
        str | None, typer.Option("--budget", metavar="AMOUNT", help="Ask before it costs more US dollars than this.")
    ] = None,
    approve: Annotated[
        str, typer.Option("--approve", metavar="ask|envelope|never", help="What may be asked while it works.")
    ] = "ask",
    private: Annotated[bool, typer.Option("--private", help="Nothing leaves this machine: local models only.")] = False,
    priority: Annotated[int, typer.Option("--priority", metavar="N", help="Higher comes first.")] = 0,
    project: Annotated[
        Path | None, typer.Option("--project", metavar="DIR", help="The folder it may see; default: the repository.")
    ] = None,
    python: PythonOption = "header",
    limit: Annotated[
        list[str] | None,
        typer.Option("--limit", metavar="NAME=VALUE", help="What its notebook may use: memory=2g, kept_files=200000 …"),
    ] = None,
    detach: Annotated[
        bool, typer.Option("--detach", help="Do not wait for it; `cellwright runs watch` shows it.")
    ] = False,
    as_json: JsonOption = False,
) -> None:
    """Turn a goal into a notebook: planned, built, checked from scratch, delivered."""
    typed = Typed(
        words=words_here(goal),
        data=data or (),
        notebook=notebook,
        models=model or (),
        budget=budget,
        approve=approve,
        is_private=private,
        priority=priority,
        python=python_choice(python),
        project=project,
        limits=limit or (),
    )
    if detach:
        _tell_detached(anyio.run(_detach, typed), as_json=as_json)
        return
    ended, name, is_daemon = anyio.run(_run, typed, as_json)
    finish(ended, name, as_json=as_json, is_daemon=is_daemon)


def _tell_detached(started: dict[str, Any], *, as_json: bool) -> None:
    if as_json:
        render.as_json(started)
        return
    run_render.data(started["run"])
    render.note(f"It works on {started['notebook']}. `cellwright runs watch {started['run']}` shows how far it is.")


async def _detach(typed: Typed) -> dict[str, Any]:
    goal = await _read(typed)
    async with open_door() as door:
        if not door.is_daemon:
            raise Unavailable(
                "Without the daemon a run goes on only while somebody waits for it.", hint="Leave --detach out."
            )
        name = await door.start(goal, run=new_run_id())
    return {"run": name, "notebook": goal.notebook}


async def _run(typed: Typed, as_json: bool) -> tuple[Outcome, str, bool]:
    goal, masker = await _read(typed), door_masker()
    async with open_door() as door:
        name = await door.start(goal, run=new_run_id())
        if not as_json:
            render.note(f"Run {name}, notebook {goal.notebook}.")

        async def cancel() -> None:
            await door.cancel(name, reason=f"stopped by {goal.person} with Ctrl-C")

        async with open_records(None, None, masker) as records:
            watching = Watching(
                records=records,
                run=name,
                display=run_render.display_for(name, as_json=as_json),
                masker=masker,
                is_somebody_here=is_somebody_here() and not as_json,
                cancel=cancel,
            )
            return await watching.until_over(), name, door.is_daemon


async def _read(typed: Typed) -> Goal:
    """The goal, in a notebook that no run at work has in hand."""
    taken = set[str]()
    if typed.notebook is None and is_journal(journal_place(None)):
        async with open_records(None, None) as records:
            taken = await going_notebooks(records)
    return await anyio.to_thread.run_sync(lambda: goal_here(typed, person=person_name(), taken=taken))
