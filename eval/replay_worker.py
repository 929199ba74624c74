"""Cellwright with a model that answers from recordings: a provider on loopback, asked through the real gateway."""

from __future__ import annotations

import tempfile
from collections.abc import AsyncGenerator, Iterable, Mapping
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Final

from cellwright.testing import Fault, ProviderServer, Received
from eval.cellwright_worker import CellwrightWorker, open_cellwright
from eval.recording import TaskRecording, scripted
from eval.task import Task
from eval.traffic import Traffic, traffic_of
from eval.worker import Came

REPLAY: Final = "replay"
_ENDPOINT: Final = """
[endpoints.replay]
kind = "openai-chat"
base_url = "{base_url}"
key = "none"
local = true
"""
# A model for each task: two runs at once must not take each other's answers.
_MODEL: Final = """
[models."replay:{task}"]
tools = true
schema = true
"""


class ReplayWorker:
    """Runs whose model says what it once said. It can be given each recorded task once."""

    def __init__(
        self, worker: CellwrightWorker, provider: ProviderServer, recordings: Mapping[str, TaskRecording]
    ) -> None:
        self._worker = worker
        self._provider = provider
        self._recordings = dict(recordings)

    @property
    def name(self) -> str:
        return f"cellwright, {REPLAY}"

    async def work(self, task: Task, folder: Path) -> Came:
        came = await self._worker.with_model(f"{REPLAY}:{task.id}").work(task, folder)
        took = self._traffic(task.id)
        frozen = self._recordings[task.id].frozen
        # The provider counts no tokens, and nothing is paid.
        return replace(
            came, tokens=0, microdollars=0, requests=took.requests, characters=took.characters, frozen=frozen
        )

    def _traffic(self, task: str) -> Traffic:
        return traffic_of(request.body for request in self._provider.requests if request.model == task)


@asynccontextmanager
async def open_replay(recordings: Iterable[TaskRecording], *, seconds: float) -> AsyncGenerator[ReplayWorker]:
    """A worker for these recordings, in a state directory of its own and without any key."""
    recorded = {recording.task: recording for recording in recordings}
    with tempfile.TemporaryDirectory(prefix="cellwright-replay-") as temporary:
        async with ProviderServer.open() as provider:
            home = Path(temporary)
            for recording in recorded.values():
                _script(provider, recording)
            _configure(home, provider, recorded)
            async with open_cellwright(REPLAY, home=home, seconds=seconds) as worker:
                yield ReplayWorker(worker, provider, recorded)


def _script(provider: ProviderServer, recording: TaskRecording) -> None:
    def is_asked(request: Received) -> bool:
        return request.model == recording.task

    provider.when(is_asked, *map(scripted, recording.answers))
    over = (
        f"The recording of {recording.task!r} is at its end: "
        f"answers recorded {len(recording.answers)}, and the run asks for one more."
    )
    # A refusal of this kind is not tried again.
    provider.when(is_asked, Fault("bad-request", message=over), for_ever=True)


def _configure(home: Path, provider: ProviderServer, tasks: Iterable[str]) -> None:
    models = "".join(_MODEL.format(task=task) for task in tasks)
    endpoint = _ENDPOINT.format(base_url=provider.base_url("openai-chat"))
    (home / "models.toml").write_text(endpoint + models, encoding="utf-8")
