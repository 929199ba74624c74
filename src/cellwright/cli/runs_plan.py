"""`cellwright runs plan`: the plan of a run, shown or changed while it is carried out."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any

import anyio
import typer

from cellwright.cli import render, runs_views
from cellwright.cli.approvals import person_here
from cellwright.cli.journal_place import DatabaseOption, JsonOption, KeyOption, open_records
from cellwright.cli.run_names import RunArgument, complete_task, find_run
from cellwright.errors import UserError
from cellwright.runs.plan import ChangeTask, DropTask, Plan, PlanEdit, edited, parse_edit, plan_json
from cellwright.runs.telling import read_view


def plan(
    run: RunArgument,
    add: Annotated[
        str | None, typer.Option("--add", metavar="JSON", help='One more task: {"id": "…", "title": "…", "todo": "…"}.')
    ] = None,
    drop: Annotated[
        str | None, typer.Option("--drop", metavar="TASK", help="Do without it.", autocompletion=complete_task)
    ] = None,
    change: Annotated[
        str | None,
        typer.Option("--change", metavar="TASK", help="With --title and --todo.", autocompletion=complete_task),
    ] = None,
    title: Annotated[str | None, typer.Option("--title", metavar="TEXT", help="With --change.")] = None,
    todo: Annotated[str | None, typer.Option("--todo", metavar="TEXT", help="With --change: what to do.")] = None,
    as_json: JsonOption = False,
    database: DatabaseOption = None,
    key: KeyOption = None,
) -> None:
    """Show the plan of a run, or change it: one task more, one less, or another one."""
    edit = read_edit(add=add, drop=drop, change=change, title=title, todo=todo)
    name, now = anyio.run(_plan, run, edit, database, key)
    if as_json:
        render.as_json({"run": name, "plan": plan_json(now), "changed": edit is not None})
        return
    runs_views.show_plan(now)
    if edit is not None:
        render.note(f"{name} hears of it before its next task.")


def read_edit(
    *, add: str | None, drop: str | None, change: str | None, title: str | None, todo: str | None
) -> PlanEdit | None:
    """The one change that was typed; None: only look. Raises `UserError`."""
    if sum(each is not None for each in (add, drop, change)) > 1:
        raise UserError("One change at a time.", hint="One of --add, --drop, --change.")
    if change is None and (title is not None or todo is not None):
        raise UserError("--title and --todo say what --change changes.", hint="Add --change TASK.")
    if drop is not None:
        return DropTask(task=drop)
    if change is not None:
        if not title and not todo:
            raise UserError(f"Nothing to change about {change!r}.", hint="Add --title, --todo or both.")
        return ChangeTask(task=change, title=title or "", todo=todo or "")
    return None if add is None else parse_edit({"op": "add", "task": _json(add)})


def _json(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError as error:
        raise UserError(f"--add takes JSON: {error}.", hint='e.g. \'{"id": "plot", "title": "Plot it"}\'.') from error


async def _plan(run: str, edit: PlanEdit | None, database: str | None, key: Path | None) -> tuple[str, Plan]:
    async with open_records(database, key) as records:
        name = await find_run(records, run)
        if edit is not None:
            # It loads agents: looking at a plan must not wait for that.
            from cellwright.runs import orders

            await orders.change_plan(records, name, edit, person_here())
        now = (await read_view(records.log.read_all, name)).plan
        if now is None:
            raise UserError(f"The run {name!r} has no plan yet.", hint=f"Wait for it: `cellwright runs watch {name}`.")
        return name, now if edit is None else edited(now, edit)
