"""`cellwright runs cards|reject-card`: the evidence of a research, and leaving some of it out."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any

import anyio
import typer

from cellwright.cli.journal_options import JournalOptions, JsonOption, open_records
from cellwright.cli.render import console, run_output
from cellwright.cli.run.watch import open_run_client
from cellwright.cli.runs.lookup import RunArgument, find_run
from cellwright.cli.terminal_input import person_here
from cellwright.errors import UserError
from cellwright.journal.names import RunId
from cellwright.journal.records import Records
from cellwright.runs.research.report import numbered
from cellwright.runs.views.research_view import ResearchView, newest_research, read_research
from cellwright.runs.views.run_view import first_goal
from cellwright.tools.evidence.card import EvidenceCard, cards_json

CardArgument = Annotated[
    str, typer.Argument(metavar="CARD", help="A card's id, as `cellwright runs cards` has it, or its number [27].")
]


def cards(journal: JournalOptions, run: RunArgument) -> None:
    """Show what a research has found: every card with its quote, its place and what it says."""

    async def work(records: Records) -> dict[str, Any]:
        name = await _find_research(records, run)
        found = await read_research(records.log.read_all, name)
        status = await records.status(name)
        return {
            "run": name,
            "cards": cards_json(found.cards),
            "rejected": list(found.rejected),
            "numbers": _numbers(found),
            "is_going": status.is_going,
        }

    console.result(journal.read(work), journal.as_json, _show)


def _show(found: dict[str, Any]) -> None:
    for card in found["cards"]:
        quote = " ".join(card["quote"].split())
        rejected = " (rejected)" if card["id"] in found["rejected"] else ""
        number = f" [{found['numbers'][card['id']]}]" if card["id"] in found["numbers"] else ""
        run_output.data(
            f"{card['id']}{number}{rejected}  {card['says']}\n    {card['name']}, p. {card['page']}: “{quote}”"
        )
    if not found["cards"]:
        console.note("It has found nothing so far." if found["is_going"] else "It found nothing.")


def reject_card(run: RunArgument, card: CardArgument, as_json: JsonOption = False) -> None:
    """Leave a card out: what was written from it is written again, in the run at work or in a new one."""
    done = anyio.run(_reject, run, card)
    again = done.again if done.again != done.newest else None
    found = {"run": done.again, "continues": done.newest if again else None, "card": done.card.id}
    console.result(found, as_json, _note(done))


@dataclass(frozen=True, slots=True, kw_only=True)
class _Rejection:
    typed: RunId
    newest: str
    """The one of those that continue it that counts."""
    again: str
    """Where it is written without the card."""
    card: EvidenceCard
    was_rejected: bool


async def _reject(run: str, card: str) -> _Rejection:
    async with open_records(None, None) as records:
        name = await _find_research(records, run)
        newest = await newest_research(records, name)
        meant = _find_card(name, await read_research(records.log.read_all, name), card)
        was_rejected = meant.id in (await read_research(records.log.read_all, newest)).rejected
    again = newest
    if not was_rejected:
        async with open_run_client() as client:
            again = await client.reject_card(newest, meant.id, person=person_here().name)
    return _Rejection(typed=name, newest=newest, again=again, card=meant, was_rejected=was_rejected)


def _note(done: _Rejection) -> str:
    meant = f"The card {done.card.id} (“{' '.join(done.card.says.split())}”)"
    later = f" {done.newest}, which goes on from {done.typed}, is the newest." if done.newest != done.typed else ""
    if done.was_rejected:
        return f"{meant} is left out already: nothing is done.{later}"
    if done.again == done.newest:
        return f"{meant} is left out: {done.again} goes on without it.{later}"
    return (
        f"{meant} is left out. A new run, {done.again}, writes what used it again and replaces notebook and text; "
        f"`cellwright runs watch {done.again}` shows how far it is.{later}"
    )


def _find_card(run: str, found: ResearchView, typed: str) -> EvidenceCard:
    """By its id, or by the number under which the report cites it. Raises `UserError`."""
    word = typed.strip().strip("[]").strip()
    numbers = {str(number): id for id, number in _numbers(found).items()}
    card = next((each for each in found.cards if each.id == numbers.get(word, word)), None)
    if card is None:
        raise UserError(f"No card {typed[:40]!r} in this run.", hint=f"`cellwright runs cards {run}` lists them.")
    return card


def _numbers(found: ResearchView) -> dict[str, int]:
    """Of the cards its report cites."""
    return {} if found.report is None else numbered(found.report, {card.id: card for card in found.cards})


async def _find_research(records: Records, run: str) -> RunId:
    """Raises `UserError`."""
    name = await find_run(records, run)
    goal = await first_goal(records, name)
    if goal is None or goal.wants != "research":
        raise UserError(
            f"The run {name!r} is no research.", hint="`cellwright research` begins one; only that has cards."
        )
    return name
