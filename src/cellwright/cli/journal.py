"""`cellwright journal …`: what is kept, whether it is sound, and copies of it."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any

import anyio
import typer

from cellwright.cli.journal_options import (
    DatabaseOption,
    JournalOptions,
    JsonOption,
    chain_key,
    existing_file,
    existing_journal,
    journal_location,
)
from cellwright.cli.option_groups import GroupedCommands
from cellwright.cli.render import console, journal_tables
from cellwright.errors import UserError
from cellwright.journal import maintenance, verify
from cellwright.journal.names import stream_of
from cellwright.journal.projections import fold, timeline
from cellwright.journal.records import Records, RunStatus, cancel_run, fork_run, known_run
from cellwright.policy.audit import parse_since
from cellwright.runs.views.run_view import RunView, update_view
from cellwright.tools.approval.guard import audit_trail


def run_line(status: RunStatus, versions_at_work: Sequence[str]) -> dict[str, Any]:
    """One run of many, and whether it waits for code that no worker has any more."""
    is_stranded = status.is_going and bool(versions_at_work) and status.version not in versions_at_work
    return {**dataclasses.asdict(status), "is_stranded": is_stranded}


async def run_view(records: Records, run: str) -> dict[str, Any]:
    """Everything about one run. Raises `UserError` if nothing is kept of it."""
    events = [recorded async for recorded in records.log.read_all(stream_of(run))]
    try:
        status = run_line(await records.status(run), await records.versions_at_work())
    except UserError:
        # Events can outlive what the engine keeps, and rooms can record what no workflow did.
        if not events:
            raise
        status = {"run": run, "standing": "gone"}
    now = fold(update_view, RunView(run=run), events)
    return {
        **status,
        "progress": {
            "outcome": now.outcome,
            "tasks": [dataclasses.asdict(task) for task in now.tasks.values()],
            "steps_done": now.steps_done,
            "steps_running": [list(step) for step in sorted(now.steps_running)],
        },
        "cost": dataclasses.asdict(now.spent),
        "audit": [line.json() for line in audit_trail(events)],
        "timeline": [dataclasses.asdict(moment) for moment in fold(timeline, (), events)],
    }


app = GroupedCommands(help="What Cellwright keeps of everything that happened.", no_args_is_help=True)

RunArgument = Annotated[str, typer.Argument(metavar="RUN", help="A run's name.")]


@app.command()
def runs(journal: JournalOptions) -> None:
    """List every run, newest first: running, waiting for an answer, done, dead …"""
    found = journal.read(_runs)
    console.result({"runs": found}, journal.as_json, lambda _: journal_tables.runs(found))


@app.command()
def show(journal: JournalOptions, run: RunArgument) -> None:
    """Show one run: how it stands, its tasks, its cost, what was audited, and everything it told, in order."""
    found = journal.read(lambda records: run_view(records, run))
    console.result(found, journal.as_json, journal_tables.run)


@app.command()
def cancel(
    journal: JournalOptions,
    run: RunArgument,
    reason: Annotated[str, typer.Option("--reason", metavar="TEXT", help="Why, for the record.")] = "cancelled",
) -> None:
    """Stop a run and everything inside it; what is recorded stays, and requeue lets it go on."""
    is_stopped = journal.read(lambda records: _cancel(records, run, reason))
    note = f"{run} is cancelled." if is_stopped else f"{run} did not go on."
    console.result({"run": run, "cancelled": is_stopped}, journal.as_json, note)


@app.command()
def fork(
    journal: JournalOptions,
    run: RunArgument,
    version: Annotated[
        str | None, typer.Option("--version", metavar="V", help="For which code; default: what workers run.")
    ] = None,
    from_step: Annotated[
        int | None, typer.Option("--from-step", min=1, metavar="N", help="Do this step and later ones again.")
    ] = None,
    name: Annotated[str | None, typer.Option("--name", metavar="RUN", help="The new run's name.")] = None,
) -> None:
    """Carry a run over to changed code: a new run that has the old one's steps and goes on after them."""
    forked = journal.read(lambda records: _fork(records, run, version, from_step, name))
    note = f"{forked['run']} goes on from {run} when a worker of version {forked['version']} takes it."
    console.result(forked, journal.as_json, note)


@app.command()
def requeue(journal: JournalOptions, run: RunArgument) -> None:
    """Let a run that was given up or cancelled go on at its first step without a result."""
    is_stopped = journal.read(lambda records: records.requeue(run, by="cellwright journal requeue"))
    note = f"{run} goes on when a worker takes it." if is_stopped else f"{run} has not stopped."
    console.result({"run": run, "requeued": is_stopped}, journal.as_json, note)


@app.command()
def export(
    journal: JournalOptions,
    run: RunArgument,
    output: Annotated[Path | None, typer.Option("--output", metavar="FILE", help="Write there, not to stdout.")] = None,
) -> None:
    """Write everything a run has told as JSON lines; `--json` makes it one JSON list."""
    events = journal.read(lambda records: _export(records, run))
    lines = [json.dumps(value, ensure_ascii=False) + "\n" for value in ([events] if journal.as_json else events)]
    if output is None:
        journal_tables.raw("".join(lines))
    else:
        _write(output, "".join(lines))
        console.note(f"{len(events)} events in {output}.")


@app.command()
def prune(
    journal: JournalOptions,
    older_than: Annotated[str, typer.Option("--older-than", metavar="30d|DATE", help="Delete what is older.")],
) -> None:
    """Delete old events and runs that have ended, and leave a sealed tombstone; unfinished runs stay whole."""
    before_ms = int(parse_since(older_than, datetime.now(UTC)).timestamp() * 1000)
    pruned = journal.read(lambda records: maintenance.prune(records.log, before_ms=before_ms))
    note = f"Pruned {pruned.events} events, {pruned.runs} runs and {pruned.blobs} large values."
    console.result(dataclasses.asdict(pruned), journal.as_json, note)


@app.command("verify")
def verify_command(
    journal: JournalOptions,
    run: Annotated[str | None, typer.Argument(metavar="[RUN]", help="Only this run.")] = None,
    anchor: Annotated[
        Path | None, typer.Option("--anchor", metavar="FILE", help="Compare with what --write-anchor wrote before.")
    ] = None,
    write_anchor: Annotated[
        Path | None, typer.Option("--write-anchor", metavar="FILE", help="Write the heads of the chains there.")
    ] = None,
) -> None:
    """Check the hash chain: exit 1 if anything was altered, removed, moved or cut off."""
    anchors = _read_anchors(anchor)
    verdict = journal.read(lambda records: _verify(records, run, anchors))
    if write_anchor is not None and not verdict["damage"]:
        _write(write_anchor, json.dumps(verdict["anchors"], indent=1) + "\n")
    console.result(verdict, journal.as_json, journal_tables.verdict)
    raise typer.Exit(1 if verdict["damage"] else 0)


@app.command()
def check(as_json: JsonOption = False, database: DatabaseOption = None) -> None:
    """Let SQLite check the file itself: exit 1 if it is broken."""
    problems = anyio.run(maintenance.check, existing_file(database))
    view = {"ok": not problems, "problems": problems}
    console.result(view, as_json, lambda _: journal_tables.problems(problems))
    raise typer.Exit(1 if problems else 0)


@app.command("backup")
def backup_command(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="Where the copy goes; must not exist.")],
    as_json: JsonOption = False,
    database: DatabaseOption = None,
) -> None:
    """Copy the journal while it is in use, its key beside it."""
    location = existing_journal(database)
    if location.path is not None:
        chain_key(location, None)
    size = anyio.run(maintenance.back_up, location, file)
    note = f"{size:,} bytes in {file}. Keep {file.with_suffix('.key').name} as safe as the journal itself."
    console.result({"file": str(file), "bytes": size}, as_json, note)


@app.command()
def restore(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="A copy made by backup.")],
    replace: Annotated[bool, typer.Option("--replace", help="Replace the journal that is there.")] = False,
    as_json: JsonOption = False,
    database: DatabaseOption = None,
) -> None:
    """Put a copy in the journal's place, after checking it; no worker may be running."""
    location = journal_location(database)
    anyio.run(lambda: maintenance.restore(file, location, replace=replace))
    console.result({"restored": str(location.path)}, as_json, f"Restored to {location.path}.")


# ── what each command does ──


async def _runs(records: Records) -> list[dict[str, Any]]:
    versions = await records.versions_at_work()
    return [run_line(status, versions) for status in await records.runs()]


async def _cancel(records: Records, run: str, reason: str) -> bool:
    # Two seconds of import that no other command needs.
    from cellwright.journal.dbos_settings import RemoteEngine

    await known_run(records, run)
    async with RemoteEngine.open(records.database.place) as engine:
        return await cancel_run(records, engine, run, reason=reason)


async def _fork(
    records: Records, run: str, version: str | None, from_step: int | None, name: str | None
) -> dict[str, Any]:
    from cellwright.journal.dbos_settings import RemoteEngine

    await known_run(records, run)
    chosen = version or next(iter(await records.versions_at_work()), None)
    if chosen is None:
        raise UserError("No worker has said which version it runs.", hint="Name it with --version.")
    async with RemoteEngine.open(records.database.place) as engine:
        forked = await fork_run(records, engine, run, version=chosen, from_step=from_step, new_run=name)
    return {"run": forked, "forked_from": run, "version": chosen}


async def _export(records: Records, run: str) -> list[dict[str, Any]]:
    events = [recorded.json() async for recorded in records.log.read_all(stream_of(run))]
    if not events:
        raise UserError(f"Nothing is kept of a run {run!r}.", hint="See `cellwright journal runs`.")
    return events


async def _verify(records: Records, run: str | None, anchors: list[verify.Anchor]) -> dict[str, Any]:
    stream = stream_of(run) if run is not None else None
    verdict = await verify.verify(records.log, stream=stream, anchors=anchors)
    if stream is not None and not verdict.streams and not verdict.damage:
        raise UserError(f"Nothing is kept of a run {run!r}.", hint="See `cellwright journal runs`.")
    return {**dataclasses.asdict(verdict), "ok": not verdict.damage}


def _read_anchors(path: Path | None) -> list[verify.Anchor]:
    if path is None:
        return []
    try:
        return [verify.Anchor.of(value) for value in json.loads(path.read_text("utf-8"))]
    except (OSError, ValueError, TypeError) as error:
        raise UserError(
            f"Cannot read anchors from {str(path)!r}: {error}.", hint="Use what --write-anchor wrote."
        ) from error


def _write(path: Path, text: str) -> None:
    try:
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise UserError(f"Cannot write {str(path)!r}: {error.strerror}.", hint="Name a file you may write.") from error
