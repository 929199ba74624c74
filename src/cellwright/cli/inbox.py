"""`cellwright inbox`: what runs ask, a person's answers, and what they have allowed; `show|answer|grants|revoke`."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Sequence
from datetime import UTC, datetime, timedelta
from typing import Annotated, Final, TypeVar

import typer

from cellwright.cli.journal_options import JournalOptions, terminal_masker
from cellwright.cli.option_groups import GroupedCommands
from cellwright.cli.render import approval_tables, console
from cellwright.cli.render.console import is_interactive
from cellwright.cli.runs.lookup import complete_going, find_run
from cellwright.cli.terminal_input import ask_line, ask_person, person_here
from cellwright.errors import UserError
from cellwright.policy.approvals import AnswerRefused, Grant, No, Yes
from cellwright.runs.views.questions import answer_view, grant_view, question_view, run_inbox
from cellwright.tools.approval.inbox import Inbox, InboxItem, RecordedAnswer
from cellwright.tools.approval.typed_answers import TypedAnswer

app = GroupedCommands(help="What runs ask you, and what you have allowed them.")

T = TypeVar("T")
NumberArgument = Annotated[str, typer.Argument(metavar="ID", help="A question, as `cellwright inbox` names it.")]
_LASTS: Final = re.compile(r"([0-9]{1,4})([hdw])", flags=re.ASCII)
_UNITS: Final = {"h": "hours", "d": "days", "w": "weeks"}
REFUSED: Final = 3
WAITING: Final = 4


@app.callback(invoke_without_command=True)
def list_command(
    journal: JournalOptions,
    context: typer.Context,
    run: Annotated[
        str | None,
        typer.Option("--run", metavar="RUN", help="Only what this run asks.", autocompletion=complete_going),
    ] = None,
) -> None:
    """List what waits for an answer, oldest first."""
    if context.invoked_subcommand is None:
        show_list(with_inbox(lambda inbox: pending(inbox, run), journal), as_json=journal.as_json)
    elif run or journal != JournalOptions():
        # Such an option would be read here and missing there: an answer must not go to another journal than was named.
        raise UserError(
            "Options of `cellwright inbox` list questions.", hint=f"Put them behind `{context.invoked_subcommand}`."
        )


@app.command()
def show(journal: JournalOptions, number: NumberArgument) -> None:
    """Show exactly what is asked or will happen, and the fingerprint that names it."""
    found = question_view(with_inbox(lambda inbox: inbox.show(number), journal))
    console.result(found, journal.as_json, approval_tables.question)


@app.command()
def answer(
    journal: JournalOptions,
    number: NumberArgument,
    words: Annotated[
        list[str] | None,
        typer.Argument(metavar="ANSWER", help="One of what it offers, or any words; without it you are asked."),
    ] = None,
    lasts: Annotated[str | None, typer.Option("--for", metavar="30d", help="With always: how long.")] = None,
    feedback: Annotated[str | None, typer.Option("--feedback", metavar="TEXT", help="With no: for the agent.")] = None,
    fingerprint: Annotated[
        str | None, typer.Option("--fingerprint", metavar="F", help="What you were shown; does not ask again.")
    ] = None,
) -> None:
    """Answer a question, after seeing it; exit 3 if the answer does not count, 4 if it still waits."""
    typed = TypedAnswer(
        words=_decodable(" ".join(words or ())),
        lasts=None if lasts is None else _duration(lasts),
        feedback=_decodable(feedback or ""),
    )
    if typed.words or journal.as_json:
        outcome = with_inbox(lambda inbox: answer_typed(inbox, number, typed, fingerprint), journal)
        show_outcome(outcome, as_json=journal.as_json)
    elif not with_inbox(lambda inbox: _ask(inbox, number), journal):
        raise typer.Exit(WAITING)


@app.command()
def grants(journal: JournalOptions) -> None:
    """List every yes that still holds: for always, and for runs that have not ended."""
    standing = with_inbox(lambda inbox: inbox.grants(datetime.now(UTC)), journal)
    found = [grant_view(grant) for grant in standing]
    console.result({"grants": found}, journal.as_json, lambda _: approval_tables.grants(found))


@app.command()
def revoke(
    journal: JournalOptions,
    number: Annotated[str, typer.Argument(metavar="ID", help="A standing grant, as `grants` names it.")],
) -> None:
    """Revoke a standing grant: from now on it asks again."""
    outcome = with_inbox(lambda inbox: inbox.revoke(number, person_here()), journal)
    show_outcome(outcome, as_json=journal.as_json)


# ── what was typed ──


def _decodable(text: str) -> str:
    """What the shell could not decode has no place in a JSON record."""
    return text.encode("utf-8", "replace").decode()


def _duration(text: str) -> timedelta:
    found = _LASTS.fullmatch(text)
    if found is None:
        raise UserError(f"{text!r} is no length of time.", hint="Hours, days or weeks: 12h, 30d, 4w.")
    return timedelta(**{_UNITS[found[2]]: int(found[1])})


async def give_answer(
    inbox: Inbox, item: InboxItem, typed: TypedAnswer, fingerprint: str | None
) -> RecordedAnswer | AnswerRefused | None:
    """Answer with what was typed, once the person has seen what it is about; None: they did not confirm it."""
    reply = inbox.parse(item, typed)
    if typed.lasts is not None and not (isinstance(reply, Yes) and reply.reach == "always"):
        raise UserError("--for says how long `always` lasts.", hint="Leave it out, or answer `always`.")
    if typed.feedback and not isinstance(reply, No):
        raise UserError("--feedback goes with `no`.", hint="A yes has nothing to explain.")
    if item.state == "open" and item.question.fingerprint and fingerprint is None:
        if not is_interactive():
            raise UserError(
                "Nobody is at this terminal to see what is answered.",
                hint=f"Look with `cellwright inbox show {item.question.id}`, then add the --fingerprint it shows.",
            )
        approval_tables.question_for_answer(question_view(item), reply)
        if (await ask_line("Answer so? [y/N]") or "").lower() not in {"y", "yes"}:
            return None
    return await inbox.answer(item.question.id, reply, person_here(), fingerprint or item.question.fingerprint)


# ── what is shown ──


def show_list(items: Sequence[InboxItem], *, as_json: bool) -> None:
    """What waits for an answer."""
    found = [question_view(item) for item in items]
    console.result({"questions": found}, as_json, lambda _: approval_tables.questions(found))


def show_outcome(outcome: RecordedAnswer | Grant | AnswerRefused | None, *, as_json: bool) -> None:
    """What came of it, and the exit code that says the same."""
    match outcome:
        case None:
            console.note("Not answered.")
            raise typer.Exit(1)
        case AnswerRefused():
            view = {"refused": outcome.why, "message": outcome.message}
            console.result(view, as_json, console.refusal)
            raise typer.Exit(REFUSED)
        case Grant():
            console.result(grant_view(outcome), as_json, f"Revoked: {outcome.describe()}.")
        case _:
            view = answer_view(outcome)
            console.result(view, as_json, f"Answered {view['id']}: {view['says']}.")


# ── what each command does ──


def with_inbox(work: Callable[[Inbox], Awaitable[T]], journal: JournalOptions) -> T:
    """What the work gives with the inbox of the journal that is named, or of the one in the state directory."""
    masker = terminal_masker()
    return journal.read(lambda records: work(run_inbox(records, masker)), masker)


async def pending(inbox: Inbox, run: str | None = None) -> list[InboxItem]:
    """What waits for an answer, oldest first; of one run, or of all."""
    return await inbox.pending(None if run is None else await find_run(inbox.records, run))


async def answer_typed(
    inbox: Inbox, number: str, typed: TypedAnswer, fingerprint: str | None = None
) -> RecordedAnswer | AnswerRefused | None:
    """Answer one question; None: the person did not confirm it."""
    return await give_answer(inbox, await inbox.show(number), typed, fingerprint)


async def _ask(inbox: Inbox, number: str) -> bool:
    """Whether it was answered at this terminal."""
    item = await inbox.show(number)
    if not is_interactive():
        offers = f"One of: {', '.join(item.offers)}." if item.offers else "Any words."
        raise UserError("Give an answer.", hint=f"{offers} `cellwright inbox show {number}` says more.")
    return await ask_person(inbox, item)
