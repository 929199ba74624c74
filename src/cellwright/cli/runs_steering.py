"""`cellwright runs pause|resume|cancel|retry|fork|goal|say|stop`: a word to a run, at work or not.

What is said to a run at work is written to the journal and needs nobody. What starts, ends or restarts one goes through
whoever carries runs out.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import anyio
import typer

from cellwright.cli import render
from cellwright.cli.approvals import person_here
from cellwright.cli.journal_place import DatabaseOption, JsonOption, KeyOption, open_records
from cellwright.cli.run_door import open_door
from cellwright.cli.run_names import AgentArgument, GoingArgument, RunArgument, TaskArgument, find_run, find_workflow
from cellwright.errors import UserError
from cellwright.journal import RunId, RunStatus

ReasonOption = Annotated[str, typer.Option("--reason", metavar="TEXT", help="Why, for the record.")]


def pause(
    run: GoingArgument, as_json: JsonOption = False, database: DatabaseOption = None, key: KeyOption = None
) -> None:
    """Let a run pause before its next step; everything is kept."""
    name = anyio.run(_pause, run, database, key)
    _told({"run": name, "paused": True}, f"{name} pauses before its next step.", as_json=as_json)


def resume(
    run: RunArgument, as_json: JsonOption = False, database: DatabaseOption = None, key: KeyOption = None
) -> None:
    """Let a run go on that was paused, cancelled or given up."""
    said = anyio.run(_resume, run, database, key)
    _told(said, str(said["note"]), as_json=as_json)


def cancel(run: GoingArgument, reason: ReasonOption = "cancelled", as_json: JsonOption = False) -> None:
    """Stop a run and everything in it; what is done stays, and `resume` takes it up again."""
    name = anyio.run(_cancel, run, reason)
    _told({"run": name, "cancelled": True}, f"{name} is cancelled.", as_json=as_json)


def retry(run: RunArgument, task: TaskArgument, as_json: JsonOption = False) -> None:
    """Do a task again: in the run while it is at work, afterwards in a new one that continues it."""
    name, again = anyio.run(_retry, run, task)
    note = f"{name} does {task} again." if name == again else f"{again} continues {name} with {task}."
    _told({"run": again, "continues": name if again != name else None, "task": task}, note, as_json=as_json)


def fork(
    run: RunArgument,
    from_step: Annotated[
        int | None, typer.Option("--from-step", min=1, metavar="N", help="Do this step and later ones again.")
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Begin a new run with the steps of another, all of them or those before one; the old one is stopped."""
    name, forked = anyio.run(_fork, run, from_step)
    _told({"run": forked, "forked_from": name}, f"{forked} goes on from {name}.", as_json=as_json)


def goal(
    run: GoingArgument,
    text: Annotated[str, typer.Argument(metavar="TEXT", help="What you want instead.")],
    as_json: JsonOption = False,
    database: DatabaseOption = None,
    key: KeyOption = None,
) -> None:
    """Give a run at work another goal: what is done stays, the rest is planned anew."""
    name = anyio.run(_goal, run, text, database, key)
    _told({"run": name, "goal": text}, f"{name} plans anew before its next step.", as_json=as_json)


def say(
    run: AgentArgument,
    text: Annotated[str, typer.Argument(metavar="TEXT", help="What it should know before its next step.")],
    as_json: JsonOption = False,
    database: DatabaseOption = None,
    key: KeyOption = None,
) -> None:
    """Say something to an agent at work; it reads it before its next step."""
    name = anyio.run(_say, run, text, database, key)
    _told({"run": name, "said": True}, f"{name} reads it before its next step.", as_json=as_json)


def stop(
    run: AgentArgument,
    reason: ReasonOption = "",
    as_json: JsonOption = False,
    database: DatabaseOption = None,
    key: KeyOption = None,
) -> None:
    """Let an agent stop before its next step and hand over what it has."""
    name = anyio.run(_stop, run, reason, database, key)
    _told({"run": name, "stopped": True}, f"{name} stops before its next step.", as_json=as_json)


def _told(value: dict[str, Any], note: str, *, as_json: bool) -> None:
    if as_json:
        render.as_json(value)
    else:
        render.note(note)


# ── through the journal: what agents need is loaded when it is used, looking at runs must not wait for it ──


async def _pause(run: str, database: str | None, key: Path | None) -> RunId:
    from cellwright.runs import orders

    async with open_records(database, key) as records:
        name = await find_run(records, run)
        await orders.pause(records, name, person_here())
        return name


async def _goal(run: str, text: str, database: str | None, key: Path | None) -> RunId:
    from cellwright.runs import orders

    async with open_records(database, key) as records:
        name = await find_run(records, run)
        await orders.change_goal(records, name, text, person_here())
        return name


async def _say(run: str, text: str, database: str | None, key: Path | None) -> str:
    from cellwright.agents import steering

    async with open_records(database, key) as records:
        name = await find_workflow(records, run)
        await steering.say(records.log, name, text, person_here())
        return name


async def _stop(run: str, reason: str, database: str | None, key: Path | None) -> str:
    from cellwright.agents import steering

    async with open_records(database, key) as records:
        name = await find_workflow(records, run)
        await steering.stop(records.log, name, person_here(), reason)
        return name


async def _resume(run: str, database: str | None, key: Path | None) -> dict[str, Any]:
    from cellwright.runs import orders

    async with open_records(database, key) as records:
        status = await records.status(await find_run(records, run))
        if not status.is_going:
            return await _restart(status, database)
        was_paused = await orders.resume(records, status.run, person_here())
    name, on = status.run, "goes on"
    if database is None:
        async with open_door() as door:
            # Whoever carried it out may be gone; one that has just been started takes it up.
            on = on if door.is_daemon else f"goes on with `cellwright runs watch {name}`: there is no daemon"
    note = f"{name} {on}." if was_paused else f"{name} was not paused; it {on}."
    return {"run": name, "resumed": was_paused, "note": note}


async def _restart(status: RunStatus, database: str | None) -> dict[str, Any]:
    name = status.run
    if status.standing not in {"cancelled", "dead"}:
        raise UserError(
            f"The run {name!r} is {status.standing} already.",
            hint=f"`cellwright runs retry {name} TASK` does a task again, `cellwright runs fork` begins anew.",
        )
    if database is not None:
        raise UserError(
            f"The run {name!r} is {status.standing}.", hint=f"`cellwright journal requeue {name}` lets it go on there."
        )
    async with open_door() as door:
        await door.resume(name, person=person_here().name)
    return {"run": name, "resumed": True, "note": f"{name} goes on; `cellwright runs watch {name}` shows how."}


# ── through whoever carries runs out ──


async def _found(run: str, *, must_go_on: bool = False) -> RunId:
    async with open_records(None, None) as records:
        status = await records.status(await find_run(records, run))
    if must_go_on and not status.is_going:
        raise UserError(
            f"The run {status.run!r} is {status.standing} already.",
            hint=f"`cellwright runs show {status.run}` says what came of it.",
        )
    return status.run


async def _cancel(run: str, reason: str) -> RunId:
    name = await _found(run, must_go_on=True)
    async with open_door() as door:
        await door.cancel(name, reason=reason)
    return name


async def _retry(run: str, task: str) -> tuple[RunId, RunId]:
    name = await _found(run)
    async with open_door() as door:
        return name, await door.retry(name, task, person=person_here().name)


async def _fork(run: str, from_step: int | None) -> tuple[RunId, RunId]:
    name = await _found(run)
    async with open_door() as door:
        return name, await door.fork(name, from_step=from_step)
