"""`cellwright runs approve`: what one run asks, shown and answered."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Final

import anyio
import typer

from cellwright.cli.approvals import person_here
from cellwright.cli.journal_options import DatabaseOption, JsonOption, KeyOption, open_records, terminal_masker
from cellwright.cli.render import console, run_output
from cellwright.cli.run.outcome import WAITING
from cellwright.cli.run.questions import QuestionPrompt, show_approval, show_open_questions
from cellwright.cli.runs.lookup import GoingArgument, find_run
from cellwright.cli.terminal_input import ask_line, is_interactive
from cellwright.errors import UserError
from cellwright.journal import OpenQuestion, Records
from cellwright.policy import AnswerRefused, Masker, No, Reach, Reply, Yes
from cellwright.runs.views.questions import answer_view, describe_open_questions
from cellwright.tools import APPROVAL, Inbox, InboxItem

_REFUSED: Final = 3


def approve(
    run: GoingArgument,
    question: Annotated[
        str | None, typer.Argument(metavar="[QUESTION]", help="Only this one; default: all that are open.")
    ] = None,
    yes: Annotated[bool, typer.Option("--yes", help="Yes.")] = False,
    no: Annotated[bool, typer.Option("--no", help="No.")] = False,
    reach: Annotated[
        str | None, typer.Option("--reach", metavar="once|run|always", help="With --yes: how far it reaches.")
    ] = None,
    fingerprint: Annotated[
        str | None, typer.Option("--fingerprint", metavar="F", help="What you were shown; does not ask again.")
    ] = None,
    as_json: JsonOption = False,
    database: DatabaseOption = None,
    key: KeyOption = None,
) -> None:
    """Show what a run asks, and answer it; exit 4 while something waits, 3 if the answer does not count."""
    wanted = _QuestionScope(run=run, question=question, database=database, key=key)
    if not yes and not no:
        if reach is not None or fingerprint is not None:
            raise UserError("--reach and --fingerprint go with an answer.", hint="Add --yes or --no.")
        waiting = anyio.run(_ask, wanted, is_interactive() and not as_json)
        console.as_json({"questions": waiting}) if as_json else show_open_questions(waiting)
        raise typer.Exit(WAITING if waiting else 0)
    said = anyio.run(_answer, wanted, _GivenAnswer.of(yes=yes, no=no, reach=reach, fingerprint=fingerprint))
    if as_json:
        console.as_json({"answers": said})
    for each in said if not as_json else ():
        console.refusal(each) if "refused" in each else console.note(f"Answered {each['id']}: {each['says']}.")
    raise typer.Exit(_REFUSED if any("refused" in each for each in said) else 0)


@dataclass(frozen=True, slots=True, kw_only=True)
class _QuestionScope:
    """Whose questions."""

    run: str
    question: str | None
    database: str | None
    key: Path | None

    @asynccontextmanager
    async def open(self, masker: Masker) -> AsyncGenerator[tuple[Records, str, list[OpenQuestion]]]:
        """The journal, the run's name, and what it asks of what was wanted."""
        async with open_records(self.database, self.key, masker) as records:
            name = await find_run(records, self.run)
            found = await records.questions.pending(name)
            some = [each for each in found if self.question in {None, each.id}]
            if self.question is not None and not some:
                raise UserError(f"The run {name!r} does not ask {self.question!r}.", hint=_open_words(found))
            yield records, name, some


def _open_words(found: Sequence[OpenQuestion]) -> str:
    return f"It asks {', '.join(each.id for each in found)}." if found else "It asks nothing now."


@dataclass(frozen=True, slots=True, kw_only=True)
class _GivenAnswer:
    """An answer that came with the command."""

    is_yes: bool
    reach: Reach | None
    fingerprint: str | None

    @classmethod
    def of(cls, *, yes: bool, no: bool, reach: str | None, fingerprint: str | None) -> _GivenAnswer:
        """Raises `UserError` for what is no one answer."""
        if yes and no:
            raise UserError("Yes or no?", hint="One of --yes and --no.")
        reaches: dict[str | None, Reach | None] = {None: None, "once": "once", "run": "run", "always": "always"}
        if reach not in reaches or (reach is not None and no):
            raise UserError(f"No answer reaches {reach!r}.", hint="--yes --reach once, run or always.")
        return cls(is_yes=yes, reach=reaches[reach], fingerprint=fingerprint)

    def reply_to(self, found: InboxItem) -> Reply:
        """To this question; a yes reaches no further than it must."""
        if not self.is_yes:
            return No()
        reach = self.reach or ("once" if "once" in found.question.offers else "run")
        return Yes(reach=reach)


async def _ask(wanted: _QuestionScope, is_somebody_there: bool) -> list[dict[str, Any]]:
    """Ask whoever is there; gives what still waits."""
    masker = terminal_masker()
    async with wanted.open(masker) as (records, name, found):
        if not found:
            console.note(f"{name} asks nothing now.")
        for question in found if is_somebody_there else ():
            if not await QuestionPrompt(records=records, masker=masker).ask(question):
                break
            console.note(f"Answered {question.id}.")
        asked = {each.id for each in found}
        left = [each for each in await records.questions.pending(name) if each.id in asked]
        return await describe_open_questions(records, masker, name, left)


async def _answer(wanted: _QuestionScope, said: _GivenAnswer) -> list[dict[str, Any]]:
    """Each approval that is open, after it was shown."""
    masker = terminal_masker()
    async with wanted.open(masker) as (records, name, found):
        desk = Inbox(records, masker=masker)
        shown = [await desk.show(each.id) for each in found if each.question.topic == APPROVAL]
        if not shown:
            raise UserError(f"{name!r} asks for no approval now.", hint=f"`cellwright runs approve {name}` shows what.")
        if said.fingerprint is not None and len(shown) > 1:
            shown = [each for each in shown if each.question.fingerprint == said.fingerprint] or shown[:1]
        return [await _answer_one(desk, each, said) for each in shown]


async def _answer_one(desk: Inbox, found: InboxItem, said: _GivenAnswer) -> dict[str, Any]:
    question, reply = found.question, said.reply_to(found)
    seen = said.fingerprint or await _confirmed(found, reply)
    if seen is None:
        return {"id": question.id, "refused": "not-confirmed", "message": f"{question.id} was not answered."}
    outcome = await desk.answer(question.id, reply, person_here(), seen)
    if isinstance(outcome, AnswerRefused):
        return {"id": question.id, "refused": outcome.why, "message": outcome.message}
    return answer_view(outcome)


async def _confirmed(found: InboxItem, reply: Reply) -> str | None:
    """The fingerprint of what the person has just seen and confirmed."""
    if not is_interactive():
        raise UserError(
            "Nobody is at this terminal to see what is answered.",
            hint=f"`cellwright runs approve {found.question.run}` shows it; then add --fingerprint with what it shows.",
        )
    show_approval(found)
    words = f"yes, {reply.reach}" if isinstance(reply, Yes) else "no"
    run_output.say(f"Your answer: {words}", style="bold")
    typed = await ask_line("Answer so? [y/N]")
    return found.question.fingerprint if (typed or "").lower() in {"y", "yes"} else None
