"""`cellwright runs pause|resume|cancel|retry|fork|goal|say|stop|plan`: commands to a run, at work or not."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Annotated, Any, TypeVar

import anyio
import typer

from cellwright.cli.journal_options import JournalOptions, JsonOption, open_records
from cellwright.cli.render import console, run_output
from cellwright.cli.run.watch import open_run_client
from cellwright.cli.runs.lookup import (
    AgentArgument,
    GoingArgument,
    RunArgument,
    TaskArgument,
    complete_task,
    find_run,
    find_workflow,
)
from cellwright.cli.terminal_input import person_here
from cellwright.errors import UserError
from cellwright.journal.names import RunId, run_of
from cellwright.journal.records import Records, RunStatus
from cellwright.runs.plan.plan import (
    ChangeTask,
    DropTask,
    HandBackTask,
    Plan,
    PlanEdit,
    TakeTask,
    edited_late,
    parse_edit,
    plan_json,
)
from cellwright.runs.views.run_view import read_view
from cellwright.server import RunClient

T = TypeVar("T")


def plan(
    journal: JournalOptions,
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
    take: Annotated[
        str | None, typer.Option("--take", metavar="TASK", help="Do it yourself.", autocompletion=complete_task)
    ] = None,
    done: Annotated[
        str | None, typer.Option("--done", metavar="TASK", help="One you took.", autocompletion=complete_task)
    ] = None,
    hand_back: Annotated[
        str | None,
        typer.Option("--hand-back", metavar="TASK", help="Let an agent do it.", autocompletion=complete_task),
    ] = None,
    words: Annotated[
        str | None, typer.Option("--words", metavar="TEXT", help="With --done or --hand-back: what to know.")
    ] = None,
) -> None:
    """Show the plan of a run, or change it: one task more, one less, another one; or do one yourself."""
    typed = TypedEdit(
        add=add,
        drop=drop,
        change=change,
        title=title,
        todo=todo,
        take=take,
        done=done,
        hand_back=hand_back,
        words=words,
    )
    edit = read_edit(typed)
    name, now = journal.read(lambda records: _plan(records, run, edit))
    if journal.as_json:
        console.as_json({"run": name, "plan": plan_json(now), "changed": edit is not None})
        return
    run_output.show_plan(now)
    if edit is not None:
        console.note(f"{name} hears of it before its next task.")


@dataclass(frozen=True, slots=True, kw_only=True)
class TypedEdit:
    """A change of a plan as it was typed."""

    add: str | None = None
    drop: str | None = None
    change: str | None = None
    title: str | None = None
    todo: str | None = None
    take: str | None = None
    done: str | None = None
    hand_back: str | None = None
    words: str | None = None


def read_edit(typed: TypedEdit) -> PlanEdit | None:
    """The one change that was typed; None: only look. Raises `UserError`."""
    back = typed.done or typed.hand_back
    if (
        sum(each is not None for each in (typed.add, typed.drop, typed.change, typed.take, typed.done, typed.hand_back))
        > 1
    ):
        raise UserError("One change at a time.", hint="One of --add, --drop, --change, --take, --done, --hand-back.")
    if typed.change is None and (typed.title is not None or typed.todo is not None):
        raise UserError("--title and --todo say what --change changes.", hint="Add --change TASK.")
    if back is None and typed.words is not None:
        raise UserError("--words say what came of a task.", hint="Add --done TASK or --hand-back TASK.")
    if typed.drop is not None:
        return DropTask(task=typed.drop)
    if typed.take is not None:
        return TakeTask(task=typed.take)
    if back is not None:
        return HandBackTask(task=back, is_done=typed.done is not None, words=typed.words or "")
    if typed.change is not None:
        if not typed.title and not typed.todo:
            raise UserError(f"Nothing to change about {typed.change!r}.", hint="Add --title, --todo or both.")
        return ChangeTask(task=typed.change, title=typed.title or "", todo=typed.todo or "")
    return None if typed.add is None else parse_edit({"op": "add", "task": _json(typed.add)})


def _json(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError as error:
        raise UserError(f"--add takes JSON: {error}.", hint='e.g. \'{"id": "plot", "title": "Plot it"}\'.') from error


async def _plan(records: Records, run: str, edit: PlanEdit | None) -> tuple[str, Plan]:
    name = await find_run(records, run)
    if edit is not None:
        # It loads agents: looking at a plan must not wait for that.
        from cellwright.runs.execute import steering_commands

        await steering_commands.change_plan(records, name, edit, person_here())
    now = (await read_view(records.log.read_all, name)).plan
    if now is None:
        raise UserError(f"The run {name!r} has no plan yet.", hint=f"Wait for it: `cellwright runs watch {name}`.")
    # It may be at work on it already: then the change is in it.
    return name, now if edit is None else edited_late(now, edit, person_here().name)


# What agents need is loaded when it is used: looking at runs must not wait for it.

ReasonOption = Annotated[str, typer.Option("--reason", metavar="TEXT", help="Why, for the record.")]


def pause(journal: JournalOptions, run: GoingArgument) -> None:
    """Let a run pause before its next step; everything is kept."""
    from cellwright.runs.execute import steering_commands

    name = _send(run, lambda records, name: steering_commands.pause(records, name, person_here()), journal)
    console.result({"run": name, "paused": True}, journal.as_json, f"{name} pauses before its next step.")


def resume(journal: JournalOptions, run: RunArgument) -> None:
    """Let a run go on that was paused, cancelled or given up."""
    resumed = journal.read(lambda records: _resume(records, run, journal.database))
    console.result(resumed, journal.as_json, str(resumed["note"]))


def cancel(run: GoingArgument, reason: ReasonOption = "cancelled", as_json: JsonOption = False) -> None:
    """Stop a run and everything in it; what is done stays, and `resume` takes it up again."""
    name, _ = ask_client(run, lambda client, name: client.cancel(name, reason=reason), must_go_on=True)
    console.result({"run": name, "cancelled": True}, as_json, f"{name} is cancelled.")


def retry(run: RunArgument, task: TaskArgument, as_json: JsonOption = False) -> None:
    """Do a task again: in the run while it is at work, afterwards in a new one that continues it."""
    person = person_here().name
    name, again = ask_client(run, lambda client, name: client.retry(name, task, person=person))
    note = f"{name} does {task} again." if name == again else f"{again} continues {name} with {task}."
    console.result({"run": again, "continues": name if again != name else None, "task": task}, as_json, note)


def fork(
    run: RunArgument,
    from_step: Annotated[
        int | None, typer.Option("--from-step", min=1, metavar="N", help="Do this step and later ones again.")
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Begin a new run with the steps of another, all of them or those before one; the old one is stopped."""
    name, forked = ask_client(run, lambda client, name: client.fork(name, from_step=from_step))
    console.result({"run": forked, "forked_from": name}, as_json, f"{forked} goes on from {name}.")


def goal(
    journal: JournalOptions,
    run: GoingArgument,
    text: Annotated[str, typer.Argument(metavar="TEXT", help="What you want instead.")],
) -> None:
    """Give a run at work another goal: what is done stays, the rest is planned anew."""
    from cellwright.runs.execute import steering_commands

    change = steering_commands.change_goal
    name = _send(run, lambda records, name: change(records, name, text, person_here()), journal)
    console.result({"run": name, "goal": text}, journal.as_json, f"{name} plans anew before its next step.")


def say(
    journal: JournalOptions,
    run: AgentArgument,
    text: Annotated[str, typer.Argument(metavar="TEXT", help="What it should know before its next step.")],
) -> None:
    """Say something to an agent at work; it reads it before its next step."""
    from cellwright.agents import steering

    def send(records: Records, name: str) -> Awaitable[object]:
        return steering.say(records.log, name, text, person_here())

    name = _send(run, send, journal, find=find_workflow)
    console.result({"run": name, "said": True}, journal.as_json, f"{name} reads it before its next step.")


def stop(journal: JournalOptions, run: AgentArgument, reason: ReasonOption = "") -> None:
    """Let an agent stop before its next step and hand over what it has."""
    from cellwright.agents import steering
    from cellwright.runs.execute import steering_commands

    async def send(records: Records, name: str) -> None:
        await steering.stop(records.log, name, person_here(), reason)
        await steering_commands.wake(records, run_of(name), person_here())

    name = _send(run, send, journal, find=find_workflow)
    console.result({"run": name, "stopped": True}, journal.as_json, f"{name} stops before its next step.")


def _send(
    run: str,
    send: Callable[[Records, str], Awaitable[object]],
    journal: JournalOptions,
    *,
    find: Callable[[Records, str], Awaitable[str]] = find_run,
) -> str:
    """Send it to the run, or the agent, that is meant; gives its whole name."""

    async def sent(records: Records) -> str:
        name = await find(records, run)
        await send(records, name)
        return name

    return journal.read(sent)


async def _resume(records: Records, run: str, database: str | None) -> dict[str, Any]:
    from cellwright.runs.execute import steering_commands

    status = await records.status(await find_run(records, run))
    if not status.is_going:
        return await _restart(status, database)
    was_paused = await steering_commands.resume(records, status.run, person_here())
    name, on = status.run, "goes on"
    if database is None:
        async with open_run_client() as client:
            # Whoever executed it may be gone; one that has just been started takes it up.
            on = on if client.is_daemon else f"goes on with `cellwright runs watch {name}`: there is no daemon"
        on = f"{on}; `cellwright runs watch {name}` shows how" if on == "goes on" else on
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
    async with open_run_client() as client:
        await client.resume(name, person=person_here().name)
    return {"run": name, "resumed": True, "note": f"{name} goes on; `cellwright runs watch {name}` shows how."}


# ── through whoever executes runs ──


def ask_client(
    run: str, ask: Callable[[RunClient, RunId], Awaitable[T]], *, must_go_on: bool = False
) -> tuple[RunId, T]:
    """The run's whole name, and what its client gives."""

    async def asked() -> tuple[RunId, T]:
        async with open_records(None, None) as records:
            status = await records.status(await find_run(records, run))
        if must_go_on and not status.is_going:
            raise UserError(
                f"The run {status.run!r} is {status.standing} already.",
                hint=f"`cellwright runs show {status.run}` says what came of it.",
            )
        async with open_run_client() as client:
            return status.run, await ask(client, status.run)

    return anyio.run(asked)
