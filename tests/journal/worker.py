"""A worker for tests: runs `chain`, whose third step is an effect and waits for as long as the file `hold` exists."""

from __future__ import annotations

import json
import signal
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import anyio

from cellwright.journal.crash import CrashPoint
from cellwright.journal.effects import Effect, EffectNotFound
from cellwright.journal.flow import Flow, Workflow
from cellwright.journal.journal import Journal
from tests.journal.sixty import KEY, leave

RUN = "chain"
STEPS = 6
_LEASE_SECONDS = 6.0
"""Longer than a busy machine keeps a living worker from renewing it."""
_THIRD_STEP = 4
"""Its commit, after the one that tells the beginning."""


async def find() -> EffectNotFound:
    """The third step of a frozen worker has certainly not happened."""
    return EffectNotFound()


async def main(where: str, folder: str, name: str, does: str) -> None:
    """`run` the chain, wait `idle`, or run it and freeze at a crash point of its third step."""
    place = Path(folder)
    effects = {3: Effect(key="third", find=find)} if does == CrashPoint.EFFECT_INTENDED or name == "B" else {}

    async def chain(flow: Flow, _: Any) -> list[str]:
        return [
            await flow.step(f"step-{number}", lambda number=number: work(number), effect=effects.get(number))
            for number in range(1, STEPS + 1)
        ]

    async def work(number: int) -> str:
        leave(place / "work.txt", f"{name} step-{number}")
        # Another process takes the file away: there is no event to wait for.
        while number == 3 and does == "run" and (place / "hold").exists():  # noqa: ASYNC110
            await anyio.sleep(0.01)
        return name

    visits: list[CrashPoint] = []

    def at(point: CrashPoint) -> None:
        if does == point:
            visits.append(point)
            if len(visits) == (_THIRD_STEP if point is CrashPoint.STEP_COMMITTING else 1):
                leave(place / "frozen.txt", name)
                # To this thread: sent to the process, it may stop it a moment too late.
                signal.pthread_kill(threading.get_ident(), signal.SIGSTOP)

    workflows = [Workflow(name="chain", body=chain)]
    async with Journal.open(
        where, version="1", workflows=workflows, chain_key=KEY, at_crash_point=at, lease_seconds=_LEASE_SECONDS
    ) as journal:
        leave(place / "up.txt", name)
        if does == "idle":
            await anyio.sleep_forever()
        result = await journal.result(await journal.run("chain", run=RUN))
        await anyio.Path(place, f"{name}.json").write_text(json.dumps(result))


def start(arguments: Sequence[str]) -> None:
    """What the warm process calls in a fork."""
    anyio.run(lambda: main(*arguments))
