"""Which run is meant: its whole name, the beginning of it, or `last`; and what the shell offers while it is typed."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Annotated, Any, Final

import typer

from cellwright.cli.journal_options import JournalOptions
from cellwright.errors import CellwrightError, UserError
from cellwright.journal.names import RunId
from cellwright.journal.records import Records
from cellwright.runs.views.run_view import RUN_WORKFLOW, first_goal, newest_first, read_view

LAST: Final = "last"
_OFFERED: Final = 30
_SHOWN: Final = 5


async def find_run(records: Records, text: str) -> RunId:
    """The run of this name, the only one whose name begins so, or the newest. Raises `UserError`."""
    runs = await records.runs()
    if text == LAST:
        # Of those that turn a goal into a notebook; of all, if there is none such.
        newest = await newest_first(records, [each for each in runs if each.name == RUN_WORKFLOW] or runs)
        if not newest:
            raise UserError("No run yet.", hint='Start one: cellwright run "…".')
        return newest[0].run
    names = [each.run for each in runs]
    if text in names:
        return RunId(text)
    found = [name for name in names if text and name.startswith(text)]
    match found:
        case [only]:
            return only
        case []:
            raise UserError(f"No run {text!r}.", hint="`cellwright runs list` shows them; `last` is the newest.")
        case _:
            some = ", ".join(found[:_SHOWN]) + (" …" if len(found) > _SHOWN else "")
            raise UserError(f"{len(found)} runs begin with {text!r}.", hint=f"Type more of the name: {some}.")


async def find_workflow(records: Records, text: str) -> str:
    """The same for one agent in it, `RUN/agent:1`."""
    run, slash, inside = text.partition("/")
    return f"{await find_run(records, run)}{slash}{inside}"


# ── what the shell offers ──


def complete_run(incomplete: str) -> list[tuple[str, str]]:
    """Runs whose name begins so, newest first, each with its goal."""
    return _offered(_runs, incomplete)


def complete_going(incomplete: str) -> list[tuple[str, str]]:
    """Only those that have not ended."""
    return _offered(lambda records: _runs(records, going_only=True), incomplete)


def complete_task(context: typer.Context, incomplete: str) -> list[tuple[str, str]]:
    """Tasks of the run that was typed before."""
    # While an option lacks its value, arguments are not sorted out yet.
    run: Any = context.params.get("run") or next(iter(context.args), None)
    return _offered(lambda records: _tasks(records, run), incomplete) if isinstance(run, str) else []


def _offered(read: Callable[[Records], Awaitable[list[tuple[str, str]]]], incomplete: str) -> list[tuple[str, str]]:
    try:
        return [each for each in JournalOptions().read(read) if each[0].startswith(incomplete)]
    except (CellwrightError, OSError):
        # Nobody wants to read an error in the middle of a word.
        return []


async def _runs(records: Records, *, going_only: bool = False) -> list[tuple[str, str]]:
    offered: list[tuple[str, str]] = []
    for each in [each for each in await records.runs() if each.is_going or not going_only][:_OFFERED]:
        goal = await first_goal(records, each.run)
        offered.append((each.run, f"{each.standing}: {goal.words if goal is not None else each.name}"))
    return offered


async def _tasks(records: Records, run: str) -> list[tuple[str, str]]:
    plan = (await read_view(records.log.read_all, await find_run(records, run))).plan
    return [] if plan is None else [(task.id, f"{task.title} ({task.status})") for task in plan.tasks]


RunArgument = Annotated[
    str,
    typer.Argument(metavar="RUN", help="A run, the beginning of its name, or `last`.", autocompletion=complete_run),
]
GoingArgument = Annotated[
    str,
    typer.Argument(metavar="RUN", help="A run, the beginning of its name, or `last`.", autocompletion=complete_going),
]
AgentArgument = Annotated[
    str,
    typer.Argument(metavar="RUN", help="A run, or one agent in it (RUN/agent:1).", autocompletion=complete_run),
]
TaskArgument = Annotated[
    str, typer.Argument(metavar="TASK", help="A task, as `plan` names it.", autocompletion=complete_task)
]
