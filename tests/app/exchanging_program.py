"""A host of one notebook, in a process that was never told a secret: `HOME PROJECT NOTEBOOK`.

It runs the notebook as a run does, with a journal, then verifies it. After each it tells what came of it in a line, and
waits for one: somebody wants to look into it and its kernels. It imports nothing that knows what they look for.
"""

from __future__ import annotations

import json
import sys
from dataclasses import replace
from pathlib import Path

import anyio
import anyio.to_thread

from cellwright.app.notebook_connections import open_notebook_connections
from cellwright.app.notebook_exchanges import open_notebook_exchanges
from cellwright.app.notebooks import Files, open_notebook, open_pool
from cellwright.app.run_network import Network, NetworkPolicy, open_network_access
from cellwright.app.verification import verification_result, verify_notebook
from cellwright.data.broker_client import BrokerClient
from cellwright.journal.records import Records
from cellwright.kernel.pool import KernelPool
from cellwright.policy.built_in import BUILT_IN_RULES
from cellwright.policy.rule_file import read_rules
from cellwright.runs.events import EVENT_TYPES
from cellwright.settings import Settings


async def show(told: object) -> None:
    """Say it, and wait until it was looked at."""
    sys.stdout.write(f"{json.dumps(told, default=str)}\n")
    sys.stdout.flush()
    await anyio.to_thread.run_sync(sys.stdin.readline)


async def run(settings: Settings, project: Path, notebook: Path, pool: KernelPool) -> None:
    """Run it, with everything that a run writes down."""
    client = BrokerClient(launch=settings.broker_launch())
    agreed = NetworkPolicy(rules=read_rules([BUILT_IN_RULES], project=str(project)), envelope=None, run="r")
    async with (
        Records.open(settings.home / "journal.db", chain_key=b"k" * 32, types=EVENT_TYPES) as records,
        open_notebook_connections(client, notebook=notebook, project=project, run="r") as connections,
    ):
        exchanges = await open_notebook_exchanges(connections, project=project)
        kept = settings.home / "hosts.json"
        async with (
            open_network_access(Network(), agreed, kept=kept, records=records, exchanges=exchanges) as access,
            open_notebook(notebook, pool=pool, egress=access.egress, connections=connections) as opened,
        ):
            ran = await opened.run("all")
            told = (await opened.values(["told"], tokens=50_000))["told"]
            await show(
                {"cells": [[cell.status, cell.console, str(cell.error)] for cell in ran.cells], "told": told.json}
            )


async def main(home: str, project: str, notebook: str) -> None:
    """Both, one after the other."""
    settings = replace(Settings.read(), home=Path(home), cache=Path(home).with_name("cache"))
    async with open_pool(settings) as pool:
        await run(settings, Path(project), Path(notebook), pool)
        found, proof = await verify_notebook(Path(notebook), files=Files(), settings=settings, pool=pool)
        await show(verification_result(found, proof))


if __name__ == "__main__":
    anyio.run(main, sys.argv[1], sys.argv[2], sys.argv[3])
