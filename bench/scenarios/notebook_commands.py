"""`cellwright notebook verify` and `run`, processes of their own, against `marimo export html` of the same notebook."""

from __future__ import annotations

import os
import subprocess
import time
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

import anyio
from anyio.streams.text import TextReceiveStream

from bench.failure import BenchFailed
from bench.interleave import interleave
from bench.rows import Finding, Samples, compare, no_more_than, told
from bench.run_testbed import CELLWRIGHT
from bench.stage import Stage

_WAIT_SECONDS: Final = 300
_PANDAS: Final = ("import pandas as pd\nframe = pd.DataFrame({'a': range(10)})", "frame['a'].mean()")
_HEADER: Final = '# /// script\n# requires-python = ">=3.11"\n# dependencies = ["pandas"]\n# ///\n\n'
_PARTS: Final = (
    ("loading, until it says something", ""),
    ("two kernels, until they run cells, beside resolving", "first run:"),
    ("the runs, and what is left of resolving", "comparing"),
)
"""What each part ends with, in the order of what is told."""


@dataclass(slots=True, kw_only=True)
class _Person:
    """A state directory of its own, and commands typed there."""

    stage: Stage
    home: Path
    parts: list[list[float]] = field(default_factory=list[list[float]])

    async def seconds(self, program: str, *words: str) -> float:
        """How long a command takes that must end well."""
        return await self._run([program, *words], lambda text, at: None)

    async def verify(self, notebook: Path) -> float:
        """The same for `notebook verify`; when each of its parts was over is kept."""
        ends: dict[str, float] = {}

        def hear(text: str, at: float) -> None:
            for _, mark in _PARTS:
                # Of what is told twice, of each kernel for one, the first counts.
                if text.startswith(mark) and mark not in ends:
                    ends[mark] = at

        took = await self._run([str(CELLWRIGHT), "notebook", "verify", str(notebook)], hear)
        self.parts.append([ends.get(mark, 0.0) for _, mark in _PARTS] + [took])
        return took

    async def _run(self, command: Sequence[str], hear: Callable[[str, float], None]) -> float:
        environment = os.environ | {"CELLWRIGHT_HOME": str(self.home)}
        environment.pop("PYTHONDONTWRITEBYTECODE", None)
        began, said = time.perf_counter(), ""
        with anyio.fail_after(_WAIT_SECONDS):
            async with await anyio.open_process(
                list(command), env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL
            ) as process:
                assert process.stderr is not None
                async for text in TextReceiveStream(process.stderr):
                    said += text
                    for line in text.splitlines():
                        hear(line, time.perf_counter() - began)
                code = await process.wait()
        if code:
            raise BenchFailed(f"{Path(command[0]).name} {' '.join(command[1:3])} ended with {code}: {said[-1000:]}")
        return time.perf_counter() - began

    async def export(self, notebook: Path, times: int) -> float:
        """Stock marimo, so often one after the other."""
        marimo, page = str(self.stage.python.with_name("marimo")), notebook.with_suffix(".html")
        words = ("export", "html", str(notebook), "--output", str(page), "--force", "--no-include-code")
        return sum([await self.seconds(marimo, *words) for _ in range(times)])

    @asynccontextmanager
    async def daemon(self) -> AsyncGenerator[None]:
        """While this lasts, a daemon is up, and its zygote warm."""
        await self.seconds(str(CELLWRIGHT), "serve", "--no-page", "--no-browser", "--detach")
        try:
            yield
        finally:
            await self.seconds(str(CELLWRIGHT), "serve", "stop")


async def verify(stage: Stage) -> list[Finding]:
    """A small notebook with pandas in its header, whose packages were used before; where the time goes is told.

    Cold, and with a daemon up, as it is for whoever has just had a run.
    """
    notebook = stage.project("verified", *_PANDAS)
    notebook.write_text(_HEADER + notebook.read_text())
    person = _Person(stage=stage, home=stage.folder / "verify-home")

    async def measured() -> list[Samples]:
        both = [lambda: person.verify(notebook), lambda: person.export(notebook, 2)]
        return await interleave(both, rounds=stage.rounds(10), warm_ups=1)

    own, peer = await measured()
    taken = person.parts[1:]
    async with person.daemon():
        warm, again = await measured()
    name, twice = "`cellwright notebook verify`, packages used before", "marimo export html, twice"
    findings = [
        compare(f"{name}{how}", ours=ours, peer=other, peer_name=twice, unit="s", bar=no_more_than(0.6))
        for how, ours, other in ((", cold", own, peer), (", daemon up", warm, again))
    ]
    ends = [Samples(tuple(parts[at] for parts in taken)) for at in range(len(_PARTS) + 1)]
    names = [*(name for name, _ in _PARTS), "comparing, proof, end"]
    for at, part in enumerate(names):
        before = ends[at - 1].values if at else (0.0,) * len(taken)
        spent = Samples(tuple(end - start for end, start in zip(ends[at].values, before, strict=True)))
        findings.append(compare(part, ours=spent, peer=own, peer_name="all of it", unit="s", bar=told("at most")))
    return findings


async def run(stage: Stage) -> list[Finding]:
    """A trivial notebook, cold and with a daemon up, without a header and with one that our packages satisfy."""
    plain, headed = stage.project("run-plain", "x = 1\nx"), stage.project("run-headed", *_PANDAS)
    headed.write_text(_HEADER + headed.read_text())
    person = _Person(stage=stage, home=stage.folder / "run-home")

    def command(notebook: Path) -> Callable[[], Awaitable[float]]:
        return lambda: person.seconds(str(CELLWRIGHT), "notebook", "run", str(notebook))

    def export(notebook: Path) -> Callable[[], Awaitable[float]]:
        return lambda: person.export(notebook, 1)

    rounds = stage.rounds(10)
    cold = await interleave([command(plain), export(plain), command(headed), export(headed)], rounds=rounds)
    async with person.daemon():
        warm = await interleave([command(plain), export(plain), command(headed), export(headed)], rounds=rounds)
    peer, header = "marimo export html", ", header that ours satisfy"
    return [
        compare(f"`cellwright notebook run`{what}{how}", ours=own, peer=other, peer_name=peer, unit="s", bar=bar)
        for how, (first, stock, second, again), bar in (
            (", cold", cold, no_more_than(1)),
            (", daemon up", warm, no_more_than(0.3)),
        )
        for what, own, other in (("", first, stock), (header, second, again))
    ]
