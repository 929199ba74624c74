"""A worker for tests that kill: one run, from its goal to its delivery, which then stands in `delivery.json`.

`HOME CACHE PROJECT CRASH-POINT VISIT [CONNECTION]`: dies at the visit to that point (`-`: never). The last is what the
command that starts the run connects with.
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


async def main(home: str, cache: str, project: str, point: str, visit: str, connection: str = "null") -> None:
    at = carry_on if point == "-" else crash_at(CrashPoint(point), int(visit))
    # The provider and the gateway live elsewhere, and outlive this process.
    elsewhere: Any = None
    testbed = ModelTestbed(home=Path(home), provider=elsewhere, warm=Warm(socket="/nowhere"))
    async with open_factory(testbed, Path(project), Path(cache), at_crash_point=at) as factory:
        await factory.start(connection=json.loads(connection))
        delivery = await factory.delivery()
        await anyio.Path(home, "delivery.json").write_text(json.dumps(delivery_json(delivery)))


def start(arguments: Sequence[str]) -> None:
    """What the warm process calls in a fork."""
    anyio.run(lambda: main(*arguments))
