"""`cellwright runs list|show|watch|context`: what runs do and did, and what an agent read in a step."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Final

import anyio
import typer

from cellwright.cli.journal_options import (
    DatabaseOption,
    JsonOption,
    KeyOption,
    journal_location,
    open_records,
    terminal_masker,
    with_records,
)
from cellwright.cli.render import console, journal_tables, run_output
from cellwright.cli.run.client import open_watch_client
from cellwright.cli.run.outcome import finish, hand_over
from cellwright.cli.run.watch import WatchOutcome, open_watch
from cellwright.cli.runs.lookup import AgentArgument, RunArgument, find_run, find_workflow
from cellwright.cli.terminal_input import show_open_questions
from cellwright.errors import UserError
from cellwright.journal.records import Records
from cellwright.policy.display_text import shown_block
from cellwright.runs.deliver.delivery import parse_delivery
from cellwright.runs.views.progress import run_json, run_summary_json
from cellwright.runs.views.run_view import RUN_WORKFLOW, check_is_run, newest_first, read_view

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
    location = journal_location(database)
    is_missing = database is None and location.path is not None and not location.path.exists()
    found = [] if is_missing else with_records(lambda records: _list(records, show_all), database, key)
    console.result({"runs": found}, as_json, lambda _: run_output.runs_table(found))


def show(run: RunArgument, as_json: JsonOption = False, database: DatabaseOption = None, key: KeyOption = None) -> None:
    """Show one run: its goal and plan, what it asks, what it cost; and what it delivered."""
    masker = terminal_masker()

    async def read(records: Records) -> dict[str, Any]:
        return await run_json(records, masker, await find_run(records, run))

    found = with_records(read, database, key, masker)
    if as_json:
        console.as_json(found)
        return
    run_output.run_page(found)
    show_open_questions(found["questions"])
    if found["delivery"] is not None:
        hand_over(parse_delivery(found["delivery"]), found["run"], as_json=False)


def watch(
    run: RunArgument, as_json: JsonOption = False, database: DatabaseOption = None, key: KeyOption = None
) -> None:
    """Watch a run from its beginning until it ends; Ctrl-C only leaves. Its questions are asked here."""
    ended, name, is_daemon = anyio.run(_watch, run, as_json, database, key)
    finish(ended, name, as_json=as_json, is_daemon=is_daemon)


async def _list(records: Records, show_all: bool) -> list[dict[str, Any]]:
    runs = await newest_first(records, [each for each in await records.runs() if each.name == RUN_WORKFLOW])
    some = [each for number, each in enumerate(runs) if show_all or number < _NEWEST or each.is_going]
    return [run_summary_json(each, await read_view(records.log.read_all, each.run)) for each in some]


async def _watch(run: str, as_json: bool, database: str | None, key: Path | None) -> tuple[WatchOutcome, str, bool]:
    masker = terminal_masker()
    async with open_records(database, key, masker) as records:
        name = await find_run(records, run)
        status = await records.status(name)
        check_is_run(name, status.name)
        # A run that has ended needs nobody; one that has not may have lost whoever executed it.
        async with open_watch_client(database, is_needed=status.is_going) as client:
            watching = open_watch(records, name, masker, as_json=as_json)
            return await watching.until_over(), name, client is None or client.is_daemon


def context(
    run: AgentArgument,
    step: Annotated[int | None, typer.Argument(metavar="STEP", help="1, 2, 3 …; without it, all are listed.")] = None,
    as_json: JsonOption = False,
    database: DatabaseOption = None,
    key: KeyOption = None,
) -> None:
    """Show what a model read in one step of an agent: every part, where it stands and what it cost."""
    if step is None:
        name, found = with_records(lambda records: _steps(records, run), database, key)
        if as_json:
            console.as_json({"run": name, "steps": found})
        else:
            journal_tables.raw("".join(f"{each['agent']} {each['step']}: {each['tokens']} tokens\n" for each in found))
        return
    name, text, view = with_records(lambda records: _context(records, run, step), database, key)
    console.result({"run": name, "step": step, **view}, as_json, lambda _: journal_tables.raw(f"{shown_block(text)}\n"))


# What agents need is loaded when it is used: the other commands about runs must not wait for it.


async def _steps(records: Records, run: str) -> tuple[str, list[dict[str, Any]]]:
    from cellwright.agents.prompt.prompt_store import list_contexts

    name = await find_workflow(records, run)
    steps: list[dict[str, Any]] = []
    for stored in (await list_contexts(records.log.read_all, name)).values():
        if stored.call.startswith((f"{name}#", f"{name}/")):
            agent, _, step = stored.call.rpartition("#")
            steps.append({"agent": agent, "step": int(step), "tokens": stored.tokens})
    return name, steps


async def _context(records: Records, run: str, step: int) -> tuple[str, str, dict[str, Any]]:
    from cellwright.agents.prompt.prompt_store import (
        JournalTexts,
        list_contexts,
        prompt_view,
        read_prompt,
        render_prompt,
    )

    name = await find_workflow(records, run)
    stored = (await list_contexts(records.log.read_all, name)).get(f"{name}#{step}")
    if stored is None:
        raise UserError(f"{name!r} has no step {step} of an agent.", hint=f"See `cellwright runs context {name}`.")
    prompt = await read_prompt(JournalTexts(records), stored.prompt)
    return name, render_prompt(prompt), prompt_view(prompt)
