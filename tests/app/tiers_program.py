"""A notebook that reads files of `lake` and asks the API `crm`: `tiers_program.py TIER HOME FOLDER CODES`.

Prints as JSON what each of the codes printed, or how it failed. Where the connections lead stands in HOME already.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from textwrap import indent
from typing import Any

import anyio

from cellwright.app.notebook_connections import open_notebook_connections
from cellwright.app.notebooks import open_notebook
from cellwright.data.broker_client import BrokerClient
from cellwright.data.broker_process import BrokerLaunch
from cellwright.kernel.pool import KernelPool
from cellwright.notebook.edits import CreateCell
from cellwright.settings import Settings


async def _main() -> None:
    tier: Any = sys.argv[1]
    home, folder = map(Path, sys.argv[2:4])
    # Whoever is started as another user has no environment.
    os.environ["HOME"] = str(folder.parent)
    client = BrokerClient(launch=BrokerLaunch(home=home, environment=dict(os.environ)))
    settings = Settings(home=home, cache=folder / "cache")
    told = dict[str, str]()
    try:
        async with (
            KernelPool.open() as pool,
            open_notebook_connections(client, notebook=folder / "notebook.py", project=folder) as connections,
            open_notebook(
                folder / "notebook.py", pool=pool, tier=tier, connections=connections, settings=settings
            ) as notebook,
        ):
            for name, code in json.loads(sys.argv[4]).items():
                # In a function: what one code defines is nobody else's.
                code = f"def _():\n{indent(code.strip(), '    ')}\n_()"
                [cell] = (await notebook.apply([CreateCell(code=code)])).cells
                told[name] = cell.error.message if cell.error else cell.console.strip()
    finally:
        await client.stop()
    sys.stdout.write(json.dumps(told) + "\n")


if __name__ == "__main__":
    anyio.run(_main)
