"""`cellwright runs context|say|stop`: what an agent read in a step, and a word to one at work."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import anyio
import typer

from cellwright.agents.journal_texts import JournalTexts
from cellwright.agents.kept_contexts import list_contexts, read_context
from cellwright.agents.prompt_view import prompt_view, render_prompt
from cellwright.agents.steering import say, stop
from cellwright.cli import journal_render, render
from cellwright.cli.approvals import person_here
from cellwright.cli.journal_place import DatabaseOption, JsonOption, KeyOption, open_records
from cellwright.errors import UserError
from cellwright.journal import Fact
from cellwright.policy.shown import shown_block

app = typer.Typer(help="Agents at work, and what they read.", no_args_is_help=True)

RunArgument = Annotated[str, typer.Argument(metavar="RUN", help="A run, or one agent in it (RUN/agent:1).")]


@app.command()
def context(
    run: RunArgument,
    step: Annotated[int | None, typer.Argument(metavar="STEP", help="1, 2, 3 …; without it, all are listed.")] = None,
    as_json: JsonOption = False,
    database: DatabaseOption = None,
    key: KeyOption = None,
) -> None:
    """Show what a model read in one step of an agent: every part, where it stands and what it cost."""
    if step is None:
        found = anyio.run(_steps, run, database, key)
        if as_json:
            render.as_json({"run": run, "steps": found})
        else:
            journal_render.raw("".join(f"{each['agent']} {each['step']}: {each['tokens']} tokens\n" for each in found))
        return
    text, view = anyio.run(_context, run, step, database, key)
    if as_json:
        render.as_json({"run": run, "step": step, **view})
    else:
        journal_render.raw(f"{shown_block(text)}\n")


@app.command("say")
def say_command(
    run: RunArgument,
    text: Annotated[str, typer.Argument(metavar="TEXT", help="What it should know before its next step.")],
    as_json: JsonOption = False,
    database: DatabaseOption = None,
    key: KeyOption = None,
) -> None:
    """Say something to an agent at work; it reads it before its next step."""
    anyio.run(_say, run, text, database, key)
    _told(run, "said", f"{run} reads it before its next step.", as_json=as_json)


@app.command("stop")
def stop_command(
    run: RunArgument,
    reason: Annotated[str, typer.Option("--reason", metavar="TEXT", help="Why, for the record.")] = "",
    as_json: JsonOption = False,
    database: DatabaseOption = None,
    key: KeyOption = None,
) -> None:
    """Let an agent stop before its next step and hand over what it has."""
    anyio.run(_stop, run, reason, database, key)
    _told(run, "stopped", f"{run} stops before its next step.", as_json=as_json)


def _told(run: str, what: str, note: str, *, as_json: bool) -> None:
    if as_json:
        render.as_json({"run": run, what: True})
    else:
        render.note(note)


async def _steps(run: str, database: str | None, key: Path | None) -> list[dict[str, Any]]:
    async with open_records(database, key) as records:
        await records.status(run.partition("/")[0])
        found = await list_contexts(records.log.read_all, run)
        return [_line(fact) for fact in found.values() if fact.subject.startswith((f"{run}#", f"{run}/"))]


def _line(fact: Fact) -> dict[str, Any]:
    agent, _, step = fact.subject.rpartition("#")
    return {"agent": agent, "step": int(step), "tokens": int(fact.numbers.get("tokens", 0))}


async def _context(run: str, step: int, database: str | None, key: Path | None) -> tuple[str, dict[str, Any]]:
    async with open_records(database, key) as records:
        await records.status(run.partition("/")[0])
        found = await list_contexts(records.log.read_all, run)
        fact = found.get(f"{run}#{step}")
        if fact is None:
            raise UserError(f"{run!r} has no step {step} of an agent.", hint=f"See `cellwright runs context {run}`.")
        prompt = await read_context(JournalTexts(records), fact.text)
        return render_prompt(prompt), prompt_view(prompt)


async def _say(run: str, text: str, database: str | None, key: Path | None) -> None:
    async with open_records(database, key) as records:
        await records.status(run.partition("/")[0])
        await say(records.log, run, text, person_here())


async def _stop(run: str, reason: str, database: str | None, key: Path | None) -> None:
    async with open_records(database, key) as records:
        await records.status(run.partition("/")[0])
        await stop(records.log, run, person_here(), reason)
