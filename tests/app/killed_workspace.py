"""A worker for tests that kill: one assignment in a studio of its own, its report in `report.json` beside the journal.

`HOME WHERE NOTEBOOK CRASH-POINT VISIT`: dies at the visit to that point (`-`: never).
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict
from ipaddress import IPv4Address, IPv6Address
from pathlib import Path
from typing import Any

import anyio

from cellwright.app import Network
from cellwright.journal.crash import CrashPoint, carry_on, crash_at
from tests.agents.driver import an_assignment
from tests.app.agents_at_work import open_agents_at_work
from tests.models.testbed import ModelTestbed, Warm
from tests.sandbox.egress.world import HOST


async def resolve(_: str) -> list[IPv4Address | IPv6Address]:
    return [IPv4Address("127.0.0.1")]


async def main(home: str, where: str, notebook: str, point: str, visit: str) -> None:
    at = carry_on if point == "-" else crash_at(CrashPoint(point), int(visit))
    # The provider and the gateway live elsewhere, and outlive this process.
    elsewhere: Any = None
    testbed = ModelTestbed(home=Path(home), provider=elsewhere, warm=Warm(socket="/nowhere"))
    network = Network(private_hosts=frozenset({HOST}), resolve=resolve)
    async with open_agents_at_work(testbed, Path(where), Path(notebook), network=network, at_crash_point=at) as driver:
        report = await driver.work(an_assignment("Count the heavy birds.", role="programmer"))
        await anyio.Path(where).with_name("report.json").write_text(json.dumps(asdict(report)))


def start(arguments: Sequence[str]) -> None:
    """What the warm process calls in a fork."""
    anyio.run(lambda: main(*arguments))
