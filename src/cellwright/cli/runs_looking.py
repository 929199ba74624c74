"""`cellwright runs list|show|watch`: what runs do and did. Loads no agents."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Final

import anyio
import typer

from cellwright.cli import render, run_render, runs_views
from cellwright.cli.journal_place import DatabaseOption, JsonOption, KeyOption, door_masker, journal_place, open_records
from cellwright.cli.run_door import somebody_at_work
from cellwright.cli.run_endings import finish, hand_over
from cellwright.cli.run_names import RunArgument, find_run
from cellwright.cli.run_questions import show_told
from cellwright.cli.run_typing import is_somebody_here
from cellwright.cli.run_watching import Outcome, Watching
from cellwright.runs.delivery import parse_delivery
from cellwright.runs.finding import RUN, check_is_run, newest_first
from cellwright.runs.outcome import read_picture
from cellwright.runs.views import run_line, run_view

_NEWEST: Final = 20


def list_command(
    show_all: Annotated[
        bool, typer.Option("--all", help="All there are, not only the newest and those at work.")
    ] = False,
    as_json: JsonOption = False,
    database: DatabaseOption = None,
    key: KeyOption = None,
) -> None:
    """List runs, the newest first: what for, how far, what came of it."""
    found = anyio.run(_list, show_all, database, key)
    if as_json:
        render.as_json({"runs": found})
    else:
        runs_views.runs_table(found)


def show(run: RunArgument, as_json: JsonOption = False, database: DatabaseOption = None, key: KeyOption = None) -> None:
    """Show one run: its goal and plan, what it asks, what it cost; and what it delivered."""
    found = anyio.run(_show, run, database, key)
    if as_json:
        render.as_json(found)
        return
    runs_views.run_page(found)
    show_told(found["questions"])
    if found["delivery"] is not None:
        hand_over(parse_delivery(found["delivery"]), found["run"], as_json=False)


def watch(
    run: RunArgument, as_json: JsonOption = False, database: DatabaseOption = None, key: KeyOption = None
) -> None:
    """Watch a run from its beginning until it ends; Ctrl-C only leaves. Its questions are asked here."""
    ended, name, is_daemon = anyio.run(_watch, run, as_json, database, key)
    finish(ended, name, as_json=as_json, is_daemon=is_daemon)


async def _list(show_all: bool, database: str | None, key: Path | None) -> list[dict[str, Any]]:
    place = journal_place(database)
    if database is None and place.path is not None and not place.path.exists():
        return []
    async with open_records(database, key) as records:
        runs = await newest_first(records, [each for each in await records.runs() if each.name == RUN])
        some = [each for number, each in enumerate(runs) if show_all or number < _NEWEST or each.is_going]
        return [run_line(each, await read_picture(records, each.run)) for each in some]


async def _show(run: str, database: str | None, key: Path | None) -> dict[str, Any]:
    masker = door_masker()
    async with open_records(database, key, masker) as records:
        return await run_view(records, masker, await find_run(records, run))


async def _watch(run: str, as_json: bool, database: str | None, key: Path | None) -> tuple[Outcome, str, bool]:
    masker = door_masker()
    async with open_records(database, key, masker) as records:
        name = await find_run(records, run)
        status = await records.status(name)
        check_is_run(name, status.name)
        # A run that has ended needs nobody; one that has not may have lost whoever carried it out.
        async with somebody_at_work(database, is_needed=status.is_going) as door:
            watching = Watching(
                records=records,
                run=name,
                display=run_render.display_for(name, as_json=as_json),
                masker=masker,
                is_somebody_here=is_somebody_here() and not as_json,
            )
            return await watching.until_over(), name, door is None or door.is_daemon
