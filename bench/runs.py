"""Runs without their model: how soon the first event is there, and what a whole run takes besides thinking.

The model answers at once. Everything else is as a person has it: command, daemon, journal, gateway, kernels, check.
"""

from __future__ import annotations

import json
import resource
import subprocess
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import anyio
from anyio.streams.buffered import BufferedByteReceiveStream

from bench.failure import BenchFailed
from bench.interleave import interleave
from bench.rows import Finding, Samples, compare, no_more_than, told
from bench.run_testbed import CELLWRIGHT, MODEL, WORK, RunTestbed
from bench.stage import Stage
from cellwright.testing import Fault

_WAIT_SECONDS: Final = 120
_LINE_BYTES: Final = 1 << 20
_PARTS: Final = (
    ("opening", ("queued",)),
    ("planning", ("brief", "agree")),
    ("building", ("build",)),
    ("delivering", ("deliver",)),
)
"""Besides the check. What each is made of, by the stages the journal tells of."""


async def first_event(stage: Stage) -> list[Finding]:
    """From the command, a process of its own, to its first line on standard output; the daemon runs already."""
    async with RunTestbed.open(stage) as testbed:
        # It thinks until its run is cancelled: nothing but beginning is measured.
        testbed.provider.always(Fault("slow-first-byte", answer=WORK))
        marimo = stage.python.with_name("marimo")
        own, peer = await interleave(
            [lambda: first_event_ms(testbed), lambda: _ended([str(marimo), "--version"])], rounds=stage.rounds(10)
        )
    name = "`cellwright run` → first event, daemon warm"
    return [
        compare(name, ours=own, peer=peer, peer_name="`marimo --version`", unit="ms", bar=told("at most")),
        compare(
            name, ours=own, peer=Samples((1_000.0,)), peer_name="1 s, ours to keep", unit="ms", bar=no_more_than(1)
        ),
    ]


async def first_event_ms(testbed: RunTestbed) -> float:
    """Milliseconds from `cellwright run` to its first line; the run is cancelled then."""
    words = ["run", "Sum the numbers.", "--json", "--model", MODEL]
    began = time.perf_counter()
    async with await anyio.open_process(
        [str(CELLWRIGHT), *words],
        stdin=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        cwd=testbed.project,
        env=testbed.settings.environment,
    ) as process:
        assert process.stdout is not None
        try:
            with anyio.fail_after(_WAIT_SECONDS):
                line = await BufferedByteReceiveStream(process.stdout).receive_until(b"\n", _LINE_BYTES)
        except (TimeoutError, anyio.IncompleteRead, anyio.EndOfStream) as error:
            raise BenchFailed("`cellwright run` told nothing") from error
        finally:
            took = (time.perf_counter() - began) * 1e3
            # Only whoever watches; the run goes on in the daemon.
            process.kill()
    event = json.loads(line)
    if event.get("sequence") != 1:
        raise BenchFailed(f"not the first event: {event}")
    await _cancel(testbed)
    return took


async def _cancel(testbed: RunTestbed) -> None:
    """Whatever is at work, so that nothing of it is in the next measurement."""
    for status in await testbed.records.runs():
        if status.is_going:
            await testbed.daemon.cancel(status.run)

    async def is_quiet() -> bool:
        return (await testbed.daemon.status()).runs_at_work == 0

    await testbed.until(is_quiet)


async def overhead(stage: Stage) -> list[Finding]:
    """A run on a notebook that is there: one task, checked twice from scratch, delivered.

    Stock marimo runs what was delivered as often as the check does, and does nothing else.
    """
    took = _Took()
    async with RunTestbed.open(stage) as testbed:
        testbed.plays()

        async def ours() -> float:
            return await took.run(testbed)

        async def peer() -> float:
            return await took.exports(stage, testbed)

        own, exports = await interleave([ours, peer], rounds=stage.rounds(10, quick=2))
    counted = slice(1, None)
    cpu, exports_cpu = Samples(tuple(took.cpu[counted])), Samples(tuple(took.exports_cpu[counted]))
    twice = "marimo export html, twice"
    rows = [
        compare(
            "a whole run without its model", ours=own, peer=exports, peer_name=twice, unit="s", bar=no_more_than(1)
        ),
        compare(
            "a one-cell goal, our own time",
            ours=own,
            peer=Samples((5.0,)),
            peer_name="5 s, ours to keep",
            unit="s",
            bar=no_more_than(1),
        ),
        compare("its CPU", ours=cpu, peer=exports_cpu, peer_name=twice, unit="s", bar=no_more_than(1)),
        compare("its check", ours=took.part(["check"]), peer=exports, peer_name=twice, unit="s", bar=no_more_than(1)),
    ]
    return rows + [
        compare(
            f"its {what}",
            ours=took.part(stages),
            peer=Samples((1.0,)),
            peer_name="1 s, ours to keep",
            unit="s",
            bar=no_more_than(1),
        )
        for what, stages in _PARTS
    ]


class _Took:
    """What runs and exports took, the warm-up first."""

    def __init__(self) -> None:
        self.cpu: list[float] = []
        self.exports_cpu: list[float] = []
        self._parts: list[dict[str, float]] = []

    async def run(self, testbed: RunTestbed) -> float:
        """A whole run, from the goal's being taken to its delivery, by the journal's own times."""
        goal, cpu = testbed.goal(), testbed.cpu_seconds()
        run = await testbed.daemon.start(goal)
        await testbed.delivery(run)
        self.cpu.append(testbed.cpu_seconds() - cpu)
        parts = await testbed.stage_seconds(run)
        self._parts.append(parts)
        return sum(parts.values())

    async def exports(self, stage: Stage, testbed: RunTestbed) -> float:
        """The last notebook, run by stock marimo twice."""
        marimo, notebook = stage.python.with_name("marimo"), testbed.last_notebook
        page = notebook.with_suffix(".stock.html")
        command = [str(marimo), "export", "html", str(notebook), "--output", str(page), "--force", "--no-include-code"]
        before, took = _children_seconds(), 0.0
        for _ in range(2):
            took += await _ended(command) / 1e3
            if "It is 45." not in page.read_text():
                raise BenchFailed("stock marimo did not run the notebook")
            page.unlink()
        self.exports_cpu.append(_children_seconds() - before)
        return took

    def part(self, stages: Sequence[str]) -> Samples:
        """What these stages took of each run; nothing, where it went without."""
        return Samples(tuple(sum(parts.get(stage, 0.0) for stage in stages) for parts in self._parts[1:]))


async def _ended(command: Sequence[str], folder: Path | None = None) -> float:
    """Milliseconds from starting a command to its good end."""
    began = time.perf_counter()
    with anyio.fail_after(_WAIT_SECONDS):
        done = await anyio.run_process(list(command), check=False, cwd=folder)
    if done.returncode:
        raise BenchFailed(f"{Path(command[0]).name} failed: {done.stderr.decode(errors='replace')[-1_000:]}")
    return (time.perf_counter() - began) * 1e3


def _children_seconds() -> float:
    """CPU of children that have ended and been waited for, and of theirs."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime
