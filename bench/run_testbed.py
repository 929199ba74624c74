"""Runs on the bench: a state directory of their own, its daemon and gateway, and a model on loopback.

Everything is as a person has it who typed `cellwright run`; only the model is a script.
"""

from __future__ import annotations

import os
import signal
import sys
import tempfile
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Final

import anyio
import anyio.to_thread

from bench.failure import BenchFailed
from bench.memory import family, proportional_mb
from bench.stage import Stage
from cellwright.background import has_ended, running_pid
from cellwright.journal.names import stream_of
from cellwright.journal.records import Records
from cellwright.models.client import gateway_process as gateway_launching
from cellwright.models.config.keys import key_variables
from cellwright.runs.deliver.delivery import Delivery
from cellwright.runs.events import EVENT_TYPES, StageEntered
from cellwright.runs.goal.goal import Goal
from cellwright.runs.views.run_view import read_view
from cellwright.server import DaemonClient, connect
from cellwright.server.daemon.launch import DaemonLaunch, daemon_at
from cellwright.settings import Settings
from cellwright.testing import Answer, CallTool, CallTools, ProviderServer, Received

MODEL: Final = "near:one"
CELLWRIGHT: Final = Path(sys.executable).with_name("cellwright")
ANSWER: Final = "They sum to 45."
_NOTEBOOK: Final = """import marimo

__generated_with = "0.25.2"
app = marimo.App()


@app.cell
def _():
    import marimo as mo
    return (mo,)


@app.cell
def _():
    import pandas as pd
    return (pd,)


if __name__ == "__main__":
    app.run()
"""
"""What every run is to extend. No header: a check runs on our own packages, and no index is asked."""
_CONFIGURATION: Final = """
[endpoints.near]
kind = "openai-chat"
base_url = "{base_url}"
key = "none"
local = true
[models."near:one"]
tools = true
schema = true
"""
_WAIT_SECONDS: Final = 900
_LOOK_SECONDS: Final = 0.1
_STOP_SECONDS: Final = 120


def _create(code: str, name: str) -> dict[str, str]:
    return {"op": "create", "code": code, "name": name}


WORK: Final = CallTools(
    (
        CallTool(
            "apply",
            {
                "edits": [
                    _create("numbers = pd.DataFrame({'number': range(10)})\nnumbers", "numbers"),
                    _create("total = int(numbers['number'].sum())\ntotal", "total"),
                    _create("def test_total():\n    assert total == 45", "check_total"),
                    _create('mo.md(f"# The sum\\n\\nIt is {total}.")', "answer"),
                ]
            },
        ),
        CallTool("finish", {"summary": "Summed.", "answer": "They sum to {total}."}),
    )
)


def speaks_of(text: str) -> Callable[[Received], bool]:
    """Whether a request holds this."""
    return lambda received: text in str(received.body["messages"])


@dataclass(frozen=True, slots=True, kw_only=True)
class RunTestbed:
    """A person's state directory and project, with everything that runs there."""

    settings: Settings
    project: Path
    provider: ProviderServer
    daemon: DaemonClient
    records: Records
    pid: int
    """The daemon's."""
    _made: list[Path] = field(default_factory=list[Path])

    @classmethod
    @asynccontextmanager
    async def open(cls, stage: Stage, *, launch: DaemonLaunch | None = None) -> AsyncGenerator[RunTestbed]:
        """Everything started; nothing of it is left afterwards."""
        async with AsyncExitStack() as stack:
            folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="runs-", dir=stage.folder)))
            home, project = folder / "home", folder / "project"
            home.mkdir(mode=0o700)
            project.mkdir()
            provider = stack.enter_context(ProviderServer.running())
            (home / "models.toml").write_text(_CONFIGURATION.format(base_url=provider.base_url("openai-chat")))
            settings = _settings(home)
            stack.push_async_callback(anyio.to_thread.run_sync, _end_gateway, home)
            stack.push_async_callback(anyio.to_thread.run_sync, _end_daemon, home)
            daemon = await stack.enter_async_context(connect(settings, launch=launch))
            standing = await daemon.status()
            records = await stack.enter_async_context(Records.open(home / "journal.db", types=EVENT_TYPES))
            yield cls(
                settings=settings,
                project=project,
                provider=provider,
                daemon=daemon,
                records=records,
                pid=standing.pid,
            )

    def plays(self, work: Answer = WORK) -> None:
        """From now on the model works so, for whichever run asks."""
        self.provider.when(lambda _: True, work, for_ever=True)

    def new_notebook(self) -> Path:
        """One that is there already."""
        path = self.project / f"sums-{len(self._made)}.py"
        path.write_text(_NOTEBOOK)
        self._made.append(path)
        return path

    @property
    def last_notebook(self) -> Path:
        """The one that was made last."""
        return self._made[-1]

    def goal(self, words: str = "Sum the numbers.") -> Goal:
        """On a notebook of its own."""
        return Goal(
            words=words,
            notebook=str(self.new_notebook()),
            project=str(self.project),
            person="bench",
            models=(MODEL,),
        )

    async def until(self, holds: Callable[[], Awaitable[bool]]) -> None:
        """Wait until this holds: looked at whenever the journal grows, and now and then."""
        try:
            with anyio.fail_after(_WAIT_SECONDS):
                while True:
                    grown = self.records.log.growth.next()
                    if await holds():
                        return
                    with anyio.move_on_after(_LOOK_SECONDS):
                        await grown.wait()
        except TimeoutError as error:
            raise BenchFailed(f"it did not come to pass within {_WAIT_SECONDS} s") from error

    async def delivery(self, run: str) -> Delivery:
        """What came of it. `BenchFailed` if it is not what it should be."""

        async def is_over() -> bool:
            return not (await self.records.status(run)).is_going

        await self.until(is_over)
        delivery = (await read_view(self.records.log.read_all, run)).delivery
        if delivery is None or (delivery.status, delivery.answer) != ("done", ANSWER) or not delivery.proof:
            raise BenchFailed(f"the run {run} was not delivered as it should: {delivery}")
        if (await anyio.Path(delivery.notebook).read_text()).count("total = int(") != 1:
            raise BenchFailed(f"the run {run} did not write its cell once")
        return delivery

    async def stage_seconds(self, run: str) -> dict[str, float]:
        """How long each stage took, by the journal's own times."""
        told = [
            (recorded.at_ms, recorded.event.stage)
            async for recorded in self.records.log.read_all(stream_of(run))
            if isinstance(recorded.event, StageEntered)
        ]
        return {stage: (after - at) / 1e3 for (at, stage), (after, _) in pairwise(told)}

    def residents(self) -> list[int]:
        """Every process of the daemon and the gateway's; the model's is not among them."""
        gateway = gateway_launching.running_pid(self.settings.home)
        return [*family(self.pid), *([] if gateway is None else [gateway])]

    def memory_mb(self) -> float:
        """What those take now; one that ends meanwhile takes nothing."""
        taken = 0.0
        for pid in self.residents():
            with suppress(FileNotFoundError, ProcessLookupError):
                taken += proportional_mb([pid])
        return taken

    def cpu_seconds(self) -> float:
        """What those have used so far, with all they started and saw ending."""
        return sum(_cpu_seconds(pid) for pid in self.residents())


def _settings(home: Path) -> Settings:
    """The person's, but for the state directory, and without any key: whoever has one hands it over first."""
    person = Settings.read().environment
    keys = key_variables(person)
    kept = {name: value for name, value in person.items() if name not in keys}
    return Settings.read({**kept, "CELLWRIGHT_HOME": str(home), "NO_COLOR": "1"})


def _cpu_seconds(pid: int) -> float:
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return 0.0
    # utime, stime, cutime and cstime of proc(5), counted from behind the name, which may hold anything.
    return sum(map(int, stat.rpartition(")")[2].split()[11:15])) / os.sysconf("SC_CLK_TCK")


def _end_daemon(home: Path) -> None:
    resident = daemon_at(home)
    if (pid := running_pid(resident)) is None:
        return
    with suppress(ProcessLookupError):
        os.kill(pid, signal.SIGTERM)
    if not has_ended(resident, pid, _STOP_SECONDS):
        raise BenchFailed("the daemon did not end")


def _end_gateway(home: Path) -> None:
    # Only after the daemon, which would start another.
    if (pid := gateway_launching.running_pid(home)) is not None:
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
