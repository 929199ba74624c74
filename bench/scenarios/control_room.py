"""The control room: a hundred followers of one run, the first paint of its page, the memory of an idle notebook."""

from __future__ import annotations

import socket
import statistics
import subprocess
import sys
import tempfile
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Final

import anyio
from playwright.async_api import Browser

from bench import metronome
from bench.browser import Painted, Useful, open_browser, paint
from bench.control_room import API, ControlRoom
from bench.failure import BenchFailed
from bench.interleave import interleave
from bench.memory import family, proportional_mb
from bench.peer import Peer, start_peer
from bench.rows import Finding, Samples, compare, no_more_than, slope
from bench.run_testbed import WORK
from bench.scenarios.fresh_kernel import CODE
from bench.stage import Stage
from cellwright.journal.events import Fact
from cellwright.journal.names import stream_of
from cellwright.server.daemon.launch import DaemonLaunch
from cellwright.server.http.page_build import is_built
from cellwright.testing import Fault

FOLLOWERS: Final = 100
_PER_SECOND: Final = 20
_EVENTS: Final = 200
_OVER_MS: Final = 50.0
_NOTEBOOKS: Final = 8
_WAIT_SECONDS: Final = 120
_CELL: Final = "numbers = [3, 1, 2]"
_PAGE: Final = Useful(place="#main h1", text="What do you want to know?")
_EDITOR: Final = Useful(place=".cm-content", text=_CELL)


async def followers(stage: Stage) -> list[Finding]:
    """A run at work tells twenty things a second; everybody who follows it over HTTP must have them soon, and all."""
    command = (sys.executable, "-I", str(Path(metronome.__file__)))
    rounds: list[Round] = []
    async with ControlRoom.open(stage, launch=DaemonLaunch(command=command)) as room:
        run = await thinking_run(room)
        await told_ms(room, run, followers=FOLLOWERS, count=_PER_SECOND)
        for _ in range(stage.rounds(5, quick=1)):
            quiet, _ = await told_ms(room, run, followers=0, count=_EVENTS)
            beside, crowd = await told_ms(room, run, followers=FOLLOWERS, count=_EVENTS)
            rounds.append(Round(*map(percentile_95, (quiet, beside, crowd))))
    return follower_findings(rounds)


async def thinking_run(room: ControlRoom) -> str:
    """A run at work whose model thinks until the end: by itself it tells nothing more."""
    room.testbed.provider.always(Fault("slow-first-byte", answer=WORK))
    run = await room.testbed.daemon.start(room.testbed.goal())
    try:
        await room.testbed.provider.until(lambda provider: provider.silent > 0, timeout_seconds=_WAIT_SECONDS)
    except TimeoutError as error:
        raise BenchFailed("the run did not come to ask its model") from error
    return run


@dataclass(frozen=True, slots=True)
class Round:
    """95th percentiles, in milliseconds."""

    quiet: float
    """Of the journal's own follower, when nobody follows over HTTP."""
    beside: float
    """Of the same, beside those who do."""
    crowd: float
    """Of those."""


async def told_ms(room: ControlRoom, run: str, *, followers: int, count: int) -> tuple[list[float], list[float]]:
    """What each tick took to the journal's own follower, in the daemon, and to each of those over HTTP."""
    stream, log = stream_of(run), room.testbed.records.log
    last = dict(await log.streams())
    async with _crowd(room) as crowd:
        path = f"{API}/runs/{run}/events?after={last.get(stream, 0)}"
        await crowd.ask("follow", port=room.port, path=path, token=room.token, count=followers)
        numbers = {"count": count, "per_second": _PER_SECOND}
        await log.append(metronome.ORDERS, Fact(topic=metronome.ORDERS, subject=stream, numbers=numbers))
        with anyio.move_on_after(_WAIT_SECONDS):
            async for told in log.follow(metronome.FOUND, last.get(metronome.FOUND, 0)):
                assert isinstance(told.event, Fact)
                heard = await crowd.ask("took", topic=metronome.TICK, count=count)
                return [*told.event.numbers.values()], heard["ms"]
    raise BenchFailed(f"the ticks were not all told within {_WAIT_SECONDS} s")


@asynccontextmanager
async def _crowd(room: ControlRoom) -> AsyncGenerator[Peer]:
    folder = room.testbed.project.parent / "crowd"
    folder.mkdir(exist_ok=True)
    async with start_peer(Path(sys.executable), "event_followers", folder) as crowd:
        yield crowd


def percentile_95(values: Sequence[float]) -> float:
    """What nineteen of twenty do not exceed."""
    return sorted(values)[max(0, -(-len(values) * 95 // 100) - 1)]


def follower_findings(rounds: Sequence[Round]) -> list[Finding]:
    """What the web door adds to the journal's own, at the same time and when nobody else follows."""
    crowd = Samples(tuple(each.crowd for each in rounds))
    journal = {
        "the journal's own beside them": [each.beside for each in rounds],
        "the journal's own with nobody else": [each.quiet for each in rounds],
    }
    return [
        compare(
            f"{FOLLOWERS} followers of one run, p95",
            ours=crowd,
            peer=Samples(tuple(ms + _OVER_MS for ms in own)),
            peer_name=f"{peer}, and {_OVER_MS:g} ms",
            unit="ms",
            bar=no_more_than(1),
        )
        for peer, own in journal.items()
    ]


async def first_paint(stage: Stage) -> list[Finding]:
    """The page and stock marimo's editor, each in a browser that has nothing of them."""
    if not is_built():
        raise BenchFailed("the page is not built; `make page` builds it")
    ours: list[Painted] = []
    peers: list[Painted] = []
    async with ControlRoom.open(stage) as room, open_browser() as browser, _marimo_edit(stage) as editor:

        async def page() -> float:
            ours.append(await paint(browser, await room.address(), _PAGE))
            return ours[-1].useful_ms

        async def peer() -> float:
            peers.append(await paint(browser, editor, _EDITOR))
            return peers[-1].useful_ms

        await _blank(browser)
        own, theirs = await interleave([page, peer], rounds=stage.rounds(10))
    first, their_first = (Samples(tuple(each.first_ms for each in side[1:])) for side in (ours, peers))
    marimo = "marimo edit"
    return [
        compare("page, first paint", ours=first, peer=their_first, peer_name=marimo, unit="ms", bar=no_more_than(1)),
        compare("page, first of use", ours=own, peer=theirs, peer_name=marimo, unit="ms", bar=no_more_than(0.5)),
        compare(
            "page, first of use",
            ours=own,
            peer=Samples((1_000.0,)),
            peer_name="1 s, ours to keep",
            unit="ms",
            bar=no_more_than(1),
        ),
    ]


async def _blank(browser: Browser) -> None:
    """The browser's own beginnings are in no figure."""
    context = await browser.new_context()
    await (await context.new_page()).goto("about:blank")
    await context.close()


@asynccontextmanager
async def _marimo_edit(stage: Stage) -> AsyncGenerator[str]:
    """The address of stock marimo's editor with a notebook of one cell."""
    notebook, port = stage.project("paint-stock", _CELL), _free_port()
    command = [
        str(stage.python), "-m", "marimo", "-q", "edit", "--headless", "--no-token", "--no-skew-protection",
        "--skip-update-check", "--host", "127.0.0.1", "--port", str(port), str(notebook),
    ]  # fmt: skip
    quiet = subprocess.DEVNULL
    async with await anyio.open_process(command, stdin=quiet, stdout=quiet, stderr=quiet) as process:
        try:
            await _until_listening(port)
            yield f"http://127.0.0.1:{port}/"
        finally:
            process.terminate()
            with anyio.CancelScope(shield=True), anyio.move_on_after(20):
                await process.wait()


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


async def _until_listening(port: int) -> None:
    try:
        with anyio.fail_after(_WAIT_SECONDS):
            while True:
                try:
                    await (await anyio.connect_tcp("127.0.0.1", port)).aclose()
                except OSError:
                    await anyio.sleep(0.05)
                else:
                    return
    except TimeoutError as error:
        raise BenchFailed("`marimo edit` does not listen") from error


async def idle_memory(stage: Stage) -> list[Finding]:
    """What one more notebook that was run once adds, of eight: to the daemon alone, and with its kernel."""
    alone: list[float] = []

    async def ours() -> float:
        async with ControlRoom.open(stage) as room:
            daemon, everything = await open_notebooks(room, _NOTEBOOKS)
        alone.append(slope(daemon))
        return usual_step(everything)

    own, stock = await interleave([ours, lambda: _stock(stage)], rounds=stage.rounds(3, quick=1), warm_ups=0)
    name = "memory of one more idle notebook"
    return [
        compare(
            f"{name}, the daemon alone",
            ours=Samples(tuple(alone)),
            peer=Samples((1.0,)),
            peer_name="1 MB, ours to keep",
            unit="MB",
            bar=no_more_than(1),
        ),
        compare(
            f"{name}, with its kernel",
            ours=own,
            peer=stock,
            peer_name="stock marimo, its manager and kernels",
            unit="MB",
            bar=no_more_than(0.35),
        ),
    ]


def usual_step(totals: Sequence[float]) -> float:
    """What one more adds, as a median: a program elsewhere that ends leaves its share of common pages to the rest."""
    return statistics.median(after - before for before, after in pairwise(totals))


async def open_notebooks(room: ControlRoom, count: int) -> tuple[list[float], list[float]]:
    """Memory after each: of the daemon, and of every process below it too."""
    server: list[float] = []
    everything: list[float] = []
    for number in range(count):
        path = room.testbed.new_notebook()
        path.write_text(path.read_text().replace("import pandas as pd\n    return (pd,)", f"{CODE}\n    return"))
        opened = await room.post("/notebooks", {"path": path.name})
        ran = await room.post(f"/notebooks/{opened['id']}/run", {"cells": "all", "wait_seconds": 30})
        if ran["is_running"] or ran["problem"] or {cell["status"] for cell in ran["cells"]} != {"ok"}:
            raise BenchFailed(f"the notebook {number} did not run: {ran}")
        server.append(_megabytes([room.testbed.pid]))
        everything.append(_megabytes(family(room.testbed.pid)))
    return server, everything


async def _stock(stage: Stage) -> float:
    with tempfile.TemporaryDirectory(dir=stage.folder) as folder:
        totals: list[float] = []
        async with stage.peer("stock_marimo") as marimo:
            for number in range(_NOTEBOOKS):
                notebook = stage.project(f"{Path(folder).name}/{number}", CODE)
                await marimo.ask("one_more", notebook=str(notebook))
                totals.append(_megabytes(family(marimo.pid)))
    return usual_step(totals)


def _megabytes(pids: list[int]) -> float:
    try:
        return proportional_mb(pids)
    except PermissionError as error:
        raise BenchFailed(f"this user may not read a process's memory figures: {error}") from error
