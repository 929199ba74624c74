"""`cellwright runs list|show|watch|branches|context`: what runs do, did and tried, and what an agent read in a step."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import AsyncExitStack
from typing import Annotated, Any, Final

import anyio
import typer
from rich.text import Text

from cellwright.cli.journal_options import JournalOptions, journal_location, open_records, terminal_masker
from cellwright.cli.render import console, journal_tables, run_output
from cellwright.cli.run.outcome import finish, hand_over
from cellwright.cli.run.watch import WatchOutcome, open_run_client, open_watch
from cellwright.cli.runs.lookup import AgentArgument, RunArgument, find_run, find_workflow
from cellwright.cli.terminal_input import show_open_questions
from cellwright.errors import Unavailable, UserError
from cellwright.journal.records import Records
from cellwright.policy.display_text import shown, shown_block
from cellwright.runs.deliver.delivery import parse_delivery
from cellwright.runs.views.branch_views import branch_view_json
from cellwright.runs.views.branches import open_choices, read_branch_views
from cellwright.runs.views.progress import run_json, run_summary_json
from cellwright.runs.views.run_view import RUN_WORKFLOW, check_is_run, newest_first, read_listed_views

_NEWEST: Final = 20


def list_command(
    journal: JournalOptions,
    show_all: Annotated[
        bool, typer.Option("--all", help="All there are, not only the newest and those at work.")
    ] = False,
) -> None:
    """List runs, the newest first: what for, how far, what came of it."""
    location = journal_location(journal.database)
    is_missing = journal.database is None and location.path is not None and not location.path.exists()
    found = [] if is_missing else journal.read(lambda records: _list(records, show_all))
    console.result({"runs": found}, journal.as_json, lambda _: run_output.runs_table(found))


def show(journal: JournalOptions, run: RunArgument) -> None:
    """Show one run: its goal and plan, what it asks, what it cost; and what it delivered."""
    masker = terminal_masker()

    async def read(records: Records) -> dict[str, Any]:
        return await run_json(records, masker, await find_run(records, run))

    found = journal.read(read, masker)
    if journal.as_json:
        console.as_json(found)
        return
    run_output.run_page(found)
    show_open_questions(found["questions"])
    if found["delivery"] is not None:
        hand_over(parse_delivery(found["delivery"]), found["run"], as_json=False)


def watch(journal: JournalOptions, run: RunArgument) -> None:
    """Watch a run from its beginning until it ends; Ctrl-C only leaves. Its questions are asked here."""
    ended, name, is_daemon = anyio.run(_watch, run, journal)
    finish(ended, name, as_json=journal.as_json, is_daemon=is_daemon)


async def _list(records: Records, show_all: bool) -> list[dict[str, Any]]:
    runs = await newest_first(records, [each for each in await records.runs() if each.name == RUN_WORKFLOW])
    some = [each for number, each in enumerate(runs) if show_all or number < _NEWEST or each.is_going]
    views = await read_listed_views(records, [each.run for each in some])
    return [run_summary_json(each, views[each.run]) for each in some]


async def _watch(run: str, journal: JournalOptions) -> tuple[WatchOutcome, str, bool]:
    masker, client = terminal_masker(), None
    async with open_records(journal.database, journal.key, masker) as records, AsyncExitStack() as stack:
        name = await find_run(records, run)
        status = await records.status(name)
        check_is_run(name, status.name)
        # A run that has ended needs nobody; one that has not may have lost whoever executed it.
        if status.is_going and journal.database is None:
            try:
                client = await stack.enter_async_context(open_run_client())
            except (Unavailable, UserError) as problem:
                console.note(f"{problem.message} Watching all the same.")
        watching = open_watch(records, name, masker, as_json=journal.as_json, client=client)
        return await watching.until_over(), name, client is None or client.is_daemon


def context(
    journal: JournalOptions,
    run: AgentArgument,
    step: Annotated[int | None, typer.Argument(metavar="STEP", help="1, 2, 3 …; without it, all are listed.")] = None,
) -> None:
    """Show what a model read in one step of an agent: every part, where it stands and what it cost."""
    if step is None:
        name, found = journal.read(lambda records: _steps(records, run))
        listed = "".join(f"{each['agent']} {each['step']}: {each['tokens']} tokens\n" for each in found)
        console.result({"run": name, "steps": found}, journal.as_json, lambda _: journal_tables.raw(listed))
        return
    name, text, view = journal.read(lambda records: _context(records, run, step))
    console.result(
        {"run": name, "step": step, **view}, journal.as_json, lambda _: journal_tables.raw(f"{shown_block(text)}\n")
    )


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


# ── branches ──

_COLOURS: Final = {"passed": "green", "failed": "red", "refused": "red", "lost": "red"}
_WIDTHS: Final = {"way": 8, "status": 7, "ms": 2, "kept": 5}
"""Of what is never folded: as wide as its longest word."""
_MARKS: Final = {"ok": "✓", "failed": "✗", "lost": "✗", "interrupted": "✗", "cancelled": "–"}


def branches(journal: JournalOptions, run: RunArgument) -> None:
    """Show what a run tried in branches: how each was made, its outcome, which variables and files differ."""
    name, found = journal.read(lambda records: _read(records, run))
    if journal.as_json:
        console.as_json({"run": name, "branches": found})
    elif not found:
        console.note(f"The run {name} tried nothing in a branch.")
    else:
        branches_table(found)
        differences_table(found)
        _tell_waiting(name, found)


async def _read(records: Records, run: str) -> tuple[str, list[dict[str, Any]]]:
    status = await records.status(await find_run(records, run))
    check_is_run(status.run, status.name)
    choices = await open_choices(records, status.run)
    return status.run, [
        branch_view_json(branch, choices) for branch in (await read_branch_views(records, status.run)).values()
    ]


def _tell_waiting(run: str, found: Sequence[Mapping[str, Any]]) -> None:
    waiting = [branch for branch in found if branch["state"] == "waits"]
    if waiting:
        word = "branch waits" if len(waiting) == 1 else "branches wait"
        console.note(f"{len(waiting)} {word} for you: `cellwright inbox --run {run}` shows how to answer.")


def branches_table(found: Sequence[Mapping[str, Any]]) -> None:
    """One line per branch; those that were tried side by side stand together."""
    titles = ("branch", "purpose", "way", "status", "cells", "variables", "files", "ms", "kept")
    table = console.table(*titles, right=("ms",), whole=_WIDTHS)
    for title, column in zip(titles, table.columns, strict=True):
        column.min_width = _WIDTHS.get(title, len(title))
    for branch in found:
        cells = [f"{_MARKS.get(cell['status'], '·')} {shown(cell['name'] or cell['cell'])}" for cell in branch["cells"]]
        table.add_row(
            Text(shown(branch["branch"])),
            Text(shown(branch["purpose"])),
            Text(branch["way"] or "–"),
            Text(branch["status"], style=_COLOURS.get(branch["status"], "")),
            Text("\n".join(cells)),
            Text(", ".join(shown(variable["name"]) for variable in branch["variables"])),
            Text("\n".join(shown(path) for path in branch["files"])),
            Text(f"{branch['ms']:,.0f}"),
            _kept(branch),
        )
    console.results.print(table)
    for branch in found:
        by = f"{branch['state']} by {branch['decided_by']}" if branch["decided_by"] else ""
        said = [by, *(f"no fork: {reason}" for reason in branch["reasons"]), *_failures(branch), branch["note"]]
        for line in filter(None, said):
            console.line(f"{shown(branch['branch'])}: {shown(line)}", style="dim")


def differences_table(found: Sequence[Mapping[str, Any]]) -> None:
    """Each variable that a branch made another one, before and after."""
    table = console.table("branch", "variable", "before", "after")
    for branch in found:
        for variable in branch["variables"]:
            table.add_row(
                Text(shown(branch["branch"])),
                Text(shown(variable["name"])),
                Text(_lines(variable["before"]) or "not there"),
                Text(_lines(variable["after"]) or "gone"),
            )
    if table.row_count:
        console.results.print()
        console.results.print(table)


def _kept(branch: Mapping[str, Any]) -> Text:
    if branch["state"] == "waits":
        return Text("waits", style="yellow")
    return Text("yes", style="green") if branch["is_kept"] else Text("no", style="dim")


def _lines(text: str) -> str:
    return "\n".join(shown(line) for line in text.splitlines())


def _failures(branch: Mapping[str, Any]) -> list[str]:
    cells = [
        f"{cell['name'] or cell['cell']}: {cell['error'].splitlines()[0]}" for cell in branch["cells"] if cell["error"]
    ]
    failed = [check for check in branch["checks"] if not check["has_passed"]]
    return [*cells, *(": ".join(filter(None, ("check failed", each["check"], each["detail"]))) for each in failed)]
