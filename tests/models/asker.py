"""A caller in a process of its own, to be killed: asks one call and tells on its standard output how far it came."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import anyio

from cellwright.models.calls import ModelAnswer, Piece
from cellwright.models.client.gateway_client import Models
from cellwright.models.client.gateway_process import GatewayLaunch
from tests.models.testbed import a_call


def start(arguments: list[str]) -> None:
    """`HOME ID TEXT UNTIL`: says `UNTIL` when it is there, and then waits to be killed."""
    home, id, text, until = arguments
    anyio.run(ask, home, id, text, until)


async def ask(home: str, id: str, text: str, until: str) -> None:
    launch = GatewayLaunch(home=Path(home), command=("/bin/false",))
    async with Models.open(Path(home), launch=launch) as models:
        if until == "connected":
            await here(until)
        async with models.stream(a_call(text, id=id, stream=True)) as told, anyio.create_task_group() as tasks:
            if until == "asked":
                tasks.start_soon(here_once_sent)
            async for item in told:
                if until == "streaming" and isinstance(item, Piece):
                    await here(until)
                if until == "answered" and isinstance(item, ModelAnswer):
                    await here(until)


async def here(where: str) -> None:
    """Say so; nothing more happens in this process."""
    sys.stdout.write(f"{where} {os.getpid()}\n")
    sys.stdout.flush()
    await anyio.sleep_forever()


async def here_once_sent() -> None:
    """The first step of the iteration has put the call on its way by now, or does so before this process can be hit."""
    await anyio.sleep(0.05)
    await here("asked")
