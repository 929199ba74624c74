"""Spellings of the version before: each does the same through `cellwright inbox`, and names the new one on stderr.

Kept for one version. `approvals` and `questions` are commands of their own; the others belong to `cellwright runs`.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Annotated, Any

import typer

from cellwright.cli import inbox as new
from cellwright.cli.inbox import NumberArgument
from cellwright.cli.journal_options import JournalOptions
from cellwright.cli.option_groups import GroupedCommands
from cellwright.cli.render import console
from cellwright.cli.render.console import is_interactive
from cellwright.cli.render.remedies import problem_text
from cellwright.cli.runs.lookup import GoingArgument, find_run
from cellwright.cli.terminal_input import ask_person, person_here, show_open_questions
from cellwright.errors import UserError
from cellwright.policy.approvals import AnswerRefused, Reach
from cellwright.policy.display_text import shown
from cellwright.runs.views import branches
from cellwright.runs.views.branches import DecidedBranches, NotWaiting
from cellwright.runs.views.questions import answer_view, open_question_view
from cellwright.runs.views.run_view import check_is_run
from cellwright.tools.approval.approval_questions import APPROVAL
from cellwright.tools.approval.inbox import Inbox, InboxItem, PlainAnswered
from cellwright.tools.approval.typed_answers import TypedAnswer

approvals = GroupedCommands(help="Now `cellwright inbox`.", no_args_is_help=True)
questions = GroupedCommands(help="Now `cellwright inbox`.", no_args_is_help=True)


def _renamed(former: str, now: str) -> None:
    console.note(f"`cellwright {former}` is now `cellwright {now}`; the old spelling goes with the next version.")


# ── cellwright approvals ──


@approvals.command("list")
def list_approvals(journal: JournalOptions) -> None:
    """Now `cellwright inbox`."""
    _renamed("approvals list", "inbox")
    items = new.with_inbox(new.pending, journal)
    new.show_list([item for item in items if item.question.fingerprint], as_json=journal.as_json)


@approvals.command("answer")
def answer_approval(
    journal: JournalOptions,
    number: NumberArgument,
    once: Annotated[bool, typer.Option("--once")] = False,
    run: Annotated[bool, typer.Option("--run")] = False,
    always: Annotated[bool, typer.Option("--always")] = False,
    lasts: Annotated[str | None, typer.Option("--for", metavar="30d")] = None,
    more: Annotated[str | None, typer.Option("--raise", metavar="AMOUNT")] = None,
    price: Annotated[str | None, typer.Option("--price", metavar="AMOUNT")] = None,
    uncounted: Annotated[bool, typer.Option("--uncounted")] = False,
    no: Annotated[bool, typer.Option("--no")] = False,
    feedback: Annotated[str | None, typer.Option("--feedback", metavar="TEXT")] = None,
    fingerprint: Annotated[str | None, typer.Option("--fingerprint", metavar="F")] = None,
) -> None:
    """Now `cellwright inbox answer`."""
    flags = {"once": once, "run": run, "always": always, "uncounted": uncounted, "no": no}
    amounts = {"raise": more, "price": price}
    given = [word for word, is_given in flags.items() if is_given]
    given += [f"{word} {amount}" for word, amount in amounts.items() if amount is not None]
    if len(given) != 1:
        raise UserError("Give one answer.", hint="One of: once, run, always, no; for a budget raise, price, uncounted.")
    _renamed(f"approvals answer ID --{given[0]}", f"inbox answer ID {given[0]}")
    new.answer(journal, number, given, lasts, feedback, fingerprint)


def _add_unchanged(name: str, arguments: str, command: Callable[..., None]) -> None:
    """A command that only moved."""

    @functools.wraps(command)
    def renamed(**options: Any) -> None:
        _renamed(f"approvals {name}{arguments}", f"inbox {name}{arguments}")
        command(**options)

    approvals.command(name, help=f"Now `cellwright inbox {name}`.")(renamed)


_add_unchanged("show", " ID", new.show)
_add_unchanged("grants", "", new.grants)
_add_unchanged("revoke", " ID", new.revoke)


# ── cellwright questions ──


@questions.command("list")
def list_questions(journal: JournalOptions) -> None:
    """Now `cellwright inbox`."""
    _renamed("questions list", "inbox")
    items = [item for item in new.with_inbox(new.pending, journal) if not item.question.fingerprint]
    view = {"questions": [_plain_view(item) for item in items]}
    console.result(view, journal.as_json, lambda _: new.show_list(items, as_json=False))


def _plain_view(item: InboxItem) -> dict[str, Any]:
    """The keys that `cellwright questions` has had."""
    return {
        "id": item.question.id,
        "run": item.question.run,
        "topic": item.topic,
        "text": item.question.describe(),
        "choices": list(item.offers),
        "state": item.state,
        "answer": item.answer.reply if isinstance(item.answer, PlainAnswered) else None,
        "by": item.answer.by if isinstance(item.answer, PlainAnswered) else "",
    }


@questions.command("answer")
def answer_question(
    journal: JournalOptions, number: NumberArgument, answer: Annotated[str, typer.Argument(metavar="ANSWER")]
) -> None:
    """Now `cellwright inbox answer`."""
    _renamed("questions answer ID ANSWER", "inbox answer ID ANSWER")
    typed = TypedAnswer(words=answer)
    outcome = new.with_inbox(lambda inbox: new.answer_typed(inbox, number, typed), journal)
    if journal.as_json and isinstance(outcome, PlainAnswered):
        console.as_json(_plain_view(new.with_inbox(lambda inbox: inbox.show(number), journal)))
    else:
        new.show_outcome(outcome, as_json=journal.as_json)


# ── cellwright runs approve ──


def approve(
    journal: JournalOptions,
    run: GoingArgument,
    question: Annotated[str | None, typer.Argument(metavar="[QUESTION]")] = None,
    yes: Annotated[bool, typer.Option("--yes")] = False,
    no: Annotated[bool, typer.Option("--no")] = False,
    reach: Annotated[str | None, typer.Option("--reach", metavar="once|run|always")] = None,
    fingerprint: Annotated[str | None, typer.Option("--fingerprint", metavar="F")] = None,
) -> None:
    """Now `cellwright inbox --run RUN`, and `cellwright inbox answer ID`."""
    if not yes and not no:
        if reach is not None or fingerprint is not None:
            raise UserError("--reach and --fingerprint go with an answer.", hint="Add --yes or --no.")
        _renamed("runs approve RUN", "inbox --run RUN")
        is_asked = is_interactive() and not journal.as_json
        waiting = new.with_inbox(lambda inbox: _ask(inbox, run, question, is_asked), journal)
        console.result({"questions": waiting}, journal.as_json, lambda _: show_open_questions(waiting))
        raise typer.Exit(new.WAITING if waiting else 0)
    _renamed("runs approve RUN", "inbox answer ID ANSWER")
    typed = _typed(yes=yes, no=no, reach=reach)
    said = new.with_inbox(lambda inbox: _approve(inbox, run, question, typed, fingerprint), journal)
    if journal.as_json:
        console.as_json({"answers": said})
    for each in said if not journal.as_json else ():
        console.refusal(each) if "refused" in each else console.note(f"Answered {each['id']}: {each['says']}.")
    raise typer.Exit(new.REFUSED if any("refused" in each for each in said) else 0)


def _typed(*, yes: bool, no: bool, reach: str | None) -> TypedAnswer:
    if yes and no:
        raise UserError("Yes or no?", hint="One of --yes and --no.")
    reaches: dict[str | None, Reach | None] = {None: None, "once": "once", "run": "run", "always": "always"}
    if reach not in reaches or (reach is not None and no):
        raise UserError(f"No answer reaches {reach!r}.", hint="--yes --reach once, run or always.")
    return TypedAnswer(words="yes" if yes else "no", reach=reaches[reach])


async def _asked(inbox: Inbox, run: str, question: str | None) -> tuple[str, list[InboxItem]]:
    """The run's name, and what it asks of what was wanted."""
    name = await find_run(inbox.records, run)
    found = await inbox.pending(name)
    some = [item for item in found if question in {None, item.question.id}]
    if question is not None and not some:
        known = f"It asks {', '.join(item.question.id for item in found)}." if found else "It asks nothing now."
        raise UserError(f"The run {name!r} does not ask {question!r}.", hint=known)
    return name, some


async def _ask(inbox: Inbox, run: str, question: str | None, is_somebody_here: bool) -> list[dict[str, Any]]:
    """Ask whoever is there; gives what still waits."""
    name, items = await _asked(inbox, run, question)
    if not items:
        console.note(f"{name} asks nothing now.")
    for item in items if is_somebody_here else ():
        if not await ask_person(inbox, item):
            break
        console.note(f"Answered {item.question.id}.")
    asked = {item.question.id for item in items}
    return [open_question_view(item) for item in await inbox.pending(name) if item.question.id in asked]


async def _approve(
    inbox: Inbox, run: str, question: str | None, typed: TypedAnswer, fingerprint: str | None
) -> list[dict[str, Any]]:
    """Each approval that is open, after it was shown."""
    name, items = await _asked(inbox, run, question)
    found = [item for item in items if item.topic == APPROVAL]
    if not found:
        raise UserError(f"{name!r} asks for no approval now.", hint=f"`cellwright inbox --run {name}` shows what.")
    if fingerprint is not None:
        found = [item for item in found if item.question.fingerprint == fingerprint] or found[:1]
    answers: list[dict[str, Any]] = []
    for item in found:
        number, outcome = item.question.id, await new.give_answer(inbox, item, typed, fingerprint)
        if outcome is None:
            answers.append({"id": number, "refused": "not-confirmed", "message": f"{number} was not answered."})
        elif isinstance(outcome, AnswerRefused):
            answers.append({"id": number, "refused": outcome.why, "message": outcome.message})
        else:
            answers.append(answer_view(outcome))
    return answers


# ── cellwright runs accept, runs drop ──


def accept(
    journal: JournalOptions, run: GoingArgument, branch: Annotated[str, typer.Argument(metavar="BRANCH")]
) -> None:
    """Now `cellwright inbox answer ID BRANCH`."""
    _renamed("runs accept RUN BRANCH", "inbox answer ID BRANCH")
    _decide(run, branch, journal, is_kept=True)


def drop(
    journal: JournalOptions,
    run: GoingArgument,
    branch: Annotated[str | None, typer.Argument(metavar="[BRANCH]")] = None,
) -> None:
    """Now `cellwright inbox answer ID drop BRANCH`, or `none of them`."""
    _renamed(
        "runs drop RUN" if branch is None else "runs drop RUN BRANCH",
        "inbox answer ID none of them" if branch is None else "inbox answer ID drop BRANCH",
    )
    _decide(run, branch, journal, is_kept=False)


def _decide(run: str, branch: str | None, journal: JournalOptions, *, is_kept: bool) -> None:
    try:
        decided = new.with_inbox(lambda inbox: _decided(inbox, run, branch, is_kept), journal)
    except NotWaiting as refused:
        said = {"id": branch or run, "refused": "not-waiting", "message": shown(problem_text(refused))}
        console.result(said, journal.as_json, console.refusal)
        raise typer.Exit(new.REFUSED) from refused
    console.result(decided.json(), journal.as_json, shown(decided.says))


async def _decided(inbox: Inbox, run: str, branch: str | None, is_kept: bool) -> DecidedBranches:
    status = await inbox.records.status(await find_run(inbox.records, run))
    check_is_run(status.run, status.name)
    if is_kept and branch is not None:
        return await branches.accept(inbox, status.run, branch, person_here())
    return await branches.drop(inbox, status.run, branch, person_here())
