"""From starting `cellwright mcp`, its daemon up, to its list of tools: what a client waits at each of its starts."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

import anyio
from anyio.abc import Process
from anyio.streams.buffered import BufferedByteReceiveStream

from bench.failure import BenchFailed
from bench.interleave import interleave
from bench.rows import Finding, compare, faster
from bench.run_testbed import CELLWRIGHT
from bench.stage import Stage

_WAIT_SECONDS: Final = 60
_LINE_BYTES: Final = 1 << 22
_PEER: Final = Path(__file__).parents[1] / "peers/mcp_server.py"
_HELLO: Final = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "bench", "version": "1"}}


async def measure(stage: Stage) -> list[Finding]:
    """Against a server that the SDK's own package makes of one function."""
    environment = os.environ | {"CELLWRIGHT_HOME": str(stage.folder / "mcp-home")}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    await _done([str(CELLWRIGHT), "serve", "--no-page", "--no-browser", "--detach"], environment)
    try:
        own, peer = await interleave(
            [
                lambda: _listed([str(CELLWRIGHT), "mcp"], environment),
                lambda: _listed([sys.executable, str(_PEER)], environment),
            ],
            rounds=stage.rounds(20),
            warm_ups=2,
        )
    finally:
        await _done([str(CELLWRIGHT), "serve", "stop"], environment)
    own, peer = own.scaled(1_000), peer.scaled(1_000)
    name = "`cellwright mcp`, started, to its list of tools, daemon up"
    return [compare(name, ours=own, peer=peer, peer_name="a server of the SDK's", unit="ms", bar=faster(3))]


async def _listed(command: Sequence[str], environment: dict[str, str]) -> float:
    began = time.perf_counter()
    with anyio.fail_after(_WAIT_SECONDS):
        async with await anyio.open_process(list(command), env=environment, stderr=subprocess.DEVNULL) as process:
            assert process.stdout is not None
            lines = BufferedByteReceiveStream(process.stdout)
            await _say(process, {"id": 1, "method": "initialize", "params": _HELLO})
            await _answer(lines, 1)
            await _say(process, {"method": "notifications/initialized"})
            await _say(process, {"id": 2, "method": "tools/list"})
            if not (await _answer(lines, 2))["result"]["tools"]:
                raise BenchFailed(f"{command[0]} lists no tool.")
            took = time.perf_counter() - began
            process.terminate()
    return took


async def _say(process: Process, message: dict[str, Any]) -> None:
    assert process.stdin is not None
    await process.stdin.send(json.dumps({"jsonrpc": "2.0"} | message).encode() + b"\n")


async def _answer(lines: BufferedByteReceiveStream, number: int) -> dict[str, Any]:
    while True:
        said = json.loads(await lines.receive_until(b"\n", _LINE_BYTES))
        if said.get("id") == number:
            return said


async def _done(command: Sequence[str], environment: dict[str, str]) -> None:
    with anyio.fail_after(_WAIT_SECONDS):
        await anyio.run_process(list(command), env=environment)
