"""A worker of ours for the bench to kill: says when it is up and when it begins each step of a chain.

`python -m bench.chain_worker WHERE begin|recover`: who begins the chain never ends its third step.
"""

from __future__ import annotations

import sys
import time
from typing import Any

import anyio

from cellwright.journal.flow import Flow, Workflow
from cellwright.journal.journal import Journal

RUN = "chain"
HELD_STEP = 3
_STEPS = 5
_KEY = b"b" * 32


async def main(where: str, does: str) -> None:
    """Run until killed, or until the chain is done."""

    async def chain(flow: Flow, _: Any) -> None:
        for number in range(1, _STEPS + 1):
            await flow.step(f"step {number}", lambda number=number: work(number))

    async def work(number: int) -> int:
        _say(f"step {number}")
        if does == "begin" and number == HELD_STEP:
            await anyio.sleep_forever()
        return number

    workflows = [Workflow(name=RUN, body=chain)]
    async with Journal.open(where, version="1", workflows=workflows, chain_key=_KEY) as journal:
        _say("up")
        if does == "begin":
            await journal.run(RUN, run=RUN)
        await anyio.sleep_forever()


def _say(what: str) -> None:
    print(what, time.monotonic(), flush=True)


if __name__ == "__main__":
    anyio.run(main, sys.argv[1], sys.argv[2])
