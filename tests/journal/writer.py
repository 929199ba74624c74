"""A process that appends numbered facts to streams, for tests."""

from __future__ import annotations

from collections.abc import Sequence

import anyio

from cellwright.journal.events import Fact
from cellwright.journal.records import Records
from tests.journal.sixty import KEY


async def main(where: str, writer: str, count: str, *streams: str) -> None:
    async with Records.open(where, chain_key=KEY) as records:
        for number in range(int(count)):
            for stream in streams:
                await records.log.append(stream, Fact(topic=writer, subject=str(number)))


def start(arguments: Sequence[str]) -> None:
    """What the warm process calls in a fork."""
    anyio.run(lambda: main(*arguments))
