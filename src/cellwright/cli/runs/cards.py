"""`cellwright runs cards|reject-card`: the evidence of a research, and leaving some of it out."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from cellwright.cli.journal_options import JournalOptions, JsonOption
from cellwright.cli.render import console, run_output
from cellwright.cli.runs.lookup import RunArgument, find_run
from cellwright.cli.runs.steering import ask_client
from cellwright.cli.terminal_input import person_here
from cellwright.journal.records import Records
from cellwright.runs.views.research_view import read_research
from cellwright.tools.evidence.card import cards_json

CardArgument = Annotated[str, typer.Argument(metavar="CARD", help="A card's id, as `cellwright runs cards` has it.")]


def cards(journal: JournalOptions, run: RunArgument) -> None:
    """Show what a research has found: every card with its quote, its place and what it says."""

    async def work(records: Records) -> dict[str, Any]:
        name = await find_run(records, run)
        found = await read_research(records.log.read_all, name)
        return {"run": name, "cards": cards_json(found.cards), "rejected": list(found.rejected)}

    console.result(journal.read(work), journal.as_json, _show)


def _show(found: dict[str, Any]) -> None:
    for card in found["cards"]:
        quote = " ".join(card["quote"].split())
        rejected = " (rejected)" if card["id"] in found["rejected"] else ""
        run_output.data(f"{card['id']}{rejected}  {card['says']}\n    {card['name']}, p. {card['page']}: “{quote}”")
    if not found["cards"]:
        console.note("It has found nothing so far.")


def reject_card(run: RunArgument, card: CardArgument, as_json: JsonOption = False) -> None:
    """Leave a card out: what was written from it is written again, in the run at work or in a new one."""
    person = person_here().name
    name, again = ask_client(run, lambda client, name: client.reject_card(name, card, person=person))
    note = f"{name} goes on without {card}." if name == again else f"{again} writes what used {card} again."
    console.result({"run": again, "continues": name if again != name else None, "card": card}, as_json, note)
