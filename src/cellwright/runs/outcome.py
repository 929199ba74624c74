"""What came of a run that has ended, whatever ended it: its delivery, read from what it told."""

from __future__ import annotations

from cellwright.journal import Records, Standing, stream_of
from cellwright.runs.delivery import Delivery, Status
from cellwright.runs.picture import Picture, see


async def read_picture(records: Records, run: str) -> Picture:
    """The run as it stands now."""
    picture = Picture(run=run)
    async for recorded in records.log.read_all(stream_of(run)):
        picture = see(picture, recorded)
    return picture


def delivery_of(standing: Standing, picture: Picture) -> Delivery | None:
    """What it hands over; None while it goes on. One that was cut off hands over what it told until then."""
    match standing:
        case "queued" | "running" | "waiting":
            return None
        case "done":
            return picture.view.delivery or _cut_off(picture, "failed", "It ended without a delivery.")
        case "failed":
            return _cut_off(picture, "failed", picture.ended)
        case "cancelled":
            return _cut_off(picture, "stopped", picture.ended or "cancelled")
        case "dead":
            return _cut_off(picture, "failed", f"{picture.ended} `cellwright runs resume` tries again.".lstrip())


def _cut_off(picture: Picture, status: Status, why: str) -> Delivery:
    goal, plan = picture.view.goal, picture.view.plan
    return Delivery(
        status=status,
        goal="" if goal is None else goal.words,
        title="" if plan is None else plan.title,
        why=why,
        notebook="" if goal is None else goal.notebook,
        microdollars=picture.view.microdollars,
        tokens=picture.view.tokens,
        seconds=(picture.last_ms - picture.began_ms) / 1000,
        is_price_known=not picture.unpriced_tokens,
    )
