"""Asks an API over the broker as a notebook's host does, says so, and waits: what it holds can be looked at then."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import anyio

from cellwright.data.broker_client import BrokerClient
from cellwright.data.broker_process import BrokerLaunch
from tests.data.web_worker.speaking import ask

CANARY = "canary-of-the-asker-" + "55012"


async def main(home: str) -> None:
    client = BrokerClient(launch=BrokerLaunch(home=Path(home), environment=dict(os.environ)))
    heard = [await ask(client, "GET", f"/echo?{CANARY}"), await ask(client, "GET", "/people")]
    sys.stdout.write(f"{heard[0].status} {heard[1].status}\n")
    sys.stdout.flush()
    sys.stdin.read()
    del heard


anyio.run(main, sys.argv[1])
