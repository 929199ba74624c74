"""Two notebooks of one person, of which one may read `shop`: `leave_program.py TIER HOME FOLDER`.

Prints as JSON what the cells of each were told. Where `shop` leads stands in HOME already.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

import anyio

from cellwright.app.notebook_connections import open_notebook_connections
from cellwright.app.notebooks import open_notebook
from cellwright.data.broker_client import BrokerClient
from cellwright.data.broker_process import BrokerLaunch
from cellwright.data.messages import ListStatements
from cellwright.kernel.pool import KernelPool
from cellwright.kernel.session.open_notebook import OpenNotebook
from cellwright.notebook.edits import CreateCell
from cellwright.policy.actions import QueryConnection
from cellwright.sandbox.spec import Tier
from cellwright.settings import Settings

SHOP = 'import cellwright\n\nshop = cellwright.connection("shop")'
COUNT = 'shop.sql("select count(*) n from public.orders")["n"][0].as_py()'
ATTEMPTS: list[dict[str, Any]] = [
    {},
    {"asker": {"person": "ada", "run": "r", "notebook": "granted.py", "project": "/"}},
    {"agreed_rows": 10**12, "fresh": True},
    {"connection": "SHOP"},
    {"connection": "shop "},
    {"kind": "schema"},
    {"kind": "write", "id": "1", "statement": "delete from orders"},
    {"kind": "rehearse", "statement": "delete from orders"},
    {"kind": "secrets", "secrets": {"shop": "x"}},
    {"kind": "stop"},
    {"kind": "try"},
    {"kind": "statements"},
]
_NOTEBOOK = """import marimo

app = marimo.App()


@app.cell
def _():
    pass


if __name__ == "__main__":
    app.run()
"""
_FORGED = """
import json
from cellwright_guest import host_calls
found = []
for more in {attempts}:
    request = {{"kind": "query", "connection": "shop", "statement": "select count(*) from public.orders"}} | more
    if request["kind"] in ("schema", "try", "statements", "secrets", "stop"):
        del request["statement"]
    try:
        found.append(str(host_calls.ask_host("data", json.dumps(request).encode()).body))
    except Exception as problem:
        found.append(str(problem))
found
"""
_SOCKET = """
import os
os.environ["CELLWRIGHT_HOME"] = {home!r}
try:
    from cellwright_cells import broker_socket
    reply = broker_socket.ask_broker({{"kind": "query", "connection": "shop", "statement": "select 1 from orders"}})
    told = f"{{reply.body}} {{len(reply.descriptors)}} results"
except BaseException as problem:
    told = f"no way: {{problem!r}}"
told
"""


async def shown(notebook: OpenNotebook, *codes: str) -> str:
    """What the last of these cells shows, or how it fails."""
    ran = await notebook.apply([CreateCell(code=code) for code in codes])
    if not ran.cells:
        return str(ran)
    last = ran.cells[-1]
    return last.error.message if last.error else last.output.text if last.output else ""


async def use_leave(tier: Tier, client: BrokerClient, pool: KernelPool, folder: Path) -> dict[str, str]:
    """Neither has any network: what they ask goes by their host alone."""
    paths = [folder / name for name in ("granted.py", "other.py")]
    for path in paths:
        path.write_text(_NOTEBOOK)
    connecting = [
        open_notebook_connections(client, notebook=path, project=folder, may_query=lambda _: False) for path in paths
    ]
    settings = Settings(home=client.launch.home, cache=folder / "cache")
    async with (
        connecting[0] as granted,
        connecting[1] as refused,
        open_notebook(paths[0], pool=pool, tier=tier, connections=granted, settings=settings) as one,
        open_notebook(paths[1], pool=pool, tier=tier, connections=refused, settings=settings) as other,
    ):
        await granted.grant(QueryConnection(connection="shop", access="read", statement=""))
        told = {
            "granted": await shown(one, SHOP, COUNT),
            "other": await shown(other, SHOP, COUNT),
            "forged": await shown(other, _FORGED.format(attempts=ATTEMPTS)),
            "around": await shown(other, _SOCKET.format(home=str(client.launch.home))),
        }
        lines = await client.statements(ListStatements())
        return told | {"sent by": ", ".join(sorted({Path(line.notebook).name for line in lines}))}


async def _main() -> None:
    tier: Any = sys.argv[1]
    home, folder = map(Path, sys.argv[2:])
    # Whoever is started as another user has no environment.
    os.environ["HOME"] = str(folder.parent)
    client = BrokerClient(launch=BrokerLaunch(home=home, environment=dict(os.environ)))
    try:
        async with KernelPool.open() as pool:
            sys.stdout.write(json.dumps(await use_leave(tier, client, pool, folder)) + "\n")
    finally:
        await client.stop()


if __name__ == "__main__":
    anyio.run(_main)
