"""A worker for tests that kill: one run, from its goal to its delivery, which then stands in `delivery.json`.

`HOME CACHE PROJECT CRASH-POINT VISIT [CONNECTION [GOAL [ANSWER]]]`: dies at the visit to that point (`-`: never).
CONNECTION is what the command that starts the run connects with, GOAL more of its goal, both as JSON. ANSWER is what a
person says to its question; `die`: it dies while that waits; `approve`: yes, this once, to every approval;
`hold`: the same, once HOME/asked was made and HOME/go is there.
"""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

import anyio
import anyio.to_thread

from cellwright.journal.crash import CrashPoint, carry_on, crash_at
from cellwright.policy.approvals import Yes
from cellwright.runs.deliver.delivery import delivery_json
from cellwright.runs.goal.goal import goal_json, parse_goal
from tests.models.testbed import ModelTestbed, Warm, eventually
from tests.runs.factory import Factory, open_factory


async def main(
    home: str,
    cache: str,
    project: str,
    point: str,
    visit: str,
    connection: str = "null",
    goal: str = "{}",
    answer: str = "",
) -> None:
    at = carry_on if point == "-" else crash_at(CrashPoint(point), int(visit))
    # The provider and the gateway live elsewhere, and outlive this process.
    elsewhere: Any = None
    testbed = ModelTestbed(home=Path(home), provider=elsewhere, warm=Warm(socket="/nowhere"))
    async with open_factory(testbed, Path(project), Path(cache), at_crash_point=at) as factory:
        wanted = parse_goal({**goal_json(factory.goal()), **json.loads(goal)})
        await factory.start(wanted, connection=json.loads(connection))
        async with anyio.create_task_group() as beside:
            if answer:
                beside.start_soon(_answer, factory, answer)
            delivery = await factory.delivery()
            beside.cancel_scope.cancel()
        await anyio.Path(home, "delivery.json").write_text(json.dumps(delivery_json(delivery)))


async def _answer(factory: Factory, answer: str) -> None:
    if answer == "hold":
        await factory.asked("approval")
        await anyio.Path(factory.testbed.home, "asked").touch()
        await anyio.to_thread.run_sync(partial(eventually, Path(factory.testbed.home, "go").exists))
    while answer in {"approve", "hold"}:
        await factory.answer(Yes(reach="once"))
    question = await factory.asked()
    if answer == "die":
        os.kill(os.getpid(), signal.SIGKILL)
    await factory.runs.records.questions.answer(question.id, answer, by="ada")


def start(arguments: Sequence[str]) -> None:
    """What the warm process calls in a fork."""
    anyio.run(lambda: main(*arguments))
