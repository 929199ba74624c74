"""Programs of one person: `open HOME PORT API`, and `peep PID…`.

`open` has a broker start a worker for a database and one for an API, neither of which ever answers, tells who they are,
and waits. `peep` tells how it could look into other processes of the same person.
"""

from __future__ import annotations

import ctypes
import json
import os
import sys
from pathlib import Path

import anyio
import anyio.to_thread
import psutil

from cellwright.background import running_pid
from cellwright.data.broker_client import BrokerClient
from cellwright.data.broker_process import BrokerLaunch, broker_at
from cellwright.data.connections import DataConnection, store_connection
from cellwright.data.messages import OpenExchange, RunQuery

PTRACE_SEIZE = 0x4206


async def open_workers(home: Path, silent: str, api: str) -> None:
    """Until its input ends."""
    client = BrokerClient(launch=BrokerLaunch(home=home))
    where = {"host": "127.0.0.1", "port": silent, "database": "d", "user": "u", "tls": "off"}
    store_connection(home, DataConnection(name="shop", kind="postgres", options=where))
    store_connection(home, DataConnection(name="crm", kind="api", options={"url": api}))
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(client.query, RunQuery(connection="shop", statement="select 1"))
        with await client.exchange(OpenExchange(connection="crm")):
            known = list[psutil.Process]()
            with anyio.fail_after(60):
                while len(known) < 3 or not all(map(_is_closed, known)):
                    await anyio.sleep(0.05)
                    broker = psutil.Process(running_pid(broker_at(home)))
                    known = [broker, *broker.children()]
            sys.stdout.write(f"{json.dumps([each.pid for each in (*known, psutil.Process())])}\n")
            sys.stdout.flush()
            await anyio.to_thread.run_sync(sys.stdin.readline)
        tasks.cancel_scope.cancel()
    await client.stop()


def _is_closed(process: psutil.Process) -> bool:
    """Whether it has come so far as to be given a secret: each closes itself before it is."""
    try:
        os.close(os.open(f"/proc/{process.pid}/environ", os.O_RDONLY))
    except PermissionError:
        return True
    return False


def peep(pid: int) -> list[str]:
    """Which of its files can be opened, and whether it can be traced."""
    found = list[str]()
    for name in ("environ", "mem", "maps", "fd/0", "cwd", "status"):
        try:
            os.close(os.open(f"/proc/{pid}/{name}", os.O_RDONLY))
            found.append(name)
        except PermissionError:
            pass
    if ctypes.CDLL(None).ptrace(PTRACE_SEIZE, pid, 0, 0) == 0:
        found.append("ptrace")
    return found


if __name__ == "__main__":
    if sys.argv[1] == "open":
        anyio.run(open_workers, Path(sys.argv[2]), sys.argv[3], sys.argv[4])
    else:
        sys.stdout.write(f"{json.dumps([peep(int(pid)) for pid in sys.argv[2:]])}\n")
