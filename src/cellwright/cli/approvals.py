"""`cellwright approvals list|show|answer|grants|revoke`: the questions of runs, and a person's answers to them."""

from __future__ import annotations

import os
import pwd
import re
import sys
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from decimal import Decimal, InvalidOperation
from pathlib import Path
from typing import Annotated, Final

import anyio
import typer

from cellwright.cli.journal_options import DatabaseOption, JsonOption, KeyOption, open_records, terminal_masker
from cellwright.cli.render import approval_tables, console
from cellwright.errors import UserError
from cellwright.policy import AnswerRefused, Grant, No, Person, Reply, Yes
from cellwright.runs.views.questions import answer_view, grant_view, question_view
from cellwright.tools import BudgetReply, Inbox, InboxItem, LeaveUncounted, PutPrice, Raise, RecordedAnswer

app = typer.Typer(help="What runs ask you, and what you have allowed them.", no_args_is_help=True)

NumberArgument = Annotated[str, typer.Argument(metavar="ID", help="A question, as `list` names it.")]
_LASTS: Final = re.compile(r"([0-9]{1,4})([hdw])", flags=re.ASCII)
_UNITS: Final = {"h": "hours", "d": "days", "w": "weeks"}


@app.command("list")
def list_command(as_json: JsonOption = False, database: DatabaseOption = None, key: KeyOption = None) -> None:
    """List what waits for an answer, oldest first."""
    found = [question_view(question) for question in anyio.run(_pending, database, key)]
    if as_json:
        console.as_json({"questions": found})
    else:
        approval_tables.questions(found)


@app.command()
def show(
    number: NumberArgument, as_json: JsonOption = False, database: DatabaseOption = None, key: KeyOption = None
) -> None:
    """Show exactly what will happen, and the fingerprint that names it."""
    found = question_view(anyio.run(_show, number, database, key))
    if as_json:
        console.as_json(found)
    else:
        approval_tables.question(found)


@app.command("answer")
def answer_command(
    number: NumberArgument,
    once: Annotated[bool, typer.Option("--once", help="Yes, exactly this.")] = False,
    run: Annotated[bool, typer.Option("--run", help="Yes, and the same target until the run ends.")] = False,
    always: Annotated[bool, typer.Option("--always", help="Yes, and the same target in this project.")] = False,
    lasts: Annotated[str | None, typer.Option("--for", metavar="30d", help="How long always lasts.")] = None,
    more: Annotated[str | None, typer.Option("--raise", metavar="AMOUNT", help="Raise the budget by this.")] = None,
    price: Annotated[
        str | None, typer.Option("--price", metavar="AMOUNT", help="Count what has no known price as this.")
    ] = None,
    uncounted: Annotated[
        bool, typer.Option("--uncounted", help="Do not count in this run what has no known price.")
    ] = False,
    no: Annotated[bool, typer.Option("--no", help="No.")] = False,
    feedback: Annotated[
        str | None, typer.Option("--feedback", metavar="TEXT", help="With --no: for the agent.")
    ] = None,
    fingerprint: Annotated[
        str | None, typer.Option("--fingerprint", metavar="F", help="What you were shown; does not ask again.")
    ] = None,
    as_json: JsonOption = False,
    database: DatabaseOption = None,
    key: KeyOption = None,
) -> None:
    """Answer a question, after seeing it; exit 3 if the answer does not count."""
    reply = read_reply(
        once=once,
        run=run,
        always=always,
        lasts=lasts,
        more=more,
        price=price,
        uncounted=uncounted,
        no=no,
        feedback=feedback,
    )
    seen = fingerprint or _confirm(anyio.run(_show, number, database, key), reply)
    said = anyio.run(_answer, number, reply, seen, database, key)
    _tell_outcome(said, as_json=as_json)


@app.command()
def grants(as_json: JsonOption = False, database: DatabaseOption = None, key: KeyOption = None) -> None:
    """List every yes that still holds: for always, and for runs that have not ended."""
    found = [grant_view(grant) for grant in anyio.run(_grants, database, key)]
    if as_json:
        console.as_json({"grants": found})
    else:
        approval_tables.grants(found)


@app.command()
def revoke(
    number: Annotated[str, typer.Argument(metavar="ID", help="A lasting yes, as `grants` names it.")],
    as_json: JsonOption = False,
    database: DatabaseOption = None,
    key: KeyOption = None,
) -> None:
    """Take a lasting yes back: from now on it asks again."""
    _tell_outcome(anyio.run(_revoke, number, database, key), as_json=as_json)


# ── what was typed ──


def read_reply(
    *,
    once: bool,
    run: bool,
    always: bool,
    lasts: str | None,
    more: str | None,
    price: str | None,
    uncounted: bool,
    no: bool,
    feedback: str | None,
) -> Reply | BudgetReply:
    """The one answer that was given. Raises `UserError` for none, several, or words that do not belong to it."""
    if sum([once, run, always, more is not None, price is not None, uncounted, no]) != 1:
        raise UserError(
            "Give one answer.",
            hint="One of --once, --run, --always, --no; for a budget --raise, --price, --uncounted, --no.",
        )
    if lasts is not None and not always:
        raise UserError("--for says how long --always lasts.", hint="Leave it out, or answer --always.")
    if feedback is not None and not no:
        raise UserError("--feedback goes with --no.", hint="A yes has nothing to explain.")
    if more is not None:
        return Raise(more=_amount(more, "--raise"))
    if price is not None:
        return PutPrice(amount=_amount(price, "--price"))
    if uncounted:
        return LeaveUncounted()
    if no:
        # What the shell could not decode has no place in a JSON record.
        return No(feedback=(feedback or "").encode("utf-8", "replace").decode())
    if not always:
        return Yes(reach="once" if once else "run")
    return Yes(reach="always") if lasts is None else Yes(reach="always", lasts=_duration(lasts))


def _amount(text: str, option: str) -> Decimal:
    try:
        return Decimal(text)
    except InvalidOperation as error:
        raise UserError(f"{text!r} is no amount.", hint=f"A plain number, e.g. {option} 2.50.") from error


def _duration(text: str) -> timedelta:
    found = _LASTS.fullmatch(text)
    if found is None:
        raise UserError(f"{text!r} is no length of time.", hint="Hours, days or weeks: 12h, 30d, 4w.")
    return timedelta(**{_UNITS[found[2]]: int(found[1])})


def _confirm(found: InboxItem, reply: Reply | BudgetReply) -> str:
    """The fingerprint of what the person has just seen and confirmed."""
    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        raise UserError(
            "Nobody is at this terminal to see what is answered.",
            hint="Look with `cellwright approvals show ID`, then add --fingerprint with what it shows.",
        )
    approval_tables.question_for_answer(question_view(found), reply)
    if not typer.confirm("Answer so?", err=True):
        console.note("Not answered.")
        raise typer.Exit(1)
    return found.question.fingerprint


# ── what is shown ──


def _tell_outcome(outcome: RecordedAnswer | Grant | AnswerRefused, *, as_json: bool) -> None:
    match outcome:
        case AnswerRefused():
            view = {"refused": outcome.why, "message": outcome.message}
            console.as_json(view) if as_json else console.refusal(view)
            raise typer.Exit(3)
        case Grant():
            console.as_json(grant_view(outcome)) if as_json else console.note(f"Revoked: {outcome.describe()}.")
        case _:
            view = answer_view(outcome)
            console.as_json(view) if as_json else console.note(f"Answered {view['id']}: {view['says']}.")


# ── what each command does ──


def person_here() -> Person:
    """Who sits at this terminal, as the system knows them; what the environment claims does not count."""
    try:
        name = pwd.getpwuid(os.getuid()).pw_name
    except KeyError:
        name = f"user {os.getuid()}"
    return Person(name=name, door="cli")


@asynccontextmanager
async def open_inbox(database: str | None, key: Path | None) -> AsyncGenerator[Inbox]:
    """The desk of the journal that is named, or of the one in the state directory."""
    masker = terminal_masker()
    async with open_records(database, key, masker) as records:
        yield Inbox(records, masker=masker)


async def _pending(database: str | None, key: Path | None) -> list[InboxItem]:
    async with open_inbox(database, key) as desk:
        return await desk.pending()


async def _show(number: str, database: str | None, key: Path | None) -> InboxItem:
    async with open_inbox(database, key) as desk:
        return await desk.show(number)


async def _answer(
    number: str, reply: Reply | BudgetReply, seen: str, database: str | None, key: Path | None
) -> RecordedAnswer | AnswerRefused:
    async with open_inbox(database, key) as desk:
        return await desk.answer(number, reply, person_here(), seen)


async def _grants(database: str | None, key: Path | None) -> tuple[Grant, ...]:
    async with open_inbox(database, key) as desk:
        return await desk.grants(datetime.now(UTC))


async def _revoke(number: str, database: str | None, key: Path | None) -> Grant | AnswerRefused:
    async with open_inbox(database, key) as desk:
        return await desk.revoke(number, person_here())
