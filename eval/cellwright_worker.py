"""Cellwright through its public door: `cellwright run` in a project that holds the task's data and nothing else."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any, Final

import anyio
import anyio.to_thread

from cellwright.data.files import parse_data
from cellwright.models.config.keys import key_variables
from cellwright.runs.goal.new_notebook import create_if_missing, new_notebook_text
from cellwright.settings import Settings
from eval.delivered import Delivered, read_report
from eval.task import Task
from eval.worker import Came, nothing, print_of

ANALYST: Final = "analyst"
_CELLWRIGHT: Final = Path(sys.executable).with_name("cellwright")
_NOTEBOOK: Final = "answer.py"
_PAUSE_SECONDS: Final = 30


class CellwrightWorker:
    """Runs of one model, or of the analyst, in one state directory."""

    def __init__(self, model: str, environment: Mapping[str, str], *, seconds: float, effort: str = "normal") -> None:
        self._model = model
        self._effort = effort
        self._environment = dict(environment)
        self._seconds = seconds

    @property
    def name(self) -> str:
        return f"cellwright, {self._model}"

    def with_model(self, model: str) -> CellwrightWorker:
        """Runs of another model in the same state directory."""
        return CellwrightWorker(model, self._environment, seconds=self._seconds, effort=self._effort)

    async def work(self, task: Task, folder: Path) -> Came:
        before = print_of(folder, task.data)
        await anyio.to_thread.run_sync(_prepare, task, folder)
        began = time.monotonic()
        data = [word for name in task.data for word in ("--data", name)]
        words = ["run", task.goal, *data, "--notebook", _NOTEBOOK, "--project", ".", "--model", self._model]
        words += ["--effort", self._effort]
        told = await self._within(self._seconds, [*words, "--approve", "never", "--json"], folder)
        seconds = time.monotonic() - began
        is_untouched = print_of(folder, task.data) == before
        if told is None:
            return nothing("too slow", f"no end within {self._seconds:.0f} s", seconds=seconds)
        delivery = read_delivery(told.stdout)
        if delivery is None:
            said = told.stderr.decode(errors="replace").strip()[-500:]
            return nothing(f"exit {told.returncode}", said, seconds=seconds, is_data_untouched=is_untouched)
        return _came(delivery, seconds, is_untouched, requests=requests_in(told.stdout))

    async def end(self) -> None:
        """Ends what it started in the background."""
        for words in (["serve", "stop"], ["gateway", "stop", "--now"]):
            await self.command(words, Path.cwd())

    async def endpoint(self) -> tuple[str, str]:
        """Address and token of the endpoint at which other programs use the same models."""
        told = await self.command(["models", "endpoint", "--token", "--json"], Path.cwd())
        view = json.loads(told.stdout)
        return str(view["base_url"]), str(view["token"])

    async def command(self, words: list[str], folder: Path) -> subprocess.CompletedProcess[bytes]:
        """What `cellwright` tells, with these words, in this folder."""
        return await anyio.run_process(
            [str(_CELLWRIGHT), *words], check=False, cwd=folder, env=self._environment, stdin=subprocess.DEVNULL
        )

    async def _within(
        self, seconds: float, words: list[str], folder: Path
    ) -> subprocess.CompletedProcess[bytes] | None:
        """The same, if it ends in time; else it is asked to pause its run, which then costs nothing more."""
        command = [str(_CELLWRIGHT), *words]
        with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as said:
            process = await anyio.open_process(
                command, stdin=subprocess.DEVNULL, stdout=out, stderr=said, cwd=folder, env=self._environment
            )
            async with process:
                code = None
                with anyio.move_on_after(seconds):
                    code = await process.wait()
                if code is None:
                    process.terminate()
                    with anyio.move_on_after(_PAUSE_SECONDS):
                        await process.wait()
                    return None
            out.seek(0)
            said.seek(0)
            return subprocess.CompletedProcess(command, code, stdout=out.read(), stderr=said.read())


@asynccontextmanager
async def open_cellwright(
    model: str, *, home: Path | None, seconds: float, effort: str = "normal"
) -> AsyncGenerator[CellwrightWorker]:
    """A worker; the analyst has a state directory of its own and no key, a model has the person's or the one named."""
    person = Settings.read().environment
    with tempfile.TemporaryDirectory(prefix="cellwright-eval-") as temporary:
        if model != ANALYST and home is None:
            yield CellwrightWorker(model, person, seconds=seconds, effort=effort)
            return
        worker = CellwrightWorker(model, keyless(person, home or Path(temporary)), seconds=seconds, effort=effort)
        try:
            yield worker
        finally:
            with anyio.CancelScope(shield=True):
                await worker.end()


def keyless(person: Mapping[str, str], home: Path) -> dict[str, str]:
    """A person's environment without any key, with this state directory."""
    keys = key_variables(person)
    return {**{name: value for name, value in person.items() if name not in keys}, "CELLWRIGHT_HOME": str(home)}


def _prepare(task: Task, folder: Path) -> None:
    """An empty notebook without a header: it is proven on our own packages, and no package index is asked."""
    notebook = folder / _NOTEBOOK
    data = parse_data(task.data, here=folder, notebook=notebook, project=folder)
    create_if_missing(notebook, new_notebook_text("", data))


def read_delivery(lines: bytes) -> dict[str, Any] | None:
    """The delivery among the lines a run told, which is the last."""
    return next((told for told in reversed(_told(lines)) if told.get("kind") == "delivery"), None)


def requests_in(lines: bytes) -> int:
    """How many requests to a model were answered, by the lines a run told."""
    return sum(told.get("kind") == "cost-recorded" for told in _told(lines))


def _told(lines: bytes) -> list[dict[str, Any]]:
    """The lines that are objects."""
    told: list[dict[str, Any]] = []
    for line in lines.splitlines():
        with suppress(ValueError):
            value = json.loads(line)
            if isinstance(value, dict):
                told.append(value)
    return told


def _came(delivery: Mapping[str, Any], seconds: float, is_untouched: bool, *, requests: int) -> Came:
    report = Path(str(delivery["report"])) if delivery["report"] else None
    shown, charts = read_report(report.read_text(encoding="utf-8")) if report and report.is_file() else ("", 0)
    return Came(
        delivered=Delivered(
            answer=str(delivery["answer"]),
            shown=shown,
            charts=charts,
            is_proven=delivery["status"] == "done" and bool(delivery["proof"]),
            is_data_untouched=is_untouched,
        ),
        status=str(delivery["status"]),
        why=str(delivery["why"]),
        seconds=seconds,
        tokens=int(delivery["tokens"]),
        microdollars=int(delivery["microdollars"]) if delivery["is_price_known"] else None,
        requests=requests,
    )
