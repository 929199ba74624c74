"""The daemon as it is, with somebody in it who appends to a run's stream in time and follows that stream himself.

Started in the daemon's place: `python -I metronome.py`. Told what to do, and telling what it found, in the journal.
"""

from __future__ import annotations

import time
from collections.abc import AsyncGenerator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from functools import partial
from typing import Final

import anyio

from cellwright.journal.events import Fact
from cellwright.journal.log import EventLog, beside
from cellwright.server.__main__ import main
from cellwright.server.executor import RunExecutor, open_executor
from cellwright.settings import Settings

ORDERS: Final = "bench-orders"
FOUND: Final = "bench-found"
TICK: Final = "bench-tick"
_TEXT: Final = "Read the first rows of the table, then summed the amounts of each month. " * 5
"""As long as what an agent tells of a step."""


def open_with_metronome(settings: Settings) -> AbstractAsyncContextManager[RunExecutor]:
    """What carries out runs, and the metronome beside it."""
    return _open(settings)


@asynccontextmanager
async def _open(settings: Settings) -> AsyncGenerator[RunExecutor]:
    async with open_executor(settings) as carrier, beside(partial(obey, carrier.records.log)):
        yield carrier


async def obey(log: EventLog) -> None:
    """Tick as ordered: a fact whose subject is the stream, with how many and how many a second."""
    async for told in log.follow(ORDERS):
        order = told.event
        assert isinstance(order, Fact)
        taken = await _tick(log, order.subject, int(order.numbers["count"]), order.numbers["per_second"])
        found = {str(number): ms for number, ms in enumerate(taken)}
        await log.append(FOUND, Fact(topic=FOUND, subject=order.subject, numbers=found))


async def _tick(log: EventLog, stream: str, count: int, per_second: float) -> list[float]:
    """What each tick took from before its append to the hands of the journal's own follower, in milliseconds."""
    taken: list[float] = []
    after = dict(await log.streams()).get(stream, 0)

    async def follow() -> None:
        async for told in log.follow(stream, after):
            if isinstance(told.event, Fact) and told.event.topic == TICK:
                taken.append((time.monotonic() - told.event.numbers["began"]) * 1e3)
                if len(taken) == count:
                    return

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(follow)
        first = anyio.current_time()
        for number in range(count):
            await anyio.sleep_until(first + (number + 1) / per_second)
            # One clock for every process of this machine.
            began = {"began": time.monotonic()}
            await log.append(stream, Fact(topic=TICK, subject=f"tick {number}", text=_TEXT, numbers=began))
    return taken


if __name__ == "__main__":
    main(opener=open_with_metronome)
