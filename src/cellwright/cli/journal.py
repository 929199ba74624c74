"""`cellwright journal …`: what is kept, whether it is sound, and copies of it."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any

import anyio
import typer

from cellwright.cli import journal_render, render
from cellwright.errors import UserError
from cellwright.journal import Records, backup, read_key, retention, stream_of, verify
from cellwright.journal.database import Place
from cellwright.policy import parse_since
from cellwright.settings import Settings

app = typer.Typer(help="What Cellwright keeps of everything that happened.", no_args_is_help=True)

JsonOption = Annotated[bool, typer.Option("--json", help="JSON on stdout.")]
DatabaseOption = Annotated[
    str | None,
    typer.Option("--database", metavar="FILE|URL", help="The journal; default: journal.db in the state directory."),
]
KeyOption = Annotated[
    Path | None,
    typer.Option("--key", metavar="FILE", help="The chain's key; default: the .key file beside the journal."),
]
RunArgument = Annotated[str, typer.Argument(metavar="RUN", help="A run's name.")]


@app.command()
def runs(as_json: JsonOption = False, database: DatabaseOption = None, key: KeyOption = None) -> None:
    """List every run, newest first: running, waiting for an answer, done, dead …"""
    found = anyio.run(_runs, database, key)
    if as_json:
        render.as_json({"runs": found})
    else:
        journal_render.runs(found)


@app.command()
def requeue(
    run: RunArgument, as_json: JsonOption = False, database: DatabaseOption = None, key: KeyOption = None
) -> None:
    """Let a run that was given up or cancelled go on at its first step without a result."""
    is_stopped = anyio.run(_requeue, run, database, key)
    if as_json:
        render.as_json({"run": run, "requeued": is_stopped})
    else:
        render.note(f"{run} goes on when a worker takes it." if is_stopped else f"{run} has not stopped.")


@app.command()
def export(
    run: RunArgument,
    output: Annotated[Path | None, typer.Option("--output", metavar="FILE", help="Write there, not to stdout.")] = None,
    as_json: JsonOption = False,
    database: DatabaseOption = None,
    key: KeyOption = None,
) -> None:
    """Write everything a run has told as JSON lines; `--json` makes it one JSON list."""
    events = anyio.run(_export, run, database, key)
    text = json.dumps(events, ensure_ascii=False) + "\n" if as_json else journal_render.json_lines(events)
    if output is None:
        journal_render.raw(text)
    else:
        output.write_text(text, encoding="utf-8")
        render.note(f"{len(events)} events in {output}.")


@app.command()
def prune(
    older_than: Annotated[str, typer.Option("--older-than", metavar="30d|DATE", help="Delete what is older.")],
    as_json: JsonOption = False,
    database: DatabaseOption = None,
    key: KeyOption = None,
) -> None:
    """Delete old events and runs that have ended, and leave a sealed tombstone; unfinished runs stay whole."""
    before = parse_since(older_than, datetime.now(UTC))
    pruned = dataclasses.asdict(anyio.run(_prune, int(before.timestamp() * 1000), database, key))
    if as_json:
        render.as_json(pruned)
    else:
        render.note(f"Pruned {pruned['events']} events, {pruned['runs']} runs and {pruned['blobs']} large values.")


@app.command("verify")
def verify_command(
    run: Annotated[str | None, typer.Argument(metavar="[RUN]", help="Only this run.")] = None,
    anchor: Annotated[
        Path | None, typer.Option("--anchor", metavar="FILE", help="Compare with what --write-anchor wrote before.")
    ] = None,
    write_anchor: Annotated[
        Path | None, typer.Option("--write-anchor", metavar="FILE", help="Write the heads of the chains there.")
    ] = None,
    as_json: JsonOption = False,
    database: DatabaseOption = None,
    key: KeyOption = None,
) -> None:
    """Check the hash chain: exit 1 if anything was altered, removed, moved or cut off."""
    verdict = anyio.run(_verify, run, _read_anchors(anchor), database, key)
    if write_anchor is not None and not verdict["damage"]:
        write_anchor.write_text(json.dumps(verdict["anchors"], indent=1) + "\n", encoding="utf-8")
    if as_json:
        render.as_json(verdict)
    else:
        journal_render.verdict(verdict)
    raise typer.Exit(1 if verdict["damage"] else 0)


@app.command()
def check(as_json: JsonOption = False, database: DatabaseOption = None) -> None:
    """Let SQLite check the file itself: exit 1 if it is broken."""
    problems = anyio.run(_check, database)
    if as_json:
        render.as_json({"ok": not problems, "problems": problems})
    else:
        journal_render.problems(problems)
    raise typer.Exit(1 if problems else 0)


@app.command("backup")
def backup_command(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="Where the copy goes; must not exist.")],
    as_json: JsonOption = False,
    database: DatabaseOption = None,
) -> None:
    """Copy the journal while it is in use, its key beside it."""
    size = anyio.run(_backup, file, database)
    if as_json:
        render.as_json({"file": str(file), "bytes": size})
    else:
        render.note(f"{size:,} bytes in {file}. Keep {file.with_suffix('.key').name} as safe as the journal itself.")


@app.command()
def restore(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="A copy made by backup.")],
    replace: Annotated[bool, typer.Option("--replace", help="Replace the journal that is there.")] = False,
    as_json: JsonOption = False,
    database: DatabaseOption = None,
) -> None:
    """Put a copy in the journal's place, after checking it; no worker may be running."""
    place = _place(database)
    anyio.run(lambda: backup.restore(file, place, replace=replace))
    if as_json:
        render.as_json({"restored": str(place.path)})
    else:
        render.note(f"Restored to {place.path}.")


# ── what each command does ──


@asynccontextmanager
async def _records(database: str | None, key: Path | None) -> AsyncGenerator[Records]:
    place = _place(database)
    _must_exist(place)
    chain_key = read_key(key) if key is not None else _home_key(place)
    async with Records.open(place.url, chain_key=chain_key) as records:
        yield records


def _place(database: str | None) -> Place:
    return Place.of(database if database is not None else Settings.read().home / "journal.db")


def _must_exist(place: Place) -> None:
    if place.path is not None and not place.path.exists():
        raise UserError(f"No journal at {str(place.path)!r}.", hint="Nothing has run yet, or name it with --database.")


def _home_key(place: Place) -> bytes | None:
    """On Postgres, the key in the state directory; a file has its own beside it."""
    return read_key(Settings.read().ready_home() / "journal.key") if place.path is None else None


async def _runs(database: str | None, key: Path | None) -> list[dict[str, Any]]:
    async with _records(database, key) as records:
        return [dataclasses.asdict(status) for status in await records.runs()]


async def _requeue(run: str, database: str | None, key: Path | None) -> bool:
    async with _records(database, key) as records:
        return await records.requeue(run, by="cellwright journal requeue")


async def _export(run: str, database: str | None, key: Path | None) -> list[dict[str, Any]]:
    async with _records(database, key) as records:
        events = [told.json() async for told in records.log.read_all(stream_of(run))]
    if not events:
        raise UserError(f"Nothing is kept of a run {run!r}.", hint="See `cellwright journal runs`.")
    return events


async def _prune(before_ms: int, database: str | None, key: Path | None) -> retention.Pruned:
    async with _records(database, key) as records:
        return await retention.prune(records.log, before_ms=before_ms)


async def _verify(
    run: str | None, anchors: list[verify.Anchor], database: str | None, key: Path | None
) -> dict[str, Any]:
    async with _records(database, key) as records:
        stream = stream_of(run) if run is not None else None
        verdict = await verify.verify(records.log, stream=stream, anchors=anchors)
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


async def _check(database: str | None) -> list[str]:
    return await backup.check(_place(database))


async def _backup(file: Path, database: str | None) -> int:
    place = _place(database)
    _must_exist(place)
    return await backup.back_up(place, file)
