"""Runs of an older version of the code: taken over into this one, with every step they have."""

from __future__ import annotations

import logging

from cellwright.errors import CellwrightError
from cellwright.journal import Fact, RunId, stream_of
from cellwright.server.door import Carrier

logger = logging.getLogger(__name__)

CARRIED_OVER = "carried-over"
"""The topic under which the old run's stream tells which run goes on with it."""


async def carry_over(carrier: Carrier) -> None:
    """Fork every run that nobody of this version goes on with; told in the old run's stream and in the log."""
    for run in await carrier.stranded():
        try:
            await _carry_over(carrier, run)
        except CellwrightError as problem:
            logger.error("The run %s cannot go on with this version: %s", run, problem.message)


async def _carry_over(carrier: Carrier, run: RunId) -> None:
    old = await carrier.records.status(run)
    new = await carrier.fork(run)
    version = (await carrier.records.status(new)).version
    words = f"Its code was of version {old.version}; it goes on as {new} with version {version}."
    await carrier.records.log.append(stream_of(run), Fact(topic=CARRIED_OVER, subject=new, text=words))
    logger.info("The run %s: %s", run, words)
