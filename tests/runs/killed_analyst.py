"""A worker for tests that kill: one run of the analyst, whose delivery then stands in `delivery.json`.

`HOME CACHE PROJECT CRASH-POINT VISIT`: dies at the visit to that point (`-`: never).
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import anyio

from cellwright.journal.crash import CrashPoint, carry_on, crash_at
from cellwright.runs.deliver.delivery import delivery_json
from tests.models.testbed import ModelTestbed, Warm
from tests.runs.factory import open_factory

WORDS = "Compare revenue by region."


async def main(home: str, cache: str, project: str, point: str, visit: str) -> None:
    at = carry_on if point == "-" else crash_at(CrashPoint(point), int(visit))
    # The gateway lives elsewhere, and outlives this process.
    elsewhere: Any = None
    testbed = ModelTestbed(home=Path(home), provider=elsewhere, warm=Warm(socket="/nowhere"))
    async with open_factory(testbed, Path(project), Path(cache), at_crash_point=at) as factory:
        data = (str(Path(project) / "sales.csv"),)
        await factory.start(factory.goal(WORDS, notebook="first.py", models=("analyst",), data=data))
        delivery = await factory.delivery()
        await anyio.Path(home, "delivery.json").write_text(json.dumps(delivery_json(delivery)))


def start(arguments: Sequence[str]) -> None:
    """What the warm process calls in a fork."""
    anyio.run(lambda: main(*arguments))
