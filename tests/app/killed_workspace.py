"""A worker for tests that kill: one assignment in a studio of its own, its report in `report.json` beside the journal.

`HOME WHERE NOTEBOOK CRASH-POINT VISIT`: dies at the visit to that point (`-`: never). Run as a program, it forks such
workers from a process that has imported everything.
"""

from __future__ import annotations

import importlib
import json
import subprocess
import sys
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from ipaddress import IPv4Address, IPv6Address
from pathlib import Path
from typing import Any

import anyio

from cellwright.app import Network
from cellwright.journal import CrashPoint, crash_at
from cellwright.journal.crash import carry_on
from tests.agents.forked import Forker
from tests.agents.workshop import an_assignment
from tests.app.agents_at_work import open_agents_at_work
from tests.journal import warm
from tests.models.houses import ROOT, House, Warm
from tests.sandbox.egress.world import HOST

MODULE = "tests.app.killed_workspace"


async def resolve(_: str) -> list[IPv4Address | IPv6Address]:
    return [IPv4Address("127.0.0.1")]


async def main(home: str, where: str, notebook: str, point: str, visit: str) -> None:
    at = carry_on if point == "-" else crash_at(CrashPoint(point), int(visit))
    # The provider and the gateway live elsewhere, and outlive this process.
    elsewhere: Any = None
    house = House(home=Path(home), provider=elsewhere, warm=Warm(socket="/nowhere"))
    network = Network(private_hosts=frozenset({HOST}), resolve=resolve)
    async with open_agents_at_work(house, Path(where), Path(notebook), network=network, at_crash_point=at) as shop:
        report = await shop.work(an_assignment("Count the heavy birds.", role="programmer"))
        await anyio.Path(where).with_name("report.json").write_text(json.dumps(asdict(report)))


def start(arguments: Sequence[str]) -> None:
    """What the warm process calls in a fork."""
    anyio.run(lambda: main(*arguments))


class Workers(Forker):
    """Starts workers, each a process of its own."""

    def start(self, *arguments: str) -> int:
        """The pid of a worker with these arguments."""
        known = len(self._pids)
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps({"module": MODULE, "arguments": arguments}).encode() + b"\n")
        self._process.stdin.flush()
        while len(self._pids) == known:
            self._hear()
        return self._pids[-1]


@contextmanager
def workers() -> Generator[Workers]:
    """A warm process, and whatever it started ends with the block."""
    command = [sys.executable, "-W", "error", "-m", MODULE]
    with subprocess.Popen(command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        forker = Workers(process)
        try:
            yield forker
        finally:
            forker.end()


if __name__ == "__main__":
    importlib.import_module(MODULE)
    warm.main()
