"""`/runs/{run}/research` and its cards: what a research has found and written; a card a person does not accept."""

from __future__ import annotations

from typing import Annotated

from fastapi import Path as InPath

from cellwright.runs.views.research_view import read_research
from cellwright.server.http.auth.dependencies import KnownStatus, Reader, Steerer
from cellwright.server.http.errors import ResourceNotFound
from cellwright.server.http.resources import ApiRouter, Resources
from cellwright.server.http.schemas import runs as shapes

router = ApiRouter(tags=["runs"])
Card = Annotated[str, InPath(pattern="^c[0-9a-f]{7}$", description="A card, by its id.")]


@router.get("/runs/{run}/research")
async def show_research(_: Reader, resources: Resources, status: KnownStatus) -> shapes.ResearchDetail:
    """Documents, evidence and text of a research."""
    found = await read_research(resources.records.log.read_all, status.run)
    return shapes.ResearchDetail(
        run=status.run,
        sources=found.contents.sources,
        skipped=found.contents.skipped,
        cards=found.cards,
        rejected=found.rejected,
        report=found.report,
    )


@router.post("/runs/{run}/cards/{card}/reject")
async def reject_card(
    caller: Steerer, resources: Resources, status: KnownStatus, card: Card, _: shapes.Nothing | None = None
) -> shapes.RunNote:
    """Have what was written from a card written again without it."""
    found = await read_research(resources.records.log.read_all, status.run)
    if all(each.id != card for each in found.cards):
        known = ", ".join(each.id for each in found.cards[:8]) or "none"
        raise ResourceNotFound(f"The run has no card {card}.", hint=f"Cards: {known}.")
    again = await resources.live.reject_card(status.run, card, person=caller.person)
    note = "It is left out." if again == status.run else "A new run writes what used it again."
    return shapes.RunNote(run=again, note=note)
